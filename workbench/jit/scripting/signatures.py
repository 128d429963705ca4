"""What functions take and give, as their annotations and comments say."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.graph.types import ANY, TENSOR, Type
from workbench.jit.kinds import (
    optional,
)
from workbench.jit.scripting.annotations import Annotations
from workbench.jit.scripting.errors import Source

__all__ = ["Signature", "signature_of"]


@dataclass(frozen=True)
class Signature:
    """What a function takes and gives, as its annotations say."""

    tree: ast.FunctionDef
    source: Source
    around: Mapping[str, Any]
    names: tuple[str, ...]
    kinds: tuple[Type | None, ...]
    """None where nothing is annotated."""
    defaults: Mapping[str, Any]
    result: Type | None
    rest: str = ""
    """The name of what takes any number of arguments."""

    def kind(self, name: str) -> Type:
        """Return the type of an argument: a tensor where nothing says another."""
        found = self.kinds[self.names.index(name)]
        return TENSOR if found is None else found


def signature_of(
    tree: ast.FunctionDef,
    source: Source,
    around: Mapping[str, Any],
    defaults: Mapping[str, Any],
    method: bool,
) -> Signature:
    """Read the arguments of a function. `method` says whether the first is ``self``, which is left out."""
    read = Annotations(source, around)
    arguments = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs][1 if method else 0 :]
    if tree.args.kwarg is not None:
        raise source.error(
            tree.args.kwarg, "Compiled functions can't take variable number of arguments or use keyword-only arguments "
            "with defaults", "Write the arguments one by one",
        )  # fmt: skip
    comment = _type_comment(tree, source, read)
    kinds: list[Type | None] = [
        None if one.annotation is None else read.kind(one.annotation) for one in arguments
    ]
    result = None if tree.returns is None else read.kind(tree.returns)
    if comment is not None:
        said, result = comment
        if len(said) != len(arguments):
            raise source.error(
                tree, f"the type comment has {len(said)} types, and there are {len(arguments)} arguments"
            )
        kinds = list(said)
    house = str(around.get("__name__", "")).startswith("workbench.")
    names = tuple(one.arg for one in arguments)
    if house:
        # The house's own models take anything that is a tensor, with names or without.
        kinds = [TENSOR if one == ANY else one for one in kinds]
        kinds = [
            optional(kind) if kind is not None and name in defaults and defaults[name] is None else kind
            for name, kind in zip(names, kinds, strict=True)
        ]
        result = None if result == ANY else result
    rest = tree.args.vararg.arg if tree.args.vararg is not None else ""
    return Signature(tree, source, around, names, tuple(kinds), defaults, result, rest)


def _type_comment(tree: ast.FunctionDef, source: Source, read: Annotations) -> tuple[list[Type], Type] | None:
    """Read ``# type: (int, Tensor) -> Tensor`` between the head and the body of a function."""
    last = tree.body[0].lineno
    for line in source.lines[tree.lineno - 1 : last]:
        _, mark, text = line.partition("# type:")
        inside, arrow, result = text.partition("->")
        if mark and arrow and inside.strip().startswith("("):
            parts = ast.parse(inside.strip(), mode="eval").body
            several = (
                parts.elts if isinstance(parts, ast.Tuple) else [parts] if inside.strip() != "()" else []
            )
            given = ast.parse(result.strip(), mode="eval").body
            return [read.kind(one) for one in several], read.kind(given)
    return None

"""Calls of what the workbench offers, and of functions of numbers."""

from __future__ import annotations

import ast
from typing import Any

from workbench.core.op import Op
from workbench.graph import named
from workbench.graph.types import (
    ANY,
    FLOAT,
    INT,
    TENSOR,
    ListType,
    TupleType,
    Type,
)
from workbench.jit.kinds import (
    NUMBER,
    Item,
    kind_of_operand,
    shown,
)
from workbench.jit.scripting.declared import arguments_of, result_kind
from workbench.jit.scripting.operators import EXAMPLES
from workbench.jit.scripting.statements import Statements

__all__ = ["Arguments", "Offered"]


class Arguments:
    """The arguments of a call."""

    def __init__(self, things: list[Any], keywords: dict[str, Any], trees: list[ast.expr]) -> None:
        self.things = things
        self.keywords = keywords
        self.trees = trees


class Offered(Statements):
    """Reads calls of what is offered."""

    def arguments(self, tree: ast.Call, wanted: Type | None = None) -> Arguments:
        """Read the arguments of a call; `wanted` is the type of the one argument that it has, for what is empty."""
        things = self.spread(tree.args, None if wanted is None else TupleType((wanted,)))
        keywords: dict[str, Any] = {}
        for one in tree.keywords:
            if one.arg is None:
                raise self.error(one.value, "** cannot stand in a call", "Write the arguments one by one")
            keywords[one.arg] = self.expression(one.value)
        return Arguments(things, keywords, tree.args)

    def operands(self, arguments: Arguments, tree: ast.Call) -> tuple[list[Item], dict[str, Item]]:
        """Return the arguments of a call as values."""
        return (
            [self.as_item(one, tree) for one in arguments.things],
            {name: self.as_item(one, tree) for name, one in arguments.keywords.items()},
        )

    def offered(
        self, entry: Any, function: Any, arguments: Arguments, tree: ast.Call, wanted: Type | None
    ) -> Item:
        """Call a function that the workbench offers."""
        inputs, params = self.operands(arguments, tree)
        signature = arguments_of(function)
        if signature is not None and not isinstance(entry, Op):
            try:
                signature.bind(*inputs, **params)
            except TypeError as error:
                raise self.error(tree, f"{entry.name}: {error}", f"It takes {signature}") from None
        kind = TENSOR if isinstance(entry, Op) else result_kind(function, inputs, params)
        if isinstance(entry, Op) and entry.outputs > 1:
            kind = TupleType((TENSOR,) * entry.outputs)
        if kind is None:
            raise self.error(
                tree, f"{entry.name} does not declare what it gives when it is called so",
                "Let it run as Python: put it into a function with @jit.ignore and an annotated result",
            )  # fmt: skip
        return self._result(entry, inputs, params, kind, wanted)

    def _result(
        self, entry: Any, inputs: list[Item], params: dict[str, Item], kind: Type, wanted: Type | None
    ) -> Item:
        if kind == ANY and wanted is not None:
            kind = wanted
        operands = tuple(one.operand for one in inputs)
        keywords = {name: one.operand for name, one in params.items()}
        if isinstance(kind, TupleType) and isinstance(entry, Op):
            made = self.emit(entry, operands, kind, types=(TENSOR,) * len(kind.items), **keywords)
            return Item(tuple(made.operand), kind)
        if (
            isinstance(kind, ListType)
            and kind.item in (TENSOR, INT)
            and getattr(entry, "name", "") != "Tensor.tolist"
        ):
            # The workbench gives a tuple, where a script knows a list.
            several = self.emit(entry, operands, ANY, **keywords)
            return self.emit("builtins.list", (several.operand,), kind)
        return self.emit(entry, operands, kind, **keywords)

    def _number(self, name: str, arguments: Arguments, tree: ast.Call) -> Item:
        """Call a function of numbers, or an operator."""
        inputs, _ = self.operands(arguments, tree)
        for one in inputs:
            self.refuse_none(one, tree, name)
        entry = named(name)
        kind: Type | None = None
        if any(one.kind == TENSOR for one in inputs) and name.startswith("operator."):
            kind = TENSOR
        elif name in (
            "math.gcd",
            "math.lcm",
            "math.floor",
            "math.ceil",
            "math.trunc",
            "math.factorial",
            "math.isqrt",
        ):
            kind = INT
        else:
            kind = self._by_example(entry.call, [one.kind for one in inputs])
        if kind is None:
            raise self.error(
                tree, f"{name} takes no {', '.join(shown(one.kind) for one in inputs) or 'no arguments'}"
            )
        return self.emit(entry, tuple(one.operand for one in inputs), kind)

    def _by_example(self, function: Any, kinds: list[Type]) -> Type | None:
        for examples in (EXAMPLES, {**EXAMPLES, INT: 2, FLOAT: 0.5}):
            if not all(one in examples or one == NUMBER for one in kinds):
                return None
            try:
                return kind_of_operand(function(*(examples.get(one, 1.0) for one in kinds)))
            except (ArithmeticError, ValueError):
                continue
            except TypeError:
                return None
        return None

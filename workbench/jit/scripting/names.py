"""Which names a piece of a program gives values, and how it ends, by its syntax alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

__all__ = ["assigned_in", "leaves"]

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.DictComp, ast.SetComp,
           ast.GeneratorExp)  # fmt: skip


def assigned_in(trees: Sequence[ast.AST]) -> list[str]:
    r"""Return the names that are assigned, in the order in which they stand.

    >>> assigned_in(ast.parse("a = [b for b in c]\nfor d in a: e += 1").body)
    ['a', 'd', 'e']
    """
    return list(dict.fromkeys(name for tree in trees for name in _assigned(tree)))


def _assigned(tree: ast.AST) -> Iterator[str]:
    if isinstance(tree, ast.Name) and isinstance(tree.ctx, ast.Store | ast.Del):
        yield tree.id
    for one in ast.iter_child_nodes(tree):
        # A comprehension has names of its own.
        if not isinstance(one, _SCOPES):
            yield from _assigned(one)


def leaves(body: Sequence[ast.stmt]) -> bool:
    """Say whether statements always end by ``return``, ``break`` or ``continue``, and some way not by an exception."""
    if not body:
        return False
    match body[-1]:
        case ast.Return() | ast.Break() | ast.Continue():
            return True
        case ast.If(body=first, orelse=second):
            ends = (leaves(first), leaves(second))
            return all(ends) or (any(ends) and (_raises(first) or _raises(second)))
        case ast.With(body=inner):
            return leaves(inner)
    return False


def _raises(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Raise)

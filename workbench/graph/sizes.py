"""Sizes in graphs: what a traced tensor shows as its shape, and what parameters of nodes are in a run.

In a trace a size is a `SymbolicSize`, which keeps the guards; what stands in the finished graph is its expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from workbench.base.size_expressions import Symbolic, hint_of
from workbench.base.size_guards import SizeScope
from workbench.base.symbolic_size import SymbolicNumber, plain, sized

__all__ = ["expression", "is_symbolic", "kept", "mapped", "meets", "shown", "today"]


def mapped(parameter: Any, rule: Callable[[Any], Any]) -> Any:
    """Return a parameter with `rule` applied to what stands in its tuples, lists, dicts and slices."""
    if isinstance(parameter, tuple | list):
        make = getattr(type(parameter), "_make", type(parameter))  # named tuples take their fields one by one
        return make(mapped(one, rule) for one in parameter)
    if isinstance(parameter, dict):
        return {key: mapped(one, rule) for key, one in parameter.items()}
    if isinstance(parameter, slice):
        return slice(*(mapped(one, rule) for one in (parameter.start, parameter.stop, parameter.step)))
    return rule(parameter)


def _has(parameter: Any, found: Callable[[Any], bool]) -> bool:
    """Say whether something that stands in a parameter is what is looked for."""
    if isinstance(parameter, tuple | list):
        return any(_has(one, found) for one in parameter)
    if isinstance(parameter, dict):
        return any(_has(one, found) for one in parameter.values())
    if isinstance(parameter, slice):
        return any(_has(one, found) for one in (parameter.start, parameter.stop, parameter.step))
    return found(parameter)


def meets(parameter: Any, scope: SizeScope) -> bool:
    """Say whether a parameter has a size of `scope` in it."""
    return _has(parameter, lambda one: isinstance(one, SymbolicNumber) and one.scope is scope)


def is_symbolic(parameter: Any) -> bool:
    """Say whether a parameter of a node differs from run to run."""
    return _has(parameter, lambda one: isinstance(one, Symbolic))


def kept(parameter: Any, scope: SizeScope) -> Any:
    """Return a parameter as a node keeps it: sizes of `scope` as expressions, those of other traces as numbers."""
    return mapped(parameter, lambda one: expression(one, scope))


def expression(size: Any, scope: SizeScope) -> Any:
    """Return a size of `scope` as an expression, and one of another trace as a number."""
    if isinstance(size, SymbolicNumber) and size.scope is scope:
        return scope.settle(size.expression)
    return plain(size)


def shown(sizes: Iterable[Any], scope: SizeScope) -> tuple[Any, ...]:
    """Return sizes as the traced function meets them."""
    return tuple(sized(size, scope) if isinstance(size, Symbolic) else size for size in sizes)


def today(parameter: Any) -> Any:
    """Return a parameter for the sizes of the trace."""
    return mapped(parameter, hint_of)

"""What the sizes of a graph's inputs are in a run, and whether the graph holds for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.base.errors import DimensionError
from workbench.base.size_expressions import Expression, Symbol
from workbench.base.size_guards import Guard
from workbench.core.value import dims_of
from workbench.graph.blocks import Value
from workbench.graph.ir import Graph
from workbench.graph.types import TensorType

__all__ = ["bound", "check_guards"]


def bound(values: Sequence[Value], inputs: Sequence[Any]) -> dict[Symbol, Any]:
    """Return what the sizes of the trace are in this run."""
    sizes: dict[Symbol, Any] = {}
    for value, tensor in zip(values, inputs, strict=True):
        # Numbers and the like have no sizes.
        if not isinstance(value.type, TensorType):
            continue
        for size, given in zip(value.type.sizes, tensor.payload.shape, strict=True):
            if isinstance(size, Expression) and size.symbol is not None:
                # Each dim of an input has a symbol of its own; that two agree is a guard.
                sizes[size.symbol] = given
    return sizes


def check_guards(graph: Graph, sizes: dict[Symbol, Any], inputs: Sequence[Any]) -> None:
    """Refuse sizes by which the traced function would have done something else."""
    for guard in graph.guards:
        if not guard.holds(sizes):
            raise _refusal(graph, guard, sizes, inputs)


def _refusal(graph: Graph, guard: Guard, sizes: dict[Symbol, Any], inputs: Sequence[Any]) -> DimensionError:
    """Return the error for a guard that does not hold: which line asked, what was so, what came, what would work."""
    known = graph.symbols()
    asked = list(dict.fromkeys(guard.symbols()))
    # The dims that decided are marked in the picture of the error, each under its input.
    marks: dict[Value, list[int]] = {}
    for symbol in asked:
        value, dim = known[symbol]
        marks.setdefault(value, []).append(dim)
    were = " and ".join(f"{_called(*known[one])} was {one.hint}" for one in asked)
    now = " and ".join(str(sizes[one]) for one in asked)
    operands = []
    for value, tensor in zip(graph.inputs, inputs, strict=True):
        if value in marks:
            operands += [
                value.tensor.dims.operand("traced", marks[value]),
                dims_of(tensor).operand(value.name, marks[value]),
            ]
    where = guard.source or "the function"
    condition = guard.written(lambda symbol: _size(*known[symbol]))
    # An equation with a number is what int(size) leaves; what was compared on purpose needs no such advice.
    advice = _ADVICE if guard.relation == "==" and isinstance(guard.right, int) else ""
    return DimensionError(
        f"{were} in the trace, where {where} decided something by it: the graph holds for {condition}, and now it is "
        f"{now}. Trace again with these sizes{advice}.",
        op=graph.name,
        operands=tuple(operands),
    )


_ADVICE = (
    ", or write that line so that it needs no number: x.flatten(1) needs no size where x.reshape(2, -1) does, x.mean() "
    "none where x.sum() / float(x.shape[0]) does"
)


def _called(value: Value, dim: int) -> str:
    """Return what a dim of an input is called: ``N of x``."""
    return f"{value.tensor.dims.names[dim] or f'dim {dim}'} of {value.name}"


def _size(value: Value, dim: int) -> str:
    """Return a size of an input as Python writes it."""
    return f"{value.name}.shape[{dim}]"

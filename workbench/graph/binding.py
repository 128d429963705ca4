"""What sizes are in a run, and whether the graph holds for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.base.errors import DimensionError
from workbench.base.size_expressions import Symbol
from workbench.base.size_guards import Guard
from workbench.core.value import dims_of
from workbench.graph.blocks import SubGraph, Value
from workbench.graph.symbols import bare, due, symbols
from workbench.graph.types import TensorType

__all__ = ["Binding"]


class Binding:
    """The sizes of one call of a graph, or of a function of one, as they become known."""

    def __init__(self, function: SubGraph, known: Mapping[Value, Any]) -> None:
        self.function = function
        self.known = known
        """The values of the run, for the picture of a refusal."""
        self.sizes: dict[Symbol, Any] = {}
        self._due: dict[Value, list[Guard]] = {}
        """Guards that wait, by the value with which they can be asked."""

    def begin(self, inputs: Sequence[Any]) -> None:
        """Take in the sizes of the inputs, and refuse those by which the function would have done something else."""
        function = self.function
        self._take(function.inputs, inputs)
        # Most functions have none that waits, and need no table of them.
        waiting = False
        for guard in function.guards:
            if guard.later:
                waiting = True
            else:
                self._ask(guard)
        if waiting:
            self._due = due(function)

    def bind(self, values: Sequence[Value], given: Sequence[Any]) -> None:
        """Take in the sizes of what a block is given, or of what a call gave; ask what can be asked now."""
        self._take(values, given)
        if self._due:
            for value in values:
                for guard in self._due.get(value, ()):
                    self._ask(guard)

    def _take(self, values: Sequence[Value], given: Sequence[Any]) -> None:
        for value, tensor in zip(values, given, strict=True):
            # Numbers and the like have no sizes.
            if not isinstance(value.type, TensorType):
                continue
            for size, there in zip(value.type.sizes, tensor.payload.shape, strict=True):
                symbol = bare(size)
                # Where another value showed it before, the two are equal by the rules.
                if symbol is not None:
                    self.sizes[symbol] = there

    def _ask(self, guard: Guard) -> None:
        if not guard.holds(self.sizes):
            raise _refusal(self.function, guard, self.sizes, self.known)


def _refusal(
    function: SubGraph, guard: Guard, sizes: Mapping[Symbol, Any], values: Mapping[Value, Any]
) -> DimensionError:
    """Return the error for a guard that does not hold: which line asked, what was so, what came, what would work."""
    known = symbols(function)
    asked = list(dict.fromkeys(guard.symbols()))
    # The dims that decided are marked in the picture of the error, each under its input.
    marks: dict[Value, list[int]] = {}
    for symbol in asked:
        value, dim = known[symbol]
        marks.setdefault(value, []).append(dim)
    were = " and ".join(f"{_called(*known[one])} was {one.hint}" for one in asked)
    now = " and ".join(str(sizes[one]) for one in asked)
    operands = []
    for value, dims in marks.items():
        operands.append(value.tensor.dims.operand("traced", dims))
        # It may have been let go of: its sizes stay known.
        if value in values:
            operands.append(dims_of(values[value]).operand(value.name, dims))
    where = guard.source or "the function"
    condition = guard.written(lambda symbol: _size(*known[symbol]))
    # An equation with a number is what int(size) leaves; what was compared on purpose needs no such advice.
    advice = _ADVICE if guard.relation == "==" and isinstance(guard.right, int) else ""
    return DimensionError(
        f"{were} in the trace, where {where} decided something by it: the graph holds for {condition}, and now it is "
        f"{now}. Trace again with these sizes{advice}.",
        op=function.name,
        operands=tuple(operands),
    )


_ADVICE = (
    ", or write that line so that it needs no number: x.flatten(1) needs no size where x.reshape(2, -1) does, x.mean() "
    "none where x.sum() / float(x.shape[0]) does"
)


def _called(value: Value, dim: int) -> str:
    """Return what a dim of a value is called: ``N of x``."""
    return f"{value.tensor.dims.names[dim] or f'dim {dim}'} of {value.name}"


def _size(value: Value, dim: int) -> str:
    """Return a size of a value as Python writes it."""
    return f"{value.name}.shape[{dim}]"

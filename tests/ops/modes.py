"""The ways in which a function runs, each held to what the function gives as it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

import workbench as wb
from tests.ops.sample_programs import Outcome, Program, programs
from workbench.base.errors import DTypeError
from workbench.core.op import Op
from workbench.core.value import Value
from workbench.testing.values import assert_close

__all__ = ["MODES", "Mode", "check_mode", "traced"]

Call = Callable[..., Any]


@dataclass(frozen=True)
class Mode:
    """One way of running a program."""

    made: Callable[[Program], Call]
    """What makes of a program what runs it so."""
    widths: tuple[Any, ...] = (np.float64,)
    """The types that samples in double precision are given in."""
    gradients: bool = True
    """Do gradients go through it?"""
    of_largest: bool = False
    """Are sums in single precision added up in another order, and right to the last digits of the largest value?"""
    settled: bool = False
    """Are values left out that numbers do not settle, as the signs of singular vectors are?"""


def traced(program: Program, runs: Callable[[wb.graph.Graph], Call]) -> Call:
    """Return what traces a program for the arguments of a call, and runs the graph."""

    def call(*given: Any) -> Any:
        # The inputs of a graph are tensors; what is no tensor stays what it was in the trace.
        flat = [*given[0], *given[1:]] if program.listed else [*given]
        count = len(given[0]) if program.listed else 0
        tensors = [one for one in flat if isinstance(one, Value)]

        def run(*inputs: Any) -> Any:
            rest = iter(inputs)
            filled = [next(rest) if isinstance(one, Value) else one for one in flat]
            return program.function(filled[:count], *filled[count:]) if count else program.function(*filled)

        return runs(wb.graph.trace(run, *tensors))(*tensors)

    return call


MODES: dict[str, Mode] = {
    "traced": Mode(lambda program: traced(program, lambda graph: graph)),
    "scripted": Mode(lambda program: wb.jit.script(program.function)),
    # Programs of steps are made for single precision; in double the op's own kernels run in their order.
    "compiled": Mode(lambda program: wb.compile(program.function), (np.float64, np.float32)),
}
"""All but XLA, which `tests/backend/xla_checks.py` runs in a process of its own."""


def check_mode(op: Op, mode: Mode, most: int | None = None) -> None:
    """Hold the samples of an op, the first `most` of them, to what they give as they are written."""
    for program in islice(programs(op), most):
        for dtype in mode.widths:
            for slopes in (False, True)[: 1 + mode.gradients]:
                try:
                    wanted = program.outcome(program.function, slopes, dtype)
                except (DTypeError, ValueError):
                    if dtype == np.float64:
                        raise
                    continue  # not every width is every op's
                found = program.outcome(mode.made(program), slopes, dtype)
                if mode.settled and "unsettled" in op.properties:
                    found, wanted = _bare(found), _bare(wanted)
                _agree(found, wanted, dtype, mode.of_largest)


def _bare(outcome: Outcome) -> Outcome:
    """Return an outcome with zeros for its values: names, types and sizes are compared then."""
    return tuple(wb.zeros_like(one) for one in outcome[0]), ()


def _agree(found: Outcome, wanted: Outcome, dtype: Any, of_largest: bool) -> None:
    bounds = {"rtol": 1e-6, "atol": 1e-9} if dtype == np.float64 else {"rtol": 1e-5, "atol": 1e-6}
    for one, other in _pairs(found[0], wanted[0]):
        if not isinstance(other, Value):
            assert one == other
            continue
        assert (one.dtype, one.shape, one.names) == (other.dtype, other.shape, other.names)
        if of_largest and dtype == np.float32 and other.is_floating_point() and other.numel():
            largest = float(other.abs().nan_to_num(0.0, 0.0, 0.0).max())
            assert_close(one, other, **{**bounds, "atol": 1e-6 * max(1.0, largest)})
        else:
            assert_close(one, other, **bounds)
    for one, other in _pairs(found[1], wanted[1]):
        assert (one is None) == (other is None), "a gradient is there in one way of running only"
        if one is not None:
            assert_close(one, other, **bounds)


def _pairs(found: tuple[Any, ...], wanted: tuple[Any, ...]) -> Iterable[tuple[Any, Any]]:
    return zip(found, wanted, strict=True)

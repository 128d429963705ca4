"""Tensors made from sizes alone: filled, counted, triangular.

Outside a trace they are arrays, made at once. Where a size is that of a trace they are ops without inputs, so that a
graph makes them of the sizes of its run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dims import Dims, unnamed
from workbench.base.symbolic_size import SymbolicNumber
from workbench.core.backend import move
from workbench.core.op import Absent, DTypeRule, Op, Sample, Saves
from workbench.core.quantization import MADE
from workbench.core.value import new

__all__ = ["arange", "eye", "filled", "is_symbolic", "linspace", "made", "placed", "record", "runs", "tri"]


def placed(array: Any, device: Any, requires_grad: bool = False) -> Any:
    """Return a tensor around an array that is its own, on a device; None is the CPU."""
    value = new(array if device is None else move(array, device))
    return value.requires_grad_() if requires_grad else value


GIVEN = DTypeRule("as given", None, lambda dtype, params: np.dtype(params["dtype"]))


def record(
    name: str,
    doc: str,
    equation: str,
    dims: Callable[..., Dims],
    forward: Callable[..., Any],
    *samples: dict[str, Any],
) -> Op:
    """Declare an op without inputs: what it makes follows from its parameters, of which one is the type."""
    return Op(
        name=name,
        doc=doc,
        equation=equation,
        dims=dims,
        rule="sizes as given, no names",
        dtype=GIVEN,
        forward=forward,
        vjp=Absent("it has no inputs"),
        quantized=MADE,
        saves=Saves((), output=False),
        cost=lambda dims, out, **params: 0.0,
        samples=lambda: [Sample((), params) for params in samples],
    )


def _count(start: Any, end: Any, step: Any) -> Any:
    """Return how many whole numbers there are from `start` in steps up to `end`."""
    # Rounded up, by a quotient that rounds down: sizes of a trace know no other division.
    return -((start - end) // step)


def _arange(start: Any, end: Any, step: Any, dtype: Any) -> Any:
    # Counted in whole numbers first: in float16 NumPy would add rounded steps.
    return np.arange(start, end, step).astype(dtype, copy=False)


def _linspace(start: float, end: float, steps: int, dtype: Any) -> Any:
    # In float64 and rounded once.
    return np.linspace(start, end, steps).astype(dtype)


FULL = record(
    "full",
    "One value at every place.",
    "y = value",
    lambda sizes, value, dtype: unnamed(sizes),
    lambda sizes, value, dtype: np.full(sizes, value, dtype),
    {"sizes": (2, 3), "value": 0.5, "dtype": np.dtype(np.float32)},
    {"sizes": (), "value": 7, "dtype": np.dtype(np.int64)},
    {"sizes": (2, 0), "value": True, "dtype": np.dtype(np.bool_)},
)

ARANGE = record(
    "arange",
    "Whole numbers from a start, in steps, below an end.",
    "y[i] = start + i·step",
    lambda start, end, step, dtype: unnamed((_count(start, end, step),)),
    _arange,
    {"start": 0, "end": 5, "step": 1, "dtype": np.dtype(np.int64)},
    {"start": 7, "end": 2, "step": -2, "dtype": np.dtype(np.float32)},
)

LINSPACE = record(
    "linspace",
    "Values from a start to an end, evenly spaced.",
    "y[i] = start + i·(end - start) / (steps - 1)",
    lambda start, end, steps, dtype: unnamed((steps,)),
    _linspace,
    {"start": 0.0, "end": 1.0, "steps": 5, "dtype": np.dtype(np.float32)},
)

RUNS = record(
    "runs",
    "Each whole number from 0 on, several times in a row.",
    "y[i] = ⌊i / length⌋",
    lambda count, length, dtype: unnamed((count * length,)),
    lambda count, length, dtype: np.repeat(np.arange(count, dtype=dtype), length),
    {"count": 3, "length": 2, "dtype": np.dtype(np.int64)},
)

TRI = record(
    "tri",
    "Ones on and below a diagonal, zeros above it.",
    "y[i, j] = 1 if j ≤ i + offset else 0",
    lambda rows, columns, offset, dtype: unnamed((rows, columns)),
    lambda rows, columns, offset, dtype: np.tri(rows, columns, offset, dtype),
    {"rows": 3, "columns": 4, "offset": 0, "dtype": np.dtype(np.bool_)},
    {"rows": 3, "columns": 3, "offset": -1, "dtype": np.dtype(np.float32)},
)

EYE = record(
    "eye",
    "Ones on the diagonal, zeros elsewhere.",
    "y[i, j] = 1 if i = j else 0",
    lambda rows, columns, dtype: unnamed((rows, columns)),
    lambda rows, columns, dtype: np.eye(rows, columns, dtype=dtype),
    {"rows": 3, "columns": 4, "dtype": np.dtype(np.float32)},
)


def is_symbolic(*sizes: Any) -> bool:
    """Say whether one of some numbers is a size of a trace that goes on."""
    return any(isinstance(one, SymbolicNumber) and one.scope.active for one in sizes)


def made(op: Op, *sizes: Any, **params: Any) -> Any:
    """Return the result of `op`: of a trace where a size is one of it, else at once."""
    # Not through the op otherwise: under a trace it would become a node, and what has fixed sizes is a constant.
    return op(**params) if is_symbolic(*sizes) else new(op.forward(**params))


def filled(sizes: tuple[Any, ...], value: Any, dtype: Any) -> Any:
    """Return a tensor with one value everywhere.

    >>> filled((2,), 0.5, np.float32)
    tensor([0.5000, 0.5000])
    """
    return made(FULL, *sizes, value, sizes=sizes, value=value, dtype=np.dtype(dtype))


def arange(start: Any, end: Any, step: Any, dtype: Any) -> Any:
    """Return the whole numbers from `start`, in steps of `step`, up to `end` and without it."""
    return made(ARANGE, start, end, step, start=start, end=end, step=step, dtype=np.dtype(dtype))


def linspace(start: float, end: float, steps: Any, dtype: Any) -> Any:
    """Return `steps` values from `start` to `end`, both included."""
    return made(LINSPACE, start, end, steps, start=start, end=end, steps=steps, dtype=np.dtype(dtype))


def runs(count: Any, length: Any) -> Any:
    """Return 0 as often as `length` says, then 1 as often, up to `count`.

    >>> runs(3, 2)
    tensor([0, 0, 1, 1, 2, 2])
    """
    return made(RUNS, count, length, count=count, length=length, dtype=np.dtype(np.int64))


def tri(rows: Any, columns: Any, offset: Any = 0, dtype: Any = np.bool_) -> Any:
    """Return a matrix with ones on and below the diagonal `offset`, and zeros above."""
    return made(TRI, rows, columns, offset, rows=rows, columns=columns, offset=offset, dtype=np.dtype(dtype))


def eye(rows: Any, columns: Any, dtype: Any) -> Any:
    """Return a matrix with ones on its diagonal."""
    return made(EYE, rows, columns, rows=rows, columns=columns, dtype=np.dtype(dtype))

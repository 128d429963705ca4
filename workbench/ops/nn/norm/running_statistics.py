"""Running statistics, which move while a layer is trained: in place, or as an op where a graph is made of the layer."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.core.dtype_rules import KEEP
from workbench.core.families import grid
from workbench.core.inplace import follows, write
from workbench.core.op import Absent, Op, Sample, Saves, ops
from workbench.core.quantization import STATISTICS
from workbench.kernels import lookup

__all__ = ["RUNNING_STATISTICS", "update_by_sample", "update_in_graph", "update_running"]

_COMPILED = lookup("move_statistics")


def update_running(
    running_mean: Any, running_var: Any, batch_mean: Any, rstd: Any, count: int, eps: float, momentum: float
) -> None:
    """Move running statistics in place towards a batch's mean and variance, the latter unbiased.

    `rstd` is 1 / √(biased variance + eps), as the op returns it. Statistics that are new tensors afterwards would
    be lost to whoever holds them, so they are changed in place.
    """
    _move_both(running_mean.payload, running_var.payload, batch_mean, rstd, count, eps, momentum)
    running_mean._version += 1
    running_var._version += 1


def _move_both(
    mean: Any, variance: Any, batch_mean: Any, rstd: Any, count: int, eps: float, momentum: float
) -> None:
    moved = (mean, variance, batch_mean, rstd, count, eps, momentum)
    if _COMPILED is not None and _COMPILED.accepts(*moved):
        _COMPILED.run(*moved)
        return
    if rstd.dtype.itemsize < 4:
        rstd = rstd.astype(np.float32)
    # (1 / rstd² - eps)·count / (count - 1), in memory of its own, since this runs at every step.
    scale = count / (count - 1)
    measured = np.multiply(rstd, rstd)
    np.divide(scale, measured, out=measured)
    np.subtract(measured, scale * eps, out=measured)
    np.maximum(measured, 0.0, out=measured)
    _move(mean, batch_mean, momentum)
    _move(variance, measured, momentum)


def update_by_sample(
    running_mean: Any, running_var: Any, means: Any, rstd: Any, count: int, eps: float, momentum: float
) -> None:
    """Move running statistics in place towards the mean over the samples of each one's mean and unbiased variance."""
    _move_by_sample(running_mean.payload, running_var.payload, means, rstd, count, eps, momentum)
    running_mean._version += 1
    running_var._version += 1


def _move_by_sample(
    mean: Any, variance: Any, means: Any, rstd: Any, count: int, eps: float, momentum: float
) -> None:
    # The difference of 1/rstd² and ε loses digits where the variance is small.
    spread = rstd.astype(np.float64)
    measured = np.maximum(1 / (spread * spread) - eps, 0) * (count / (count - 1))
    _move(mean, means.mean(axis=0), momentum)
    _move(variance, measured.mean(axis=0), momentum)


def _move(running: Any, measured: Any, momentum: float) -> None:
    running *= 1 - momentum
    running += (momentum * measured).astype(running.dtype, copy=False)


# ------------------------------------------------------------------------------------------------ as an op


def _moved(
    mean: Any, variance: Any, batch_mean: Any, rstd: Any, *counted: Any,
    count: int, eps: float, momentum: float | None, by_sample: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """Return statistics that were moved, in memory of their own: the very code that moves a layer's, on copies."""
    share = 1.0 / int(counted[0]) if momentum is None else momentum
    after = mean.copy(), variance.copy()
    (_move_by_sample if by_sample else _move_both)(*after, batch_mean, rstd, count, eps, share)
    return after


_SETTINGS: dict[str, Any] = {"count": 6, "eps": 1e-5, "momentum": 0.1, "by_sample": False}

RUNNING_STATISTICS = Op(
    name="running_statistics",
    doc="Running statistics of channels after a batch: what a layer's become while it is trained.",
    equation="μ′ = (1 - m)·μ + m·mean, σ²′ = (1 - m)·σ² + m·(1/rstd² - ε)·count/(count - 1); else m = 1/counted",
    reference="Ioffe and Szegedy 2015",
    dims=lambda mean, variance, batch_mean, rstd, *counted, **params: (
        _unchanged(mean),
        _unchanged(variance),
    ),
    rule="those of the running statistics",
    dtype=KEEP,
    forward=_moved,
    vjp=Absent("running statistics are measured, and no gradient flows into or out of them"),
    saves=Saves((), output=False),
    samples=lambda: [
        Sample((grid(3), grid(3) + 2, grid(3), grid(3) + 2), _SETTINGS),
        Sample((grid(3), grid(3) + 2, grid(3), grid(3) + 2, np.asarray(4)), {**_SETTINGS, "momentum": None}),
        Sample((grid(3), grid(3) + 2, grid(2, 3), grid(2, 3) + 3), {**_SETTINGS, "by_sample": True}),
    ],
    outputs=2,
    quantized=STATISTICS,
)


def _unchanged(dims: Dims) -> Dims:
    return Dims(dims.names, dims.sizes)


def update_in_graph(
    running: tuple[Any, Any], measured: tuple[Any, Any], count: Any, eps: float, momentum: float | None,
    batches: Any = None, by_sample: bool = False,
) -> None:  # fmt: skip
    """Move running statistics, and count a batch, by ops: where `measured` are values of a graph that keeps the change.

    Other values without numbers move nothing.
    """
    if not follows(running[0], measured[0]):
        return
    if batches is not None:
        write(batches, "num_batches_tracked", lambda old: ops.add(old, 1))
    if not count:
        return
    counted = (batches,) if momentum is None and batches is not None else ()
    # A mean over all batches needs their number.
    if momentum is None and not counted:
        momentum = 0.0
    after = ops.running_statistics(
        *running, *measured, *counted, count=count, eps=eps, momentum=momentum, by_sample=by_sample
    )
    for value, new in zip(running, after, strict=True):
        write(value, "running_statistics", partial(_instead, new))


def _instead(new: Any, old: Any) -> Any:
    return new

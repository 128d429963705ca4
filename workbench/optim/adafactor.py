"""Adafactor: the second moment of a matrix kept as one row and one column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from workbench.core.value import new
from workbench.optim.optimizer import Group, Optimizer
from workbench.optim.settings import check_dense, check_rate, number

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Adam without a mean, and with a second moment of rows plus columns instead of rows times columns.

    For a matrix: R ← lerp(R, row means of G², t^β) and C of the columns, V = R·C / mean(R); for a vector V is kept
    whole. U = G / √max(V, eps₁²), scaled down to a root mean square of `d`; then
    p ← p - max(eps₂, RMS(p))·min(lr, 1/√t)·U, after p ← p·(1 - lr·weight_decay). Shazeer and Stern 2018.

    The dims beyond the last two are a batch of matrices. `eps` has None for the smallest step of the parameter's type.
    Raises ValueError for settings out of bounds, RuntimeError for complex parameters.

    >>> import workbench as wb
    >>> p = wb.ones(2, 3, requires_grad=True)
    >>> optimizer = Adafactor([p], lr=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.detach()[0]
    tensor([0.5000, 0.5000, 0.5000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        settings = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": tuple(eps),
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, settings)

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse settings out of bounds."""
        check_rate(settings, "Learning rate should be >= 0 but is: {}")
        small, least = settings["eps"]
        for holds, words, value in (
            (settings["beta2_decay"] <= 0, "beta2_decay should be <= 0", settings["beta2_decay"]),
            (small is None or small >= 0, "epsilon1 should be >= 0", small),
            (least >= 0, "epsilon2 should be >= 0", least),
            (settings["d"] >= 1, "Clipping threshold d should be >= 1", settings["d"]),
            (settings["weight_decay"] >= 0, "weight_decay should be >= 0", settings["weight_decay"]),
        ):
            if not holds:
                raise ValueError(f"{words} but is: {value}")

    def _step_group(self, group: Group) -> None:
        check_dense(self, group["params"])
        moved = [one for one in group["params"] if one._grad is not None]
        # All of them before the first moves: a refusal leaves no step half done.
        for parameter in moved:
            if parameter.payload.dtype.kind == "c":
                raise RuntimeError("Adafactor does not support complex parameters")
        for parameter in moved:
            entry = self.state[parameter]
            if not entry:
                entry.update(_begun(parameter))
            self._move(parameter, entry, group)

    def _move(self, parameter: Any, entry: dict[str, Any], group: Group) -> None:
        array = parameter.payload
        half = array.dtype.itemsize < 4
        # Half precision is computed in float32, and rounded once.
        own = array.astype(np.float32) if half else array
        gradient = parameter._grad.payload.astype(own.dtype)
        if group["maximize"]:
            gradient = -gradient
        entry["step"].payload[...] += 1
        step = float(entry["step"].payload)
        lr, (small, least) = number(group["lr"]), group["eps"]
        small = float(np.finfo(np.float32 if half else array.dtype).eps) if small is None else small
        # Of the parameter as it is before it decays.
        size = max(least, _mean_square_root(own)) * min(lr, 1 / math.sqrt(step))
        if group["weight_decay"]:
            own *= 1 - lr * group["weight_decay"]
        square = _second_moment(gradient, entry, step ** group["beta2_decay"], small)
        update = gradient / np.sqrt(np.maximum(square, small * small))
        own -= size / max(1.0, _mean_square_root(update) / group["d"]) * update
        if half:
            array[...] = own
        parameter._version += 1

    def _state_keys(self, group: Group) -> tuple[frozenset[str], frozenset[str]]:
        return frozenset({"step"}), frozenset({"step", "row_var", "col_var", "variance"})

    def _state_shapes(self, parameter: Any) -> dict[str, tuple[int, ...]]:
        shape = tuple(parameter.payload.shape)
        if len(shape) < 2:
            return {"variance": shape}
        return {"row_var": (*shape[:-1], 1), "col_var": (*shape[:-2], 1, shape[-1])}


def _begun(parameter: Any) -> dict[str, Any]:
    shape, kind = parameter.payload.shape, parameter.payload.dtype
    state = {"step": new(np.zeros((), np.float32))}
    if len(shape) < 2:
        return {**state, "variance": new(np.zeros_like(parameter.payload), parameter._names)}
    rows, columns = (*shape[:-1], 1), (*shape[:-2], 1, shape[-1])
    return {**state, "row_var": new(np.zeros(rows, kind)), "col_var": new(np.zeros(columns, kind))}


def _second_moment(gradient: Any, entry: dict[str, Any], weight: float, small: float) -> Any:
    """Move what is kept of the squared gradient by `weight` towards it, and return the estimate of the whole."""
    squared = np.square(gradient)
    if gradient.ndim < 2:
        return _towards(entry["variance"], squared, weight)
    rows = _towards(entry["row_var"], squared.mean(-1, keepdims=True), weight)
    columns = _towards(entry["col_var"], squared.mean(-2, keepdims=True), weight)
    # Nothing can be divided by the mean of gradients that are 0 throughout.
    return rows * columns / np.maximum(rows.mean(-2, keepdims=True), small)


def _towards(kept: Any, there: Any, weight: float) -> Any:
    here = kept.payload.astype(there.dtype)
    here = here + (there - here) * weight
    kept.payload[...] = here
    kept._version += 1
    return here


def _mean_square_root(array: Any) -> float:
    return float(np.linalg.norm(array.ravel())) / math.sqrt(max(array.size, 1))

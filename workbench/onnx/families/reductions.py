"""Operators that make one value of many along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dtypes import bool_
from workbench.onnx import integers
from workbench.onnx.families.shapes import listed, placed
from workbench.onnx.table import operator
from workbench.onnx.values import is_floating, wb

__all__: list[str] = []

Rule = Callable[[Any, tuple[int, ...], bool], Any]


def _sum(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    return wb.sum(x, axes, keepdim=keep, dtype=x.dtype)


def _product(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    kind = x.dtype
    for axis in sorted(axes, reverse=True):
        x = wb.prod(x, axis, keepdim=keep)
    return x.to(kind)


def _mean(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    if is_floating(x):
        return wb.mean(x, axes, keepdim=keep)
    return wb.mean(x.double(), axes, keepdim=keep).to(x.dtype)


def _end(kind: Any, least: bool) -> Any:
    if kind.is_floating_point:
        return float("-inf") if least else float("inf")
    if kind == bool_:
        return not least
    info = np.iinfo(kind.numpy)
    return int(info.min if least else info.max)


def _extreme(rule: Callable[..., Any]) -> Rule:
    def reduce(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
        if 0 not in [one for one in x.shape if type(one) is int]:
            return rule(x, axes, keepdim=keep)
        # Of nothing it is the least that there is, or the greatest.
        end = _end(x.dtype, rule is wb.amax)
        sizes = [1 if i in axes else size for i, size in enumerate(x.shape)]
        found = wb.full(sizes, end, dtype=x.dtype)
        return found if keep else found.squeeze(axes)

    return reduce


def _log_sum_exp(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    return wb.logsumexp(x, axes, keepdim=keep)


_RULES: dict[str, Rule] = {
    "ReduceL1": lambda x, axes, keep: _sum(wb.abs(x), axes, keep),
    "ReduceL2": lambda x, axes, keep: wb.sqrt(_sum(x * x, axes, keep)).to(x.dtype),
    "ReduceLogSum": lambda x, axes, keep: wb.log(_sum(x, axes, keep)),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": _extreme(wb.amax),
    "ReduceMean": _mean,
    "ReduceMin": _extreme(wb.amin),
    "ReduceProd": _product,
    "ReduceSum": _sum,
    "ReduceSumSquare": lambda x, axes, keep: _sum(x * x, axes, keep),
}


def _reduced(rule: Rule, x: Any, axes: Any, keepdims: int, noop: int) -> Any:
    axes = [] if axes is None else listed(axes)
    if not axes:
        if noop:
            # Nothing is summed up, and each value is still squared, or its magnitude taken.
            return rule(x.unsqueeze(0), (0,), False)
        axes = list(range(x.dim()))
    found = tuple(placed(one, x.dim()) for one in axes)
    return rule(x, found, bool(keepdims)) if found else rule(x.unsqueeze(0), (0,), False)


def _declare(name: str, rule: Rule) -> None:
    def by_attribute(x: Any, *, axes: list[int] | None = None, keepdims: int = 1) -> Any:
        return _reduced(rule, x, axes, keepdims, 0)

    def by_input(x: Any, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Any:
        return _reduced(rule, x, axes, keepdims, noop_with_empty_axes)

    fast = integers.product if name == "ReduceProd" else None
    operator(name, integers=fast)(by_attribute)
    # The sum takes its axes as an input for longer than the others.
    operator(name, since=13 if name == "ReduceSum" else 18, numbers=(1,), integers=fast)(by_input)


for _name, _rule in _RULES.items():
    _declare(_name, _rule)


def _place(rule: Callable[..., Any], x: Any, axis: int, keepdims: int, last: int) -> Any:
    if last:
        found = x.shape[axis] - 1 - rule(x.flip(axis), axis, keepdim=bool(keepdims))
    else:
        found = rule(x, axis, keepdim=bool(keepdims))
    return found


@operator("ArgMax")
def _argmax(x: Any, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
    return _place(wb.argmax, x, axis, keepdims, select_last_index)


@operator("ArgMin")
def _argmin(x: Any, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
    return _place(wb.argmin, x, axis, keepdims, select_last_index)


def _running(rule: Callable[..., Any], first: float, x: Any, axis: Any, exclusive: int, reverse: int) -> Any:
    axis = placed(axis[0] if isinstance(axis, list) else axis, x.dim())
    kind = x.dtype
    if reverse:
        x = x.flip(axis)
    found = rule(x, axis).to(kind)
    if exclusive:
        size = x.shape[axis]
        start = wb.full_like(wb.narrow(found, axis, 0, 1), first)
        found = wb.narrow(wb.cat([start, found], dim=axis), axis, 0, size)
    return found.flip(axis) if reverse else found


@operator("CumSum", since=11, numbers=(1,))
def _cumsum(x: Any, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Any:
    return _running(wb.cumsum, 0, x, axis, exclusive, reverse)


@operator("CumProd", since=26, numbers=(1,))
def _cumprod(x: Any, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Any:
    return _running(wb.cumprod, 1, x, axis, exclusive, reverse)


# -------------------------------------------------------------------------- over what is behind an axis


def _behind(rule: Callable[[Any], Any], x: Any, axis: int) -> Any:
    """Apply `rule` to rows of all that stands from `axis` on, as the first versions of these operators do."""
    shape, axis = x.shape, placed(axis, x.dim())
    return rule(x.flatten(axis)).reshape(shape)


@operator("Softmax")
def _softmax_behind(x: Any, *, axis: int = 1) -> Any:
    return _behind(lambda rows: wb.softmax(rows, -1), x, axis)


@operator("Softmax", since=13)
def _softmax(x: Any, *, axis: int = -1) -> Any:
    return wb.softmax(x, axis)


@operator("LogSoftmax")
def _log_softmax_behind(x: Any, *, axis: int = 1) -> Any:
    return _behind(lambda rows: wb.log_softmax(rows, -1), x, axis)


@operator("LogSoftmax", since=13)
def _log_softmax(x: Any, *, axis: int = -1) -> Any:
    return wb.log_softmax(x, axis)


def _highest(x: Any, axis: int) -> Any:
    """Return 1 at the first of the greatest values, and 0 elsewhere."""
    best = wb.argmax(x, axis, keepdim=True)
    return wb.scatter(wb.zeros_like(x), axis, best, 1.0)


@operator("Hardmax")
def _hardmax_behind(x: Any, *, axis: int = 1) -> Any:
    return _behind(lambda rows: _highest(rows, -1), x, axis)


@operator("Hardmax", since=13)
def _hardmax(x: Any, *, axis: int = -1) -> Any:
    return _highest(x, axis)

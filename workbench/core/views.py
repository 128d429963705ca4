"""Views: values that share memory, and what a change of that memory does to their places on the tape.

A view op's output remembers what it views. When the memory changes in place, the change is recorded on what was
viewed too (`changed`), up to the value that owns the memory; other views of the same memory notice by its version
and take a new place on the tape when they are next used (`refresh`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.errors import AutogradError
from workbench.core.op import Op, ops
from workbench.core.tape import Call, alias, move
from workbench.core.value import Abstract, Value, new

__all__ = ["changed", "check_turned", "refresh", "remember", "see"]


def see(op: Op, viewed: Any, params: dict[str, Any], view: Any) -> None:
    """Remember that `view` is the output of view op `op` on `viewed`, if it does share its memory."""
    if not isinstance(viewed, Value):
        return
    base = view.payload.base
    array = viewed.payload
    if base is not array and base is not array.base:
        return  # a copy, whose own reshaping made it a view of something else
    remember(op, viewed, params, view)


def remember(op: Op, viewed: Any, params: dict[str, Any], view: Any) -> None:
    """Remember that `view` is the output of view op `op` on `viewed`."""
    owner = viewed if viewed._owner is None else viewed._owner
    view._owner = owner
    view._inference = viewed._inference
    view._view = (viewed, op, params)
    view._seen = owner._changes


def refresh(view: Any) -> None:
    """Give a view its new place on the tape if its memory was changed by way of another value."""
    version = view._version
    if view._seen == version:
        return
    viewed, op, params = view._view
    if viewed._view is not None:
        refresh(viewed)
    if viewed._requires_grad:
        check_turned(view)
    view._seen = version
    if viewed._requires_grad:
        again = op(_history(viewed), **params)
        move(again, view)


def check_turned(view: Any) -> None:
    """Refuse a view whose base had its own dims changed in place since: by which way it views is not known."""
    viewed = view._view[0]
    if viewed._turned > view._seen:
        raise AutogradError(
            "this tensor is a view of one whose dims were changed in place afterwards (transpose_, squeeze_, …), so "
            "that gradients cannot be followed through it. Make the view after the change."
        )


def changed(target: Any, result: Any) -> None:
    """Put `target`, whose memory now holds the numbers of `result`, where `result` is on the tape; and all it views."""
    before = _before(target)
    move(result, target)
    target._seen = target._version  # its place is right: refresh need not make the view again
    while target._view is not None:
        viewed, op, params = target._view
        old = _before(viewed)
        if not target._requires_grad and not old._requires_grad:
            return
        move(_written(op, params, old, before, _history(target)), viewed)
        viewed._seen = viewed._version
        target, before = viewed, old


def _before(value: Any) -> Any:
    """Return a stand-in for what `value` was, on its present place of the tape, without numbers."""
    stand_in = alias(value, None)
    stand_in.payload = Abstract(value.payload.shape, value.payload.dtype)
    return stand_in


_history = _before


def _written(op: Op, params: dict[str, Any], old: Any, before: Any, now: Any) -> Any:
    """Return, without numbers, what `old` becomes when its view ``op(old)`` changes from `before` to `now`."""
    back = op.vjp(Call(op, (old,), params, (before,), (True,)), now)[0]  # type: ignore[operator]
    if old.payload.dtype.kind != before.payload.dtype.kind:
        # Real numbers out of complex ones: no place is wholly the view's, but the view is linear.
        return ops.add(old, ops.sub(back, op.vjp(Call(op, (old,), params, (before,), (True,)), before)[0]))  # type: ignore[operator]
    mask = np.zeros(old.payload.shape, np.bool_)
    op.forward(mask, **params)[...] = True
    return ops.where(new(mask), back, old)

"""Views: values that share memory, and what a change of that memory does to their places on the tape.

A view op's output remembers what it views. When the memory changes in place, the change is recorded on the value that
owns it (`changed`); all views of the memory, that which was changed among them, notice by its version and take a new
place on the tape, as views of the owner, when they are next used (`refresh`).

A view that was made while nothing was recorded stands for no call: it borrows the wish for a gradient from what it
views, no gradient goes on from it, and what is written through it or beside it cannot be followed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.errors import AutogradError
from workbench.core.op import Op, ops
from workbench.core.stack import enable_grad, grad_enabled
from workbench.core.tape import Call, alias, move
from workbench.core.value import Abstract, Value, new

__all__ = [
    "asks",
    "before",
    "changed",
    "check_recorded",
    "check_turned",
    "refresh",
    "remember",
    "root_of",
    "see",
    "shows_another",
]


def see(op: Op, viewed: Any, params: dict[str, Any], view: Any) -> None:
    """Remember that `view` is the output of view op `op` on `viewed`, if it does share its memory."""
    if not isinstance(viewed, Value):
        return
    # NumPy names as base the array that owns the memory: a view and a view of a view have the same.
    base = view.payload.base
    array = viewed.payload
    if view.payload is not array and base is not array and (base is None or base is not array.base):
        return  # a copy, whose own reshaping made it a view of something else
    remember(op, viewed, params, view)


def remember(op: Op, viewed: Any, params: dict[str, Any], view: Any) -> None:
    """Remember that `view` is the output of view op `op` on `viewed`."""
    owner = viewed if viewed._owner is None else viewed._owner
    view._owner = owner
    view._inference = viewed._inference
    # One view on the way that was not recorded breaks the chain.
    view._view = (viewed, op, params, grad_enabled() and (viewed._view is None or viewed._view[3]))
    view._seen = owner._changes


def asks(value: Any) -> bool:
    """Say whether a value requires a gradient; of a view this is known when it has its place on the tape."""
    if value._view is not None:
        refresh(value)
    return bool(value._requires_grad)


def root_of(value: Any) -> Any:
    """Return the value that a view is a view of in the end; a value that views nothing is its own."""
    while value._view is not None:
        value = value._view[0]
    return value


def shows_another(value: Any) -> bool:
    """Say whether a value is a view of another: not one whose own dims were changed, which views what it was."""
    if value._view is None:
        return False
    root = root_of(value)
    return not any(former is root for _, former in value._former or ())


def refresh(view: Any) -> None:
    """Give a view its place on the tape where its memory was changed by way of another value."""
    if view._view[0]._turned > view._seen:
        check_turned(view)
    wanted = _asked_below(view)
    if view._grad_fn is None and not wanted:
        if view._borrowed:
            view._requires_grad = view._borrowed = False
        return
    version = view._version
    if view._seen == version:
        if not view._requires_grad:
            view._requires_grad = view._borrowed = True
        return
    if not view._view[3]:
        raise AutogradError(
            "A view was created in no_grad mode and its base or another view of its base has been modified inplace "
            "with grad mode enabled. Make the view and the change both inside no_grad(), or both outside."
        )
    view._seen = version
    with enable_grad():  # where the view is on the tape is no matter of who asks
        again = _shown_again(view)
    move(again, view)


def _asked_below(view: Any) -> bool:
    """Say whether something that `view` views requires a gradient."""
    while view._view is not None:
        view = view._view[0]
        if view._requires_grad and not view._borrowed:
            return True
    return False


def _shown_again(value: Any) -> Any:
    """Return, without numbers, a view as it comes out of what owns the memory: other views of it are not on the way."""
    if value._view is None or (value._requires_grad and value._grad_fn is None and not value._borrowed):
        return _before(value)  # also a leaf whose own dims were changed before it asked for a gradient
    if value._view[0]._turned > value._seen:
        check_turned(value)
    viewed, op, params, _ = value._view
    return op(_shown_again(viewed), **params)


def before(target: Any) -> Any:
    """Return what `target` is before a change, another name of it.

    Of a view it stands beside the view on the tape, as what owns the memory shows it: the gradient of the change is
    that of the owner, and goes past whoever watches the view.
    """
    old = alias(target, target._names)
    if target._view is not None and target._grad_fn is not None and grad_enabled():
        again = _shown_again(target)
        old._grad_fn, old._output = again._grad_fn, again._output
    return old


def check_recorded(view: Any) -> None:
    """Refuse a change that is to be recorded, by way of a view that was made while nothing was recorded."""
    if view._view is not None and not view._view[3]:
        raise AutogradError(
            "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that "
            "this use case is ambiguous and error-prone, it is forbidden. Make the view and the change both inside "
            "no_grad() (if the change is not to be recorded), or both outside."
        )


def check_turned(view: Any) -> None:
    """Have a view whose base had its own dims changed in place view what the base was; refuse where that is gone."""
    viewed, *how = view._view
    for version, former in viewed._former or ():
        if version > view._seen:
            view._view = (former, *how)
            return
    raise AutogradError(
        "this tensor is a view of one whose dims were changed in place afterwards (transpose_, squeeze_, …) while no "
        "gradients were recorded, so that they cannot be followed through it. Make the view after the change."
    )


def changed(target: Any, result: Any) -> None:
    """Record that the memory of `target` now holds the numbers of `result`, on the value that owns it."""
    chain = []
    owner = target
    while owner._view is not None:
        chain.append(owner)
        owner = owner._view[0]
    if not chain:
        move(result, target)
        return
    move(_written(chain, owner, _shown_again(target), result), owner)
    refresh(target)


def _before(value: Any) -> Any:
    """Return a stand-in for what `value` was, on its present place of the tape, without numbers."""
    stand_in = alias(value, None)
    stand_in.payload = Abstract(value.payload.shape, value.payload.dtype)
    return stand_in


def _unmarked(array: Any) -> np.ndarray[Any, Any]:
    """Return a mask without marks that lies in memory as `array` does: a view by strides shows places in memory."""
    if type(array) is not np.ndarray:
        return np.zeros(array.shape, np.bool_)
    strides = [stride // array.itemsize for stride in array.strides]
    ends = [(size - 1) * stride for size, stride in zip(array.shape, strides, strict=True) if size]
    first = -sum(min(end, 0) for end in ends)
    memory = np.zeros(first + sum(max(end, 0) for end in ends) + 1, np.bool_)
    return np.ndarray(array.shape, np.bool_, memory, first, strides)


def _written(chain: list[Any], owner: Any, before: Any, now: Any) -> Any:
    """Return, without numbers, what `owner` becomes when its view by way of `chain` changes from `before` to `now`."""
    old, back = _before(owner), _sent_back(chain, now)
    kinds = {value.payload.dtype.kind for value in (old, *chain)}
    if len(kinds) > 1:
        # Real numbers out of complex ones: no place is wholly the view's, but the view is linear.
        return ops.add(old, ops.sub(back, _sent_back(chain, before)))
    # The view ops are run on a mask of the owner: what they show of it are the places that were written.
    mask = _unmarked(owner.payload)
    shown = mask
    for value in reversed(chain):
        _, op, params, _ = value._view
        shown = op.forward(shown, **params)
    shown = shown.view()
    shown.setflags(write=True)  # what was stretched is marked as read-only
    shown[...] = True
    if mask.all():
        return back  # the view shows all of it
    return ops.where(new(mask.copy()), back, old)


def _sent_back(chain: list[Any], numbers: Any) -> Any:
    """Return the numbers of a view at their places in what it views in the end, and zeros elsewhere."""
    for value in chain:
        # The gradient rule of a view op is its transpose: it puts numbers back to where they are shown from.
        viewed, op, params, _ = value._view
        stand_in = new(Abstract(viewed.payload.shape, viewed.payload.dtype))
        numbers = op.vjp(Call(op, (stand_in,), params, (numbers,), (True,)), numbers)[0]
    return numbers

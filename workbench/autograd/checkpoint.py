"""Checkpointing: trade time for memory by computing part of a network again during backward.

A checkpointed function is recorded as one call that keeps the function and its arguments, and nothing of what is
computed inside. Its gradient rule runs the function again, records that, and walks it backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from workbench.autograd import engine
from workbench.autograd.custom_function_calls import recorded_op
from workbench.autograd.pytree import flatten
from workbench.base.errors import AutogradError
from workbench.base.public import words
from workbench.base.random import default_generator
from workbench.core.bases import next_serial
from workbench.core.dispatch import enable_grad, grad_enabled
from workbench.core.op import Saves
from workbench.core.tape import Call, Node, alias, leaf_of, record
from workbench.core.value import Abstract, Value, new

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential"]

_NOTHING = Saves((), output=False)
_Place = tuple[int, int]


class CheckpointError(AutogradError):
    """A checkpointed function that gave something else when it was run again."""


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool = False,
    preserve_rng_state: bool = True,
    determinism_check: str = "default",
    **kwargs: Any,
) -> Any:
    """Return ``function(*args, **kwargs)`` without keeping what backward needs of it: backward runs it again.

    Gradients are those of the function itself, of its arguments and of everything it closes over, to any order. What
    it does besides returning (statistics that it updates) happens twice. With `preserve_rng_state` it draws the same
    random numbers both times. `use_reentrant` is accepted for PyTorch's sake and changes nothing.

    Raises `CheckpointError` where the second run returns other sizes or types, unless `determinism_check` is "none".

    >>> import workbench as wb
    >>> from workbench.autograd.checkpoint import checkpoint
    >>> x = wb.tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint(lambda x: (x * x).exp(), x).sum().backward()
    >>> x.grad
    tensor([  5.4366, 218.3926])
    """
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of 'default' and 'none', got {determinism_check!r}"
        )
    if not grad_enabled():
        return function(*args, **kwargs)
    state = default_generator.get_state() if preserve_rng_state else None
    start = next_serial()
    result = function(*args, **kwargs)
    outputs, rebuild = flatten(result)
    # What is off the tape, or was on it before, is handed on as it is.
    inside = [k for k, one in enumerate(outputs) if _is_inside(one, start)]
    if not inside:
        return result
    # Looked for now, while the calls of the first run are there.
    places, values = _border([outputs[k] for k in inside], start)
    seen = [(outputs[k].payload.shape, outputs[k].payload.dtype) for k in inside]

    def again() -> list[Any]:
        with _stream(state):
            made, _ = flatten(function(*args, **kwargs))
        if determinism_check == "default":
            _check_same([made[k] if k < len(made) else None for k in inside], seen)
        return [made[k] for k in inside]

    def vjp(call: Call, *gradients: Any) -> tuple[Any, ...]:
        return _gradients(again, places, call.inputs, gradients)

    for k in inside:
        # New values: those of the first run hold the calls of it, which are to be forgotten.
        outputs[k] = new(outputs[k].payload, outputs[k]._names)
    record(
        recorded_op("checkpoint", vjp, len(inside), _NOTHING), values, {}, tuple([outputs[k] for k in inside])
    )
    return rebuild(outputs)


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool = False,
    *,
    preserve_rng_state: bool = True,
) -> Any:
    """Run functions (or the modules of a Sequential) in `segments` parts, all but the last of them checkpointed.

    >>> import workbench as wb
    >>> from workbench.autograd.checkpoint import checkpoint_sequential
    >>> x = wb.tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint_sequential([wb.exp, wb.log, wb.exp, wb.log], 2, x).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if segments < 1:
        raise ValueError(f"checkpoint_sequential: segments is at least 1, got {segments}")
    size = max(len(steps) // segments, 1)
    # Where there are fewer steps than segments each step is one. The last part is kept: backward starts with it.
    last = size * (segments - 1) if len(steps) >= segments else len(steps) - 1

    def part(start: int, end: int) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for step in steps[start:end]:
                value = step(value)
            return value

        return run

    for start in range(0, last, size):
        input = checkpoint(
            part(start, min(start + size, last)),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )
    return part(last, len(steps))(input)


@contextmanager
def _stream(state: dict[str, Any] | None) -> Iterator[None]:
    """Draw random numbers from where the first run began, and go on afterwards as if nothing had been drawn."""
    if state is None:
        yield
        return
    here = default_generator.get_state()
    default_generator.set_state(state)
    try:
        yield
    finally:
        default_generator.set_state(here)


def _is_inside(value: Any, start: int) -> bool:
    return (
        isinstance(value, Value)
        and value._requires_grad
        and value._grad_fn is not None
        and value._grad_fn.serial > start
    )


def _place(value: Any) -> _Place:
    """Return where on the tape a value is."""
    node = value._grad_fn
    return (-1, id(leaf_of(value))) if node is None else (node.serial, value._output)


def _calls(outputs: Sequence[Any], start: int) -> list[Node]:
    """Return the calls recorded after `start` that led to `outputs`."""
    found: dict[int, Node] = {}
    pending = [one._grad_fn for one in outputs]
    while pending:
        node = pending.pop()
        if node.serial in found:
            continue
        found[node.serial] = node
        pending += [value._grad_fn for value in node.sources() if _is_inside(value, start)]
    return list(found.values())


def _border(outputs: Sequence[Any], start: int) -> tuple[list[_Place], tuple[Any, ...]]:
    """Return the places from outside that a function read, and stand-ins for the values there."""
    found: dict[_Place, Any] = {}
    for node in _calls(outputs, start):
        for value in node.sources():
            if isinstance(value, Value) and value._requires_grad and not _is_inside(value, start):
                place = _place(value)
                if place not in found:
                    found[place] = alias(value, value._names)
                    # No numbers: the place on the tape is all that is needed until backward.
                    found[place].payload = Abstract(value.payload.shape, value.payload.dtype)
    return list(found), tuple(found.values())


def _identity(call: Call, gradient: Any) -> tuple[Any, ...]:
    return (gradient,)


def _gradients(
    again: Callable[[], list[Any]], places: Sequence[_Place], values: Sequence[Any], gradients: Sequence[Any]
) -> tuple[Any, ...]:
    """Run the function again, and return the gradients of the values at its border."""
    keep = grad_enabled()
    with enable_grad():
        entries = {}
        for place, value in zip(places, values, strict=True):
            # A place of its own, where gradients stop, connected to the value for those of higher order.
            entries[place] = new(value.payload)
            record(recorded_op("checkpoint_input", _identity, 1, _NOTHING), (value,), {}, (entries[place],))
        start = next_serial()
        outputs = again()
        inside = [one for one in outputs if _is_inside(one, start)]
        # The calls read the entries from here on, so that the walk ends at them.
        for node in _calls(inside, start):
            node.inputs = tuple([_entered(value, entries) for value in node.sources()])
        pairs = [
            (one, gradient)
            for one, gradient in zip(outputs, gradients, strict=True)
            if gradient is not None and _is_inside(one, start)
        ]
        if not pairs:
            return (None,) * len(places)
        found = engine.grad(
            [one for one, _ in pairs],
            list(entries.values()),
            [gradient for _, gradient in pairs],
            create_graph=keep,
            allow_unused=True,
        )
    return tuple(found)


def _entered(value: Any, entries: dict[_Place, Any]) -> Any:
    """Return a value from outside on the place where its gradients stop."""
    if not isinstance(value, Value) or not value._requires_grad:
        return value
    entry = entries.get(_place(value))
    if entry is None:
        return value
    moved = alias(value, value._names)
    moved._leaf, moved._grad_fn, moved._output = None, entry._grad_fn, entry._output
    return moved


def _check_same(made: Sequence[Any], seen: Sequence[tuple[Any, Any]]) -> None:
    for k, (one, (shape, dtype)) in enumerate(zip(made, seen, strict=True)):
        now = None if not isinstance(one, Value) else (one.payload.shape, one.payload.dtype)
        if now != (shape, dtype):
            raise CheckpointError(
                "checkpoint: Recomputed values for the following tensors have different metadata than during the "
                f"forward pass: output {k} was of shape {list(shape)} and type {dtype}, now it is {now}."
            )


__getattr__, __dir__ = words(__name__, __all__)

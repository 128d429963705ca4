"""Starting points of derivatives: arguments on a place of the tape of their own, and what must outlive them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.autograd.forward import Dual
from workbench.autograd.pytree import Rebuild, flatten
from workbench.base.errors import AutogradError, DTypeError
from workbench.core.batching import Batched
from workbench.core.dispatch import grad_enabled, top
from workbench.core.lending import share
from workbench.core.op import ops
from workbench.core.tape import Node, leaf_of, record
from workbench.core.value import Value, new
from workbench.core.views import asks
from workbench.tensor import Tensor

__all__ = [
    "Starts",
    "below_ask",
    "fresh",
    "on_tape",
    "on_tape_any",
    "or_zeros",
    "others_ask",
    "settled",
    "settled_all",
    "split",
    "tensors_of",
]


def fresh(value: Tensor) -> Tensor:
    """Return the same value on a place of the tape of its own, where gradients can be asked for.

    Where the value is on the tape already the new place is connected to it.
    """
    kind = value.payload.dtype.kind
    if kind not in "fcV":
        raise DTypeError("only Tensors of floating point and complex dtype can require gradients")
    interpreter = top()
    hold = getattr(interpreter, "hold", None)
    start: Tensor = new(value.payload if hold is None else hold(value), value._names)
    start._labels = value._labels
    if start.payload is value.payload:
        share(value, start)
    if grad_enabled() and asks(value):
        # Renaming is the op that changes no number: it only connects the new place with the old one.
        record(ops.rename, (value,), {"names": value._names}, (start,))
    start._requires_grad = True
    return start


def on_tape(value: Any) -> bool:
    """Say whether gradients of `value` are wanted, at this level or at one below."""
    # Levels stand inside levels, each perhaps on a tape.
    while isinstance(value, Value):
        if value._requires_grad:
            return True
        payload = value.payload
        if isinstance(payload, Dual):
            if on_tape(payload.tangent):
                return True
            value = payload.primal
        elif isinstance(payload, Batched):
            value = payload.value
        else:
            return False
    return False


def others_ask(outputs: Sequence[Any], starts: Sequence[Any]) -> bool:
    """Say whether `outputs` depend on anything on the tape besides `starts`, which wants to differentiate further."""
    # A start that is on the tape itself belongs to an outer derivative, which goes on from here.
    if any(value._grad_fn is not None or below_ask(value) for value in starts):
        return True
    own = {id(value) for value in starts}
    seen: set[int] = set()
    pending: list[Node] = [value._grad_fn for value in outputs if value._grad_fn is not None]
    while pending:
        node = pending.pop()
        # By serial, which is never given twice; an identity may be.
        if node.serial in seen:
            continue
        seen.add(node.serial)
        for value in node.sources():
            if not isinstance(value, Value):
                continue
            if below_ask(value):
                return True
            if value._grad_fn is not None:
                pending.append(value._grad_fn)
            elif value._requires_grad and id(leaf_of(value)) not in own:
                return True
    return False


def below_ask(value: Any) -> bool:
    """Say whether the values that `value` stands for are on the tape of a level below."""
    payload = value.payload
    if isinstance(payload, Batched):
        return on_tape(payload.value)
    return isinstance(payload, Dual) and (on_tape(payload.primal) or on_tape(payload.tangent))


def settled(value: Any, keep: bool) -> Any:
    """Return a value as it is given back: off the tape unless somebody else is on it."""
    if not isinstance(value, Value) or keep or not value._requires_grad:
        return value
    result = new(value.payload, value._names)
    share(value, result)
    return result


def _selected(args: tuple[Any, ...], argnums: int | Sequence[int]) -> tuple[int, ...]:
    chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for one in chosen:
        if not -len(args) <= one < len(args):
            raise AutogradError(f"Got argnum={one}, but only {len(args)} positional inputs")
    return tuple(one % len(args) for one in chosen)


class Starts:
    """Arguments of a function, some of them replaced by starting points of derivatives."""

    def __init__(
        self, args: tuple[Any, ...], argnums: int | Sequence[int], make: Callable[[Any], Any]
    ) -> None:
        self.single = isinstance(argnums, int)
        self.positions = _selected(args, argnums)
        self.values: list[Any] = []
        """The starting points, in the order of their leaves."""
        self.rebuilds: list[Rebuild] = []
        self.counts: list[int] = []
        self.args = list(args)
        for position in self.positions:
            leaves, rebuild = flatten(args[position])
            made = [make(one) for one in leaves]
            self.args[position] = rebuild(made)
            self.values += made
            self.counts.append(len(made))
            self.rebuilds.append(rebuild)

    def shaped(self, results: Sequence[Any]) -> Any:
        """Return one result a starting point in the nest of the arguments."""
        parts, at = [], 0
        for rebuild, count in zip(self.rebuilds, self.counts, strict=True):
            parts.append(rebuild(results[at : at + count]))
            at += count
        return parts[0] if self.single else tuple(parts)


def split(name: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    """Return the output and the auxiliary value of a function's result."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise AutogradError(
            f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return result


def or_zeros(gradients: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Return gradients with zeros for those that are None."""
    return [
        new(np.zeros(value.payload.shape, value.payload.dtype), value._names) if one is None else one
        for one, value in zip(gradients, values, strict=True)
    ]


def settled_all(tree: Any, keep: bool) -> Any:
    """Return a nest with each tensor as it is given back."""
    leaves, rebuild = flatten(tree)
    return rebuild([settled(one, keep) for one in leaves])


def tensors_of(name: str, result: Any) -> tuple[list[Any], Rebuild]:
    """Return the tensors of a result and how to rebuild it; raise where something else is in it."""
    outputs, rebuild = flatten(result)
    for one in outputs:
        if not isinstance(one, Tensor):
            raise AutogradError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(one)}"
            )
    return outputs, rebuild


def on_tape_any(values: Sequence[Any]) -> bool:
    """Say whether gradients of any of the values are wanted."""
    return any(on_tape(value) for value in values)

"""The context of a custom function's call: what its forward keeps for its backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.autograd.forward import zeros_of
from workbench.base.errors import AutogradError
from workbench.core.value import Value

__all__ = ["Context", "zeros_for"]

_Entry = tuple[str, int, Any]


class Context:
    """What `forward` keeps and `backward` finds: saved tensors, and any attribute that is set on it."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        """For each argument of forward: whether its gradient is wanted."""
        self.materialize = True
        self.dirty: tuple[int, ...] = ()
        """Positions of arguments that forward changed in place."""
        self.constant: frozenset[int] = frozenset()
        """Positions of outputs without a gradient."""
        self.names: tuple[tuple[Any, ...], tuple[Any, ...]] = ((), ())
        """Names of the arguments and of the outputs, which gradients are given and held to."""
        self._given: dict[str, tuple[Any, ...]] = {}
        self._entries: dict[str, tuple[_Entry, ...]] = {}
        self._open: tuple[Any, ...] | None = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for `backward`, which finds them in `saved_tensors`. None stays None.

        Arguments and outputs kept this way are on the tape there, so that backward can be differentiated again.
        """
        self._keep("backward", tensors)

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`, which finds them in `saved_tensors`."""
        self._keep("forward", tensors)

    def _keep(self, purpose: str, tensors: tuple[Any, ...]) -> None:
        for one in tensors:
            if one is not None and not isinstance(one, Value):
                raise TypeError(
                    f"save_for_{purpose} can only save variables, but argument is of type {type(one)}"
                )
        self._given[purpose] = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say which outputs have no gradient, such as indices."""
        self._given["constant"] = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Say which arguments forward changed in place, and returns."""
        self._given["dirty"] = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether gradients of unused outputs arrive in backward as zeros (the default) or as None."""
        self.materialize = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that were kept."""
        if self._open is None:
            # During forward itself: what was given.
            return self._given.get("backward", ())
        return self._open

    def settle(self, args: tuple[Any, ...], output: Any) -> None:
        """Note which of the tensors given are arguments or outputs; called when forward is done."""
        outputs = output if isinstance(output, tuple) else (output,)
        places = {id(one): ("output", k) for k, one in enumerate(outputs) if isinstance(one, Value)}
        # What is both counts as the argument, which had its place on the tape before.
        places |= {id(one): ("input", i) for i, one in enumerate(args) if isinstance(one, Value)}
        for purpose in ("backward", "forward"):
            self._entries[purpose] = tuple(
                [
                    ("none", 0, None)
                    if one is None
                    else (*places[id(one)], one._version)
                    if id(one) in places
                    else ("value", one._version, one)
                    for one in self._given.get(purpose, ())
                ]
            )
        own = {id(one): k for k, one in enumerate(outputs) if isinstance(one, Value)}
        self.constant = frozenset(own[id(one)] for one in self._given.get("constant", ()) if id(one) in own)
        given = {id(one): i for i, one in enumerate(args) if isinstance(one, Value)}
        for one in self._given.get("dirty", ()):
            if id(one) not in given:
                raise AutogradError("mark_dirty: only arguments of forward can be marked as changed in place")
        self.dirty = tuple(given[id(one)] for one in self._given.get("dirty", ()))
        # Outputs among these would hold the call, which holds this context.
        self._given = {}

    def keeps(self, kind: str) -> tuple[int, ...]:
        """Return positions of the arguments ("input") or outputs ("output") that are kept."""
        entries = (*self._entries.get("backward", ()), *self._entries.get("forward", ()))
        return tuple(sorted({at for what, at, _ in entries if what == kind}))

    def keeps_others(self) -> bool:
        """Say whether a tensor is kept that is neither an argument nor an output."""
        entries = (*self._entries.get("backward", ()), *self._entries.get("forward", ()))
        return any(what == "value" for what, _, _ in entries)

    def open(self, inputs: Sequence[Any], outputs: Sequence[Any], forwards: bool = False) -> None:
        """Make the kept tensors those of a recorded call, on their places of the tape."""
        entries = self._entries.get("forward", ()) if forwards else ()
        self._open = tuple(
            [self._found(entry, inputs, outputs) for entry in entries or self._entries.get("backward", ())]
        )

    def _found(self, entry: _Entry, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        what, at, kept = entry
        if what == "none":
            return None
        if what == "input":
            return inputs[at]
        if what == "output":
            return outputs[at]
        # Of arguments and outputs the tape watches the versions; of anything else nobody but this does.
        if kept._version != at:
            raise AutogradError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: a "
                f"tensor that the function saved (shape {list(kept.payload.shape)}) is at version {kept._version}; "
                f"expected version {at}."
            )
        return kept


def zeros_for(values: Sequence[Any], like: Sequence[Any]) -> tuple[Any, ...]:
    """Return gradients or tangents with zeros in place of None, where there is a tensor to be zero like."""
    return tuple(
        [
            zeros_of(other) if one is None and isinstance(other, Value) else one
            for one, other in zip(values, like, strict=True)
        ]
    )

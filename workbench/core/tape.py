"""What the tape keeps of one call: enough to run the op's gradient rule later, and no more."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from workbench.base.dims import Names
from workbench.base.errors import AutogradError
from workbench.core.op import Op
from workbench.core.value import Abstract, Value, new

__all__ = ["Call", "Node", "record"]

_serial = itertools.count()

LARGE = 4096
"""Values of more bytes than this are dropped from the tape when the gradient rule does not read them."""


class Call:
    """One call of an op, as a gradient rule sees it: inputs, outputs, parameters, and which gradients are wanted."""

    __slots__ = ("inputs", "needs", "op", "out", "outs", "params")

    def __init__(
        self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any], outs: tuple[Any, ...], needs: tuple[bool, ...]
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.params = params
        self.outs = outs
        self.out = outs[0]
        self.needs = needs


class Node:
    """One recorded call. `inputs` keeps the edges of the graph; outputs are kept as payloads, not as values."""

    __slots__ = ("hooks", "inputs", "op", "outputs", "params", "serial", "versions")

    def __init__(
        self,
        op: Op,
        inputs: tuple[Any, ...] | None,
        params: dict[str, Any],
        outputs: tuple[tuple[Any, Names | None], ...],
        versions: tuple[int, ...],
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.params = params
        self.outputs = outputs
        self.versions = versions
        self.serial = next(_serial)
        self.hooks: list[Callable[..., Any]] | None = None

    @property
    def name(self) -> str:
        """The op's name."""
        return self.op.name

    def __repr__(self) -> str:
        return f"<{self.op.name} backward>"

    def call(self) -> Call:
        """Return the recorded call with unnamed inputs and outputs, connected to the tape."""
        inputs = self.inputs
        if inputs is None:
            raise AutogradError(
                f"Trying to backward through the graph a second time: what '{self.op.name}' saved has been freed. "
                "Specify retain_graph=True the first time."
            )
        saved = self.op.saves.inputs
        for i, (value, version) in enumerate(zip(inputs, self.versions, strict=True)):
            if version >= 0 and value._version != version and (saved is None or i in saved):
                raise AutogradError(
                    f"one of the variables needed for gradient computation has been modified by an inplace operation: "
                    f"input {i} of '{self.op.name}' (shape {list(value._array.shape)}) is at version {value._version}; "
                    f"expected version {version}. Change a clone() of it instead, or change it after backward()."
                )
        outs = []
        for i, (array, _) in enumerate(self.outputs):
            out = new(array)
            out._grad_fn = self
            out._output = i
            out._requires_grad = True
            outs.append(out)
        needs = tuple(isinstance(value, Value) and value._requires_grad for value in inputs)
        bare = tuple(alias(value, None) if isinstance(value, Value) and value._names else value for value in inputs)
        return Call(self.op, bare, self.params, tuple(outs), needs)

    def release(self) -> None:
        """Let go of everything saved."""
        self.inputs = None
        self.outputs = tuple((Abstract(array.shape, array.dtype), names) for array, names in self.outputs)


def alias(value: Any, names: Names | None) -> Any:
    """Return the same value on the same place of the tape under other names."""
    other = new(value._array, names)
    if value._requires_grad:
        other._requires_grad = True
        if value._grad_fn is None:
            other._leaf = leaf_of(value)
        else:
            other._grad_fn = value._grad_fn
            other._output = value._output
    return other


def leaf_of(value: Any) -> Any:
    """Return the leaf that `value` is, or is another name of."""
    return value if value._leaf is None else value._leaf


def record(op: Op, inputs: tuple[Any, ...], params: dict[str, Any], results: tuple[Any, ...]) -> None:
    """Put one call on the tape and connect its results to it."""
    saves = op.saves
    kept = []
    versions = []
    for i, value in enumerate(inputs):
        if not isinstance(value, Value):
            kept.append(value)
            versions.append(-1)
        elif saves.inputs is None or i in saves.inputs:
            kept.append(value)
            versions.append(value._version)
        else:
            kept.append(_without_numbers(value))
            versions.append(-1)
    if saves.output:
        outputs = tuple((value._array, value._names) for value in results)
    else:
        outputs = tuple((Abstract(value._array.shape, value._array.dtype), value._names) for value in results)
    node = Node(op, tuple(kept), params, outputs, tuple(versions))
    for i, value in enumerate(results):
        value._requires_grad = True
        value._grad_fn = node
        if i:
            value._output = i


def _without_numbers(value: Any) -> Any:
    """Return `value` itself if it is small or a leaf, else a stand-in on the same place of the tape."""
    if value._grad_fn is None and value._requires_grad:
        return value
    array = value._array
    if isinstance(array, Abstract) or getattr(array, "nbytes", 0) <= LARGE:
        return value
    stand_in = new(Abstract(array.shape, array.dtype), value._names)
    if value._requires_grad:
        stand_in._requires_grad = True
        stand_in._grad_fn = value._grad_fn
        stand_in._output = value._output
    return stand_in

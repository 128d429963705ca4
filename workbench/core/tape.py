"""What the tape keeps of one call: enough to run the op's gradient rule later, and no more."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dims import Names
from workbench.base.dtypes import DIFFERENTIABLE
from workbench.base.errors import AutogradError
from workbench.base.source_location import calling_frame, place
from workbench.core.bases import CallBase, NodeBase, eager, next_serial
from workbench.core.op import Op
from workbench.core.value import Abstract, Value, labelled, new

__all__ = ["Call", "Keep", "Node", "record"]

watching: int = 0
"""How many want more of each recorded call than it keeps by itself: the place in the program where it was made
(`places`), or numbers packed their own way (`saving`). Zero: recording asks neither."""
places: int = 0
"""How many want the place."""
saving: contextvars.ContextVar[tuple[Callable[[Any], Any], Callable[[Any], Any]] | None] = (
    contextvars.ContextVar("workbench_saving", default=None)
)
"""How numbers are packed when they are kept for a gradient, and unpacked when it is computed."""

LARGE = 4096
"""Values of more bytes than this are dropped from the tape when the gradient rule does not read them."""


class Call(CallBase):  # type: ignore[misc]
    """One call of an op, as a gradient rule sees it: inputs, outputs, parameters, and which gradients are wanted.

    `outs`, and `out`, the first of them, are there for rules that save the output.
    """

    op: Op
    inputs: tuple[Any, ...]
    params: dict[str, Any]
    outs: tuple[Any, ...]
    out: Any
    needs: tuple[bool, ...]

    def __init__(
        self,
        op: Op,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        outs: tuple[Any, ...],
        needs: tuple[bool, ...],
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.params = params
        self.outs = outs
        self.out = outs[0] if outs else None
        self.needs = needs


class Node(NodeBase):  # type: ignore[misc]
    """One recorded call. `inputs` keeps the edges of the graph; outputs are kept as payloads, not as values.

    What most calls do not need is a class attribute: making a node is part of every op that is recorded.
    """

    saved: tuple[Any, ...] | None
    """Payloads of the outputs, where the gradient rule reads them."""
    versions: tuple[int, ...] | None
    """Versions of the inputs when they were recorded; None if all were 0."""
    hooks: list[tuple[int, Callable[..., Any]]] | None
    """Called with the gradient of one output, which they may replace."""
    before: list[Callable[..., Any]] | None
    """Called with the gradients of all outputs before the gradient rule runs."""
    after: list[Callable[..., Any]] | None
    """Called with the gradients of all inputs and of all outputs when the gradient rule has run."""
    origin: str | None = None
    """Where the call was made, if somebody wanted to know."""
    packed: dict[tuple[str, int], tuple[Any, Callable[[Any], Any]]] | None
    """What was packed of inputs and outputs, and how to unpack it."""
    overwritten: frozenset[int] = frozenset()
    """Which of the payloads in `saved` were changed in place."""
    inputs: tuple[Any, ...] | None
    op: Op
    params: dict[str, Any]
    serial: int

    def __init__(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
        self.op = op
        self.inputs = inputs
        self.params = params
        self.serial = next_serial()

    @property
    def name(self) -> str:
        """The op's name."""
        return self.op.name

    def __repr__(self) -> str:
        return f"<{self.op.name} backward>"

    def __getattr__(self, name: str) -> Any:
        """Return what a custom function has set on its context, which in PyTorch is the node itself."""
        op: Any = self.op
        context = getattr(op, "context", None)
        if context is None or name.startswith("__"):
            raise AttributeError(
                f"{type(self).__name__!r} object of {self.op.name!r} has no attribute {name!r}"
            )
        if name == "saved_tensors":
            op.open(self.call())
        return getattr(context, name)

    def call(self) -> Call:
        """Return the recorded call with unnamed inputs and outputs, connected to the tape."""
        # Compiled code does the common case, and returns None where something here has to be looked at.
        if eager is not None:
            call = eager.recall(self, Call)
            if call is not None:
                return call  # type: ignore[no-any-return]
        if self.inputs is None:
            raise AutogradError(
                f"Trying to backward through the graph a second time: what '{self.op.name}' saved has been freed. "
                "Specify retain_graph=True the first time."
            )
        inputs = self.sources()
        needs = needs_of(inputs)
        self._check_versions(inputs, needs)
        for i in self.overwritten:
            if self.op.saves.reads_output(i, needs):
                raise AutogradError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: "
                    f"output {i} of '{self.op.name}' (shape {list((self.saved or ())[i].shape)}), which its gradient "
                    "is computed from. Change a clone() of it instead, or change it after backward()."
                )
        outs: list[Any] = []
        saved = self.saved
        if self.packed:
            inputs, saved = self._unpacked(inputs)
        # Values are made of the payloads now: kept as values they would hold the call that holds them.
        for i, array in enumerate(saved or ()):
            out = new(array)
            out._grad_fn = self
            out._output = i
            out._requires_grad = array.dtype.kind in DIFFERENTIABLE
            outs.append(out)
        bare = tuple(
            alias(value, None) if isinstance(value, Value) and value._names else value for value in inputs
        )
        return Call(self.op, bare, self.params, tuple(outs), needs)

    def notice(self, array: Any) -> None:
        """Take note that the memory of `array` was changed, which may be that of a saved output."""
        for i, one in enumerate(self.saved or ()):
            # A value off the tape counts as a leaf only where it asks for a gradient.
            if type(one) is np.ndarray and type(array) is np.ndarray and np.may_share_memory(one, array):
                self.overwritten |= {i}
                self.packed = self.packed or {}  # sends the compiled walk to `call`, which says what is wrong

    def _unpacked(self, inputs: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
        """Return inputs and payloads of outputs with the numbers that were packed."""
        several, outs = list(inputs), list(self.saved or ())
        for (kind, i), (packed, unpack) in (self.packed or {}).items():
            array = unpack(packed).payload
            if kind == "input":
                several[i] = alias(inputs[i], inputs[i]._names)
                several[i].payload = array
            else:
                outs[i] = array
        return tuple(several), tuple(outs) or None

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The recorded calls that made the inputs, and which output each was; for a leaf where its gradient gathers."""
        return tuple(
            (value._grad_fn if value._grad_fn is not None else Gathering(leaf_of(value)), value._output)
            if isinstance(value, Value) and value._requires_grad
            else (None, 0)
            for value in self.sources()
        )

    def register_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the gradient rule; what it returns replaces the first."""
        self.after = self.after or []
        return Handle(self.after, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(grad_outputs)`` before the gradient rule runs; what it returns replaces them."""
        self.before = self.before or []
        return Handle(self.before, hook)

    def sources(self) -> tuple[Any, ...]:
        """Return the inputs on the places of the tape that they had when the call was recorded."""
        inputs = self.inputs or ()
        for value in inputs:
            if isinstance(value, Value) and (value._past is not None or value._since > self.serial):
                return tuple([as_of(one, self.serial) if isinstance(one, Value) else one for one in inputs])
        return inputs

    def _check_versions(self, inputs: tuple[Any, ...], needs: tuple[bool, ...]) -> None:
        for i in self.op.saves.read(needs):
            value = inputs[i]
            if not isinstance(value, Value):
                continue
            expected = self.versions[i] if self.versions else 0
            if value._version != expected:
                raise AutogradError(
                    f"one of the variables needed for gradient computation has been modified by an inplace operation: "
                    f"input {i} of '{self.op.name}' (shape {list(value.payload.shape)}) is at version "
                    f"{value._version}; expected version {expected}. Change a clone() of it "
                    "instead, or change it after backward()."
                )

    def saves_nothing(self) -> bool:
        """Say whether the rule reads no numbers but those that the program has written, as 2 in ``2 * x``."""
        saves = self.op.saves
        if saves.nothing:
            return True
        inputs = self.inputs
        if inputs is None or saves.output or saves.besides:
            return False
        return not any(isinstance(inputs[i], Value) for i in saves.read(needs_of(inputs)))

    def release(self) -> None:
        """Let go of everything saved. A call that saved nothing has nothing to lose: it can be gone through again."""
        if self.saves_nothing():
            return
        self.inputs = None
        self.saved = None
        self.packed = None


class Keep:
    """A hook that keeps the gradient of `value`: it follows the value along the tape and runs after other hooks."""

    def __init__(self, value: Any, keep: Callable[[Any], None]) -> None:
        self.value, self._keep = value, keep

    def __call__(self, gradient: Any) -> None:
        """Keep the gradient."""
        self._keep(gradient)


class Gathering:
    """Where the gradient of a leaf gathers: the end of a way along `Node.next_functions`."""

    def __init__(self, variable: Any) -> None:
        self.variable = variable

    @property
    def name(self) -> str:
        """What it is called."""
        return "AccumulateGrad"

    def __repr__(self) -> str:
        return f"<AccumulateGrad of {tuple(self.variable.payload.shape)}>"


class Handle:
    """A registered hook, which `remove` takes away again (also at the end of a ``with`` block)."""

    def __init__(self, hooks: list[Any], hook: Any) -> None:
        self._hooks, self._hook = hooks, hook
        hooks.append(hook)

    def remove(self) -> None:
        """Call the hook no more. Removing it twice is no error."""
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)

    __call__ = remove

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def needs_of(inputs: tuple[Any, ...]) -> tuple[bool, ...]:
    """Say of each input whether a gradient goes on from it."""
    return tuple(
        # A list inside, here and wherever ops pass: `tuple` takes it faster than it runs a generator.
        [isinstance(value, Value) and value._requires_grad and not value._borrowed for value in inputs]
    )


def alias(value: Any, names: Names | None) -> Any:
    """Return the same value on the same place of the tape under other names."""
    other = new(value.payload, names)
    if value._labels is not None:
        other._labels = value._labels
    other._owner = value if value._owner is None else value._owner
    if value._requires_grad:
        other._requires_grad = True
        if value._grad_fn is None:
            other._leaf = leaf_of(value)
        else:
            other._grad_fn = value._grad_fn
            other._output = value._output
    return other


def alias_like(value: Any, source: Any) -> Any:
    """Return the same value on the same place of the tape under the names and labels of `source`."""
    return labelled(alias(value, source._names), source._labels)


def remember_place(value: Any, payload: Any = None) -> None:
    """Have calls recorded until now go on to see `value` where it is, and with `payload` if it gets another."""
    value._past = value._past or []
    value._past.append((next_serial(), value._grad_fn, value._output, value._requires_grad, payload))


def move(source: Any, target: Any) -> None:
    """Put `target` where `source` is on the tape; calls recorded before go on to see it where it was."""
    remember_place(target)
    node = target._grad_fn
    if node is not None and node.hooks:
        # A copy, since entries are taken out on the way.
        for entry in tuple(node.hooks):
            if isinstance(entry[1], Keep) and entry[1].value is target:
                node.hooks.remove(entry)
                if source._grad_fn is None:
                    continue  # it is off the tape
                source._grad_fn.hooks = source._grad_fn.hooks or []
                source._grad_fn.hooks.append((source._output, entry[1]))
    target._requires_grad = source._requires_grad
    target._grad_fn = source._grad_fn
    target._output = source._output


def as_of(value: Any, serial: int) -> Any:
    """Return `value` on the place of the tape that it had when call number `serial` was recorded."""
    former = None
    if value._since > serial:  # a leaf that came to ask for a gradient later
        former = alias_off_tape(value)
    # They stand in the order of time: the first that ended after that call is the one it saw.
    for until, node, output, requires_grad, payload in value._past or ():
        if serial >= until:
            continue
        if former is None:
            former = alias(value, None)
            former._requires_grad, former._grad_fn, former._output = requires_grad, node, output
        if payload is not None:
            former.payload = payload  # its own dims were changed later
            break
    return value if former is None else former


def leaf_of(value: Any) -> Any:
    """Return the leaf that `value` is, or is another name of."""
    return value if value._leaf is None else value._leaf


def record(op: Op, inputs: tuple[Any, ...], params: dict[str, Any], results: tuple[Any, ...]) -> None:
    """Put one call on the tape and connect its results to it."""
    saves = op.saves
    if saves.inputs is not None or saves.crossed:
        read = saves.read(needs_of(inputs))
        inputs = tuple(
            [
                value if i in read or not isinstance(value, Value) else _without_numbers(value)
                for i, value in enumerate(inputs)
            ]
        )
    node = Node(op, inputs, params)
    if saves.output:
        needs = needs_of(inputs)
        node.saved = tuple(
            [
                value.payload
                if value.payload.nbytes <= LARGE or saves.reads_output(i, needs)
                else Abstract(value.payload.shape, value.payload.dtype)
                for i, value in enumerate(results)
            ]
        )
    for i, value in enumerate(inputs):
        if isinstance(value, Value) and value._inference and i in saves.read(needs_of(inputs)):
            raise AutogradError(
                "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal "
                "tensor and use it in autograd."
            )
    if watching:
        _watch(node, results)
    # Versions are noted only where one can differ from 0: where memory was changed, or is shared.
    for value in inputs:
        if isinstance(value, Value) and (value._changes or value._owner is not None):
            node.versions = tuple([one._version if isinstance(one, Value) else 0 for one in inputs])
            break
    for i, value in enumerate(results):
        if value.payload.dtype.kind not in DIFFERENTIABLE:
            continue  # indices beside values
        value._requires_grad = True
        value._grad_fn = node
        if i:
            value._output = i


def _watch(node: Node, results: tuple[Any, ...]) -> None:
    """Give a recorded call its place in the program, and pack what it keeps, as far as either is wanted."""
    if places:
        frame = calling_frame()
        node.origin = place(frame.f_code.co_filename, frame.f_lineno) if frame is not None else None
    hooks = saving.get()
    if hooks is None:
        return
    pack, unpack = hooks
    # What packing computes is kept as it is: it would be packed in turn, without end.
    token = saving.set(None)
    node.packed = {}
    try:
        inputs = list(node.inputs or ())
        for i in node.op.saves.read(needs_of(tuple(inputs))):
            value = inputs[i]
            if isinstance(value, Value) and not isinstance(value.payload, Abstract):
                node.packed["input", i] = (pack(value), unpack)
                inputs[i] = alias(value, value._names)
                inputs[i].payload = Abstract(value.payload.shape, value.payload.dtype)
        node.inputs = tuple(inputs)
        if node.saved is not None:
            for i, value in enumerate(results):
                if not isinstance(value.payload, Abstract):
                    node.packed["output", i] = (pack(alias_off_tape(value)), unpack)
            node.saved = tuple(Abstract(value.payload.shape, value.payload.dtype) for value in results)
    finally:
        saving.reset(token)


def alias_off_tape(value: Any) -> Any:
    """Return the same numbers under the same names, not on the tape."""
    other = labelled(new(value.payload, value._names), value._labels)
    other._owner = value if value._owner is None else value._owner
    return other


def _without_numbers(value: Any) -> Any:
    """Return `value` itself if it is small or a leaf, else a stand-in on the same place of the tape."""
    array = value.payload
    # A leaf is where a gradient gathers: a stand-in would gather in its place.
    if array.nbytes <= LARGE or (value._grad_fn is None and value._requires_grad):
        return value
    stand_in = labelled(new(Abstract(array.shape, array.dtype), value._names), value._labels)
    if value._names is not None:
        stand_in._origin = value._origin
    if value._requires_grad:
        stand_in._requires_grad = True
        stand_in._grad_fn = value._grad_fn
        stand_in._output = value._output
    return stand_in

"""Calling a custom function through the interpreters in force, and recording it at each level that wants gradients.

An op is handed from interpreter to interpreter by dispatch, which reads its record. A custom function has Python code
in place of a record, so this does for it what dispatch does for an op: batches and levels of forward mode are taken
off one after another, the code runs at the bottom, and on the way back the call is put on the tape of each level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from workbench.autograd.context import Context
from workbench.autograd.forward import Dual, Forward, directions
from workbench.base.errors import AutogradError
from workbench.core.batching import Batched, Batching
from workbench.core.dispatch import below, grad_enabled, interpreting, top
from workbench.core.lending import share
from workbench.core.op import Absent, DTypeRule, Op, Saves, ops
from workbench.core.tape import Call, alias, move, record
from workbench.core.value import Abstract, Value, new
from workbench.core.views import asks

__all__ = ["Unit", "VmapInfo", "call_unit", "recorded_op", "refuse_twice"]


class VmapInfo(NamedTuple):
    """What a function's own `vmap` is told: the number of entries, and how random numbers are to be drawn."""

    batch_size: int
    randomness: str = "error"


class Unit:
    """A function to call: its code, or that code on the entries of a batch."""

    name: str = "custom"
    has_jvp: bool = False
    has_vmap: bool = False
    separate: bool = False
    """Whether the context is set up apart from forward."""

    def forward(self, args: tuple[Any, ...]) -> tuple[Any, Context]:
        """Return output and context."""
        raise AssertionError

    def prepare(self, context: Context, args: tuple[Any, ...], output: Any) -> None:
        """Set up a context for arguments and output of another level."""
        raise AssertionError

    def backward(
        self, context: Context, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Return a gradient for each argument."""
        raise AssertionError

    def jvp(
        self, context: Context, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Return a tangent for each output."""
        raise AssertionError

    def vmap(self, info: VmapInfo, in_dims: tuple[Any, ...], args: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return output and the batch dims of it."""
        raise AssertionError


class _Mapped(Unit):
    """A function on the hidden values of a batch: it runs on their entries."""

    def __init__(self, unit: Unit, batching: Batching, batched: tuple[bool, ...]) -> None:
        self.unit = unit
        self.batching = batching
        self.batched = batched
        self.name = unit.name
        self.has_jvp = unit.has_jvp
        self.outputs: tuple[bool, ...] = ()
        """Which outputs are entries."""

    def _entries(self, values: Sequence[Any], batched: Sequence[bool]) -> tuple[Any, ...]:
        return tuple(
            [
                self.batching.wrap(value) if mine and isinstance(value, Value) else value
                for value, mine in zip(values, batched, strict=True)
            ]
        )

    def _hidden(self, value: Any) -> Any:
        """Return a value with the batch dim, from an entry or from what is the same for all."""
        if not isinstance(value, Value):
            return value
        hidden, batched = self.batching.hidden(value)
        return hidden if batched else ops.expand(hidden, sizes=(self.batching.size, *hidden.payload.shape))

    def forward(self, args: tuple[Any, ...]) -> tuple[Any, Context]:
        entries = self._entries(args, self.batched)
        # The level was taken off on the way down here: the function's own code runs in it again.
        with interpreting(self.batching):
            output, context = self.unit.forward(entries)
        several = output if isinstance(output, tuple) else (output,)
        self.outputs = tuple([isinstance(one, Value) for one in several])
        hidden = tuple([self._hidden(one) for one in several])
        return hidden if isinstance(output, tuple) else hidden[0], context

    def backward(
        self, context: Context, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> tuple[Any, ...]:
        with interpreting(self.batching):
            results = self.unit.backward(
                context,
                self._entries(inputs, self.batched),
                self._entries(outputs, self.outputs),
                self._entries(gradients, self.outputs),
            )
        found: list[Any] = []
        for one, mine in zip(results, self.batched, strict=True):
            if one is None:
                found.append(None)
                continue
            value, batched = self.batching.hidden(one)
            if mine:
                found.append(self._hidden(one))
            else:
                # All entries have read the same value: its gradient is the sum over them.
                found.append(ops.sum(value, dim=(0,), keepdim=False) if batched else value)
        return tuple(found)

    def jvp(
        self, context: Context, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[Any, ...]:
        with interpreting(self.batching):
            results = self.unit.jvp(
                context,
                self._entries(inputs, self.batched),
                self._entries(outputs, self.outputs),
                self._entries(tangents, self.batched),
            )
        return tuple([None if one is None else self._hidden(one) for one in results])


def call_unit(unit: Unit, args: tuple[Any, ...]) -> Any:
    """Run a function through the interpreters in force; record it where gradients are wanted."""
    return _call(unit, args)[0]


def _call(unit: Unit, args: tuple[Any, ...]) -> tuple[Any, Context]:
    """Return output and context of a call at the present level, recorded there."""
    interpreter = top()
    if isinstance(interpreter, Batching | Forward):
        owned = tuple([interpreter.owns(one) for one in args])
        if True not in owned:
            with below():
                return _call(unit, args)
        if isinstance(interpreter, Batching):
            output, context = _on_batch(unit, args, interpreter, owned)
        else:
            output, context = _moving(unit, args, interpreter, owned)
    else:
        # Any other interpreter, such as one that traces, sees the ops of the code one by one.
        output, context = unit.forward(args)
    return _recorded(unit, args, output, context), context


def _on_batch(
    unit: Unit, args: tuple[Any, ...], batching: Batching, owned: tuple[bool, ...]
) -> tuple[Any, Context]:
    pairs = [batching.hidden(one) for one in args]
    hidden, owned = tuple([one for one, _ in pairs]), tuple([mine for _, mine in pairs])
    if unit.has_vmap:
        return _by_own_rule(unit, args, hidden, batching, owned)
    if not any(_asks(one) for one in hidden):
        # Nobody below differentiates: the code runs on the entries, op by op.
        return unit.forward(args)
    mapped = _Mapped(unit, batching, owned)
    with below():
        output, context = _call(mapped, hidden)
    several = output if isinstance(output, tuple) else (output,)
    entries = tuple([batching.wrap(one) if isinstance(one, Value) else one for one in several])
    return entries if isinstance(output, tuple) else entries[0], context


def _asks(value: Any) -> bool:
    """Say whether a level below must know that this is one function."""
    return isinstance(value, Value) and (value._requires_grad or isinstance(value.payload, Dual | Batched))


def _by_own_rule(
    unit: Unit, args: tuple[Any, ...], hidden: tuple[Any, ...], batching: Batching, owned: tuple[bool, ...]
) -> tuple[Any, Context]:
    """Run the function's own `vmap`; its context is set up for the entries."""
    in_dims = tuple([0 if mine else None for mine in owned])
    with below():
        output, out_dims = unit.vmap(VmapInfo(batching.size), in_dims, hidden)
        several = output if isinstance(output, tuple) else (output,)
        dims = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(several)
        fronts = [_to_front(one, dim) for one, dim in zip(several, dims, strict=True)]
    entries = tuple(
        [
            batching.wrap(one) if dim is not None and isinstance(one, Value) else one
            for one, dim in zip(fronts, dims, strict=True)
        ]
    )
    result = entries if isinstance(output, tuple) else entries[0]
    context = Context(tuple([isinstance(one, Value) and asks(one) for one in args]))
    if unit.separate:
        unit.prepare(context, args, result)
    elif grad_enabled() and any(isinstance(one, Value) and asks(one) for one in args):
        raise AutogradError(
            "In order to use an autograd.Function with its own vmap together with gradients inside vmap, it must "
            "override the setup_context staticmethod, so that its context can be made for entries."
        )
    return result, context


def _to_front(value: Any, dim: int | None) -> Any:
    if not dim or not isinstance(value, Value):
        return value
    ndim = len(value.payload.shape)
    at = dim % ndim
    return ops.permute(alias(value, None), dim=(at, *(i for i in range(ndim) if i != at)))


def _moving(
    unit: Unit, args: tuple[Any, ...], level: Forward, owned: tuple[bool, ...]
) -> tuple[Any, Context]:
    """Run the function on primals, and its `jvp` (or the transpose of its backward) on tangents."""
    parts = [level.parts(one) if mine else (one, None) for one, mine in zip(args, owned, strict=True)]
    primals = tuple([primal for primal, _ in parts])
    tangents = [tangent for _, tangent in parts]
    with below():
        output, context = _call(unit, primals)
        several = output if isinstance(output, tuple) else (output,)
        moved = _tangents(unit, context, primals, tangents, several)
    entries = tuple(
        [
            level.make(one, tangent, one._names)
            if isinstance(one, Value) and one.payload.dtype.kind in "fcV"
            else one
            for one, tangent in zip(several, moved, strict=True)
        ]
    )
    result = entries if isinstance(output, tuple) else entries[0]
    if context.keeps_others() and grad_enabled() and any(asks(one) for one in args if isinstance(one, Value)):
        # What it keeps besides arguments and outputs must move too: its code says how.
        context = unit.forward(args)[1]
    return result, context


def _tangents(
    unit: Unit, context: Context, primals: tuple[Any, ...], tangents: list[Any], outputs: tuple[Any, ...]
) -> tuple[Any, ...]:
    if not any(one is not None for one in tangents):
        return (None,) * len(outputs)
    if unit.has_jvp:
        found = unit.jvp(context, primals, outputs, tangents)
        if len(found) != len(outputs):
            raise AutogradError(
                f"jvp of {unit.name} returned {len(found)} tangents for {len(outputs)} outputs: it returns one each"
            )
        return tuple([None if k in context.constant else one for k, one in enumerate(found)])
    op, kept = _op(unit, context, primals, outputs)
    results = iter(directions(op, primals, tangents, {}, tuple([outputs[k] for k in kept])))
    return tuple([next(results) if k in kept else None for k in range(len(outputs))])


# ------------------------------------------------------------------------------------------------ recording


@dataclass(frozen=True, eq=False)
class _Record(Op):
    """The record of one call of a function: on the tape it stands where an op does, and it is in no table."""

    context: Context | None = None
    """The context of a custom function's call: its attributes are those of the node, as in PyTorch."""
    open: Callable[[Call], None] | None = None
    """Makes the tensors that the context keeps those of a recorded call."""

    def __post_init__(self) -> None:
        # Not Op's own, which would look up kernels and enter the record into the table.
        for name in ("same", "view", "mirror", "widens"):
            object.__setattr__(self, name, False)


def _nothing(*inputs: Any, **params: Any) -> Any:
    raise AssertionError("a custom function is run by its class")


def recorded_op(
    name: str,
    vjp: Any,
    outputs: int,
    saves: Saves,
    context: Context | None = None,
    open: Callable[[Call], None] | None = None,
) -> Op:
    """Return a record for the tape of code that is no op of the table."""
    return _Record(
        name=name,
        doc="A function with a gradient of its own.",
        equation="",
        dims=_nothing,
        rule="as its code says",
        dtype=DTypeRule("as its code says", None, lambda dtype, params: dtype),
        forward=_nothing,
        vjp=vjp,
        saves=saves,
        quantized=Absent("it is Python code"),
        cost=lambda dims, out, **params: 0.0,
        samples=list,
        outputs=outputs,
        context=context,
        open=open,
    )


def _op(
    unit: Unit, context: Context, args: tuple[Any, ...], outputs: tuple[Any, ...]
) -> tuple[Op, tuple[int, ...]]:
    """Return the record of a call, and the positions of the outputs that have gradients."""
    kept = tuple(
        [
            k
            for k, one in enumerate(outputs)
            if isinstance(one, Value) and k not in context.constant and one.payload.dtype.kind in "fcV"
        ]
    )
    saved = bool(context.keeps("output"))
    # Where backward reads no output, a stand-in for its sizes and type is enough.
    constants = [
        new(Abstract(one.payload.shape, one.payload.dtype)) if k in kept else one
        for k, one in enumerate(outputs)
    ]

    def outputs_of(call: Call) -> list[Any]:
        outs = list(constants)
        for at, k in enumerate(kept):
            if saved:
                outs[k] = call.outs[at]
        return outs

    def vjp(call: Call, *gradients: Any) -> tuple[Any, ...]:
        outs, seeds = outputs_of(call), [None] * len(constants)
        for k, gradient in zip(kept, gradients, strict=True):
            seeds[k] = gradient
        # A walk to some of the inputs wants fewer gradients than the call was recorded with.
        context.needs_input_grad = call.needs
        return unit.backward(context, call.inputs, outs, seeds)

    def open(call: Call) -> None:
        context.open(call.inputs, outputs_of(call))

    saves = Saves(context.keeps("input"), output=saved, besides=context.keeps_others())
    return recorded_op(unit.name, vjp, len(kept), saves, context, open), kept


def _recorded(unit: Unit, args: tuple[Any, ...], output: Any, context: Context) -> Any:
    """Put a call on the tape of the present level, if that is wanted, and return its output on its place there."""
    several = list(output) if isinstance(output, tuple) else [output]
    dirty = {id(args[i]): args[i] for i in context.dirty}
    given = {id(one) for one in args if isinstance(one, Value)}
    wanted = grad_enabled() and any(isinstance(one, Value) and asks(one) for one in args)
    for one in dirty.values():
        if wanted and one._requires_grad and one._grad_fn is None:
            raise AutogradError("a leaf Variable that requires grad is being used in an in-place operation.")
    made: list[Any] = []
    for one in several:
        # An output is a value of its own, even where forward returns an argument or something on the tape.
        if isinstance(one, Value) and (id(one) in given or one._requires_grad):
            made.append(new(one.payload, one._names))
            share(one, made[-1])
        else:
            made.append(one)
    if wanted:
        op, kept = _op(unit, context, args, tuple(made))
        if kept:
            record(op, args, {}, tuple([made[k] for k in kept]))
    for k, one in enumerate(several):
        # An argument that was changed stays the object it was, and takes the place of what came out.
        if isinstance(one, Value) and id(one) in dirty:
            if wanted:
                move(made[k], one)
            made[k] = one
    return tuple(made) if isinstance(output, tuple) else made[0]


def refuse_twice(value: Any) -> Any:
    """Return a gradient that cannot be differentiated: an attempt to says why."""

    def vjp(call: Call, *gradients: Any) -> tuple[Any, ...]:
        raise AutogradError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )

    asked = new(value.payload)
    asked._requires_grad = True
    guarded = new(value.payload, value._names)
    record(recorded_op("once_differentiable", vjp, 1, Saves((), output=False)), (asked,), {}, (guarded,))
    return guarded

"""Running a model so that the tape shares out by other rules than gradients: what all such runs have in common.

An interpreter sees each call of an op, whoever makes it: a module, a function, an in-place method, a graph. Calls that
do not depend on the inputs are computed and left off the tape. The others go on the tape with the rule that the
method has for their kind, and the walk back over the tape is that of gradients: reuse, views, changes in place and
several outputs are the engine's.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.attribution.precision import is_floating, widened
from workbench.autograd.custom_function_calls import recorded_op
from workbench.base.errors import AutogradError
from workbench.base.quantized_array import PackedArray, QuantizedArray
from workbench.base.source_location import calling_frame, place
from workbench.core.bases import next_serial
from workbench.core.contribution import ELEMENTWISE, Contribution
from workbench.core.dispatch import apply, interpreting, no_grad
from workbench.core.op import Absent, Op, Saves, ops, table
from workbench.core.tape import Call, alias, record
from workbench.core.value import Abstract, Value, new
from workbench.core.views import asks

__all__ = ["Back", "Kept", "Propagation", "conjugate", "has_numbers", "in_float32", "line", "to_sizes"]

Back = Callable[..., tuple[Any, ...]]
"""From what has arrived at the outputs of a call (None for nothing) to what goes on to each input."""


class Propagation(ABC):
    """An interpreter that puts the calls which depend on the inputs on the tape, each with the method's own rule."""

    transparent = True

    def __init__(self, method: str) -> None:
        self.method = method
        self.inputs: set[int] = set()
        self.kept: list[Kept] = []
        self.start = next_serial()
        self.shadows: dict[int, tuple[Any, Any]] = {}
        """Values of codes by identity, each with the real numbers that it stands for, which are followed."""

    def follow(self, values: Sequence[Any]) -> None:
        """Follow what is made of these values as well, which ask for gradients and are kept by who gives them."""
        self.inputs |= {id(one) for one in values}

    def depends(self, value: Any) -> bool:
        """Say whether a value depends on the inputs in a way that is followed."""
        if not isinstance(value, Value) or not asks(value):
            return False
        node = value._grad_fn
        if node is None:
            return id(value if value._leaf is None else value._leaf) in self.inputs
        return bool(node.serial >= self.start)

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run the call; put it on the tape with its rule if it depends on the inputs."""
        # What the tape makes again of views and changes in place has no numbers, and only moves.
        if any(isinstance(one, Value) and isinstance(one.payload, Abstract) for one in inputs):
            return apply(op, *inputs, **params)
        if self.shadows and any(id(one) in self.shadows for one in inputs):
            return self.on_codes(op, inputs, params)
        followed = tuple([self.depends(one) for one in inputs])
        if True not in followed:
            if op.view and not asks(inputs[0]):
                return apply(op, *inputs, **params)  # it may be written to later, and the view is to know
            with no_grad():
                return apply(op, *inputs, **params)
        self.check(op, inputs, followed)
        rule = op.contribution
        if isinstance(rule, Absent):
            with no_grad():
                results = apply(op, *inputs, **params)
            if op.outputs == 1 and isinstance(results.payload, QuantizedArray):
                return self.into_codes(inputs[0], results)
            if _ends(results):
                return results
            raise self.refusal(op, rule.reason)
        assert rule is not None
        if rule.kind == "ends":
            with no_grad():
                return apply(op, *inputs, **params)
        if rule.kind == "composed" and rule.steps is not None:
            return self.composed(op, rule, inputs, params)
        return self.call(op, rule, inputs, params, followed)

    @abstractmethod
    def call(
        self,
        op: Op,
        rule: Contribution,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        followed: tuple[bool, ...],
        results: Any = None,
    ) -> Any:
        """Run a call that depends on the inputs, unless `results` are its results, and put it on the tape."""

    def into_codes(self, numbers: Any, codes: Any) -> Any:
        """Return codes, with what they stand for beside them: shared out as a function of the numbers."""
        real = new(np.asarray(codes.payload.dequantize(), numbers.payload.dtype))
        self.shadows[id(codes)] = (
            codes,
            self.call(ops.quantize_per_tensor, ELEMENTWISE, (numbers,), {}, (True,), real),
        )
        return codes

    def on_codes(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run a call on codes, and beside it the op on numbers that it computes, followed by its rounding."""
        with no_grad():
            results = apply(op, *inputs, **params)
        real = tuple([self.shadows[id(one)][1] if id(one) in self.shadows else _real(one) for one in inputs])
        if op is ops.dequantize:
            return alias(real[0], results._names)
        served = op if not isinstance(op.contribution, Absent) else _served().get(op.name)
        # What is absorbed besides is no function of the value at its place, but that it rectifies.
        settings = {} if served is None or served is op else getattr(served.quantized, "settings", {})
        absorbs = any(params.get(key, one) != one for key, one in settings.items() if key != "relu")
        if served is None or op.outputs != 1 or absorbs:
            raise self.refusal(op, "it computes on codes what no rule on numbers is known for")
        dropped = frozenset() if served is op else _CODES | settings.keys()
        told = {key: one for key, one in params.items() if key not in dropped}
        with interpreting(self):
            numbers: Any = served(*real, **told)
            numbers = numbers[0] if isinstance(numbers, tuple) else numbers
        if not isinstance(results.payload, QuantizedArray):
            return results if _ends(results) else alias(numbers, results._names)
        if not self.depends(numbers):
            return results
        return self.into_codes(numbers, results)

    def constant(self, value: Any) -> Any:
        """Return a factor of what is composed: as it is."""
        return value

    def composed(self, op: Op, rule: Contribution, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run an op as the ops that it is composed of, each by its own rule."""
        bare = [alias(one, None) if isinstance(one, Value) and one._names else one for one in inputs]
        with no_grad():
            like = apply(op, *inputs, **params) if any(_named(one) for one in inputs) else None
        with interpreting(self):
            results = rule.steps(self.constant, *bare, **params)  # type: ignore[misc]
        if like is None:
            return results
        several = results if isinstance(results, tuple) else (results,)
        likes = like if isinstance(like, tuple) else (like,)
        made = tuple([alias(one, other._names) for one, other in zip(several, likes, strict=True)])
        return made if isinstance(results, tuple) else made[0]

    def recorded(
        self,
        op: Op,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        followed: tuple[bool, ...],
        back: Any,
        results: Any = None,
    ) -> Any:
        """Run a call, unless `results` are its results; ``back(outs)`` gives its `Back`, which goes on the tape."""
        if results is None:
            with no_grad():
                results = apply(op, *inputs, **params)
        if _ends(results):
            return results
        several = results if isinstance(results, tuple) else (results,)
        self.put(op, inputs, followed, several, back(several))
        return results

    @staticmethod
    def put(
        op: Op, inputs: tuple[Any, ...], followed: tuple[bool, ...], results: tuple[Any, ...], back: Back
    ) -> None:
        """Put a call on the tape, with what goes back over it."""
        # Those that are not followed may ask for gradients all the same, as parameters do.
        seen = tuple([one if goes else None for one, goes in zip(inputs, followed, strict=True)])
        record(_on_tape(op.name, len(results)), seen, {"back": back, "followed": followed}, results)

    def by_gradient(
        self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any], followed: tuple[bool, ...]
    ) -> Any:
        """Run a call and put it on the tape with the table's own gradient rule."""
        return self.recorded(
            op, inputs, params, followed, lambda outs: self.gradient_of(op, inputs, params, followed, outs)
        )

    def gradient_of(
        self,
        op: Op,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        followed: tuple[bool, ...],
        outs: tuple[Any, ...],
    ) -> Back:
        """Return the table's own gradient rule of a call, on what the rule reads as it is now."""
        read = op.saves.read(followed)
        kept = self.keep(*[one if i in read else _sizes_of(one) for i, one in enumerate(inputs)])
        results = self.keep(
            *[one if op.saves.reads_output(i, followed) else _sizes_of(one) for i, one in enumerate(outs)]
        )

        def back(*gradients: Any) -> tuple[Any, ...]:
            return op.vjp(Call(op, kept.values(), params, results.values(), followed), *gradients)  # type: ignore[operator]

        return back

    def keep(self, *values: Any) -> Kept:
        """Keep the numbers of values as they are now, whatever is written into their memory later."""
        kept = Kept([one.payload if isinstance(one, Value) else one for one in values])
        self.kept.append(kept)
        return kept

    def writes(self, target: Any, name: str) -> None:
        """Take copies of what is kept in memory that is about to be written to."""
        if type(target.payload) is np.ndarray:
            for kept in self.kept:
                kept.save(target.payload)

    def check(self, op: Op, inputs: tuple[Any, ...], followed: tuple[bool, ...]) -> None:
        """Refuse a value that comes from code with a gradient of its own, which has no rule."""
        for value, goes in zip(inputs, followed, strict=True):
            node = value._grad_fn if goes else None
            if node is not None and getattr(node.op, "context", None) is not None:
                raise AutogradError(
                    f"{self.method}: {node.op.name} is a function with a gradient of its own, and how it shares out "
                    f"what it gives is not known ({line()}). Write it with ops, or explain by gradients, e.g. "
                    "IntegratedGradients"
                )

    def refusal(self, op: Op, reason: str) -> AutogradError:
        """Return the refusal of a call of `op`, with the line of the program."""
        return AutogradError(
            f"{self.method}: there is no rule for {op.name} ({line()}): {reason}. Explain a part of the model that "
            "does without it, or explain by gradients, e.g. IntegratedGradients"
        )


class Kept:
    """Numbers of a call that are wanted later."""

    __slots__ = ("arrays",)

    def __init__(self, arrays: list[Any]) -> None:
        self.arrays = arrays

    def save(self, memory: Any) -> None:
        """Copy what lies in `memory`."""
        self.arrays = [
            one.copy() if type(one) is np.ndarray and np.may_share_memory(one, memory) else one
            for one in self.arrays
        ]

    def values(self) -> tuple[Any, ...]:
        """Return values off the tape, with the numbers of then."""
        return tuple(
            [
                new(one) if hasattr(one, "shape") and not isinstance(one, np.generic) else one
                for one in self.arrays
            ]
        )


@functools.cache
def _on_tape(name: str, outputs: int) -> Op:
    """Return the record of calls of an op: each has its own way back among its parameters."""
    return recorded_op(name, _back, outputs, Saves((), output=False))


def _back(call: Call, *gradients: Any) -> tuple[Any, ...]:
    found = call.params["back"](*gradients)
    return tuple([one if goes else None for one, goes in zip(found, call.params["followed"], strict=True)])


def conjugate(array: Any) -> Any:
    """Return what a gradient is of complex numbers as a factor, and the other way round; real arrays as they are."""
    return array if np.isrealobj(array) else array.conj()


def to_sizes(array: Any, sizes: tuple[int, ...]) -> Any:
    """Sum an array over the dims along which a value of `sizes` was stretched to it."""
    if array.shape == sizes:
        return array
    lead = array.ndim - len(sizes)
    array = array.sum(axis=tuple(range(lead)), dtype=array.dtype)
    ones = tuple([i for i, size in enumerate(sizes) if size == 1 and array.shape[i] != 1])
    return array.sum(axis=ones, keepdims=True, dtype=array.dtype) if ones else array


_CODES = frozenset({"scale", "zero_point", "qmin", "qmax", "relu"})
"""What an op of integers is told beside the parameters of the op that it computes."""


@functools.cache
def _served() -> dict[str, Op]:
    """Return the ops on numbers by the names of the ops of integers that compute them."""
    found = {f"quantized_{op.name}": op for op in table()}
    for op in table():
        kernel = getattr(op.quantized, "kernel", None)
        if isinstance(kernel, str) and kernel != op.name:
            found[kernel] = op
    return found


def _real(value: Any) -> Any:
    """Return what a value of codes stands for."""
    payload = value.payload if isinstance(value, Value) else None
    return new(payload.dequantize()) if isinstance(payload, QuantizedArray | PackedArray) else value


def _sizes_of(value: Any) -> Any:
    """Return what a rule is told of a value whose numbers it does not read."""
    return Abstract(value.payload.shape, value.payload.dtype) if isinstance(value, Value) else value


def in_float32(several: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return values, of which those of 16 bits are float32: their shares are computed so, and rounded once."""
    wide = [widened(one.payload) if isinstance(one, Value) else one for one in several]
    return tuple(
        [
            new(array) if isinstance(one, Value) and array is not one.payload else one
            for one, array in zip(several, wide, strict=True)
        ]
    )


def has_numbers(value: Any) -> bool:
    """Say whether a value has numbers that vary smoothly, real or complex: no conditions, places or counts."""
    return isinstance(value, Value) and (value.payload.dtype.kind == "c" or is_floating(value.payload.dtype))


def line() -> str:
    """Return the line of the program that is running, as people know it."""
    frame = calling_frame()
    return "a line outside the program" if frame is None else place(frame.f_code.co_filename, frame.f_lineno)


def _named(value: Any) -> bool:
    return isinstance(value, Value) and value._names is not None


def _ends(results: Any) -> bool:
    """Say whether results are conditions, places or counts, which share nothing out."""
    first = results[0] if isinstance(results, tuple) else results
    return first.payload.dtype.kind not in "fcV"

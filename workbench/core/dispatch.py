"""`apply`: the one way an op is run, through the stack of interpreters (`core.stack`), and eager evaluation under it.

The topmost interpreter processes the call; whatever it calls
in turn goes to the interpreter *below* it, never straight to the eager evaluation, so that they compose:
differentiation of a traced function, tracing of a gradient. At the bottom stands eager evaluation. Whatever
produced a result, the tape records the call when an input requires a gradient, so that gradients work at
every level of the stack.

Calling an op does the common call (plain arrays of one type on an empty stack) in compiled code where there is any,
because eager dispatch is what a notebook feels; everything else, and every refusal, is `apply`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.errors import DTypeError, NoNumbersError
from workbench.base.foreign import mending
from workbench.base.quantized_array import PackedArray, QuantizedArray
from workbench.base.quiet import QUIET, WARNINGS
from workbench.base.sparse_array import SparseArray
from workbench.core import backend, sparse_rules, tape
from workbench.core.bases import APPLY, eager
from workbench.core.dtype_rules import cast, common_dtype, compute, mixed_types, narrowed, settled
from workbench.core.mirrors import mirror
from workbench.core.op import Absent, Op, Saves
from workbench.core.outcome import infer_dims, names_in, names_of
from workbench.core.quantized_rules import by_function_module
from workbench.core.stack import (
    BOTTOM,
    IN_FORCE,
    Interpreter,
    State,
    below,
    computes_only,
    enable_grad,
    ends_here,
    enter,
    find,
    grad_enabled,
    inference,
    interpreting,
    leave,
    no_grad,
    set_grad,
    top,
    without,
)
from workbench.core.tape import Node, record
from workbench.core.value import Abstract, Value, dims_of, new
from workbench.core.views import asks, remember, see

__all__ = [
    "Interpreter", "WithoutNumbers", "apply", "below", "common_dtype", "compute", "computes_only", "enable_grad",
    "ends_here", "enter", "evaluate", "find", "grad_enabled", "infer_dims", "inference", "interpreting", "leave",
    "no_grad", "numbers", "set_grad", "top", "without", "without_numbers",
]  # fmt: skip

_get = IN_FORCE.get


def apply(op: Op, *inputs: Any, **params: Any) -> Any:
    """Run `op` on values (or Python scalars) with normalized parameters."""
    state = _get()
    if state.top is None:
        results = evaluate(op, inputs, params)
    elif any(map(sparse_rules.is_sparse, inputs)) and "places" not in op.properties:
        # Before anybody looks on: the ops that the rule is made of are what is recorded, traced or batched.
        return _sparse(op, inputs, params)
    else:
        interpreter, below = state.top
        token = IN_FORCE.set(State(state.grad, below, state.inference))
        try:
            results = interpreter.process(op, inputs, params)
        finally:
            IN_FORCE.reset(token)
        if getattr(interpreter, "transparent", False):
            return results  # calls below have recorded what there is to record
        # What an interpreter returned was made new: nobody has told it yet what it views.
        if op.view and isinstance(results, Value) and results._view is None and results is not inputs[0]:
            remember(op, inputs[0], params, results)
    if state.grad and op.vjp:
        wanted = False
        for value in inputs:
            # Each view is brought to its place on the tape, also where another operand asks for a gradient already.
            if isinstance(value, Value) and (value._requires_grad if value._view is None else asks(value)):
                wanted = True
        # What a rule for sparse values returns was recorded by the ops that it is made of.
        if wanted and not (isinstance(results, Value) and results._requires_grad):
            several = results if isinstance(results, tuple) else (results,)
            # Where the first output has no gradient, none has: indices only ever stand beside values.
            if several[0].payload.dtype.kind in "fcV":
                record(op, inputs, params, several)
    elif state.inference and not (op.view and isinstance(inputs[0], Value) and not inputs[0]._inference):
        # A view of a normal tensor is a normal tensor, also when it is made in inference mode, as in PyTorch.
        _mark(results)
    return results


def _mark(results: Any) -> None:
    """Make results inference tensors."""
    for value in results if isinstance(results, tuple) else (results,):
        value._inference = True


_few: Callable[..., Any] = (lambda op, *arrays, **params: None) if eager is None else eager.few
"""What eager dispatch computes of few values without an op's own code; None where it does not."""

if eager is None:
    APPLY.give(apply)
else:
    eager.connect(IN_FORCE, BOTTOM, Node, apply, names_of, record, vars(tape), WARNINGS, QUIET)
    eager.connect_tape(Saves, Abstract, (QuantizedArray, PackedArray))


def evaluate(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Eager evaluation: check names and sizes, bring the types together, compute."""
    arrays = []
    for value in inputs:
        if isinstance(value, Value):
            array = value.payload
            if type(array) is not np.ndarray:
                return _other_payload(op, inputs, params)
            arrays.append(array)
        else:
            if op.same or "elementwise" not in op.properties or not isinstance(value, _SCALARS):
                _check_operand(op, len(arrays), value)
            arrays.append(value)
    if op.same:
        dims: Any = None
        names = inputs[0]._names
    else:
        dims = infer_dims(op, inputs, params)
        names = names_in(dims) if op.outputs == 1 else None
    half, narrow = None, False
    kernel = op.kernel
    if not settled(op, arrays):
        half_kernel = op.half_kernel
        if half_kernel is not None and half_kernel.accepts(*arrays, **params):
            kernel, narrow = half_kernel, True
        else:
            arrays, half = cast(op, arrays)
    # As a call of few values is computed without this way: who looks on sees the same numbers.
    out = None if op.small is None or narrow else _few(op, *arrays, **params)
    if out is not None:
        pass
    elif kernel is not None and (narrow or kernel.accepts(*arrays, **params)):
        out = kernel.run(*arrays, **params)
    else:
        out = _quietly(op.forward, *arrays, **params)
    if half is not None:
        out = narrowed(op, out, half, params)
    if op.outputs == 1:
        # NumPy returns its scalars, not arrays, where no dim is left.
        if type(out) is not np.ndarray and type(out) not in _OWN and backend.backend_of(out) is None:
            out = np.asarray(out)
        result = new(out, names)
        if op.view:
            (mirror if op.mirror else see)(op, inputs[0], params, result)
        return result
    return tuple(
        [
            new(one if type(one) is np.ndarray else np.asarray(one), names_in(d))
            for one, d in zip(out, dims, strict=True)
        ]
    )


def _quietly(compute: Callable[..., Any], *given: Any, **params: Any) -> Any:
    """Compute by NumPy: infinities and NaN are values like others, and an op does not warn of them."""
    token = WARNINGS.set(QUIET)
    try:
        return compute(*given, **params)
    finally:
        WARNINGS.reset(token)


_SCALARS = (int, float, complex, np.generic)
_OWN = frozenset({QuantizedArray, PackedArray, SparseArray})
"""Payloads of our own that ops give, beside arrays."""
_CODES = frozenset({QuantizedArray, PackedArray, np.ndarray, type(None)})
"""What integer layers are given, as a rule: nobody else needs to be asked about these."""


def _check_operand(op: Op, place: int, value: Any) -> None:
    """Refuse what is no tensor where one is needed: not a number beside a tensor, nor an input that is done without."""
    if place == 0 or not (value is None or isinstance(value, _SCALARS)):
        raise TypeError(
            f"{op.name}(): argument {place + 1} must be Tensor, not {type(value).__name__}: {mending(value)}"
        )


def _other_payload(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Evaluate where some input is not a plain array: a value without numbers, or a quantized one."""
    arrays = [value.payload if isinstance(value, Value) else value for value in inputs]
    if _CODES.issuperset(map(type, arrays)):
        return _quantized(op, inputs, arrays, params)
    if any(type(array) is SparseArray for array in arrays):
        if "places" not in op.properties:
            return _sparse(op, inputs, params)
        return new(_quietly(op.forward, *arrays, **params), names_in(infer_dims(op, inputs, params)))
    if any(isinstance(array, Abstract) for array in arrays):
        # A value whose level is over can still be computed with, as far as something beneath it has numbers.
        below = [array.beneath() if isinstance(array, Abstract) else None for array in arrays]
        if any(one is not None for one in below):
            inputs = tuple(
                value if one is None else new(one.payload, value._names)
                for value, one in zip(inputs, below, strict=True)
            )
            return apply(op, *inputs, **params)
        return without_numbers(op, inputs, params)
    if any(backend.backend_of(array) is not None for array in arrays):
        return _on_device(op, inputs, arrays, params)
    return _quantized(op, inputs, arrays, params)


def _sparse(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Evaluate where some input is sparse: by the op's rule, which is written with other ops."""
    rule = sparse_rules.derived(op) if op.sparse is None else op.sparse
    if isinstance(rule, Absent):
        raise DTypeError(f"{op.name} is not defined for sparse tensors: {rule.reason}. {sparse_rules.CALL}")
    dims: Any = infer_dims(op, inputs, params)
    bare = [tape.alias(one, None) if isinstance(one, Value) else one for one in inputs]
    result = rule(*bare, **params)
    if result.payload.shape != dims.sizes:
        raise DTypeError(
            f"{op.name} of sparse tensors does not broadcast to {list(dims.sizes)}. {sparse_rules.CALL}"
        )
    return tape.alias(result, names_in(dims))


def _on_device(op: Op, inputs: tuple[Any, ...], arrays: list[Any], params: dict[str, Any]) -> Any:
    """Evaluate on arrays of a backend."""
    dims: Any = infer_dims(op, inputs, params)
    if "crossing" in op.properties:
        return new(op.forward(*arrays, **params), names_in(dims))
    out = backend.run(op, arrays, params, cast, compute)
    if op.outputs == 1:
        result = new(out, names_in(dims))
        found = backend.backend_of(out)
        # What mirrors memory of a device is not kept equal to it: as a view it is refused to be written to.
        if op.view and (found is None or op.mirror or backend.is_view(found, op, out, arrays[0])):
            remember(op, inputs[0], params, result)
        return result
    return tuple([new(one, names_in(d)) for one, d in zip(out, dims, strict=True)])


def without_numbers(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Follow the rules of `op` and compute nothing: the results have dims and a type, no numbers."""
    dims: Any = infer_dims(op, inputs, params)
    arrays = [value.payload if isinstance(value, Value) else value for value in inputs]
    # First of all: codes that the op does not take have no type in common with numbers.
    kept = _kept(op, arrays)
    common = mixed_types(op, arrays) or common_dtype(op, arrays)
    dtype = kept or op.dtype.results(common, params)
    if op.outputs == 1:
        return new(Abstract(dims.sizes, dtype), names_in(dims))
    dtypes = dtype if isinstance(dtype, tuple) else (dtype,) * op.outputs
    return tuple(new(Abstract(d.sizes, t), names_in(d)) for d, t in zip(dims, dtypes, strict=True))


def _kept(op: Op, arrays: list[Any]) -> Any:
    """Return the quantized type that an op on plain values keeps where it is given codes; None for other inputs."""
    dtype = next(
        (one.dtype for one in arrays if getattr(getattr(one, "dtype", None), "quantized", False)), None
    )
    if dtype is None:
        return None
    rule = op.quantized
    if isinstance(rule, Absent) or isinstance(rule.codes, Absent):
        raise _not_quantized(op)
    # Where the types of inputs are not brought together, the op's own rule says what comes out of codes.
    return dtype if rule.travels != "ends" and op.dtype.common is not None and op.outputs == 1 else None


def _not_quantized(op: Op) -> DTypeError:
    rule = op.quantized
    kernel = None if isinstance(rule, Absent) else rule.kernel
    absent = rule if isinstance(rule, Absent) else rule.codes
    way = "Call .dequantize() first, or use workbench.quantization's modules."
    if isinstance(kernel, str):
        way = f"Call .dequantize() first, or {kernel}, which is told the scale and zero point of its result."
    return DTypeError(
        f"{op.name} is not defined for quantized tensors: {getattr(absent, 'reason', '')}. {way}"
        f"{by_function_module(op.name)}"
    )


def _quantized(op: Op, inputs: tuple[Any, ...], arrays: list[Any], params: dict[str, Any]) -> Any:
    """Evaluate on quantized payloads by the op's own rule for them."""
    rule = op.quantized
    if isinstance(rule, Absent) or isinstance(rule.codes, Absent):
        raise _not_quantized(op)
    dims: Any = infer_dims(op, inputs, params)
    out = _quietly(rule.codes, op, *arrays, **params)
    if op.outputs == 1:
        return new(out, names_in(dims))
    return tuple([new(one, names_in(d)) for one, d in zip(out, dims, strict=True)])


class WithoutNumbers:
    """The interpreter that follows rules only: names, sizes and types are checked and nothing is computed."""

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Return results with dims and a type."""
        return without_numbers(op, inputs, params)


def numbers(value: Any) -> Any:
    """Return the payload of `value` if it has numbers; raise where it has none."""
    array = value.payload
    if type(array) is np.ndarray:
        return array
    if type(array) is SparseArray:
        raise DTypeError(
            f"a tensor of layout {array.layout} has no array of all values, as this needs, and is not changed in "
            "place. Call to_dense() for all values, values() for those that are there"
        )
    if isinstance(array, Abstract):
        found = array.numbers(value)
        if found is not None:
            return found
        raise NoNumbersError(
            array.why
            or f"this value has dims {dims_of(value)} and type {array.dtype} but no numbers: it stands for a value "
            "while a function is traced, or was dropped from the tape. Branch on shapes and names instead, choose "
            "values with where(), keep both branches with jit.script, write ops that return new tensors instead of "
            "changing one in place, or look at values outside the traced function."
        )
    there = backend.backend_of(array)
    return array if there is None else there.to_numpy(array)

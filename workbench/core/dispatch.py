"""`apply`: the one way an op is run, and the stack of interpreters it runs through.

Interpreters are stacked per thread (and per asyncio task). The topmost processes the call; whatever it calls
in turn goes to the interpreter *below* it, never straight to the eager evaluation, so that they compose:
differentiation of a traced function, tracing of a gradient. At the bottom stands eager evaluation. Whatever
produced a result, the tape records the call when an input requires a gradient, so that gradients work at
every level of the stack.

Calling an op does the common call (plain arrays of one type on an empty stack) in compiled code where there is any,
because eager dispatch is what a notebook feels; everything else, and every refusal, is `apply`'s.
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from workbench.base.dims import MAXIMUM_DIMS, Dims, Names
from workbench.base.dtypes import half_width, promote
from workbench.base.errors import DimensionError, DTypeError, NoNumbersError, Operand
from workbench.base.places import calling_frame, place
from workbench.core import backend, tape
from workbench.core.bases import call_by, eager
from workbench.core.op import Absent, Op
from workbench.core.tape import Node, record
from workbench.core.value import UNNAMED, Abstract, Value, dims_of, new
from workbench.core.views import refresh, remember, see

__all__ = [
    "Interpreter", "apply", "below", "enable_grad", "find", "grad_enabled", "inference", "interpreting", "mode",
    "no_grad", "set_grad", "top", "without",
]  # fmt: skip


class Interpreter(Protocol):
    """Something that gives a call of an op a meaning."""

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Return the result(s) of `op`; ops applied meanwhile go to the interpreter below.

        One with an attribute ``transparent`` that is true returns what calls below gave, already recorded.
        """
        ...


Kind = TypeVar("Kind")


class State(NamedTuple):
    """What dispatch must know: whether gradients are recorded, and the stack of interpreters as linked pairs."""

    grad: bool
    top: tuple[Interpreter, Any] | None
    inference: bool = False


_DEFAULT = State(True, None)
_state: contextvars.ContextVar[State] = contextvars.ContextVar("workbench_dispatch", default=_DEFAULT)
_get = _state.get


def grad_enabled() -> bool:
    """Say whether calls are recorded for gradients."""
    return _get().grad


def computes_only() -> bool:
    """Say whether ops only compute, here and now: nothing is recorded and no interpreter looks on."""
    state = _get()
    return not state.grad and state.top is None


@contextmanager
def mode(grad: bool, inference: bool | None = None) -> Iterator[None]:
    """Record for gradients, or do not; with `inference`, say whether results are inference tensors."""
    state = _get()
    token = _state.set(
        state._replace(grad=grad, inference=state.inference if inference is None else inference)
    )
    try:
        yield
    finally:
        _state.reset(token)


def no_grad() -> Any:
    """Record nothing for gradients inside this block (or decorated function)."""
    return mode(grad=False)


def enable_grad() -> Any:
    """Record for gradients inside this block, even within `no_grad`."""
    return mode(grad=True)


def inference() -> bool:
    """Say whether what is made now can never be part of a gradient."""
    return _get().inference


def enter(grad: bool) -> Any:
    """Record for gradients, or do not, until `leave` is called with what this returns: `mode` without its cost."""
    return _state.set(_get()._replace(grad=grad))


def leave(before: Any) -> None:
    """Go back to what was in force at `enter`."""
    _state.reset(before)


def top() -> Interpreter | None:
    """Return the topmost interpreter; None where ops are evaluated."""
    found = _get().top
    return None if found is None else found[0]


def set_grad(grad: bool) -> None:
    """Record for gradients, or do not, from here on."""
    _state.set(_get()._replace(grad=grad))


@contextmanager
def below() -> Iterator[None]:
    """Run the ops of this block without the topmost interpreter, as its `process` would."""
    state = _get()
    token = _state.set(state if state.top is None else state._replace(top=state.top[1]))
    try:
        yield
    finally:
        _state.reset(token)


def find(kind: type[Kind]) -> Kind | None:
    """Return the topmost interpreter of a class."""
    link = _get().top
    while link is not None:
        interpreter, link = link
        if isinstance(interpreter, kind):
            return interpreter
    return None


def without(kind: type) -> Any:
    """Run the ops of a block without the interpreters of a class, wherever they stand in the stack."""
    state = _get()
    kept: list[Interpreter] = []
    link = state.top
    while link is not None:
        interpreter, link = link
        if not isinstance(interpreter, kind):
            kept.append(interpreter)
    stack: tuple[Interpreter, Any] | None = None
    for interpreter in reversed(kept):
        stack = (interpreter, stack)
    return _in_force(state._replace(top=stack))


@contextmanager
def _in_force(state: State) -> Iterator[None]:
    token = _state.set(state)
    try:
        yield
    finally:
        _state.reset(token)


@contextmanager
def interpreting(interpreter: Interpreter) -> Iterator[None]:
    """Run the ops of this block through `interpreter`, on top of those already in force."""
    state = _get()
    token = _state.set(state._replace(top=(interpreter, state.top)))
    try:
        yield
    finally:
        _state.reset(token)


def apply(op: Op, *inputs: Any, **params: Any) -> Any:
    """Run `op` on values (or Python scalars) with normalized parameters."""
    state = _get()
    if state.top is None:
        results = evaluate(op, inputs, params)
    else:
        interpreter, below = state.top
        token = _state.set(State(state.grad, below, state.inference))
        try:
            results = interpreter.process(op, inputs, params)
        finally:
            _state.reset(token)
        if getattr(interpreter, "transparent", False):
            return results  # calls below have recorded what there is to record
        if op.view and isinstance(results, Value) and results._view is None and results is not inputs[0]:
            remember(op, inputs[0], params, results)
    if state.grad and op.vjp:
        for value in inputs:
            if isinstance(value, Value):
                if value._view is not None:
                    refresh(value)
                if value._requires_grad:
                    several = results if isinstance(results, tuple) else (results,)
                    if several[0]._array.dtype.kind in "fcV":
                        record(op, inputs, params, several)
                    break
    elif state.inference and not (op.view and isinstance(inputs[0], Value) and not inputs[0]._inference):
        _mark(results)
    return results


def _mark(results: Any) -> None:
    """Make results inference tensors."""
    for value in results if isinstance(results, tuple) else (results,):
        value._inference = True


def names_of(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> tuple[Names | None, ...]:
    """Return the names of each output of a call that the dims rule of `op` allows."""
    dims: Any = infer_dims(op, inputs, params)
    return (_some(dims),) if op.outputs == 1 else tuple([_some(one) for one in dims])


if eager is None:
    call_by(apply)
else:
    # The variable behind np.errstate: setting it costs a tenth of entering a context manager.
    _warnings = np._core.umath._extobj_contextvar  # type: ignore[attr-defined]
    with np.errstate(all="ignore"):
        _quiet = _warnings.get()
    eager.connect(_state, _DEFAULT, Node, apply, names_of, record, vars(tape), _warnings, _quiet)


def evaluate(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Eager evaluation: check names and sizes, bring the types together, compute."""
    arrays = []
    for value in inputs:
        if isinstance(value, Value):
            array = value._array
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
        names = _some(dims) if op.outputs == 1 else None
    half = None
    if not _settled(op, arrays):
        arrays, half = cast(op, arrays)
    kernel = op.kernel
    if kernel is not None and kernel.accepts(*arrays, **params):
        out = kernel.run(*arrays, **params)
    else:
        with np.errstate(all="ignore"):  # infinities and NaN are values like others
            out = op.forward(*arrays, **params)
    if half is not None:
        out = _narrowed(op, out, half, params)
    if op.outputs == 1:
        if type(out) is not np.ndarray and not hasattr(out, "quantizer") and backend.backend_of(out) is None:
            out = np.asarray(out)
        result = new(out, names)
        if op.view and out.base is not None:
            see(op, inputs[0], params, result)
        return result
    return tuple(
        [
            new(one if type(one) is np.ndarray else np.asarray(one), _some(d))
            for one, d in zip(out, dims, strict=True)
        ]
    )


_SCALARS = (int, float, complex, np.generic)


def _check_operand(op: Op, place: int, value: Any) -> None:
    """Refuse what is no tensor where one is needed: not a number beside a tensor, nor an input that is done without."""
    if place == 0 or not (value is None or isinstance(value, _SCALARS)):
        raise TypeError(
            f"{op.name}(): argument {place + 1} must be Tensor, not {type(value).__name__}: wb.tensor(...) makes one"
        )


def _settled(op: Op, arrays: list[Any]) -> bool:
    """Say, quickly, whether the arrays have the type already in which the op computes."""
    if op.dtype.common is None:
        if op.widens:
            for array in arrays:
                if type(array) is np.ndarray and array.dtype.char in "eE":
                    return False
        return True
    first: Any = None
    for array in arrays[op.dtype.skip :] if op.dtype.skip else arrays:
        if type(array) is np.ndarray:
            if first is None:
                first = array.dtype
                if first.char not in "fd":
                    return False
            elif array.dtype is not first:
                return False
        elif type(array) is not float:
            return False
    return first is not None


def _narrowed(op: Op, out: Any, half: Any, params: dict[str, Any]) -> Any:
    """Bring results computed in float32 back to the 16-bit type that the op's rule names."""
    dtypes = op.dtype.result(half, params)
    several = (out,) if op.outputs == 1 else out
    dtypes = dtypes if isinstance(dtypes, tuple) else (dtypes,) * op.outputs
    with np.errstate(all="ignore"):  # what is too large for the type is infinite there
        narrow = [
            np.asarray(one).astype(dtype, copy=False) for one, dtype in zip(several, dtypes, strict=True)
        ]
    return narrow[0] if op.outputs == 1 else tuple(narrow)


def _other_payload(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Evaluate where some input is not a plain array: a value without numbers, or a quantized one."""
    arrays = [value._array if isinstance(value, Value) else value for value in inputs]
    if any(isinstance(array, Abstract) for array in arrays):
        below = [array.beneath() if isinstance(array, Abstract) else None for array in arrays]
        if any(one is not None for one in below):
            inputs = tuple(
                value if one is None else new(one._array, value._names)
                for value, one in zip(inputs, below, strict=True)
            )
            return apply(op, *inputs, **params)
        return without_numbers(op, inputs, params)
    if any(backend.backend_of(array) is not None for array in arrays):
        return _on_device(op, inputs, arrays, params)
    return _quantized(op, inputs, arrays, params)


def _on_device(op: Op, inputs: tuple[Any, ...], arrays: list[Any], params: dict[str, Any]) -> Any:
    """Evaluate on arrays of a backend."""
    dims: Any = infer_dims(op, inputs, params)
    if op.name == "to_device":
        return new(op.forward(*arrays, **params), _some(dims))
    out = backend.run(op, arrays, params, cast, compute)
    if op.outputs == 1:
        result = new(out, _some(dims))
        found = backend.backend_of(out)
        if op.view and (found is None or backend.is_view(found, op, out, arrays[0])):
            remember(op, inputs[0], params, result)
        return result
    return tuple([new(one, _some(d)) for one, d in zip(out, dims, strict=True)])


def _some(dims: Any) -> Names | None:
    names: Names = dims[0]
    if len(names) > MAXIMUM_DIMS:
        raise DimensionError(f"tensors only support up to {MAXIMUM_DIMS} dims, this would have {len(names)}.")
    return None if names == UNNAMED[len(names)] else names


def infer_dims(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Dims | tuple[Dims, ...]:
    """Return the dims that come out; a refusal names the operands as the caller calls them."""
    try:
        return op.dims(*[dims_of(value) for value in inputs], **params)
    except DimensionError as error:
        error.op = error.op or op.name
        known = _whose(error.operands, inputs)
        labels = _labels(known)
        error.label(labels, tuple(_origin(value) for value in known))
        raise


def _whose(operands: tuple[Operand, ...], inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the input that each operand of a refusal is: by position, or by its dims where not all inputs are told."""
    if len(operands) == len(inputs):
        return inputs
    left = list(inputs)
    found: list[Any] = []
    for operand in operands:
        same = [i for i, value in enumerate(left) if dims_of(value) == (operand.names, operand.sizes)]
        found.append(left.pop(same[0]) if same else None)
    return tuple(found)


def _origin(value: Any) -> str:
    if not isinstance(value, Value):
        return ""
    if value._origin is not None:
        return place(*value._origin)
    return f"result of {value._grad_fn.name}" if value._grad_fn is not None else ""


def _labels(inputs: tuple[Any, ...]) -> tuple[str, ...]:
    """Find what the nearest caller outside this package calls its operands: local variables, by identity."""
    frame = calling_frame()
    if frame is None:
        return ("",) * len(inputs)
    # Names with a leading underscore are IPython's history as often as anybody's own: they come last.
    local = sorted(frame.f_locals.items(), key=lambda item: not item[0].startswith("_"))
    known = {id(value): name for name, value in local if isinstance(value, Value)}
    return tuple(known.get(id(value), "") for value in inputs)


def cast(op: Op, arrays: list[Any]) -> tuple[list[Any], np.dtype[Any] | None]:
    """Bring array inputs to the type that the op's rule asks for; Python scalars stay what they are.

    Returns the 16-bit type to go back to where the op is computed in float32 in its stead, else None.
    """
    target = common_dtype(op, arrays)
    wide = target
    half = None
    if op.widens and half_width(target):
        half, wide = target, _FLOAT32
    if op.dtype.common is None:
        if op.widens:
            arrays = [
                array.astype(_FLOAT32) if isinstance(array, np.ndarray) and half_width(array.dtype) else array
                for array in arrays
            ]
        return arrays, half
    skip = op.dtype.skip
    return arrays[:skip] + [
        array.astype(wide) if hasattr(array, "dtype") and array.dtype != wide else array
        for array in arrays[skip:]
    ], half


_FLOAT32 = np.dtype(np.float32)


def compute(op: Op, arrays: list[Any], params: dict[str, Any]) -> Any:
    """Return what the op's own array code makes of plain arrays, brought together in type."""
    arrays, half = cast(op, arrays)
    with np.errstate(all="ignore"):
        out = op.forward(*arrays, **params)
    return out if half is None else _narrowed(op, out, half, params)


def common_dtype(op: Op, arrays: list[Any]) -> np.dtype[Any]:
    """Return the type that the inputs of `op` are brought to, or that of the first where they stay."""
    arrays = arrays[op.dtype.skip :]
    if op.dtype.common is None:
        first = arrays[0]
        return first.dtype if hasattr(first, "dtype") else promote((first,))
    operands = tuple(
        (one.dtype, one.ndim) if hasattr(one, "dtype") else one for one in arrays if one is not None
    )
    return op.dtype.common(promote(operands))


def without_numbers(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Follow the rules of `op` and compute nothing: the results have dims and a type, no numbers."""
    dims: Any = infer_dims(op, inputs, params)
    arrays = [value._array if isinstance(value, Value) else value for value in inputs]
    dtype = _kept(op, arrays) or op.dtype.result(common_dtype(op, arrays), params)
    if op.outputs == 1:
        return new(Abstract(dims.sizes, dtype), _some(dims))
    dtypes = dtype if isinstance(dtype, tuple) else (dtype,) * op.outputs
    return tuple(new(Abstract(d.sizes, t), _some(d)) for d, t in zip(dims, dtypes, strict=True))


def _kept(op: Op, arrays: list[Any]) -> Any:
    """Return the quantized type that an op on plain values keeps where it is given codes; None for other inputs."""
    dtype = getattr(arrays[0], "dtype", None)
    if not getattr(dtype, "quantized", False):
        return None
    if isinstance(op.quantized, Absent):
        raise _not_quantized(op)
    return dtype if op.dtype.common is not None else None


def _not_quantized(op: Op) -> DTypeError:
    reason = op.quantized.reason if isinstance(op.quantized, Absent) else ""
    return DTypeError(
        f"{op.name} is not defined for quantized tensors: {reason}. "
        "Call .dequantize() first, or use workbench.quantization's modules."
    )


def _quantized(op: Op, inputs: tuple[Any, ...], arrays: list[Any], params: dict[str, Any]) -> Any:
    """Evaluate on quantized payloads by the op's own rule for them."""
    if isinstance(op.quantized, Absent):
        raise _not_quantized(op)
    dims: Any = infer_dims(op, inputs, params)
    out = op.quantized(*arrays, **params)
    if op.outputs == 1:
        return new(out, _some(dims))
    return tuple([new(one, _some(d)) for one, d in zip(out, dims, strict=True)])


class WithoutNumbers:
    """The interpreter that follows rules only: names, sizes and types are checked and nothing is computed."""

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Return results with dims and a type."""
        return without_numbers(op, inputs, params)


def numbers(value: Any) -> Any:
    """Return the payload of `value` if it has numbers; raise where it has none."""
    array = value._array
    if isinstance(array, Abstract):
        found = array.numbers(value)
        if found is not None:
            return found
        raise NoNumbersError(
            array.why
            or f"this value has dims {dims_of(value)} and type {array.dtype} but no numbers: it stands for a value "
            "while a function is traced, or was dropped from the tape. Branch on shapes and names instead, write ops "
            "that return new tensors instead of changing one in place, or look at values outside the traced function."
        )
    there = backend.backend_of(array)
    return array if there is None else there.to_numpy(array)

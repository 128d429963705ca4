"""Writing results into memory that exists: in-place variants (``x.add_(y)``) and ``out=``, for every function alike.

A function is run as always; its result is then checked against the memory it is to go into, copied there, and the
value takes the result's place on the tape. Nothing is written until every check has passed.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, get_args

import numpy as np

from workbench.base.dims import Names, unify_names
from workbench.base.dtypes import can_cast, dtype_of
from workbench.base.errors import AutogradError, DimensionError, DTypeError, NoNumbersError
from workbench.base.quantized_array import QuantizedArray
from workbench.base.sparse_array import SparseArray
from workbench.core import dispatch
from workbench.core.backend import backend_of
from workbench.core.bases import next_serial
from workbench.core.direct_writes import written_directly, written_scaled
from workbench.core.labels import labels_of_view
from workbench.core.op import ops
from workbench.core.overlap import check_sources, repeats
from workbench.core.stack import tell_written
from workbench.core.tape import alias, move, needs_of, remember_place
from workbench.core.typing import Tensor
from workbench.core.value import Abstract, Value, dims_of
from workbench.core.views import asks, before, changed, check_recorded, refresh, root_of
from workbench.core.words import renamed
from workbench.kernels.memory import filled

__all__ = [
    "OutRule",
    "follows",
    "in_place",
    "overwrite",
    "plainly",
    "reshaping",
    "taking_out",
    "writable",
    "write",
    "write_codes",
]

OutRule = Literal["exact", "exact pair"]
"""What type a tensor given as ``out=`` has to have: the result's own, always or where there are several results."""


def write(target: Tensor, name: str, function: Callable[[Any], Any], one: bool = False) -> Tensor:
    """Set the numbers of `target` to ``function(target)``, record the change, and return `target`.

    `one` says that all of them are one number, which can be written where entries share their places.

    Raises `AutogradError` for a leaf that requires a gradient (or a view of one) while gradients are recorded,
    `DimensionError` where the sizes differ, `DTypeError` where the type cannot hold the result.
    """
    _check_inference(target)
    _check_leaf(target, name)
    # It may have been changed by way of another view: what happens now comes after that.
    if target._view is not None:
        refresh(target)
    if isinstance(target.payload, QuantizedArray):
        return write_codes(target, name, function(target), one)
    old = before(target)
    if type(old.payload) is SparseArray:
        # It never changes: the target gets another, and what reads this one goes on doing so.
        old._changes, old._owner = old._version, None
    # What is recorded from here on has a larger number, and belongs to this change.
    start = next_serial()
    result = _fitting(target, function(old), name)
    # Asked before anything is written, since it may refuse.
    names = _names_together(target, result, name)
    recorded = dispatch.grad_enabled() and (asks(result) or target._requires_grad)
    if recorded:
        check_recorded(target)
        if result._grad_fn is None or result._grad_fn.serial < start:
            # What was there before the change, such as a leaf or a constant: the change itself is a call, too.
            result = ops.copy(old, result)
        if type(old.payload) is np.ndarray and _reads(result, old, start):
            # The gradient is computed from the numbers as they were.
            # From here on it has memory of its own, which later changes of the target do not reach.
            old._changes, old._owner = old._version, None
            old.payload = old.payload.copy()
    backend = backend_of(target.payload)
    if type(target.payload) is SparseArray:
        target.payload = result.payload  # the places are others: nothing shares a sparse tensor's memory
    elif backend is not None and backend.write is not None and _in_view(backend, target):
        backend.write(target.payload, result.payload)
    elif backend is not None or isinstance(target.payload, Abstract) or follows(target, result):
        _replace_payload(target, result, name)
    else:
        tell_written(target, name)
        _copy_numbers(target, result, name, one)
    target._version += 1
    target._names = names
    if recorded:
        _share_saved(result, target)
        changed(target, result)
    return target


def write_codes(target: Any, name: str, result: Any, one: bool = False) -> Tensor:
    """Set the numbers of a quantized tensor to those of `result`, rounded to its codes; return it.

    A tensor that owns its memory takes scale and zero point of codes over, as in PyTorch; in a part of another what is
    written is rounded to the codes that are there. `one` says that all of them are one number.
    """
    own, payload = target.payload, result.payload
    if tuple(payload.shape) != own.shape:
        raise DimensionError(
            f"output with shape {list(own.shape)} doesn't match the broadcast shape {list(payload.shape)}",
            op=name,
            operands=(dims_of(target).operand("input"), dims_of(result).operand("result")),
        )
    names = _names_together(target, result, name)
    if not isinstance(payload, QuantizedArray):
        values = dispatch.numbers(result)
        if values.dtype != np.float32:
            way = ".float()" if values.dtype != np.bool_ else "the same without the _, or .float()"
            raise DTypeError(
                f"{name}: Quantized copy only works with kFloat as source Tensor, got {dtype_of(values).name}: "
                f"try {way}"
            )
        payload = own.rounded(values)
    elif not payload.same_map(own):
        if (payload.dtype, payload.qscheme) != (own.dtype, own.qscheme):
            raise DTypeError(
                f"{name}: Quantized copy only works with the same type and scheme, {own.dtype.name} "
                f"{own.qscheme.value}, got {payload.dtype.name} {payload.qscheme.value}: dequantize() what is copied"
            )
        if not own.whole:
            payload = own.rounded(payload.dequantize())
    if not one and repeats(own.codes):
        raise _shares_places(name)
    own.write(payload.codes)
    target.payload = own.mapped_as(payload)
    target._version += 1
    target._names = names
    return target  # type: ignore[no-any-return]


def _share_saved(result: Any, target: Any) -> None:
    """Have the call that gave `result` keep the memory of `target`, which holds the same numbers, instead of a copy."""
    node, array = result._grad_fn, result.payload
    if node is None or not node.saved or type(target.payload) is not np.ndarray:
        return
    if target.payload.dtype == array.dtype and not node.packed:
        node.saved = tuple([target.payload if one is array else one for one in node.saved])


def _reads(result: Any, old: Any, start: int) -> bool:
    """Say whether a call recorded since `start`, on the way to `result`, reads the numbers of `old` later."""
    pending, seen = [result._grad_fn], set()
    while pending:
        node = pending.pop()
        if node is None or node.serial < start or node.serial in seen:
            continue
        seen.add(node.serial)
        inputs = node.inputs or ()
        read = node.op.saves.read(needs_of(inputs))
        for i, value in enumerate(inputs):
            if value is old:
                if i in read:
                    return True
            elif isinstance(value, Value):
                pending.append(value._grad_fn)
    return False


def plainly(target: Any, value: Any = None) -> bool:
    """Say whether numbers may be written into `target` without the tape knowing; refuse inference tensors outside."""
    _check_inference(target)
    if type(target.payload) is not np.ndarray:
        return False
    if dispatch.computes_only():
        return True
    if isinstance(value, Value) and asks(value):
        return False
    # A view may not have noticed yet that what it views asks for a gradient.
    while target is not None:
        if target._requires_grad:
            return False
        target = target._view[0] if target._view is not None else None
    return True


def _check_inference(target: Any) -> None:
    if target._inference and not dispatch.inference():
        raise AutogradError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a "
            "normal tensor before doing inplace update."
        )


def _names_together(target: Any, result: Any, name: str) -> Names | None:
    """Return the names that `target` has after the change; refuse a result whose names are others."""
    own: Names | None = target._names
    other: Names | None = result._names
    if own is None or other is None or own == other:
        return own if other is None else other
    return unify_names(name, dims_of(target), dims_of(result))


def _check_leaf(target: Any, name: str) -> None:
    if not dispatch.grad_enabled():
        return
    base = root_of(target)
    if target._requires_grad and target._grad_fn is None and not target._borrowed:
        what = "a leaf Variable that requires grad"
    elif base is not target and base._grad_fn is None and (base._requires_grad or asks(target)):
        check_recorded(target)
        what = "a view of a leaf Variable that requires grad"
    else:
        return
    raise AutogradError(
        f"{name}: {what} is being used in an in-place operation while gradients are recorded. Write the op without its "
        "underscore, or do it inside no_grad()."
    )


def _fitting(target: Any, result: Any, name: str) -> Any:
    """Return the result in the type of `target`; refuse what does not fit."""
    here, there = target.payload, result.payload
    if tuple(there.shape) != tuple(here.shape):
        raise DimensionError(
            f"output with shape {list(here.shape)} doesn't match the broadcast shape {list(there.shape)}",
            op=name,
            operands=(dims_of(target).operand("input"), dims_of(result).operand("result")),
        )
    if type(here) is SparseArray and type(there) is not SparseArray:
        raise DTypeError(
            f"{name}: the result has values everywhere, and a sparse tensor stays sparse in place. Use the op without "
            "its underscore, or to_dense() first."
        )
    if there.dtype == here.dtype:
        return result
    if not can_cast(dtype_of(there), dtype_of(here)):
        raise DTypeError(
            f"result type {dtype_of(there).name} can't be cast to the desired output type {dtype_of(here).name}. "
            f"Cast first, or use the op without its underscore."
        )
    return ops.to(result, dtype=here.dtype)


def follows(target: Any, value: Any) -> bool:
    """Say whether `target` may come to stand for `value`, without numbers: the graph being made keeps the change."""
    return isinstance(value.payload, Abstract) and value.payload.replaces(target)


def _in_view(backend: Any, target: Any) -> bool:
    """Say whether what is written to `target` reaches the memory of what it views, if it views anything."""
    if target._view is None or backend.shares is None:
        return True
    return bool(backend.shares(target.payload, target._view[0].payload))


def _replace_payload(target: Any, result: Any, name: str) -> None:
    """For a payload that stands for numbers: the value comes to stand for the result."""
    if target._view is not None:
        raise NoNumbersError(
            f"{name}: this value is a view of another and shares no memory with it (its device has no such thing, or "
            "it stands for a value while a function is traced). Write ops that return new tensors instead of changing "
            "a view in place."
        )
    target.payload = result.payload


def overwrite(target: Any, name: str, source: np.ndarray[Any, Any]) -> None:
    """Set the numbers of `target` to constants, which the tape need not know of."""
    _check_inference(target)
    tell_written(target, name)
    _copy_array(target, source, name)
    target._version += 1


def _copy_numbers(target: Any, result: Any, name: str, one: bool = False) -> None:
    source = dispatch.numbers(result)
    _copy_array(target, source[(0,) * source.ndim] if one and source.size else source, name)


def _copy_array(target: Any, source: np.ndarray[Any, Any], name: str) -> None:
    into = writable(dispatch.numbers(target), source.ndim == 0, name)
    if source.ndim or not filled(into, source):
        np.copyto(into, source, casting="unsafe")


def _shares_places(name: str) -> DimensionError:
    return DimensionError(
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
        "Please clone() the tensor before performing the operation.",
        op=name,
    )


def writable(array: np.ndarray[Any, Any], one: bool, name: str) -> np.ndarray[Any, Any]:
    """Return the array to write into where `array` is to be written: with `one` number, or with one an entry.

    Entries that share a place (after ``expand``) can all be set to one number; else that is refused.
    """
    if repeats(array):
        if not one:
            raise _shares_places(name)
        # Entries that share a place are written once: their dims are cut to one entry.
        array = array[tuple([slice(0, 1) if stride == 0 else slice(None) for stride in array.strides])]
    if not array.flags.writeable:
        array = array.view()
        try:
            array.setflags(write=True)  # what was stretched is marked as read-only, its memory need not be
        except ValueError as error:
            raise ValueError(f"{name}: the memory of this tensor is read-only: clone() it first") from error
    return array


_SCALE = {"alpha"}


def in_place(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the in-place variant of a function: the result goes into the memory of the first operand."""

    apart = getattr(function, "reads_apart", False)
    op, count = getattr(function, "computes", (None, 0))
    scales = getattr(function, "scales", False)

    @functools.wraps(function)
    def method(self: Any, *arguments: Any, **keywords: Any) -> Any:
        operands = (self, *arguments)
        if op is not None and len(operands) == count:
            if not keywords:
                if written_directly(self, op, operands):
                    return self
            elif (
                scales and keywords.keys() == _SCALE and written_scaled(self, op, operands, keywords["alpha"])
            ):
                return self
        if type(self.payload) is np.ndarray:
            # A number is what most operands are.
            several = [
                one for one in (*arguments, *keywords.values()) if isinstance(one, Value) and one is not self
            ]
            if several or apart:
                check_sources(
                    self.payload, (*arguments, *keywords.values()) if apart else several, name, apart
                )
        return write(self, name, lambda old: function(old, *arguments, **keywords))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"In-place version of `{name[:-1]}`: the result goes into this tensor's memory."
    return method


def reshaping(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the in-place variant of a view function: the value comes to stand for the view of its own memory."""

    @functools.wraps(function)
    def method(self: Any, *arguments: Any, **keywords: Any) -> Any:
        _check_inference(self)
        _check_leaf(self, name)
        if self._view is not None:
            refresh(self)
        if dispatch.grad_enabled() and self._requires_grad:
            check_recorded(self)
        # The view is one of this tensor as it was: as a view of the tensor itself it would view what it is about to
        # become.
        former = alias(self, self._names)
        former._view, former._seen = self._view, self._seen
        view = function(former, *arguments, **keywords)
        if view is former:
            return self
        if self._labels is not None:
            labels = labels_of_view(view)
            self._labels = labels if any(labels) else None
        # Calls recorded until now read the numbers by the former dims.
        remember_place(self, self.payload)
        self.payload, self._names = view.payload, view._names
        self._version += 1
        self._turned = self._version
        if view._view is None or (self._requires_grad and not dispatch.grad_enabled()):
            return self  # it stays what it is on the tape: a leaf has other dims now
        # What was viewed by way of this tensor before was viewed by its former dims.
        self._former = [*(self._former or ()), (self._version, former)]
        # What views nothing views nothing now: that it was turned while nothing was recorded says nothing.
        recorded = former._view is None or former._view[3]
        self._view = (*view._view[:3], recorded)
        self._seen = former._seen = self._version
        if dispatch.grad_enabled() and self._requires_grad:
            move(view, self)
        return self

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"In-place version of `{name[:-1]}`: this tensor's own dims change, its memory does not."
    return method


class _SignatureWithOut(inspect.Signature):
    """The signature of a function and ``out=``, read when somebody asks: hundreds are made when the package starts."""

    __slots__ = ("_found", "_function")

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._found: inspect.Signature | None = None

    def _whole(self) -> Any:
        if self._found is None:
            signature = inspect.signature(self._function)
            kept = [
                one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD
            ]
            out = inspect.Parameter(
                "out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Tensor | None"
            )
            self._found = signature.replace(parameters=[*kept, out])
        return self._found

    @property
    # inspect.Signature reads its parameters from these two; nothing public lets them be found late.
    def _parameters(self) -> Any:
        return self._whole().parameters

    @property
    def _return_annotation(self) -> Any:
        return self._whole().return_annotation

    def replace(self, **changes: Any) -> inspect.Signature:  # type: ignore[override]
        """Return a plain signature with something else in it."""
        return self._whole().replace(**changes)  # type: ignore[no-any-return]


def taking_out(
    name: str,
    function: Callable[..., Any],
    room: str = "workbench",
    rule: bool | OutRule = True,
    words: Mapping[str, str] | None = None,
) -> Callable[..., Any]:
    """Return `function` with a keyword ``out=``: a tensor (or a tuple of them) to write the result into.

    `room` is the module that offers it, where pickle finds it; `rule` is what types are taken, `words` what its
    parameters are called besides.
    """
    if rule is not True and rule not in get_args(OutRule):
        raise ValueError(f"{name}: {rule!r} is no rule for the type of out=; there are {get_args(OutRule)}")

    op, count = getattr(function, "computes", (None, 0))
    others: Mapping[str, str] = words or {}

    @functools.wraps(function)
    def with_out(*arguments: Any, out: Any = None, **keywords: Any) -> Any:
        if keywords and not keywords.keys().isdisjoint(others):
            keywords = renamed(keywords, others, name)
        plain = out is not None and not keywords and len(arguments) == count
        if plain and op is not None and written_directly(out, op, arguments):
            return out
        result = function(*arguments, **keywords)
        if out is None:
            return result
        if isinstance(result, tuple):
            if not isinstance(out, tuple | list) or len(out) != len(result):
                raise TypeError(f"{name}: out must be a tuple of {len(result)} tensors")
            # All are checked before the first is written.
            for one in zip(out, result, strict=True):
                _check_out(*one, name, exact=rule is not True)
            for into, one in zip(out, result, strict=True):
                _write_out(into, one, name)
            return type(result)(*out) if hasattr(result, "_fields") else tuple(out)
        _check_out(out, result, name, exact=rule == "exact")
        if type(out.payload) is np.ndarray:
            check_sources(out.payload, _operands(arguments, keywords), name, apart)
        return _write_out(out, result, name)

    apart = getattr(function, "reads_apart", False)
    with_out.__module__, with_out.__qualname__ = room, name
    with_out.__signature__ = _SignatureWithOut(function)  # type: ignore[attr-defined]
    return with_out


def _operands(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Iterator[Any]:
    """Yield the values that a function is given, those in lists too."""
    for one in (*arguments, *keywords.values()):
        if isinstance(one, tuple | list):
            yield from one
        elif isinstance(one, Value):
            yield one


def _check_out(out: Any, result: Any, name: str, exact: bool) -> None:
    if not isinstance(out, Value):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if dispatch.grad_enabled() and (out._requires_grad or result._requires_grad):
        raise AutogradError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad. Leave out= away, or compute inside no_grad()."
        )
    if exact and out.payload.dtype != result.payload.dtype:
        raise DTypeError(
            f"{name}(): Expected out tensor to have dtype {dtype_of(result.payload).name}, but got "
            f"{dtype_of(out.payload).name} instead. Give a tensor of that type, or cast what comes out."
        )
    if not can_cast(dtype_of(result.payload), dtype_of(out.payload)):
        raise DTypeError(
            f"{name}(): result type {dtype_of(result.payload).name} can't be cast to the desired output type "
            f"{dtype_of(out.payload).name}"
        )
    if out._names is not None and out._names != (result._names or (None,) * len(out._names)):
        raise DimensionError(
            f"Name mismatch: specified out tensor with names {list(out._names)} are not the same as the computed "
            f"output names {list(result._names or (None,) * result.payload.ndim)}. Please rename the out tensor's dims "
            "with `Tensor.rename`.",
            op=name,
        )


def _write_out(out: Any, result: Any, name: str) -> Any:
    tell_written(out, name)
    shape = tuple(result.payload.shape)
    if tuple(out.payload.shape) != shape:
        # As in PyTorch: an empty tensor is there to be filled, any other is resized with a warning.
        if out.payload.size:
            warnings.warn(
                f"{name}(): an output with one or more elements was resized since it had shape "
                f"{list(out.payload.shape)}, which does not match the required output shape {list(shape)}. Give out= "
                "an empty tensor, or one of that shape.",
                UserWarning,
                stacklevel=3,
            )
        out.payload = np.empty(shape, out.payload.dtype)
        out._names = None
    _copy_numbers(out, result, name)
    out._version += 1
    out._names = result._names
    return out

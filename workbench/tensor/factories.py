"""Making tensors: from values and filled. Dims by position, or by keyword with their names."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.base import dlpack
from workbench.base.dims import MAXIMUM_DIMS, check_names, near_miss
from workbench.base.dtypes import as_dtype, converted, get_default_dtype, number_dtype, plain_dtype, promote
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.memory_formats import check_pinned
from workbench.base.numbers import check_range, fitted, number
from workbench.base.quantized_array import QuantizedArray
from workbench.base.size_guards import OPEN
from workbench.base.sizes import check_memory
from workbench.base.source_location import calling_frame
from workbench.base.symbolic_size import SymbolicFloat, SymbolicSize, plain
from workbench.core import dispatch
from workbench.core.backend import move
from workbench.core.bases import eager
from workbench.core.lending import lend
from workbench.core.op import ops
from workbench.core.typing import DeviceLike, DTypeLike, Scalar, Size
from workbench.core.value import Value, new
from workbench.ops.shape import creation
from workbench.ops.shape.creation_words import creating, like, said
from workbench.ops.shape.movement import see
from workbench.tensor.tensor import Tensor

__all__ = [
    "array_by_protocol", "empty", "empty_like", "empty_strided", "eye", "finish", "from_numpy", "full", "full_like",
    "ones", "ones_like", "scalar", "scalar_tensor", "settled", "sizes_of", "tensor", "zeros", "zeros_like",
]  # fmt: skip


def _value_of_a_line(array: Any, names: Any) -> Tensor:
    """Return a tensor around an array, with the line of the program that made it."""
    result: Tensor = new(array, names)
    frame = calling_frame()
    if frame is not None:
        result._origin = (frame.f_code.co_filename, frame.f_lineno)
    return result


_noted: Callable[[Any, Any], Tensor] = _value_of_a_line if eager is None else eager.noted
_filled_new: Callable[..., Tensor | None] = (lambda *given: None) if eager is None else eager.filled_new
"""The same for sizes, a type and a number; None where sizes are not plain, and for all that is refused."""


def finish(array: Any, names: Any, requires_grad: bool, device: DeviceLike | None = None) -> Tensor:
    """Return a tensor around an array that is its own: names checked, on a device, its place in the program noted."""
    if device is not None:
        array = move(array, device)
    result = _noted(array, check_names(names, array.ndim) if names is not None else None)
    if dispatch.inference():
        result._inference = True
    return result.requires_grad_() if requires_grad else result


def tensor(
    data: Any,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    names: Sequence[str | None] | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return a tensor with a copy of `data`: numbers, nested lists, an array or a tensor.

    Python floats become the default type (float32), integers int64; arrays and tensors in a list bring the types that
    they have. Raises `DTypeError` where the values have no common type, `DimensionError` where they form no rectangle.

    >>> tensor([[1, 2], [3, 4]], names=("N", "C"))
    tensor([[1, 2],
            [3, 4]], names=('N', 'C'))
    """
    if pin_memory:
        check_pinned("tensor", pin_memory)
    # Of Python's own floats, alone or in one list, there is nothing to find out.
    if type(data) is float and dtype is None and device is None and names is None:
        one = _filled_new((), get_default_dtype().numpy, data)
        if one is not None:
            return one.requires_grad_() if requires_grad else one
    if (
        type(data) is list
        and data
        and dtype is None
        and type(data[0]) is float
        and set(map(type, data)) == _FLOAT
    ):
        return finish(np.array(data).astype(get_default_dtype().numpy), names, requires_grad, device)
    if isinstance(data, Tensor):
        names = data._names if names is None else names
        data = data.detach().cpu().numpy(force=True)
    elif dlpack.is_capsule(data):
        raise TypeError("tensor: a DLPack capsule is used up by reading it: write from_dlpack(capsule)")
    elif isinstance(data, np.ndarray | np.generic):
        _check_mask(data)
    elif hasattr(data, "__dlpack__") and hasattr(data, "__dlpack_device__"):
        if dlpack.device_code(data)[0] == dlpack.CPU_CODE:
            data = dlpack.array_of(dlpack.capsule_of(data))
    elif hasattr(data, "__array__"):
        data = array_by_protocol(data)
    array = _array_of(data, dtype)
    if dtype is not None:
        target = plain_dtype(dtype).numpy
        if not hasattr(data, "shape") or isinstance(data, np.generic):
            check_range("tensor", array, target)  # what an array or a tensor has wraps, as a cast does
        with np.errstate(over="ignore", invalid="ignore"):
            array = converted(array, target)
    elif not isinstance(data, np.ndarray | np.generic) and array.dtype in (np.float64, np.complex128):
        array = array.astype(_type_within(data, array.dtype.kind))
    as_dtype(array.dtype)
    return finish(array, names, requires_grad, device)


_BFLOAT16 = as_dtype("bfloat16").numpy
_PYTHON_NUMBERS = {bool, int, float, complex}
_FLOAT = {float}


def _type_within(data: Any, kind: str) -> np.dtype[Any]:
    """Return the type of floats or complex numbers in nested lists: arrays and tensors bring theirs."""
    found: set[np.dtype[Any]] = set()
    pending = [data]
    while pending:
        one = pending.pop()
        if isinstance(one, list | tuple):
            # Long lists hold Python's numbers as a rule: their types are told without going from one to the next.
            types = set(map(type, one))
            if types <= _PYTHON_NUMBERS:
                found.update(number_dtype(type_).numpy for type_ in types)
            else:
                pending += one
        elif isinstance(one, Value):
            found.add(one.payload.dtype)
        elif isinstance(one, np.ndarray | np.generic):
            found.add(one.dtype)
        elif type(one) in _PYTHON_NUMBERS:
            found.add(number_dtype(type(one)).numpy)
    # As in PyTorch one weighs as much as another here: a tensor without dims is no weaker than one with.
    common = promote(tuple((dtype, 1) for dtype in found)) if found else None
    if common is None or common.kind not in ("fV" if kind == "f" else "c"):
        return number_dtype(float if kind == "f" else complex).numpy
    return common


def _array_of(data: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    """Return a new array with the values of `data`, which may be tensors in nested lists.

    Whole numbers that no integer type holds are read as float64 where `dtype` is a floating type.
    """
    if isinstance(data, list | tuple) and any(isinstance(one, Value) for one in data):
        data = [one.detach().numpy(force=True) if isinstance(one, Tensor) else one for one in data]
        # NumPy makes objects of bfloat16 beside a number: as float64, which holds it, the two are read together.
        data = [one.astype(np.float64) if getattr(one, "dtype", None) == _BFLOAT16 else one for one in data]
    try:
        array = np.array(data)
    except (ValueError, OverflowError) as error:
        raise (
            DTypeError(f"could not read the values: {error}")
            if isinstance(error, OverflowError)
            else DimensionError(
                "expected a rectangular nest of numbers: sequences at the same depth have different lengths",
                op="tensor",
            )
        ) from None
    if array.dtype.kind in "OUSMm" or array.dtype == np.uint64:
        whole = [one for one in array.ravel() if isinstance(one, int | np.integer)]
        if not whole or len(whole) != array.size:
            raise DTypeError(f"could not infer dtype of {type(data).__name__}: the values are not numbers")
        if (
            dtype is None
            or as_dtype(dtype).kind not in "fVc"
            or max(map(abs, map(int, whole))) > sys.float_info.max
        ):
            raise DTypeError(
                f"could not read the values: {max(whole, key=lambda one: abs(int(one)))} is more than an int64 holds"
            )
        array = array.astype(np.float64)
    return array


def from_numpy(array: np.ndarray[Any, Any], *, names: Sequence[str | None] | None = None) -> Tensor:
    """Return a tensor that shares the memory of `array`.

    Raises `DTypeError` for a type there is none of here, ValueError for memory that cannot be counted in whole values.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    as_dtype(array.dtype)
    if type(array) is not np.ndarray:
        _check_mask(array)
        # In subclasses operators may mean something else, as ``*`` does in np.matrix.
        array = array.view(np.ndarray)
    within = not array.flags.aligned
    for stride in array.strides:
        within |= stride % array.itemsize != 0
    if within:
        raise ValueError(
            f"given numpy array has strides {array.strides} that are no multiples of the element byte size "
            f"{array.itemsize}, or begins between two values. Copy the numpy array to reallocate the memory."
        )
    result = finish(array, names, False)
    lend(result)
    return result


def _check_mask(array: Any) -> None:
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise TypeError(
            "a masked array has values that are not there: say what stands for them with array.filled(…)"
        )


def array_by_protocol(data: Any) -> np.ndarray[Any, Any]:
    """Return the array that ``data.__array__()`` gives; refuse one that is not of the shape `data` says it has."""
    _check_mask(data)
    array = np.asarray(data)
    said = getattr(data, "shape", None)
    if isinstance(said, tuple) and said != array.shape:
        raise DimensionError(
            f"{type(data).__name__} says that it has shape {list(said)}, and its __array__() gave {list(array.shape)}",
            op="tensor",
        )
    if array.dtype.kind in "OUSMm":
        raise DTypeError(
            f"could not infer dtype of {type(data).__name__}: its values are not numbers but {array.dtype}"
        )
    return array


OPTIONS = (
    "dtype", "device", "names", "requires_grad", "generator", "out", "layout", "pin_memory", "memory_format", "size",
)  # fmt: skip
"""Keywords of factories that are no dims."""


def scalar(op: str, label: str, value: Any) -> Any:
    """Return a number that is given as one, as a tensor without dims or as NumPy's; refuse what is none.

    >>> scalar("arange", "end", tensor(3))
    3
    """
    if isinstance(value, Value):
        if value.payload.shape != ():
            raise TypeError(
                f"{op}: {label} must be a number or a tensor without dims, got one with shape "
                f"{list(value.payload.shape)}"
            )
        value = dispatch.numbers(value).item()
    if isinstance(value, SymbolicSize):
        return value
    try:
        return number(op, value)
    except TypeError:
        raise TypeError(f"{op}: {label} must be a number, not {type(value).__name__}") from None


def _whole(op: str, size: Any) -> int:
    """Return a size that is given as a tensor, or an array, with one whole number."""
    try:
        return operator.index(size)
    except (TypeError, RuntimeError) as error:
        raise TypeError(
            f"{op}: a size is a whole number, got one given by shape {list(size.shape)} and {size.dtype}: sizes in one "
            f"tensor are {op}(*sizes.tolist())"
        ) from error


_INTEGERS = frozenset({int})


def sizes_of(op: str, size: tuple[Any, ...], names: Any, dims: dict[str, int]) -> tuple[tuple[int, ...], Any]:
    """Read sizes given by position, as one tuple, or by keyword with their names; check them before memory is taken."""
    if (
        not dims
        and _INTEGERS.issuperset(map(type, size))
        and 0 < len(size) <= MAXIMUM_DIMS
        and min(size) >= 0
    ):
        check_memory(op, size)
        return size, names
    for key, one in dims.items():
        near = near_miss(key, OPTIONS)
        if near is not None and (isinstance(one, bool) or not isinstance(one, int | np.integer)):
            raise TypeError(f"{op}: {key}={one!r} is no size of a dim. Did you mean {near!r}?")
    if dims:
        if size or names is not None:
            raise TypeError(f"{op}: give sizes by position with names=, or by keyword, not both")
        size, names = tuple(dims.values()), tuple(dims)
    elif len(size) == 1 and isinstance(size[0], tuple | list):
        size = tuple(size[0])
    if len(size) > MAXIMUM_DIMS:
        raise DimensionError(
            f"tensors only support up to {MAXIMUM_DIMS} dims, this would have {len(size)}.", op=op
        )
    sizes: list[Any] = []
    for one in size:
        if (type(one) is int and one >= 0) or isinstance(one, SymbolicSize):
            sizes.append(one)
            continue
        if isinstance(one, Value | np.ndarray):
            one = _whole(op, one)
        if isinstance(one, bool) or not hasattr(one, "__index__"):
            raise TypeError(f"{op}: a size is a whole number, got {one!r}")
        if one < 0:
            raise DimensionError(
                f"Trying to create tensor with negative dimension {one}: {list(size)}", op=op
            )
        sizes.append(int(one))
    check_memory(op, sizes)
    return tuple(sizes), names


def settled(value: Tensor, names: Any, requires_grad: bool, device: Any) -> Tensor:
    """Return what a graph makes anew in every run, of the names and on the device asked for."""
    if device is not None:
        value = value.to(device)
    if names is not None:
        value.names = names
    return value.requires_grad_() if requires_grad else value


def _filled(op: str, make: Callable[..., Any], value: int, doc: str) -> Callable[..., Tensor]:
    def factory(
        *size: Size,
        names: Sequence[str | None] | None = None,
        dtype: DTypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: bool = False,
        **dims: int,
    ) -> Tensor:
        target = (get_default_dtype() if dtype is None else plain_dtype(dtype)).numpy
        if not dims and names is None and device is None:
            made = _filled_new(size, target, number)
            if made is not None:
                return made.requires_grad_() if requires_grad else made
        if dims and said(dims):
            words: dict[str, Any] = {
                **dims,
                "names": names,
                "dtype": dtype,
                "device": device,
                "requires_grad": requires_grad,
            }
            return worded(*size, **words)
        sizes, names = sizes_of(op, size, names, dims)
        if OPEN and creation.is_symbolic(*sizes):
            return settled(creation.filled(sizes, value, target), names, requires_grad, device)
        return finish(make(sizes, target), names, requires_grad, device)

    number = None if op == "empty" else value
    factory.__name__ = factory.__qualname__ = op
    factory.__doc__ = doc
    worded = creating(memory_format=op == "empty")(factory)
    return like(factory, worded)


zeros = _filled("zeros", np.zeros, 0, "Return zeros: ``zeros(2, 3)`` or by name ``zeros(N=2, C=3)``.")
ones = _filled("ones", np.ones, 1, "Return ones: ``ones(2, 3)`` or by name ``ones(N=2, C=3)``.")
empty = _filled(
    "empty", np.empty, 0, "Return memory as it is: ``empty(2, 3)`` or by name ``empty(N=2, C=3)``."
)


@creating()
def full(
    size: Size | dict[str, int] | None = None,
    fill_value: Scalar | Tensor | None = None,
    *,
    names: Sequence[str | None] | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    **dims: int,
) -> Tensor:
    """Return a tensor filled with one value: ``full((2, 3), 0.5)``, or by name ``full(fill_value=0.5, N=2, C=3)``.

    Raises TypeError where there is no value to fill with.

    >>> full(fill_value=7, N=2)
    tensor([7, 7], names=('N',))
    """
    if fill_value is None:
        raise TypeError(
            "full: give the value to fill with, as in full((2, 3), 0.5) or full(fill_value=0.5, N=2, C=3)"
        )
    # Of one of Python's floats, in plain sizes, there is nothing to find out.
    if type(fill_value) is float and dtype is None and device is None and names is None and not dims:
        found = _filled_new((size,), get_default_dtype().numpy, fill_value) if size is not None else None
        if found is not None:
            return found.requires_grad_() if requires_grad else found
    if isinstance(size, dict):
        dims, size = {**size, **dims}, None
    given = () if size is None else (size,) if isinstance(size, int | SymbolicSize) else (tuple(size),)
    sizes, names = sizes_of("full", given, names, dims)
    made = isinstance(fill_value, SymbolicFloat)
    value = fill_value if made else scalar("full", "fill_value", fill_value)
    kind = float if made else int if isinstance(value, SymbolicSize) else type(value)
    target = (number_dtype(kind) if dtype is None else plain_dtype(dtype)).numpy
    if OPEN and creation.is_symbolic(*sizes, value):
        return settled(creation.filled(sizes, value, target), names, requires_grad, device)
    return finish(np.full(sizes, fitted("full", plain(value), target), target), names, requires_grad, device)


def _like(op: str, make: Callable[..., Any], value: int, doc: str) -> Callable[..., Tensor]:
    def factory(
        input: Tensor,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        array = input.payload
        if dtype is None and device is None and input._names is None and type(array) is np.ndarray:
            plain_one = _filled_new(array.shape, array.dtype, number)
            if plain_one is not None:
                return plain_one.requires_grad_() if requires_grad else plain_one
        target = input.dtype if dtype is None else as_dtype(dtype)
        where = input.device if device is None else device
        if isinstance(array, QuantizedArray) and target is array.dtype:
            return new(array.rounded(np.full(array.shape, value, np.float32)), input._names)
        if OPEN and target.quantized and target is input.dtype:
            # In a trace: codes of the same scale and zero point, which a run knows.
            return ops.fill(input, value=value)
        target = plain_dtype(target)
        if OPEN and creation.is_symbolic(*input.shape):
            made = creation.filled(input.shape, value, target.numpy)
            return settled(made, input._names, requires_grad, where)
        return finish(make(input.shape, target.numpy), input._names, requires_grad, where)

    number = None if op == "empty_like" else value
    factory.__name__ = factory.__qualname__ = op
    factory.__doc__ = doc
    return creating(out=False, memory_format=True)(factory)


zeros_like = _like(
    "zeros_like", np.zeros, 0, "Return zeros with the dims, names, type and device of `input`."
)
ones_like = _like("ones_like", np.ones, 1, "Return ones with the dims, names, type and device of `input`.")
empty_like = _like(
    "empty_like", np.empty, 0, "Return memory as it is, with the dims, names, type and device of `input`."
)


@creating(out=False, memory_format=True)
def full_like(
    input: Tensor,
    fill_value: Scalar | Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return one value everywhere, with the dims, names, type and device of `input`."""
    target = input.dtype if dtype is None else as_dtype(dtype)
    where = input.device if device is None else device
    if OPEN and target.quantized and target is input.dtype and not isinstance(input.payload, QuantizedArray):
        return ops.fill(input, value=scalar("full_like", "fill_value", fill_value))
    if OPEN and creation.is_symbolic(*input.shape, fill_value):
        made = creation.filled(input.shape, fill_value, plain_dtype(target).numpy)
        return settled(made, input._names, requires_grad, where)
    value = scalar("full_like", "fill_value", fill_value)
    if isinstance(input.payload, QuantizedArray) and target is input.payload.dtype:
        # Codes of the same scale and zero point.
        return new(input.payload.rounded(np.full(input.shape, value, np.float32)), input._names)
    target = plain_dtype(target)
    value = fitted("full_like", value, target.numpy)
    return finish(np.full(input.shape, value, target.numpy), input._names, requires_grad, where)


@creating()
def eye(
    n: int,
    m: int | None = None,
    *,
    names: Sequence[str | None] | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """Return a matrix with ones on its diagonal."""
    for one in (n, m):
        if one is not None and one < 0:
            raise DimensionError(f"eye: a size must be non-negative, got {one}", op="eye")
    check_memory("eye", (n, n if m is None else m))
    target = (get_default_dtype() if dtype is None else plain_dtype(dtype)).numpy
    if OPEN and creation.is_symbolic(n, m):
        return settled(creation.eye(n, n if m is None else m, target), names, False, device)
    return finish(np.eye(n, m, dtype=np.float32).astype(target), names, False, device)


@creating(out=False)
def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """Return memory as it is, whose entries lie so many values apart along each dim.

    >>> empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    sizes, _ = sizes_of("empty_strided", (tuple(size),), None, {})
    if len(stride) != len(sizes) or any(step < 0 for step in stride):
        raise DimensionError(
            f"empty_strided: give one step that is not negative for each dim, got {list(stride)} for {list(size)}",
            op="empty_strided",
        )
    reach = 1 + sum((one - 1) * step for one, step in zip(sizes, stride, strict=True) if one)
    target = (get_default_dtype() if dtype is None else plain_dtype(dtype)).numpy
    return finish(see(np.empty(max(reach, 0), target), 0, sizes, tuple(stride)), None, False, device)


@creating(out=False)
def scalar_tensor(s: Scalar, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    """Return a number as a tensor without dims, of the default type unless `dtype` says otherwise.

    >>> scalar_tensor(3)
    tensor(3.)
    """
    return tensor(s, dtype=get_default_dtype() if dtype is None else dtype, device=device)

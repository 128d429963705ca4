"""Making tensors: from values, filled, counted and random. Dims by position, or by keyword with their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dims import check_names
from workbench.base.dtypes import as_dtype, get_default_dtype
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.places import calling_frame
from workbench.base.random import Generator, default_generator
from workbench.core.value import new
from workbench.tensor.tensor import Tensor

__all__ = [
    "arange",
    "empty",
    "eye",
    "from_numpy",
    "full",
    "linspace",
    "ones",
    "ones_like",
    "rand",
    "randint",
    "randn",
    "randperm",
    "tensor",
    "zeros",
    "zeros_like",
]


def _finish(array: Any, names: Any, requires_grad: bool) -> Tensor:
    result: Tensor = new(array, check_names(names, array.ndim) if names is not None else None)
    frame = calling_frame()
    if frame is not None:
        result._origin = (frame.f_code.co_filename, frame.f_lineno)
    return result.requires_grad_() if requires_grad else result


def tensor(data: Any, *, dtype: Any = None, names: Any = None, requires_grad: bool = False) -> Tensor:
    """Return a tensor with a copy of `data`: numbers, nested lists, an array or a tensor.

    Python floats become float32, integers int64. Raises `DTypeError` where the values have no common type.

    >>> tensor([[1, 2], [3, 4]], names=("N", "C"))
    tensor([[1, 2],
            [3, 4]], names=('N', 'C'))
    """
    if isinstance(data, Tensor):
        names = data._names if names is None else names
        data = data.detach()._plain()
    try:
        array = np.array(data)
    except ValueError:
        raise DimensionError(
            "expected a rectangular nest of numbers: sequences at the same depth have different lengths",
            op="tensor",
        ) from None
    if array.dtype.kind in "OUSV":
        raise DTypeError(f"could not infer dtype of {type(data).__name__}: the values are not numbers")
    if dtype is not None:
        array = array.astype(as_dtype(dtype).numpy)
    elif not isinstance(data, np.ndarray | np.generic) and array.dtype == np.float64:
        array = array.astype(get_default_dtype().numpy)
    elif not isinstance(data, np.ndarray | np.generic) and array.dtype == np.complex128:
        array = array.astype(np.complex64)
    as_dtype(array.dtype)
    return _finish(array, names, requires_grad)


def from_numpy(array: np.ndarray[Any, Any], *, names: Any = None) -> Tensor:
    """Return a tensor that shares the memory of `array`."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    as_dtype(array.dtype)
    return _finish(array, names, False)


def _sizes(op: str, size: tuple[Any, ...], names: Any, dims: dict[str, int]) -> tuple[tuple[int, ...], Any]:
    """Read sizes given by position, as one tuple, or by keyword with their names; check them before memory is taken."""
    if dims:
        if size or names is not None:
            raise TypeError(f"{op}: give sizes by position with names=, or by keyword, not both")
        size, names = tuple(dims.values()), tuple(dims)
    elif len(size) == 1 and isinstance(size[0], tuple | list):
        size = tuple(size[0])
    sizes = []
    for one in size:
        if isinstance(one, bool) or not isinstance(one, int | np.integer):
            raise TypeError(f"{op}: a size is a whole number, got {one!r}")
        if one < 0:
            raise DimensionError(
                f"Trying to create tensor with negative dimension {one}: {list(size)}", op=op
            )
        sizes.append(int(one))
    if np.prod(sizes, dtype=object) * 16 > 2**63:
        raise DimensionError(
            f"a tensor of sizes {sizes} does not fit into any memory: their product overflows", op=op
        )
    return tuple(sizes), names


def _filled(op: str, make: Callable[[tuple[int, ...], Any], Any], doc: str) -> Callable[..., Tensor]:
    def factory(
        *size: Any, names: Any = None, dtype: Any = None, requires_grad: bool = False, **dims: int
    ) -> Tensor:
        sizes, names = _sizes(op, size, names, dims)
        target = (get_default_dtype() if dtype is None else as_dtype(dtype)).numpy
        return _finish(make(sizes, target), names, requires_grad)

    factory.__name__ = factory.__qualname__ = op
    factory.__doc__ = doc
    return factory


zeros = _filled("zeros", np.zeros, "Return zeros: ``zeros(2, 3)`` or by name ``zeros(N=2, C=3)``.")
ones = _filled("ones", np.ones, "Return ones: ``ones(2, 3)`` or by name ``ones(N=2, C=3)``.")
empty = _filled("empty", np.empty, "Return memory as it is: ``empty(2, 3)`` or by name ``empty(N=2, C=3)``.")


def full(
    size: Any, fill_value: float, *, names: Any = None, dtype: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return a tensor of `size` filled with one value."""
    sizes, names = _sizes("full", (size,) if isinstance(size, int) else tuple(size), names, {})
    target = as_dtype(dtype if dtype is not None else type(fill_value)).numpy
    return _finish(np.full(sizes, fill_value, target), names, requires_grad)


def zeros_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Return zeros with the dims, names and type of `input`."""
    target = input.dtype if dtype is None else as_dtype(dtype)
    return _finish(np.zeros(input.shape, target.numpy), input._names, requires_grad)


def ones_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Return ones with the dims, names and type of `input`."""
    target = input.dtype if dtype is None else as_dtype(dtype)
    return _finish(np.ones(input.shape, target.numpy), input._names, requires_grad)


def arange(
    start: float, end: float | None = None, step: float = 1, *, names: Any = None, dtype: Any = None
) -> Tensor:
    """Return start, start + step, … below end: int64 for whole numbers, float32 otherwise.

    >>> arange(3)
    tensor([0, 1, 2])
    """
    low, high = (0, start) if end is None else (start, end)
    if step == 0:
        raise ValueError("arange: step must be nonzero")
    whole = all(isinstance(one, int) for one in (low, high, step))
    target = as_dtype(dtype if dtype is not None else (int if whole else float)).numpy
    return _finish(np.arange(low, high, step).astype(target), names, False)


def linspace(start: float, end: float, steps: int, *, names: Any = None, dtype: Any = None) -> Tensor:
    """Return `steps` values from start to end, both included, evenly spaced."""
    target = (get_default_dtype() if dtype is None else as_dtype(dtype)).numpy
    return _finish(np.linspace(start, end, steps).astype(target), names, False)


def eye(n: int, m: int | None = None, *, names: Any = None, dtype: Any = None) -> Tensor:
    """Return a matrix with ones on its diagonal."""
    target = (get_default_dtype() if dtype is None else as_dtype(dtype)).numpy
    return _finish(np.eye(n, m, dtype=target), names, False)


def _drawn(
    op: str, draw: Callable[[np.random.Generator, tuple[int, ...], Any], Any], doc: str
) -> Callable[..., Tensor]:
    def factory(
        *size: Any,
        names: Any = None,
        dtype: Any = None,
        generator: Generator | None = None,
        requires_grad: bool = False,
        **dims: int,
    ) -> Tensor:
        sizes, names = _sizes(op, size, names, dims)
        target = (get_default_dtype() if dtype is None else as_dtype(dtype)).numpy
        drawn_as = target if target.itemsize >= 4 else np.dtype(np.float32)
        array = np.asarray(draw((generator or default_generator).numpy, sizes, drawn_as)).astype(
            target, copy=False
        )
        return _finish(array, names, requires_grad)

    factory.__name__ = factory.__qualname__ = op
    factory.__doc__ = doc
    return factory


rand = _drawn(
    "rand",
    lambda r, size, dtype: r.random(size, dtype),
    "Return values drawn evenly from [0, 1): ``rand(N=2, C=3)``.",
)
randn = _drawn(
    "randn",
    lambda r, size, dtype: r.standard_normal(size, dtype),
    "Return values drawn from the standard normal: ``randn(N=2, C=3)``.",
)


def randint(
    low: int,
    high: int | None = None,
    size: Any = (),
    *,
    names: Any = None,
    dtype: Any = None,
    generator: Generator | None = None,
) -> Tensor:
    """Return whole numbers drawn evenly from [low, high), or from [0, low) if only one bound is given."""
    first, last = (0, low) if high is None else (low, high)
    if first >= last:
        raise ValueError(f"random_ expects 'from' to be less than 'to', but got from={first} >= to={last}")
    sizes, names = _sizes("randint", (tuple(size),), names, {})
    drawn = (generator or default_generator).numpy.integers(first, last, sizes)
    return _finish(np.asarray(drawn).astype(as_dtype(dtype or int).numpy), names, False)


def randperm(n: int, *, generator: Generator | None = None) -> Tensor:
    """Return 0 … n-1 in random order."""
    return _finish((generator or default_generator).numpy.permutation(n), None, False)

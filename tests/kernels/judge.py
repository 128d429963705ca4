"""Runs a kernel on operands in any layout, beside the plain forward of its op on the same values."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import numpy as np

import workbench as wb
from tests.kernels.layouts import LAYOUTS, Guarded, Layout
from workbench import kernels
from workbench.base.quantized_array import QuantizedArray
from workbench.kernels import (
    _arrays,
    casts,
    elementwise,
    index,
    matmul,
    normalization,
    parametric_elementwise,
    quantized,
    reduce,
    sorting,
    statistics,
)

__all__ = [
    "Call", "agree", "asked_of_workbench", "at_any_size", "compare", "doubles", "plain", "threads", "ways",
]  # fmt: skip

Call = tuple[tuple[Any, ...], dict[str, Any]]
THRESHOLDS = (
    "LARGE",
    "MEDIUM",
    "_SMALLEST",
    "_SMALLEST_BATCH",
    "_WORTH_A_CALL",
    "_WORTH_A_COPY",
    "_WORTH_A_PRIMITIVE",
    "_FEW",
)
CHOOSING = (
    _arrays, casts, elementwise, index, matmul, normalization, parametric_elementwise, quantized, reduce, sorting,
    statistics,
)  # fmt: skip
"""The modules that leave what is small to NumPy."""


@contextlib.contextmanager
def at_any_size() -> Iterator[None]:
    """Let kernels accept whatever they are right for, small as it may be."""
    with contextlib.ExitStack() as stack:
        for module in CHOOSING:
            for name in THRESHOLDS:
                if hasattr(module, name):
                    stack.enter_context(mock.patch.object(module, name, 0))
        stack.enter_context(mock.patch.dict(elementwise._LEAST, dict.fromkeys(elementwise._LEAST, 0)))
        yield


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    """Run with so many threads."""
    before = kernels.get_num_threads()
    kernels.set_num_threads(count)
    try:
        yield
    finally:
        kernels.set_num_threads(before)


def doubles(value: Any) -> Any:
    """Return the numbers of a tensor."""
    return value.detach().to(wb.float64).numpy()


def asked_of_workbench(case: Callable[..., Any], arrays: Sequence[Any], dtype: Any) -> list[Any]:
    """Return the result of a case of special values and the gradients of its sum, in double precision."""
    operands = [wb.tensor(one, dtype=dtype, requires_grad=True) for one in arrays]
    result = case(wb, wb.nn.functional, *operands)
    gradients = wb.autograd.grad(result.sum(), operands, allow_unused=True)
    return [
        np.zeros_like(array) if one is None else doubles(one)
        for one, array in zip((result, *gradients), (None, *arrays), strict=True)
    ]


def _lays(one: Any) -> bool:
    return isinstance(one, np.ndarray)


def ways(inputs: Sequence[Any], alone: bool = True) -> Iterator[tuple[str, list[Layout | None]]]:
    """Yield how operands may lie: all in one way, one of them `alone` in a way of its own, all in different ways."""
    places = [i for i, one in enumerate(inputs) if _lays(one)]
    layouts = LAYOUTS
    for layout in layouts:
        yield f"all {layout.name}", [layout if i in places else None for i in range(len(inputs))]
    if len(places) < 2:
        return
    for layout in layouts if alone else ():
        for i in places:
            yield (
                f"operand {i} {layout.name}",
                [layout if j == i else layouts[0] if j in places else None for j in range(len(inputs))],
            )
    for first in range(len(layouts)):
        mixed = [layouts[(first + 3 * j) % len(layouts)] if j in places else None for j in range(len(inputs))]
        yield "mixed: " + ", ".join(one.name for one in mixed if one), mixed


def plain(one: Any) -> Any:
    """Return what the oracle is given: the same values, row by row."""
    return np.array(one, order="C", copy=True) if _lays(one) else one


def several(results: Any) -> tuple[Any, ...]:
    """Return what a forward gave as a tuple."""
    return tuple(results) if isinstance(results, tuple | list) else (results,)


def agree(found: Any, expected: Any, rtol: float = 2e-5, atol: float = 2e-5) -> None:
    """Raise AssertionError unless results are alike in shape, type and values; NaN equals NaN."""
    for have, want in zip(several(found), several(expected), strict=True):
        if isinstance(want, QuantizedArray):
            assert isinstance(have, QuantizedArray)
            have, want = have.codes, want.codes
        want = np.asarray(want)
        assert isinstance(have, np.ndarray | np.generic), type(have)
        assert have.shape == want.shape, f"shape {have.shape}, expected {want.shape}"
        assert have.dtype == want.dtype, f"type {have.dtype}, expected {want.dtype}"
        if want.dtype.kind in "fcV":
            wide = np.complex128 if want.dtype.kind == "c" else np.float64
            size = np.abs(want.astype(wide))
            scale = max(1.0, float(size[np.isfinite(size)].max(initial=0.0)))  # of sums in another order
            np.testing.assert_allclose(have.astype(wide), want.astype(wide), rtol=rtol, atol=atol * scale)
        else:
            np.testing.assert_array_equal(have, want)


def _is_single(one: Any) -> bool:
    return _lays(one) and one.dtype == np.float32


def _as(one: Any, like: Any) -> Any:
    return one if isinstance(one, QuantizedArray) else np.asarray(one).astype(np.asarray(like).dtype)


def _asked(oracle: Callable[..., Any], operands: list[Any], params: dict[str, Any]) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return oracle(*operands, **params)


def compare(
    run: Callable[..., Any],
    oracle: Callable[..., Any],
    call: Call,
    layouts: Sequence[Layout | None],
    accepts: Callable[..., bool] | None = None,
    **tolerance: float,
) -> bool:
    """Compare one call, and what it leaves of its operands; False where the kernel does not take it."""
    inputs, params = call
    laid: list[Guarded | None] = [
        None if layout is None else layout(one) for one, layout in zip(inputs, layouts, strict=True)
    ]
    operands = [one if there is None else there.array for one, there in zip(inputs, laid, strict=True)]
    if accepts is not None and not accepts(*operands, **params):
        return False
    found = run(*operands, **params)
    expected = _asked(oracle, [plain(one) for one in operands], params)
    try:
        agree(found, expected, **tolerance)
    except AssertionError:
        # What cancels (the variance of equal values) leaves the float32 of both with few digits: float64 decides.
        wide = [one.astype(np.float64) if _is_single(one) else one for one in map(plain, operands)]
        if not any(map(_is_single, operands)):
            raise
        exact = several(_asked(oracle, wide, params))
        kinds = zip(exact, several(expected), strict=True)
        agree(found, tuple(_as(one, narrow) for one, narrow in kinds), **tolerance)
    for i, there in enumerate(laid):
        assert there is None or there.check(), f"operand {i}, or what lies around it, was written to"
        if there is not None:
            for one in several(found):
                assert not (isinstance(one, np.ndarray) and np.shares_memory(one, there.array)), (
                    f"a result lies in operand {i}"
                )
    return True

"""Every kernel of the table on every layout that NumPy can make, beside the plain forward of its op.

Either a kernel does not accept what it is given, or its result is right. Operands lie between NaN, numbers out of
bounds or closed pages, so that what is read beside them shows; and nothing is written but results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

import workbench.ops  # noqa: F401  declares the ops
from tests.kernels.calls import LARGE, WIDE, grown, listed, samples
from tests.kernels.judge import Call, at_any_size, compare, threads, ways
from tests.kernels.layouts import LAYOUTS
from workbench import kernels
from workbench.core.op import Op, table

WITH_KERNEL = [op for op in table() if op.kernel is not None]
ELSEWHERE = {
    "average_codes",
    "bags_of_codes",
    "dequantize_per_channel",
    "dequantize_per_tensor",
    "distances_to",
    "histogram_counts",
    "min_max_nan_inf",
    "move_statistics",
    "multiply_matrices_of_codes",
    "normalise_codes",
    "observed_histogram",
    "places_along",
    "products_of_columns",
    "quantized_max_pool2d",
    "resample_codes",
    "nearest_of_products",
    "products_with",
    "row_extremes",
    "rows_of_codes",
    "softmax_codes",
    "statistics",
}
"""Kernels of which `test_layouts_beside_ops` judges the layouts: codes, observers, running statistics."""
DTYPES = ("float64", "float16", "bfloat16", "int64", "int32", "int16", "uint8", "int8", "bool", "complex64")
SIXTEEN_BITS = ("float16", "bfloat16")
MOVERS = {"gather", "pick", "to"}
"""Kernels that take 16-bit numbers, because they move values and compute nothing, or cast. All others are written in
float32; those of `test_bfloat16` are asked before. `tests/peers/op_db` holds what computes in 16 bits to PyTorch."""


IN_DOUBLE = {
    "cos", "gru", "gru_gradient", "layer_norm", "layer_norm_gradient", "log_softmax", "log_softmax_gradient", "lstm",
    "lstm_gradient", "rms_norm", "rms_norm_gradient", "sigmoid", "sin", "softmax", "softmax_gradient", "softplus",
    "softplus_gradient",
}  # fmt: skip
"""Kernels that take float64, too; sines and cosines of float32 are NumPy's."""
FEW_DIGITS = dict.fromkeys(("batch_norm", "group_norm", "layer_norm"), 0.0001)
"""Absolute tolerances of what divides by the deviation of values that may all be one: 1 / √eps times their rounding."""


def _in_floats(op: Op, calls: Iterable[Call]) -> Iterator[Call]:
    """Yield calls in float32 and, where the kernel has more, in float64."""
    for inputs, params in calls:
        yield inputs, params
        if op.name in IN_DOUBLE:
            yield tuple(_double(one) for one in inputs), params


def _double(one: Any) -> Any:
    return one.astype(np.float64) if isinstance(one, np.ndarray) and one.dtype == np.float32 else one


def _judge(op: Op, call: Call, layouts: Any, where: str) -> bool:
    kernel = op.kernel
    assert kernel is not None
    try:
        return compare(
            kernel.run, op.forward, call, layouts, kernel.accepts, atol=FEW_DIGITS.get(op.name, 2e-5)
        )
    except Exception as error:
        shapes = [np.shape(one) for one in call[0]]
        raise AssertionError(f"{op.name} of {shapes}, {call[1]}, {where}: {error}") from error


@pytest.mark.parametrize("op", [op for op in WITH_KERNEL if op.name not in ELSEWHERE], ids=lambda op: op.name)
def test_a_kernel_is_right_however_its_operands_lie(op: Op) -> None:
    ran = 0
    with at_any_size():
        for calls, alone in ((samples(op), True), (grown(op, WIDE), False), (listed(op), True)):
            for inputs, params in _in_floats(op, calls):
                for where, layouts in ways(inputs, alone):
                    ran += _judge(op, (inputs, params), layouts, where)
    assert ran


@pytest.mark.parametrize("op", [op for op in WITH_KERNEL if op.name not in ELSEWHERE], ids=lambda op: op.name)
def test_a_kernel_is_right_with_several_threads(op: Op) -> None:
    some = [LAYOUTS[i] for i in (0, 1, 4, 9, 12)]
    with at_any_size():
        for calls in (grown(op, LARGE), listed(op)):
            for inputs, params in _in_floats(op, calls):
                for count in (1, 2, 3):
                    with threads(count):
                        for layout in some:
                            laid = [layout if isinstance(one, np.ndarray) else None for one in inputs]
                            _judge(op, (inputs, params), laid, f"{layout.name}, {count} threads")


@pytest.mark.parametrize("op", [op for op in WITH_KERNEL if op.name not in ELSEWHERE], ids=lambda op: op.name)
def test_a_kernel_is_right_in_every_type_that_it_accepts(op: Op) -> None:
    with at_any_size():
        for dtype in DTYPES:
            for inputs, params in samples(op):
                places = _arrays(inputs)
                for operands, changed in _in_type(dtype, inputs):
                    laid = [LAYOUTS[0] if i in places else None for i in range(len(inputs))]
                    _judge(op, (operands, params), laid, f"operands {changed} in {dtype}")


def _arrays(inputs: Any) -> list[int]:
    return [i for i, one in enumerate(inputs) if isinstance(one, np.ndarray)]


def _in_type(dtype: str, inputs: Any) -> Iterator[tuple[tuple[Any, ...], list[int]]]:
    """Yield operands of which all, or one, are in another type where they were in float32; and which these are."""

    def of(one: Any) -> Any:
        if not isinstance(one, np.ndarray) or one.dtype != np.float32:
            return one
        with np.errstate(all="ignore"):
            return one.astype(dtype)

    places = _arrays(inputs)
    for changed in (places, *([[i] for i in places] if len(places) > 1 else [])):
        yield tuple(of(one) if i in changed else one for i, one in enumerate(inputs)), changed


@pytest.mark.parametrize("op", [op for op in WITH_KERNEL if op.name not in ELSEWHERE], ids=lambda op: op.name)
def test_16_bit_numbers_are_moved_right_however_they_lie(op: Op) -> None:
    """What takes them is right in every layout; and it is known what does."""
    ran = 0
    with at_any_size():
        for calls in (samples(op), grown(op, WIDE), listed(op)):
            for inputs, params in calls:
                for dtype in SIXTEEN_BITS:
                    for operands, changed in _in_type(dtype, inputs):
                        if not any(getattr(one, "dtype", None) == dtype for one in operands):
                            continue
                        for where, layouts in _layouts_worth_trying(op, operands, params):
                            ran += _judge(op, (operands, params), layouts, f"{changed} in {dtype}, {where}")
    assert bool(ran) == (op.name in MOVERS)


def _layouts_worth_trying(op: Op, operands: Any, params: Any) -> list[tuple[str, Any]]:
    """Return all layouts for a kernel that takes operands row by row, and that one alone for any other."""
    assert op.kernel is not None
    every = list(ways(operands))
    return every if op.kernel.accepts(*operands, **params) else every[:1]


def test_every_kernel_is_judged() -> None:
    """A kernel whose op was given another name is found by nobody: neither by the op, nor by these tests."""
    of_ops = {op.kernel.name for op in WITH_KERNEL if op.kernel is not None}
    assert set(kernels.names()) - of_ops - ELSEWHERE == set()

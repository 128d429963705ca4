"""Kernels on bfloat16: casts to the last bit, and every other one on every layout, beside the op computed in float32.

What such a kernel is given it computes in float32 and rounds once, so that it is off by half a step of bfloat16 and
what float32 itself is off by.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import workbench as wb
from tests.kernels.calls import LARGE, WIDE, grown, listed, samples
from tests.kernels.judge import Call, at_any_size, compare, threads, ways
from tests.kernels.layouts import LAYOUTS
from workbench import kernels
from workbench.core.dtype_rules import cast, mixed_types
from workbench.core.op import Op, table
from workbench.kernels import processor

pytestmark = pytest.mark.skipif(not kernels.available(), reason="there are no kernels without a compiler")

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
WITH_HALF = [op for op in table() if op.half_kernel is not None]
BY_PROCESSOR = "AVX512-BF16 or AMX"
JUDGED = [
    op
    for op in WITH_HALF
    if op.half_kernel is not None
    and (BY_PROCESSOR not in op.half_kernel.needs or processor.multiplies_bfloat16())
]
"""Those that run here: products and convolutions in 16 bits are the processor's, where it has them."""
HALF_STEP = 2.0**-8
FEW_DIGITS = {"batch_norm": 0.02}
"""Absolute tolerances of what divides by the deviation of values that may all be one."""


def _in_halves(inputs: Any) -> Iterator[tuple[Any, ...]]:
    """Yield operands of which the first so many are bfloat16, and the others stay float32."""
    places = [i for i, one in enumerate(inputs) if isinstance(one, np.ndarray) and one.dtype == np.float32]
    for last in range(len(places)):
        chosen = places[: last + 1]
        with np.errstate(all="ignore"):
            yield tuple(one.astype(BFLOAT16) if i in chosen else one for i, one in enumerate(inputs))


def _judge(op: Op, call: Call, layouts: Any, where: str) -> bool:
    kernel = op.half_kernel
    assert kernel is not None
    halves: list[tuple[Any, ...]] = []

    def run(*arrays: Any, **params: Any) -> Any:
        found = kernel.run(*arrays, **params)
        several = found if isinstance(found, tuple) else (found,)
        types = mixed_types(op, list(arrays)) or op.dtype.result(BFLOAT16, params)
        types = types if isinstance(types, tuple) else (types,) * op.outputs
        assert tuple(one.dtype for one in several) == types
        halves.append(several)
        wide = tuple(one.astype(np.float32) if one.dtype == BFLOAT16 else one for one in several)
        return wide if isinstance(found, tuple) else wide[0]

    def oracle(*arrays: Any, **params: Any) -> Any:
        return op.forward(*cast(op, list(arrays))[0], **params)

    try:
        return compare(
            run,
            oracle,
            call,
            layouts,
            kernel.accepts,
            rtol=1.01 * HALF_STEP,
            atol=FEW_DIGITS.get(op.name, 2e-5),
        )
    except Exception as error:
        shapes = [np.shape(one) for one in call[0]]
        raise AssertionError(f"{op.name} of {shapes}, {call[1]}, {where}: {error}") from error


@pytest.mark.parametrize("op", JUDGED, ids=lambda op: op.name)
def test_a_kernel_is_right_however_its_operands_lie(op: Op) -> None:
    ran = 0
    with at_any_size():
        for calls, alone in ((samples(op), True), (grown(op, WIDE), False), (listed(op), True)):
            for inputs, params in calls:
                for operands in _in_halves(inputs):
                    for where, layouts in ways(operands, alone):
                        ran += _judge(op, (operands, params), layouts, where)
    assert ran


@pytest.mark.parametrize("op", JUDGED, ids=lambda op: op.name)
def test_a_kernel_is_right_with_several_threads(op: Op) -> None:
    ran = 0
    with at_any_size():
        for calls in (grown(op, LARGE), listed(op)):
            for inputs, params in calls:
                for operands in _in_halves(inputs):
                    for count in (1, 2, 3):
                        with threads(count):
                            for layout in (LAYOUTS[i] for i in (0, 1, 4, 9, 12)):
                                laid = [layout if isinstance(one, np.ndarray) else None for one in operands]
                                ran += _judge(op, (operands, params), laid, f"{layout.name}, {count} threads")
    assert ran


@pytest.mark.parametrize("op", WITH_HALF, ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", ["float64", "float16", "float32", "int64", "complex64"])
def test_other_types_are_not_taken(op: Op, dtype: str) -> None:
    with at_any_size():
        for inputs, params in samples(op):
            with np.errstate(all="ignore"):
                operands = [
                    one.astype(dtype) if getattr(one, "dtype", None) == np.float32 else one for one in inputs
                ]
            assert op.half_kernel is not None and not op.half_kernel.accepts(*operands, **params)


def test_every_such_kernel_is_that_of_an_op() -> None:
    assert {op.name for op in WITH_HALF} == {op.half_kernel.name for op in WITH_HALF if op.half_kernel}
    assert set(kernels.half_names()) == {op.name for op in WITH_HALF}


# ------------------------------------------------------------------------------------------------------------ casts


def test_every_number_of_bfloat16_becomes_the_same_float() -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    wide = kernels.cast(bits.view(BFLOAT16), np.dtype(np.float32))
    np.testing.assert_array_equal(wide.view(np.uint32), bits.astype(np.uint32) << 16)


def test_floats_are_rounded_to_nearest_even_as_numpy_rounds_them() -> None:
    """At, below and above every number and every middle between two: infinities, NaN and the smallest among them."""
    upper = np.arange(1 << 16, dtype=np.uint32) << 16
    lower = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    floats = (upper[:, None] | lower).reshape(-1).view(np.float32)
    with np.errstate(all="ignore"):
        expected = floats.astype(BFLOAT16)
    np.testing.assert_array_equal(kernels.cast(floats, BFLOAT16).view(np.uint16), expected.view(np.uint16))
    for rest in (1, 5, 17):  # ends of vectors
        some = floats[3 : 3 + 2000 + rest]
        np.testing.assert_array_equal(
            kernels.cast(some, BFLOAT16).view(np.uint16), some.astype(BFLOAT16).view(np.uint16)
        )


def test_a_cast_lies_as_what_it_was_made_of() -> None:
    x = np.ones((4, 32, 9, 9), np.float32).transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)
    half = kernels.cast(x, BFLOAT16)
    assert half.strides == tuple(step // 2 for step in x.strides)
    assert kernels.cast(half, np.dtype(np.float32)).strides == x.strides


# --------------------------------------------------------------------------------------- layers beside their words


def test_batch_norm_goes_on_in_bfloat16_beside_parameters_in_float32() -> None:
    layer = wb.nn.BatchNorm2d(16)
    x = wb.randn(8, 16, 6, 6)
    half = x.bfloat16().requires_grad_()
    y = layer(half)
    assert y.dtype is wb.bfloat16
    assert layer.running_mean is not None and layer.running_mean.dtype is wb.float32
    (y.float() * wb.randn(*x.shape)).sum().backward()
    assert half.grad is not None and half.grad.dtype is wb.bfloat16
    assert layer.weight.grad is not None and layer.weight.grad.dtype is wb.float32
    wide = half.detach().float()
    exact = wb.nn.functional.batch_norm(wide, None, None, training=True)
    np.testing.assert_array_equal(y.detach().float().numpy(), exact.bfloat16().float().numpy())
    statistics = wb.native_batch_norm(half, None, None, *(wb.zeros(16), wb.ones(16)), True, 0.1, 1e-5)
    assert [one.dtype for one in statistics] == [wb.bfloat16, wb.float32, wb.float32]

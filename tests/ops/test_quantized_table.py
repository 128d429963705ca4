"""What the table says of quantization, held to for every op: it is said, and codes are those of the numbers.

The oracle of every rule and of every op of integers is the long way: dequantize, compute in floating point, quantize.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
import pytest

import workbench as wb
from workbench.base.quantized_array import QuantizedArray, code_range
from workbench.core import Absent, Op, Sample, Value, ops, table
from workbench.core.quantization import NO_KERNEL, UNSTATED, Quantization, Role, Travels
from workbench.core.value import new


def rule(op: Op) -> Quantization:
    assert isinstance(op.quantized, Quantization)
    return op.quantized


STATED = [op for op in table() if isinstance(op.quantized, Quantization)]
CALLED = [
    op
    for op in STATED
    if not isinstance(rule(op).codes, Absent) and rule(op).kernel != op.name and op.name != "int_repr"
]
"""Ops that may be called with codes as with numbers: neither those of integers, nor what is asked of codes alone."""
SERVED = [op for op in STATED if rule(op).kernel not in (NO_KERNEL, op.name)]
"""Ops that an op of integers serves."""

# What ``torch.ao.nn.quantized.functional`` gives.
RECORDED_2X2 = [66, 76, 150, 190, 72, 82, 122, 196, 78]
RECORDED_PADDED = [33, 40, 90, 112, 91, 80, 95, 166, 97]
RECORDED_ADAPTIVE = [97, 106, 123, 132]
RECORDED_SIGNED = [20, 3, -48, 63, 12, -5]


@pytest.mark.parametrize("op", table(), ids=lambda op: op.name)
def test_every_op_says_how_it_is_quantized(op: Op) -> None:
    assert op.quantized is not UNSTATED, (
        "say how scale and zero point pass: core/quantization.py has the words"
    )
    if isinstance(op.quantized, Absent):
        assert len(op.quantized.reason) > 10
        return
    found = op.quantized
    assert found.travels in get_args(Travels)
    assert all(one in get_args(Role) for one in found.inputs)
    assert (found.fixed is not None) == (found.travels == "fixed")
    # All others know the scale of their result.
    assert not isinstance(found.codes, Absent) or found.travels in ("weighted", "own")
    assert ("weight" in found.inputs) or found.axis is None
    if isinstance(found.kernel, str):
        served = getattr(ops, found.kernel)
        assert isinstance(served.quantized, Quantization)
        assert served.quantized.kernel == found.kernel, "an op of integers says of itself that it is one"
    assert set(found.absorbs) <= set(found.settings)


def is_real(one: Any) -> bool:
    return isinstance(one, np.ndarray) and one.dtype == np.float64


def with_codes(found: Quantization, sample: Sample) -> list[Any] | None:
    """Return the inputs with values and weights as codes, the rest in float32; None where nothing is quantized."""
    inputs: list[Any] = []
    several = 0
    for i, one in enumerate(sample.inputs):
        role = found.role(i)
        if isinstance(one, QuantizedArray):
            inputs.append(one)
            several += 1
        elif not is_real(one) or role == "plain":
            inputs.append(one.astype(np.float32) if is_real(one) else one)
        elif role == "weight":
            inputs.append(weight_codes(one, found.axis))
            several += 1
        else:
            inputs.append(wb.quantize_per_tensor(new(one.astype(np.float32)), 0.02, 120, wb.quint8).payload)
            several += 1
    return inputs if several else None


def weight_codes(values: Any, axis: int | None) -> QuantizedArray:
    numbers = values.astype(np.float32)
    if axis is None:
        return QuantizedArray.quantized(numbers, float(np.abs(numbers).max() / 127), 0, wb.qint8)
    rows = np.moveaxis(numbers, axis, 0).reshape(numbers.shape[axis], -1)
    scales = (np.abs(rows).max(axis=1) / 127).tolist()
    return wb.quantize_per_channel(new(numbers), scales, [0] * len(scales), axis, wb.qint8).payload


def values_of(op: Op, sample: Sample, inputs: list[Any]) -> list[Any]:
    names = sample.names or (None,) * len(inputs)
    return [
        new(one, name) if isinstance(one, np.ndarray | QuantizedArray) else one
        for one, name in zip(inputs, names, strict=True)
    ]


def samples_of(op: Op) -> Iterator[tuple[Sample, list[Any]]]:
    for sample in op.samples():
        inputs = with_codes(rule(op), sample)
        if inputs is not None:
            yield sample, inputs


def plain(one: Any) -> Any:
    return wb.dequantize(one) if isinstance(one, Value) and one.is_quantized else one


def several(out: Any) -> tuple[Any, ...]:
    return out if isinstance(out, tuple) else (out,)


@pytest.mark.parametrize("op", CALLED, ids=lambda op: op.name)
def test_codes_are_those_of_the_long_way(op: Op) -> None:
    found = rule(op)
    for sample, inputs in samples_of(op):
        values = values_of(op, sample, inputs)
        results = several(op(*values, **sample.params))
        expected = several(op(*map(plain, values), **sample.params))
        for got, want in zip(results, expected, strict=True):
            assert got.names == want.names
            assert got.shape == want.shape
            if not got.is_quantized:
                np.testing.assert_array_equal(got.numpy(), want.numpy())
                continue
            check_codes(got, want)
            if found.travels in ("same", "joined"):
                first = next(one for one in values if isinstance(one, Value) and one.is_quantized)
                assert (got.q_scale(), got.q_zero_point()) == (first.q_scale(), first.q_zero_point())
            elif found.fixed is not None:
                assert (got.q_scale(), got.q_zero_point()) == found.fixed(got.dtype)


def check_codes(got: Any, want: Any) -> None:
    """The codes are at most one step from those of the numbers."""
    low, high = code_range(got.dtype)
    numbers = want.numpy().astype(np.float64) / got.q_scale() + got.q_zero_point()
    codes = got.int_repr().numpy().astype(np.float64)
    assert np.abs(codes - np.clip(np.rint(numbers), low, high)).max(initial=0) <= 1


@pytest.mark.parametrize("op", SERVED, ids=lambda op: op.name)
def test_ops_of_integers_agree_with_the_long_way(op: Op) -> None:
    found = rule(op)
    assert isinstance(found.kernel, str)
    served = getattr(ops, found.kernel)
    for sample, inputs in samples_of(op):
        values = values_of(op, sample, inputs)
        want = several(op(*map(plain, values), **sample.params))[0]
        numbers = want.numpy()
        low, high = float(numbers.min(initial=0)), float(numbers.max(initial=0))
        scale = (high - low) / 255 or 1.0
        zero = round(-low / scale)
        got = several(served(*values, **found.parameters(sample.params, scale, zero)))[0]
        assert got.names == want.names
        check_codes(got, want)
        for absorbed in found.absorbs:
            if absorbed == "relu":
                params = {**found.parameters(sample.params, scale, zero), "relu": True}
                check_codes(several(served(*values, **params))[0], want.relu())


def test_means_of_codes_are_those_recorded_of_pytorch() -> None:
    codes = ((np.arange(36) * 37) % 256).astype(np.uint8).reshape(1, 1, 6, 6)
    x = new(QuantizedArray(codes, 0.0137, 7, wb.quint8))
    pooled = wb.nn.functional.avg_pool2d(x, 2)
    assert pooled.int_repr().flatten().tolist() == RECORDED_2X2
    assert wb.nn.functional.avg_pool2d(x, 3, 2, 1).int_repr().flatten().tolist() == RECORDED_PADDED
    assert wb.nn.functional.adaptive_avg_pool2d(x, (4, 1)).int_repr().flatten().tolist() == RECORDED_ADAPTIVE
    signed = new(QuantizedArray(codes.view(np.int8), 0.0137, -3, wb.qint8))
    assert wb.nn.functional.avg_pool2d(signed, (2, 3)).int_repr().flatten().tolist() == RECORDED_SIGNED


def test_codes_that_only_move_are_moved() -> None:
    x = wb.quantize_per_tensor(wb.rand(1, 2, 3, 4), 0.01, 3, wb.quint8)
    found = wb.nn.functional.interpolate(x, scale_factor=2, mode="nearest")
    expected = np.repeat(np.repeat(x.int_repr().numpy(), 2, 2), 2, 3)
    np.testing.assert_array_equal(found.int_repr().numpy(), expected)


def test_refusals_say_the_way() -> None:
    q = wb.quantize_per_tensor(wb.ones(2, 2), 0.1, 0, wb.quint8)
    with pytest.raises(
        wb.DTypeError, match="matmul is not defined for quantized tensors: its result needs a scale"
    ):
        q @ q.t()
    with pytest.raises(wb.DTypeError, match="or quantized_linear, which is told the scale"):
        wb.nn.functional.linear(q, q)
    with pytest.raises(wb.DTypeError, match="it needs more digits than codes have"):
        wb.nextafter(q, q)

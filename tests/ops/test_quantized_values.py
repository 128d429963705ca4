"""Sums, products, activations and norms on codes: fast ways give what the long way gives; numbers; refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.base.quantized_array import QuantizedArray
from workbench.core.op import ops
from workbench.core.value import new
from workbench.ops.quantized.values import SERVED

F = wb.quantization.quantized.functional
RANDOM = np.random.default_rng(12)


@pytest.fixture(autouse=True)
def same_numbers_whichever_tests_run() -> None:
    RANDOM.bit_generator.state = np.random.default_rng(8).bit_generator.state


OUT = {"scale": 0.041, "zero_point": 77, "qmin": 3, "qmax": 250}


def codes(*shape: int, dtype: Any = wb.quint8, scale: float = 0.03, zero: int = 90) -> QuantizedArray:
    low = 0 if dtype is wb.quint8 else -128
    values = RANDOM.integers(low, low + 256, shape).astype(dtype.numpy)
    return QuantizedArray(values, scale, zero, dtype)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("name", ["add", "mul"])
@pytest.mark.parametrize("shape", [(3, 5), (70, 33), (2, 8, 16, 16)])
def test_one_pass_gives_what_the_long_way_gives(name: str, shape: tuple[int, ...], relu: bool) -> None:
    op: Any = SERVED[name]
    for a, b in (
        (codes(*shape), codes(*shape, scale=0.011, zero=3)),
        (codes(*shape, scale=0.05), codes(*shape, scale=0.05)),
    ):
        found = op(new(a), new(b), **OUT, relu=relu).payload
        np.testing.assert_array_equal(found.codes, op.forward(a, b, **OUT, relu=relu).codes)
        assert (found.scale, found.zero_point, found.dtype) == (0.041, 77, wb.quint8)
        assert found.codes.min() >= (77 if relu else 3)
        assert found.codes.max() <= 250


def test_sums_of_ties_go_to_even_codes() -> None:
    a = QuantizedArray(np.arange(256, dtype=np.uint8), 0.5, 0, wb.quint8)
    b = QuantizedArray(np.zeros(256, np.uint8), 0.5, 0, wb.quint8)
    found = F.add(new(a), new(b), 1.0, 0).int_repr().numpy()
    np.testing.assert_array_equal(found, np.rint(np.arange(256) / 2))


@pytest.mark.parametrize("dtype", [wb.quint8, wb.qint8], ids=["quint8", "qint8"])
@pytest.mark.parametrize("name", ["gelu", "gelu_tanh", "silu", "mish", "hardswish", "leaky_relu"])
def test_a_table_gives_what_the_long_way_gives(name: str, dtype: Any) -> None:
    op: Any = SERVED[name]
    params = {**OUT, **({"slope": 0.3} if name == "leaky_relu" else {})}
    if dtype is wb.qint8:
        params |= {"qmin": -100, "qmax": 100}
    for shape in ((6, 500), (2, 3)):
        x = codes(*shape, dtype=dtype, zero=20)
        found = op(new(x), **params).payload
        np.testing.assert_array_equal(found.codes, op.forward(x, **params).codes)


@pytest.mark.parametrize("dtype", [wb.quint8, wb.qint8], ids=["quint8", "qint8"])
@pytest.mark.parametrize("name", ["sigmoid", "tanh", "hardsigmoid", "gelu"])
def test_ops_on_many_codes_are_tables_too(name: str, dtype: Any) -> None:
    function = getattr(wb.nn.functional, name) if name != "tanh" else wb.tanh
    x = codes(40, 40, dtype=dtype, zero=20)
    many = function(new(x)).payload
    few = np.concatenate([function(new(x.with_codes(row))).payload.codes for row in x.codes.reshape(-1, 100)])
    np.testing.assert_array_equal(many.codes.reshape(-1), few.reshape(-1))
    expected = function(new(x.dequantize())).numpy()
    inside = np.abs(expected) < 1
    assert np.abs(many.dequantize() - expected)[inside].max() <= many.scale * 1.01


@pytest.mark.parametrize("c", [0.5, -0.5, 3.0, -3.0, 9.0, -9.0, 0.0])
def test_a_number_changes_scale_and_zero_point(c: float) -> None:
    x = codes(50)
    added, multiplied = F.add_scalar(new(x), c), F.mul_scalar(new(x), c)
    assert np.abs(added.dequantize().numpy() - (x.dequantize() + c)).max() <= added.q_scale() + 1e-6
    np.testing.assert_allclose(multiplied.dequantize().numpy(), x.dequantize() * c, rtol=1e-5, atol=1e-6)
    assert F.add_scalar_relu(new(x), c).dequantize().numpy().min() >= 0
    assert F.mul_scalar_relu(new(x), c).dequantize().numpy().min() >= 0


def test_joined_parts_come_to_one_scale() -> None:
    a, b = new(codes(3, 4), ("N", "C")), new(codes(2, 4, scale=0.02, zero=10), ("N", "C"))
    found = F.cat([a, b], "N", 0.03, 90)
    assert (found.shape, found.names, found.q_scale(), found.q_zero_point()) == ((5, 4), ("N", "C"), 0.03, 90)
    np.testing.assert_array_equal(found.int_repr().numpy()[:3], a.int_repr().numpy())
    again = wb.quantize_per_tensor(b.dequantize(), 0.03, 90, wb.quint8)
    np.testing.assert_array_equal(found.int_repr().numpy()[3:], again.int_repr().numpy())


def test_matrices_and_batches_of_them() -> None:
    for shapes in (((5, 7), (7, 3)), ((2, 5, 7), (2, 7, 3)), ((4, 1, 5, 7), (2, 7, 3))):
        a, b = (codes(*shape) for shape in shapes)
        found = F.matmul(new(a), new(b), 0.5, 100)
        exact = a.dequantize().astype(float) @ b.dequantize().astype(float)
        error = found.dequantize().numpy() - np.clip(exact, -50, 77.5)
        assert np.abs(error).max() <= 0.2501


def test_norms() -> None:
    x, weight, bias = codes(2, 6, 5), new(RANDOM.random(6).astype(np.float32)), new(np.ones(6, np.float32))
    own = new(x)
    floats = new(x.dequantize())
    step = 0.02
    for found, expected in (
        (F.group_norm(own, 3, weight, bias, 1e-5, step, 128), wb.group_norm(floats, 3, weight, bias)),
        (
            F.instance_norm(own, weight, bias, 1e-5, step, 128),
            wb.nn.functional.instance_norm(floats, None, None, weight, bias),
        ),
        (F.layer_norm(own, [5], None, None, 1e-5, step, 128), wb.layer_norm(floats, [5])),
        (F.elu(own, step, 128, 0.5), wb.nn.functional.elu(floats, 0.5)),
    ):  # fmt: skip
        rounded = np.clip(expected.numpy(), -128 * step, 127 * step)
        assert np.abs(found.dequantize().numpy() - rounded).max() <= step / 2 + 1e-6


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda q, x: F.add(x, q, 0.1, 0), wb.QuantizationError, "quantized add takes a quantized tensor, and got"),
        (lambda q, x: F.mul(q, x, 0.1, 0), wb.QuantizationError, "quantized mul takes a quantized tensor"),
        (lambda q, x: F.add_scalar(x, 1.0), wb.QuantizationError, "quantized add_scalar takes a quantized tensor"),
        (lambda q, x: F.cat([q, x], 0, 0.1, 0), wb.QuantizationError, "quantized cat takes a quantized tensor"),
        (lambda q, x: F.cat([], 0, 0.1, 0), ValueError, "expected a non-empty list"),
        (lambda q, x: F.gelu(x, 0.1, 0), wb.QuantizationError, "quantized gelu takes a quantized tensor"),
        (lambda q, x: F.layer_norm(q, 4, None, x, 1e-5, 0.1, 0), ValueError, "a bias comes with a weight"),
    ],
)  # fmt: skip
def test_refusals(act: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        act(new(codes(3, 4)), wb.ones(3, 4))


def test_every_op_on_codes_says_which_op_it_serves() -> None:
    for name, op in SERVED.items():
        assert getattr(ops, name).quantized.kernel == op.name


@pytest.mark.parametrize("dtype", [wb.quint8, wb.qint8], ids=str)
@pytest.mark.parametrize("channels", [5, 16, 83])
def test_means_of_codes_are_the_same_however_they_lie(channels: int, dtype: Any) -> None:
    wb.manual_seed(0)
    q = wb.quantize_per_tensor(wb.randn(2, channels, 7, 6), 0.02, 3, dtype)
    last = q.contiguous(memory_format=wb.channels_last)
    assert last.stride() != q.stride()
    for size in (2, 3, (7, 6)):
        found, expected = (wb.nn.functional.avg_pool2d(one, size).int_repr() for one in (last, q))
        assert found.tolist() == expected.tolist()


def test_a_deviation_has_the_codes_of_its_values_and_a_variance_has_none() -> None:
    x = wb.quantize_per_tensor(wb.tensor([[1.0, 3.0], [2.0, 2.5]]), 0.1, 7, wb.quint8)
    for found, exact in ((x.std(1), x.dequantize().std(1)), (x.std(), x.dequantize().std())):
        assert (found.q_scale(), found.q_zero_point()) == (0.1, 7)
        expected = wb.quantize_per_tensor(exact, 0.1, 7, wb.quint8)
        assert found.int_repr().tolist() == expected.int_repr().tolist()
    for function in (wb.var, wb.var_mean):
        with pytest.raises(
            wb.DTypeError, match=r"a variance has another unit than its values.*\.dequantize\(\) first"
        ):
            function(x, 1)

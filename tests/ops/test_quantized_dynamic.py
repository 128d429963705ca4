"""Layers that quantize what comes to them, and weights of four bits: kernels beside NumPy, ranges, tokens, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import kernels
from workbench.base.dtypes import quint4x2
from workbench.base.quantized_array import QuantizedArray
from workbench.core.op import ops
from workbench.core.value import new
from workbench.kernels import loader
from workbench.ops.quantized.recurrent import recurrent_dynamic

F = wb.quantization.quantized.functional
RANDOM = np.random.default_rng(8)


@pytest.fixture(autouse=True)
def same_numbers_whichever_tests_run() -> None:
    RANDOM.bit_generator.state = np.random.default_rng(8).bit_generator.state


def values(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def weight(rows: int, columns: int, per_row: bool = True) -> QuantizedArray:
    codes = RANDOM.integers(-128, 128, (rows, columns)).astype(np.int8)
    if not per_row:
        return QuantizedArray(codes, 0.013, 0, wb.qint8)
    return QuantizedArray(codes, RANDOM.uniform(0.001, 0.02, rows), np.zeros(rows, int), wb.qint8, 0)


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("highest", [127, 255])
@pytest.mark.parametrize(
    ("shape", "rows"),
    [((1, 1024), 300), ((33, 70), 65), ((2, 3, 17), 1), ((5, 4), 16), ((0, 8), 3), ((4, 0), 3), ((4, 3), 0)],
)
def test_the_kernel_gives_what_numpy_gives(
    shape: tuple[int, ...], rows: int, highest: int, by_row: bool
) -> None:
    op: Any = ops.quantized_linear_dynamic
    for per_row in (False, True):
        w = weight(rows, shape[-1], per_row)
        for bias in ((), (values(rows),)):
            x = values(*shape) * 3
            params = {"by_row": by_row, "highest": highest, "relu": len(bias) == 1}
            found = op(new(x), new(w), *map(new, bias), **params).numpy()
            np.testing.assert_array_equal(found, op.forward(x, w, *bias, **params))
            if not x.size:
                expected = np.broadcast_to(np.maximum(*bias, 0) if bias else 0, found.shape)
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "x", [[[0.0] * 4], [[1e-9, -1e-9, 0, 0]], [[-3.0, -2, -1, -1]], [[1e30, 1, 0, 0]]], ids=str
)
def test_awkward_ranges(x: list[list[float]]) -> None:
    rows, w = np.array(x, np.float32), weight(5, 4)
    params = {"by_row": True, "highest": 255, "relu": False}
    op: Any = ops.quantized_linear_dynamic
    found = op(new(rows), new(w), **params).numpy()
    np.testing.assert_array_equal(found, op.forward(rows, w, **params))
    exact = rows.astype(float) @ w.dequantize().T.astype(float)
    # Half a step of the range for each term.
    step = max(float(np.abs(rows).max()) / 255, 6.1e-5)
    assert np.abs(found - exact).max() <= step * np.abs(w.dequantize()).sum(1).max() + 1e-6


def test_what_is_not_finite_spoils_no_range() -> None:
    rows, w = values(40, 70), weight(9, 70)
    spoilt = rows.copy()
    spoilt[3, [0, 17, 69]] = np.nan, np.inf, -np.inf
    op: Any = ops.quantized_linear_dynamic
    for by_row in (False, True):
        params = {"by_row": by_row, "highest": 127, "relu": False}
        found = op(new(spoilt), new(w), **params).numpy()
        np.testing.assert_array_equal(found, op.forward(spoilt, w, **params))
        others = np.delete(np.arange(40), 3)
        sound = op(new(np.where(np.isfinite(spoilt), spoilt, 0)), new(w), **params).numpy()
        np.testing.assert_array_equal(found[others], sound[others])


def test_a_token_of_its_own_range_is_not_drowned_by_another() -> None:
    x = np.concatenate([values(1, 64), values(1, 64) * 1000])
    w = weight(20, 64)
    exact = x.astype(float) @ w.dequantize().T
    alike = F.linear_dynamic(new(x), new(w)).numpy()
    apart = F.linear_dynamic(new(x), new(w), per_token=True).numpy()
    error = [np.abs(one[0] - exact[0]).max() / np.abs(exact[0]).max() for one in (alike, apart)]
    assert error[0] > 0.5 > 0.02 > error[1]


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN_TANH", "RNN_RELU"])
@pytest.mark.parametrize("packed", [False, True])
def test_recurrent_layers_are_near_those_of_floats(mode: str, packed: bool) -> None:
    gates = {"LSTM": 4, "GRU": 3}.get(mode, 1)
    floats: list[list[Any]] = []
    for layer in range(2):
        for _ in range(2):
            shapes = [(gates * 12, 9 if layer == 0 else 24), (gates * 12, 12), (gates * 12,), (gates * 12,)]
            floats.append([values(*shape) / 8 for shape in shapes])
    coded = []
    for own in floats:
        rows = [
            wb.quantize_per_channel(new(w), np.abs(w).max(1) / 127, [0] * len(w), 0, wb.qint8)
            for w in own[:2]
        ]
        coded.append([*rows, *map(new, own[2:])])
    batch_sizes = (3, 3, 2, 1) if packed else None
    x = new(values(9, 9) if packed else values(5, 3, 9))
    common: dict[str, Any] = {
        "biases": True,
        "dropout": 0.0,
        "train": False,
        "directions": 2,
        "batch_sizes": batch_sizes,
    }
    expected, last = wb.ops.nn.recurrent.functions.through_layers(
        mode, x, None, [[new(one) for one in own] for own in floats], **common
    )
    found, states = recurrent_dynamic(mode, x, None, coded, **common)
    assert found.shape == expected.shape
    size = max(1.0, float(np.abs(expected.numpy()).max()))  # that of rectified ones grows
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=0, atol=0.03 * size)
    for mine, other in zip(states, last, strict=True):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=0, atol=0.05 * size)


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn"])
def test_one_call_gives_what_layers_one_by_one_give(name: str) -> None:
    op: Any = getattr(ops, f"quantized_{name}")
    for sample in op.samples():
        given = [np.asfortranarray(one) if isinstance(one, np.ndarray) else one for one in sample.inputs]
        found = op(*map(new, given), **sample.params)
        for mine, other in zip(found, op.forward(*sample.inputs, **sample.params), strict=True):
            assert mine.shape == other.shape
            # A state at the border of two codes may become the other.
            np.testing.assert_allclose(mine.numpy(), other, rtol=0, atol=0.05)


def test_names_go_through_layers() -> None:
    own = [[new(weight(16, 4)), new(weight(16, 4))] for _ in range(2)]
    x = new(values(3, 2, 4), ("T", "N", "C"))
    y, (h, c) = recurrent_dynamic("LSTM", x, None, own, biases=False)
    assert y.names == ("T", "N", None)
    assert h.names == c.names == ("layers", "N", None)


def test_what_is_dropped_is_dropped_between_layers_alone() -> None:
    own = [[new(weight(12, 4)), new(weight(12, 4))] for _ in range(2)]
    x = new(values(3, 2, 4))
    whole, last = recurrent_dynamic("GRU", x, None, own, biases=False, dropout=0.5, train=False)
    same, other = recurrent_dynamic("GRU", x, None, own, biases=False, dropout=0.5, train=True)
    np.testing.assert_array_equal(last[0].numpy()[0], other[0].numpy()[0])
    assert np.abs(whole.numpy() - same.numpy()).max() > 0
    nothing, end = recurrent_dynamic("GRU", x, None, own[:1], biases=False, dropout=0.5, train=True)
    np.testing.assert_array_equal(end[0].numpy()[0], other[0].numpy()[0])
    assert nothing.shape == (3, 2, 4)


@pytest.mark.skipif(not kernels.available(), reason="NumPy's code refuses by the dims of the op")
def test_what_the_compiled_layers_refuse() -> None:
    product = kernels.PackedQuantizedLinear(np.ones((16, 4), np.int8), np.ones(1, np.float32), None).native
    narrow = kernels.PackedQuantizedLinear(np.ones((16, 3), np.int8), np.ones(1, np.float32), None).native
    state, x = np.zeros((1, 2, 4), np.float32), np.zeros((3, 2, 4), np.float32)
    way = {"directions": 1, "batch_sizes": None, "highest": 127}
    run = loader.native.quantized_lstm
    with pytest.raises(ValueError, match=r"a weight is \[16, 3\]; expected \[16, 4\]"):
        run(x, state, state, [narrow, product], **way)
    with pytest.raises(ValueError, match=r"a state has shape \[1, 2, 3\]; expected \[1, 2, 4\]"):
        run(x, state, state[..., :3], [product, product], **way)
    with pytest.raises(ValueError, match="3 weights are not two for each layer and direction"):
        run(x, state, state, [product] * 3, **way)
    with pytest.raises(ValueError, match="in 1 or 2 directions, not 0"):
        run(x, state, state, [product] * 2, **{**way, "directions": 0})
    with pytest.raises((ValueError, TypeError)):
        run(x, state, state, [None, product], **way)


@pytest.mark.parametrize(("rows", "columns", "group"), [(70, 64, 16), (32, 48, 48), (1, 6, 2), (33, 128, 32)])
@pytest.mark.parametrize("count", [1, 3, 9])
def test_weights_of_four_bits(rows: int, columns: int, group: int, count: int) -> None:
    codes = RANDOM.integers(0, 16, (rows, columns)).astype(np.uint8)
    scales = RANDOM.uniform(0.01, 0.1, (rows, columns // group))
    zeros = RANDOM.uniform(0, 15, scales.shape)
    w = QuantizedArray(codes, scales, zeros, quint4x2, None, group)
    x, bias = values(count, columns), values(rows)
    exact = x.astype(float) @ w.dequantize().T.astype(float) + bias
    found = F.linear_weight_only(new(x), new(w), new(bias)).numpy()
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-4)


@pytest.mark.skipif(not kernels.available(), reason="the compiled layer refuses what it is packed from")
def test_what_no_four_bits_hold_is_refused() -> None:
    ones = np.ones((2, 1), np.float32)
    with pytest.raises(ValueError, match="has the code 16; codes are 0 to 15"):
        kernels.PackedNibbleLinear(np.full((2, 4), 16, np.uint8), ones, ones, None)
    with pytest.raises(ValueError, match=r"expected \[2, groups\] of each, equal parts of 4"):
        kernels.PackedNibbleLinear(np.ones((2, 4), np.uint8), np.ones((2, 3), np.float32), ones, None)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda x, w: F.linear_dynamic(x, w.dequantize()), "linear_dynamic takes a quantized weight, and got float32"),
        (lambda x, w: F.linear_dynamic(w, w), "linear_dynamic quantizes its input itself, and got qint8"),
        (lambda x, w: F.linear_dynamic(x.double(), w), "takes float32 values, and got float64"),
        (lambda x, w: F.linear_weight_only(x, w.dequantize()), "linear_weight_only takes a quantized weight"),
    ],
)  # fmt: skip
def test_refusals(act: Any, message: str) -> None:
    with pytest.raises(wb.QuantizationError, match=message):
        act(new(values(2, 4)), new(weight(3, 4)))

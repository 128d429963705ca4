"""What people call to quantize: signatures, names, special values, refusals."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.base.quantized_array import QuantizedArray
from workbench.interop import archive


def tensor(values: Any, names: Any = None) -> Any:
    return wb.tensor(np.asarray(values, np.float32), names=names)


def test_halves_go_to_even_after_the_zero_point_was_added() -> None:
    q = wb.quantize_per_tensor(tensor([0.5, 1.5, -0.5, np.nan, np.inf, -np.inf]), 1.0, 1, wb.quint8)
    assert q.int_repr().tolist() == [2, 2, 0, 255, 255, 0]
    fake = wb.fake_quantize_per_tensor_affine(tensor([0.5, 1.5, np.nan]), 1.0, 1, 0, 255)
    assert fake.tolist() == [0.0, 2.0, -1.0]


def test_what_a_quantized_tensor_says_of_itself() -> None:
    q = wb.quantize_per_tensor(tensor([[0.0, 1.0]], ("N", "C")), 0.1, 10, wb.quint8)
    assert (q.q_scale(), q.q_zero_point(), q.qscheme()) == (0.1, 10, wb.per_tensor_affine)
    assert (q.dtype, q.names, q.is_quantized, q.shape) == (wb.quint8, ("N", "C"), True, (1, 2))
    assert "quantization_scheme=workbench.per_tensor_affine, scale=0.1, zero_point=10" in repr(q)
    c = wb.quantize_per_channel(tensor([[1.0], [2.0]], ("C", "K")), [0.1, 0.2], [0, 1], "C", wb.qint8)
    assert c.q_per_channel_scales().tolist() == [0.1, 0.2]
    assert c.q_per_channel_scales().names == ("C",)
    assert c.q_per_channel_zero_points().tolist() == [0, 1]
    assert (c.q_per_channel_axis(), c.qscheme()) == (0, wb.per_channel_affine)
    assert "axis=0" in repr(c)


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda x: wb.quantize_per_tensor(x, 0.1, 300, wb.quint8), wb.QuantizationError,
         "quantize_tensor_per_tensor_affine zero_point 300 is above upper bound"),
        (lambda x: wb.quantize_per_tensor(x, 0.1, -1, wb.quint8), wb.QuantizationError, "-1 is below lower bound"),
        (lambda x: wb.quantize_per_tensor(x, 0.1, 0, wb.int8), wb.DTypeError, "you probably mean workbench.qint8"),
        (lambda x: wb.quantize_per_tensor(x.double(), 0.1, 0, wb.qint8), wb.DTypeError,
         "Quantize only works on Float Tensor, got Double"),
        (lambda x: wb.quantize_per_tensor(x.long(), 0.1, 0, wb.qint8), wb.DTypeError, "got Long"),
        (lambda x: wb.quantize_per_tensor(x.half(), 0.1, 0, wb.qint8), wb.DTypeError, "got Half"),
        (lambda x: wb.quantize_per_channel(x.bfloat16(), [0.1, 0.1], [0, 0], 0, wb.qint8), wb.DTypeError,
         "got BFloat16"),
        (lambda x: wb.quantize_per_tensor(x, 0.0, 0, wb.qint8), wb.QuantizationError,
         r"a scale is a finite number above 0, and 0\.0 was given"),
        (lambda x: wb.quantize_per_tensor(x, float("inf"), 0, wb.qint8), wb.QuantizationError, "and inf was given"),
        (lambda x: wb.quantize_per_channel(x, [0.1, float("nan")], [0, 0], 0, wb.qint8), wb.QuantizationError,
         "and nan was given"),
        (lambda x: wb.quantize_per_tensor(x, 0.1, 0.5, wb.qint8), wb.QuantizationError,
         "a zero point is a code, a whole number, and 0.5 was given"),
        (lambda x: x.to(wb.quint8), wb.DTypeError, "quint8 are codes, .* plain whole numbers are uint8"),
        (lambda x: wb.zeros(2, dtype=wb.qint8), wb.DTypeError, "qint8 are codes"),
        (lambda x: wb.tensor([1], dtype=wb.qint32), wb.DTypeError, "qint32 are codes"),
        (lambda x: wb.zeros_like(x, dtype=wb.quint8), wb.DTypeError, "quint8 are codes"),
        (lambda x: wb.full_like(x, 2, dtype=wb.quint8), wb.DTypeError, "quint8 are codes"),
        (lambda x: wb.randint(0, 5, (3,), dtype=wb.quint8), wb.DTypeError, "quint8 are codes"),
        (lambda x: wb.randperm(3, dtype=wb.quint8), wb.DTypeError, "quint8 are codes"),
        (lambda x: wb.tril_indices(3, 3, dtype=wb.quint8), wb.DTypeError, "quint8 are codes"),
        (lambda x: x.view(wb.qint32), wb.DTypeError, "qint32 are codes"),
        (lambda x: wb.quantize_per_tensor(x, 0.1, 0, wb.quint8, quant_min=0, quant_max=400), wb.QuantizationError,
         "codes from 0 to 400 do not fit quint8, which has 0 to 255"),
        (lambda x: wb.quantize_per_channel(x, [0.1], [0], 0, wb.qint8), wb.DimensionError,
         "length of scales must equal to channel, expected 2 got, 1"),
        (lambda x: wb.quantize_per_channel(x, [0.1, 0.2], [0], 0, wb.qint8), wb.QuantizationError,
         "2 scales and 1 zero points"),
        (lambda x: wb.quantize_per_channel(x, [0.1, 0.2], [0, 0], "Q", wb.qint8), wb.DimensionError,
         "Name 'Q' not found"),
        (lambda x: wb.fake_quantize_per_tensor_affine(x, 0.1, 20, 0, 15), wb.QuantizationError,
         "`zero_point` must be between `quant_min` and `quant_max`"),
        (lambda x: wb.fake_quantize_per_tensor_affine(x, 0.1, 0, 15, 0), wb.QuantizationError,
         "`quant_min` should be less than or equal to `quant_max`"),
        (lambda x: x.int_repr(), wb.QuantizationError, "int_repr is asked of a quantized tensor"),
        (lambda x: wb.quantize_per_tensor(x, 0.1, 0, wb.qint8).q_per_channel_scales(), wb.QuantizationError,
         r"ask for q_scale\(\) and q_zero_point\(\)"),
        (lambda x: wb.quantize_per_tensor(x, 0.1, 0, wb.qint8) + 1, wb.DTypeError,
         "add is not defined for quantized tensors"),
        (lambda x: wb.quantize_per_tensor(x, 0.1, 0, wb.qint8).numpy(), wb.DTypeError, "call dequantize"),
        (lambda x: wb.quantize_per_channel(x, [0.1, 0.2], [0, 0], 0, wb.qint8).roll(1), wb.QuantizationError,
         "cannot be moved"),
        (lambda x: wb.quantize_per_channel(x, [0.1, 0.2], [0, 0], 0, wb.qint8).tril(), wb.QuantizationError,
         "cannot be moved"),
    ],
)  # fmt: skip
def test_refusals(act: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        act(wb.tensor([[1.0, 2.0], [3.0, 4.0]], names=("N", "C")))


def test_ops_that_keep_scale_and_zero_point() -> None:
    x = np.array([[[[-1.0, 2.0], [0.5, -0.25]]]], np.float32)
    q = wb.quantize_per_tensor(wb.tensor(x, names=("N", "C", "H", "W")), 0.25, 8, wb.quint8)
    assert q.relu().dequantize().numpy().min() == 0.0
    pooled = wb.max_pool2d(q, 2)
    assert pooled.is_quantized
    assert pooled.dequantize().item() == 2.0
    assert q.flatten("C", "W", "features").names == ("N", "features")
    assert q[0, 0, 1].dequantize().tolist() == [0.5, -0.25]
    assert q.reshape(4).dequantize().tolist() == [-1.0, 2.0, 0.5, -0.25]
    assert wb.dequantize(wb.tensor(x)).tolist() == x.tolist()


@pytest.mark.parametrize("dtype", [wb.quint8, wb.qint8])
@pytest.mark.parametrize(
    "windows",
    [
        {"kernel_size": 2},
        {"kernel_size": (3, 2), "stride": (2, 1), "padding": 1},
        {"kernel_size": 2, "dilation": 2},
        {"kernel_size": 3, "stride": 2, "ceil_mode": True},
    ],
)
def test_the_largest_codes_of_windows_are_those_of_the_numbers(dtype: Any, windows: dict[str, Any]) -> None:
    x = tensor(np.random.default_rng(0).standard_normal((2, 3, 9, 8)), ("N", "C", "H", "W"))
    q = wb.quantize_per_tensor(x, 0.05, 7, dtype)
    wanted = wb.max_pool2d(q.dequantize(), **windows)
    for found, values in (
        (wb.max_pool2d(q, **windows), wanted),
        (wb.nn.MaxPool2d(**windows)(q), wanted),
        (wb.max_pool2d(q, **windows, return_indices=True)[0], wanted),
        (wb.max_pool2d(q[0], **windows), wanted[0]),
    ):
        assert (found.dtype, found.q_scale(), found.q_zero_point()) == (dtype, 0.05, 7)
        assert found.dequantize().tolist() == values.tolist()
    assert wb.max_pool2d(q, **windows).names == ("N", "C", "H", "W")
    by_channel = wb.quantize_per_channel(x, [0.1, 0.2, 0.3], [0, 0, 0], "C", dtype)
    with pytest.raises(wb.QuantizationError, match="cannot be moved"):
        wb.max_pool2d(by_channel, **windows)


def test_ops_without_numbers_follow_the_same_rules() -> None:
    with wb.core.interpreting(wb.core.WithoutNumbers()):
        q = wb.quantize_per_tensor(wb.zeros(N=2, C=3, H=4, W=4), 0.1, 0, wb.quint8)
        assert (q.dtype, q.names) == (wb.quint8, ("N", "C", "H", "W"))
        assert q.relu().dtype is wb.quint8
        assert q.dequantize().dtype is wb.float32
        assert q.int_repr().dtype is wb.uint8
        with pytest.raises(wb.DTypeError, match="exp is not defined for quantized tensors"):
            q.exp()
        assert q.tanh().dtype is wb.quint8
        assert (q == q).dtype is wb.bool


def test_integers_of_32_bits_saturate_and_lose_nothing() -> None:
    q = wb.quantize_per_tensor(tensor([3e9, -3e9, 16777216.0]), 1.0, 0, wb.qint32)
    assert q.int_repr().tolist() == [2**31 - 1, -(2**31), 16777216]
    assert q.dequantize().tolist() == [2147483648.0, -2147483648.0, 16777216.0]


def test_payloads_are_immutable_and_travel() -> None:
    codes = np.arange(6, dtype=np.uint8).reshape(2, 3)
    payload = QuantizedArray(codes, [0.1, 0.2], [0, 1], wb.quint8, 0)
    with pytest.raises(ValueError, match="read-only"):
        payload.codes[0, 0] = 9
    again = pickle.loads(pickle.dumps(payload))
    np.testing.assert_array_equal(again.dequantize(), payload.dequantize())
    assert payload.nbytes == 6 + 16
    with pytest.raises(wb.QuantizationError, match="cannot be quint8"):
        QuantizedArray(codes.astype(np.int8), 0.1, 0, wb.quint8)
    with pytest.raises(wb.QuantizationError, match="expected 3 got, 2"):
        QuantizedArray(codes, [0.1, 0.2], [0, 1], wb.quint8, 1)
    with pytest.raises(wb.QuantizationError, match="axis 2 is out of range"):
        QuantizedArray(codes, [0.1, 0.2], [0, 1], wb.quint8, 2)


def test_a_bias_that_changes_in_place_counts() -> None:
    layer = wb.quantization.quantized.Linear(4, 3)
    x = wb.quantize_per_tensor(wb.ones(1, 4), 0.1, 0, wb.quint8)
    before = layer(x).int_repr().tolist()
    layer.bias.add_(5.0)
    assert layer(x).int_repr().tolist() != before


def test_scales_of_channels_go_where_their_channels_go() -> None:
    x = tensor([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]], ("N", "C"))
    c = wb.quantize_per_channel(x, [0.1, 1.0], [0, 2], "N", wb.qint8)
    t = c.t()
    assert (t.q_per_channel_axis(), t.q_per_channel_scales().names) == (1, ("N",))
    moved = [
        t,
        c[[1, 0]],
        c.flip(0),
        c.unsqueeze(0),
        c[:, 1:],
        c[1:],
        c[0],
        c.expand(2, 2, 3),
        c.repeat(1, 2),
    ]
    plain = [
        x.t(),
        x[[1, 0]],
        x.flip(0),
        x.unsqueeze(0),
        x[:, 1:],
        x[1:],
        x[0],
        x.expand(2, 2, 3),
        x.repeat(1, 2),
    ]
    for got, want in zip(moved, plain, strict=True):
        np.testing.assert_allclose(got.dequantize().numpy(), want.numpy(), rtol=1e-6)
        assert got.names == want.names
    assert (c[0].qscheme(), c[0].q_scale()) == (wb.per_tensor_affine, 0.1)


def test_codes_are_written_in_place_and_seen_by_views() -> None:
    q = wb.quantize_per_tensor(tensor([[0.0, 1.0], [2.0, 3.0]], ("N", "C")), 0.5, 1, wb.quint8)
    row, flat = q[0], q.reshape(4)
    row.copy_(tensor([4.0, 5.2]))
    assert q.dequantize().tolist() == [[4.0, 5.0], [2.0, 3.0]]
    q[1] = wb.quantize_per_tensor(tensor([7.0, 8.0]), 1.0, 0, wb.quint8)
    assert flat.dequantize().tolist() == [4.0, 5.0, 7.0, 8.0]
    q[0, 1] = 1.0
    q[q == 7.0] = -0.5
    assert flat.dequantize().tolist() == [4.0, 1.0, -0.5, 8.0]
    assert q.relu_() is q
    assert (flat.int_repr().tolist(), q.names) == ([9, 3, 1, 17], ("N", "C"))
    q.copy_(wb.quantize_per_tensor(wb.ones(2, 2), 0.1, 5, wb.quint8))
    assert (q.q_scale(), q.q_zero_point(), q.int_repr().tolist()) == (0.1, 5, [[15, 15], [15, 15]])
    before = q.clone()
    q.fill_(2.0)
    assert (before.int_repr()[0, 0].item(), q.int_repr()[0, 0].item()) == (15, 25)


def test_what_cannot_be_written_changes_nothing() -> None:
    q = wb.quantize_per_tensor(tensor([1.0, 2.0]), 0.5, 1, wb.quint8)
    for act, error, message in (
        (lambda: q.copy_(wb.tensor([1, 2])), wb.DTypeError, "only works with kFloat as source"),
        (lambda: q.copy_(wb.ones(3)), wb.DimensionError, "size"),
        (lambda: wb.zeros(2).copy_(q), wb.DTypeError, "please use dequantize to get a float Tensor"),
        (
            lambda: q.copy_(wb.quantize_per_tensor(wb.ones(2), 0.5, 1, wb.qint8)),
            wb.DTypeError,
            "same type and scheme",
        ),
        (lambda: q.add_(1.0), wb.DTypeError, "add is not defined for quantized tensors"),
    ):
        with pytest.raises(error, match=message):
            act()
    assert q.int_repr().tolist() == [3, 5]


def test_groups_and_codes_of_few_bits() -> None:
    x = tensor([[1.0, 2.0, 10.0, 20.0, 3.0]], ("N", "C"))
    q = wb.quantize_per_group(x, [[0.5, 5.0, 1.0]], [[0, 0, 2]], 2, wb.quint4x2)
    assert q.dequantize().tolist() == x.tolist()
    assert (q.names, q.qscheme(), q.payload.nbytes) == (("N", "C"), wb.per_group_affine, 3 + 24)
    assert "group_size=2" in repr(q)
    assert "10., 20.," in repr(q)
    with pytest.raises(
        wb.QuantizationError, match="quantized in groups of 2 along the last dim cannot be moved"
    ):
        q.t()
    with pytest.raises(
        wb.DimensionError, match=r"need scales and zero_points of sizes \[1, 3\], got \[1, 2\]"
    ):
        wb.quantize_per_group(x, [[0.5, 5.0]], [[0, 0]], 2, wb.quint4x2)
    two = wb.quantize_per_tensor(tensor([0.0, 1.0, 2.0, 3.0, 9.0]), 1.0, 0, wb.quint2x4)
    assert two.int_repr().tolist() == [0b11100100, 3]
    two[0] = 2.0
    assert two.dequantize().tolist() == [2.0, 1.0, 2.0, 3.0, 3.0]
    assert pickle.loads(pickle.dumps(two.payload)).codes.tolist() == [2, 1, 2, 3, 3]
    with pytest.raises(wb.QuantizationError, match="zero_point 16 is above upper bound 15"):
        wb.quantize_per_tensor(x, 1.0, 16, wb.quint4x2)


def test_constructors_of_codes() -> None:
    codes = wb.tensor([[1, 2], [3, 4]], dtype=wb.int8, names=("N", "C"))
    q = wb._make_per_tensor_quantized_tensor(codes, 0.5, 1)
    assert (q.dtype, q.names, q.dequantize().tolist()) == (wb.qint8, ("N", "C"), [[0.0, 0.5], [1.0, 1.5]])
    c = wb._make_per_channel_quantized_tensor(codes, wb.tensor([1.0, 2.0]), wb.tensor([0, 1]), "C")
    assert (c.q_per_channel_axis(), c.dequantize().tolist()) == (1, [[1.0, 2.0], [3.0, 6.0]])
    with pytest.raises(wb.DTypeError, match="takes codes of type uint8, int8 or int32, got int64"):
        wb._make_per_tensor_quantized_tensor(wb.tensor([1]), 0.5, 1)
    e = wb._empty_per_channel_affine_quantized(
        [2, 2], scales=[0.5, 1.0], zero_points=[0, 0], axis=0, dtype=wb.qint8
    )
    assert e.copy_(wb.ones(2, 2)).int_repr().tolist() == [[2, 2], [1, 1]]


def test_files_keep_groups_or_say_that_they_cannot(tmp_path: Any) -> None:
    x = tensor([[1.0, 2.0, 10.0, 20.0, 3.0]])
    q = wb.quantize_per_group(x, [[0.5, 5.0, 1.0]], [[0, 0, 2]], 2, wb.quint4x2)
    found, told = archive._plain("q", q)
    read = {name: wb.tensor(getattr(one, "payload", one)) for name, one in found.items()}
    again = archive._special("q", read, told)
    assert (again.qscheme(), again.dequantize().tolist()) == (wb.per_group_affine, x.tolist())
    with pytest.raises(wb.WeightsError, match="no quint4x2 of scheme per_group_affine"):
        wb.save({"q": q}, tmp_path / "q.pt")


def test_codes_are_equal_with_their_scale_and_zero_point() -> None:
    x = tensor([[0.0, 1.0], [2.0, 3.0]])
    a = wb.quantize_per_tensor(x, 0.1, 10, wb.quint8)
    assert wb.equal(a, a.clone())
    assert not wb.equal(a, wb.quantize_per_tensor(x * 2, 0.2, 10, wb.quint8))
    assert not wb.equal(a, wb.quantize_per_tensor(x + 0.1, 0.1, 9, wb.quint8))
    assert not wb.equal(a, a.int_repr()) and not wb.equal(a.int_repr(), a)
    c = wb.quantize_per_channel(x, [0.1, 0.2], [0, 1], 0, wb.qint8)
    assert wb.equal(c, c.clone())
    assert not wb.equal(c, wb.quantize_per_channel(x, [0.1, 0.2], [0, 2], 0, wb.qint8))


def test_a_trace_knows_codes_from_numbers() -> None:
    codes, layer = wb.quantize_per_tensor(wb.ones(2, 3), 0.1, 3, wb.quint8), wb.nn.Linear(3, 2)
    told: list[bool] = []

    def program(x: Any) -> Any:
        told.extend((x.is_quantized, x[0].is_quantized, x.dequantize().is_quantized))
        return x.dequantize()

    wb.graph.trace(program, codes)
    assert told == [True, True, False]
    for call in (layer, lambda x: wb.graph.trace(layer, x)):
        with pytest.raises(wb.DTypeError, match="linear is not defined for quantized tensors"):
            call(codes)


@pytest.mark.parametrize(
    "act",
    [
        lambda q: wb.histogram(q, 3),
        lambda q: q.nanmean(),
        lambda q: wb.quantile(q, 0.5),
        lambda q: wb.nn.functional.normalize(q),
        lambda q: wb.cdist(q, q),
        lambda q: wb.nn.functional.pdist(q),
        lambda q: wb.nn.functional.fractional_max_pool2d(q[None], 2, output_size=1),
        lambda q: wb.complex(q, q),
        lambda q: wb.frexp(q),
        lambda q: q.requires_grad_(),
        lambda q: wb.nn.BatchNorm1d(4)(q),
        lambda q: wb.nn.functional.instance_norm(q[None]),
        lambda q: wb.nn.functional.grid_sample(q[None, None], wb.zeros(1, 2, 2, 2), align_corners=False),
        lambda q: wb.linalg.matrix_power(q, 2),
        lambda q: wb.linalg.inv(q),
        lambda q: wb.fft.fft(q),
        lambda q: wb.mm(q, wb.ones(4, 4)),
        lambda q: wb.bernoulli(q),
        lambda q: wb.bernoulli(wb.ones(4, 4), q),
        lambda q: wb.poisson(q),
        lambda q: wb.binomial(wb.ones(4, 4), q),
        lambda q: q.unique(),
        lambda q: q.unique_consecutive(dim=0),
        lambda q: q.sum(),
        lambda q: q.cumsum(0),
        lambda q: wb.einsum("ij,jk->ik", q, q),
    ],
)
def test_what_takes_numbers_says_how_codes_become_some(act: Any) -> None:
    q = wb.quantize_per_tensor(wb.ones(4, 4), 0.5, 1, wb.quint8)
    with pytest.raises(wb.DTypeError, match=r"\.dequantize\(\)") as told:
        act(q)
    assert ".float()" not in str(told.value)


@pytest.mark.parametrize("name", ["normal_", "uniform_", "random_", "exponential_", "cauchy_", "log_normal_"])
def test_no_codes_are_drawn(name: str) -> None:
    q = wb.quantize_per_tensor(wb.ones(2), 0.5, 1, wb.quint8)
    with pytest.raises(
        wb.DTypeError, match="quint8 are codes, and numbers are drawn as such: draw them in float32"
    ):
        getattr(q, name)()
    assert q.dequantize().tolist() == [1.0, 1.0]

"""Quantized tensors against PyTorch's: codes, scales, what ops make of them, what is refused; exact."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.base.quantized_array import QuantizedArray
from workbench.core.value import new

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

TYPES = ["quint8", "qint8", "qint32", "quint4x2", "quint2x4"]
SMALL = ("quint4x2", "quint2x4")
DENORMAL = np.float32(1e-42)
_RANDOM = np.random.default_rng(3)
VALUES = {
    "random": _RANDOM.standard_normal((5, 7)).astype(np.float32) * 3,
    "long": _RANDOM.standard_normal(1037).astype(np.float32) * 3,
    "ties": np.arange(-40, 41, dtype=np.float32) * np.float32(0.5),
    "huge": np.array([3e38, -3e38, 1e30, -1e30, 2e9, -2e9], np.float32),
    "denormal": np.array([DENORMAL, -DENORMAL, 0.0, -0.0], np.float32),
    "constant": np.full((3, 3), 5.0, np.float32),
    "negative": np.full(4, -2.25, np.float32),
    "empty": np.zeros((0, 3), np.float32),
    "number": np.array(1.5, np.float32),
    "special": np.array([np.nan, np.inf, -np.inf] * 24, np.float32),
}


def same(found: Any, expected: Any) -> None:
    """Codes, scales, zero points, numbers and flags are PyTorch's, and names are there or not as they were."""
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    if not isinstance(expected, torch.Tensor):
        assert found == expected
        return
    assert tuple(found.shape) == tuple(expected.shape)
    assert found.is_quantized == expected.is_quantized
    if not expected.is_quantized:
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
        return
    assert f"torch.{found.dtype.name}" == str(expected.dtype)
    assert found.qscheme().value == str(expected.qscheme()).removeprefix("torch.")
    np.testing.assert_array_equal(found.int_repr().numpy(), expected.int_repr().numpy())
    if expected.qscheme() == torch.per_tensor_affine:
        assert (found.q_scale(), found.q_zero_point()) == (expected.q_scale(), expected.q_zero_point())
    else:
        for word in ("scales", "zero_points"):
            mine, other = (getattr(one, f"q_per_channel_{word}")() for one in (found, expected))
            assert f"torch.{mine.dtype.name}" == str(other.dtype)
            np.testing.assert_array_equal(mine.numpy(), other.numpy())
        assert found.q_per_channel_axis() == expected.q_per_channel_axis()
    np.testing.assert_array_equal(found.dequantize().numpy(), expected.dequantize().numpy())


def pair(x: Any, scale: float, zero: int, kind: str) -> tuple[Any, Any]:
    return (
        wb.quantize_per_tensor(wb.from_numpy(x.copy()), scale, zero, getattr(wb, kind)),
        torch.quantize_per_tensor(torch.tensor(x), scale, zero, getattr(torch, kind)),
    )


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize(("scale", "zero"), [(1.0, 0), (0.1, 3), (1.65, 1), (1e-30, 0), (1e30, 2)])
def test_codes_and_numbers(values: str, kind: str, scale: float, zero: int) -> None:
    x = VALUES[values]
    if kind in SMALL:
        # Beyond 32 bits PyTorch's codes of few bits are 0, on either side: ours are the nearest.
        with np.errstate(invalid="ignore", over="ignore"):
            x = x[~(np.abs(x / np.float32(scale)) >= 2**31)]
    elif kind == "qint32":
        # The least code, which NaN becomes too, less a zero point leaves 32 bits there, and becomes a large number.
        with np.errstate(invalid="ignore", over="ignore"):
            x = x[x / np.float32(scale) > -(2.0**30)]
    same(*pair(x, scale, zero, kind))


@pytest.mark.parametrize("kind", ["quint8", "qint8", "qint32"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_per_channel(kind: str, axis: int) -> None:
    x = _RANDOM.standard_normal((3, 4, 5)).astype(np.float32)
    scales = _RANDOM.uniform(0.01, 1, x.shape[axis])
    zeros = _RANDOM.integers(0, 9, x.shape[axis])
    same(
        wb.quantize_per_channel(
            wb.from_numpy(x), wb.from_numpy(scales), wb.from_numpy(zeros), axis, getattr(wb, kind)
        ),
        torch.quantize_per_channel(
            torch.tensor(x), torch.tensor(scales), torch.tensor(zeros), axis, getattr(torch, kind)
        ),
    )


@pytest.mark.parametrize("kind", ["quint8", "quint4x2"])
def test_zero_points_that_are_real_numbers(kind: str) -> None:
    x = np.concatenate([_RANDOM.standard_normal((4, 6)), np.arange(-6, 6).reshape(2, 6) / 2]).astype(
        np.float32
    )
    scales, zeros = (
        _RANDOM.uniform(0.1, 0.3, 6).astype(np.float32),
        _RANDOM.uniform(0, 9, 6).astype(np.float32),
    )
    found = wb.quantize_per_channel(
        wb.from_numpy(x), wb.from_numpy(scales), wb.from_numpy(zeros), 0, getattr(wb, kind)
    )
    other = torch.quantize_per_channel(
        torch.tensor(x), torch.tensor(scales), torch.tensor(zeros), 0, getattr(torch, kind)
    )
    same(found, other)
    assert found.qscheme() is wb.per_channel_affine_float_qparams


@pytest.mark.parametrize("reduced", [False, True])
@pytest.mark.parametrize("kind", ["quint8", "qint8"])
@pytest.mark.parametrize("values", [name for name in VALUES if name not in ("special", "empty", "huge")])
def test_dynamic(values: str, kind: str, reduced: bool) -> None:
    for factor in (1.0, 1e-3, 1e-5, 1e-9, -1.0):
        x = np.asarray(VALUES[values] * np.float32(factor))
        same(
            wb.quantize_per_tensor_dynamic(wb.from_numpy(x), getattr(wb, kind), reduced),
            torch.quantize_per_tensor_dynamic(torch.tensor(x), getattr(torch, kind), reduced),
        )


def test_several_tensors_and_constructors() -> None:
    x, y = VALUES["random"], VALUES["ties"]
    given = [0.1, 0.5], [1, 3]
    same(
        wb.quantize_per_tensor([wb.from_numpy(x), wb.from_numpy(y)], *map(wb.tensor, given), wb.quint8),
        torch.quantize_per_tensor(
            [torch.tensor(x), torch.tensor(y)], *map(torch.tensor, given), torch.quint8
        ),
    )
    codes = np.arange(-6, 6, dtype=np.int8).reshape(3, 4)
    same(
        wb._make_per_tensor_quantized_tensor(wb.from_numpy(codes), 0.3, -2),
        torch._make_per_tensor_quantized_tensor(torch.tensor(codes), 0.3, -2),
    )
    scales, zeros = [0.1, 0.2, 0.4], [0, 1, -3]
    same(
        wb._make_per_channel_quantized_tensor(wb.from_numpy(codes), wb.tensor(scales), wb.tensor(zeros), 0),
        torch._make_per_channel_quantized_tensor(
            torch.tensor(codes), torch.tensor(scales), torch.tensor(zeros), 0
        ),
    )


IMAGES = _RANDOM.standard_normal((2, 3, 7, 6)).astype(np.float32) * 2
MATRIX = VALUES["random"]
Act = Callable[[Any, Any], Any]
ON_MATRICES: dict[str, Act] = {
    "relu": lambda lib, q: q.relu(),
    "relu6": lambda lib, q: lib.nn.functional.relu6(q),
    "clamp": lambda lib, q: q.clamp(-1.0, 1.3),
    "hardtanh": lambda lib, q: lib.nn.functional.hardtanh(q, -1.0, 1.0),
    "threshold": lambda lib, q: lib.nn.functional.threshold(q, 0.3, 0.1),
    "leaky_relu": lambda lib, q: lib.nn.functional.leaky_relu(q, 0.1),
    "sigmoid": lambda lib, q: q.sigmoid(),
    "tanh": lambda lib, q: q.tanh(),
    "hardsigmoid": lambda lib, q: lib.nn.functional.hardsigmoid(q),
    "max": lambda lib, q: q.max(),
    "min": lambda lib, q: q.min(),
    "max of rows": lambda lib, q: tuple(q.max(1)),
    "min of columns": lambda lib, q: tuple(q.min(0)),
    "sort": lambda lib, q: q.sort(1)[0],
    "sort down": lambda lib, q: q.sort(1, descending=True)[0],
    "topk": lambda lib, q: q.topk(3)[0],
    "cat": lambda lib, q: lib.cat([q, q[:2]]),
    "cat of other scales": lambda lib, q: lib.cat(
        [q, lib.quantize_per_tensor(q.dequantize(), 0.07, 2, q.dtype)]
    ),
    "stack": lambda lib, q: lib.stack([q, q], 1),
    "eq": lambda lib, q: q == q.flip(0),
    "lt": lambda lib, q: q < q.flip(0),
    "gt number": lambda lib, q: q > 0.5,
    "equal": lambda lib, q: lib.equal(q, q),
    "index": lambda lib, q: q[1],
    "slice": lambda lib, q: q[1:3, ::2],
    "mask": lambda lib, q: q[q > 0.5],
    "rows": lambda lib, q: q[lib.tensor([2, 0])],
    "index_select": lambda lib, q: q.index_select(1, lib.tensor([2, 0])),
    "t": lambda lib, q: q.t(),
    "view": lambda lib, q: q.view(7, 5),
    "unsqueeze": lambda lib, q: q.unsqueeze(1),
    "expand": lambda lib, q: q[:1].expand(3, 7),
    "repeat": lambda lib, q: q.repeat(2, 1),
    "chunk": lambda lib, q: tuple(q.chunk(2)),
    "unbind": lambda lib, q: tuple(q.unbind(0)),
    "flip": lambda lib, q: q.flip(0),
    "clone": lambda lib, q: q.clone(),
    "masked_fill": lambda lib, q: q.masked_fill(q > 0.5, 0.0),
    "unfold": lambda lib, q: q.unfold(1, 2, 1),
    "full_like": lambda lib, q: lib.full_like(q, 1.0),
    "fill_": lambda lib, q: q.clone().fill_(0.33),
    "copy_": lambda lib, q: q.clone().copy_(lib.ones(5, 7) * 0.77),
    "copy_ of codes": lambda lib, q: q.clone().copy_(
        lib.quantize_per_tensor(q.dequantize(), 0.2, 3, q.dtype)
    ),
    "mean": lambda lib, q: q.mean(),
    "mean of rows": lambda lib, q: q.mean(1),
    "std": lambda lib, q: q.std(),
    "std of rows": lambda lib, q: q.std(1, unbiased=False, keepdim=True),
    "item": lambda lib, q: q[0, 0].item(),
}
ON_IMAGES: dict[str, Act] = {
    "max_pool2d": lambda lib, q: lib.nn.functional.max_pool2d(q, 2),
    "max_pool2d padded": lambda lib, q: lib.nn.functional.max_pool2d(q, 3, 2, 1),
    "avg_pool2d": lambda lib, q: lib.nn.functional.avg_pool2d(q, 2),
    "avg_pool2d padded": lambda lib, q: lib.nn.functional.avg_pool2d(q, 3, 2, 1),
    "avg_pool2d uncounted": lambda lib, q: lib.nn.functional.avg_pool2d(q, 3, 2, 1, count_include_pad=False),
    "adaptive_avg_pool2d": lambda lib, q: lib.nn.functional.adaptive_avg_pool2d(q, 3),
    "nearest": lambda lib, q: lib.nn.functional.interpolate(q, scale_factor=2),
    "mean": lambda lib, q: q.mean((2, 3), keepdim=True),
    "std": lambda lib, q: lib.std(q, (0, 3), correction=2),
    "permute": lambda lib, q: q.permute(0, 2, 3, 1),
    "flatten": lambda lib, q: q.flatten(1),
    "pixel_shuffle": lambda lib, q: lib.nn.functional.pixel_shuffle(q.reshape(1, 4, -1, 3), 2),
}


@pytest.mark.parametrize("kind", ["quint8", "qint8"])
@pytest.mark.parametrize("act", ON_MATRICES)
def test_ops_on_matrices(act: str, kind: str) -> None:
    for scale, zero in ((0.1, 10), (0.05, 64)):
        q, other = pair(MATRIX, scale, zero, kind)
        same(ON_MATRICES[act](wb, q), ON_MATRICES[act](torch, other))


@pytest.mark.parametrize("kind", ["quint8", "qint8"])
@pytest.mark.parametrize("act", ON_IMAGES)
def test_ops_on_images(act: str, kind: str) -> None:
    q, other = pair(IMAGES, 0.07, 60, kind)
    same(ON_IMAGES[act](wb, q), ON_IMAGES[act](torch, other))


@pytest.mark.parametrize("kind", ["quint8", "qint8"])
def test_writing_to_parts(kind: str) -> None:
    for lib in (wb, torch):
        x = lib.tensor(MATRIX.tolist())
        q = lib.quantize_per_tensor(x, 0.1, 10, getattr(lib, kind))
        q[0] = x[1]
        q[1, 2:4] = 1.0
        q[2:4] = q[:2].clone()
        q.view(-1)[-1] = 2.0
        q.relu_()
        if lib is wb:
            found = q
    same(found, q)


def test_channels() -> None:
    x = MATRIX[:2]
    c = wb.quantize_per_channel(wb.from_numpy(x), [0.1, 0.2], [1, 2], 0, wb.qint8)
    other = torch.quantize_per_channel(
        torch.tensor(x), torch.tensor([0.1, 0.2], dtype=torch.float64), torch.tensor([1, 2]), 0, torch.qint8
    )
    same(c.clone(), other.clone())
    same(c.view(2, 7, 1), other.view(2, 7, 1))
    found, expected = c[0], other[0]  # PyTorch's scale goes through float32 here
    np.testing.assert_array_equal(found.int_repr().numpy(), expected.int_repr().numpy())
    np.testing.assert_array_equal(found.dequantize().numpy(), expected.dequantize().numpy())
    for lib, q in ((wb, c), (torch, other)):
        q[1] = lib.tensor(x[0].tolist())
    same(c, other)


@pytest.mark.parametrize(
    "act",
    [
        lambda lib, q: q + q,
        lambda lib, q: q * 2.0,
        lambda lib, q: q @ q.t(),
        lambda lib, q: q.sum(),
        lambda lib, q: q.var(1),
        lambda lib, q: -q,
        lambda lib, q: lib.nn.functional.linear(q, q),
        lambda lib, q: lib.nn.functional.silu(q),
        lambda lib, q: q.numpy(),
        lambda lib, q: lib.zeros(5, 7).copy_(q),
        lambda lib, q: q.to(lib.float64),
        lambda lib, q: q.int_repr().q_scale(),
        lambda lib, q: q.q_per_channel_scales(),
    ],
    ids=[
        "add",
        "mul",
        "matmul",
        "sum",
        "var",
        "neg",
        "linear",
        "silu",
        "numpy",
        "copy_",
        "to",
        "q_scale",
        "channels",
    ],
)
def test_both_refuse(act: Act) -> None:
    q, other = pair(MATRIX, 0.1, 10, "quint8")
    with pytest.raises((TypeError, RuntimeError, NotImplementedError)):
        act(torch, other)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((wb.DTypeError, wb.QuantizationError)):
            act(wb, q)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(
    ("shape", "settings"),
    [
        ((2, 5, 12, 15), {"kernel_size": 2}), ((2, 5, 12, 15), {"kernel_size": (3, 4), "stride": 2, "padding": 1}),
        ((2, 5, 13, 15), {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False, "ceil_mode": True}),
        ((1, 70, 7, 7), {"kernel_size": 7}), ((2, 5, 12, 15), {"kernel_size": 2, "divisor_override": 3}),
        ((2, 3, 6, 8, 7), {"kernel_size": 2}), ((2, 3, 6, 8, 7), {"kernel_size": 3, "stride": 2, "padding": 1}),
    ],
    ids=str,
)  # fmt: skip
def test_means_of_windows_have_the_same_codes(
    shape: tuple[int, ...], settings: dict[str, Any], signed: bool
) -> None:
    codes = np.random.default_rng(3).integers(0, 256, shape).astype(np.uint8)
    codes = codes.view(np.int8) if signed else codes
    zero, name = (-3 if signed else 7), f"avg_pool{len(shape) - 2}d"
    theirs = torch._make_per_tensor_quantized_tensor(torch.from_numpy(codes), 0.0137, zero)
    mine = new(QuantizedArray(codes, 0.0137, zero, wb.qint8 if signed else wb.quint8))
    expected = getattr(torch.nn.functional, name)(theirs, **settings).int_repr().numpy()
    found = getattr(wb.nn.functional, name)(mine, **settings).int_repr().numpy()
    np.testing.assert_array_equal(found, expected)

"""Ops on codes that are told what their result is coded by, against ``torch.ops.quantized``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.base.quantized_array import QuantizedArray
from workbench.core.op import ops
from workbench.core.value import new

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
F = wb.quantization.quantized.functional
RANDOM = np.random.default_rng(21)


@pytest.fixture(autouse=True)
def same_numbers_whichever_tests_run() -> None:
    RANDOM.bit_generator.state = np.random.default_rng(8).bit_generator.state


def both(*shape: int, scale: float = 0.031, zero: int = 90) -> tuple[Any, Any]:
    codes = RANDOM.integers(0, 256, shape).astype(np.uint8)
    ours = new(QuantizedArray(codes, scale, zero, wb.quint8))
    return ours, torch._make_per_tensor_quantized_tensor(torch.tensor(codes), scale, zero)


def agree(ours: Any, theirs: Any, apart: float = 0.0) -> None:
    """Require the same codes but for a share of neighbours."""
    found, expected = ours.int_repr().numpy().astype(int), theirs.int_repr().numpy().astype(int)
    assert found.shape == expected.shape
    np.testing.assert_allclose(
        (ours.q_scale(), ours.q_zero_point()), (theirs.q_scale(), theirs.q_zero_point()), rtol=1e-6
    )
    assert np.abs(found - expected).max(initial=0) <= (1 if apart else 0)
    assert (found != expected).mean() <= apart


@pytest.mark.parametrize("name", ["add", "add_relu", "mul", "mul_relu"])
def test_of_two(name: str) -> None:
    (a, ta), (b, tb) = both(64, 70), both(64, 70, scale=0.017, zero=12)
    function = getattr(torch.ops.quantized, name)
    for scale, zero in ((0.05, 100), (0.0313, 0), (0.2, 33)):
        agree(getattr(F, name)(a, b, scale, zero), function(ta, tb, scale, zero))


@pytest.mark.parametrize("name", ["add_scalar", "add_scalar_relu", "mul_scalar", "mul_scalar_relu"])
@pytest.mark.parametrize("c", [0.5, -0.5, 3.0, -3.0, 9.0, -9.0, 0.0])
def test_of_a_number(name: str, c: float) -> None:
    ours, theirs = both(40, 70)
    # The two libraries round a value at a half of the new, wider scale differently.
    agree(
        getattr(F, name)(ours, c), getattr(torch.ops.quantized, name)(theirs, c), 0.02 if abs(c) == 9 else 0.0
    )


def test_cat() -> None:
    (a, ta), (b, tb) = both(4, 7, 5), both(4, 2, 5, scale=0.02, zero=10)
    agree(F.cat([a, b], 1, 0.04, 60), torch.ops.quantized.cat([ta, tb], 1, 0.04, 60), 0.02)
    agree(F.cat([a, a], 0, 0.031, 90), torch.ops.quantized.cat([ta, ta], 0, 0.031, 90))


def test_matmul() -> None:
    for left, right in (((9, 20), (20, 7)), ((3, 9, 20), (3, 20, 7))):
        (a, ta), (b, tb) = both(*left), both(*right, scale=0.02, zero=110)
        agree(F.matmul(a, b, 0.5, 100), torch.ops.quantized.matmul(ta, tb, 0.5, 100), 1e-3)


def test_activations() -> None:
    # Of 256 codes a few lie at a half, which falls to either side by the last digit of the function.
    ours, theirs = both(60, 70)
    offered = torch.ops.quantized
    agree(F.hardswish(ours, 0.02, 5), offered.hardswish(theirs, 0.02, 5), 0.02)
    agree(F.elu(ours, 0.03, 40, 0.7), offered.elu(theirs, 0.03, 40, 0.7), 0.02)
    agree(F.leaky_relu(ours, 0.2, False, 0.03, 40), offered.leaky_relu(theirs, 0.2, False, 0.03, 40), 0.02)
    agree(wb.sigmoid(ours), torch.sigmoid(theirs), 0.02)
    agree(wb.tanh(ours), torch.tanh(theirs), 0.02)
    agree(wb.nn.functional.hardsigmoid(ours), torch.nn.functional.hardsigmoid(theirs), 0.02)
    agree(wb.nn.functional.gelu(ours), torch.nn.functional.gelu(theirs), 0.02)


def test_norms() -> None:
    ours, theirs = both(3, 6, 4, 5)
    weight, bias = RANDOM.random(6).astype(np.float32) + 0.5, RANDOM.standard_normal(6).astype(np.float32)
    w, b, tw, tb = new(weight), new(bias), torch.tensor(weight), torch.tensor(bias)
    offered = torch.ops.quantized
    # They sum codes as whole numbers, and factors as floats: halves fall to either side.
    agree(
        F.group_norm(ours, 2, w, b, 1e-5, 0.03, 120),
        offered.group_norm(theirs, 2, tw, tb, 1e-5, 0.03, 120),
        0.01,
    )
    agree(
        F.instance_norm(ours, w, b, 1e-5, 0.03, 120),
        offered.instance_norm(theirs, tw, tb, 1e-5, 0.03, 120),
        0.01,
    )
    last, tlast = new(np.ones((4, 5), np.float32)), torch.ones(4, 5)
    found = F.layer_norm(ours, [4, 5], last, last, 1e-5, 0.03, 120)
    agree(found, offered.layer_norm(theirs, [4, 5], tlast, tlast, 1e-5, 0.03, 120), 0.01)


@pytest.mark.parametrize("zero", [0, 90, 91])
@pytest.mark.parametrize("last", [True, False])
def test_interpolation(zero: int, last: bool) -> None:
    ours, theirs = both(2, 5, 8, 6, zero=zero)
    theirs = theirs.contiguous(memory_format=torch.channels_last) if last else theirs
    mine, other = wb.nn.functional.interpolate, torch.nn.functional.interpolate
    for told in ({"scale_factor": 2}, {"scale_factor": 2, "align_corners": True}, {"scale_factor": 4}):
        agree(mine(ours, mode="bilinear", **told), other(theirs, mode="bilinear", **told), 1e-3)
    # Weights that are no halves of halves: theirs are floats, and what lies next to a half falls to either side.
    for size in ((11, 9), (5, 3), (1, 20)):
        agree(mine(ours, size, mode="bilinear"), other(theirs, size, mode="bilinear"), 0.04)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax(axis: int) -> None:
    # Only their engine for phones has it, for the last dim; the layer there is what computes it.
    ours, theirs = both(9, 33, 40)
    numbers = torch.softmax(theirs.dequantize(), axis)
    found = wb.softmax(ours, axis)
    expected = torch.quantize_per_tensor(numbers, found.q_scale(), found.q_zero_point(), torch.quint8)
    agree(found, expected, 1e-3)


def test_norms_by_root_mean_squares() -> None:
    ours, theirs = both(7, 30)
    weight = RANDOM.random(30).astype(np.float32)
    numbers = torch.nn.functional.rms_norm(theirs.dequantize(), (30,), torch.tensor(weight), 1e-5)
    found = F.rms_norm(ours, 30, new(weight), 1e-5, 0.03, 100)
    agree(found, torch.quantize_per_tensor(numbers, 0.03, 100, torch.quint8), 0.01)


@pytest.mark.parametrize("bits", [8, 4])
def test_tables_of_embeddings(bits: int) -> None:
    weight = torch.from_numpy(RANDOM.standard_normal((50, 24)).astype(np.float32))
    kind = torch.quint8 if bits == 8 else torch.quint4x2
    low = weight.amin(1)
    scale = (weight.amax(1) - low) / (2**bits - 1)
    theirs = torch.quantize_per_channel(weight, scale, -low / scale, 0, kind)
    table = new(
        QuantizedArray(
            np.rint(((weight - low[:, None]) / scale[:, None]).numpy()).clip(0, 2**bits - 1).astype(np.uint8),
            scale.numpy(), (-low / scale).numpy(), wb.quint8 if bits == 8 else wb.quint4x2, 0,
        )
    )  # fmt: skip
    places, edges = RANDOM.integers(0, 50, 30), np.array([0, 7, 7, 20, 30])
    rows = theirs.dequantize()[torch.from_numpy(places)]
    out: dict[str, Any] = {"scale": None, "zero_point": 0, "qmin": 0, "qmax": 255}
    found = ops.quantized_embedding(new(places), table, **out)
    np.testing.assert_allclose(found.numpy(), rows.numpy(), rtol=1e-5, atol=1e-5)
    bags = ops.quantized_embedding_bag(new(places), table, new(edges), mode="sum", padding=-1)
    prepacked = torch.ops.quantized.embedding_bag_prepack(theirs)
    given = torch.from_numpy(places), torch.from_numpy(edges[:-1])
    other = getattr(torch.ops.quantized, "embedding_bag_byte" if bits == 8 else "embedding_bag_4bit")(
        prepacked, *given, False, 0, False, None, None, False
    )
    # Theirs keeps scales of four bits in 16.
    np.testing.assert_allclose(bags.numpy(), other.numpy(), atol=1e-4 if bits == 8 else 0.01)


def test_pooling_and_resizing() -> None:
    ours, theirs = both(2, 5, 8, 6)
    mine, other = wb.nn.functional, torch.nn.functional
    agree(mine.avg_pool2d(ours, 2), other.avg_pool2d(theirs, 2), 0.01)
    agree(mine.adaptive_avg_pool2d(ours, (3, 2)), other.adaptive_avg_pool2d(theirs, (3, 2)), 0.01)
    agree(mine.max_pool2d(ours, 2), other.max_pool2d(theirs, 2))
    agree(
        mine.interpolate(ours, scale_factor=2, mode="nearest"),
        other.interpolate(theirs, scale_factor=2, mode="nearest"),
    )
    agree(ours.mean(dim=(2, 3)), theirs.mean(dim=(2, 3)), 0.01)

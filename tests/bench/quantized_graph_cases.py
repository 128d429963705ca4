"""Whole networks on codes, compiled: against floating point, PyTorch's on its x86 engine, and OpenVINO's by NNCF."""

from __future__ import annotations

import importlib
import io
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.ao.quantization import get_default_qconfig_mapping
from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

import workbench as wb
from tests.bench.measure import Case, Work
from tests.peers.fx.models import with_torch

__all__ = ["quantized_graph_cases"]

q = wb.quantization

_ROOMS = {"resnet50": "resnet", "mobilenet_v2": "mobilenet"}
_CALLED = {"resnet50": "ResNet-50", "mobilenet_v2": "MobileNetV2"}


def _images(batch: int) -> Any:
    return np.random.default_rng(0).standard_normal((batch, 3, 224, 224)).astype(np.float32)


def _model(name: str) -> Any:
    """A network with statistics as one has that has learnt: as it is drawn it ends in one number for all images."""
    wb.manual_seed(0)
    model = getattr(wb.models, name)().eval()
    for module in model.modules():
        if isinstance(module, wb.nn.BatchNorm2d):
            module.weight.data.uniform_(0.5, 1.5)
            module.running_var.uniform_(0.5, 1.5)
    return model


def _calls(model: Any, x: Any) -> Work:
    def call() -> None:
        with wb.no_grad():
            model(x)

    return call


def _ours(name: str, x: Any) -> Work:
    prepared = q.prepare_fx(_model(name), q.get_default_qconfig_mapping("x86"), (x,))
    with wb.no_grad():
        prepared(x)
    return _calls(wb.compile(q.convert_fx(prepared)), x)


def _torch(name: str, x: Any) -> Work:
    torch.backends.quantized.engine = "x86"
    given = torch.from_numpy(x.numpy())
    model = getattr(with_torch(_ROOMS[name]), name)().eval()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        prepared = prepare_fx(model, get_default_qconfig_mapping("x86"), (given,))
        prepared(given)
        converted = convert_fx(prepared)

    def call() -> None:
        with torch.no_grad():
            converted(given)

    return call


def _openvino(name: str, x: Any) -> Work:
    """The same weights, quantized by NNCF with its defaults, tuned for single calls."""
    # Not everybody has them; `Case.needs` asks first.
    openvino, nncf = importlib.import_module("openvino"), importlib.import_module("nncf")
    file = io.BytesIO()
    wb.onnx.save(_model(name), file, x)
    core = openvino.Core()
    network = core.read_model(file.getvalue(), b"")
    network.reshape({network.inputs[0].any_name: list(x.shape)})
    quantized = nncf.quantize(network, nncf.Dataset([x.numpy()]))
    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": wb.get_num_threads()}
    request = core.compile_model(quantized, "CPU", settings).create_infer_request()
    request.set_input_tensor(0, openvino.Tensor(x.numpy()))
    return request.infer  # type: ignore[no-any-return]


Peer = Callable[[str, Any], Work]


def _beside(name: str, batch: int, peer: Peer) -> Callable[[], tuple[Work, Work]]:
    def made() -> tuple[Work, Work]:
        x = wb.tensor(_images(batch))
        return _ours(name, x), peer(name, x)

    return made


def quantized_graph_cases() -> Iterator[Case]:
    """Rows of the table."""
    for name, batch, own, own_target, torch_target, openvino_target in (
        ("resnet50", 1, "own fp32, compiled", 1 / 3.5, 0.9, 1.15),
        ("resnet50", 8, "own fp32, compiled", 1 / 3.5, 0.9, 1.15),
        ("mobilenet_v2", 1, "own fp32, eager", 1 / 3.5, 0.6, 1.2),
    ):
        called = f"{_CALLED[name]} int8 of {'an image' if batch == 1 else f'{batch} images'}, compiled"
        compiled = own.endswith("compiled")

        def floats(name: str, x: Any, compiled: bool = compiled) -> Work:
            return _calls(wb.compile(_model(name)) if compiled else _model(name), x)

        yield Case(called, own, round(own_target, 3), _beside(name, batch, floats), rounds=11)
        yield Case(called, "PyTorch int8, x86", torch_target, _beside(name, batch, _torch), alone=True)
        peer = _beside(name, batch, _openvino)
        yield Case(called, "OpenVINO int8, by NNCF", openvino_target, peer, alone=True, needs="nncf")

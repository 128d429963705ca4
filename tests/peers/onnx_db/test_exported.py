"""Models that PyTorch writes as ONNX files: what they give here, and their gradients, are those of PyTorch."""

from __future__ import annotations

import io
import logging
import warnings

import numpy as np
import pytest

import workbench as wb
from workbench.interop.torch_modules import from_module

pytest.importorskip("onnx")
torch = pytest.importorskip("torch")


class Convolutions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, 2, 1), torch.nn.BatchNorm2d(8), torch.nn.Hardswish(),
            torch.nn.MaxPool2d(2, ceil_mode=True), torch.nn.ConvTranspose2d(8, 6, 3, 2, 1, 1),
            torch.nn.AdaptiveAvgPool2d(1),
        )  # fmt: skip
        self.head = torch.nn.Linear(6, 5)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.LSTM(8, 6, 2, bidirectional=True, batch_first=True)
        self.second = torch.nn.GRU(12, 4)

    def forward(self, x):
        rows, _ = self.first(x)
        return self.second(rows.transpose(0, 1))[0]


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True)

    def forward(self, x):
        return self.layer(x) + torch.nn.functional.gelu(x).cumsum(1)


MODELS = {
    "convolutions": (Convolutions, (2, 3, 17, 19), {0: "batch", 2: "height", 3: "width"}, 11),
    "recurrent": (Recurrent, (3, 7, 8), {0: "batch", 1: "time"}, 14),
    "attention": (Attention, (2, 5, 16), {0: "batch"}, 17),
}


@pytest.mark.parametrize("name", MODELS)
def test_an_exported_model_gives_what_pytorch_gives(name, capsys):
    kind, sizes, names, version = MODELS[name]
    torch.manual_seed(0)
    theirs, x, file = kind().eval(), torch.randn(*sizes), io.BytesIO()
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this way of writing files is the older of PyTorch's two
        torch.onnx.export(
            theirs,
            (x,),
            file,
            opset_version=version,
            input_names=["x"],
            dynamic_axes={"x": names},
            dynamo=False,
        )
    capsys.readouterr()
    ours = wb.onnx.load(file.getvalue())
    assert ours.graph.inputs[0].tensor.dims.names[0] == "batch"
    own = wb.from_numpy(x.numpy().copy()).requires_grad_()
    x.requires_grad_()
    wanted, got = theirs(x), ours(own)
    np.testing.assert_allclose(got.detach().numpy(), wanted.detach().numpy(), rtol=1e-4, atol=1e-5)
    wanted.square().sum().backward()
    got.square().sum().backward()
    np.testing.assert_allclose(own.grad.numpy(), x.grad.numpy(), rtol=1e-4, atol=1e-5)
    assert all(one.grad is not None for one in ours.parameters())
    # A graph of ops: for other sizes of the batch than that of the trace.
    graph = wb.graph.trace(ours, own.detach())
    more = wb.cat([own.detach()] * 2)
    assert wb.allclose(graph(more), ours(more), atol=1e-6)


def test_an_opened_model_is_explained_as_its_original_is(capsys):
    torch.manual_seed(0)
    theirs = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2)).eval()
    x, file = torch.randn(2, 4), io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(theirs, (x,), file, input_names=["x"], dynamic_axes={"x": {0: "N"}}, dynamo=False)
    capsys.readouterr()
    explained = [
        wb.attribution.IntegratedGradients(module).attribute(wb.from_numpy(x.numpy().copy()), target=1)
        for module in (wb.onnx.load(file.getvalue()), from_module(theirs))
    ]
    assert wb.allclose(*explained, rtol=1e-4)

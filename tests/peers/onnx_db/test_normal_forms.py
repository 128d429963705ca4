"""What PyTorch's exporter writes out in small operators, as older versions need it, becomes the house's ops."""

from __future__ import annotations

import io
import math
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.graph import trace
from workbench.graph.passes import common_subexpressions, freeze, inline, normal_forms, peephole, run_passes

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
functional = torch.nn.functional


class Layer(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A layer of an encoder; attention by PyTorch's function, or written out as older programs have it."""

    def __init__(self, how: str, activation: Any) -> None:
        super().__init__()
        self.how, self.activation = how, activation
        self.queries, self.keys, self.values = (torch.nn.Linear(24, 24) for _ in range(3))
        self.out, self.first, self.second = (
            torch.nn.Linear(*sizes) for sizes in ((24, 24), (24, 48), (48, 24))
        )
        self.before, self.between = torch.nn.LayerNorm(24), torch.nn.LayerNorm(24, eps=1e-12)

    def forward(self, x: Any, mask: Any) -> Any:
        h = self.before(x)
        q, k, v = (
            one(h).view(x.shape[0], x.shape[1], 4, 6).transpose(1, 2)
            for one in (self.queries, self.keys, self.values)
        )
        far = (1.0 - mask[:, None, None, :].float()) * -10000.0
        if self.how == "function":
            y = functional.scaled_dot_product_attention(q, k, v, far)
        else:
            y = torch.softmax(q @ k.transpose(2, 3) / math.sqrt(6) + far, -1) @ v
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        return x + self.second(self.activation(self.first(self.between(x))))


ACTIVATIONS = {
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
    "hardswish": functional.hardswish,
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("how", "version"), [("function", 14), ("written out", 11), ("written out", 16)])
def test_a_layer_of_an_encoder_is_found_in_the_file(
    how: str, version: int, activation: str, tmp_path: Any
) -> None:
    torch.manual_seed(0)
    layer = Layer(how, ACTIVATIONS[activation]).eval()
    stream = io.BytesIO()
    example = torch.rand(2, 5, 24), torch.ones(2, 5).long()
    with warnings.catch_warnings():
        # The exporter that writes such files is the older one, and says so.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            layer, example, stream, opset_version=version, dynamo=False, input_names=["x", "mask"],
            dynamic_axes={"x": {0: "n", 1: "t"}, "mask": {0: "n", 1: "t"}},
        )  # fmt: skip
    path = tmp_path / "layer.onnx"
    path.write_bytes(stream.getvalue())
    with wb.no_grad():
        graph = trace(wb.onnx.load(path), wb.ones(2, 5, 24), wb.ones(2, 5).long())
    passes = [freeze, inline, peephole, common_subexpressions, normal_forms, peephole, common_subexpressions]
    made = run_passes(graph, passes)[-1].after
    found = Counter(node.op.name if node.op else "" for node in made.nodes)
    assert [found[name] for name in ("layer_norm", "attention", activation, "linear")] == [2, 1, 1, 6]
    assert not {"matmul", "softmax", "erf", "tanh", "sigmoid", "mean", "sqrt"} & set(found)
    for count, steps in ((2, 5), (3, 7)):
        x = torch.rand(count, steps, 24)
        mask = (torch.arange(steps)[None] < torch.arange(count)[:, None] + 2).long()
        with torch.no_grad():
            expected = layer(x, mask).numpy()
        given = wb.from_numpy(x.numpy()), wb.from_numpy(mask.numpy())
        np.testing.assert_allclose(made(*given).detach().numpy(), expected, rtol=1e-4, atol=1e-5)

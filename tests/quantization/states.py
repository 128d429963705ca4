"""A network of every kind of converted layer, and what PyTorch saved of it; ``python -m tests.quantization.states``."""

from __future__ import annotations

import importlib
import io
from pathlib import Path
from typing import Any

import numpy as np

STATE = Path(__file__).with_name("converted.pt")
"""The state of the network that PyTorch converted, as `torch.save` writes it, with an input and its answer."""


def network(t: Any) -> Any:
    """Return the network of `t`, which is the workbench or PyTorch."""
    nn, q = t.nn, t.ao.quantization

    class Net(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
            self.conv1, self.relu = nn.Conv2d(1, 4, 3), nn.ReLU()
            self.conv2 = nn.Conv2d(4, 4, 1, bias=False)
            self.skip = t.ao.nn.quantized.FloatFunctional()
            self.norm, self.swish = nn.LayerNorm(4), nn.Hardswish()
            self.fc, self.last = nn.Linear(4, 6), nn.Linear(6, 3, bias=False)

        def forward(self, x: Any) -> Any:
            x = self.relu(self.conv1(self.quant(x)))
            x = self.skip.add(x, self.conv2(x))
            return self.dequant(self.last(self.fc(self.swish(self.norm(x.mean([2, 3]))))))

    return Net()


def converted(t: Any, x: Any, weight: Any = None) -> Any:
    """Return the network, converted after it has seen an input; of all eight bits unless `weight` says less."""
    q = t.ao.quantization
    model = q.fuse_modules(network(t).eval(), [["conv1", "relu"]])
    weight = weight or q.default_per_channel_weight_observer
    model.qconfig = q.QConfig(q.MinMaxObserver.with_args(), weight)
    prepared = q.prepare(model)
    prepared(x)
    return q.convert(prepared)


def main() -> None:
    """Record the state anew."""
    torch = importlib.import_module("torch")
    torch.manual_seed(0)
    x = torch.randn(8, 1, 6, 6)
    model = converted(torch, x)
    file = io.BytesIO()
    torch.save({"state": model.state_dict(), "x": x, "answer": model(x)}, file)
    STATE.write_bytes(file.getvalue())
    assert np.isfinite(model(x).numpy()).all()


if __name__ == "__main__":
    main()

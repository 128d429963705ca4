"""Layers joined with a function or a sum behind them, as oneDNN computes them for PyTorch: codes and states."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.peers.saturation import weight_observer

torch = pytest.importorskip("torch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("torch.ao.quantization")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

KINDS = ["LinearTanh", "LinearLeakyReLU", "ConvAdd2d", "ConvAddReLU2d"]


@pytest.fixture(autouse=True)
def engines_as_before() -> Iterator[None]:
    before = wb.backends.quantized.engine, torch.backends.quantized.engine
    yield
    wb.backends.quantized.engine, torch.backends.quantized.engine = before


def arrays(kind: str, seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    sizes = [(64, 5)] if kind.startswith("Linear") else [(4, 2, 6, 6), (4, 3, 6, 6)]
    return [random.standard_normal(one).astype(np.float32) for one in sizes]


def joined(library: Any, kind: str) -> Any:
    nn = library.nn
    made = getattr(library.ao.nn.intrinsic, kind)
    if kind.startswith("Linear"):
        return made(nn.Linear(5, 7), nn.Tanh() if kind == "LinearTanh" else nn.LeakyReLU(0.3))
    return made(nn.Conv2d(2, 3, 3, padding=1), library.add, *([nn.ReLU()] if "ReLU" in kind else []))


def converted(library: Any, kind: str, state: Any = None) -> Any:
    """Return a model with one such layer, in floating point and converted."""
    q = library.ao.quantization

    class Net(library.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.stubs = library.nn.ModuleList(q.QuantStub() for _ in arrays(kind, 0))
            self.layer, self.dequant = joined(library, kind), q.DeQuantStub()

        def forward(self, *inputs: Any) -> Any:
            codes = [stub(one) for stub, one in zip(self.stubs, inputs, strict=True)]
            return self.dequant(self.layer(*codes))

    model = Net().eval()
    if state is not None:
        model.load_state_dict(state)
    model.qconfig = q.QConfig(q.MinMaxObserver.with_args(), weight_observer(library))
    prepared = q.prepare(model)
    prepared(*map(library.tensor, arrays(kind, 1)))
    own = {getattr(library.ao.nn.intrinsic, kind): getattr(library.ao.nn.intrinsic.quantized, kind)}
    return model, q.convert(prepared, mapping={**q.get_default_static_quant_module_mappings(), **own})


@pytest.mark.parametrize("kind", KINDS)
def test_codes_and_states_are_the_same(kind: str) -> None:
    wb.backends.quantized.engine = torch.backends.quantized.engine = "onednn"
    torch.manual_seed(0)
    floats, theirs = converted(torch, kind)
    _, mine = converted(wb, kind, {key: wb.tensor(one.numpy()) for key, one in floats.state_dict().items()})
    assert type(mine.layer) is getattr(wb.ao.nn.intrinsic.quantized, kind)
    inputs = arrays(kind, 2)

    def equal() -> float:
        found = mine(*map(wb.tensor, inputs)).numpy(), theirs(*map(torch.tensor, inputs)).numpy()
        assert np.ptp(found[1]) > 0
        # Functions are computed in another order, and may meet a half.
        return float(np.isclose(*found, rtol=0, atol=1e-6).mean())

    assert equal() > 0.99
    _, other = converted(torch, kind)
    file = io.BytesIO()
    torch.save(other.state_dict(), file)
    assert (
        str(mine.load_state_dict(wb.load(io.BytesIO(file.getvalue())))) == "<All keys matched successfully>"
    )
    assert equal() < 0.9
    file = io.BytesIO()
    wb.save(mine.state_dict(), file)
    theirs.load_state_dict(torch.load(io.BytesIO(file.getvalue())))
    assert equal() > 0.99

"""Layers joined with a function or a sum behind them: by layers and as a graph, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn, quantization
from workbench.base.errors import QuantizationError
from workbench.quantization.fuse import find_patterns

intrinsic = wb.ao.nn.intrinsic
JOINED = {
    (nn.Linear, nn.Tanh): lambda is_qat, linear, tanh: intrinsic.LinearTanh(linear, tanh),
    (nn.Linear, nn.LeakyReLU): lambda is_qat, linear, leaky: intrinsic.LinearLeakyReLU(linear, leaky),
}


@pytest.fixture(autouse=True)
def _drawn_from_one_seed() -> None:
    wb.manual_seed(0)


@pytest.mark.parametrize("after", [nn.Tanh(), nn.LeakyReLU(0.3)], ids=["tanh", "leaky"])
def test_what_is_joined_by_hand_is_quantized_once(after: Any) -> None:
    model, x = nn.Sequential(nn.Linear(5, 4), after).eval(), wb.randn(64, 5)
    fused = quantization.fuse_modules(
        model, [["0", "1"]], fuse_custom_config_dict={"additional_fuser_method_mapping": JOINED}
    )
    assert type(model[0]) is nn.Linear and type(fused[1]) is nn.Identity
    integer = quantization.quantize(fused, [x])
    layer: Any = integer.module[0]
    assert type(layer) in (
        intrinsic.quantized.LinearTanh,
        intrinsic.quantized.LinearLeakyReLU,
    )
    if isinstance(after, nn.LeakyReLU):
        assert layer.negative_slope == 0.3 and "negative_slope=0.3" in repr(layer)
    np.testing.assert_allclose(integer(x).numpy(), model(x).detach().numpy(), rtol=0, atol=0.1)


def test_nothing_is_joined_so_unasked() -> None:
    model = nn.Sequential(nn.Linear(5, 4), nn.Tanh()).eval()
    assert find_patterns(model, wb.randn(2, 5)) == []
    with pytest.raises(QuantizationError, match=r"did not find fuser method for: \(Linear, Tanh\)"):
        quantization.fuse_modules(model, [["0", "1"]])
    with pytest.raises(
        QuantizationError, match=r"fuse_custom_config_dict has 'methods', and takes 'additional_fuser_"
    ):
        quantization.fuse_modules(model, [["0", "1"]], fuse_custom_config_dict={"methods": {}})


@pytest.mark.parametrize("kind", ["ConvAdd2d", "ConvAddReLU2d"])
def test_sums_behind_convolutions(kind: str) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = quantization.QuantStub(), quantization.QuantStub()
            rest = [nn.ReLU()] if kind == "ConvAddReLU2d" else []
            self.layer = getattr(intrinsic, kind)(nn.Conv2d(2, 3, 3, padding=1), wb.add, *rest)
            self.dequant = quantization.DeQuantStub()

        def forward(self, x: Any, y: Any) -> Any:
            return self.dequant(self.layer(self.first(x), self.second(y)))

    model, x, y = Net().eval(), wb.randn(4, 2, 6, 6), wb.randn(4, 3, 6, 6)
    model.qconfig = quantization.default_qconfig
    prepared = quantization.prepare(model)
    prepared(x, y)
    integer: Any = quantization.convert(prepared)
    assert type(integer.layer) is getattr(intrinsic.quantized, kind)
    scales = [float(one.scale) for one in (integer.first, integer.second, integer.layer)]
    wanted = model(x, y).detach().numpy()
    np.testing.assert_allclose(integer(x, y).numpy(), wanted, rtol=0, atol=2 * sum(scales))
    codes = wb.quantize_per_tensor(x, 0.1, 100, wb.quint8)
    with pytest.raises(
        QuantizationError, match=rf"quantized {kind} takes a quantized tensor, and got float32"
    ):
        integer.layer(codes, y)
    # As a graph the sum is one of its own.
    traced = quantization.prepare_fx(model, quantization.get_default_qconfig_mapping(), (x, y))
    traced(x, y)
    np.testing.assert_allclose(
        quantization.convert_fx(traced)(x, y).numpy(), wanted, rtol=0, atol=3 * sum(scales)
    )

"""Models that make codes of their input and have nothing but layers that pass these on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q

BODIES: dict[str, list[Any]] = {
    "nothing": [],
    "largest": [nn.MaxPool2d(2), nn.Flatten()],
    "mean": [nn.AvgPool2d(2), nn.ReLU()],
    "plane": [nn.AdaptiveAvgPool2d(1), nn.Flatten()],
    "cut": [nn.ReLU6(), nn.Dropout()],
    "fixed": [nn.Sigmoid()],
    "stretched": [nn.Identity(), nn.Upsample(scale_factor=2)],
}


class Stubbed(nn.Module):
    def __init__(self, *body: Any) -> None:
        super().__init__()
        self.quant, self.body, self.dequant = q.QuantStub(), nn.Sequential(*body), q.DeQuantStub()

    def forward(self, x: Any) -> Any:
        return self.dequant(self.body(self.quant(x)))


def images() -> Any:
    return wb.randn(2, 3, 8, 8)


@pytest.mark.parametrize("trained", [False, True], ids=["calibrated", "trained"])
@pytest.mark.parametrize("name", BODIES)
def test_the_stub_is_observed_and_converted(name: str, trained: bool) -> None:
    model, x = Stubbed(*BODIES[name]).train(trained), images()
    prepared = q.prepare_qat(model) if trained else q.prepare(model)
    prepared(x)
    assert prepared.calibration.names == ("input",)
    integer = q.convert(prepared.eval())
    assert type(integer.quant) is q.quantized.Quantize and type(integer.dequant) is q.quantized.DeQuantize
    codes = integer.body(integer.quant(x))
    assert codes.dtype is wb.quint8
    np.testing.assert_array_equal(integer(x).numpy(), codes.dequantize().numpy())
    # Nothing after the input rounds by more than it did: half a step there, and half a step of a mean.
    step = float(integer.quant.scale)
    np.testing.assert_allclose(integer(x).numpy(), model.eval()(x).numpy(), rtol=0, atol=1.01 * step)


def test_such_a_model_is_quantized_in_one_call() -> None:
    x = images()
    model = q.QuantWrapper(nn.Sequential(nn.MaxPool2d(2), nn.ReLU()))
    integer = q.quantize(model, [x], evaluate=x)
    assert integer.calibration.names == ("input",)
    assert q.sqnr(model.eval()(x), integer(x)) > 25
    with pytest.raises(wb.QuantizationError, match="not calibrated: quant has seen no values"):
        q.convert(q.prepare(Stubbed(nn.MaxPool2d(2)).eval()))


@pytest.mark.parametrize(
    "model",
    [
        nn.Sequential(nn.MaxPool2d(2), nn.ReLU()),
        nn.Sequential(q.QuantStub(), nn.ReLU(), q.DeQuantStub()),
    ],
    ids=["without a stub", "without a qconfig"],
)
def test_where_nobody_asks_for_codes_nothing_is_prepared(model: Any) -> None:
    if any(isinstance(one, q.QuantStub) for one in model):
        model.qconfig = None
    message = (
        r"nothing to quantize: .* nor another layer whose results have a scale of their own; set model\.qconfig = "
        r"get_default_qconfig\(\), or give a model that only passes codes on, .* a QuantStub and a DeQuantStub of"
    )
    for way in (q.prepare, q.prepare_qat):
        before = [*model.named_modules()]
        with pytest.raises(wb.QuantizationError, match=message):
            way(model.train(way is q.prepare_qat))
        assert [*model.named_modules()] == before


def test_a_layer_that_stays_in_floating_point_refuses_codes() -> None:
    model, x = Stubbed(nn.Conv2d(3, 3, 1)).eval(), images()
    model.qconfig, model.body.qconfig = q.default_qconfig, None
    prepared = q.prepare(model)
    prepared(x)
    with pytest.raises(wb.DTypeError, match=r"conv2d is not defined for quantized tensors: .*dequantize\(\)"):
        q.convert(prepared)(x)

"""What a summary says of a model, and that the model stays as it is."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.base.errors import DimensionError
from workbench.models import DigitsNet


def test_dims_parameters_operations_and_memory() -> None:
    found = wb.summary(DigitsNet(), N=2, C=1, H=28, W=28)
    conv = found["conv2"]
    assert conv.outputs[0][0].names == ("N", "C", "H", "W")
    assert conv.outputs[0][0].sizes == (2, 64, 14, 14)
    assert conv.parameters == conv.trainable == 64 * 32 * 9 + 64
    assert conv.flops == pytest.approx(2 * 2 * 64 * 14 * 14 * 32 * 9, rel=0.01)
    assert conv.memory == 2 * 64 * 14 * 14 * 4
    assert found.total.parameters == sum(one.parameters for one in found if one.depth == 1)
    assert found.total.flops == sum(one.flops for one in found if one.depth == 1)
    assert "421,834 parameters" in repr(found)


def test_the_model_stays_as_it_is() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout())
    model[1].eval()
    before = {key: value.numpy().copy() for key, value in model.state_dict().items()}
    wb.summary(model, N=2, C=3)
    assert [one.training for one in model] == [True, False, True]
    for key, value in model.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[key])
    with pytest.raises(DimensionError):
        wb.summary(model, N=2, C=5)
    assert [one.training for one in model] == [True, False, True]
    assert model(wb.randn(2, 3)).requires_grad


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.unused = nn.Linear(3, 3)

    def forward(self, x: wb.Tensor) -> wb.Tensor:
        x = self.layer(self.layer(x))
        return x if x.sum().item() < 1 else -x  # looks at numbers: no rule can know


def test_calls_are_counted_and_a_model_may_look_at_numbers() -> None:
    found = wb.summary(Shared(), N=2, C=3)
    assert found["layer"].calls == 2
    assert found["unused"].calls == 0 and found["unused"].outputs == ()
    model = Shared()
    model.layer.weight.requires_grad_(False)
    assert wb.summary(model, wb.zeros(2, 3))["layer"].trainable == 3
    assert "9 of them frozen" in repr(wb.summary(model, wb.zeros(2, 3)))


def test_html_is_escaped_and_bounded() -> None:
    evil = type("<script>", (nn.Sequential,), {})
    html = wb.summary(evil(*[nn.ReLU() for _ in range(600)]), N=1, C=3)._repr_mimebundle_()["text/html"]
    assert "<script>" not in html and "&lt;script&gt;" in html
    assert "201 more modules" in html
    assert len(html) < 500_000


def test_refusals() -> None:
    with pytest.raises(TypeError, match="takes the dims of one input by name"):
        wb.summary(nn.ReLU())
    with pytest.raises(TypeError, match="both were given"):
        wb.summary(nn.ReLU(), wb.zeros(2), N=2)
    with pytest.raises(ValueError, match="N must be a whole number, at least 0, got -1"):
        wb.summary(nn.ReLU(), N=-1)
    with pytest.raises(KeyError, match="no module at 'x'"):
        wb.summary(nn.ReLU(), N=1)["x"]


def test_views_take_no_memory() -> None:
    found = wb.summary(nn.Flatten(), N=2, C=3, H=4)
    assert found.total.memory == 0

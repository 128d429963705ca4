"""Graph mode on programs that write into their values: what is read behind a write is what was written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.nn import functional

MAPPING = q.get_default_qconfig_mapping("onednn")


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fc, self.relu = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(8, 8), nn.ReLU(inplace=True)


class ByMethods(Layers):
    def forward(self, x: Any) -> Any:
        y = self.conv(x)
        y.relu_()
        y += 1.0
        return y.mean((2, 3))


class OfACopy(Layers):
    def forward(self, x: Any) -> Any:
        y = self.conv(x)
        z = y.clone()
        z.relu_()
        return self.fc((y + z).mean((2, 3)))


class ByAFunction(Layers):
    def forward(self, x: Any) -> Any:
        y = self.conv(x)
        return self.fc(functional.relu(y, inplace=True).mean((2, 3))) + y.mean((2, 3))


class ByALayer(Layers):
    def forward(self, x: Any) -> Any:
        y = self.conv(x)
        z = self.relu(y)
        return (y + z).mean((2, 3))


class OfWhatIsGiven(Layers):
    def forward(self, x: Any) -> Any:
        x.mul_(3.0)
        return self.conv(x).mean((2, 3))


class OfAView(Layers):
    def forward(self, x: Any) -> Any:
        y = self.conv(x)
        z = y[:, :4]
        z.mul_(2.0)
        return self.fc(y.mean((2, 3)))


class OfAViewUnread(Layers):
    def forward(self, x: Any) -> Any:
        z = self.conv(x)[:, :4]
        z.mul_(2.0)
        return z.mean((2, 3))


@pytest.mark.parametrize("kind", [ByMethods, OfACopy, ByAFunction, ByALayer, OfWhatIsGiven, OfAViewUnread])
def test_what_is_read_behind_a_write_is_what_was_written(kind: type) -> None:
    wb.manual_seed(0)
    model, x = kind().eval(), wb.randn(16, 3, 8, 8)
    # So that what is rectified is far from what it was.
    model.conv.bias.data.sub_(1.0)
    before = x.numpy().copy()
    prepared = q.prepare_fx(model, MAPPING, (x,))
    np.testing.assert_array_equal(x.numpy(), before)
    with wb.no_grad():
        prepared(x.clone())
        exact, found = model(x.clone()), q.convert_fx(prepared)(x.clone())
    assert q.sqnr(exact, found) > 20


WRITES: dict[str, Any] = {
    "copy_": lambda y, x: y.copy_(x * 3),
    "copy_ of another type": lambda y, x: y.copy_((x * 3).half()),
    "copy_ of one sample": lambda y, x: y.copy_(x[:1] * 3),
    "fill_": lambda y, x: y.fill_(4.0),
    "fill_ by name": lambda y, x: y.fill_(value=3.0),
    "zero_": lambda y, x: y.zero_(),
    "relu_": lambda y, x: functional.relu_(y),
    "hardtanh_": lambda y, x: functional.hardtanh_(y, -0.1, 0.3),
    "threshold_": lambda y, x: functional.threshold_(y, 0.1, 5.0),
    "leaky_relu_": lambda y, x: functional.leaky_relu_(y, 0.3),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_is_written_whole_is_a_new_value(name: str) -> None:
    class Written(Layers):
        def forward(self, x: Any) -> Any:
            x = self.conv(x)
            y = x * 2.0
            WRITES[name](y, x)
            return self.fc((y + x).mean((2, 3)))

    wb.manual_seed(0)
    model, x = Written().eval(), wb.randn(4, 3, 8, 8)
    prepared = q.prepare_fx(model, MAPPING, (x,))
    # How values lie in memory decides in which order they are summed.
    np.testing.assert_allclose(prepared(x).detach(), model(x).detach(), atol=1e-6)
    codes = q.convert_fx(prepared)(x)
    assert q.sqnr(model(x), codes) > 30
    assert q.sqnr(codes, q.convert_to_reference_fx(prepared)(x)) > 50


def test_what_is_read_by_another_name_is_refused() -> None:
    model, x = OfAView().eval(), wb.randn(2, 3, 8, 8)
    with pytest.raises(
        wb.QuantizationError,
        match=r"mul_ .* writes into getitem, and conv shares its memory and is read behind it",
    ):
        q.prepare_fx(model, MAPPING, (x,))


class Sizes(Layers):
    def forward(self, x: wb.Tensor) -> wb.Tensor:
        y = self.conv(x)
        n, c, h, w = y.size()
        return self.fc(y.reshape(n, c, h * w).mean(2))


def test_scripts_that_ask_for_sizes_run_for_others() -> None:
    wb.manual_seed(0)
    model, x = Sizes().eval(), wb.randn(16, 3, 8, 8)
    prepared = q.prepare_fx(wb.jit.script(model), MAPPING, (x,))
    prepared(x)
    integer = q.convert_fx(prepared)
    for other in (x, x[:3]):
        assert q.sqnr(model(other), integer(other)) > 30

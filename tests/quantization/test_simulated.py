"""One graph that computes what each choice of layers in codes would give: the same as converting that choice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.nn import functional as F
from workbench.quantization.batches import batches_of
from workbench.quantization.simulation.simulated import Simulated

MAPPING = q.get_default_qconfig_mapping("onednn")


class Functions(nn.Module):
    """Sums, joins, a fixed range and a weight of its own between layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.side = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Conv2d(3, 4, 1)
        self.body = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8))
        self.weight = nn.Parameter(wb.randn(5, 8) * 0.3)

    def forward(self, x: Any) -> Any:
        x = F.relu(F.relu(self.norm(self.conv(x))) + self.side(x))
        x = wb.cat([F.avg_pool2d(x, 2), F.max_pool2d(x, 2)], dim=1).mean([2, 3])
        return F.linear(self.body(x) + 1.0, self.weight).sigmoid()


@pytest.fixture
def net() -> Any:
    wb.manual_seed(0)
    return Functions().eval()


@pytest.fixture
def x() -> Any:
    wb.manual_seed(1)
    return wb.randn(16, 3, 8, 8)


def converted(model: Any, mapping: Any, x: Any) -> Any:
    prepared = q.prepare_fx(model, mapping, (x[:1],))
    with wb.no_grad():
        prepared(x)
        return q.convert_fx(prepared)(x)


def test_everything_and_nothing(net: Any, x: Any) -> None:
    made = Simulated(net, MAPPING, batches_of(x))
    with wb.no_grad():
        plain = net(x)
    np.testing.assert_allclose(made.run(x).numpy(), plain.numpy(), atol=1e-6)
    np.testing.assert_allclose(made.run(x, {}).numpy(), plain.numpy(), atol=1e-6)
    whole, integer = made.run(x, made.everything()), converted(net, MAPPING, x)
    # Sums are rounded once in integer kernels, and twice here: a code apart here and there.
    assert q.sqnr(integer, whole) > q.sqnr(plain, integer) + 6
    assert q.sqnr(plain, whole) == pytest.approx(q.sqnr(plain, integer), abs=1.5)
    assert {part.name for part in made.parts} >= {
        "conv",
        "side",
        "body.0",
        "body.1",
        "body.2",
        "add",
        "linear_layer",
    }


@pytest.mark.parametrize("name", ["conv", "side", "body.0", "linear_layer", "add", "body.1"])
def test_a_choice_computes_what_converting_it_would(net: Any, x: Any, name: str) -> None:
    made = Simulated(net, MAPPING, batches_of(x))
    for chosen in ({name: None}, {one: None for one in made.everything() if one != name}):
        integer = converted(net, made.mapping(chosen), x)
        with wb.no_grad():
            plain = net(x)
        ratio = q.sqnr(plain, integer)
        assert q.sqnr(integer, made.run(x, chosen)) > ratio + 6
        assert q.sqnr(plain, made.run(x, chosen)) == pytest.approx(ratio, abs=2)


class _Shared(nn.Module):
    """One rectifier behind two layers: neither is joined with it, and both are only clamped."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c, self.relu = nn.Linear(6, 16), nn.Linear(16, 16), nn.Linear(16, 4), nn.ReLU()

    def forward(self, x: Any) -> Any:
        return self.c(self.relu(self.b(self.relu(self.a(x)))))


def test_what_is_only_clamped_is_quantized_behind_its_clamp() -> None:
    wb.manual_seed(0)
    model, x = _Shared().eval(), wb.randn(64, 6)
    made = Simulated(model, MAPPING, batches_of(x))
    assert [made.part_of(node).name for node in made.points()[1:]] == ["a", "b", "c"]  # type: ignore[union-attr]
    with wb.no_grad():
        plain = model(x)
    for chosen in (made.everything(), {"a": None}, {"a": None, "c": None}):
        whole = converted(model, made.mapping(chosen), x)
        assert q.sqnr(whole, made.run(x, chosen)) > q.sqnr(plain, whole) + 1
        assert q.sqnr(plain, made.run(x, chosen)) == pytest.approx(q.sqnr(plain, whole), abs=1)
    found = q.report(model, x, advice=False, progress=False)
    assert found["a"].low == pytest.approx(0, abs=1e-6) and found["a"].output_sqnr > 35


class _Again(nn.Module):
    """A layer that is called twice, with small and with large values; a function of a fixed range behind a sum."""

    def __init__(self) -> None:
        super().__init__()
        self.side, self.shared = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        x = self.shared(self.shared(x) * 100)
        return self.shared((x + self.side(x)).sigmoid())


@pytest.mark.parametrize("name", ["mul", "add", "side", "shared"])
def test_values_share_a_scale_only_where_the_choice_has_them_share_it(name: str) -> None:
    wb.manual_seed(0)
    model, x = _Again().eval(), wb.randn(64, 8)
    made = Simulated(model, MAPPING, batches_of(x))
    assert [part.name for part in made.parts] == ["shared", "mul", "side", "add"]
    with wb.no_grad():
        plain = model(x)
    for chosen in ({name: None}, {one: None for one in made.everything() if one != name}):
        ratio = q.sqnr(plain, converted(model, made.mapping(chosen), x))
        assert q.sqnr(plain, made.run(x, chosen)) == pytest.approx(ratio, abs=1)
    # Left in floating point, calls of one layer have nothing in common.
    if name in ("mul", "add"):
        assert q.sensitivity(model, x, progress=False)[name].alone.sqnr > 30


def test_weights_of_other_bits_and_the_model_stays(net: Any, x: Any) -> None:
    made = Simulated(net, MAPPING, batches_of(x))
    before = {name: one.numpy().copy() for name, one in net.state_dict().items()}
    four = q.bits_qconfig(8, 4)
    fine, coarse = (made.run(x, {"side": config}) for config in (None, four))
    with wb.no_grad():
        assert q.sqnr(net(x), fine) > q.sqnr(net(x), coarse) + 6
    assert np.unique(made.weight(made["side"], four).int_repr().numpy()).size <= 16
    for name, one in net.state_dict().items():
        np.testing.assert_array_equal(one.numpy(), before[name])
    np.testing.assert_array_equal(made["side"].layer.weight.detach().numpy(), before["side.weight"])
    assert made["side"].weights == 12 and made["add"].weights == 0


def test_models_that_cannot_be_simulated(net: Any, x: Any) -> None:
    with pytest.raises(wb.QuantizationError, match=r"Call model\.eval\(\) first"):
        Simulated(net.train(), MAPPING, batches_of(x))
    with pytest.raises(
        wb.QuantizationError, match="has no layer that becomes codes: there is nothing to quantize"
    ):
        Simulated(nn.Sequential(nn.ReLU(), nn.MaxPool2d(2)).eval(), MAPPING, batches_of(x))

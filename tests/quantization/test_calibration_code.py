"""What was chosen by hand, written as code: run, it gives the same observers and the same ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.quantization.calibration_changes import MOST_CHANGES
from workbench.quantization.observer_settings import factory_of


def again(calibration: q.Calibration, **given: Any) -> q.Calibration:
    names: dict[str, Any] = dict(given)
    exec(calibration.code(), names)
    made: q.Calibration = names["prepared"].calibration
    return made


def same(a: q.Calibration, b: q.Calibration) -> None:
    assert a.names == b.names
    for name in a.names:
        assert a[name].scheme == b[name].scheme, name
        assert type(a[name]) is type(b[name]), name
        assert getattr(a[name], "search", "") == getattr(b[name], "search", ""), name
        mine, theirs = a[name].qparams(), b[name].qparams()
        assert all((x == y).all() for x, y in zip(mine, theirs, strict=True)), name


def net() -> Any:
    wb.manual_seed(0)
    return wb.nn.Sequential(wb.nn.Conv2d(1, 6, 3), wb.nn.ReLU(), wb.nn.Flatten(), wb.nn.Linear(216, 4))


def test_static() -> None:
    model = q.fuse_modules(net().eval(), [["0", "1"]])
    prepared = q.prepare(model)
    x = wb.randn(N=16, C=1, H=8, W=8)
    prepared(x)
    calibration = prepared.calibration
    calibration.choose("0.output", rule="kl", bits=4)
    calibration.choose("3.weight", per_channel=False, bits=5, symmetric=False)
    calibration.choose("input", rule="percentile", symmetric=True)
    calibration.set_range("3.output", -0.5, 0.75)
    made = again(calibration, model=model)
    made.model(x)
    same(calibration, made)


def test_with_names_and_parts_in_floating_point() -> None:
    class Named(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = wb.nn.Sequential(wb.nn.Linear(8, 6), wb.nn.ReLU())
            self.head = wb.nn.Linear(6, 2)

        def forward(self, x: Any) -> Any:
            return self.head(self.body(x))

    wb.manual_seed(0)
    model = Named().eval()
    model.head.qconfig = None
    prepared = q.prepare(model, q.default_qconfig)
    x = wb.randn(32, 8)
    prepared(x)
    prepared.calibration.choose("body.0.output", bits=3)
    made = again(prepared.calibration, model=Named().eval())
    assert made.names == ("input", "body.0.weight", "body.0.output")
    assert "set_module_name('head', None)" in prepared.calibration.code()


def test_training() -> None:
    model = net().train()
    prepared = q.prepare_qat(model)
    x = wb.randn(N=16, C=1, H=8, W=8)
    prepared(x)
    calibration = prepared.calibration
    calibration.choose("0.output", rule="l2", bits=4)
    calibration.choose("3.weight", bits=4)
    made = again(calibration, model=model)
    made.model(x)
    for name in calibration.names:
        assert factory_of(calibration[name]) == factory_of(made[name]), name


class Steps(wb.nn.Module):
    """A recurrent layer, which is written with parts, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.rows, self.head = wb.nn.LSTM(6, 8, batch_first=True), wb.nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.rows(x)[0])


@pytest.mark.parametrize("training", [False, True])
def test_layers_made_of_parts(training: bool) -> None:
    wb.manual_seed(0)
    x, model = wb.randn(8, 5, 6), Steps().train(training)
    prepared = q.prepare_qat(model) if training else q.prepare(model)
    prepared(x)
    calibration = prepared.calibration
    calibration.choose("rows.layers.0.layer_fw.cell.hgates.weight", bits=4)
    calibration.choose("rows.layers.0.layer_fw.cell.ogate_cy.output", rule="mse", symmetric=True)
    calibration.choose("head.output", bits=5)
    calibration.set_range("rows.layers.0.layer_fw.cell.gates.output", -0.5, 0.75)
    made = again(calibration, model=model)
    made.model(x)
    for name in calibration.names:
        assert factory_of(calibration[name]) == factory_of(made[name]), name
    assert made["rows.layers.0.layer_fw.cell.gates.output"].override == (-0.5, 0.75)
    # What is imported is needed.
    head, _, rest = calibration.code().partition(")")
    assert all(line.strip(" ,") in rest for line in head.splitlines()[2:])


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_layers_of_a_transformer(activation: str) -> None:
    wb.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, activation=activation, batch_first=True)
    model, x = nn.TransformerEncoder(layer, 1).eval(), wb.randn(8, 5, 8)
    config = q.get_default_qconfig("onednn")
    mapping = q.QConfigMapping().set_global(config).set_module_name("layers.0.linear1", q.default_qconfig)
    prepared = q.prepare(model, mapping.set_module_name("layers.0.self_attn", q.default_qconfig))
    prepared(x)
    calibration = prepared.calibration
    calibration.choose("layers.0.add1.output", bits=5)
    code = calibration.code()
    # Parts that the model has itself are named in the mapping, and others afterwards.
    assert "set_module_name('layers.0.linear1', QConfig(" in code
    assert "set_module_name('layers.0.self_attn', QConfig(" in code
    assert "choose('layers.0.add1.output'" in code and "set_module_name('layers.0', " not in code
    assert "choose('layers.0.linear1" not in code and "choose('layers.0.self_attn" not in code
    made = again(calibration, model=model)
    made.model(x)
    same(calibration, made)


def test_code_says_more_than_can_be_taken_back() -> None:
    x = wb.randn(4, 6)
    prepared = q.prepare_fx(
        wb.nn.Sequential(wb.nn.Linear(6, 3)).eval(), q.get_default_qconfig_mapping(), (x,)
    )
    prepared.calibration.choose("0.output", bits=4)
    for step in range(MOST_CHANGES):
        prepared.calibration.set_range("input", -1.0, 1.0 + step)
    assert prepared.calibration.undo_count == MOST_CHANGES
    assert "quant_max=15" in prepared.calibration.code()


def test_a_kind_of_the_program_is_named() -> None:
    class Own(q.MinMaxObserver):
        pass

    prepared = q.prepare(
        wb.nn.Sequential(wb.nn.Linear(3, 2)).eval(), q.QConfig(Own, q.default_weight_observer)
    )
    assert "# Own is the program's own: import it" in prepared.calibration.code()


def test_a_graph() -> None:
    class Added(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = wb.nn.Linear(6, 6), wb.nn.Linear(6, 3)

        def forward(self, x: Any) -> Any:
            return self.last(self.first(x) + x)

    wb.manual_seed(0)
    model = Added().eval()
    x = wb.randn(32, 6)
    prepared = q.prepare_fx(model, q.get_default_qconfig_mapping(), (x,))
    prepared(x)
    calibration = prepared.calibration
    (added,) = [name for name in calibration.names if name.startswith("add")]
    calibration.choose("last.weight", bits=4)
    calibration.choose(added, rule="kl", bits=6)
    calibration.set_range("last.output", -1.0, 1.0)
    made = again(calibration, model=model, example_inputs=(x,))
    made.model(x)
    same(calibration, made)
    assert q.convert_fx(prepared)(x).tolist() == q.convert_fx(made.model)(x).tolist()


@pytest.mark.parametrize("name", ["2", "module.2"])
def test_a_wrapper_goes_by_the_paths_of_its_model_and_by_its_own(name: str) -> None:
    def wrapped() -> Any:
        wb.manual_seed(0)
        return q.QuantWrapper(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)).eval())

    x = wb.rand(4, 4)
    prepared = q.prepare(wrapped())
    prepared(x)
    prepared.calibration.choose("2.output", bits=5)
    code = prepared.calibration.code().replace("'2'", repr(name))
    found: dict[str, Any] = {"model": wrapped()}
    exec(code, found)
    found["prepared"](x)
    again = {one.name: one.observer for one in found["prepared"].calibration.entries}
    assert (again["2.output"].quant_max, again["0.output"].quant_max) == (31, 127)
    same = q.convert(found["prepared"])(x).numpy()
    np.testing.assert_array_equal(same, q.convert(prepared)(x).numpy())
    with pytest.raises(wb.QuantizationError, match="there is a qconfig for '7', and no module of that name"):
        q.prepare(wrapped(), q.QConfigMapping().set_global(q.default_qconfig).set_module_name("7", None))

"""The calibration of a prepared graph: its points by name and by node, ranges set by hand, figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import quantization as q
from workbench.nn import functional
from workbench.quantization.points import floating_twin


class Net(wb.nn.Module):
    """A branch that is added and rectified, a layer that is called twice, a join."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.norm = wb.nn.Conv2d(2, 4, 3, padding=1), wb.nn.BatchNorm2d(4)
        self.conv2 = wb.nn.Conv2d(4, 4, 3, padding=1)
        self.fc = wb.nn.Linear(8, 3)

    def forward(self, x: wb.Tensor) -> wb.Tensor:
        x = functional.relu(self.norm(self.conv1(x)))
        x = functional.relu(self.conv2(self.conv2(x)) + x)
        x = functional.adaptive_avg_pool2d(x, 1)
        return self.fc(wb.cat([x, x], dim=1).flatten(1))


NAMES = (
    "input", "conv1.weight", "conv1.output", "conv2.weight", "conv2.output", "relu_1.output", "fc.weight", "fc.output"
)  # fmt: skip


@pytest.fixture
def x() -> Any:
    wb.manual_seed(1)
    return wb.randn(8, 2, 6, 6)


@pytest.fixture
def net(x: Any) -> Any:
    wb.manual_seed(0)
    made = Net()
    with wb.no_grad():
        made(x)
    return made.eval()


def prepared(net: Any, x: Any, evaluate: Any = None) -> q.Calibration:
    made = q.prepare_fx(net, q.get_default_qconfig_mapping("onednn"), (x,))
    return made.calibration if evaluate is None else q.Calibration(made, evaluate)


def test_points_stand_in_the_order_of_the_graph(net: Any, x: Any) -> None:
    calibration = prepared(net, x)
    assert calibration.names == NAMES
    calibration.model(x)
    assert calibration.names == NAMES
    # A weight is known from the first, and evidence follows.
    assert calibration.entry("fc.weight").sqnr() is not None
    assert q.Calibration(calibration.model).title == "Net"


def test_nodes_and_observers_find_each_other(net: Any, x: Any) -> None:
    calibration = prepared(net, x)
    graph = {node.name: node for node in calibration.model.graph.nodes}
    for entry in calibration.entries:
        assert entry.nodes
        assert all(name in graph and entry in calibration.at(name) for name in entry.nodes)
    found = {name: [one.name for one in calibration.at(name)] for name in graph}
    assert found["x"] == ["input"]
    assert found["conv2_1"] == found["conv2"] == ["conv2.weight", "conv2.output"]
    # A sum is observed behind its rectifier, and what only moves values has their scale.
    assert found["add"] == found["relu_1"] == found["cat"] == found["flatten"] == ["relu_1.output"]
    assert calibration.at("nowhere") == []
    assert [one.name for one in calibration.at("fc")] == ["fc.weight", "fc.output"]


def test_a_range_set_by_hand_counts_for_figures_and_for_the_integer_model(net: Any, x: Any) -> None:
    labels = wb.from_numpy(net(x).detach().numpy().argmax(1))
    calibration = prepared(net, x, (x, labels))
    with pytest.raises(wb.QuantizationError, match="not calibrated yet: x, conv1, "):
        calibration.figures()
    calibration.model(x)
    before = calibration.figures()
    assert before.sqnr is not None and before.sqnr > 25
    assert before.float_accuracy == 1.0
    built = calibration.measurement._converted  # type: ignore[union-attr]
    for name, high in (("relu_1.output", 0.05), ("fc.weight", 0.01)):
        calibration.set_range(name, -high if name.endswith("weight") else 0.0, high)
        worse = calibration.figures()
        assert worse.sqnr is not None and worse.sqnr < before.sqnr - 5, name
        codes = q.convert_fx(calibration.model)
        assert calibration.finished
        assert q.sqnr(net(x).detach(), codes(x)) == pytest.approx(worse.sqnr, abs=1e-3)
        calibration.undo()
    assert calibration.figures() == before
    # Built once, and only given new scales.
    assert calibration.measurement._converted is built  # type: ignore[union-attr]


def test_measuring_moves_no_range(net: Any, x: Any) -> None:
    calibration = prepared(net, x, x)
    calibration.model(x)
    held = [(entry.observer.data_version, entry.range()) for entry in calibration.entries]
    calibration.figures()
    q.accuracy(calibration.model, [(x * 100, wb.zeros(8, dtype=wb.int64))])
    assert [(entry.observer.data_version, entry.range()) for entry in calibration.entries] == held


def aware(x: Any, graph: bool) -> Any:
    wb.manual_seed(0)
    net = Net()
    if graph:
        return q.prepare_qat_fx(net, q.get_default_qat_qconfig_mapping("onednn"), (x,))
    fused = q.fuse_modules_qat(
        wb.nn.Sequential(net.conv1, net.norm, wb.nn.ReLU(), net.conv2), [["0", "1", "2"]]
    )
    return q.prepare_qat(fused.train())


@pytest.mark.parametrize("graph", [False, True])
def test_figures_in_training_follow_the_weights_and_touch_nothing(x: Any, graph: bool) -> None:
    model = aware(x, graph)
    calibration = q.Calibration(model, x)
    optimizer = wb.optim.SGD(model.parameters(), 0.1)
    ratios = []
    for _ in range(3):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        # The weights' observers saw those of before the step.
        model(x)
        state = {name: np.array(one.payload) for name, one in model.state_dict().items()}
        ratios.append(calibration.figures().sqnr)
        assert all(np.array_equal(one.payload, state[name]) for name, one in model.state_dict().items())
        assert model.training
        (scores, codes) = (form(x) for form in (plain(model), integer(model, graph)))
        assert ratios[-1] == pytest.approx(q.sqnr(scores, codes), abs=1e-3)
    assert len(set(ratios)) == 3


def plain(model: Any) -> Any:
    made = floating_twin(model)
    assert not made.training
    return lambda x: made(x).detach()


def integer(model: Any, graph: bool) -> Any:
    made = (q.convert_fx if graph else q.convert)(model.eval())
    model.train()
    return made


def test_a_range_set_by_hand_rounds_the_next_batch_of_training(x: Any) -> None:
    model = aware(x, graph=True)
    model(x)
    model.calibration.set_range("fc.output", -0.01, 0.01)
    assert float(model(x).abs().max()) <= 0.0101
    assert "conv1.weight" in model.calibration.names
    assert model.calibration.entry("conv1.weight").sqnr() is not None


class Two(wb.nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        return x + y * 2.0


def test_several_inputs_and_functions_alone(x: Any) -> None:
    model = q.prepare_fx(Two().eval(), q.get_default_qconfig_mapping("onednn"), (x, x))
    calibration = q.Calibration(model, ((x, x + 1), None))
    assert calibration.names == ("input.x", "input.y", "mul.output", "add.output")
    model(x, x + 1)
    assert calibration.figures().sqnr is not None
    with pytest.raises(wb.QuantizationError, match=r"no observer 'add\.outputs'; did you mean 'add\.output'"):
        calibration["add.outputs"]


@pytest.mark.parametrize("kind", ["trace", "script", "onnx"])
def test_models_that_come_as_graphs(net: Any, x: Any, kind: str, tmp_path: Any) -> None:
    if kind == "trace":
        model: Any = wb.jit.trace(net, x)
    elif kind == "script":
        model = wb.jit.script(net)
    else:
        wb.onnx.export(net, (x,), str(tmp_path / "net.onnx"))
        model = wb.onnx.load(str(tmp_path / "net.onnx"))
    calibration = prepared(model.eval(), x, x)
    calibration.model(x)
    assert calibration.names[0] == "input"
    # A graph of ops has a layer for each call.
    assert sum(name.endswith(".weight") for name in calibration.names) == 4
    ratio = calibration.figures().sqnr
    assert ratio is not None and ratio > 25
    assert q.sqnr(net(x).detach(), q.convert_fx(calibration.model)(x)) == pytest.approx(ratio, abs=0.01)


def test_a_graph_of_dynamic_layers_has_no_observers(x: Any) -> None:
    model = wb.nn.Sequential(wb.nn.Linear(4, 4)).eval()
    made = q.prepare_fx(model, q.QConfigMapping().set_global(q.default_dynamic_qconfig), (wb.rand(1, 4),))
    with pytest.raises(wb.QuantizationError, match="the model has no observers"):
        q.Calibration(made)

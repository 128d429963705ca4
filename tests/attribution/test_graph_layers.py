"""Layers of models that run a graph: traced, scripted and read ones are explained as what they were made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import attribution, nn
from workbench.attribution import LayerActivation
from workbench.attribution.graph_layers import GraphLayers
from workbench.attribution.layers import find_part, layers_of
from workbench.models import DigitsNet

KINDS = ["graph", "traced", "scripted", "file", "behind a function"]
METHODS: dict[str, dict[str, Any]] = {
    "LayerActivation": {},
    "LayerGradCam": {"target": 1},
    "LayerGradientXActivation": {"target": 1},
    "LayerIntegratedGradients": {"target": 1, "n_steps": 4},
    "LayerConductance": {"target": 1, "n_steps": 4},
    "LayerDeepLift": {"target": 1},
    "LayerLRP": {"target": 1},
}


def images() -> wb.Tensor:
    return wb.from_numpy(
        np.random.default_rng(1).random((2, 1, 28, 28), np.float32), names=("N", "C", "H", "W")
    )


@pytest.fixture(scope="module")
def model() -> Any:
    wb.manual_seed(0)
    return DigitsNet().eval()


@pytest.fixture(scope="module")
def made(model: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path: Path = tmp_path_factory.mktemp("graphs") / "model.onnx"
    wb.onnx.save(model, path, images())
    traced = wb.jit.trace(model, images())
    return {
        "graph": wb.graph.trace(model, images()),
        "traced": traced,
        "scripted": wb.jit.script(model),
        "file": wb.onnx.load(path),
        "behind a function": lambda x: traced(x),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore::workbench.attribution.ConvergenceWarning")
def test_a_layer_is_what_the_module_was(model: Any, made: Any, method: str, kind: str) -> None:
    make, asked = getattr(attribution, method), METHODS[method]
    for layer in ("bn1", "pool1", "relu3"):
        for at_input in (False, True):
            expected = make(model, layer).attribute(images(), attribute_to_layer_input=at_input, **asked)
            found = make(made[kind], layer).attribute(images(), attribute_to_layer_input=at_input, **asked)
            scale = float(expected.abs().max())
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-3, atol=1e-5 * scale)


@pytest.mark.parametrize("kind", KINDS)
def test_the_layers_that_are_offered_are_those_that_can_be_explained(
    model: Any, made: Any, kind: str
) -> None:
    names = layers_of(made[kind])
    assert names == layers_of(model)
    for name in names:
        LayerActivation(made[kind], name).attribute(images())
    with pytest.raises(ValueError, match="the model has no layer 'conv11'; did you mean 'conv1'"):
        LayerActivation(made[kind], "conv11")
    with pytest.raises(ValueError, match="no layer 'nothing'; its layers are conv1, bn1, relu1, pool1"):
        LayerActivation(made[kind], "nothing")


def test_nodes_by_name_parts_and_lists(model: Any, made: Any) -> None:
    expected = LayerActivation(model, "relu2").attribute(images()).numpy()
    places = [
        (made["file"], "relu2/Relu"),
        (made["file"], "relu_1"),
        (made["traced"], "relu_1"),
        (made["traced"], made["traced"].relu2),
    ]
    for forward, layer in places:
        found = LayerActivation(forward, layer).attribute(images()).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    several = LayerActivation(made["file"], ["conv1", "fc2"]).attribute(images())
    assert [one.shape for one in several] == [(2, 32, 28, 28), (2, 10)]
    copied = LayerActivation(made["traced"], made["traced"].relu2).on(wb.jit.trace(model, images()))
    np.testing.assert_allclose(copied.attribute(images()).numpy(), expected, rtol=1e-4, atol=1e-5)


def test_calls_of_one_module_are_numbered() -> None:
    relu = nn.ReLU()
    model, x = nn.Sequential(nn.Linear(4, 4), relu, nn.Linear(4, 4), relu).eval(), wb.rand(2, 4)
    traced = wb.jit.trace(model, x)
    assert layers_of(traced) == ["0", "1#0", "1#1", "2"]
    for name in ("1#0", "1#1"):
        for at_input in (False, True):
            expected, found = (
                LayerActivation(one, name).attribute(x, attribute_to_layer_input=at_input)
                for one in (model, traced)
            )
            assert found.tolist() == expected.tolist()
    with pytest.raises(ValueError, match=r"layer '1' gives 2 values in the graph .* '1#0' to '1#1'"):
        LayerActivation(traced, "1")
    with pytest.raises(ValueError, match="layer '1' runs 2 times when the model does; got call 2"):
        LayerActivation(traced, "1#2")


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = Block()
        self.head = nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        x = x.exp()
        return self.head(self.block(x))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return x + self.inner(x).relu()


@pytest.mark.filterwarnings("ignore::workbench.attribution.ConvergenceWarning")  # of what goes around a layer
def test_blocks_and_calls_of_no_module() -> None:
    model, x = Residual().eval(), wb.rand(2, 4)
    traced = wb.jit.trace(model, x)
    assert layers_of(traced) == ["block", "block.inner", "head", "exp"]
    for at_input in (False, True):
        for name in ("block", "head"):
            expected, found = (
                LayerActivation(one, name).attribute(x, attribute_to_layer_input=at_input)
                for one in (model, traced)
            )
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)
    # What the inner layer is given goes around it as well.
    found = LayerActivation(traced, "block.inner").attribute(x, attribute_to_layer_input=True)
    np.testing.assert_allclose(found.numpy(), x.exp().numpy(), rtol=1e-6)
    expected, found = (
        attribution.LayerIntegratedGradients(one, "block.inner").attribute(
            x, target=1, attribute_to_layer_input=True
        )
        for one in (model, traced)
    )
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4)
    around = wb.jit.trace(model.block, x)
    with pytest.raises(ValueError, match="the model has no layer 'head'; its layers are inner, relu, add"):
        LayerActivation(around, "head")


def test_what_is_given_to_several_calls_is_no_value_of_its_own() -> None:
    class Pair(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.exp() + x.sin()

    model, x = nn.Sequential(Pair()).eval(), wb.rand(2, 4)
    traced = wb.jit.trace(nn.Sequential(nn.ReLU(), Pair()).eval(), x)
    assert LayerActivation(traced, "1").attribute(x, attribute_to_layer_input=True).tolist() == x.tolist()
    with pytest.raises(ValueError, match="what layer '0' is given cannot be told apart in the graph"):
        LayerActivation(wb.jit.trace(model, x), "0").attribute(x, attribute_to_layer_input=True)


def test_a_node_of_a_graph_that_does_not_run_is_refused(model: Any, made: Any) -> None:
    node = made["graph"].nodes[3]
    for layer in (node, node.outputs[0]):
        with pytest.raises(ValueError, match="is of a graph that the model, a DigitsNet, does not run; give that "
                                             "graph as the model, or the layer by its name: 'pool1'"):  # fmt: skip
            LayerActivation(model, layer)
    # What the graph holds is no operand of its own: of a convolution the images are given.
    given = LayerActivation(made["graph"], made["graph"].nodes[0]).attribute(
        images(), attribute_to_layer_input=True
    )
    np.testing.assert_array_equal(given.numpy(), images().numpy())


def test_paths_of_a_file_without_paths_are_those_of_its_parameters() -> None:
    graph = wb.graph.trace(nn.Sequential(nn.Linear(4, 3)).eval(), wb.ones(1, 4))
    for node in graph.nodes:
        node.scope = ()
    names = {"Gemm_0": graph.nodes[0].outputs[0]}
    assert GraphLayers(graph, names).offered == ["0"]
    assert GraphLayers(graph).offered == ["linear"]


def test_parameters_of_a_part_are_found_where_a_graph_runs(model: Any, made: Any) -> None:
    for kind in ("traced", "scripted", "file"):
        part = find_part("weights", made[kind], "fc2").place
        np.testing.assert_allclose(part.weight.numpy(force=True), model.fc2.weight.numpy(force=True))
        with pytest.raises(
            ValueError, match="weights: 'relu_1' is a node of a graph, which holds nothing itself"
        ):
            find_part("weights", made[kind], "relu_1")
    with pytest.raises(ValueError, match="the model has no layer 'convv1'; did you mean 'conv1'"):
        find_part("weights", model, "convv1")


# ----------------------------------------------------------------------------------------- inside loops and branches


class Turns(nn.Module):
    """Runs a layer three times, or as often as it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.out = nn.Linear(4, 4), nn.Linear(4, 3)


class Known(Turns):
    def forward(self, x: wb.Tensor) -> wb.Tensor:
        for _ in range(3):
            x = self.fc(x).relu()
        return self.out(x)


class Told(Turns):
    def forward(self, x: wb.Tensor, times: int = 3) -> wb.Tensor:
        for _ in range(times):
            x = self.fc(x)
        return self.out(x)


class Branched(Turns):
    def forward(self, x: wb.Tensor) -> wb.Tensor:
        if x.sum() > 0:
            x = self.fc(x)
        return self.out(x)


class Scattered(Turns):
    def forward(self, x: wb.Tensor) -> wb.Tensor:
        for _ in range(2):
            x = self.fc(x)
        if x.sum() > 0:
            x = self.fc(x)
        return self.out(x)


def scripted(kind: type[nn.Module]) -> tuple[Any, Any]:
    wb.manual_seed(0)
    model = kind().eval()
    return model, wb.jit.script(model)


@pytest.mark.parametrize("at_input", [False, True])
@pytest.mark.parametrize("method", ["LayerActivation", "LayerGradientXActivation", "LayerConductance"])
@pytest.mark.filterwarnings("ignore::workbench.attribution.ConvergenceWarning")
def test_a_layer_in_a_loop_is_offered_turn_by_turn_and_is_what_the_module_was(
    method: str, at_input: bool
) -> None:
    model, script = scripted(Known)
    x = wb.rand(2, 4)
    make, settings = getattr(attribution, method), {} if method == "LayerActivation" else {"target": 1}
    turns = [name for name in layers_of(script) if name.startswith("fc")]
    assert turns == ["fc#0", "fc#1", "fc#2"]
    for name in turns:
        found, expected = (
            make(one, name).attribute(x, attribute_to_layer_input=at_input, **settings)
            for one in (script, model)
        )
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_of_a_loop_whose_turns_nobody_knows_the_first_is_offered_and_others_are_found() -> None:
    model, script = scripted(Told)
    x = wb.rand(2, 4)
    assert [name for name in layers_of(script) if name.startswith("fc")] == ["fc#0"]
    found, expected = (LayerActivation(one, "fc#2").attribute(x) for one in (script, model))
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    with pytest.raises(ValueError, match="layer 'fc' runs 3 times when the model does"):
        LayerActivation(script, "fc#3").attribute(x)
    with pytest.raises(ValueError, match="say which: 'fc#0' to 'fc#2'"):
        LayerActivation(script, "fc").attribute(x)


def test_a_layer_in_a_branch_has_one_turn_or_none() -> None:
    model, script = scripted(Branched)
    assert [name for name in layers_of(script) if name.startswith("fc")] == ["fc"]
    x = wb.ones(2, 4)
    found, expected = (LayerActivation(one, "fc").attribute(x) for one in (script, model))
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    with pytest.raises(ValueError, match="layer 'fc' runs not at all when the model does"):
        LayerActivation(script, "fc").attribute(x * -1)


def test_a_layer_in_several_places_is_not_offered_and_says_why() -> None:
    _, script = scripted(Scattered)
    assert not [name for name in layers_of(script) if name.startswith("fc")]
    with pytest.raises(ValueError, match="layer 'fc' runs in several places of loops and branches"):
        LayerActivation(script, "fc")

"""What a parameter's dims are called: shown everywhere, refused nowhere but beside values that somebody named."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.interop.safetensors import load_file, save_file

nn: Any = wb.nn
LABELS = ("out_features", "in_features")


def test_weights_compute_with_each_other_as_they_like() -> None:
    layer, other = nn.Linear(3, 3), nn.Linear(3, 3)
    gram = layer.weight @ layer.weight.T
    mixed = layer.weight + other.weight.T * layer.bias[:, None]
    flat = wb.cat([one.view(-1) for one in layer.parameters()])
    stacked = wb.stack([layer.weight, other.weight.T])
    assert not any(one.has_names() for one in (gram, mixed, flat, stacked))
    with wb.no_grad():
        layer.weight.copy_(other.weight.t())
    assert (layer.weight == other.weight.T).all()
    assert layer.weight.dim_labels == LABELS


def test_beside_named_values_labels_are_names() -> None:
    layer, x = nn.Linear(3, 4), wb.zeros(N=2, E=3)
    assert (
        layer(x).names == wb.nn.functional.linear(x, layer.weight, layer.bias).names == ("N", "out_features")
    )
    assert (layer.bias + wb.zeros(2, 4, names=("N", None))).names == ("N", "out_features")
    with pytest.raises(wb.DimensionError, match="do not match"):
        wb.zeros(4, 4, names=("N", "in_features")) + layer.bias
    with pytest.raises(wb.DimensionError, match="misspelling of 'out_features'"):
        layer.bias + wb.zeros(N=2, out_feature=4)
    # The same dims once more, without labels and with others: what was found out before is not taken for it.
    assert wb.nn.functional.linear(x, wb.zeros(4, 3)).names == ("N", None)
    weight = nn.Parameter(wb.zeros(4, 3), dim_labels=("heads", "E"))
    assert wb.nn.functional.linear(x, weight).names == ("N", "heads")
    assert wb.nn.functional.linear(x.rename(None), weight).names == (None, None)


def test_a_dim_may_be_asked_for_by_its_label() -> None:
    weight = nn.Conv2d(2, 3, 5).weight
    assert weight.size("kernel_width") == 5
    assert weight.sum(["kernel_height", "kernel_width"]).shape == (3, 2)
    assert not weight.mean("out_channels").has_names()
    with pytest.raises(wb.DimensionIndexError, match="Did you mean 'out_channels'"):
        weight.mean("out_chanels")


@pytest.mark.parametrize(
    ("view", "labels"),
    [
        (lambda w: w.permute(3, 0, 1, 2), ("kernel_width", "out_channels", "in_channels", "kernel_height")),
        (lambda w: w.transpose(0, 1)[1], ("out_channels", "kernel_height", "kernel_width")),
        (lambda w: w[0, :, 1:].mT, ("in_channels", "kernel_width", "kernel_height")),
        (lambda w: w.narrow(0, 0, 1).squeeze(0).T, ("kernel_width", "kernel_height", "in_channels")),
        (lambda w: w.detach().select(1, 0), ("out_channels", "kernel_height", "kernel_width")),
        (lambda w: w.clone(), (None, None, None, None)),
        (lambda w: w.unsqueeze(0)[..., 0], (None, "out_channels", "in_channels", "kernel_height")),
        (lambda w: w.view(-1), (None,)),
        (lambda w: w.rename(None)[0], (None, None, None)),
        (lambda w: w * 2, (None, None, None, None)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("recorded", [True, False])
def test_views_are_called_as_what_they_show(view: Any, labels: Any, recorded: bool) -> None:
    weight = nn.Conv2d(2, 3, 5).weight
    with wb.set_grad_enabled(recorded):
        found = view(weight)
    assert found.dim_labels == labels
    assert not found.has_names()


def test_labels_turn_with_their_dims() -> None:
    weight = nn.Linear(3, 3).weight.detach()
    row = weight[0]
    weight.t_()
    assert row.dim_labels == (None,)
    assert weight.dim_labels == ("in_features", "out_features")
    weight.unsqueeze_(0)
    assert weight.dim_labels == (None, "in_features", "out_features")


def test_nothing_is_refused_for_what_a_view_is_called() -> None:
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    # Another library keeps its weights transposed.
    first.load_state_dict({"weight": second.weight.T, "bias": second.bias})
    assert first.weight.tolist() == second.weight.T.tolist()
    first.load_state_dict({"weight": second.weight.T.detach().clone(), "bias": second.bias}, assign=True)
    assert first.weight.dim_labels == LABELS
    assert nn.Parameter(second.weight.T).dim_labels == (None, None)
    assert (second.weight + second.weight.T).shape == (3, 3)
    named = wb.zeros(N=2, out_features=3)
    assert (named @ second.weight.T).names == ("N", None)


def test_who_asks_by_name_gets_names() -> None:
    weight = nn.Linear(3, 2).weight
    assert weight.align_to("in_features", "out_features").names == ("in_features", "out_features")
    assert weight.align_to("in_features", "...").names == ("in_features", "out_features")
    assert weight.T.align_to("N", "out_features", "in_features").names == ("N", *LABELS)
    assert weight.rename(in_features="F").names == ("out_features", "F")
    assert weight.rename(in_features=None).names == ("out_features", None)
    with pytest.raises(wb.DimensionError, match="Did you mean 'in_features'"):
        weight.rename(in_feature="F")
    assert not weight.has_names()


def test_who_names_a_parameter_has_names() -> None:
    weight = nn.Linear(3, 3).weight
    named = weight.refine_names(*weight.dim_labels)
    assert named.names == LABELS
    with pytest.raises(wb.DimensionError):
        named + named.T
    assert nn.Parameter(wb.zeros(out=2)).names == ("out",)
    weight.rename_("a", "b")
    assert weight.names == weight.dim_labels == ("a", "b")
    weight.rename_(None)
    assert weight.names == (None, None)
    assert weight.dim_labels == LABELS


def test_labels_are_checked() -> None:
    with pytest.raises(wb.DimensionError, match="do not match"):
        nn.Parameter(wb.zeros(2, 3), dim_labels=("a",))
    with pytest.raises(wb.DimensionError, match="stands twice"):
        wb.zeros(2, 2).dim_labels = ("a", "a")
    weight = nn.Linear(2, 3).weight
    weight.dim_labels = ("rows", None)
    assert weight.dim_labels == ("rows", None)
    weight.dim_labels = None
    assert weight.dim_labels == (None, None)


def test_labels_go_along_with_the_parameter(tmp_path: Path) -> None:
    layer = nn.Linear(3, 2)
    state = layer.state_dict()
    save_file(state, tmp_path / "w.safetensors")
    read = load_file(tmp_path / "w.safetensors")
    moved = copy.deepcopy(layer).to(wb.float64)
    same = [
        state["weight"], read["weight"], layer.weight.detach(), layer.weight.data, moved.weight,
        copy.copy(layer.weight), copy.deepcopy(layer.weight), pickle.loads(pickle.dumps(layer.weight)),
        nn.Parameter(layer.weight.data), nn.Buffer(layer.weight.data),
    ]  # fmt: skip
    for one in same:
        assert (one.names, one.dim_labels) == ((None, None), LABELS)
    layer(wb.ones(1, 3)).sum().backward()
    assert (layer.weight.grad.names, layer.weight.grad.dim_labels) == ((None, None), LABELS)
    assert "dim_labels=('out_features', 'in_features')" in repr(layer.weight)


def test_a_state_of_other_dims_is_refused() -> None:
    conv, back = nn.Conv2d(3, 3, 1), nn.ConvTranspose2d(3, 3, 1)
    with pytest.raises(RuntimeError, match="name mismatch for weight"):
        back.load_state_dict(conv.state_dict())
    back.load_state_dict({key: value.clone() for key, value in conv.state_dict().items()})  # of unknown dims


def test_an_assigned_state_is_called_as_what_it_stands_for() -> None:
    layer, given = nn.Linear(3, 2), wb.ones(2, 3)
    layer.load_state_dict({"weight": given, "bias": wb.zeros(out_features=2)}, assign=True)
    assert (layer.weight.names, layer.weight.dim_labels) == ((None, None), LABELS)
    assert layer.bias.names == (None,), "the name it was saved under is the label"
    assert given.dim_labels == (None, None), "what the caller holds is not touched"


def test_graphs_show_labels_and_check_by_them() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.map = nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return self.map(x) @ (self.map.weight @ self.map.weight.T)

    model = Tied()
    graph = wb.graph.trace(model, {"N": 2, "E": 3})
    text = str(graph)
    assert "map.weight : f32[out_features:3, in_features:3]" in text
    held = {value.name: tensor for value, tensor in graph.held().items()}
    assert str(wb.graph.parse(text, held)) == text
    assert str(wb.graph.parse(text, model.state_dict())) == text
    wb.testing.assert_close(graph(wb.ones(N=2, E=3)), model(wb.ones(N=2, E=3)))


def test_functions_of_parameters_know_their_labels() -> None:
    layer = nn.Linear(3, 2)
    values = {key: value.detach().rename(None).clone() for key, value in layer.named_parameters()}
    assert wb.func.functional_call(layer, values, (wb.ones(N=4, E=3),)).names == ("N", "out_features")
    assert wb.func.functional_call(layer, values, (wb.ones(4, 3),)).names == (None, None)
    loss = lambda given: wb.func.functional_call(layer, given, (wb.ones(N=4, E=3),)).sum()
    assert not wb.func.grad(loss)(values)["weight"].has_names()


@pytest.mark.parametrize("named", [False, True])
def test_a_parametrized_weight_keeps_labels_or_names(named: bool) -> None:
    layer = nn.Linear(3, 3)
    if named:
        layer.weight.rename_("a", "b")
    wb.nn.utils.parametrizations.weight_norm(layer)
    assert layer.weight.has_names() is named
    assert layer.weight.dim_labels == (("a", "b") if named else LABELS)
    wb.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    assert layer.weight.has_names() is named
    assert layer.weight.dim_labels == (("a", "b") if named else LABELS)


def test_summary_and_pictures_show_labels() -> None:
    layer = nn.Linear(3, 2)
    assert "out_features" in layer.weight._repr_mimebundle_()["text/html"]
    assert "out_features" in str(wb.graph.trace(layer, wb.ones(1, 3)))

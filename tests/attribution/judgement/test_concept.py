"""Concepts: known directions are found, files hold data alone, what is wrong is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.attribution import LayerIntegratedGradients
from workbench.attribution.concept import (
    CAV,
    TCAV,
    Concept,
    DefaultClassifier,
    LeastSquaresClassifier,
    LogisticClassifier,
)
from workbench.interop.safetensors import save_file


def model() -> Any:
    """Give back the first value, and less the second."""
    made = wb.nn.Sequential(wb.nn.Identity(), wb.nn.Linear(4, 2, bias=False))
    made[1].weight.data = wb.tensor([[2.0, 0, 0, 0], [0, -1.0, 0, 0]])
    return made.eval()


def examples(axis: int, seed: int, count: int = 6) -> list[wb.Tensor]:
    random = np.random.default_rng(seed)
    values = 0.1 * random.normal(size=(count, 8, 4))
    values[..., axis] += 1
    return [wb.from_numpy(one.astype(np.float32), names=("N", "F")) for one in values]


def concept(axis: int) -> Concept:
    return Concept(axis, f"axis {axis}", examples(axis, axis))


class Stranger(LeastSquaresClassifier):
    """Call the classes what nobody else does."""

    def classes(self) -> list[int]:
        return [7, 8]


INPUTS = wb.rand(N=5, F=4)


@pytest.mark.parametrize("classifier", [None, LeastSquaresClassifier(), LogisticClassifier(0.1)])
@pytest.mark.parametrize("processes", [None, 2])
def test_a_known_direction(tmp_path: Path, classifier: Any, processes: int | None) -> None:
    tcav = TCAV(model(), "0", classifier=classifier, save_path=str(tmp_path), test_split_ratio=0.25)
    first, second, third = (concept(axis) for axis in range(3))
    scores = tcav.interpret(INPUTS, [[first, second], [third, first]], target=0, processes=processes)
    found = scores["0-1"]["0"]
    assert found["sign_count"].tolist() == [1.0, 0.0]
    assert found["sign_count"].names == ("concept",)
    assert found["magnitude"][0] > 0 > found["magnitude"][1]
    assert scores["2-0"]["0"]["sign_count"].tolist() == [0.0, 1.0]
    assert tcav.cavs["0-1"]["0"].stats["accs"].item() == 1
    # The second output falls with the second value.
    assert tcav.interpret(INPUTS, [[first, second]], target=1)["0-1"]["0"]["sign_count"].tolist() == [
        1.0,
        0.0,
    ]


def test_what_is_in_files_is_read(tmp_path: Path) -> None:
    first, second = concept(0), concept(1)
    before = TCAV(model(), "0", save_path=str(tmp_path)).interpret(INPUTS, [[first, second]], 0)
    named = [Concept(0, "axis 0", None), Concept(1, "axis 1", None)]
    again = TCAV(model(), ["0"], save_path=str(tmp_path))
    after = again.interpret(INPUTS, [named], 0)
    np.testing.assert_array_equal(after["0-1"]["0"]["magnitude"], before["0-1"]["0"]["magnitude"])
    assert again.cavs["0-1"]["0"].concepts[1].name == "axis 1"
    files = sorted(one.name for one in tmp_path.rglob("*") if one.is_file())
    assert files[0] == "0-1-0.safetensors"
    assert {Path(one).suffix for one in files} == {".safetensors"}
    # Activations that were not written to their end are made anew.
    (tmp_path / "default_model_id" / "0-1-0.safetensors").unlink()
    (tmp_path / "default_model_id" / "axis 0-0" / "0" / "whole.safetensors").unlink()
    with pytest.raises(
        ValueError, match=r"Concept\(0, 'axis 0'\) has no examples; give Concept\(id, name, data_iter\)"
    ):
        TCAV(model(), "0", save_path=str(tmp_path)).compute_cavs([named])
    assert TCAV(model(), "0", save_path=str(tmp_path)).compute_cavs([[first, second]], force_train=True)


def test_another_method_and_the_input_of_a_layer(tmp_path: Path) -> None:
    net, first, second = model(), concept(0), concept(1)
    method = LayerIntegratedGradients(net, "1")
    tcav = TCAV(net, "1", layer_attr_method=method, attribute_to_layer_input=True, save_path=str(tmp_path))
    found = tcav.interpret(INPUTS, [[first, second]], 0, n_steps=4)["0-1"]["1"]
    assert found["sign_count"].tolist() == [1.0, 0.0]
    assert method.layer == "1"


def test_a_method_whose_layer_is_none_gets_each_of_the_layers(tmp_path: Path) -> None:
    net, first, second, third = model(), concept(0), concept(1), concept(2)
    sets = [[first, second], [third, second]]
    method = LayerIntegratedGradients(net, None, multiply_by_inputs=False)
    tcav = TCAV(model=net, layers=["0", "1"], layer_attr_method=method, save_path=str(tmp_path))
    found = tcav.interpret(inputs=INPUTS, experimental_sets=sets, target=0, n_steps=5)
    assert list(found) == ["0-1", "2-1"] and list(found["0-1"]) == ["0", "1"]
    for layer in ("0", "1"):
        chosen = TCAV(
            net,
            layer,
            layer_attr_method=LayerIntegratedGradients(net, layer, multiply_by_inputs=False),
            save_path=str(tmp_path),
        )
        expected = chosen.interpret(INPUTS, sets, 0, n_steps=5)["0-1"][layer]
        np.testing.assert_array_equal(found["0-1"][layer]["magnitude"], expected["magnitude"])
    assert found["0-1"]["0"]["sign_count"].tolist() == [1.0, 0.0] and method.layer is None


def test_examples_of_a_loader(tmp_path: Path) -> None:
    loaders = [
        wb.data.DataLoader(wb.data.TensorDataset(wb.cat(examples(axis, axis)).rename(None)), batch_size=8)
        for axis in (0, 1)
    ]
    sets = [[Concept(axis, f"axis {axis}", loader) for axis, loader in enumerate(loaders)]]
    found = TCAV(model(), "0", save_path=str(tmp_path)).interpret(INPUTS.rename(None), sets, 0)
    assert found["0-1"]["0"]["sign_count"].tolist() == [1.0, 0.0]


@given(st.integers(0, 2**16), st.integers(2, 4))
@settings(deadline=None, max_examples=25)
def test_classifiers_minimize_what_they_say(seed: int, classes: int) -> None:
    random = np.random.default_rng(seed)
    x, y = random.normal(size=(12, 5)), np.arange(12) % classes
    batch = (wb.from_numpy(x), wb.from_numpy(y))

    def squares(found: Any, signs: Any) -> float:
        return float(((x @ found[:-1] + found[-1] - signs) ** 2).mean() + 0.1 * (found[:-1] ** 2).sum())

    def logistic(found: Any, signs: Any) -> float:
        losses = np.logaddexp(0, -signs * (x @ found[:-1] + found[-1]))
        return float(losses.mean() + 0.05 * (found[:-1] ** 2).sum())

    for classifier, loss in ((LeastSquaresClassifier(0.1), squares), (LogisticClassifier(0.1), logistic)):
        classifier.train_and_eval([batch], test_split_ratio=0)
        assert classifier.classes() == list(range(classes))
        for found, one in zip(classifier._learned(), classifier.classes(), strict=True):
            signs = np.where(y == one, 1.0, -1.0)
            best = loss(found, signs)
            for _ in range(5):
                assert loss(found + 1e-2 * random.normal(size=6), signs) > best


def test_files_of_directions(tmp_path: Path) -> None:
    named = [Concept(4, "striped", None), Concept(7, "dotted", None)]
    stats = {"weights": wb.rand(2, 3), "classes": [4, 7], "accs": wb.tensor(0.5), "note": "learned"}
    cav = CAV(named, "conv1", stats, str(tmp_path), "net")
    assert CAV.load(str(tmp_path), "net", named, "conv1") is None
    CAV.create_cav_dir_if_missing(str(tmp_path), "net")
    cav.save()
    found = CAV.load(str(tmp_path), "net", named, "conv1")
    assert found is not None and found.stats is not None
    np.testing.assert_array_equal(found.stats["weights"], stats["weights"])
    assert (found.stats["classes"], found.stats["note"], found.layer) == ([4, 7], "learned", "conv1")
    assert [one.identifier for one in found.concepts] == ["striped-4", "dotted-7"]
    with pytest.raises(TypeError, match=r"'stats.made' is a object, which a file of facts does not hold"):
        CAV(named, "conv1", {"made": object()}, str(tmp_path), "net").save()
    save_file({}, tmp_path / "net" / "4-7-conv2.safetensors")
    with pytest.raises(ValueError, match="holds no facts of concepts"):
        CAV.load(str(tmp_path), "net", named, "conv2")


@pytest.mark.parametrize("name", ["../up", "a/b", "", "..", "c:"])
def test_names_stay_in_their_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="part of a file's name"):
        TCAV(model(), "0", name, save_path=str(tmp_path))
    if name:
        with pytest.raises(ValueError, match="part of a file's name"):
            CAV.assemble_save_path("cav", "net", [], name if "/" in name else f"/{name}")


def test_refusals(tmp_path: Path) -> None:
    path, first, second = str(tmp_path), concept(0), concept(1)
    with pytest.raises(TypeError, match="model is a module, whose layers have names"):
        TCAV(lambda x: x, "0", save_path=path)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the model has no layer 'conv'"):
        TCAV(model(), "conv", save_path=path)
    with pytest.raises(ValueError, match="there are no layers"):
        TCAV(model(), [], save_path=path)
    tcav = TCAV(model(), "0", save_path=path)
    with pytest.raises(ValueError, match="have the same id"):
        tcav.compute_cavs([[first, Concept(0, "other", [])]])
    tcav = TCAV(model(), "0", save_path=path)
    with pytest.raises(ValueError, match="lists of two concepts or more"):
        tcav.compute_cavs([[first]])
    with pytest.raises(TypeError, match=r"a set has concepts.*here a str"):
        tcav.compute_cavs([["striped", "dotted"]])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="is twice in the set"):
        tcav.compute_cavs([[first, first]])
    stranger = TCAV(model(), "0", "stranger", Stranger(), save_path=path)
    with pytest.raises(ValueError, match=r"classes \[7, 8\], and none is of Concept\(0"):
        stranger.interpret(INPUTS, [[first, second]], 0)
    with pytest.raises(ValueError, match="processes is 1 or more"):
        tcav.compute_cavs([[first, second]], processes=0)
    with pytest.raises(ValueError, match="its data_iter gives no batch"):
        tcav.compute_cavs([[first, Concept(9, "nothing", [])]])
    with pytest.raises(TypeError, match=r"attribute_to_layer_input is an argument of TCAV\(…\)"):
        tcav.interpret(INPUTS, [[first, second]], 0, attribute_to_layer_input=True)
    wider = wb.nn.Sequential(wb.nn.Linear(4, 9), wb.nn.Linear(9, 2)).eval()
    TCAV(model(), "0", save_path=path).compute_cavs([[first, second]])
    with pytest.raises(ValueError, match="they were made for another model: use another model_id"):
        TCAV(wider, "0", save_path=path).interpret(INPUTS, [[first, second]], 0)
    with pytest.raises(TypeError, match="has no setting 'speed'"):
        TCAV(model(), "0", "other", save_path=path, speed=1).compute_cavs([[first, second]])
    with pytest.raises(TypeError, match="id is a whole number"):
        Concept("0", "x", None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="alpha is above 0"):
        LeastSquaresClassifier(0)
    with pytest.raises(ValueError, match="nothing was learned yet"):
        DefaultClassifier().weights()
    with pytest.raises(ValueError, match="examples of one class alone"):
        DefaultClassifier().train_and_eval([(wb.ones(3, 2), wb.zeros(3).long())])
    with pytest.raises(wb.DimensionError, match="activations are"):
        DefaultClassifier().train_and_eval([(wb.ones(3), wb.zeros(3).long())])
    with pytest.raises(ValueError, match="6 of 6 activations are NaN"):
        DefaultClassifier().train_and_eval([(wb.ones(3, 2) * float("nan"), wb.tensor([0, 1, 0]))])
    with pytest.raises(ValueError, match="test_split_ratio is from 0"):
        DefaultClassifier().train_and_eval([], test_split_ratio=1)
    with pytest.raises(ValueError, match="no activations to learn from"):
        DefaultClassifier().train_and_eval([])

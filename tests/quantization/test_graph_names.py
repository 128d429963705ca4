"""A model that asks whether its values have names is traced for the names of its examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.models.language import WordLanguageModel
from workbench.models.vit import VisionTransformer

MAPPING = q.get_default_qconfig_mapping("onednn")


def vit() -> tuple[Any, Any]:
    model = VisionTransformer(size=8, channels=1, classes=5, features=12, layers=2, heads=3)
    return model, wb.rand(N=3, C=1, H=8, W=8)


def language() -> tuple[Any, Any]:
    return WordLanguageModel(20, features=8, hidden=8), wb.randint(0, 20, (5, 3)).rename("T", "N")


def first(result: Any) -> Any:
    return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize("make", [vit, language])
def test_models_with_names_give_the_same_names_and_codes_as_without(make: Any) -> None:
    wb.manual_seed(0)
    model, x = make()
    model.eval()
    found = []
    for given in (x, x.rename(None)):
        prepared = q.prepare_fx(model, MAPPING, (given,))
        prepared(given)
        found.append(first(q.convert_fx(prepared)(given)))
    named, plain = found
    assert named.names == first(model(x)).names and not plain.has_names()
    np.testing.assert_array_equal(named.numpy(), plain.numpy())


class Asks(nn.Module):
    """Normalises, writes, and asks for names in between."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.drop, self.fc = nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        x.mul_(2.0)
        y = self.norm(x)
        z = self.fc(self.drop(y))
        return z.rename("N", "score") if y.has_names() else z * 2.0


@pytest.mark.parametrize("training", [False, True], ids=["in use", "in training"])
def test_asking_changes_nothing(training: bool) -> None:
    model, x = Asks().train(training), wb.rand(N=6, features=4)
    model(x)
    mean, kept = model.norm.running_mean.clone(), x.clone()
    mapping = q.get_default_qat_qconfig_mapping("onednn") if training else MAPPING
    prepare = q.prepare_qat_fx if training else q.prepare_fx
    wb.manual_seed(0)
    prepare(model, mapping, (x.rename(None),))
    # Layers in training are made with weights of their own first.
    stream = wb.get_rng_state()
    wb.manual_seed(0)
    prepared = prepare(model, mapping, (x,))
    assert any("score" in node.args for node in prepared.graph.nodes)
    assert prepared.norm.running_mean.tolist() == model.norm.running_mean.tolist() == mean.tolist()
    assert all(module.training is training for module in prepared.modules())
    assert wb.get_rng_state() == stream and x.tolist() == kept.tolist()


def test_without_names_nothing_has_names() -> None:
    model, x = Asks().eval(), wb.rand(6, 4)
    prepared = q.prepare_fx(model, MAPPING, (x,))
    assert not any("score" in node.args for node in prepared.graph.nodes)


def test_what_the_model_says_of_its_examples_is_told() -> None:
    model, x = vit()
    with pytest.raises(wb.DimensionError, match=r"Conv2d: takes dims .* and got \['H', 'W', 'C', 'N'\]"):
        q.prepare_fx(model.eval(), MAPPING, (x.rename("H", "W", "C", "N"),))

"""Every model of the house is scripted, and gives what it gives."""

from __future__ import annotations

import io
from typing import Any

import pytest

import workbench as wb
from tests.jit.programs import same_value
from workbench import models

_WORDS = models.BertSettings(words=50, features=8, layers=1, heads=2, hidden=16)
MODELS: dict[str, tuple[Any, Any]] = {
    "lenet": (models.LeNet, lambda: wb.rand(2, 1, 28, 28)),
    "digits": (models.DigitsNet, lambda: wb.rand(N=2, C=1, H=28, W=28)),
    "resnet18": (models.resnet18, lambda: wb.rand(1, 3, 64, 64)),
    "resnet50": (models.resnet50, lambda: wb.rand(1, 3, 32, 32)),
    "mobilenet_v2": (models.mobilenet_v2, lambda: wb.rand(1, 3, 32, 32)),
    "efficientnet_lite0": (models.efficientnet_lite0, lambda: wb.rand(1, 3, 64, 64)),
    "vit_small": (models.vit_small, lambda: wb.rand(N=1, C=3, H=32, W=32)),
    "bert": (lambda: models.BertEncoder(_WORDS), lambda: wb.tensor([[1, 2, 3], [4, 5, 0]])),
    "language": (
        lambda: models.WordLanguageModel(words=20, features=8, hidden=8, layers=1),
        lambda: wb.tensor([[1, 2], [3, 4]], names=("T", "N")),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_scripted(name: str) -> None:
    make, example = MODELS[name]
    model, x = make().eval(), example()
    made = wb.jit.script(model)
    with wb.no_grad():
        found, expected = made(x), model(x)
    assert same_value(found, expected)
    first = found[0] if isinstance(found, tuple) else found
    other = expected[0] if isinstance(expected, tuple) else expected
    assert first.names == other.names
    assert list(made.state_dict()) == list(model.state_dict())
    wb.graph.check(made.inlined_graph)
    # An archive holds no function of Python's.
    file = io.BytesIO()
    if name == "bert":
        # Its encoder looks into names and masks, and is called whole.
        with pytest.raises(wb.WeightsError, match="calls the module 'encoder' whole"):
            wb.jit.save(made, file)
        return
    wb.jit.save(made, file)
    file.seek(0)
    with wb.no_grad():
        assert same_value(wb.jit.load(file)(x), found)


def test_every_model_is_asked() -> None:
    classes = {type(make()) for make, _ in MODELS.values()}
    assert {
        one for one in vars(models).values() if isinstance(one, type) and issubclass(one, wb.nn.Module)
    } == classes

"""The network for digits."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.models import DigitsNet
from workbench.testing import assert_close


def test_names_flow_through() -> None:
    model = DigitsNet()
    seen: dict[str, tuple[object, ...]] = {}
    for name, module in model.named_children():
        module.register_forward_hook(
            lambda module, inputs, output, name=name: seen.update({name: output.names})
        )
    model(wb.rand(N=2, C=1, H=28, W=28))
    assert list(seen) == [
        "conv1",
        "bn1",
        "relu1",
        "pool1",
        "conv2",
        "bn2",
        "relu2",
        "pool2",
        "flatten",
        "fc1",
        "relu3",
        "fc2",
    ]
    assert set(list(seen.values())[:8]) == {("N", "C", "H", "W")}
    assert (seen["flatten"], seen["fc2"]) == (("N", "features"), ("N", "out_features"))


def test_features_are_what_the_last_layer_takes() -> None:
    model = DigitsNet().eval()
    x = wb.rand(N=3, C=1, H=28, W=28)
    with wb.no_grad():
        features = model.features(x)
        assert features.shape == (3, 128)
        assert_close(model.fc2(features), model(x))


def test_a_naming_mistake_names_the_layer() -> None:
    with pytest.raises(wb.DimensionError, match="in module conv1"):
        DigitsNet()(wb.rand(N=1, H=28, W=28, C=1))

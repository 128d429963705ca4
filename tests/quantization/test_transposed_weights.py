"""Transposed convolutions with a scale for each channel: these lie along dim 1 of the weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import quantization as q

nn = wb.nn


def _network(outputs: int, groups: int) -> Any:
    wb.manual_seed(0)
    model = nn.Sequential(nn.ConvTranspose2d(8, outputs, 3, groups=groups)).eval()
    sizes = np.geomspace(0.1, 10, outputs // groups).astype(np.float32)
    model[0].weight.data *= wb.from_numpy(sizes).reshape(1, -1, 1, 1)
    return model


@pytest.fixture
def x() -> Any:
    wb.manual_seed(1)
    return wb.randn(2, 8, 9, 9)


@pytest.mark.parametrize(("outputs", "groups"), [(8, 1), (4, 1), (8, 2)])
def test_channels_of_any_size_keep_their_codes(outputs: int, groups: int, x: Any) -> None:
    model = _network(outputs, groups)
    assert q.sqnr(model(x), q.quantize(model, [x])(x)) > 25
    for mapping in ({"": q.get_default_qconfig("x86")}, q.get_default_qconfig_mapping("onednn")):
        prepared = q.prepare_fx(model, mapping, (x,))
        prepared(x)
        assert q.sqnr(model(x), q.convert_fx(prepared)(x)) > 25


def test_weights_of_other_sizes_than_their_outputs_are_reported(x: Any) -> None:
    model = _network(4, 1)
    (layer,) = [one for one in q.quantize(model, [x]).modules() if hasattr(one, "output_padding")]
    assert layer.weight.q_per_channel_axis() == 1
    assert "by integer layers" in str(q.report(model, [x]))

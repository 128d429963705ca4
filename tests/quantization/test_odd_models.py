"""Models with weights that are no numbers, results in dicts, and layers that are called at several sizes."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_no_codes_stand_for(value: float) -> None:
    model, x = nn.Sequential(nn.Linear(8, 2)).eval(), wb.randn(4, 8)
    with wb.no_grad():
        model[0].weight[0, 1] = value
    ways = {
        "a weight": lambda: q.quantize(model, [x]), "a": lambda: graph(model, x),
        "a ": lambda: q.quantize_dynamic(model), r"0\.weight": lambda: q.quantize_weights(model, group_size=8),
    }  # fmt: skip
    for name, way in ways.items():
        message = (
            rf"^{name}.*of sizes \[2, 8\] has NaN or infinite values, which no codes stand for: look where"
        )
        with pytest.raises(wb.QuantizationError, match=message):
            way()


def graph(model: Any, x: Any) -> Any:
    prepared = q.prepare_fx(model, q.get_default_qconfig_mapping(), (x,))
    prepared(x)
    return q.convert_fx(prepared)


class Pair(NamedTuple):
    y: Any
    several: Any


class Several(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.relu = nn.Linear(4, 4), nn.ReLU()

    def forward(self, x: Any) -> Any:
        h = self.relu(self.layer(x))
        return OrderedDict(h=h, more=[Pair(h, (h, None)), "word"])


@pytest.mark.parametrize("wrapped", [False, True], ids=["alone", "in QuantWrapper"])
def test_results_in_dicts_and_named_tuples_are_numbers_again(wrapped: bool) -> None:
    inner, x = Several().eval(), wb.randn(16, 4)
    model: Any = q.QuantWrapper(inner) if wrapped else inner
    exact, found = model(x), q.quantize(model, [x])(x)
    assert type(found) is OrderedDict
    assert found.keys() == exact.keys() and type(found["more"]) is list and type(found["more"][0]) is Pair
    for one, other in ((exact["h"], found["h"]), (exact["h"], found["more"][0].several[0])):
        assert other.dtype is wb.float32 and q.sqnr(one, other) > 25
    assert found["more"][0].several[1] is None and found["more"][1] == "word"


@dataclass
class Packet:
    h: Any


def test_objects_that_may_have_codes_in_them_are_refused() -> None:
    class Packing(Several):
        def forward(self, x: Any) -> Any:
            return Packet(super().forward(x)["h"])

    model, x = Packing().eval(), wb.randn(16, 4)
    words = "DeQuantStub takes tensors, and tuples, lists and dicts of them, and got a Packet"
    for made in (model, q.QuantWrapper(model)):
        with pytest.raises(wb.QuantizationError, match=words):
            q.quantize(made, [x])
        integer = q.quantize(made, lambda prepared: prepared(x))
        with pytest.raises(wb.QuantizationError, match=words):
            integer(x)


def test_samples_of_several_sizes_for_one_layer() -> None:
    class Scales(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(1, 2, 1)

        def forward(self, x: Any) -> Any:
            return self.conv(x).mean((2, 3)) + self.conv(x[:, :, ::2]).mean((2, 3))

    model, x = Scales().eval(), wb.randn(4, 1, 4, 4)
    prepared = q.prepare_fx(model, q.bits_qconfig(8, 4), (x,))
    prepared(x)
    with pytest.raises(
        wb.QuantizationError, match=r"samples of several sizes, \[1, 4, 4\] and \[1, 2, 4\], .* layers="
    ):
        q.adaround(prepared, [x], steps=2)

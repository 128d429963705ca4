"""Graph mode: what a model holds, a parameter or a buffer, beside values in codes."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q

HELD: dict[str, Any] = {
    "maximum": lambda held, x: wb.maximum(x, held),
    "minimum": lambda held, x: wb.minimum(held, x),
    "clamp": lambda held, x: x.clamp(min=held),
    "where": lambda held, x: wb.where(held > 0.5, x, held),
    "cat": lambda held, x: wb.cat([x, held.expand(2, 4, 6, 6)], 1)[:, 2:6],
    "add": lambda held, x: x + held,
}


@pytest.mark.parametrize("name", HELD)
@pytest.mark.parametrize("way", ["as it is", "compiled", "traced"])
def test_what_a_model_holds_meets_codes_as_numbers(name: str, way: str) -> None:
    class Held(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 2, 1)
            self.register_buffer("held", wb.rand(4, 1, 1))

        def forward(self, x: Any) -> Any:
            return self.last(HELD[name](self.held, self.first(x)))

    wb.manual_seed(0)
    model, x = Held().eval(), wb.rand(2, 3, 8, 8)
    prepared = q.prepare_fx(model, q.get_default_qconfig_mapping(), (x,))
    prepared(x)
    integer = q.convert_fx(prepared)
    made = {"as it is": integer, "compiled": wb.compile(integer), "traced": wb.jit.trace(integer, x)}[way]
    assert q.sqnr(model(x), made(x)) > 28

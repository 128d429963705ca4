"""Graph mode: ops that bring numbers beyond the range of what they take give codes with a scale of their own."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.core import ops
from workbench.nn import functional
from workbench.quantization.graph_mode.own_numbers import brings_numbers

WIDE: dict[str, Any] = {
    "pad": lambda x: functional.pad(x, (1, 1), value=5.0),
    "masked_fill": lambda x: x.masked_fill(x.flip(1) < 0, 5.0),
    "where and a number": lambda x: wb.where(x.flip(1) > 0, x, 5.0),
    "where and a tensor": lambda x: wb.where(x.flip(1) > 0, wb.tensor(-4.0), x),
    "scatter": lambda x: x.scatter(2, wb.zeros(4, 3, 1, 5, dtype=wb.int64), 5.0),
    "index_fill": lambda x: x.index_fill(1, wb.tensor([0]), 5.0),
    "slice_scatter": lambda x: x.slice_scatter(x[:, :1] * 6, 1, 0, 1),
    "avg_pool with a divisor": lambda x: functional.avg_pool2d(x, 2, divisor_override=1),
    "full_like": lambda x: wb.cat([wb.full_like(x, 5.0), x], 2),
    "fill": lambda x: wb.cat([wb.fill(x, 4.0), x], 2),
    "a lower bound": lambda x: wb.cat([x.clamp(min=3.0), x], 2),
}


class Between(nn.Module):
    """Something between two layers."""

    def __init__(self, between: Any) -> None:
        super().__init__()
        self.first, self.last, self.between = nn.Conv2d(3, 3, 1), nn.Conv2d(3, 2, 1), between

    def forward(self, x: Any) -> Any:
        return self.last(self.between(self.first(x)))


def forms(between: Any) -> tuple[Any, Any, Any]:
    """Return what the model, its codes and their reference form answer."""
    wb.manual_seed(0)
    model, x = Between(between).eval(), wb.randn(4, 3, 5, 5)
    prepared = q.prepare_fx(model, q.get_default_qconfig_mapping("onednn"), (x,))
    exact = prepared(x)
    return exact, q.convert_fx(prepared)(x), q.convert_to_reference_fx(prepared)(x)


@pytest.mark.parametrize("name", WIDE)
def test_numbers_beyond_the_range_of_codes_are_not_cut_off(name: str) -> None:
    exact, codes, reference = forms(WIDE[name])
    # A flip of a condition, where a value is near 0, costs some.
    assert q.sqnr(exact, codes) > 20
    assert q.sqnr(reference, codes) > 50


def test_what_stays_in_its_range_takes_codes_as_it_is() -> None:
    x = wb.rand(2, 3, 4, 4)
    within: dict[Any, dict[str, Any]] = {
        ops.pad: {"padding": ((0, 0), (0, 0), (1, 1), (1, 1)), "value": 0.0},
        ops.relu: {},
        ops.hardtanh: {"low": -1.0, "high": 1.0},
        ops.mean: {"dim": (2, 3), "keepdim": False},
    }
    for op, params in within.items():
        assert not brings_numbers(op, (x,), _known(op, params)), op
    assert brings_numbers(ops.pad, (x,), {**_known(ops.pad, within[ops.pad]), "value": 2.0})
    assert not brings_numbers(ops.maximum, (x, x), {})
    assert brings_numbers(ops.fill, (x,), {"value": 2.0}) and not brings_numbers(ops.fill, (x,), {"value": 0})


def _known(op: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters by the names that the op has for them."""
    sample = next(iter(op.samples()))
    assert set(params) == set(sample.params), (op, sample.params)
    return params


def test_a_bound_that_ends_the_codes_of_a_layer_stays_joined_with_it() -> None:
    wb.manual_seed(0)
    model, x = Between(lambda x: x.clamp(0.2, 0.7)).eval(), wb.randn(4, 3, 5, 5)
    prepared = q.prepare_fx(model, q.get_default_qconfig_mapping("onednn"), (x,))
    prepared(x)
    integer = q.convert_fx(prepared)
    assert "dequantize" not in integer.code.partition("clamp")[0] and q.sqnr(model(x), integer(x)) > 30

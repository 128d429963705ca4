"""Calls between layers in graph mode: ops on codes in their place, where all they take is codes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.base.errors import QuantizationError
from workbench.nn import functional as F
from workbench.quantization.comparing.pairing import graph_of, pairs
from workbench.quantization.quantize_fx import convert_fx, convert_to_reference_fx, prepare_fx
from workbench.quantization.quantized import QFunction


class Between(nn.Module):
    """What `function` makes of the results of two layers."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(6, 8)
        self.scale, self.shift = nn.Parameter(wb.randn(8)), nn.Parameter(wb.randn(8))
        self.mish = nn.Mish()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(self, self.first(x), self.second(x))


def converted(function: Any, mapping: Any = None) -> tuple[Any, Any, Any]:
    wb.manual_seed(4)
    model, x = Between(function).eval(), wb.randn(5, 7, 6)
    prepared = prepare_fx(model, mapping or q.get_default_qconfig_mapping("x86"), (x,))
    with wb.no_grad():
        prepared(x)
    return convert_fx(prepared), convert_to_reference_fx(prepared), x


def functions(integer: Any) -> list[str]:
    return [
        " ".join([one.op, *(["relu"] if one.relu else [])])
        for one in integer.modules()
        if isinstance(one, QFunction)
    ]


def numbers_between(integer: Any) -> int:
    """Return how often codes become numbers, but for what is returned."""
    nodes = [one for one in integer.graph.nodes if one.target == "dequantize"]
    return sum(any(user.op != "output" for user in one.users) for one in nodes)


CALLS = {
    "add": lambda m, a, b: a + b,
    "add relu": lambda m, a, b: F.relu(a + b),
    "add relu, in place": lambda m, a, b: a.add(b).relu_(),
    "mul": lambda m, a, b: wb.mul(a, b),
    "mul relu": lambda m, a, b: (a * b).relu(),
    "matmul": lambda m, a, b: a @ b.transpose(1, 2),
    "gelu": lambda m, a, b: F.gelu(a),
    "gelu_tanh": lambda m, a, b: F.gelu(a, approximate="tanh"),
    "silu": lambda m, a, b: F.silu(a),
    "hardswish": lambda m, a, b: F.hardswish(a),
    "leaky_relu": lambda m, a, b: F.leaky_relu(a, 0.3),
    "mish": lambda m, a, b: m.mish(a),
    "layer_norm": lambda m, a, b: F.layer_norm(a, (8,), m.scale, m.shift),
    "rms_norm": lambda m, a, b: F.rms_norm(a, (8,), m.scale),
    "group_norm": lambda m, a, b: F.group_norm(a.transpose(1, 2), 2, m.scale),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_between_layers_is_one_op_on_codes(name: str) -> None:
    integer, reference, x = converted(CALLS[name])
    assert functions(integer) == [name.removesuffix(", in place")]
    assert numbers_between(integer) == 0
    # Numbers that become codes and numbers again round in other places.
    found, expected = integer(x), reference(x)
    step = next(one for one in integer.modules() if isinstance(one, QFunction)).scale.item()
    assert np.abs(found.numpy() - expected.numpy()).max() < 1.01 * step
    assert (found.numpy() != expected.numpy()).mean() < 0.02


KEPT = {
    "a number": lambda m, a, b: a + 2.0,
    "a parameter": lambda m, a, b: a + m.scale,
    "twice as much": lambda m, a, b: wb.add(a, b, alpha=2),
    "bounds": lambda m, a, b: F.relu6(a + b),
    "a rectified product of matrices": lambda m, a, b: F.relu(a @ b.transpose(1, 2)),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_is_no_op_on_codes_is_computed_with_numbers(name: str) -> None:
    integer, reference, x = converted(KEPT[name])
    assert not functions(integer)
    np.testing.assert_array_equal(integer(x).numpy(), reference(x).numpy())


def test_a_value_beside_that_is_no_codes_is_added_as_it_is() -> None:
    wb.manual_seed(4)
    model, x = Between(CALLS["add"]).eval(), wb.randn(5, 7, 6)
    mapping = q.get_default_qconfig_mapping("x86").set_module_name("second", None)
    prepared = prepare_fx(model, mapping, (x,))
    prepared(x)
    integer = convert_fx(prepared)
    with wb.no_grad():
        assert q.sqnr(model(x), integer(x)) > 30


def test_a_module_that_is_called_twice_has_a_scale_for_each_call() -> None:
    integer, _, x = converted(lambda m, a, b: m.mish(m.mish(a) * 4.0 + b))
    assert sorted(functions(integer)) == ["add", "mish", "mish"]
    scales = {one.scale.item() for one in integer.modules() if isinstance(one, QFunction)}
    assert len(scales) == 3 and np.isfinite(integer(x).numpy()).all()


def test_codes_of_another_type_come_out_where_they_are_wanted() -> None:
    config = q.QConfig(
        activation=q.MinMaxObserver.with_args(dtype=wb.qint8, qscheme=wb.per_tensor_symmetric),
        weight=q.default_per_channel_weight_observer,
    )
    mapping = q.get_default_qconfig_mapping("x86").set_object_type(operator.mul, config)
    integer, reference, x = converted(lambda m, a, b: a * b, mapping)
    assert functions(integer) == ["mul"] and "dtype=qint8" in repr(integer.mul)
    assert np.abs(integer(x).numpy() - reference(x).numpy()).max() < 0.1


def test_a_function_on_codes_says_what_it_is_and_refuses_numbers() -> None:
    integer, _, x = converted(CALLS["leaky_relu"])
    (made,) = [one for one in integer.modules() if isinstance(one, QFunction)]
    assert repr(made).startswith("QFunction(leaky_relu, slope=0.3, scale=")
    assert "self.leaky_relu(first)" in integer.code
    with pytest.raises(
        QuantizationError, match="quantized QFunction takes a quantized tensor, and got float32"
    ):
        made(x)


def test_a_state_has_the_scales_of_functions() -> None:
    integer, _, x = converted(CALLS["mul relu"])
    other, _, _ = converted(CALLS["mul relu"])
    other.mul.scale.data.fill_(3.0)
    assert (other(x) != integer(x)).any()
    other.load_state_dict(integer.state_dict())
    np.testing.assert_array_equal(other(x).numpy(), integer(x).numpy())


def test_sums_are_found_by_the_names_of_the_float_model() -> None:
    wb.manual_seed(4)
    model, x = Between(CALLS["add relu"]).eval(), wb.randn(5, 7, 6)
    prepared = prepare_fx(model, q.get_default_qconfig_mapping("x86"), (x,))
    prepared(x)
    graph, integer = graph_of(model), convert_fx(prepared)
    found = [(own.end.name, other.start.name) for own, other in pairs(graph, integer)]
    assert found == [("first", "first"), ("second", "second"), ("relu", "add")]
    assert [(b.start.name, a.end.name) for b, a in pairs(integer, graph)][-1] == ("add", "relu")
    assert len(pairs(integer, integer)) == 3

"""Single parts of a model in graph mode: codes at its borders, modules of one's own, called whole, prepared alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import quantization as q
from workbench.quantization.custom_config import QuantType
from workbench.quantization.quantize_fx import ConvertCustomConfig, FuseCustomConfig, PrepareCustomConfig

MAPPING = q.get_default_qconfig_mapping("onednn")


class Scale(wb.nn.Module):
    """A layer of somebody's own."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = wb.nn.Parameter(wb.tensor(1.5))

    def forward(self, x: Any) -> Any:
        # No tracer gets past this.
        return x * self.factor if float(x.abs().max()) < 1e9 else x


class ObservedScale(wb.nn.Module):
    def __init__(self, factor: Any, watching: Any) -> None:
        super().__init__()
        self.factor, self.watching = factor, watching

    @classmethod
    def from_float(cls, module: Any) -> Any:
        return cls(module.factor, module.qconfig.activation())

    def forward(self, x: Any) -> Any:
        return self.watching(x * self.factor)


class QuantizedScale(wb.nn.Module):
    """Codes stay, and their scale grows."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    @classmethod
    def from_observed(cls, module: Any) -> Any:
        assert module.watching.has_data
        return cls(float(module.factor))

    def forward(self, x: Any) -> Any:
        scale, zero = x.q_scale() * self.factor, x.q_zero_point()
        return wb._make_per_tensor_quantized_tensor(x.int_repr(), scale, zero)


class Net(wb.nn.Module):
    def __init__(self, middle: Any) -> None:
        super().__init__()
        self.first, self.middle, self.last = wb.nn.Linear(6, 5), middle, wb.nn.Linear(5, 3)
        self.classes = ["a", "b", "c"]

    def forward(self, x: Any) -> Any:
        return self.last(self.middle(self.first(x).relu()))


@pytest.fixture
def x() -> Any:
    wb.manual_seed(0)
    return wb.randn(16, 6)


def converted(net: Any, x: Any, custom: Any, convert: Any = None) -> Any:
    prepared = q.prepare_fx(net, MAPPING, (x,), custom)
    with wb.no_grad():
        prepared(x)
        return q.convert_fx(prepared, convert)


def test_borders_in_codes(x: Any) -> None:
    net = Net(wb.nn.Identity()).eval()
    custom = PrepareCustomConfig().set_input_quantized_indexes([0]).set_output_quantized_indexes([0])
    integer = converted(net, x, custom)
    assert not [node for node in integer.graph.nodes if "quantize" in node.name]
    out = integer(wb.quantize_per_tensor(x, 0.03, 128, wb.quint8))
    assert out.dtype == wb.quint8
    assert q.sqnr(net(x).detach(), out) > 25


@pytest.mark.parametrize("as_dict", [False, True])
def test_modules_of_ones_own(x: Any, as_dict: bool) -> None:
    net = Net(Scale()).eval()
    custom: Any = PrepareCustomConfig().set_float_to_observed_mapping(Scale, ObservedScale, QuantType.STATIC)
    convert: Any = ConvertCustomConfig().set_observed_to_quantized_mapping(ObservedScale, QuantizedScale)
    if as_dict:
        custom, convert = custom.to_dict(), convert.to_dict()
    integer = converted(net, x, custom, convert)
    assert type(integer.middle) is QuantizedScale
    # Codes come in, and codes go on.
    assert len([node for node in integer.graph.nodes if "quantize" in node.name]) == 2
    assert q.sqnr(net(x).detach(), integer(x)) > 25
    with pytest.raises(
        wb.QuantizationError, match="middle is a ObservedScale, and nothing says what it becomes"
    ):
        converted(net, x, custom)


@pytest.mark.parametrize("by", ["name", "class"])
def test_modules_called_whole(x: Any, by: str) -> None:
    net = Net(Scale()).eval()
    custom = PrepareCustomConfig()
    custom = (
        custom.set_non_traceable_module_names(["middle"])
        if by == "name"
        else custom.set_non_traceable_module_classes([Scale])
    )
    integer = converted(net, x, custom)
    assert type(integer.middle) is Scale
    assert q.sqnr(net(x).detach(), integer(x)) > 25


@pytest.mark.parametrize("by", ["name", "class"])
def test_modules_prepared_by_themselves(x: Any, by: str) -> None:
    inner = wb.nn.Sequential(wb.nn.Linear(5, 5), wb.nn.ReLU())
    net = Net(inner).eval()
    given = (None, (wb.rand(2, 5),), None, None)
    custom = PrepareCustomConfig()
    custom = (
        custom.set_standalone_module_name("middle", *given)
        if by == "name"
        else custom.set_standalone_module_class(wb.nn.Sequential, *given)
    )
    prepared = q.prepare_fx(net, MAPPING, (x,), custom)
    assert isinstance(prepared.middle, wb.fx.GraphModule)
    prepared(x)
    integer = q.convert_fx(prepared)
    assert isinstance(integer.middle, wb.fx.GraphModule)
    assert type(getattr(integer.middle, "0")).__name__ == "LinearReLU"
    assert q.sqnr(net(x).detach(), integer(x)) > 25


def test_what_is_preserved(x: Any) -> None:
    net = Net(wb.nn.Identity()).eval()
    kept = PrepareCustomConfig().set_preserved_attributes(["classes"])
    integer = converted(net, x, kept, ConvertCustomConfig().set_preserved_attributes(["classes"]))
    assert integer.classes == ["a", "b", "c"]
    assert q.fuse_fx(net, FuseCustomConfig().set_preserved_attributes(["classes"])).classes == ["a", "b", "c"]
    assert not hasattr(converted(net, x, None), "classes")


def test_configurations_are_dicts_too() -> None:
    custom = (
        PrepareCustomConfig().set_non_traceable_module_names(["a"]).set_input_quantized_indexes([1])
        .set_standalone_module_name("b", None, (1,), None, None).set_float_to_observed_mapping(int, str)
    )  # fmt: skip
    assert PrepareCustomConfig.from_dict(custom.to_dict()) == custom
    assert custom.to_dict()["float_to_observed_custom_module_class"] == {"static": {int: str}}
    assert PrepareCustomConfig() != custom
    assert "input_quantized_indexes=[1]" in repr(custom)
    convert = ConvertCustomConfig().set_observed_to_quantized_mapping(int, str, QuantType.QAT)
    assert ConvertCustomConfig.from_dict(convert.to_dict()) == convert
    assert FuseCustomConfig.from_dict({"preserved_attributes": ["x"]}).preserved_attributes == ["x"]


@pytest.mark.parametrize(
    ("custom", "message"),
    [
        (PrepareCustomConfig().set_input_quantized_indexes([1]), "there is no input 1: the model has 1"),
        (PrepareCustomConfig().set_output_quantized_indexes([-1]), "there is no result -1: the model has 1"),
        (
            PrepareCustomConfig().set_non_traceable_module_names(["midle"]),
            "names 'midle', .* did you mean 'middle'",
        ),
        (
            PrepareCustomConfig().set_preserved_attributes(["size"]),
            "the model has no attribute 'size' to be preserved",
        ),
        (
            {"non_traceable_module": []},
            "means nothing to PrepareCustomConfig: did you mean 'non_traceable_module_name'",
        ),
        (
            {"float_to_observed_custom_module_class": {"dynamically": {}}},
            "'dynamically' is no way of quantization",
        ),
        (3, "PrepareCustomConfig or a dict is asked for, and int was given"),
    ],
)
def test_refusals(x: Any, custom: Any, message: str) -> None:
    net = Net(wb.nn.Identity()).eval()
    with pytest.raises(wb.QuantizationError, match=message):
        q.prepare_fx(net, MAPPING, (x,), custom)
    assert type(net.first) is wb.nn.Linear


def test_what_was_not_preserved_is_said(x: Any) -> None:
    net = Net(wb.nn.Identity()).eval()
    with pytest.raises(
        wb.QuantizationError, match="has no attribute 'classes': name it in PrepareCustomConfig, too"
    ):
        converted(net, x, None, ConvertCustomConfig().set_preserved_attributes(["classes"]))


class _Beside(wb.nn.Module):
    """A sum in floating point beside layers in codes."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.wide, self.narrow = wb.nn.LayerNorm(16), wb.nn.Linear(16, 32), wb.nn.Linear(32, 16)

    def forward(self, x: Any) -> Any:
        x = self.norm(x)
        return x + self.narrow(wb.nn.functional.gelu(self.wide(x)))


def test_what_takes_no_codes_takes_values_and_layers_give_their_sums() -> None:
    wb.manual_seed(0)
    model, x = _Beside().eval(), wb.randn(8, 20, 16)
    model.norm.weight.data[3] = 40.0
    mapping = q.QConfigMapping().set_object_type(wb.nn.Linear, q.get_default_qconfig("onednn"))
    found = {}
    for floating in (False, True):
        custom = q.PrepareCustomConfig().set_float_results(floating)
        assert q.PrepareCustomConfig.from_dict(custom.to_dict()) == custom
        prepared = q.prepare_fx(model, mapping, (x,), custom)
        with wb.no_grad():
            prepared(x)
            integer = q.convert_fx(prepared)
            found[floating] = q.sqnr(model(x), integer(x))
            np.testing.assert_allclose(
                wb.compile(integer)(x).numpy(), integer(x).numpy(), rtol=1e-4, atol=1e-4
            )
            np.testing.assert_allclose(
                q.convert_to_reference_fx(prepared)(x).numpy(), integer(x).numpy(), rtol=1e-4, atol=1e-4
            )
        assert ("float results" in repr(integer.wide)) is floating
        # The sum reads the norm itself: its outlier would cost all others their digits.
        (added,) = (node for node in integer.graph.nodes if node.name == "add")
        assert next(one.name for one in added.all_input_nodes) == "norm"
    assert found[True] > found[False]

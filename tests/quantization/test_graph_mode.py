"""Graph mode: what is observed, what becomes codes, what stays, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import quantization as q
from workbench.fx import TraceError
from workbench.nn import functional
from workbench.quantization.backend_config import BackendConfig, BackendPatternConfig

MAPPING = q.QConfigMapping().set_global(q.default_per_channel_qconfig)


class Net(wb.nn.Module):
    """Functions between layers: a sum that is rectified, a join, a fixed range, sizes, a weight of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = wb.nn.Conv2d(3, 4, 3, padding=1), wb.nn.BatchNorm2d(4)
        self.side = wb.nn.Conv2d(3, 4, 1)
        self.body = wb.nn.Sequential(wb.nn.Linear(8, 8), wb.nn.GELU(), wb.nn.LayerNorm(8))
        self.weight = wb.nn.Parameter(wb.randn(5, 8) * 0.3)

    def forward(self, x: Any) -> Any:
        x = functional.relu(functional.relu(self.norm(self.conv(x))) + self.side(x))
        x = functional.avg_pool2d(x, 2)
        x = wb.cat([x, x * 0.5], dim=1).mean([2, 3])
        x = self.body(x.view(x.size(0), -1)) + 1.0
        return functional.linear(x, self.weight).sigmoid()


@pytest.fixture
def net() -> Any:
    wb.manual_seed(0)
    made = Net()
    with wb.no_grad():
        made(wb.randn(8, 3, 8, 8))
    return made.eval()


@pytest.fixture
def x() -> Any:
    wb.manual_seed(1)
    return wb.randn(4, 3, 8, 8)


def converted(model: Any, x: Any, mapping: Any = MAPPING, **settings: Any) -> tuple[Any, Any]:
    prepared = q.prepare_fx(model, mapping, (x,), **settings)
    with wb.no_grad():
        prepared(x)
        return prepared, q.convert_fx(prepared)


def kinds(module: Any) -> dict[str, str]:
    return {
        name: type(one).__name__
        for name, one in module.named_modules()
        if "quantized" in type(one).__module__
    }


def test_functions_and_layers_become_codes(net: Any, x: Any) -> None:
    prepared, integer = converted(net, x)
    with wb.no_grad():
        np.testing.assert_allclose(prepared(x).numpy(), net(x).numpy(), atol=1e-5)
        assert q.sqnr(net(x), integer(x)) > 35
        assert integer(x[:2]).shape == (2, 5)
    found = kinds(integer)
    assert found["conv"] == "ConvReLU2d"
    assert found["linear_layer"] == "Linear"
    names = [node.name for node in integer.graph.nodes]
    # One way in, and codes until the end.
    assert names[:2] == ["x", "quantize_x"]
    assert names[-2].startswith("dequantize")
    assert integer.fc if hasattr(integer, "fc") else True
    assert type(net.conv) is wb.nn.Conv2d and not hasattr(net, "quantize_x")


def test_a_sum_is_observed_behind_its_rectifier_and_joined_values_share_a_scale(net: Any, x: Any) -> None:
    prepared, integer = converted(net, x)
    targets = [
        str(node.target) for node in prepared.graph.nodes if "activation_post_process" in str(node.target)
    ]
    # The product that is joined with what it was made of is seen by the same observer.
    assert len(targets) == len(set(targets)) + 1
    sums = [node for node in prepared.graph.nodes if node.name == "add"]
    (after,) = sums[0].users
    assert after.name.startswith("relu")
    assert integer.quantize_mul.scale.item() == integer.add.scale.item()


def test_what_has_no_qconfig_stays_in_floating_point(net: Any, x: Any) -> None:
    mapping = (
        q.QConfigMapping().set_global(q.default_qconfig).set_module_name("body", None)
        .set_object_type(wb.nn.Conv2d, None).set_module_name("side", q.default_qconfig)
    )  # fmt: skip
    _, integer = converted(net, x, mapping)
    found = kinds(integer)
    assert found["side"] == "Conv2d"
    assert "conv" not in found and "body.0" not in found
    assert (
        type(integer.body[0] if hasattr(integer.body, "__getitem__") else getattr(integer.body, "0"))
        is wb.nn.Linear
    )
    with wb.no_grad():
        assert q.sqnr(net(x), integer(x)) > 25


def test_training_in_graph_mode(net: Any, x: Any) -> None:
    prepared = q.prepare_qat_fx(net.train(), q.get_default_qat_qconfig_mapping(), (x,))
    assert type(prepared.conv).__name__ == "ConvBnReLU2d"
    prepared(x).sum().backward()
    assert prepared.conv.weight.grad is not None
    prepared.eval()
    integer = q.convert_fx(prepared)
    with wb.no_grad():
        assert q.sqnr(prepared(x), integer(x)) > 25


def test_a_dict_and_one_qconfig_are_mappings(net: Any, x: Any) -> None:
    _, first = converted(net, x, {"": q.default_qconfig, "object_type": [(wb.nn.Linear, None)]})
    assert "body.0" not in kinds(first) and "conv" in kinds(first)
    _, second = converted(net, x, q.default_qconfig)
    assert "body.0" in kinds(second)


def test_the_first_call_of_a_kind_can_be_named(net: Any, x: Any) -> None:
    mapping = q.QConfigMapping().set_global(q.default_qconfig)
    mapping.set_module_name_object_type_order("", wb.nn.Conv2d, 1, None)
    _, integer = converted(net, x, mapping)
    assert "conv" in kinds(integer) and "side" not in kinds(integer)


def test_dynamic_layers_in_graph_mode(net: Any, x: Any) -> None:
    mapping = q.QConfigMapping().set_object_type(wb.nn.Linear, q.default_dynamic_qconfig)
    _, integer = converted(net, x, mapping)
    assert type(getattr(integer.body, "0")).__module__.endswith("dynamic.linear")
    assert "conv" not in kinds(integer)


def test_a_backend_takes_what_it_names(net: Any, x: Any) -> None:
    config = BackendConfig("small").set_backend_pattern_configs(
        [BackendPatternConfig(wb.nn.Linear), BackendPatternConfig(functional.linear)]
    )
    _, integer = converted(net, x, backend_config=config)
    found = kinds(integer)
    assert found["linear_layer"] == "Linear" and found["body.0"] == "Linear"
    assert "conv" not in found and "side" not in found


def test_fusing_alone(net: Any, x: Any) -> None:
    fused = q.fuse_fx(net)
    assert type(fused.conv).__name__ == "ConvReLU2d"
    assert not hasattr(fused, "norm")
    with wb.no_grad():
        np.testing.assert_allclose(fused(x).numpy(), net(x).numpy(), atol=1e-5)


def test_values_of_a_fixed_range_do_not_cut_those_beside_them() -> None:
    class Joined(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = wb.nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            y = self.fc(x)
            return wb.cat([y.sigmoid(), y * 9.0], dim=1)

    wb.manual_seed(0)
    model, x = Joined().eval(), wb.randn(16, 4)
    _, integer = converted(model, x)
    with wb.no_grad():
        assert q.sqnr(model(x), integer(x)) > 30


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m, x: q.prepare_fx(m.train(), MAPPING, (x,)), "Fusion only for eval!"),
        (lambda m, x: q.prepare_qat_fx(m.eval(), MAPPING, (x,)), "only works for models in train mode"),
        (lambda m, x: q.prepare_fx(m, MAPPING, ()), "give example_inputs"),
        (lambda m, x: q.prepare_fx(m, 7, (x,)), "a QConfigMapping says what is quantized, and int was given"),
        (
            lambda m, x: q.prepare_fx(m, q.QConfigMapping().set_module_name("bodi", None), (x,)),
            "a qconfig for 'bodi', and no module of that name: did you mean 'body'",
        ),
        (
            lambda m, x: q.prepare_fx(m, q.QConfigMapping().set_module_name_regex("tail.*", None), (x,)),
            "a qconfig for 'tail.*', and no module's path fits it",
        ),
        (lambda m, x: q.prepare_fx(m, q.QConfigMapping(), (x,)), "nothing to quantize: no part of the model"),
        (lambda m, x: q.prepare_fx(m, {"object": []}, (x,)), "'object' means nothing in a dict of qconfigs"),
        (lambda m, x: q.QConfigMapping().set_module_name_regex("(", None), "is no regular expression"),
        (
            lambda m, x: q.prepare_fx(q.prepare_fx(m, MAPPING, (x,)), MAPPING, (x,)),
            r"has observers already: prepare\(\) it once",
        ),
        (lambda m, x: q.convert_fx(m), "convert_fx takes what prepare_fx or prepare_qat_fx returned"),
        (
            lambda m, x: q.convert_fx(q.prepare_fx(m, MAPPING, (x,))),
            "not calibrated: x, conv, .* have seen no values",
        ),
    ],
)
def test_refusals(net: Any, x: Any, change: Any, message: str) -> None:
    before = {name: value.numpy().copy() for name, value in net.state_dict().items()}
    with pytest.raises(wb.QuantizationError, match=message):
        change(net, x)
    assert list(net.state_dict()) == list(before)
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[name])


def test_only_nan_is_no_calibration(net: Any, x: Any) -> None:
    prepared = q.prepare_fx(net, MAPPING, (x,))
    with wb.no_grad():
        prepared(x * float("nan"))
    with pytest.raises(wb.QuantizationError, match="not calibrated: x, "):
        q.convert_fx(prepared)


def test_a_mapping_shows_and_compares_itself() -> None:
    mapping = q.get_default_qconfig_mapping()
    assert q.QConfigMapping.from_dict(mapping.to_dict()) == mapping
    assert "module_name_qconfigs" in repr(mapping)
    assert mapping != q.get_default_qat_qconfig_mapping()


@pytest.mark.parametrize("function", [wb.nn.Sigmoid(), wb.nn.Tanh(), wb.nn.Softmax(-1), wb.nn.Hardsigmoid()])
def test_a_fixed_range_is_not_that_of_what_its_function_takes(function: Any) -> None:
    """A function whose values come from floating point by wish computes there, and its values become codes."""
    wb.manual_seed(0)
    model = wb.nn.Sequential(wb.nn.Linear(6, 8), wb.nn.Flatten(), function, wb.nn.Linear(8, 4)).eval()
    x = wb.randn(64, 6) * 4
    whole = q.get_default_qconfig_mapping().set_module_name("0", None)
    some = q.QConfigMapping().set_module_name("3", q.get_default_qconfig())
    some.set_module_name("2", whole.object_type_qconfigs[type(function)])
    for mapping in (whole, some):
        _, made = converted(model, x, mapping)
        assert type(made.get_submodule("3")) is q.quantized.Linear
        with wb.no_grad():
            assert q.sqnr(model(x), made(x)) > 28


def test_one_of_several_results_is_observed_and_not_all_of_them() -> None:
    """A traced normalisation gives its statistics, too: what picks the first of the three is what has a range."""
    wb.manual_seed(0)
    model = wb.nn.Sequential(wb.nn.Linear(8, 8), wb.nn.LayerNorm(8), wb.nn.Linear(8, 3)).eval()
    x = wb.randn(32, 8)
    _, integer = converted(wb.jit.trace(model, x), x)
    with wb.no_grad():
        assert q.sqnr(model(x), integer(x)) > 30


def test_a_layer_that_is_only_clamped_is_observed_behind_its_clamp() -> None:
    wb.manual_seed(0)
    for clamp in (wb.nn.ReLU6(), wb.nn.Hardtanh(-1.0, 2.0)):
        model = wb.nn.Sequential(wb.nn.Conv2d(2, 4, 3), clamp, wb.nn.Conv2d(4, 2, 3)).eval()
        x = wb.randn(8, 2, 8, 8) * 40
        prepared, integer = converted(model, x)
        seen = [str(node.args[0]) for node in prepared.graph.nodes if "post_process" in str(node.target)]
        assert seen[1] == "_1", seen
        with wb.no_grad():
            # A step is a 127th of what the clamp leaves, not of what came to it.
            assert integer.get_submodule("0").scale < 7 / 127
            assert q.sqnr(model(x), integer(x)) > 25


def test_a_layer_whose_clamp_is_not_its_only_reader_keeps_its_range() -> None:
    class Both(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = wb.nn.Conv2d(2, 4, 3)

        def forward(self, x: Any) -> Any:
            y = self.conv(x)
            return functional.relu6(y) + y

    wb.manual_seed(0)
    model, x = Both().eval(), wb.randn(8, 2, 8, 8) * 40
    _, integer = converted(model, x)
    with wb.no_grad():
        assert q.sqnr(model(x), integer(x)) > 28


@pytest.mark.parametrize("pool", [(2, 2), (3, 2, 1)])
def test_poolings_of_any_windows_follow_a_convolution(pool: tuple[int, ...]) -> None:
    wb.manual_seed(0)
    net = wb.nn.Sequential(wb.nn.Conv2d(3, 4, 3), wb.nn.ReLU(), wb.nn.MaxPool2d(*pool)).eval()
    x = wb.randn(2, 3, 17, 17)
    prepared = q.prepare_fx(net, q.get_default_qconfig_mapping("onednn"), (x,))
    prepared(x)
    found = q.convert_fx(prepared)(x)
    assert found.shape == net(x).shape
    assert q.sqnr(net(x), found) > 30


class Inner(wb.nn.Module):
    """Functions in a module that is no layer."""

    def forward(self, x: Any) -> Any:
        return functional.relu(x + x)


class Outer(wb.nn.Module):
    """A module in a module in a model."""

    def __init__(self) -> None:
        super().__init__()
        self.body = wb.nn.Sequential(wb.nn.Linear(8, 8), Inner())
        self.head = wb.nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        return self.head(self.body(x))


def test_functions_of_an_inner_module_go_by_its_whole_path() -> None:
    model, x = wb.nn.Sequential(Outer()).eval(), wb.rand(4, 8)

    def configs(mapping: Any) -> dict[str, bool]:
        prepared = q.prepare_fx(model, mapping, (x,))
        return {str(node): node.meta.get("qconfig") is not None for node in prepared.graph.nodes}

    given = q.get_default_qconfig_mapping()
    assert configs(given)["add"] and configs(given)["relu"]
    found = configs(given.set_module_name("0.body.1", None))
    assert not found["add"] and not found["relu"] and found["_0_head"]
    first = q.QConfigMapping().set_module_name_object_type_order(
        "0.body.1", functional.relu, 0, q.default_qconfig
    )
    assert [name for name, told in configs(first.set_module_name("0.head", q.default_qconfig)).items() if told] == [
        "relu", "_0_head"
    ]  # fmt: skip


def test_a_shape_is_no_value_that_is_picked() -> None:
    class Shaped(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = wb.nn.Linear(8, 8), wb.nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            y = self.first(x.flatten(0, 1))
            return self.second(y.reshape(x.shape))

    _, integer = converted(Shaped().eval(), wb.randn(2, 3, 8))
    # Between the layers codes are moved as they are.
    assert [node.name for node in integer.graph.nodes if node.target == "dequantize"] == ["dequantize"]
    assert sum("quantize_" in str(node.target) for node in integer.graph.nodes) == 1


def test_parts_of_a_weight_are_weights_of_layers() -> None:
    class Parts(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight, self.bias = wb.nn.Parameter(wb.randn(12, 8)), wb.nn.Parameter(wb.randn(12))

        def forward(self, x: Any) -> Any:
            parts = [functional.linear(x, self.weight[k : k + 4], self.bias[k : k + 4]) for k in (0, 4, 8)]
            return wb.cat(parts, -1)

    wb.manual_seed(0)
    model, x = Parts().eval(), wb.randn(16, 8)
    for one in (model, wb.jit.trace(model, x)):
        _, integer = converted(one, x)
        layers = [part for part in integer.modules() if type(part) is q.quantized.Linear]
        assert len(layers) == 3 and layers[0].weight.shape == (4, 8)
        assert q.sqnr(model(x), integer(x)) > 35


@pytest.mark.parametrize("between", [wb.nn.LayerNorm(8), wb.nn.GELU(), wb.nn.SiLU(), wb.nn.PReLU()])
def test_layers_without_a_weight_in_codes_take_codes(between: Any) -> None:
    wb.manual_seed(0)
    model = wb.nn.Sequential(wb.nn.Linear(8, 8), between, wb.nn.Linear(8, 4)).eval()
    x = wb.randn(32, 8)
    _, integer = converted(model, x)
    assert type(integer.get_submodule("1")).__module__.startswith("workbench.quantization.quantized")
    assert [node.name for node in integer.graph.nodes if node.target == "dequantize"] == ["dequantize"]
    prepared = q.prepare(model, q.default_per_channel_qconfig)
    prepared(x)
    np.testing.assert_array_equal(integer(x).numpy(), q.convert(prepared)(x).numpy())


def test_a_layer_that_is_called_twice_has_no_scale_of_its_own() -> None:
    class Twice(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.norm, self.last = wb.nn.Linear(8, 8), wb.nn.LayerNorm(8), wb.nn.Linear(8, 4)

        def forward(self, x: Any) -> Any:
            return self.last(self.norm(self.first(self.norm(x)) * 3.0))

    wb.manual_seed(0)
    model, x = Twice().eval(), wb.randn(32, 8)
    _, integer = converted(model, x)
    assert type(integer.norm) is wb.nn.LayerNorm
    assert q.sqnr(model(x), integer(x)) > 28


@pytest.mark.parametrize("training", [False, True])
def test_a_rectifier_that_a_model_calls_behind_all_its_layers_is_joined_with_each(training: bool) -> None:
    class Net(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.norm = wb.nn.Conv2d(2, 4, 3), wb.nn.BatchNorm2d(4)
            self.second, self.relu = wb.nn.Conv2d(4, 4, 3), wb.nn.ReLU()

        def forward(self, x: Any) -> Any:
            x = self.relu(self.norm(self.first(x)))
            return self.relu(self.second(x)) + self.relu(x.mean())

    wb.manual_seed(5)
    net, x = Net().train(training), wb.randn(2, 2, 9, 9)
    prepare = q.prepare_qat_fx if training else q.prepare_fx
    prepared = prepare(net, q.get_default_qconfig_mapping("x86"), (x,))
    prepared(x)
    integer = q.convert_fx(prepared.eval())
    found = {name: type(one).__name__ for name, one in integer.named_modules()}
    assert (found["first"], found["second"]) == ("ConvReLU2d", "ConvReLU2d")
    # The one that stands alone is left.
    assert [node.target for node in integer.graph.nodes].count("relu") == 1
    with wb.no_grad():
        assert q.sqnr(prepared.eval()(x) if training else net(x), integer(x)) > 25


def test_a_model_that_asks_for_numbers_is_told_what_would_work_and_that_works(x: Any) -> None:
    class Padded(wb.nn.Module):
        def forward(self, x: Any) -> Any:
            return wb.nn.functional.pad(x, [max(4 - size % 4, 0) for size in x.shape[2:]] * 2)

    wb.manual_seed(6)
    model = wb.nn.Sequential(wb.nn.Conv2d(3, 4, 3), Padded(), wb.nn.Conv2d(4, 4, 3)).eval()
    mapping = q.get_default_qconfig_mapping("x86")
    with pytest.raises(
        TraceError, match=r"wb\.jit\.trace\(model, \*example_inputs\) has that of the examples"
    ):
        q.prepare_fx(model, mapping, (x,))
    apart = q.PrepareCustomConfig().set_non_traceable_module_classes([Padded])
    for made in (
        q.prepare_fx(wb.jit.trace(model, x), mapping, (x,)),
        q.prepare_fx(model, mapping, (x,), prepare_custom_config=apart),
    ):
        made(x)
        with wb.no_grad():
            assert q.sqnr(model(x), q.convert_fx(made)(x)) > 30

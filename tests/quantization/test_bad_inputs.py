"""What cannot be done with quantized models is said in words, by layers and by graphs alike, and nothing is lost."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import quantization as q
from workbench.quantization.custom_config import PrepareCustomConfig

MAPPING = q.get_default_qconfig_mapping("onednn")
X = wb.from_numpy(np.random.default_rng(0).random((2, 3, 6, 6)).astype(np.float32))


class Net(wb.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fc = wb.nn.Conv2d(3, 4, 3), wb.nn.Linear(64, 2)

    def forward(self, x: Any) -> Any:
        return self.fc(self.conv(x).flatten(1))


class Way:
    """The words of one of the two ways, by one name each."""

    def __init__(self, graph: bool) -> None:
        self.graph = graph
        self.convert: Any = q.convert_fx if graph else q.convert

    def prepare(self, model: Any = None, *custom: Any) -> Any:
        model = Net().eval() if model is None else model
        return q.prepare_fx(model, MAPPING, (X,), *custom) if self.graph else q.prepare(model)

    def aware(self, model: Any) -> Any:
        if self.graph:
            return q.prepare_qat_fx(model, q.get_default_qat_qconfig_mapping("onednn"), (X,))
        return q.prepare_qat(model)

    def converted(self) -> Any:
        prepared = self.prepare()
        prepared(X)
        return self.convert(prepared)


@pytest.fixture(params=[False, True], ids=["layers", "graph"])
def way(request: pytest.FixtureRequest) -> Way:
    wb.manual_seed(0)
    return Way(request.param)


def state(model: Any) -> dict[str, Any]:
    found = {}
    for name, one in model.state_dict().items():
        for place, part in enumerate(one if isinstance(one, tuple) else (one,)):
            if isinstance(part, wb.Tensor):
                found[f"{name}.{place}"] = np.array(
                    (part.dequantize() if part.is_quantized else part).payload
                )
    return found


def refused(
    model: Any, message: str, call: Callable[[], Any], kind: type[Exception] = wb.QuantizationError
) -> None:
    """Assert that a call is refused in these words, and that the model is as it was."""
    before, layers = state(model), [type(one) for one in model.modules()]
    with pytest.raises(kind, match=message):
        call()
    assert [type(one) for one in model.modules()] == layers
    after = state(model)
    assert after.keys() == before.keys()
    for name, one in before.items():
        np.testing.assert_array_equal(after[name], one, err_msg=name)


def test_converting_without_calibration(way: Way) -> None:
    prepared = way.prepare()
    refused(
        prepared,
        r"not calibrated: .*conv, .* have seen no values\. Call",
        lambda: way.convert(prepared),
    )
    prepared(X)
    assert way.convert(prepared)(X).shape == (2, 2)


def test_converting_after_nothing_finite(way: Way) -> None:
    prepared = way.prepare()
    prepared(X * float("nan"))
    refused(
        prepared,
        r"not calibrated: .* have seen no values but NaN and infinity: look where these come from",
        lambda: way.convert(prepared),
    )
    # What is finite is enough, and NaN beside it is left out.
    prepared(X)
    assert way.convert(prepared)(X).shape == (2, 2)


def test_preparing_twice(way: Way) -> None:
    prepared = way.prepare()
    refused(prepared, r"has observers already: prepare(\(\))? it once", lambda: way.prepare(prepared))
    # Nor by the other way.
    refused(prepared, "has observers already", lambda: Way(not way.graph).prepare(prepared))
    model = Net().train()
    trained = way.aware(model)
    refused(trained, "has observers already", lambda: way.aware(trained))


def test_preparing_what_is_quantized(way: Way) -> None:
    integer = way.converted()
    message = "the model is quantized already: prepare the floating point model that it was made of"
    refused(integer, message, lambda: way.prepare(integer))
    refused(integer, message, lambda: Way(not way.graph).prepare(integer))
    integer.train()
    refused(integer, message, lambda: way.aware(integer))


def test_converting_twice_or_the_other_way(way: Way) -> None:
    integer = way.converted()
    words = "convert_fx takes what prepare_fx" if way.graph else "the model has no observers: prepare"
    refused(integer, words, lambda: way.convert(integer))
    prepared = way.prepare()
    prepared(X)
    words = (
        "convert_fx takes what prepare_fx"
        if not way.graph
        else "a prepared graph: convert_fx makes codes of it"
    )
    refused(prepared, words, lambda: Way(not way.graph).convert(prepared))


def test_training_a_model_in_use(way: Way) -> None:
    model = Net().eval()
    refused(model, r"train(ing)? mode: call model\.train\(\) first", lambda: way.aware(model))
    model.train()
    refused(model, r"[cC]all model\.eval\(\) first", lambda: way.prepare(model))


@pytest.mark.parametrize("kind", [wb.float16, wb.bfloat16, wb.float64], ids=str)
def test_models_of_other_floats(way: Way, kind: Any) -> None:
    prepared = way.prepare() if way.graph else way.prepare(Net().to(kind).eval())
    if way.graph:
        prepared.to(kind)
    prepared(X.to(kind))
    words = (
        rf"a weight of sizes .* is {kind.name}, and codes are made of float32: call model\.float\(\) first"
    )
    refused(prepared, words, lambda: way.convert(prepared))
    assert way.convert(prepared.float())(X).shape == (2, 2)
    if not way.graph:
        model = Net().to(kind).eval()
        refused(model, words, lambda: q.quantize_dynamic(model))


def test_unknown_engines(way: Way) -> None:
    configs = (
        (q.get_default_qconfig_mapping, q.get_default_qat_qconfig_mapping)
        if way.graph
        else (q.get_default_qconfig, q.get_default_qat_qconfig)
    )
    for config in configs:
        with pytest.raises(
            wb.QuantizationError,
            match="there is no backend 'vnni'; choose one of x86, fbgemm, onednn, qnnpack",
        ):
            config("vnni")
    before = wb.backends.quantized.engine
    with pytest.raises(wb.QuantizationError, match="there is no quantized engine 'vnni'; there are"):
        wb.backends.quantized.engine = "vnni"
    assert wb.backends.quantized.engine == before


def test_a_qconfig_for_nothing(way: Way) -> None:
    model = Net().eval()
    message = "there is a qconfig for 'convv', and no module of that name: did you mean 'conv'"

    def call() -> Any:
        if way.graph:
            return q.prepare_fx(model, q.QConfigMapping().set_module_name("convv", q.default_qconfig), (X,))
        return q.propagate_qconfig_(model, {"convv": q.default_qconfig})

    refused(model, message, call)
    refused(model, message, lambda: q.quantize_dynamic(model, {"convv"}))


def test_integer_layers_fed_floats(way: Way) -> None:
    if way.graph:
        prepared = way.prepare(None, PrepareCustomConfig().set_input_quantized_indexes([0]))
        prepared(X)
        integer = way.convert(prepared)
        call: Callable[[], Any] = lambda: integer(X)
    else:
        integer = way.converted()
        call = lambda: integer.conv(X)
    refused(
        integer,
        r"quantized Conv2d takes a quantized tensor, and got float32: put a QuantStub .* before prepare\(\), or "
        r"quantize it by wb\.quantize_per_tensor",
        call,
    )
    # Where the model quantizes its input itself, whole numbers are refused there.
    wrapped = q.quantize(wb.nn.Sequential(wb.nn.Linear(6, 2)), [X])
    with pytest.raises(wb.DTypeError, match=r"only works on Float Tensor, got Long; try x\.float\(\)"):
        (way.converted() if way.graph else wrapped)(X.long())


def test_layers_fed_codes_by_channel() -> None:
    F = wb.ao.nn.quantized.functional
    x = wb.rand(2, 4, 5, 5)
    codes = wb.quantize_per_channel(x, wb.rand(4) + 0.1, wb.full((4,), 9).long(), 1, wb.quint8)
    square = wb.quantize_per_tensor(wb.rand(4, 4), 0.1, 0, wb.qint8)
    windows = wb.quantize_per_tensor(wb.rand(4, 4, 3, 3), 0.1, 0, wb.qint8)
    rows = wb.quantize_per_channel(wb.rand(5, 4), wb.ones(4), wb.zeros(4).long(), 1, wb.quint8)
    words = "under one scale, and got some with 4 along dim 1: quantize_per_tensor"
    # Also where their count is that of the channels that come out.
    for call in (
        lambda: F.conv2d(codes, windows, None, scale=0.1, zero_point=0), lambda: F.linear(rows, square),
        lambda: F.linear(rows, square, None, 0.1, 0), lambda: F.add_scalar(codes, 1.0),
        lambda: F.mul_scalar(codes, 2.0), lambda: F.conv_transpose2d(codes, windows, None, scale=0.1, zero_point=0),
    ):  # fmt: skip
        with pytest.raises(wb.QuantizationError, match=words):
            call()


def test_another_count_of_channels(way: Way) -> None:
    wrong = wb.zeros(2, 5, 6, 6)
    message = r"weight of size \[4, 3, 3, 3\].* to have 3 channels, but got 5 channels"
    integer = way.converted()
    refused(integer, message, lambda: integer(wrong), wb.DimensionError)
    prepared = way.prepare()
    with pytest.raises(wb.DimensionError, match=message):
        prepared(wrong)
    # It can be calibrated all the same.
    prepared(X)
    assert way.convert(prepared)(X).shape == (2, 2)
    observer = q.PerChannelMinMaxObserver()
    observer(wb.rand(3, 4))
    refused(observer, "3 channels were seen before, and now 5", lambda: observer(wb.rand(5, 4)))
    short = {
        **integer.state_dict(),
        next(key for key in integer.state_dict() if "conv.bias" in key): wb.zeros(7),
    }
    refused(integer, r"size mismatch for .*conv\.bias", lambda: integer.load_state_dict(short), RuntimeError)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: q.QConfigMapping().set_global(5), "the qconfig for all of the model is 5, which is none"),
        (
            lambda: q.QConfigMapping().set_object_type(wb.nn.Linear, 5),
            "the qconfig for Linear is 5, which is none",
        ),
        (
            lambda: q.QConfigMapping().set_module_name("fc", 5),
            "the qconfig for 'fc' is 5, which is none: give",
        ),
        (
            lambda: q.QConfigMapping().set_module_name_regex("f.", 5),
            "the qconfig for 'f.' is 5, which is none",
        ),
        (
            lambda: q.QConfigMapping().set_module_name(5, None),
            "the path of a module is text, and 5 was given",
        ),
        (lambda: q.QConfigMapping().set_module_name_regex(5, None), "a pattern is text, and 5 was given"),
        (
            lambda: q.QConfigMapping().set_module_name_object_type_order("", wb.nn.Linear, "a", None),
            "index counts the calls in '' from 0, and 'a' was given",
        ),
        (lambda: q.QConfigMapping.from_dict(5), "from_dict takes a dict of qconfigs, and int was given"),
        (
            lambda: q.QConfigMapping.from_dict({"module_name": [5]}),
            "has a list of tuples of 2, the last a qconfig",
        ),
    ],
)
def test_mappings_of_what_is_no_qconfig(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(wb.QuantizationError, match=message):
        make()


def test_layers_with_what_is_no_qconfig() -> None:
    model: Any = Net().eval()
    refused(
        model,
        "the qconfig for all of the model is 5, which is none",
        lambda: q.prepare(model, 5, inplace=True),
    )
    refused(model, "the qconfig for 'fc' is 5, which is none", lambda: q.quantize_dynamic(model, {"fc": 5}))
    model.fc.qconfig = 5
    refused(model, "the qconfig for 'fc' is 5, which is none", lambda: q.prepare(model, inplace=True))


@pytest.mark.parametrize(
    "call",
    [
        q.prepare, q.prepare_qat, q.convert, q.quantize_dynamic, lambda one: q.quantize(one, [X]),
        q.quantize_weights, lambda one: q.fuse_modules(one, ["conv", "fc"]),
        lambda one: q.fuse_modules_qat(one, ["conv", "fc"]), lambda one: q.prepare_fx(one, MAPPING, (X,)),
        lambda one: q.prepare_qat_fx(one, MAPPING, (X,)), q.fuse_fx,
    ],
)  # fmt: skip
def test_what_is_no_model(call: Callable[[Any], Any]) -> None:
    with pytest.raises(
        wb.QuantizationError, match="a module is quantized, or what has a graph, and int was given"
    ):
        call(5)
    with pytest.raises(
        wb.QuantizationError, match=r"a Graph by itself has no mode .*: give the module that was traced"
    ):
        call(wb.graph.trace(Net().eval(), X))


class Lines(wb.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = wb.nn.Linear(6, 2)

    def forward(self, x: wb.Tensor) -> wb.Tensor:
        return self.fc(x)


def opened(model: Any) -> Any:
    file = io.BytesIO()
    wb.onnx.save(model, file, X)
    return wb.onnx.load(file.getvalue())


@pytest.mark.parametrize(
    "make", [lambda one: wb.jit.trace(one, X), wb.jit.script, opened], ids=["traced", "scripted", "file"]
)
def test_layers_of_what_runs_a_graph(make: Callable[[Any], Any]) -> None:
    model = make(Lines().eval())
    kind = type(model).__name__
    for name, call, instead in (
        ("prepare", q.prepare, "take prepare_fx"),
        ("prepare_qat", q.prepare_qat, "take prepare_qat_fx"),
        ("quantize", lambda one: q.quantize(one, [X]), "take prepare_fx"),
        ("quantize_dynamic", q.quantize_dynamic, r"take prepare_fx with QConfigMapping\(\)\.set_global"),
        ("quantize_weights", q.quantize_weights, "give the model that the graph was made of"),
        ("fuse_modules", lambda one: q.fuse_modules(one, ["fc", "fc"]), "prepare_fx fuses what a graph"),
        (
            "fuse_modules_qat",
            lambda one: q.fuse_modules_qat(one, ["fc", "fc"]),
            "prepare_qat_fx fuses what a graph",
        ),
    ):
        refused(
            model,
            f"{name} works on layers, and {kind} runs a graph, whose nodes are none: {instead}",
            lambda call=call: call(model),  # type: ignore[misc]
        )
    # What is named does it.
    exact = model(X)
    for mapping in (MAPPING, q.QConfigMapping().set_global(q.default_dynamic_qconfig)):
        prepared = q.prepare_fx(model.eval(), mapping, (X,))
        prepared(X)
        assert q.sqnr(exact, q.convert_fx(prepared)(X)) > 25


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (5, "qconfig_spec is a set of types and names of modules, .* and 5 was given"),
        ("fc", "qconfig_spec is a set of types and names of modules, .* and 'fc' was given"),
        (wb.nn.Linear, "or a dict from these to qconfigs, and <class .*Linear.* was given"),
        ({5}, "qconfig_spec has 5 among its keys, and is a set of types and names"),
        ({q.default_dynamic_qconfig: "fc"}, "qconfig_spec has QConfig.* among its keys"),
    ],
)  # fmt: skip
def test_layers_that_are_none(spec: Any, message: str) -> None:
    model = Net().eval()
    refused(model, message, lambda: q.quantize_dynamic(model, spec, inplace=True))


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("x", "mapping= of {} is a dict from types of layers to what they become, and 'x' was given"),
        (q.default_qconfig, "and QConfig.* was given; a qconfig is given by its name, qconfig="),
        ({wb.nn.Linear: 5}, "mapping= of {} has 5 for .*Linear.*: its keys are types of layers"),
        ({"fc": q.qat.Linear}, "has .*Linear.* for 'fc': its keys are types of layers"),
    ],
)  # fmt: skip
def test_mappings_of_layers_that_are_none(mapping: Any, message: str) -> None:
    model = Net().train()
    refused(model, message.format("prepare_qat"), lambda: q.prepare_qat(model, mapping, inplace=True))
    refused(
        model,
        message.format("quantize_dynamic"),
        lambda: q.quantize_dynamic(model, mapping=mapping, inplace=True),
    )


def test_the_size_of_no_model() -> None:
    for one in (5, "model.pt", Net().state_dict(), X):
        with pytest.raises(
            wb.QuantizationError, match=f"the size of a model is asked for, and {type(one).__name__} was"
        ):
            q.model_size(one)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: one.set_range("a", 1), "the low end of a range is a number, and 'a' was given"),
        (lambda one: one.set_range(0, None), "the high end of a range is a number, and None was given"),
        (lambda one: one.set_range(wb.zeros(2), 1), r"the low end of a range is a number, and tensor\(.* was given"),
        (lambda one: one.scheme.range_of("s", 1), "a scale is a number, and 's' was given"),
        (lambda one: one.scheme.range_of(0.1, [1]), r"a zero point is a number, and \[1\] was given"),
        (lambda one: type(one)(qscheme="affine"), "qscheme= is a scheme such as wb.per_tensor_affine, and 'affine'"),
        (lambda one: type(one)(quant_min="a", quant_max=3), "quant_min= is a whole number, and 'a' was given"),
        (lambda one: type(one)(quant_min=0, quant_max=7.5), "quant_max= is a whole number, and 7.5 was given"),
        (lambda one: type(one)(eps="small"), "eps=, the least scale, is a number, and 'small' was given"),
        (lambda one: q.MovingAverageMinMaxObserver("half"), "averaging_constant= is a number, and 'half' was given"),
        (lambda one: q.PerChannelMinMaxObserver("rows"), "ch_axis= is the place of a dim, .* and 'rows' was given"),
    ],
)  # fmt: skip
def test_settings_that_are_no_numbers(call: Callable[[Any], Any], message: str) -> None:
    observer = q.MinMaxObserver()
    observer(X)
    before = observer.range(), observer.version
    with pytest.raises(wb.QuantizationError, match=message):
        call(observer)
    assert (observer.range(), observer.version) == before
    observer.set_range(wb.tensor(-1.0), np.float32(2))
    assert observer.override == (-1.0, 2.0)


def test_products_on_numbers_of_codes() -> None:
    layer, codes = wb.nn.Bilinear(3, 3, 2), wb.quantize_per_tensor(wb.ones(2, 3), 0.1, 0, wb.quint8)
    message = r"bilinear computes with numbers, and was given codes, quint8: call \.dequantize\(\) first"
    for one, other in ((codes, codes), (codes, wb.ones(2, 3)), (wb.ones(2, 3), codes)):
        with pytest.raises(wb.DTypeError, match=message):
            layer(one, other)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (
            q.default_symmetric_qnnpack_qconfig,
            "the output of Linear becomes quint8, and its observer says qint8",
        ),
        (
            q.QConfig(q.default_observer, q.MinMaxObserver.with_args(dtype=wb.quint8)),
            "the weight of Linear becomes qint8, and its observer says quint8",
        ),
    ],
)
@pytest.mark.parametrize("graph", [False, True])
def test_types_that_no_kernel_has_are_refused_with_those_that_it_has(
    config: q.QConfig, words: str, graph: bool
) -> None:
    x, model = wb.randn(4, 3), wb.nn.Sequential(wb.nn.Linear(3, 2)).eval()
    prepared = (
        q.prepare_fx(model, q.QConfigMapping().set_global(config), (x,))
        if graph
        else q.prepare(model, config)
    )
    prepared(x)
    with pytest.raises(
        wb.QuantizationError, match=f"{words}: prepare the model with an observer of q.*_qconfig"
    ):
        (q.convert_fx if graph else q.convert)(prepared)
    assert bool(prepared(x).isfinite().all())

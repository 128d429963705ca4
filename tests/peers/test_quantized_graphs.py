"""Graph mode beside PyTorch's: the same programs, any kind of graph, scales and results."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.peers.saturation import weight_observer
from workbench import quantization

torch = pytest.importorskip("torch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("torch.ao.quantization.quantize_fx")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

RANDOM = np.random.default_rng(29)


def residual(t: Any) -> Any:
    """A small residual network, with functions between its layers and no stubs."""
    nn, F = t.nn, t.nn.functional

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, inner: int, outer: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
            self.bn1, self.bn2 = nn.BatchNorm2d(outer), nn.BatchNorm2d(outer)
            self.relu = nn.ReLU()
            self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
            self.downsample = (
                nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))
                if stride != 1 or inner != outer
                else None
            )

        def forward(self, x):  # type: ignore[no-untyped-def]  # scripts read it
            out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            if self.downsample is not None:
                x = self.downsample(x)
            return F.relu(out + x)

    class Net(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.bn1, self.relu = (
                nn.Conv2d(3, 8, 3, 1, 1, bias=False),
                nn.BatchNorm2d(8),
                nn.ReLU(),
            )
            self.maxpool = nn.MaxPool2d(3, 2, 1)
            self.layer1 = nn.Sequential(Block(8, 8, 1), Block(8, 8, 1))
            self.layer2 = nn.Sequential(Block(8, 16, 2))
            self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(16, 6)

        def forward(self, x):  # type: ignore[no-untyped-def]  # scripts read it
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = self.avgpool(self.layer2(self.layer1(x)))
            return self.fc(x.flatten(1))

    return Net()


def given(library: Any, array: Any) -> Any:
    return wb.from_numpy(array.copy()) if library is wb else torch.tensor(array)


def numbers(value: Any) -> Any:
    return value.detach().numpy()


def both() -> tuple[Any, Any]:
    torch.manual_seed(0)
    theirs, mine = residual(torch), residual(wb)
    theirs.train()
    with torch.no_grad():
        for _ in range(3):
            theirs(torch.tensor(RANDOM.standard_normal((8, 3, 16, 16)).astype(np.float32)))
    mine.load_state_dict(
        {name: wb.from_numpy(one.numpy().copy()) for name, one in theirs.state_dict().items()}
    )
    return mine.eval(), theirs.eval()


DATA = [RANDOM.standard_normal((8, 3, 16, 16)).astype(np.float32) for _ in range(4)]


def mapping(library: Any, reduce_range: bool = True) -> Any:
    q = library.ao.quantization
    return q.QConfigMapping().set_global(
        q.QConfig(
            activation=q.MinMaxObserver.with_args(reduce_range=reduce_range),
            weight=q.default_per_channel_weight_observer if reduce_range else weight_observer(library),
        )
    )


def test_static_in_graph_mode() -> None:
    out: dict[Any, Any] = {}
    for library, model in zip((wb, torch), both(), strict=True):
        fx = __import__(f"{library.__name__}.ao.quantization.quantize_fx", fromlist=["prepare_fx"])
        prepared = fx.prepare_fx(model, mapping(library), (given(library, DATA[0]),))
        with library.no_grad():
            for x in DATA:
                prepared(given(library, x))
            integer = fx.convert_fx(prepared)
            out[library] = numbers(integer(given(library, DATA[0])))
            out[library, "float"] = numbers(model(given(library, DATA[0])))
        scales = {
            name: (round(float(one.scale), 6), int(one.zero_point))
            for name, one in integer.named_modules()
            if (hasattr(one, "zero_point") and "." in name) or name in ("conv1", "fc")
        }
        out[library, "scales"] = scales
    assert out[wb, "scales"].keys() == out[torch, "scales"].keys()
    assert len(out[wb, "scales"]) == 9
    for name, (scale, zero) in out[torch, "scales"].items():
        assert out[wb, "scales"][name] == (pytest.approx(scale, rel=1e-4), zero), name
    assert quantization.sqnr(out[torch], out[wb]) > 30
    assert (
        quantization.sqnr(out[wb, "float"], out[wb]) > quantization.sqnr(out[wb, "float"], out[torch]) - 1.0
    )


def test_training_in_graph_mode() -> None:
    losses: dict[Any, list[float]] = {wb: [], torch: []}
    out: dict[Any, Any] = {}
    labels = RANDOM.integers(0, 6, (4, 8))
    for library, model in zip((wb, torch), both(), strict=True):
        q = library.ao.quantization
        fx = __import__(f"{library.__name__}.ao.quantization.quantize_fx", fromlist=["prepare_fx"])
        config = q.QConfigMapping().set_global(
            q.QConfig(q.default_fake_quant, q.default_per_channel_weight_fake_quant)
        )
        prepared = fx.prepare_qat_fx(model.train(), config, (given(library, DATA[0]),))
        optimizer = library.optim.SGD(prepared.parameters(), lr=0.01)
        for x, y in zip(DATA, labels, strict=True):
            loss = library.nn.functional.cross_entropy(prepared(given(library, x)), given(library, y))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[library].append(float(loss.detach()))
        with library.no_grad():
            integer = fx.convert_fx(prepared.eval())
            out[library] = numbers(integer(given(library, DATA[0])))
            out[library, "aware"] = numbers(prepared(given(library, DATA[0])))
    np.testing.assert_allclose(losses[wb][:1], losses[torch][:1], rtol=2e-2)
    np.testing.assert_allclose(losses[wb], losses[torch], rtol=5e-2)
    assert quantization.sqnr(out[wb, "aware"], out[wb]) > 20


@pytest.mark.parametrize("kind", ["module", "traced", "onnx", "scripted", "torch", "fx"])
def test_every_kind_of_graph(kind: str, tmp_path: Path) -> None:
    mine, theirs = both()
    x = wb.from_numpy(DATA[0])
    if kind == "traced":
        model: Any = wb.jit.trace(mine, x)
    elif kind == "onnx":
        wb.onnx.export(mine, (x,), tmp_path / "model.onnx")
        model = wb.onnx.load(tmp_path / "model.onnx")
    elif kind == "scripted":
        model = wb.jit.script(mine)
    elif kind == "torch":
        model = wb.interop.torch.from_module(theirs)
    elif kind == "fx":
        model = wb.fx.symbolic_trace(mine)
    else:
        model = mine
    model.eval()
    prepared = quantization.prepare_fx(model, mapping(wb), (x,))
    with wb.no_grad():
        np.testing.assert_allclose(prepared(x).numpy(), mine(x).numpy(), atol=1e-4)
        integer = quantization.convert_fx(prepared)
        assert quantization.sqnr(mine(x), integer(x)) > 25
    names = [type(one).__name__ for one in integer.modules() if "quantized" in type(one).__module__]
    assert names.count("ConvReLU2d") == 4
    assert names.count("Conv2d") == 4
    assert names.count("Linear") == 1


def test_precedence_is_the_same() -> None:
    found: dict[Any, Any] = {}
    for library, model in zip((wb, torch), both(), strict=True):
        q = library.ao.quantization
        fx = __import__(f"{library.__name__}.ao.quantization.quantize_fx", fromlist=["prepare_fx"])
        plain = q.default_qconfig
        config = (
            q.QConfigMapping().set_global(plain).set_object_type(library.nn.Linear, None)
            .set_module_name_regex("layer1.*conv1", None).set_module_name("layer2", None)
            .set_module_name("layer2.0.conv2", plain)
        )  # fmt: skip
        prepared = fx.prepare_fx(model, config, (given(library, DATA[0]),))
        with library.no_grad():
            prepared(given(library, DATA[0]))
            integer = fx.convert_fx(prepared)
            integer(given(library, DATA[0]))
        found[library] = sorted(
            name for name, one in integer.named_modules()
            if "quantized" in type(one).__module__ and "Conv" in type(one).__name__
        )  # fmt: skip
    assert found[wb] == found[torch]
    assert found[wb] == ["conv1", "layer1.0.conv2", "layer1.1.conv2", "layer2.0.conv2"]


def between_layers(t: Any) -> Any:
    """Sums and products of codes, rectified or not, of tensors of one shape and of several."""
    nn = t.nn

    class Net(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second, self.third = (nn.Conv2d(3, 8, 3, 1, 1) for _ in range(3))
            self.relu = nn.ReLU()

        def forward(self, x):  # type: ignore[no-untyped-def]  # scripts read it
            a, b, c = self.first(x), self.second(x), self.third(x)
            return self.relu(a + b), a * c, t.relu(b * c), a + c.mean((2, 3), keepdim=True)

    return Net()


def test_sums_and_products_between_layers_are_the_codes_of_pytorch() -> None:
    torch.manual_seed(3)
    models = {torch: between_layers(torch).eval(), wb: between_layers(wb).eval()}
    models[wb].load_state_dict(
        {key: wb.from_numpy(one.numpy()) for key, one in models[torch].state_dict().items()}
    )
    before = {library: library.backends.quantized.engine for library in models}
    found = {}
    for library, model in models.items():
        # PyTorch's qnnpack adds in fixed point.
        library.backends.quantized.engine = "onednn"
        fx = __import__(f"{library.__name__}.ao.quantization.quantize_fx", fromlist=["prepare_fx"])
        try:
            # All eight bits of values, in which codes end where those of PyTorch do.
            prepared = fx.prepare_fx(model, mapping(library, False), (given(library, DATA[0]),))
            with library.no_grad():
                prepared(given(library, DATA[0]))
                found[library] = fx.convert_fx(prepared)(given(library, DATA[1]))
        finally:
            library.backends.quantized.engine = before[library]
    for ours, theirs in zip(found[wb], found[torch], strict=True):
        np.testing.assert_array_equal(numbers(ours), numbers(theirs))


@pytest.mark.parametrize("name", ["default_reuse_input_qconfig", "float16_static_qconfig"])
def test_a_layer_whose_weight_is_only_carried_stays_in_floating_point(name: str) -> None:
    kinds = []
    for t, a in ((torch, torch.ao.quantization), (wb, quantization)):
        fx = t.ao.quantization.quantize_fx
        config = getattr(t.ao.quantization.qconfig, name)
        mapping = a.QConfigMapping().set_global(a.default_qconfig).set_module_name("1", config)
        model = t.nn.Sequential(t.nn.Linear(4, 4), t.nn.Linear(4, 3)).eval()
        made = fx.prepare_fx(model, mapping, (t.ones(2, 4),))
        made(t.ones(2, 4))
        made = fx.convert_fx(made)
        kinds.append([type(getattr(made, place)).__module__.split(".", 1)[1] for place in "01"])
    assert kinds[0][1] == "nn.modules.linear" and kinds[0][0].endswith("quantized.modules.linear")
    assert kinds[1][1] == "nn.modules.linear" and kinds[1][0] == "quantization.quantized.layers"

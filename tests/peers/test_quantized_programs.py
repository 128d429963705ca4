"""Whole programs of quantization, run by PyTorch and by the workbench: ``torch`` in them is the one or the other.

What differs on purpose: a model without a stub gets its borders by itself; a name that no module has is refused.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import quantization

torch = pytest.importorskip("torch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    peer = pytest.importorskip("torch.ao.quantization")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

RANDOM = np.random.default_rng(23)
Both = tuple[Any, Any]


def given(library: Any, array: Any) -> Any:
    return wb.from_numpy(array.copy()) if library is wb else torch.tensor(array)


def both(make: Callable[[Any], Any]) -> Both:
    """A model of each library with the same parameters."""
    torch.manual_seed(0)
    theirs = make(torch)
    mine = make(wb)
    mine.load_state_dict(
        {name: wb.from_numpy(one.numpy().copy()) for name, one in theirs.state_dict().items()}
    )
    return mine, theirs


def numbers(value: Any) -> Any:
    return value.detach().numpy()


def batches(count: int, *shape: int) -> list[Any]:
    return [RANDOM.standard_normal(shape).astype(np.float32) for _ in range(count)]


def close(found: Any, expected: Any, ratio: float) -> None:
    assert quantization.sqnr(expected, found) > ratio


# ---------------------------------------------------------------------------------- static, with stubs


def inverted(t: Any) -> Any:
    """A small network of inverted residuals, as those for phones are."""
    nn, q = t.nn, t.ao.quantization

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, wide: int, narrow: int, stride: int) -> None:
            super().__init__()
            self.same = stride == 1 and wide == narrow
            hidden = wide * 2
            self.conv = nn.Sequential(
                nn.Sequential(nn.Conv2d(wide, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU()),
                nn.Sequential(
                    nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False),
                    nn.BatchNorm2d(hidden),
                    nn.ReLU(),
                ),
                nn.Conv2d(hidden, narrow, 1, bias=False),
                nn.BatchNorm2d(narrow),
            )
            self.skip_add = t.ao.nn.quantized.FloatFunctional()

        def forward(self, x: Any) -> Any:
            return self.skip_add.add(x, self.conv(x)) if self.same else self.conv(x)

    class Net(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
            self.first = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
            self.blocks = nn.Sequential(Block(8, 8, 1), Block(8, 12, 2), Block(12, 12, 1))
            self.head = nn.Linear(12, 5)

        def forward(self, x: Any) -> Any:
            x = self.blocks(self.first(self.quant(x)))
            x = x.mean([2, 3])
            return self.dequant(self.head(x))

        def fuse_model(self, qat: bool = False) -> None:
            fuse = q.fuse_modules_qat if qat else q.fuse_modules
            fuse(self.first, ["0", "1", "2"], inplace=True)
            for block in self.blocks:
                fuse(block.conv, [["0.0", "0.1", "0.2"], ["1.0", "1.1", "1.2"], ["2", "3"]], inplace=True)

    return Net()


def moved(model: Any, library: Any) -> Any:
    """Let the running statistics move."""
    model.train()
    with library.no_grad():
        for x in (
            np.random.default_rng(i).standard_normal((8, 3, 16, 16)).astype(np.float32) for i in range(3)
        ):
            model(given(library, x))
    return model


def test_static_with_stubs() -> None:
    data, out = batches(4, 8, 3, 16, 16), {}
    for library, model in zip((wb, torch), both(inverted), strict=True):
        q = library.ao.quantization
        moved(model, library).eval()
        model.fuse_model()
        model.qconfig = q.QConfig(
            activation=q.MinMaxObserver.with_args(reduce_range=True),
            weight=q.default_per_channel_weight_observer,
        )
        prepared = q.prepare(model, inplace=False)
        with library.no_grad():
            for x in data:
                prepared(given(library, x))
            q.convert(prepared, inplace=True)
            out[library] = numbers(prepared(given(library, data[0])))
            scales = {
                name: round(float(module.scale), 7)
                for name, module in prepared.named_modules()
                if hasattr(module, "scale") and not isinstance(module.scale, bool)
            }
            out[library, "scales"] = scales
        assert type(prepared.blocks[0].skip_add).__name__ == "QFunctional"
    close(out[wb], out[torch], 35)
    shared = out[wb, "scales"].keys() & out[torch, "scales"].keys()
    assert len(shared) >= 14
    for name in shared:
        assert out[wb, "scales"][name] == pytest.approx(out[torch, "scales"][name], rel=1e-4), name


def test_aware_of_quantization_in_training() -> None:
    random = np.random.default_rng(7)
    data = [random.standard_normal((8, 3, 16, 16)).astype(np.float32) for _ in range(6)]
    targets = random.integers(0, 5, (6, 8))
    losses: dict[Any, list[float]] = {wb: [], torch: []}
    out = {}
    for library, model in zip((wb, torch), both(inverted), strict=True):
        q = library.ao.quantization
        model.train()
        model.fuse_model(qat=True)
        model.qconfig = q.QConfig(q.default_fake_quant, q.default_per_channel_weight_fake_quant)
        q.prepare_qat(model, inplace=True)
        optimizer = library.optim.SGD(model.parameters(), lr=0.005)
        for step, (x, y) in enumerate(zip(data, targets, strict=True)):
            loss = library.nn.functional.cross_entropy(model(given(library, x)), given(library, y))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[library].append(float(loss.detach()))
            if step == 0:
                out[library, "scales"] = {
                    name: numbers(one).copy()
                    for name, one in model.state_dict().items()
                    if name.endswith("scale")
                }
            if step == 3:
                model.apply(q.disable_observer)
            if step == 4:
                model.apply(library.ao.nn.intrinsic.qat.freeze_bn_stats)
        with library.no_grad():
            integer = q.convert(model.eval(), inplace=False)
            out[library] = numbers(integer(given(library, data[0])))
            out[library, "aware"] = numbers(model(given(library, data[0])))
            out[library, "step"] = model.head.activation_post_process.scale.item()
    assert out[wb, "scales"].keys() >= out[torch, "scales"].keys()
    for name, scale in out[torch, "scales"].items():
        near = 1e-4 if name.startswith(("quant", "first")) else 5e-2
        np.testing.assert_allclose(out[wb, "scales"][name], scale, rtol=near, err_msg=name)
    # A value on the other side of a half moves what follows, so that two trainings go apart little by little.
    np.testing.assert_allclose(losses[wb][:1], losses[torch][:1], rtol=5e-3)
    np.testing.assert_allclose(losses[wb], losses[torch], rtol=2e-2)
    # Seven bits have few steps for scores of this size: they may differ by some of them, and by no more.
    step = float(out[torch, "step"])
    assert np.abs(out[wb, "aware"] - out[torch, "aware"]).max() <= 4.01 * step
    assert np.abs(out[wb] - out[torch]).max() <= 4.01 * step


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_folding_in_training_is_the_same(n: int, bias: bool, relu: bool) -> None:
    def make(t: Any) -> Any:
        norm = getattr(t.nn, f"BatchNorm{n}d")(6)
        layers = [
            getattr(t.nn, f"Conv{n}d")(4, 6, 3, padding=1, bias=bias),
            norm,
            *([t.nn.ReLU()] if relu else []),
        ]
        return t.nn.Sequential(*layers)

    x, out = batches(3, 5, 4, *[7] * n), {}
    for library, model in zip((wb, torch), both(make), strict=True):
        q = library.ao.quantization
        model = q.fuse_modules_qat(model.train(), [["0", "1", "2"][: len(model)]])
        model.qconfig = q.default_qat_qconfig
        model = q.prepare_qat(q.QuantWrapper(model))
        for one in x:
            y = model(given(library, one))
            (y**2).sum().backward()
        conv = model.module[0]
        out[library] = [
            numbers(y),
            numbers(conv.weight.grad),
            numbers(conv.bn.running_var),
            numbers(conv.bn.weight.grad),
        ]
        assert ("bias" in dict(conv.named_parameters(recurse=False))) == bias
    for found, expected in zip(out[wb], out[torch], strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3 * np.abs(expected).max())


# --------------------------------------------------------------------------------------------- dynamic


@pytest.mark.parametrize("channels", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_dynamic_linear_is_the_same(bias: bool, channels: bool) -> None:
    mine, theirs = both(
        lambda t: t.nn.Sequential(t.nn.Linear(40, 30, bias=bias), t.nn.ReLU(), t.nn.Linear(30, 7))
    )
    configs = {
        t: {t.nn.Linear: t.ao.quantization.per_channel_dynamic_qconfig} if channels else {t.nn.Linear}
        for t in (wb, torch)
    }
    found = quantization.quantize_dynamic(mine, configs[wb])
    expected = peer.quantize_dynamic(theirs, configs[torch], dtype=torch.qint8)
    for x in [
        *batches(4, 9, 40),
        np.zeros((2, 40), np.float32),
        batches(1, 3, 40)[0] * 1e-6,
        np.abs(batches(1, 3, 40)[0]),
    ]:
        a, b = numbers(found(wb.from_numpy(x))), numbers(expected(torch.tensor(x)))
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=2e-5)


RECURRENT = {
    "LSTM": (2, {"num_layers": 2}), "LSTM both ways": (2, {"bidirectional": True}),
    "LSTM batch first": (2, {"batch_first": True}), "GRU": (1, {"num_layers": 2}),
    "GRU both ways": (1, {"bidirectional": True}),
}  # fmt: skip


@pytest.mark.parametrize("name", RECURRENT)
def test_dynamic_recurrent_layers_are_the_same(name: str) -> None:
    states, settings = RECURRENT[name]
    kind = name.split()[0]
    mine, theirs = both(lambda t: t.nn.ModuleList([getattr(t.nn, kind)(12, 10, **settings)]))
    found = quantization.quantize_dynamic(mine)[0]
    expected = peer.quantize_dynamic(theirs)[0]
    x = batches(1, 6, 6, 12)[0]
    ours, others = found(wb.from_numpy(x)), expected(torch.tensor(x))
    np.testing.assert_allclose(numbers(ours[0]), numbers(others[0]), atol=1e-4)
    ends = (ours[1], others[1]) if states == 2 else ((ours[1],), (others[1],))
    for a, b in zip(*ends, strict=True):
        np.testing.assert_allclose(numbers(a), numbers(b), atol=1e-4)
    again, once = found(wb.from_numpy(x), ours[1]), expected(torch.tensor(x), others[1])
    np.testing.assert_allclose(numbers(again[0]), numbers(once[0]), atol=2e-3)


@pytest.mark.parametrize("name", ["LSTMCell", "GRUCell", "RNNCell"])
def test_dynamic_cells_are_the_same(name: str) -> None:
    mine, theirs = both(lambda t: t.nn.ModuleList([getattr(t.nn, name)(12, 10)]))
    found, expected = quantization.quantize_dynamic(mine)[0], peer.quantize_dynamic(theirs)[0]
    x = batches(1, 6, 12)[0]
    ours, others = found(wb.from_numpy(x)), expected(torch.tensor(x))
    for a, b in zip(*((ours, others) if name == "LSTMCell" else ((ours,), (others,))), strict=True):
        np.testing.assert_allclose(numbers(a), numbers(b), atol=1e-4)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_embeddings_are_the_same(mode: str) -> None:
    mine, theirs = both(
        lambda t: t.nn.ModuleList([t.nn.EmbeddingBag(20, 8, mode=mode), t.nn.Embedding(20, 8)])
    )
    found = quantization.quantize_dynamic(mine, dtype=wb.quint8)
    expected = peer.quantize_dynamic(theirs, dtype=torch.quint8)
    rows, offsets = np.array([0, 3, 3, 19, 7]), np.array([0, 2])
    if mode == "sum":
        a, b = (
            found[0](wb.from_numpy(rows), wb.from_numpy(offsets)),
            expected[0](torch.tensor(rows), torch.tensor(offsets)),
        )
        np.testing.assert_allclose(numbers(a), numbers(b), atol=1e-2)
    a, b = found[1](wb.from_numpy(rows)), expected[1](torch.tensor(rows))
    np.testing.assert_allclose(numbers(a), numbers(b), atol=1e-5)


def language_model(t: Any) -> Any:
    nn = t.nn

    class Model(nn.Module):  # type: ignore[misc,name-defined]
        """A language model of embeddings, an LSTM and a linear layer."""

        def __init__(self) -> None:
            super().__init__()
            self.drop = nn.Dropout(0.5)
            self.encoder = nn.Embedding(50, 16)
            self.rnn = nn.LSTM(16, 24, 2, dropout=0.5)
            self.decoder = nn.Linear(24, 50)

        def forward(self, input: Any, hidden: Any) -> Any:
            output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
            return self.decoder(self.drop(output)), hidden

    return Model()


def test_a_language_model() -> None:
    words, out = RANDOM.integers(0, 50, (7, 3)), {}
    for library, model in zip((wb, torch), both(language_model), strict=True):
        quantized = library.quantization.quantize_dynamic(
            model, {library.nn.LSTM, library.nn.Linear}, dtype=library.qint8
        )
        hidden = (library.zeros(2, 3, 24), library.zeros(2, 3, 24))
        with library.no_grad():
            for _ in range(2):
                result, hidden = quantized(given(library, words), hidden)
        out[library] = numbers(result)
    np.testing.assert_allclose(out[wb], out[torch], atol=3e-3)


def test_the_paths_of_pytorch_lead_to_the_same_names() -> None:
    for name in (
        "observer",
        "fake_quantize",
        "qconfig",
        "qconfig_mapping",
        "quantize",
        "stubs",
        "fuse_modules",
    ):
        assert (
            importlib.import_module(f"workbench.ao.quantization.{name}").MinMaxObserver
            is quantization.MinMaxObserver
        )

"""States of quantized models: PyTorch's load into ours, and ours into PyTorch's, and both answer alike."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.peers.saturation import LIMITS, weight_observer
from tests.quantization.states import converted, network

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    peer = pytest.importorskip("torch.ao.quantization")

RANDOM = np.random.default_rng(5)


def given(library: Any, array: Any) -> Any:
    return wb.from_numpy(array.copy()) if library is wb else torch.tensor(array)


def image(count: int = 8) -> Any:
    return RANDOM.standard_normal((count, 1, 6, 6)).astype(np.float32)


def static(library: Any) -> Any:
    return converted(library, given(library, image()), weight_observer(library))


def eight_bits(q: Any) -> Any:
    return q.QConfig(
        q.FakeQuantize.with_args(observer=q.MovingAverageMinMaxObserver, quant_min=0, quant_max=255),
        q.default_per_channel_weight_fake_quant.with_args(**LIMITS),
    )


def trained(library: Any) -> Any:
    q = library.ao.quantization
    model = q.fuse_modules_qat(network(library).train(), [["conv1", "relu"]])
    model.qconfig = eight_bits(q)
    return q.prepare_qat(model)


def fixed(library: Any) -> Any:
    """A model in training with functions whose results have a scale that is known."""
    q, nn = library.ao.quantization, library.nn
    model = nn.Sequential(
        q.QuantStub(), nn.Flatten(), nn.Linear(36, 4), nn.Sigmoid(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 3),
        nn.Hardsigmoid(), nn.Softmax(1), q.DeQuantStub(),
    )  # fmt: skip
    model.train().qconfig = eight_bits(q)
    return q.prepare_qat(model)


def cut(library: Any) -> Any:
    """A model in training with what is rounded there and has no scale in codes, and what drops values."""
    q, nn = library.ao.quantization, library.nn
    model = nn.Sequential(
        q.QuantStub(), nn.Conv2d(1, 2, 3), nn.ReLU6(), nn.Dropout(), nn.Flatten(), nn.Linear(32, 4), nn.ReLU6(True),
        nn.Dropout(inplace=True), nn.Linear(4, 3), q.DeQuantStub(),
    )  # fmt: skip
    model.train().qconfig = eight_bits(q)
    return q.prepare_qat(model)


def beside(library: Any) -> Any:
    """A model in training in which PyTorch observes neither the functions nor the weights of the convolutions."""
    q, nn = library.ao.quantization, library.nn
    model = nn.Sequential(
        q.QuantStub(), nn.Flatten(2), nn.Conv1d(1, 2, 3), nn.GELU(), nn.ConvTranspose1d(2, 2, 3), nn.SiLU(),
        nn.Flatten(), nn.Linear(72, 3), q.DeQuantStub(),
    )  # fmt: skip
    model.train().qconfig = eight_bits(q)
    return q.prepare_qat(model)


def after_training(library: Any) -> Any:
    prepared = trained(library)
    prepared(given(library, image()))
    return library.ao.quantization.convert(prepared.eval())


def dynamic(library: Any) -> Any:
    nn = library.nn
    layers = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2, bias=False))
    return library.ao.quantization.quantize_dynamic(layers, {nn.Linear}, dtype=library.qint8)


def tables(library: Any) -> Any:
    q, nn = library.ao.quantization, library.nn
    layers = nn.Sequential(nn.Embedding(10, 4))
    return q.quantize_dynamic(
        layers, {nn.Embedding: q.float_qparams_weight_only_qconfig}, dtype=library.quint8
    )


def reflected(library: Any) -> Any:
    """Convolutions whose border is made of their input: PyTorch has these of one dim and of two."""
    q, nn = library.ao.quantization, library.nn
    model = nn.Sequential(
        q.QuantStub(), nn.Conv2d(2, 4, (3, 2), padding=(2, 1), padding_mode="reflect"), nn.ReLU(), nn.Flatten(2),
        nn.Conv1d(4, 3, 5, 2, 3, groups=1, padding_mode="reflect", bias=False), q.DeQuantStub(),
    ).eval()  # fmt: skip
    model.qconfig = q.QConfig(q.MinMaxObserver.with_args(), weight_observer(library))
    prepared = q.prepare(q.fuse_modules(model, [["1", "2"]]))
    prepared(given(library, planes()))
    return q.convert(prepared)


def norms(library: Any) -> Any:
    """Normalisations of images, one of them joined with its rectifier, and a rectifier that is cut off."""
    q, nn = library.ao.quantization, library.nn
    model = nn.Sequential(
        q.QuantStub(), nn.Conv2d(2, 4, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.BatchNorm2d(4), nn.ReLU6(), nn.Dropout(),
        nn.InstanceNorm2d(4, affine=True), nn.LeakyReLU(0.3), nn.GroupNorm(2, 4), q.DeQuantStub(),
    )  # fmt: skip
    model(given(library, planes()))
    model.eval().qconfig = q.QConfig(q.MinMaxObserver.with_args(), weight_observer(library))
    prepared = q.prepare(q.fuse_modules(model, [["2", "3"]]))
    prepared(given(library, planes()))
    return q.convert(prepared)


def functions(library: Any) -> Any:
    """Functions of whose results PyTorch saves no scale, and no weight."""
    q, nn = library.ao.quantization, library.nn
    model = nn.Sequential(q.QuantStub(), nn.Linear(5, 4), nn.ELU(0.5), nn.PReLU(), q.DeQuantStub()).eval()
    model.qconfig = q.QConfig(q.MinMaxObserver.with_args(), q.default_weight_observer)
    prepared = q.prepare(model)
    prepared(given(library, RANDOM.standard_normal((9, 5)).astype(np.float32)))
    return q.convert(prepared)


def planes() -> Any:
    return RANDOM.standard_normal((4, 2, 7, 6)).astype(np.float32)


MODELS: dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]] = {
    "static": (static, image),
    "after training": (after_training, image),
    "reflected": (reflected, planes),
    "norms": (norms, planes),
    "dynamic": (dynamic, lambda: RANDOM.standard_normal((3, 5)).astype(np.float32)),
    "embedding": (tables, lambda: RANDOM.integers(0, 10, (3, 2))),
}


def to_ours(model: Any) -> Any:
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    return wb.load(io.BytesIO(file.getvalue()))


def to_theirs(model: Any) -> Any:
    file = io.BytesIO()
    wb.save(model.state_dict(), file)
    return torch.load(io.BytesIO(file.getvalue()), weights_only=True)


def answers(mine: Any, theirs: Any, x: Any) -> tuple[Any, Any]:
    with wb.no_grad(), torch.no_grad():
        return mine(given(wb, x)).numpy(), theirs(given(torch, x)).numpy()


@pytest.mark.parametrize("way", ["in", "out"])
@pytest.mark.parametrize("name", MODELS)
def test_a_converted_model_answers_the_same(name: str, way: str) -> None:
    make, inputs = MODELS[name]
    torch.manual_seed(0)
    wb.manual_seed(0)
    mine, theirs, x = make(wb), make(torch), inputs()
    found, wanted = answers(mine, theirs, x)
    assert not np.array_equal(found, wanted)
    if way == "in":
        mine.load_state_dict(to_ours(theirs))
    else:
        theirs.load_state_dict(to_theirs(mine))
    found, wanted = answers(mine, theirs, x)
    if name in ("dynamic", "embedding"):
        # The codes are the same, and what they are multiplied by is rounded in another order.
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    else:
        # Scales that a state has are float32; the layer norm is computed in another order, and may meet a half.
        assert (found == wanted).mean() > 0.99


def test_what_pytorch_saves_nothing_of_is_left_both_ways() -> None:
    mine, theirs = functions(wb), functions(torch)
    before = [float(mine[place].scale) for place in (2, 3)], [theirs[place].scale for place in (2, 3)]
    assert str(theirs.load_state_dict(to_theirs(mine))) == "<All keys matched successfully>"
    with pytest.warns(UserWarning, match=r"no 3\.scale, 3\.zero_point, 3\.weight, as PyTorch saves none"):
        assert str(mine.load_state_dict(to_ours(theirs))) == "<All keys matched successfully>"
    assert [float(mine[place].scale) for place in (2, 3)] == before[0]
    assert [theirs[place].scale for place in (2, 3)] == before[1]


def test_what_only_we_observe_in_training_is_left_both_ways() -> None:
    mine, theirs = beside(wb), beside(torch)
    x = image()
    mine(given(wb, x))
    theirs(given(torch, x))
    assert [*mine.state_dict()] == [*theirs.state_dict()]
    watching = [
        mine[2].weight_fake_quant,
        mine[4].weight_post_process,
        *(mine[place].activation_post_process for place in (3, 5)),
    ]
    before = [one.scale.tolist() for one in watching]
    assert str(theirs.load_state_dict(to_theirs(mine))) == "<All keys matched successfully>"
    with pytest.warns(UserWarning, match="as PyTorch has none in a") as told:
        assert str(mine.load_state_dict(to_ours(beside(torch)))) == "<All keys matched successfully>"
    words = [str(one.message).partition(",")[0] for one in told]
    assert [one for one in words if one.startswith("the state")] == [
        "the state has no 2.weight_fake_quant", "the state has no 3.activation_post_process",
        "the state has no 4.weight_post_process", "the state has no 5.activation_post_process",
    ]  # fmt: skip
    assert [one.scale.tolist() for one in watching] == before


def test_what_is_cut_off_is_rounded_in_training_as_the_other_does() -> None:
    """Outputs, gradients and what is observed, step by step; nothing is dropped, as each draws its own."""
    mine, theirs = cut(wb), cut(torch)
    assert [*mine.state_dict()] == [*theirs.state_dict()]
    mine.load_state_dict(to_ours(theirs))
    for model in (mine, theirs):
        model[3].p = model[7].p = 0.0
    for _ in range(3):
        x = 4 * image()
        found, wanted = mine(given(wb, x)), theirs(given(torch, x))
        np.testing.assert_allclose(found.numpy(force=True), wanted.detach().numpy(), rtol=1e-4, atol=1e-5)
        (found**2).sum().backward()
        (wanted**2).sum().backward()
    mine_grad, their_grad = mine[1].weight.grad, theirs[1].weight.grad
    np.testing.assert_allclose(mine_grad.numpy(), their_grad.numpy(), rtol=1e-3, atol=1e-3)
    own = mine.state_dict()
    for key, value in theirs.state_dict().items():
        np.testing.assert_allclose(own[key].numpy(), value.numpy(), rtol=1e-4, atol=1e-5, err_msg=key)


@pytest.mark.parametrize("make", [trained, fixed, cut])
@pytest.mark.parametrize("way", ["in", "out"])
def test_a_model_in_training_goes_on_as_the_other(way: str, make: Callable[[Any], Any]) -> None:
    torch.manual_seed(0)
    wb.manual_seed(0)
    mine, theirs = make(wb), make(torch)
    for _ in range(2):
        x = image()
        mine(given(wb, x))
        theirs(given(torch, x))
    if way == "in":
        mine.load_state_dict(to_ours(theirs))
    else:
        theirs.load_state_dict(to_theirs(mine))
    found, wanted = answers(mine.eval(), theirs.eval(), image())
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["static", "after training"])
def test_scales_are_of_pytorchs_type(name: str) -> None:
    make, _ = MODELS[name]
    found, wanted = make(wb).state_dict(), make(torch).state_dict()
    scales = [key for key in wanted if key.endswith("scale")]
    assert scales
    assert [str(found[key].dtype).split(".")[-1] for key in scales] == ["float32"] * len(scales)
    assert [str(wanted[key].dtype) for key in scales] == ["torch.float32"] * len(scales)


def test_a_histogram_goes_on_as_the_other() -> None:
    theirs, mine = torch.ao.quantization.HistogramObserver(), wb.ao.quantization.HistogramObserver()
    values = torch.randn(10_000, generator=torch.Generator().manual_seed(0))
    theirs(values)
    mine.load_state_dict({name: wb.tensor(one.numpy()) for name, one in theirs.state_dict().items()})
    for factor in (1.0, 1.5):
        np.testing.assert_allclose(mine.calculate_qparams()[0], theirs.calculate_qparams()[0], rtol=0.03)
        theirs(factor * values)
        mine(wb.tensor((factor * values).numpy()))

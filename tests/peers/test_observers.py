"""Observers and fake quantization against PyTorch's: scale and zero point to the last bit, states, gradients.

What differs on purpose:
- NaN and infinity are counted and left out; PyTorch's scale becomes NaN, or its range infinite.
- A range wider than float32 reaches has a finite scale; PyTorch's is infinite.
- `HistogramObserver` keeps exact counts and searches for the bits in use (judged in test_quantization.py).
- `FusedMovingAvgObsFakeQuantize` rounds by what its observer says, as conversion does; PyTorch trains with another
  formula, whose scale is at least 6.1e-5 and whose symmetric range goes one code further down.
- Learned zero points below 0: PyTorch's gradient rounds them towards 0, its values to the nearest.
- 32-bit affine codes: PyTorch's zero point overflows where it is computed, and comes out anywhere.
- quant_min without quant_max is refused; PyTorch leaves it out of account.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import quantization as q

torch = pytest.importorskip("torch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    peer = pytest.importorskip("torch.ao.quantization")
    learnable = pytest.importorskip("torch.ao.quantization._learnable_fake_quantize")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

RANDOM = np.random.default_rng(17)
TYPES = {
    name: (getattr(wb, name), getattr(torch, name)) for name in ("quint8", "qint8", "qint32", "uint8", "int8")
}
LIMITS: dict[str, dict[str, Any]] = {
    "own": {}, "reduced": {"reduce_range": True}, "four bits": {"quant_min": 0, "quant_max": 15},
    "seven bits": {"quant_min": 0, "quant_max": 127}, "least scale": {"eps": 2**-12},
}  # fmt: skip


def rows(name: str) -> list[Any]:
    """Batches [3, n] that are awkward in some way."""
    made = {
        "random": [RANDOM.standard_normal((3, 40)) * width for width in (1.0, 7.0, 0.1)],
        "positive": [RANDOM.random((3, 20)) + 1],
        "negative": [-RANDOM.random((3, 20)) - 1],
        "constant": [np.full((3, 4), 5.0), np.full((3, 4), 5.0)],
        "zero": [np.zeros((3, 4))],
        "ties": [np.arange(-6, 6).reshape(3, 4) * 0.5 + 0.25],
        "huge": [np.array([[1e38, 2e38], [3e38, 0], [3.4e38, 1]])],
        "tiny": [np.array([[1e-30, -1e-30], [1e-38, 0], [1e-45, -1e-45]])],
        "denormal then large": [np.full((3, 2), 1e-41), RANDOM.standard_normal((3, 5)) * 1e4],
        "half steps": [np.array([[-0.5, 127.0], [-1.5, 253.5], [-63.5, 64.0]])],
    }
    return [np.asarray(one, np.float32) for one in made[name]]


DATA = [
    "random", "positive", "negative", "constant", "zero", "ties", "huge", "tiny", "denormal then large", "half steps",
]  # fmt: skip
TENSOR = ["MinMaxObserver", "MovingAverageMinMaxObserver"]
CHANNEL = ["PerChannelMinMaxObserver", "MovingAveragePerChannelMinMaxObserver"]


def settings(kind: str, scheme: str, limits: str, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    own = {**LIMITS[limits]}
    if "Moving" in name:
        own["averaging_constant"] = 0.3
    ours, theirs = TYPES[kind]
    return (
        {"dtype": ours, "qscheme": getattr(wb, scheme), **own},
        {"dtype": theirs, "qscheme": getattr(torch, scheme), **own},
    )


def compared(name: str, mine: dict[str, Any], theirs: dict[str, Any], batches: list[Any]) -> None:
    try:
        other = getattr(peer, name)(**theirs)
    except (NotImplementedError, AssertionError):
        with pytest.raises(wb.QuantizationError):
            getattr(q, name)(**mine)
        return
    own = getattr(q, name)(**mine)
    for batch in batches:
        own(wb.from_numpy(batch))
        other(torch.tensor(batch))
    np.testing.assert_array_equal(own.min_val.numpy(), other.min_val.numpy())
    np.testing.assert_array_equal(own.max_val.numpy(), other.max_val.numpy())
    for found, expected in zip(own.calculate_qparams(), other.calculate_qparams(), strict=True):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("scheme", ["per_tensor_affine", "per_tensor_symmetric"])
@pytest.mark.parametrize("name", TENSOR)
def test_one_range(name: str, scheme: str, data: str, limits: str) -> None:
    for kind in TYPES:
        if kind == "qint32" and "affine" in scheme:
            continue
        compared(name, *settings(kind, scheme, limits, name), rows(data))


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(
    "scheme", ["per_channel_affine", "per_channel_symmetric", "per_channel_affine_float_qparams"]
)
@pytest.mark.parametrize("name", CHANNEL)
def test_a_range_a_channel(name: str, scheme: str, data: str, limits: str) -> None:
    for axis in (0, 1, -1):
        for kind in ("quint8", "qint8"):
            mine, theirs = settings(kind, scheme, limits, name)
            batches = rows(data)
            widths = {one.shape[axis] for one in batches}
            if len(widths) > 1 or (axis == -1 and name == "PerChannelMinMaxObserver"):
                continue
            if axis == -1:
                axis = 1
            compared(name, {**mine, "ch_axis": axis}, {**theirs, "ch_axis": axis}, batches)


def test_the_widest_range_has_a_finite_scale() -> None:
    observer = q.MinMaxObserver()
    observer(wb.tensor([3e38, -3e38]))
    scale, zero = observer.calculate_qparams()
    assert scale.item() == pytest.approx(6e38 / 255)
    assert zero.item() == 128


@pytest.mark.parametrize("name", [*TENSOR, *CHANNEL, "HistogramObserver"])
def test_nothing_seen(name: str) -> None:
    own, other = getattr(q, name)(), getattr(peer, name)()
    own(wb.zeros(3, 0))
    if name not in CHANNEL:
        other(torch.zeros(3, 0))
    with pytest.warns(UserWarning, match="must run observer before calling calculate_qparams"):
        found = own.calculate_qparams()
    for mine, expected in zip(found, other.calculate_qparams(), strict=True):
        np.testing.assert_array_equal(mine.numpy(), expected.numpy())


@pytest.mark.parametrize("name", [*TENSOR, *CHANNEL, "FixedQParamsObserver"])
def test_the_state_has_the_same_keys_shapes_and_types(name: str) -> None:
    given = {"scale": 0.5, "zero_point": 3} if "Fixed" in name else {}
    own, other = getattr(q, name)(**given), getattr(peer, name)(**given)
    x = RANDOM.standard_normal((4, 6)).astype(np.float32)
    for _ in range(2):
        mine = {
            key: (tuple(one.shape), str(one.dtype).partition(".")[2]) for key, one in own.state_dict().items()
        }
        theirs = {
            key: (tuple(one.shape), str(one.dtype).partition(".")[2])
            for key, one in other.state_dict().items()
        }
        assert mine == theirs
        own(wb.from_numpy(x))
        other(torch.tensor(x))
    # PyTorch's state goes in, and says the same.
    taken = getattr(q, name)(**given)
    taken.load_state_dict({key: wb.from_numpy(one.numpy().copy()) for key, one in other.state_dict().items()})
    for found, expected in zip(taken.calculate_qparams(), other.calculate_qparams(), strict=True):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


NAMES = [
    name
    for name in peer.__all__
    if (name.endswith("_observer") and not name.startswith(("enable", "disable")))
    or "_observer_range" in name
]
FAKES = [name for name in peer.__all__ if "fake_quant" in name and name.startswith(("default", "fused"))]
CONFIGS = [
    name
    for name in dir(peer)
    if name.endswith(("_qconfig", "_qconfig_v2")) and name.startswith(("default", "float", "per"))
]
FOUR_BITS = "4bit"


def described(made: Any) -> Any:
    """What an observer or a fake quantization is, in words that both libraries share."""
    if "fake" in type(made).__name__.lower():
        return type(made).__name__, bool(made.is_dynamic), described(made.activation_post_process)
    words = ["dtype", "qscheme", "quant_min", "quant_max", "averaging_constant", "ch_axis", "is_dynamic"]
    said = {word: str(getattr(made, word, None)).rpartition(".")[2] for word in words}
    if "Placeholder" in type(made).__name__ or not hasattr(made, "eps"):
        return type(made).__name__, said
    return type(made).__name__, said, round(float(made.eps), 12)


@pytest.mark.parametrize("name", [name for name in [*NAMES, *FAKES] if FOUR_BITS not in name])
def test_names_mean_the_same(name: str) -> None:
    mine, theirs = described(getattr(q, name)()), described(getattr(peer, name)())
    if "fixed_qparams" in name:
        assert "FixedQParams" in str(mine)
        ours, others = getattr(q, name)(), getattr(peer, name)()
        assert float(ours.calculate_qparams()[0]) == float(others.calculate_qparams()[0])
        assert int(ours.calculate_qparams()[1]) == int(others.calculate_qparams()[1])
        return
    assert mine == theirs


@pytest.mark.parametrize("name", [name for name in CONFIGS if FOUR_BITS not in name])
def test_configurations_mean_the_same(name: str) -> None:
    mine, theirs = getattr(q, name), getattr(peer, name)
    for what in ("activation", "weight"):
        assert described(getattr(mine, what)()) == described(getattr(theirs, what)())


@pytest.mark.parametrize("backend", ["x86", "fbgemm", "qnnpack", "onednn"])
@pytest.mark.parametrize(
    ("function", "version"),
    [("get_default_qconfig", 0), ("get_default_qat_qconfig", 0), ("get_default_qat_qconfig", 1)],
)
def test_backends_mean_the_same(function: str, version: int, backend: str) -> None:
    mine, theirs = getattr(q, function)(backend, version), getattr(peer, function)(backend, version)
    for what in ("activation", "weight"):
        assert described(getattr(mine, what)()) == described(getattr(theirs, what)())


# --------------------------------------------------------------------------------------------- fake


@pytest.mark.parametrize("name", [name for name in FAKES if "fused" not in name and FOUR_BITS not in name])
def test_fake_quantization_step_by_step(name: str) -> None:
    if "histogram" in name:
        pytest.skip("ranges of histograms differ on purpose")
    own, other = getattr(q, name)(), getattr(peer, name)()
    for step in range(6):
        x = (RANDOM.standard_normal((4, 9)) * (step + 1)).astype(np.float32)
        mine, theirs = wb.from_numpy(x.copy()).requires_grad_(), torch.tensor(x, requires_grad=True)
        found, expected = own(mine), other(theirs)
        np.testing.assert_array_equal(found.detach().numpy(), expected.detach().numpy())
        g = RANDOM.standard_normal((4, 9)).astype(np.float32)
        (found * wb.from_numpy(g)).sum().backward()
        (expected * torch.tensor(g)).sum().backward()
        np.testing.assert_array_equal(mine.grad.numpy(), theirs.grad.numpy())  # type: ignore[union-attr]
        if step == 3:
            own.apply(q.disable_observer)
            other.apply(peer.disable_observer)
    assert list(own.state_dict()) == sorted(other.state_dict(), key=list(own.state_dict()).index)
    mine_types = {key: (tuple(one.shape), str(one.dtype)[10:]) for key, one in own.state_dict().items()}
    assert mine_types == {
        key: (tuple(one.shape), str(one.dtype)[6:]) for key, one in other.state_dict().items()
    }


@pytest.mark.parametrize("name", [name for name in FAKES if "fused" in name])
def test_fused_fake_quantization_rounds_within_a_step(name: str) -> None:
    own, other = getattr(q, name)(), getattr(peer, name)()
    for _ in range(4):
        x = (RANDOM.standard_normal((4, 9)) * 3).astype(np.float32)
        found, expected = own(wb.from_numpy(x)).numpy(), other(torch.tensor(x)).numpy()
        np.testing.assert_array_equal(
            own.activation_post_process.max_val.numpy(), other.activation_post_process.max_val.numpy()
        )
        assert np.abs(found - expected).max() <= 1.01 * max(
            own.scale.numpy().max(), other.scale.numpy().max()
        )
    # What PyTorch converts by is what we round by.
    for mine, theirs in zip(own.calculate_qparams(), other.calculate_qparams(), strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


@pytest.mark.parametrize("channels", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("symmetric", [False, True])
def test_learned_scales(symmetric: bool, scaled: bool, channels: bool) -> None:
    names = ("per_channel" if channels else "per_tensor") + ("_symmetric" if symmetric else "_affine")
    kind = "MovingAveragePerChannelMinMaxObserver" if channels else "MovingAverageMinMaxObserver"
    limits, code = ((-8, 7), "qint8") if symmetric else ((0, 15), "quint8")
    common: dict[str, Any] = {"channel_len": 4 if channels else -1, "use_grad_scaling": scaled}
    common |= {"quant_min": limits[0], "quant_max": limits[1]}
    own = q.LearnableFakeQuantize(
        getattr(q, kind), **common, dtype=TYPES[code][0], qscheme=getattr(wb, names)
    )
    other = learnable._LearnableFakeQuantize(
        getattr(peer, kind), **common, dtype=TYPES[code][1], qscheme=getattr(torch, names)
    )
    if channels:
        own.activation_post_process.ch_axis = other.activation_post_process.ch_axis = 0
    own.enable_static_estimate()
    other.enable_static_estimate()
    x = (RANDOM.standard_normal((4, 30)) * 2).astype(np.float32)
    np.testing.assert_allclose(
        own(wb.from_numpy(x)).detach().numpy(), other(torch.tensor(x)).detach().numpy(), rtol=1e-6
    )
    own.enable_param_learning()
    other.enable_param_learning()
    for _ in range(3):
        x = (RANDOM.standard_normal((4, 30)) * 3).astype(np.float32)
        mine, theirs = wb.from_numpy(x.copy()).requires_grad_(), torch.tensor(x, requires_grad=True)
        found, expected = own(mine), other(theirs)
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-6)
        own.zero_grad()
        other.zero_grad()
        (found**2).sum().backward()
        (expected**2).sum().backward()
        np.testing.assert_allclose(mine.grad.numpy(), theirs.grad.numpy(), rtol=1e-5)  # type: ignore[union-attr]
        np.testing.assert_allclose(own.scale.grad.numpy(), other.scale.grad.numpy(), rtol=1e-4)
        np.testing.assert_allclose(
            own.zero_point.grad.numpy(), other.zero_point.grad.numpy(), rtol=1e-4, atol=1e-5
        )
        with wb.no_grad():
            own.scale -= 1e-3 * own.scale.grad
        with torch.no_grad():
            other.scale -= 1e-3 * other.scale.grad
    for mine, theirs in zip(own.calculate_qparams(), other.calculate_qparams(), strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-6)

"""Spatial layers against PyTorch's: signatures, printed forms and settings, and what its module database leaves out."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.testing import assert_close

torch: Any = pytest.importorskip("torch")
t = torch.nn

MADE: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *((f"Conv{n}d", (4, 6, 3), {"padding": "same", "groups": 2, "bias": False}) for n in (1, 2, 3)),
    *((f"Conv{n}d", (4, 6, 3, 2, 1, 2), {"padding_mode": "circular"}) for n in (1, 2, 3)),
    *((f"ConvTranspose{n}d", (4, 6, 3, 2, 1, 1, 2, False, 2), {}) for n in (1, 2, 3)),
    *((f"MaxPool{n}d", (2,), {"ceil_mode": True, "return_indices": True}) for n in (1, 2, 3)),
    *((f"AvgPool{n}d", (3, 1, 1), {"count_include_pad": False}) for n in (1, 2, 3)),
    *((f"LPPool{n}d", (2, 3), {}) for n in (1, 2, 3)),
    *((f"AdaptiveMaxPool{n}d", (2, True), {}) for n in (1, 2, 3)),
    *((f"AdaptiveAvgPool{n}d", (2,), {}) for n in (1, 2, 3)),
    *((f"MaxUnpool{n}d", (3, 2, 1), {}) for n in (1, 2, 3)),
    *((f"FractionalMaxPool{n}d", (2, 3), {"return_indices": True}) for n in (2, 3)),
    *((f"FractionalMaxPool{n}d", (2,), {"output_ratio": 0.5}) for n in (2, 3)),
    *(
        (f"{kind}Pad{n}d", (1,), {})
        for kind in ("Circular", "Reflection", "Replication", "Zero")
        for n in (1, 2, 3)
    ),
    *((f"ConstantPad{n}d", (2, 1.5), {}) for n in (1, 2, 3)),
    ("Upsample", (), {"scale_factor": (2, 3), "mode": "bilinear", "align_corners": True}),
    ("Upsample", (4,), {}),
    ("UpsamplingNearest2d", (4,), {}),
    ("UpsamplingBilinear2d", (), {"scale_factor": 2}),
    ("PixelShuffle", (2,), {}),
    ("PixelUnshuffle", (2,), {}),
    ("ChannelShuffle", (2,), {}),
    ("Fold", ((4, 5), 2), {"padding": 1}),
    ("Unfold", (2, 1, 0, 2), {}),
    *((f"BatchNorm{n}d", (3, 1e-3, None), {}) for n in (1, 2, 3)),
    *((f"BatchNorm{n}d", (3,), {"affine": False, "track_running_stats": False}) for n in (1, 2, 3)),
    *((f"InstanceNorm{n}d", (3,), {"affine": True, "bias": False}) for n in (1, 2, 3)),
    ("LayerNorm", ((3, 4),), {"bias": False}),
    ("LayerNorm", (4, 1e-3, False), {}),
    ("RMSNorm", (4,), {}),
    ("GroupNorm", (2, 4), {"bias": False}),
    ("LocalResponseNorm", (3,), {}),
    ("CrossMapLRN2d", (3,), {}),
    ("LazyLinear", (3,), {}),
    *((f"LazyConv{n}d", (4, 3), {}) for n in (1, 2, 3)),
    *((f"LazyConvTranspose{n}d", (4, 3), {}) for n in (1, 2, 3)),
    *((f"LazyBatchNorm{n}d", (), {}) for n in (1, 2, 3)),
    *((f"LazyInstanceNorm{n}d", (), {}) for n in (1, 2, 3)),
]


def plain(module: Any) -> dict[str, Any]:
    """Settings that are numbers, words or tuples of them."""
    kinds = (int, float, str, bool, tuple, type(None))
    return {
        key: value
        for key, value in vars(module).items()
        if not key.startswith("_") and isinstance(value, kinds)
    }


@pytest.mark.parametrize(("name", "arguments", "keywords"), MADE)
def test_printed_forms_settings_and_state(name: str, arguments: Any, keywords: dict[str, Any]) -> None:
    mine, other = getattr(nn, name)(*arguments, **keywords), getattr(t, name)(*arguments, **keywords)
    assert repr(mine) == repr(other)
    assert list(mine.state_dict()) == list(other.state_dict())
    own = {**plain(mine), **{key: getattr(mine, key) for key in plain(other) if hasattr(mine, key)}}
    assert {key: own.get(key, "missing") for key in plain(other)} == plain(other)


@pytest.mark.parametrize("name", sorted({name for name, _, _ in MADE}))
def test_signatures(name: str) -> None:
    def shape(cls: Any) -> list[tuple[str, Any]]:
        return [(one.name, one.default) for one in inspect.signature(cls).parameters.values()]

    assert shape(getattr(nn, name)) == shape(getattr(t, name))
    mine, other = (
        [one.name for one in inspect.signature(cls.forward).parameters.values()]
        for cls in (getattr(nn, name), getattr(t, name))
    )
    assert mine == other


def pair(*sizes: int, seed: int = 0) -> tuple[wb.Tensor, Any]:
    array = np.random.default_rng(seed).standard_normal(sizes).astype(np.float32)
    return wb.from_numpy(array).requires_grad_(), torch.from_numpy(array.copy()).requires_grad_()


def same(mine: Any, other: Any, x: wb.Tensor, y: Any) -> None:
    """Compare results, and gradients of a weighted sum of them."""
    assert_close(mine.detach(), other.detach().numpy(), rtol=1e-4, atol=1e-5)
    weight = np.linspace(-1, 1, other.numel()).reshape(other.shape).astype(np.float32)
    mine.backward(wb.from_numpy(weight))
    other.backward(torch.from_numpy(weight))
    assert_close(x.grad, y.grad.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_the_same_numbers_place_the_same_windows(n: int, seed: int) -> None:
    x, y = pair(2, 3, *(7, 9, 11)[:n], seed=seed)
    chance = torch.rand(2, 3, n)
    settings: dict[str, Any] = {"output_size": (3, 4, 5)[:n], "return_indices": True}
    name = f"fractional_max_pool{n}d"
    mine, places = getattr(nn.functional, name)(
        x, (2, 3, 2)[:n], _random_samples=wb.from_numpy(chance.numpy()), **settings
    )
    other, wanted = getattr(t.functional, name)(y, (2, 3, 2)[:n], _random_samples=chance, **settings)
    assert (places.numpy() == wanted.numpy()).all()
    same(mine, other, x, y)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("padding", [(2, 1), "same"])
def test_borders_of_convolutions(mode: str, padding: Any) -> None:
    x, y = pair(2, 3, 6, 7)
    mine, other = (one.Conv2d(3, 4, (2, 3), padding=padding, padding_mode=mode) for one in (nn, t))
    mine.load_state_dict({key: wb.from_numpy(value.numpy()) for key, value in other.state_dict().items()})
    same(mine(x), other(y), x, y)


def test_transposes_to_a_size() -> None:
    x, y = pair(2, 3, 4, 5)
    mine, other = (one.ConvTranspose2d(3, 4, 3, stride=(2, 3), padding=1, dilation=2) for one in (nn, t))
    mine.load_state_dict({key: wb.from_numpy(value.numpy()) for key, value in other.state_dict().items()})
    same(mine(x, output_size=(10, 17)), other(y, output_size=(10, 17)), x, y)
    for size in ((9, 14), (99, 15), (10,)):
        with pytest.raises(ValueError, match=r"output.size"):
            other(y, output_size=size)
        with pytest.raises(ValueError, match=r"output.size"):
            mine(x, output_size=size)


@pytest.mark.parametrize(
    "name", ["MaxUnpool2d", "PixelShuffle", "ChannelShuffle", "Upsample", "Fold", "Unfold"]
)
def test_layers_that_the_database_leaves_out(name: str) -> None:
    makers: dict[str, tuple[tuple[int, ...], tuple[Any, ...], dict[str, Any]]] = {
        "MaxUnpool2d": ((2, 4, 6, 6), (2,), {}),
        "PixelShuffle": ((2, 8, 3, 5), (2,), {}),
        "ChannelShuffle": ((2, 8, 3, 5), (4,), {}),
        "Upsample": ((2, 3, 4, 5), (), {"scale_factor": 1.7, "mode": "bicubic"}),
        "Fold": ((2, 12, 12), ((4, 5), 2), {}),
        "Unfold": ((2, 3, 4, 5), (2,), {"padding": 1, "stride": 2}),
    }
    sizes, arguments, keywords = makers[name]
    x, y = pair(*sizes)
    mine, other = getattr(nn, name)(*arguments, **keywords), getattr(t, name)(*arguments, **keywords)
    if name == "MaxUnpool2d":
        own, wanted = nn.MaxPool2d(2, return_indices=True)(x), t.MaxPool2d(2, return_indices=True)(y)
        same(mine(*own, output_size=sizes), other(*wanted, output_size=sizes), x, y)
    else:
        same(mine(x), other(y), x, y)


def test_channels_across_as_far_as_both_agree() -> None:
    """PyTorch's keeps the first channel in windows that have moved past it; up to there the two give the same."""
    x, y = pair(2, 3, 2, 2)
    mine, other = nn.CrossMapLRN2d(5, 0.5)(x), t.CrossMapLRN2d(5, 0.5)(y)
    assert_close(mine.detach(), other.detach().numpy(), rtol=1e-5)


def test_running_statistics_by_way_of_settings() -> None:
    x, y = pair(4, 3, 5)
    for change in ({"momentum": None}, {"track_running_stats": False}, {"momentum": 0.0}):
        mine, other = nn.BatchNorm1d(3), t.BatchNorm1d(3)
        for one, value in ((mine, x), (other, y)):
            for key, setting in change.items():
                setattr(one, key, setting)
            one(value)
            one(value)
        for key, value in other.state_dict().items():
            assert_close(mine.state_dict()[key], value.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("channels", "groups"), [(16, 16), (17, 17), (32, 2), (64, 2)])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_what_is_not_finite_passes_over_padding(
    channels: int, groups: int, stride: int, value: float
) -> None:
    draw = np.random.default_rng(channels)
    for which in range(3):
        x, weight = (
            draw.standard_normal((2, channels, 6, 9)),
            draw.standard_normal((channels, channels // groups, 3, 3)),
        )
        g = draw.standard_normal((2, channels, 6 // stride, -(-9 // stride)))
        for at in ((0,) * 4, (-1,) * 4):
            (x, weight, g)[which][at] = value
        ours = [wb.tensor(one.astype(np.float32), requires_grad=True) for one in (x, weight)]
        theirs = [torch.tensor(one.astype(np.float32), requires_grad=True) for one in (x, weight)]
        results = []
        for lib, (image, filters) in ((wb, ours), (torch, theirs)):
            y = lib.nn.functional.conv2d(image, filters, stride=stride, padding=1, groups=groups)
            y.backward(lib.tensor(g.astype(np.float32)))
            results.append([one.detach().numpy() for one in (y, image.grad, filters.grad)])
        for mine, peers in zip(*results, strict=True):
            np.testing.assert_allclose(mine, peers, rtol=1e-4, atol=1e-4)

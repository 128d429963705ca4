"""Layers that take the size of their input from the first call."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.nn.modules.lazy import LazyModuleMixin
from workbench.testing import assert_close

INPUTS = {
    "LazyLinear": (lambda: nn.LazyLinear(4), (2, 3), ()),
    "LazyConv1d": (lambda: nn.LazyConv1d(4, 3, groups=2, padding=1), (2, 6, 5), ()),
    "LazyConv2d": (lambda: nn.LazyConv2d(4, (1, 3), stride=2), (2, 6, 5, 5), ()),
    "LazyConv3d": (lambda: nn.LazyConv3d(4, 2, bias=False), (2, 6, 3, 3, 3), ()),
    "LazyConvTranspose1d": (lambda: nn.LazyConvTranspose1d(4, 3, groups=2), (2, 6, 5), ()),
    "LazyConvTranspose2d": (lambda: nn.LazyConvTranspose2d(4, 3, 2, 1, 1), (2, 6, 5, 5), ()),
    "LazyConvTranspose3d": (lambda: nn.LazyConvTranspose3d(4, 2), (2, 6, 3, 3, 3), ()),
    "LazyBatchNorm1d": (lambda: nn.LazyBatchNorm1d(momentum=None), (4, 3), ()),
    "LazyBatchNorm2d": (lambda: nn.LazyBatchNorm2d(affine=False), (4, 3, 2, 2), ()),
    "LazyBatchNorm3d": (lambda: nn.LazyBatchNorm3d(bias=False), (4, 3, 2, 2, 2), ()),
    "LazyInstanceNorm1d": (lambda: nn.LazyInstanceNorm1d(), (4, 3, 5), ()),
    "LazyInstanceNorm2d": (lambda: nn.LazyInstanceNorm2d(track_running_stats=False), (3, 4, 5), ()),
    "LazyInstanceNorm3d": (lambda: nn.LazyInstanceNorm3d(), (4, 3, 2, 2, 2), ()),
}


def values(sizes: tuple[int, ...]) -> wb.Tensor:
    return wb.from_numpy(np.random.default_rng(0).standard_normal(sizes).astype(np.float32))


@pytest.mark.parametrize("name", list(INPUTS))
def test_the_first_call_makes_it_the_layer_itself(name: str) -> None:
    make, sizes, _ = INPUTS[name]
    layer, x = make(), values(sizes)
    assert type(layer).__name__ == name
    assert repr(layer).startswith(name)
    keys = list(layer.state_dict())
    weight = layer.weight
    if weight is not None:
        assert isinstance(weight, nn.UninitializedParameter)
        assert next(iter(layer.parameters())) is weight
    copied = copy.deepcopy(layer)
    wb.manual_seed(1)
    y = layer(x)
    assert type(layer) is getattr(nn, name.removeprefix("Lazy"))
    assert list(layer.state_dict()) == keys
    assert layer.weight is weight
    if weight is not None:
        y.sum().backward()
        assert weight.grad.dim_labels == weight.dim_labels
        assert None not in weight.dim_labels
        assert isinstance(copied.weight, nn.UninitializedParameter)
    wb.manual_seed(1)
    assert_close(copied(x), y)
    loaded = make()
    loaded.load_state_dict(layer.state_dict())
    assert_close(loaded.eval()(x), layer.eval()(x))
    assert repr(loaded) == repr(layer)


def test_sizes_are_asked_for_in_vain() -> None:
    layer = nn.LazyConv2d(4, 3)
    for use in (
        lambda: layer.weight.shape,
        lambda: layer.weight + 1,
        lambda: layer.weight.numpy(),
        lambda: layer.weight.numel(),
        lambda: layer.weight.sum(),
    ):
        with pytest.raises(ValueError, match="of an uninitialized parameter or buffer"):
            use()
    with pytest.raises(RuntimeError, match="Call the module once"):
        _ = layer.bias.shape
    assert repr(layer.weight) == "<UninitializedParameter>"


def test_types_and_devices_are_kept_for_later() -> None:
    layer = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d()).double().to("cpu")
    weight = layer[0].weight
    assert weight.dtype is wb.float64
    assert str(weight.device) == "cpu"
    layer.zero_grad()
    layer.requires_grad_(False)
    layer(wb.zeros(N=2, C=3, H=5, W=5).double())
    assert layer[0].weight is weight
    assert weight.dtype is layer[1].running_var.dtype is wb.float64
    assert not weight.requires_grad
    assert weight.dim_labels[0] == "out_channels"
    assert weight.shape == (4, 3, 3, 3)
    assert nn.LazyLinear(3, dtype=wb.float64).bias.dtype is wb.float64


def test_a_failed_call_and_a_failed_load_leave_it_as_it_was() -> None:
    layer = nn.LazyConv2d(4, 3, groups=2)
    with pytest.raises(ValueError, match="in_channels must be divisible by groups: 3 by 2"):
        layer(wb.zeros(N=1, C=3, H=5, W=5))
    with pytest.raises(wb.DimensionError, match=r"Expected 3D \(unbatched\) or 4D"):
        layer(wb.zeros(2, 2))
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        layer.load_state_dict({"weight": wb.zeros(4, 3), "bias": wb.zeros(4)})
    with pytest.raises(RuntimeError, match="Missing key"):
        layer.load_state_dict({"weight": wb.zeros(4, 3, 3, 3)})
    assert isinstance(layer.weight, nn.UninitializedParameter)
    plain = nn.Conv2d(2, 4, 3)
    with pytest.raises(RuntimeError, match="the value given is uninitialized"):
        plain.load_state_dict(layer.state_dict())
    other = nn.LazyConv2d(4, 3, groups=2)
    assert str(other.load_state_dict(layer.state_dict())) == "<All keys matched successfully>"
    with pytest.raises(ValueError, match="out_channels must be divisible"):
        nn.LazyConv2d(3, 3, groups=2)
    with pytest.raises(ValueError, match="out_channels must be a whole number"):
        nn.LazyConv1d(0, 3)


@pytest.mark.parametrize(
    ("layer", "state", "sizes"),
    [
        (lambda: nn.LazyLinear(2), {"weight": (2, 3)}, (4, 3)),
        (lambda: nn.LazyLinear(2), {"bias": (2,)}, (4, 3)),
        (lambda: nn.LazyConv2d(2, 1), {"weight": (2, 3, 1, 1)}, (1, 3, 2, 2)),
        (lambda: nn.LazyConvTranspose1d(2, 1), {"bias": (2,)}, (1, 3, 2)),
        (lambda: nn.LazyBatchNorm1d(), {"weight": (3,), "num_batches_tracked": ()}, (4, 3)),
        (lambda: nn.LazyBatchNorm1d(), {"running_var": (3,)}, (4, 3)),
    ],
)
def test_what_a_state_has_brought_stays_and_the_rest_gets_first_values(
    layer: Any, state: Any, sizes: Any
) -> None:
    np.full(8, 5.0, np.float32)  # what is not set would be found in memory like this
    made = layer().eval()
    given = {name: wb.full(shape, 7.0) for name, shape in state.items()}
    made.load_state_dict(given, strict=False)
    made(wb.zeros(sizes))
    first = {"weight": 1.0, "bias": 0.0, "running_mean": 0.0, "running_var": 1.0, "num_batches_tracked": 0}
    drawn = made.weight.ndim > 1
    for name, value in made.state_dict().items():
        if name in given:
            assert (value.numpy() == 7).all(), name
        elif drawn:
            assert 0 < np.abs(value.numpy()).max() <= 1, name
        else:
            assert (value.numpy() == first[name]).all(), name


def test_sizes_that_do_not_go_with_the_dims_leave_it_without_sizes() -> None:
    for words in ({"names": ("a", "b")}, {"dim_labels": ("a", "b")}):
        lazy = nn.UninitializedParameter(**words)
        with pytest.raises(wb.DimensionError, match="do not match"):
            lazy.materialize((3,))
        with pytest.raises(ValueError, match="of an uninitialized parameter or buffer"):
            lazy.numel()
        lazy.materialize((3, 2))
        assert (type(lazy), lazy.shape) == (nn.Parameter, (3, 2))


def test_a_module_of_ones_own() -> None:
    class Scale(LazyModuleMixin):
        def __init__(self) -> None:
            super().__init__()
            self.factor = nn.UninitializedParameter(names=("features",))

        def initialize_parameters(self, input: wb.Tensor) -> None:
            if self.has_uninitialized_params():
                self.factor.materialize(input.shape[-1:])
                nn.init.ones_(self.factor)

        def forward(self, input: wb.Tensor) -> wb.Tensor:
            return input * self.factor

    layer = Scale()
    assert layer.has_uninitialized_params()
    assert layer(wb.ones(N=2, features=3)).shape == (2, 3)
    assert layer.factor.names == ("features",)
    assert layer(wb.ones(N=1, features=3)).tolist() == [[1, 1, 1]]

    class Forgetful(Scale):
        def initialize_parameters(self, input: wb.Tensor) -> None:
            pass

    with pytest.raises(RuntimeError, match="module Forgetful has not been fully initialized"):
        Forgetful()(wb.ones(2, 3))

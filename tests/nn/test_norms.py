"""Normalisations as layers: values by NumPy, running statistics, names, and what they refuse."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.ops.nn.conv.window_geometry import LAYOUT
from workbench.testing import assert_close


def values(*sizes: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(sizes).astype(np.float32)


def standard(a: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    a = a.astype(np.float64)
    return (a - a.mean(axes, keepdims=True)) / np.sqrt(a.var(axes, keepdims=True) + 1e-5)


@pytest.mark.parametrize(("n", "sizes"), [(1, (4, 3, 6)), (2, (4, 3, 2, 5)), (3, (4, 3, 2, 2, 4))])
def test_batches_and_instances(n: int, sizes: tuple[int, ...]) -> None:
    a = values(*sizes)
    x = wb.from_numpy(a, names=LAYOUT[n])
    places = tuple(range(2, n + 2))
    batch, instance = getattr(nn, f"BatchNorm{n}d")(3), getattr(nn, f"InstanceNorm{n}d")(3)
    assert_close(batch(x), standard(a, (0, *places)), rtol=1e-4, atol=1e-5)
    assert_close(instance(x), standard(a, places), rtol=1e-4, atol=1e-5)
    assert batch(x).names == instance(x).names == LAYOUT[n]
    assert_close(instance(x[0]), instance(x)[0])
    assert instance(x[0]).names == LAYOUT[n][1:]
    for layer in (batch, instance):
        with pytest.raises(wb.DimensionError, match="The names are the same in another order"):
            layer(x.align_to("N", *LAYOUT[n][2:], "C"))
        with pytest.raises(ValueError, match=r"expected .*D input \(got 6D input\)"):
            layer(wb.zeros(1, 1, 1, 1, 1, 1))


def test_batch_norm_without_a_bias() -> None:
    a = values(8, 3)
    layer = nn.BatchNorm1d(3, bias=False)
    assert list(layer.state_dict()) == ["weight", "running_mean", "running_var", "num_batches_tracked"]
    assert [name for name, _ in nn.BatchNorm1d(3, affine=False).named_buffers()] == [
        "running_mean",
        "running_var",
        "num_batches_tracked",
    ]
    layer(wb.from_numpy(a)).square().sum().backward()
    assert layer.weight.grad.dim_labels == ("C",)
    assert_close(layer(wb.from_numpy(a)), standard(a, (0,)), rtol=1e-4, atol=1e-5)
    assert "bias=False, track_running_stats=True" in repr(layer)


def test_statistics_move_only_where_they_should() -> None:
    x = wb.from_numpy(values(4, 3, 2, 2))
    layer = nn.BatchNorm2d(3)
    layer.track_running_stats = False
    layer(x)
    assert layer.num_batches_tracked.item() == 0
    layer.track_running_stats = True
    layer(wb.zeros(0, 3, 2, 2))
    assert layer.num_batches_tracked.item() == 1
    assert layer.running_var.tolist() == [1, 1, 1]
    layer.eval()(x)
    assert layer.num_batches_tracked.item() == 1
    double = nn.BatchNorm2d(3, dtype=wb.float64)
    assert double.running_mean.dtype is double.weight.dtype is wb.float64
    assert double.num_batches_tracked.dtype is wb.int64


def test_bad_input_moves_nothing() -> None:
    layer = nn.BatchNorm2d(3)
    x = wb.from_numpy(values(4, 3, 2, 2))
    before = copy.deepcopy(layer.state_dict())
    for bad, error in (
        (x.long(), wb.DTypeError),
        (x.rename("N", "H", "W", "C"), wb.DimensionError),
        (x[:, :2], wb.DimensionError),
        (x[:1, :, :1, :1], ValueError),
        (x[0], ValueError),
    ):
        with pytest.raises(error):
            layer(bad)
    for key, value in layer.state_dict().items():
        assert_close(value, before[key])
    layer.running_mean = wb.zeros(4)
    with pytest.raises(wb.DimensionError, match="running_mean should contain 3 elements"):
        layer(x)
    assert layer.num_batches_tracked.item() == 0


def test_a_state_from_before_batches_were_counted() -> None:
    layer = nn.BatchNorm1d(2)
    state = dict(layer.state_dict())
    del state["num_batches_tracked"]
    layer(wb.from_numpy(values(4, 2)))
    layer.load_state_dict(state)
    assert layer.num_batches_tracked.item() == 1


def test_running_statistics_of_instances() -> None:
    a = values(4, 3, 6)
    layer = nn.InstanceNorm1d(3, affine=True, track_running_stats=True)
    layer(wb.from_numpy(a))
    assert_close(layer.running_mean, 0.1 * a.mean(2).mean(0), rtol=1e-4, atol=1e-6)
    assert_close(layer.running_var, 0.9 + 0.1 * a.var(2, ddof=1).mean(0), rtol=1e-4)
    mean, var = (one.numpy()[:, None] for one in (layer.running_mean, layer.running_var))
    assert_close(layer.eval()(wb.from_numpy(a)), (a - mean) / np.sqrt(var + 1e-5), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match=r"size at dim=1 to match num_features \(3\), but got: 2"):
        layer(wb.from_numpy(a[:, :2]))
    with pytest.warns(UserWarning, match="does not match num_features, 2 and not 3"):
        nn.InstanceNorm1d(3)(wb.from_numpy(a[:, :2]))


def test_the_last_dims_by_sizes_and_by_names() -> None:
    a = values(2, 3, 4)
    x = wb.from_numpy(a, names=("N", "T", "E"))
    expected = standard(a, (2,))
    for layer in (nn.LayerNorm(4), nn.LayerNorm({"E": 4}), nn.LayerNorm("E", elementwise_affine=False)):
        y = layer(x)
        assert y.names == ("N", "T", "E")
        assert_close(y, expected, rtol=1e-4, atol=1e-5)
        assert_close(layer(x.rename(None)), expected, rtol=1e-4, atol=1e-5)
    both = nn.LayerNorm({"T": 3, "E": 4}, bias=False)
    assert_close(both(x), standard(a, (1, 2)), rtol=1e-4, atol=1e-5)
    assert both.weight.dim_labels == ("T", "E")
    assert both.normalized_shape == (3, 4)
    assert repr(both) == "LayerNorm({'T': 3, 'E': 4}, eps=1e-05, elementwise_affine=True, bias=False)"
    assert repr(nn.LayerNorm((3, 4))) == "LayerNorm((3, 4), eps=1e-05, elementwise_affine=True, bias=True)"
    with pytest.raises(wb.DimensionError) as caught:
        both(x.align_to("N", "E", "T"))
    assert caught.value.fix == "x.align_to('N', 'T', 'E')"
    with pytest.raises(wb.DimensionError, match=r"expected input with shape \[\*, 5\]"):
        nn.LayerNorm(5)(x)
    with pytest.raises(wb.DimensionError):
        nn.LayerNorm(["T", "E"], elementwise_affine=False)(wb.zeros(3))
    with pytest.raises(ValueError, match="say how many those are"):
        nn.LayerNorm(["T", "E"])
    with pytest.raises(ValueError, match="normalises one dim or more"):
        nn.RMSNorm(())


def test_the_root_mean_square() -> None:
    a = values(2, 3, 4)
    x = wb.from_numpy(a, names=("N", "T", "E"))
    layer = nn.RMSNorm({"E": 4}, eps=1e-3)
    with wb.no_grad():
        layer.weight.copy_(wb.tensor([1.0, 2.0, 3.0, 4.0]))
    expected = a / np.sqrt((a * a).mean(2, keepdims=True) + 1e-3) * np.arange(1, 5)
    assert_close(layer(x), expected, rtol=1e-5)
    assert layer(x).names == ("N", "T", "E")
    layer.reset_parameters()
    assert layer.weight.tolist() == [1, 1, 1, 1]


def test_groups_of_channels() -> None:
    a = values(2, 6, 2, 3)
    x = wb.from_numpy(a, names=LAYOUT[2])
    expected = standard(a.reshape(2, 3, -1), (2,)).reshape(a.shape)
    for layer in (nn.GroupNorm(3, 6), nn.GroupNorm(3, 6, bias=False), nn.GroupNorm(3, 6, affine=False)):
        assert_close(layer(x), expected, rtol=1e-4, atol=1e-5)
        assert layer(x).names == LAYOUT[2]
    assert nn.GroupNorm(2, 4)(wb.zeros(N=2, features=4)).names == ("N", "features")
    with pytest.raises(wb.DimensionError, match="where 'C' is expected"):
        nn.GroupNorm(3, 6)(x.rename(C="K"))
    with pytest.raises(ValueError, match=r"num_channels \(5\) must be divisible by num_groups \(2\)"):
        nn.GroupNorm(2, 5)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_neighbours_in_other_channels(size: int) -> None:
    a = values(2, 8, 2, 3).astype(np.float64)
    x = wb.from_numpy(a, names=LAYOUT[2])
    squares = np.pad(a * a, ((0, 0), (size, size), (0, 0), (0, 0)))

    def expected(before: int, behind: int) -> np.ndarray:
        total = sum(squares[:, size + i : size + i + 8] for i in range(-before, behind + 1))
        return a / (2.0 + 0.5 * total / size) ** 0.75

    y = nn.LocalResponseNorm(size, alpha=0.5, k=2.0)(x)
    assert y.names == LAYOUT[2]
    assert_close(y, expected(size // 2, (size - 1) // 2), rtol=1e-9)
    across = nn.CrossMapLRN2d(size, alpha=0.5, k=2.0)(x)
    assert_close(across, expected((size - 1) // 2, (size - 1) // 2), rtol=1e-9)
    with pytest.raises(ValueError, match="Expected input to be 4D, got 3D"):
        nn.CrossMapLRN2d(size)(x[0])
    with pytest.raises(wb.DimensionError, match="where 'C' is expected"):
        nn.LocalResponseNorm(size)(x.rename(C="K"))


def test_no_values_and_no_warnings() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for sizes in ((0, 3, 2, 2), (2, 0, 2, 2)):
            layer = nn.BatchNorm2d(sizes[1])
            layer(wb.zeros(*sizes)).sum().backward()
            assert layer.weight.grad.tolist() == [0.0] * sizes[1]


def test_a_state_of_version_1_has_no_count() -> None:
    layer = nn.BatchNorm1d(2)
    state = layer.state_dict()
    del state["num_batches_tracked"]
    state._metadata[""]["version"] = 1
    assert str(layer.load_state_dict(state)) == "<All keys matched successfully>"
    state._metadata[""]["version"] = 2
    with pytest.raises(RuntimeError, match="num_batches_tracked"):
        layer.load_state_dict(state)


def test_counting_batches_is_told_to_the_tape() -> None:
    layer = nn.BatchNorm1d(2)
    before = layer.num_batches_tracked._version
    layer(wb.randn(3, 2))
    assert layer.num_batches_tracked._version > before

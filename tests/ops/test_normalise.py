"""Normalisation, distances and dropout: names, memory and chance, which the database of ops does not look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb

F: Any = wb.nn.functional


grad: Any = wb.autograd.grad


def floats(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def test_dims_to_normalise_may_be_named() -> None:
    x = wb.tensor(floats(2, 3, 4), names=("N", "T", "C"))
    by_name, by_size = F.layer_norm(x, ["T", "C"]), F.layer_norm(x, [3, 4])
    assert by_name.names == ("N", "T", "C")
    assert (by_name.numpy() == by_size.numpy()).all()
    assert F.rms_norm(x, "C").names == ("N", "T", "C")
    assert F.group_norm(x.rename("N", "C", "L"), 3).names == ("N", "C", "L")
    with pytest.raises(wb.DimensionError, match="last dims are normalised"):
        F.layer_norm(x, ["T"])


def test_a_bias_without_a_weight() -> None:
    x, bias = wb.tensor(floats(2, 4)), wb.tensor(floats(4, seed=1))
    np.testing.assert_allclose(
        F.layer_norm(x, [4], None, bias).numpy(), (F.layer_norm(x, [4]) + bias).numpy(), rtol=1e-6
    )
    np.testing.assert_allclose(
        F.group_norm(x, 2, None, bias).numpy(), (F.group_norm(x, 2) + bias).numpy(), rtol=1e-6
    )


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 2.5, float("inf")])
def test_no_slope_between_equal_rows(p: float) -> None:
    x = wb.tensor(np.ones((2, 3), np.float32), requires_grad=True)
    (gradient,) = grad(wb.cdist(x, x, p=p).sum(), [x])
    assert gradient.tolist() == [[0.0] * 3] * 2


def test_names_of_distances() -> None:
    a, b = wb.zeros(N=2, C=3), wb.zeros(M=4, C=3)
    assert wb.cdist(a, b).names == ("N", "M")
    assert wb.cdist(a, a).names == ("N", None)
    assert F.pairwise_distance(a, a).names == ("N",)
    assert F.cosine_similarity(a, a, dim="C").names == ("N",)
    with pytest.raises(wb.DimensionError, match="do not match"):
        wb.cdist(a, b.rename("M", "D"))


@pytest.mark.parametrize(
    ("name", "sizes", "mask"),
    [
        ("dropout1d", (50, 4, 3), (50, 4, 1)),
        ("dropout1d", (50, 3), (50, 1)),
        ("dropout2d", (20, 5, 3, 2), (20, 5, 1, 1)),
        ("dropout3d", (20, 5, 3, 2, 2), (20, 5, 1, 1, 1)),
        ("dropout3d", (50, 3, 2, 2), (50, 1, 1, 1)),
    ],
)
def test_whole_channels_are_dropped(name: str, sizes: tuple[int, ...], mask: tuple[int, ...]) -> None:
    out = getattr(F, name)(wb.ones(*sizes), 0.4, generator=wb.Generator(5)).numpy()
    axes = tuple(i for i, size in enumerate(mask) if size == 1 and sizes[i] != 1)
    assert (out.min(axis=axes) == out.max(axis=axes)).all()
    np.testing.assert_allclose(np.unique(out), [0, 1 / 0.6], rtol=1e-6)


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    x = wb.tensor(floats(300, 300))
    for drop in (F.alpha_dropout, F.feature_alpha_dropout):
        out = drop(x, 0.3, training=True, generator=wb.Generator(1)).numpy()
        assert abs(out.mean()) < 0.02
        assert abs(out.var() - 1) < 0.02
    assert drop(x, 0.3) is x


def test_dropout_in_place() -> None:
    x = wb.ones(50)
    out = F.dropout(x, 0.5, inplace=True, generator=wb.Generator(1))
    assert out is x
    assert set(x.tolist()) == {0.0, 2.0}


def test_slopes_and_classes_are_drawn() -> None:
    out = F.rrelu(wb.full((1000,), -1.0), 0.1, 0.3, training=True, generator=wb.Generator(2)).numpy()
    assert -0.3 <= out.min() < -0.29 and -0.11 < out.max() <= -0.1
    logits = wb.tensor(np.log([[0.2, 0.8]] * 4000).astype(np.float32), names=("N", "C"), requires_grad=True)
    drawn = F.gumbel_softmax(logits, hard=True, dim="C", generator=wb.Generator(2))
    assert drawn.names == ("N", "C")
    assert abs(drawn.detach().numpy()[:, 1].mean() - 0.8) < 0.02
    (gradient,) = grad((drawn * wb.tensor([0.0, 1.0])).sum(), [logits])
    assert np.abs(gradient.numpy()).sum() > 0


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: F.dropout(wb.zeros(2), 1.5), ValueError, "between 0 and 1, but got 1.5"),
        (lambda: F.dropout1d(wb.zeros(2)), RuntimeError, "Expected 2D or 3D input"),
        (lambda: F.instance_norm(wb.zeros(2, 3, 1)), ValueError, "more than 1 spatial element"),
        (lambda: F.group_norm(wb.zeros(2, 3), 2), RuntimeError, "divisible by num_groups"),
        (lambda: F.layer_norm(wb.zeros(2, 3), [4]), RuntimeError, "Given normalized_shape=[4]"),
        (lambda: F.local_response_norm(wb.zeros(2, 3), 2), ValueError, "Expected 3D or higher"),
        (lambda: F.pdist(wb.zeros(2)), RuntimeError, "only supports 2D tensors"),
        (lambda: F.pdist(wb.zeros(2, 2), -1), RuntimeError, "non-negative p values"),
    ],
)
def test_refusals(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)

"""Perturbation of layers, of whole loaders, for neurons, and the masks that name features."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution import (
    DataLoaderAttribution,
    FeatureAblation,
    LayerFeatureAblation,
    LayerFeaturePermutation,
    NeuronFeatureAblation,
    Occlusion,
    feature_mask,
)
from workbench.base.errors import UnavailableError
from workbench.data import DataLoader, TensorDataset


def network() -> wb.nn.Sequential:
    wb.manual_seed(0)
    return wb.nn.Sequential(wb.nn.Linear(4, 3), wb.nn.ReLU(), wb.nn.Linear(3, 2)).eval()


def test_a_layer_loses_its_parts() -> None:
    model, x = network(), wb.rand(5, 4)
    hidden = model[1](model[0](x))
    found = LayerFeatureAblation(model, "1").attribute(x, target=1)
    np.testing.assert_allclose(
        found.numpy(), (hidden * model[2].weight[1]).numpy(force=True), rtol=1e-4, atol=1e-6
    )
    # What the next layer is given is the same, in one part or in three.
    given = LayerFeatureAblation(model, "2").attribute(x, target=1, attribute_to_layer_input=True)
    np.testing.assert_allclose(given.numpy(), found.numpy(), rtol=1e-5, atol=1e-6)
    one = LayerFeatureAblation(model, model[1]).attribute(x, target=1, layer_mask=wb.zeros(1, 3).long())
    np.testing.assert_allclose(
        one.numpy(), found.numpy().sum(1, keepdims=True).repeat(3, 1), rtol=1e-4, atol=1e-6
    )


def test_further_arguments_go_along_with_their_samples() -> None:
    model, x, scale = network(), wb.rand(5, 4), wb.rand(5, 1)
    method = LayerFeatureAblation(lambda x, scale: model(x) * scale, model[1])
    found = method.attribute(x, target=1, additional_forward_args=scale)
    plain = LayerFeatureAblation(model, "1").attribute(x, target=1)
    np.testing.assert_allclose(found.numpy(), (plain * scale).numpy(), rtol=1e-4, atol=1e-6)


def test_a_layers_values_are_permuted() -> None:
    model, x = network(), wb.rand(6, 4)
    found = LayerFeaturePermutation(model, "1").attribute(x, target=0)
    assert found.shape == (6, 3)
    np.testing.assert_allclose(found.numpy().sum(0), 0, atol=1e-5)


def test_a_neuron_loses_features() -> None:
    model, x = network(), wb.rand(N=5, features=4)
    found = NeuronFeatureAblation(model, "0").attribute(x, 2)
    np.testing.assert_allclose(
        found.numpy(), x.numpy() * model[0].weight[2].numpy(force=True), rtol=1e-4, atol=1e-6
    )
    assert found.names == ("N", "features")


def test_a_layer_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="no layer"):
        LayerFeatureAblation(network(), "frist")


# ------------------------------------------------------------------------------------------------- loaders


def loader(count: int = 5) -> DataLoader:
    values = wb.from_numpy(np.arange(2 * count, dtype=np.float32).reshape(count, 2))
    return DataLoader(TensorDataset(values, wb.arange(count)), batch_size=2)


def test_a_loader_is_gone_through_once_a_pass() -> None:
    passes = []

    class Counted:
        def __iter__(self) -> Any:
            passes.append(1)
            return iter(loader())

    method = DataLoaderAttribution(FeatureAblation(lambda x, labels: x.sum(1)))
    found, labels = method.attribute(Counted(), perturbations_per_pass=2)
    np.testing.assert_array_equal(found.numpy(), np.arange(10).reshape(5, 2))
    assert (labels.numpy() == 0).all()
    # One for the shapes, one as it is, two for three features.
    assert len(passes) == 4


def test_roles_and_metrics() -> None:
    def reduce(so_far: Any, output: Any, batch: Any) -> Any:
        assert len(batch) == 2
        return (so_far or 0) + float(output.sum())

    method = DataLoaderAttribution(FeatureAblation(lambda x: x.sum(1)))
    options: dict[str, Any] = {"input_roles": (0, 2), "reduce": reduce, "return_input_shape": False}
    found = method.attribute(loader(), to_metric=lambda total: wb.tensor([total, total / 5]), **options)
    np.testing.assert_allclose(found.numpy(), [[20, 25], [4, 5]])
    with pytest.raises(TypeError, match="the metric is a tensor, got float"):
        method.attribute(loader(), **options)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"input_roles": (0,)}, wb.DimensionError, "1 input_roles for batches of 2 entries"),
        ({"input_roles": (1, 2)}, ValueError, "there is nothing to explain"),
        ({"input_roles": (0, 3)}, ValueError, "roles are those of InputRole"),
        ({"perturbations_per_pass": 0}, ValueError, "perturbations_per_pass is at least 1"),
        (
            {"input_roles": (0, 2), "feature_mask": (wb.tensor([[0, 1], [1, 0]]),)},
            wb.DimensionError,
            "its first size must be 1",
        ),
    ],
)
def test_loaders_that_cannot_be(options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        DataLoaderAttribution(FeatureAblation(lambda x: x.sum(1))).attribute(loader(), **options)


@pytest.mark.parametrize(
    ("batches", "error", "words"),
    [
        (iter([wb.ones(1, 2)]), TypeError, "is gone through many times; a list_iterator cannot be"),
        (3, TypeError, "a int cannot be"),
        ([wb.ones(1, 2), wb.ones(1, 3)], wb.DimensionError, r"of \[2\] values a sample, .* shape \[1, 3\]"),
        ([wb.ones(1, 2), wb.ones(1, 2, 1)], wb.DimensionError, r"a batch has shape \[1, 2, 1\]"),
        ([(wb.ones(1, 2),), (wb.ones(1, 2), 3)], wb.DimensionError, "the first batch has 1 entries, another 2"),
    ],
)  # fmt: skip
def test_batches_that_do_not_go_together(batches: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        DataLoaderAttribution(FeatureAblation(lambda x: x.sum(1))).attribute(batches)


def test_batches_of_different_lengths_share_features_of_size_1() -> None:
    method = DataLoaderAttribution(FeatureAblation(lambda x: x.sum(1)))
    whole = method.attribute(
        [wb.ones(2, 2), wb.ones(1, 3)], feature_mask=wb.zeros(1, 1).long(), return_input_shape=False
    )
    assert whole.tolist() == [[2.0], [2.0], [3.0]]


def test_only_ablation_goes_through_loaders() -> None:
    with pytest.raises(TypeError, match="not for a Occlusion; give FeatureAblation"):
        DataLoaderAttribution(Occlusion(lambda x: x))  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------------------- masks


def test_masks_by_names() -> None:
    x = wb.zeros(N=2, C=3, H=5, W=4)
    assert feature_mask(x, "C").shape == (1, 3, 1, 1) and feature_mask(x, "C").names == x.names
    squares = feature_mask(x, {"H": 2, "W": 2})
    expected = [[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3], [4, 4, 5, 5]]
    assert squares[0, 0].tolist() == expected
    assert feature_mask(x, (1, -1)).shape == (1, 3, 1, 4) and int(feature_mask(x, (1, -1)).max()) == 11
    assert feature_mask(x).flatten().tolist() == list(range(60))
    tokens = wb.zeros(N=1, T=3).long()
    first, second = feature_mask((x, tokens), {"C": 1, "T": 2})
    assert first.flatten().tolist() == [0, 1, 2] and second.flatten().tolist() == [3, 3, 4]


def test_a_mask_makes_channels_features() -> None:
    x = wb.rand(N=2, C=3, H=2, W=2)
    found = FeatureAblation(lambda x: x.sum(("C", "H", "W"))).attribute(x, feature_mask=feature_mask(x, "C"))
    np.testing.assert_allclose(
        found.numpy(), np.broadcast_to(x.numpy().sum((2, 3), keepdims=True), x.shape), rtol=1e-4
    )


@pytest.mark.parametrize(
    ("dims", "error", "words"),
    [
        ("D", wb.DimensionError, "no input has a dim 'D' behind its samples; names are C, H, W"),
        ("N", wb.DimensionError, "no input has a dim 'N' behind its samples"),
        (0, wb.DimensionError, "dim 0 holds the samples"),
        ({"H": 0}, ValueError, "blocks are whole numbers from 1, got 0 for 'H'"),
    ],
)
def test_masks_that_cannot_be(dims: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        feature_mask(wb.zeros(N=1, C=3, H=2, W=2), dims)


def test_superpixels() -> None:
    x = wb.zeros(N=2, C=3, H=16, W=16)
    x[:, :, :, 8:] = 1.0
    if importlib.util.find_spec("skimage") is None:
        with pytest.raises(UnavailableError, match="scikit-image, which is not installed"):
            feature_mask(x, superpixels=4)
        return
    mask = feature_mask(x, superpixels=4)
    assert mask.shape == (2, 1, 16, 16)
    left, right = mask.numpy()[0, 0, :, :8], mask.numpy()[0, 0, :, 8:]
    assert not set(left.ravel().tolist()) & set(right.ravel().tolist())
    with pytest.raises(ValueError, match="two ways to number features"):
        feature_mask(x, "C", superpixels=4)

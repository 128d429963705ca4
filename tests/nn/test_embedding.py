"""Tables of learned rows: padding, limited norms, bags, given rows, and names."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.testing import assert_close


def test_rows_are_picked_and_named() -> None:
    layer = nn.Embedding(5, 3)
    y = layer(wb.tensor([[1, 4], [0, 1]], names=("N", "T")))
    assert y.names == ("N", "T", "embedding_dim")
    assert_close(y.detach(), layer.weight.detach().numpy()[[[1, 4], [0, 1]]])
    y.sum().backward()
    assert layer.weight.grad.dim_labels == ("num_embeddings", "embedding_dim")
    assert layer.weight.grad.numpy()[:, 0].tolist() == [1, 2, 0, 0, 1]


@pytest.mark.parametrize("padding", [1, -4])
def test_padding_starts_as_zeros_and_is_not_learned(padding: int) -> None:
    layer = nn.Embedding(5, 3, padding_idx=padding)
    assert layer.padding_idx == 1
    assert layer.weight[1].tolist() == [0, 0, 0]
    layer(wb.tensor([1, 1, 2])).sum().backward()
    assert layer.weight.grad.numpy()[:, 0].tolist() == [0, 0, 1, 0, 0]
    layer.reset_parameters()
    assert layer.weight[1].tolist() == [0, 0, 0]
    assert layer.weight[2].abs().sum().item() > 0


def test_norms_are_limited_in_place_for_the_rows_picked() -> None:
    layer = nn.Embedding.from_pretrained(wb.tensor([[3.0, 4.0], [30.0, 40.0], [0.3, 0.4]]), max_norm=1.0)
    layer(wb.tensor([0, 2]))
    assert_close(layer.weight, np.array([[0.6, 0.8], [30, 40], [0.3, 0.4]]), rtol=1e-5)
    layer = nn.Embedding.from_pretrained(wb.tensor([[3.0, 4.0]]), max_norm=1.0, norm_type=1.0)
    assert_close(layer(wb.tensor([0])), np.array([[3 / 7, 4 / 7]]), rtol=1e-5)


def test_gradients_by_frequency() -> None:
    layer = nn.Embedding(3, 2, scale_grad_by_freq=True)
    layer(wb.tensor([0, 2, 2])).sum().backward()
    assert layer.weight.grad.numpy()[:, 0].tolist() == [1, 0, 1]


def test_given_rows_share_memory_and_are_frozen_unless_asked() -> None:
    rows = wb.tensor([[1.0, 2.0], [3.0, 4.0]])
    for kind in (nn.Embedding, nn.EmbeddingBag):
        table = kind.from_pretrained(rows)
        assert not table.weight.requires_grad
        assert np.shares_memory(table.weight.numpy(), rows.numpy())
        assert kind.from_pretrained(rows, freeze=False).weight.requires_grad
        assert (table.num_embeddings, table.embedding_dim) == (2, 2)
    assert nn.Embedding.from_pretrained(rows.rename("V", "E"))(wb.tensor([0], names=("T",))).names == (
        "T",
        "E",
    )


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("sum", [[4, 6], [0, 0], [9, 12]]),
        ("mean", [[2, 3], [0, 0], [3, 4]]),
        ("max", [[3, 4], [0, 0], [3, 4]]),
    ],
)
def test_bags_from_where_they_start(mode: str, expected: list[list[float]]) -> None:
    rows = wb.tensor([[1.0, 2.0], [3.0, 4.0]])
    picked, starts = wb.tensor([0, 1, 1, 1, 1]), wb.tensor([0, 2, 2], names=("N",))
    y = nn.EmbeddingBag.from_pretrained(rows, mode=mode)(picked, starts)
    assert y.tolist() == expected
    assert y.names == ("N", "embedding_dim")
    ends = wb.tensor([0, 2, 2, 5])
    table = nn.EmbeddingBag.from_pretrained(rows, mode=mode, include_last_offset=True)
    assert table(picked, ends).tolist() == expected


def test_bags_by_rows_with_weights_and_padding() -> None:
    rows = wb.tensor([[1.0, 2.0], [3.0, 4.0], [100.0, 100.0]])
    table = nn.EmbeddingBag.from_pretrained(rows, mode="sum", padding_idx=2)
    picked, weights = wb.tensor([[0, 1], [1, 2]], names=("N", "T")), wb.tensor([[2.0, 10.0], [0.5, 7.0]])
    y = table(picked, per_sample_weights=weights)
    assert y.tolist() == [[32, 44], [1.5, 2]]
    assert y.names == ("N", "embedding_dim")
    with pytest.raises(wb.DimensionError, match="takes 'N' as dim 0"):
        table(picked.align_to("T", "N"))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.Embedding(3, 2, padding_idx=3), AssertionError, "must be within num_embeddings"),
        (lambda: nn.EmbeddingBag(3, 2, padding_idx=-4), AssertionError, "must be within num_embeddings"),
        (
            lambda: nn.Embedding(3, 2, sparse=True, scale_grad_by_freq=True)(wb.tensor([1])),
            ValueError,
            "not supported with sparse gradients",
        ),
        (
            lambda: nn.EmbeddingBag(3, 2, sparse=True, mode="max")(wb.tensor([[1]])),
            ValueError,
            "leave sparse away",
        ),
        (lambda: nn.Embedding(3, 2, _weight=wb.ones(2, 3)), AssertionError, "Shape of weight does not match"),
        (lambda: nn.Embedding.from_pretrained(wb.ones(3)), AssertionError, "expected to be 2-dimensional"),
        (lambda: nn.Embedding(-1, 2), ValueError, "num_embeddings must be a whole number, at least 0"),
        (lambda: nn.Embedding(3, 2)(wb.tensor([3])), IndexError, "index out of range in self"),
        (lambda: nn.Embedding(3, 2)(wb.tensor([1.0])), TypeError, "Expected dtype int32/int64 for input"),
        (lambda: nn.EmbeddingBag(3, 2)(wb.tensor([1])), ValueError, "offsets has to be a 1D Tensor"),
        (lambda: nn.EmbeddingBag(3, 2, mode="min")(wb.tensor([[1]])), ValueError, "sum, mean or max"),
    ],
)
def test_bad_settings_are_refused_in_words(
    make: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()


def test_printed_forms() -> None:
    assert repr(nn.Embedding(5, 3, 0, max_norm=2.0)) == "Embedding(5, 3, padding_idx=0, max_norm=2.0)"
    assert repr(nn.EmbeddingBag(5, 3, mode="sum")) == "EmbeddingBag(5, 3, mode='sum')"


@pytest.mark.parametrize("padding", [None, 2])
def test_the_gradient_of_a_sparse_table_is_the_rows_that_were_picked(padding: int | None) -> None:
    places = wb.tensor([[1, 2, 1], [4, 2, 2]])
    factors = wb.randn(2, 3, 5)
    found = []
    for sparse in (False, True):
        table = nn.Embedding(6, 5, padding_idx=padding, sparse=sparse)
        with wb.no_grad():
            table.weight.copy_(wb.arange(30.0).reshape(6, 5))
        (table(places) * factors).sum().backward()
        (table(places) * factors).pow(2).sum().backward()
        found.append(table.weight.grad)
    assert found[1].is_sparse
    assert found[1].sparse_dim() == 1
    np.testing.assert_allclose(found[1].to_dense().numpy(), found[0].numpy(), rtol=1e-5)
    assert set(found[1].indices()[0].tolist()) == ({1, 2, 4} if padding is None else {1, 4})
    assert "sparse=True" in repr(table)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_the_gradient_of_sparse_bags(mode: str) -> None:
    found = []
    for sparse in (False, True):
        bag = nn.EmbeddingBag(6, 4, mode=mode, sparse=sparse, padding_idx=0)
        with wb.no_grad():
            bag.weight.copy_(wb.arange(24.0).reshape(6, 4))
        bag(wb.tensor([1, 0, 2, 5, 5]), wb.tensor([0, 2, 2])).pow(2).sum().backward()
        found.append(bag.weight.grad)
    assert found[1].is_sparse
    np.testing.assert_allclose(found[1].to_dense().numpy(), found[0].numpy(), rtol=1e-6)

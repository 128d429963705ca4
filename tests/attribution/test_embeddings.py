"""Embeddings made interpretable, and put back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.attribution import (
    IntegratedGradients,
    InterpretableEmbeddingBase,
    TokenReferenceBase,
    configure_interpretable_embedding_layer,
    remove_interpretable_embedding_layer,
)
from workbench.attribution.embeddings import EmbeddingWarning

WORDS = wb.tensor([[1, 2, 3], [4, 5, 1]])


@pytest.fixture
def model() -> Any:
    wb.manual_seed(0)
    return wb.models.BertEncoder(
        wb.models.BertSettings(words=9, features=8, layers=1, heads=2, hidden=8)
    ).eval()


def configured(model: Any, name: str) -> Any:
    with pytest.warns(EmbeddingWarning, match=name):
        return configure_interpretable_embedding_layer(model, name)


def test_a_sentence_is_explained_token_by_token() -> None:
    wb.manual_seed(0)
    table, last = nn.Embedding(9, 4), nn.Linear(4, 2)

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.ModuleDict({"table": table})
            self.last = last

        def forward(self, words: Any) -> Any:
            return self.last(self.words["table"](words).tanh().mean(1))

    model = Classifier().eval()
    expected = model(WORDS)
    padding = TokenReferenceBase(0).generate_reference(3).unsqueeze(0)
    rest = model(padding)
    layer = configured(model, "words.table")
    assert model.get_submodule("words.table") is layer and not layer.training
    vectors, zero = (layer.indices_to_embeddings(one).detach() for one in (WORDS, padding))
    np.testing.assert_array_equal(model(vectors).detach().numpy(), expected.detach().numpy())
    found = IntegratedGradients(model).attribute(vectors, zero, target=1)
    change = (expected - rest)[:, 1].detach().numpy()
    np.testing.assert_allclose(found.sum((1, 2)).numpy(), change, atol=1e-4)
    remove_interpretable_embedding_layer(model, layer)
    np.testing.assert_array_equal(model(WORDS).detach().numpy(), expected.detach().numpy())
    assert model.words["table"] is table


def test_deep_names_and_keywords(model: Any) -> None:
    name = "embeddings.word_embeddings"
    layer = configured(model, name)
    assert isinstance(layer, InterpretableEmbeddingBase)
    assert (layer.num_embeddings, layer.embedding_dim, layer.full_name) == (9, 8, name)
    x = wb.ones(1)
    assert layer(x) is x and layer(vectors=x) is x
    remove_interpretable_embedding_layer(model, layer)


def test_refusals(model: Any) -> None:
    with pytest.raises(ValueError, match=r"did you mean 'embeddings\.word_embeddings'"):
        configure_interpretable_embedding_layer(model, "embeddings.word_embedding")
    with pytest.raises(ValueError, match="no layer 'zzz'; it has embeddings, "):
        configure_interpretable_embedding_layer(model, "zzz")
    layer = configured(model, "embeddings.word_embeddings")
    with pytest.raises(ValueError, match="is interpretable already"):
        configure_interpretable_embedding_layer(model, "embeddings.word_embeddings")
    with pytest.raises(TypeError, match="called with nothing"):
        layer()
    remove_interpretable_embedding_layer(model, layer)
    with pytest.raises(ValueError, match="is a Embedding, not this"):
        remove_interpretable_embedding_layer(model, layer)


def test_references() -> None:
    found = TokenReferenceBase().generate_reference(2, device="cpu")
    assert found.tolist() == [0, 0] and found.dtype == wb.int64
    assert TokenReferenceBase(3).generate_reference(0).shape == (0,)

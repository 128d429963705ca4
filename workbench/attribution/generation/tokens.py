"""What is asked of a tokenizer, whoever made it: numbers of a text, and tokens of numbers."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

from workbench.models.language import Vocabulary, words_of
from workbench.tensor import Tensor

__all__ = ["number_of", "numbers_of", "shown", "tokens_of"]


def numbers_of(tokenizer: Any, text: str, special: bool = True) -> list[int]:
    """Return the numbers of a text's tokens, with those that a tokenizer adds at its ends or without.

    `tokenizer` is a `workbench.models.Vocabulary`, or has a method ``encode`` that returns numbers, or a thing with
    numbers as ``ids``: those of Hugging Face's two libraries do.

    Raises:
        TypeError: it has none.

    >>> numbers_of(Vocabulary("a b".split()), "b a")
    [2, 1]
    """
    if isinstance(tokenizer, Vocabulary):
        return [int(one) for one in tokenizer.numbers(words_of(text)).tolist()]
    if not hasattr(tokenizer, "encode"):
        raise TypeError(
            f"a tokenizer has encode(text), a {type(tokenizer).__name__} has not; a wb.models.Vocabulary does, too"
        )
    plain = not special and "add_special_tokens" in inspect.signature(tokenizer.encode).parameters
    found = tokenizer.encode(text, add_special_tokens=False) if plain else tokenizer.encode(text)
    found = getattr(found, "ids", found)
    found = found.tolist() if isinstance(found, Tensor) else list(found)
    # Some give a batch of one text, as a model takes it.
    found = found[0] if len(found) == 1 and isinstance(found[0], Sequence) else found
    return [int(one) for one in found]


def tokens_of(tokenizer: Any, numbers: Iterable[int]) -> list[str]:
    """Return the tokens of numbers as text.

    >>> tokens_of(Vocabulary("a b".split()), [2, 0])
    ['b', '<unk>']
    """
    numbers = [int(one) for one in numbers]
    if isinstance(tokenizer, Vocabulary):
        return [tokenizer.words[one] for one in numbers]
    if hasattr(tokenizer, "convert_ids_to_tokens"):
        return [str(one) for one in tokenizer.convert_ids_to_tokens(numbers)]
    if hasattr(tokenizer, "id_to_token"):
        return [str(tokenizer.id_to_token(one)) for one in numbers]
    return [str(tokenizer.decode([one])) for one in numbers]


def number_of(tokenizer: Any, token: str | int) -> int:
    """Return the number of a token that is given as text or number.

    Raises:
        ValueError: there is no such token.
    """
    if isinstance(token, int):
        return token
    if isinstance(tokenizer, Vocabulary):
        found = tokenizer.words.index(token) if token in tokenizer.words else None
    elif hasattr(tokenizer, "token_to_id"):
        found = tokenizer.token_to_id(token)
    else:
        (found,) = tokenizer.convert_tokens_to_ids([token])
    if found is None:
        raise ValueError(f"the tokenizer has no token {token!r}; give its number")
    return int(found)


def shown(tokens: Sequence[str]) -> list[str]:
    r"""Return tokens as readers know them: without the marks that stand for spaces before them, lines ends written out.

    >>> shown(["Ġcat", "▁dog", "a\n"])
    ['cat', 'dog', 'a\\n']
    """
    return [one.replace("\n", "\\n").replace("Ċ", "\\n").strip("Ġ▁ ") or one for one in tokens]

"""Prompts as features: pieces of a template, or tokens, that are there or not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.attribution.generation.tokens import number_of, numbers_of, tokens_of
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["InterpretableInput", "TextTemplateInput", "TextTokenInput"]

Array = np.ndarray[Any, Any]


class InterpretableInput(ABC):
    """What a model takes, and the features that people would speak of: numbers that say which of them are there.

    A subclass for another kind of input has the two methods below.
    """

    n_itp_features: int
    """How many features there are."""
    values: list[str]
    """What they are called."""

    @abstractmethod
    def to_tensor(self) -> Tensor:
        """Return the features of the input as it is, [1, features]."""

    @abstractmethod
    def to_model_input(self, perturbed_tensor: Tensor | None = None) -> Any:
        """Return what the model takes where only those features are there that are not 0; without any, all."""

    def format_attr(self, itp_attr: Tensor) -> Tensor:
        """Return attributions of features [..., features] as attributions of `values`."""
        return itp_attr


class TextTemplateInput(InterpretableInput):
    """A text with pieces that can be left out or exchanged.

    `template` is a format string, or a function of the pieces; `values` are the pieces, a list or a dict by name.
    Without `baselines` a piece that is not there is empty; they are one for each value, or a function that returns
    them.
    Pieces with the same number in `mask` are one feature.

    Raises:
        ValueError: baselines or mask are not of the form of the values.

    >>> text = TextTemplateInput("{} feels {} now", ["He", "depressed"], ["It", "neutral"])
    >>> text.to_model_input(), text.to_model_input(new(np.array([[0.0, 1.0]])))
    ('He feels depressed now', 'It feels depressed now')
    """

    def __init__(
        self,
        template: str | Callable[..., str],
        values: Sequence[str] | dict[str, str],
        baselines: Any = None,
        mask: Any = None,
    ) -> None:
        self.template = template
        self.format_fn: Callable[..., str] = template.format if isinstance(template, str) else template
        self.dict_keys = list(values) if isinstance(values, dict) else []
        self.values = self._listed(values, "values")
        self.n_features = len(self.values)
        self.baselines = baselines if callable(baselines) else self._baselines(baselines)
        self.mask = mask
        marks = list(range(self.n_features)) if mask is None else self._listed(mask, "mask")
        # Features in the order in which their numbers appear.
        order = {one: place for place, one in enumerate(dict.fromkeys(marks))}
        self.formatted_mask = [order[one] for one in marks]
        self.n_itp_features = len(order)

    def _listed(self, given: Any, what: str) -> list[Any]:
        """Return a list, or the entries of a dict in the order of the values."""
        if isinstance(given, dict) != bool(self.dict_keys):
            raise ValueError(f"{what} and values are of one form: both lists, or both dicts")
        if self.dict_keys and set(given) != set(self.dict_keys):
            raise ValueError(
                f"{what} are of {', '.join(map(str, given))}, values of {', '.join(self.dict_keys)}"
            )
        found = [given[key] for key in self.dict_keys] if self.dict_keys else list(given)
        if what != "values" and len(found) != len(self.values):
            raise ValueError(f"{len(found)} {what} for {len(self.values)} values: give one for each")
        return found

    def _baselines(self, given: Any) -> list[str]:
        return [""] * self.n_features if given is None else self._listed(given, "baselines")

    def to_tensor(self) -> Tensor:
        """Return ones, float32 [1, features]."""
        return new(np.ones((1, self.n_itp_features), np.float32))

    def to_model_input(self, perturbed_tensor: Tensor | None = None) -> str:
        """Return the text with the pieces of features that are 0 replaced."""
        pieces = list(self.values)
        if perturbed_tensor is not None:
            there = perturbed_tensor.numpy(force=True).ravel() != 0
            instead = self._baselines(self.baselines()) if callable(self.baselines) else self.baselines
            marked = zip(pieces, instead, self.formatted_mask, strict=True)
            pieces = [piece if there[mark] else other for piece, other, mark in marked]
        if self.dict_keys:
            return self.format_fn(**dict(zip(self.dict_keys, pieces, strict=True)))
        return self.format_fn(*pieces)

    def format_attr(self, itp_attr: Tensor) -> Tensor:
        """Return attributions of features as attributions of pieces: those of one feature have all of it."""
        return itp_attr if self.mask is None else new(itp_attr.numpy(force=True)[..., self.formatted_mask])


class TextTokenInput(InterpretableInput):
    """A text whose tokens are the features; a token that is not there is replaced by `baselines`.

    `baselines` is a token or its number. Tokens in `skip_tokens`, by text or number, stay and are no features.

    >>> from workbench.models import Vocabulary
    >>> text = TextTokenInput("a b c", Vocabulary("a b c".split()), skip_tokens=["a"])
    >>> text.values, text.to_model_input(new(np.array([[0, 1]]))).tolist()
    (['b', 'c'], [[1, 0, 3]])
    """

    def __init__(
        self,
        text: str,
        tokenizer: Any,
        baselines: int | str = 0,
        skip_tokens: Sequence[int | str] | None = None,
    ) -> None:
        numbers = np.array([numbers_of(tokenizer, text)])
        skipped = [number_of(tokenizer, one) for one in skip_tokens or ()]
        self.tokenizer = tokenizer
        self.inp_tensor = new(numbers)
        self.places = np.flatnonzero(~np.isin(numbers[0], skipped))
        """Where in the text the features stand, int [features]."""
        self.itp_tensor = new(numbers[:, self.places])
        self.values = tokens_of(tokenizer, numbers[0, self.places].tolist())
        self.n_itp_features = len(self.values)
        self.skip_tokens = skipped
        self.baselines = number_of(tokenizer, baselines)

    def to_tensor(self) -> Tensor:
        """Return ones, int64 [1, features]."""
        return new(np.ones((1, self.n_itp_features), np.int64))

    def to_model_input(self, perturbed_tensor: Tensor | None = None) -> Tensor:
        """Return numbers of tokens [N, T] for rows that say which tokens are there, [N, features]."""
        if perturbed_tensor is None:
            return self.inp_tensor
        there = perturbed_tensor.numpy(force=True) != 0
        numbers = np.repeat(self.inp_tensor.numpy(), len(there), axis=0)
        numbers[:, self.places] = np.where(there, numbers[:, self.places], self.baselines)
        return new(numbers)

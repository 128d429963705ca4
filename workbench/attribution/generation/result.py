"""What came out of asking which part of a prompt caused which token."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench import attribution
from workbench.base.errors import DimensionError
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["LLMAttributionResult"]


class LLMAttributionResult:
    """Attributions of a text that was written, to the features of its prompt.

    `seq_attr` [features] is of the text as a whole, `token_attr` [tokens, features] of each of its tokens, or None
    where the method gives none. `input_tokens` are the names of the features, `output_tokens` the tokens written.

    Raises:
        DimensionError: attributions and tokens do not go together.

    >>> result = LLMAttributionResult(input_tokens=["a", "b"], output_tokens=["c"], seq_attr=[0.5, -1.0])
    >>> result.seq_attr_dict
    {'a': 0.5, 'b': -1.0}
    """

    def __init__(
        self,
        *,
        input_tokens: list[str],
        output_tokens: list[str],
        seq_attr: Any,
        token_attr: Any = None,
        output_probs: Any = None,
    ) -> None:
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        wide, high = len(input_tokens), len(output_tokens)
        self.seq_attr = _checked("seq_attr", seq_attr, (wide,))
        self.token_attr = None if token_attr is None else _checked("token_attr", token_attr, (high, wide))
        self.output_probs = None if output_probs is None else _checked("output_probs", output_probs, (high,))

    @property
    def seq_attr_dict(self) -> dict[str, float]:
        """The attributions of the whole text by the names of the features; of several with one name, the last."""
        return dict(zip(self.input_tokens, self.seq_attr.tolist(), strict=True))

    def plot_token_attr(self, show: bool = False) -> tuple[Any, Any] | None:
        """Draw a matrix, a row for each token written and a column for each feature; return (figure, axes).

        With `show` pyplot shows it, and None is returned.

        Raises:
            ValueError: the method gives no attributions of single tokens.
        """
        if self.token_attr is None:
            raise ValueError("there are attributions of the whole text only; plot_seq_attr draws them")
        # By this way, since it brings matplotlib, which then is imported now.
        drawn: tuple[Any, Any] = attribution.visualization.draw_token_matrix(
            self.token_attr, self.input_tokens, self.output_tokens, use_pyplot=show
        )
        return None if show else drawn

    def plot_seq_attr(self, show: bool = False) -> tuple[Any, Any] | None:
        """Draw a bar for each feature; return (figure, axes). With `show` pyplot shows it, and None is returned."""
        drawn: tuple[Any, Any] = attribution.visualization.draw_token_bars(
            self.seq_attr, self.input_tokens, use_pyplot=show
        )
        return None if show else drawn

    def __repr__(self) -> str:
        return f"LLMAttributionResult({len(self.input_tokens)} features, {self.output_tokens})"


def _checked(what: str, given: Any, shape: tuple[int, ...]) -> Tensor:
    value = given if isinstance(given, Tensor) else new(np.asarray(given, np.float64))
    if value.shape != shape:
        raise DimensionError(
            f"{what} has shape {list(value.shape)}, which is to be {list(shape)}: one number for each token written "
            "and each feature of the prompt",
            op="LLMAttributionResult",
        )
    return value

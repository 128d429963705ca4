"""Attributions of text that was written: a matrix of tokens by tokens, and bars."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten
from typing import Any

import numpy as np

from workbench.attribution.visualization.arrays import as_vector, check_finite
from workbench.attribution.visualization.colours import NEGATIVE, POSITIVE, chosen_map
from workbench.attribution.visualization.figures import axes_of, finish
from workbench.base.errors import DimensionError
from workbench.tensor import Tensor

__all__ = ["draw_token_bars", "draw_token_matrix"]

MOST_NUMBERS = 400
"""Cells of a matrix beyond which their numbers are left away."""


def draw_token_matrix(
    attributions: Any,
    input_tokens: Sequence[str],
    output_tokens: Sequence[str],
    *,
    cmap: Any = None,
    use_pyplot: bool = False,
) -> tuple[Any, Any]:
    """Draw which token of the input caused which of the output, [output, input]; return (figure, axes).

    Zero is always the middle of the colours; orange made a token likelier, blue less likely.

    Raises:
        DimensionError: there is not one number for each pair of tokens.
        ValueError: attributions are NaN or infinite.

    >>> _, axes = draw_token_matrix([[0.5, -1.0]], ["a", "b"], ["c"])
    >>> [text.get_text() for text in axes.texts]
    ['0.5', '-1']
    """
    values = attributions.numpy(force=True) if isinstance(attributions, Tensor) else np.asarray(attributions)
    if values.shape != (len(output_tokens), len(input_tokens)):
        raise DimensionError(
            f"attributions of shape {list(values.shape)} for {len(output_tokens)} tokens of the output by "
            f"{len(input_tokens)} of the input",
            op="draw_token_matrix",
        )
    check_finite(values)
    most = float(np.abs(values).max(initial=0)) or 1.0
    size = (max(1.5 + 0.7 * len(input_tokens), 4), max(1.2 + 0.4 * len(output_tokens), 2))
    figure, axes = axes_of(None, use_pyplot, size, layout="constrained")
    drawn = axes.imshow(values, vmin=-most, vmax=most, cmap=chosen_map(cmap, "all"), aspect="auto")
    figure.colorbar(drawn, ax=axes, label="attribution")
    axes.set_yticks(range(len(output_tokens)), labels=_labels(output_tokens), parse_math=False)
    _name_inputs(axes, input_tokens)
    if values.size <= MOST_NUMBERS:
        for (row, column), value in np.ndenumerate(values):
            ink = "black" if abs(value) < 0.6 * most else "white"
            axes.text(column, row, f"{value:.2g}", ha="center", va="center", color=ink, fontsize=8)
    finish(use_pyplot)
    return figure, axes


def draw_token_bars(
    attributions: Any, input_tokens: Sequence[str], *, use_pyplot: bool = False
) -> tuple[Any, Any]:
    """Draw a bar for each token of the input, orange upwards and blue downwards; return (figure, axes).

    Raises:
        DimensionError: there is not one number for each token.
        ValueError: attributions are NaN or infinite.

    >>> _, axes = draw_token_bars([0.5, -1.0], ["a", "b"])
    >>> [float(bar.get_height()) for bar in axes.patches]
    [0.5, -1.0]
    """
    values = as_vector(attributions, "attributions", "draw_token_bars")
    if len(values) != len(input_tokens):
        raise DimensionError(
            f"{len(values)} attributions for {len(input_tokens)} tokens", op="draw_token_bars"
        )
    check_finite(values)
    figure, axes = axes_of(None, use_pyplot, (max(1.5 + 0.5 * len(values), 4), 3), layout="constrained")
    axes.bar(range(len(values)), values, color=[POSITIVE if one > 0 else NEGATIVE for one in values])
    axes.axhline(0, color="0.5", linewidth=0.8)
    axes.set_ylabel("attribution")
    _name_inputs(axes, input_tokens)
    finish(use_pyplot)
    return figure, axes


def _labels(tokens: Sequence[str]) -> list[str]:
    return [shorten(repr(one)[1:-1], 50, placeholder="…") or " " for one in tokens]


def _name_inputs(axes: Any, tokens: Sequence[str]) -> None:
    axes.set_xticks(
        range(len(tokens)),
        labels=_labels(tokens),
        rotation=45,
        ha="left",
        rotation_mode="anchor",
        parse_math=False,
    )
    axes.tick_params(top=True, bottom=False, labeltop=True, labelbottom=False)

"""Attributions of tables: a bar for each column, by its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.attribution.visualization.arrays import as_vector
from workbench.attribution.visualization.colours import NEGATIVE, POSITIVE
from workbench.attribution.visualization.figures import axes_of, finish
from workbench.base.errors import DimensionError
from workbench.tensor import Tensor

__all__ = ["visualize_table_attr"]


def visualize_table_attr(
    attr: Any,
    columns: Sequence[str],
    values: Any = None,
    *,
    most: int = 20,
    title: str | None = None,
    use_pyplot: bool = True,
) -> tuple[Any, Any]:
    """Draw the attribution of one row, or of many, as a bar for each column; return (figure, axes).

    `attr` is [column] for one row, whose `values` [column] stand beside the names, or [N, column], whose bars are means
    of sizes with the middle half of all rows as a line. Columns are ordered by size, the first `most` are drawn.

    Raises:
        DimensionError: there is not one attribution, name or value for each column.

    >>> _, axes = visualize_table_attr([0.5, -2.0], ["age", "height"], [30, 1.8], use_pyplot=False)
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['height = 1.8', 'age = 30']
    """
    array = attr.detach().numpy(force=True) if isinstance(attr, Tensor) else np.asarray(attr)
    if array.ndim not in (1, 2) or array.size == 0 or array.shape[-1] != len(columns):
        raise DimensionError(
            f"attributions of shape {list(array.shape)} for {len(columns)} columns: they are [column] for a row, or "
            "[N, column]",
            op="visualize_table_attr",
        )
    array = array.astype(np.float64)
    names = [str(one) for one in columns]
    if values is not None:
        told = as_vector(values, "values", "visualize_table_attr")
        if array.ndim != 1 or len(told) != len(names):
            raise DimensionError(
                f"{len(told)} values for {len(names)} columns: give those of the one row that is drawn",
                op="visualize_table_attr",
            )
        names = [f"{name} = {value:.4g}" for name, value in zip(names, told.tolist(), strict=True)]
    bars = array if array.ndim == 1 else np.abs(array).mean(axis=0)
    order = np.argsort(-np.abs(bars), kind="stable")[:most]
    figure, axes = axes_of(None, use_pyplot, (6, 0.8 + 0.3 * len(order)), "constrained")
    axes.barh(
        range(len(order)), bars[order], color=[POSITIVE if bars[one] > 0 else NEGATIVE for one in order]
    )
    if array.ndim == 2:
        low, high = np.quantile(np.abs(array[:, order]), [0.25, 0.75], axis=0)
        axes.hlines(range(len(order)), low, high, color="0.2", linewidth=1.5)
    axes.set_yticks(range(len(order)), labels=[names[one] for one in order], parse_math=False)
    axes.invert_yaxis()
    axes.axvline(0, color="0.5", linewidth=0.8)
    axes.set_xlabel("attribution" if array.ndim == 1 else "mean size of attributions")
    if title:
        axes.set_title(title, parse_math=False)
    finish(use_pyplot)
    return figure, axes

"""The points of a projector as a table: every one, each coordinate exactly, and all that is known of them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from workbench.embedding import Column, Embedding
from workbench.widgets.scatter_computed import Computed
from workbench.widgets.scatter_drawn import columns_of

__all__ = ["write_table"]


def write_table(path: Path, embedding: Embedding, computed: Mapping[str, Computed]) -> None:
    """Write the picture of `embedding` that is drawn as CSV: number, coordinates and columns of each point.

    A coordinate is written in the fewest digits that read back as the same float32.
    """
    projection = embedding.projection
    assert projection is not None  # it is drawn
    columns = columns_of(embedding)
    known = {column.name for column in columns}
    columns += [one.column for name, one in computed.items() if name not in known]
    axes = ["x", "y", "z"][: projection.positions.shape[1]]
    values = [[str(one) for one in axis] for axis in projection.positions.T]
    values += [_cells(column) for column in columns]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["index", *axes, *(_plain(column.name) for column in columns)])
        writer.writerows(zip(range(len(embedding)), *values, strict=True))


def _cells(column: Column) -> list[str]:
    return list(column.texts) if column.kind == "number" else [_plain(text) for text in column.texts]


def _plain(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text

"""What TensorBoard's projector is told of points: names, labels and columns, a line for each point."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workbench.embedding import Embedding
from workbench.tensorboard.projector_config import DamagedProjectorError, text

__all__ = ["columns_of", "given_names", "named", "read_metadata", "write_metadata"]

Array = np.ndarray[Any, Any]

WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})", re.ASCII)
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d*)?(e[+-]?\d+)?|nan|-?inf", re.ASCII | re.IGNORECASE)
"""What is a number in a cell: no 007, which is a name."""

# TensorBoard splits at tabs and line ends and unescapes nothing, so what is in a cell must not hold them.
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_ESCAPED = re.compile(r"[\\\t\n\r]")
_UNESCAPES = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r", "\\e": ""}
_UNESCAPED = re.compile(r"\\[\\tnre]")


def _escape(cell: str) -> str:
    return _ESCAPED.sub(lambda found: _ESCAPES[found.group()], cell)


def _unescape(cell: str) -> str:
    return _UNESCAPED.sub(lambda found: _UNESCAPES[found.group()], cell)


def _line(cells: Sequence[str]) -> str:
    """Return cells as a line; TensorBoard skips blank lines, so one that would be blank starts with a mark."""
    line = "\t".join(map(_escape, cells))
    return f"\\e{line}\n" if not line.strip() else f"{line}\n"


# ------------------------------------------------------------------------------------------------- writing


def given_names(embedding: Embedding) -> tuple[str, ...] | None:
    """Return what points are called where that does not follow from labels or numbers.

    >>> given_names(Embedding(np.eye(2), names=["up", "down"])), given_names(Embedding(np.eye(2), ["up", "down"]))
    (('up', 'down'), None)
    """
    labels = embedding.labels
    if labels is not None and len(set(labels)) == len(labels):
        usual = labels
    else:
        usual = tuple(map(str, range(len(embedding))))
    return None if embedding.names == usual else embedding.names


def columns_of(embedding: Embedding) -> tuple[dict[str, Sequence[str]], list[str]]:
    """Return all that is known of points as columns, names first, then labels; and what the first of them are."""
    columns: dict[str, Sequence[str]] = dict(embedding.metadata)
    first: list[str] = []
    if embedding.labels is not None:
        columns, first = {_free_name(embedding.label_name, columns): embedding.labels, **columns}, ["labels"]
    if (names := given_names(embedding)) is not None:
        columns, first = {_free_name("name", columns): names, **columns}, ["names", *first]
    return columns, first


def write_metadata(path: Path, columns: Mapping[str, Sequence[str]]) -> None:
    """Write columns, a line of names above them where there are several: TensorBoard looks for one only then."""
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        if len(columns) > 1:
            stream.write(_line(list(columns)))
        stream.writelines(_line(cells) for cells in zip(*columns.values(), strict=True))


def _free_name(name: str, taken: Container[str]) -> str:
    return name if name not in taken else _free_name(f"{name}_", taken)


# ------------------------------------------------------------------------------------------------- reading


def read_metadata(path: Path, count: int, texts: int, most: int) -> dict[str, list[str] | Array]:
    """Return the columns of a file of at most `most` bytes for `count` points; the first `texts` stay as written.

    Raises DamagedProjectorError where the file is damaged, or has others than these.
    """
    # What is blank is left out, as TensorBoard does.
    written = [line.removesuffix("\r") for line in text(path, most).split("\n") if line.strip()]
    lines = [list(map(_unescape, line.split("\t"))) for line in written]
    # As TensorBoard: the first line has names only where there are several columns.
    names = named(lines.pop(0)) if lines and len(lines[0]) > 1 else ["label"]
    if len(lines) != count:
        raise DamagedProjectorError(f"{path} holds {len(lines):,} rows for {count:,} vectors")
    if len(set(names)) != len(names):
        raise DamagedProjectorError(f"{path} names two columns alike: {', '.join(names)[:200]}")
    for row, cells in enumerate(lines):
        if len(cells) != len(names):
            raise DamagedProjectorError(
                f"{path} is damaged in row {row}: {len(cells)} cells for {len(names)} columns"
            )
    columns = {name: [cells[place] for cells in lines] for place, name in enumerate(names)}
    return {
        name: cells if place < texts else _numbers(cells)
        for place, (name, cells) in enumerate(columns.items())
    }


def named(names: Sequence[str]) -> list[str]:
    """Return the names of columns; one without, as pandas writes that of the rows, is called by its place.

    >>> named(["", "size"])
    ['column 1', 'size']
    """
    return [name or _free_name(f"column {place}", names) for place, name in enumerate(names, start=1)]


def _numbers(cells: list[str]) -> list[str] | Array:
    """Return cells as numbers where all are numbers, as TensorBoard does; what is empty among them is NaN."""
    filled = [cell for cell in cells if cell]
    if not filled or not all(map(NUMBER.fullmatch, filled)):
        return cells
    if len(filled) == len(cells) and all(map(WHOLE.fullmatch, cells)):
        return np.array([int(cell) for cell in cells], np.int64)
    return np.array([float(cell or "nan") for cell in cells], np.float64)

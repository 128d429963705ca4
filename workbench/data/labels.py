"""Labels from text files."""

from __future__ import annotations

from pathlib import Path

from workbench.data.archive import DataError

__all__ = ["read_labels"]

MAXIMUM_BYTES = 64 << 20
"""Largest file of labels that is read."""


def read_labels(path: str | Path, count: int | None = None) -> list[str]:
    """Return the labels of a text file, one a line, UTF-8, as they are: whatever looks like markup is text.

    Raises `DataError` where the file is too large, is not text, or has not `count` lines.
    """
    source = Path(path)
    size = source.stat().st_size
    if size > MAXIMUM_BYTES:
        raise DataError(f"{source} has {size} bytes; a file of labels has at most {MAXIMUM_BYTES}")
    data = source.read_bytes()
    try:
        # With or without the mark that some editors put first.
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(
            f"{source} is not UTF-8 text: byte {error.start}, on line {line}, cannot be read"
        ) from None
    labels = text.split("\n")
    # The last line usually ends as the others do.
    if labels and labels[-1] == "":
        # Not `splitlines`, which also breaks at characters that may stand in a label.
        labels.pop()
    labels = [label.removesuffix("\r") for label in labels]
    if count is not None and len(labels) != count:
        raise DataError(f"{source} has {len(labels)} labels, one a line, where {count} are needed")
    return labels

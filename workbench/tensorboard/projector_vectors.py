"""The vectors of TensorBoard's projector: as text, a line each, or as raw float32."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from workbench.embedding import Embedding
from workbench.tensorboard.projector_config import DamagedProjectorError

__all__ = ["MOST_BYTES", "as_float32", "check_raw", "read_vectors", "write_vectors"]

Array = np.ndarray[Any, Any]

MOST_BYTES = 2 << 30
"""Largest file of vectors or metadata that is read, in bytes."""
READ = 1 << 24
"""Bytes of vectors that are read at a time; TensorBoard decodes as many before it splits lines."""
PART = 1 << 16
"""How many values become text at a time."""
LOOK = 1 << 16
"""Bytes of a file that say whether it is text."""
_CONTROL = bytes({*range(0x20), 0x7F} - set(b"\t\r\n"))


# ------------------------------------------------------------------------------------------------- writing


def as_float32(embedding: Embedding) -> Array:
    """Return the vectors as they are written; raises ValueError where some are NaN or infinite."""
    # What float32 cannot hold is infinite then, and refused below.
    with np.errstate(over="ignore"):
        vectors = embedding.vectors.astype(np.float32)
    wrong = int((~np.isfinite(vectors)).any(axis=1).sum())
    if wrong:
        raise ValueError(
            f"{wrong:,} of {len(vectors):,} points hold NaN or infinite values (as float32); leave them out with "
            "embedding.take(...)"
        )
    return vectors


def write_vectors(path: Path, vectors: Array) -> None:
    """Write values as raw float32 where the suffix is ``.bytes``, else as text.

    Either way the same ones are read back.
    """
    if path.suffix == ".bytes":
        np.ascontiguousarray(vectors, "<f4").tofile(path)
        return
    rows = max(1, PART // vectors.shape[1])
    with path.open("w", encoding="ascii", newline="\n") as stream:
        for start in range(0, len(vectors), rows):
            # Text of the shortest form that reads back as the same number.
            part = vectors[start : start + rows].astype("U32")
            stream.writelines("\t".join(row) + "\n" for row in part.tolist())


def check_raw(vectors: Array) -> None:
    """Raise ValueError where TensorBoard would take the raw values for text: it reads as such what is UTF-8."""
    rows = -(-READ // (4 * vectors.shape[1]))
    begin = np.ascontiguousarray(vectors[:rows], "<f4").tobytes()[:READ]
    try:
        begin.decode("utf-8")
    except UnicodeDecodeError:
        return
    raise ValueError(
        "these values as raw float32 are UTF-8 byte for byte (all 0 or 2, for example), and TensorBoard takes a file "
        "that is for text; write them without raw"
    )


# ------------------------------------------------------------------------------------------------- reading


def read_vectors(path: Path, shape: tuple[int, ...]) -> Array:
    """Return the values of a file: raw float32 of `shape` where it is that, else lines of text.

    Raises DamagedProjectorError where it is neither.
    """
    if _is_raw(path, shape):
        return _read_raw(path, shape)
    parts: list[Array] = []
    rows, width = 0, 0
    # A part at a time: as text, and more so as a text each, the values take many times the memory.
    for lines in _parts(path):
        width = width or lines[0].count(b"\t") + 1
        parts.append(_values(path, lines, rows, width))
        rows += len(lines)
    if not rows:
        raise DamagedProjectorError(f"{path} holds no vectors")
    vectors = np.concatenate(parts)
    if shape and shape != vectors.shape:
        raise DamagedProjectorError(f"{path} holds {list(vectors.shape)} values, not {list(shape)}")
    return vectors


def _is_raw(path: Path, shape: tuple[int, ...]) -> bool:
    """Say whether a file holds raw values: by its suffix, or because it has their size and is no text."""
    if path.suffix == ".bytes":
        return True
    size = path.stat().st_size
    with path.open("rb") as stream:
        begin = stream.read(LOOK)
    # Text may have that size by chance: "1.0" and what parts it from the next are four bytes, too.
    if len(shape) == 2 and size == 4 * shape[0] * shape[1]:
        return not _is_text(begin)
    if not _is_text(begin):
        wanted = f"float32 {list(shape)}" if shape else "float32 of a tensor_shape, since there is none"
        raise DamagedProjectorError(f"{path} is no text, and has {size:,} bytes, which is not {wanted}")
    return False


def _is_text(begin: bytes) -> bool:
    """Say whether a file that begins so is text, as TensorBoard decides: UTF-8; and what no text holds is not in it."""
    try:
        # The last character may be cut in two.
        codecs.getincrementaldecoder("utf-8")().decode(begin)
    except UnicodeDecodeError:
        return False
    return len(begin.translate(None, _CONTROL)) == len(begin)


def _read_raw(path: Path, shape: tuple[int, ...]) -> Array:
    """Return values that were written as float32 one after the other."""
    size = path.stat().st_size
    if len(shape) != 2 or size > MOST_BYTES or size != 4 * shape[0] * shape[1] or size == 0:
        raise DamagedProjectorError(f"{path} has {size:,} bytes, which is not float32 {list(shape)}")
    return np.fromfile(path, np.dtype("<f4")).reshape(shape)


def _parts(path: Path) -> Iterator[list[bytes]]:
    """Yield the lines of a file that are not blank, some at a time."""
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise DamagedProjectorError(f"{path} has {size:,} bytes, more than the {MOST_BYTES:,} that are read")
    with path.open("rb") as stream:
        while read := stream.readlines(READ):
            lines = [line.rstrip(b"\r\n") for line in read if line.strip()]
            if lines:
                yield lines


def _values(path: Path, lines: list[bytes], before: int, width: int) -> Array:
    """Return the values of lines of `width` cells each; `before` of them came before."""
    try:
        return np.loadtxt(
            lines, np.float32, comments=None, delimiter="\t", ndmin=2, encoding="latin-1"
        ).reshape(len(lines), width)
    except ValueError:
        raise DamagedProjectorError(f"{path} is damaged in {_first_wrong(lines, before, width)}") from None


def _first_wrong(lines: list[bytes], before: int, width: int) -> str:
    """Say which of lines of `width` values each is none."""
    for row, line in enumerate(lines, before):
        cells = line.split(b"\t")
        if len(cells) != width:
            return f"vector {row}: {len(cells)} values instead of {width}"
        try:
            for cell in cells:
                float(cell)
        except ValueError:
            return f"vector {row}: a value is no number"
    return f"vectors {before} to {before + len(lines) - 1}: some value is no number"

"""TensorBoard's projector format: embeddings written to a log, and read back.

A log's folder holds ``projector_config.pbtxt``, which names the files of each embedding: ``tensors.tsv``,
``metadata.tsv``, ``sprite.png`` and ``bookmarks.json``, in a folder of their own.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from PIL import Image, UnidentifiedImageError

from workbench.base.public import words
from workbench.embedding import Embedding
from workbench.embedding.bookmarks import states_of, text_of
from workbench.embedding.thumbnails import MOST_SIDE, as_images, cut, lay_out

__all__ = ["DamagedProjectorError", "read", "write"]

Array = np.ndarray[Any, Any]

CONFIG = "projector_config.pbtxt"
MOST_BYTES = 2 << 30
"""Largest file of vectors or metadata that is read, in bytes."""
MOST_CONFIG_BYTES = 1 << 20
"""Largest configuration that is read, in bytes."""
MOST_BOOKMARK_BYTES = 16 << 20
"""Largest file of bookmarks that is read, in bytes."""
READ = 1 << 24
"""Bytes of vectors that are read at a time."""
PART = 1 << 16
"""How many values become text at a time."""
WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})", re.ASCII)
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d*)?(e[+-]?\d+)?|nan|-?inf", re.ASCII | re.IGNORECASE)
"""What is a number in a cell: no 007, which is a name."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", re.ASCII)


class DamagedProjectorError(ValueError):
    """A file of a projector's log that cannot be read; the message names it."""


# ---------------------------------------------------------------------------------------------- the format


def _config_type() -> Any:
    """Return the type of the configuration's message, as TensorBoard declares it."""
    text, number, several = 9, 13, 3  # kinds of fields, in protobuf's numbers
    # Under a name of our own: TensorBoard may declare the same messages in this process.
    file = descriptor_pb2.FileDescriptorProto(
        name="workbench/projector_config.proto", package="workbench.projector", syntax="proto3"
    )
    messages: dict[str, list[tuple[str, int, Any, bool]]] = {
        "SpriteMetadata": [("image_path", 1, text, False), ("single_image_dim", 2, number, True)],
        "EmbeddingInfo": [
            ("tensor_name", 1, text, False),
            ("metadata_path", 2, text, False),
            ("bookmarks_path", 3, text, False),
            ("tensor_shape", 4, number, True),
            ("sprite", 5, "SpriteMetadata", False),
            ("tensor_path", 6, text, False),
        ],
        "ProjectorConfig": [
            ("model_checkpoint_path", 1, text, False),
            ("embeddings", 2, "EmbeddingInfo", True),
            ("model_checkpoint_dir", 3, text, False),
        ],
    }
    for message, fields in messages.items():
        declared = file.message_type.add(name=message)
        for name, place, kind, repeated in fields:
            one = declared.field.add(name=name, number=place, label=several if repeated else 1)
            if isinstance(kind, str):
                one.type, one.type_name = 11, f".workbench.projector.{kind}"
            else:
                one.type = kind
    # In a pool of its own, for the same reason.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("workbench.projector.ProjectorConfig"))


_Config = _config_type()

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


def write(embedding: Embedding, logdir: str | Path, name: str = "embedding") -> Path:
    r"""Write `embedding` to a log's folder under `name`, for ``tensorboard --logdir``; return the configuration's path.

    Vectors (float32), labels, columns, thumbnails and bookmarks are written; the selection is not. An embedding of
    the same name is replaced, others in the log stay. Tabs, line ends and backslashes in texts are written as \t, \n,
    \\.

    Raises:
        ValueError: `name` is not fit for a folder, or the vectors hold NaN, which TensorBoard does not read.
        NotADirectoryError: `logdir` is a file.
        DamagedProjectorError: there is a configuration that cannot be read; nothing was written.
    """
    root = Path(logdir)
    if root.exists() and not root.is_dir():
        raise NotADirectoryError(f"a log is written to a folder, and {root} is a file")
    if not NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} cannot name an embedding: use up to 100 letters, digits, '_', '.' and '-', no sign first"
        )
    vectors = _as_float32(embedding)
    config = _read_config(root) if (root / CONFIG).exists() else _Config()
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    kept = [one for one in config.embeddings if one.tensor_name != name]
    del config.embeddings[:]
    config.embeddings.extend(kept)
    info = config.embeddings.add(
        tensor_name=name, tensor_path=f"{name}/tensors.tsv", tensor_shape=vectors.shape
    )
    _write_vectors(folder / "tensors.tsv", vectors)
    if embedding.labels is not None or embedding.metadata:
        _write_metadata(folder / "metadata.tsv", embedding)
        info.metadata_path = f"{name}/metadata.tsv"
    if embedding.thumbnails is not None:
        sheet = lay_out(embedding.thumbnails)
        Image.fromarray(sheet.image).save(folder / "sprite.png")
        info.sprite.image_path = f"{name}/sprite.png"
        info.sprite.single_image_dim.extend((sheet.width, sheet.height))
    if embedding.bookmarks:
        (folder / "bookmarks.json").write_text(text_of(embedding.bookmarks), encoding="utf-8", newline="\n")
        info.bookmarks_path = f"{name}/bookmarks.json"
    # Last, and in one step: a log that is read meanwhile names only files that are whole.
    fresh = root / f".{CONFIG}.new"
    fresh.write_text(text_format.MessageToString(config, as_utf8=True), encoding="utf-8", newline="\n")
    fresh.replace(root / CONFIG)
    return root / CONFIG


def _as_float32(embedding: Embedding) -> Array:
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


def _write_vectors(path: Path, vectors: Array) -> None:
    """Write values with as many digits as it takes to read the same ones back."""
    rows = max(1, PART // vectors.shape[1])
    with path.open("w", encoding="ascii", newline="\n") as stream:
        for start in range(0, len(vectors), rows):
            # Text of the shortest form that reads back as the same number.
            part = vectors[start : start + rows].astype("U32")
            stream.writelines("\t".join(row) + "\n" for row in part.tolist())


def _write_metadata(path: Path, embedding: Embedding) -> None:
    columns = dict(embedding.metadata)
    if embedding.labels is not None:
        columns = {_free_name(embedding.label_name, columns): embedding.labels, **columns}
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        if len(columns) > 1:  # TensorBoard takes the first line for names only where there are several
            stream.write(_line(list(columns)))
        stream.writelines(_line(cells) for cells in zip(*columns.values(), strict=True))


def _free_name(name: str, taken: dict[str, Any]) -> str:
    return name if name not in taken else _free_name(f"{name}_", taken)


# ------------------------------------------------------------------------------------------------- reading


def read(logdir: str | Path) -> dict[str, Embedding]:
    r"""Return the embeddings of a log's folder by name: vectors, labels, columns, thumbnails and bookmarks.

    The first column is taken for the labels. Files outside the folder are not read.

    Raises:
        FileNotFoundError: there is no such folder, or no configuration in it.
        DamagedProjectorError: a file is missing, damaged, too large, or does not go with the others; names it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write(Embedding([[1.0, 2.0], [3.0, 4.0]], labels=["<b>", "tab\there"]), folder, "letters")
    ...     read(folder)["letters"].labels
    ('<b>', 'tab\there')
    """
    root = Path(logdir)
    if not (root / CONFIG).is_file():
        raise FileNotFoundError(f"{root} holds no embeddings for the projector: there is no {CONFIG} in it")
    found: dict[str, Embedding] = {}
    for info in _read_config(root).embeddings:
        # TensorBoard takes the path for a name where there is none.
        name = info.tensor_name or info.tensor_path
        if not info.tensor_path:
            raise DamagedProjectorError(
                f"{root / CONFIG}: embedding {name!r} names no tensor_path; values in checkpoints are not read"
            )
        found[name] = _read_one(root, info, name)
    return found


def _read_config(root: Path) -> Any:
    path = root / CONFIG
    config = _Config()
    try:
        text_format.Parse(_text(path, MOST_CONFIG_BYTES), config)
    except text_format.ParseError as error:
        raise DamagedProjectorError(f"{path} is damaged at line {error}") from None
    return config


def _read_one(root: Path, info: Any, name: str) -> Embedding:
    vectors = _read_vectors(_inside(root, info.tensor_path), tuple(info.tensor_shape))
    columns: dict[str, list[str] | Array] = {}
    if info.metadata_path:
        columns = _read_metadata(_inside(root, info.metadata_path), len(vectors))
    images = None
    if info.sprite.image_path:
        sprite = _inside(root, info.sprite.image_path)
        images = as_images(_read_sprite(sprite, len(vectors), tuple(info.sprite.single_image_dim)))
    # The first column is what the projector shows at a point unless asked otherwise.
    labels = columns.pop(label_name, None) if (label_name := next(iter(columns), "")) else None
    embedding = Embedding(
        vectors, labels, metadata=columns, images=images, label_name=label_name or "label", title=name
    )
    if info.bookmarks_path:
        path = _inside(root, info.bookmarks_path)
        try:
            embedding.bookmarks = states_of(_text(path, MOST_BOOKMARK_BYTES))
        except DamagedProjectorError:
            raise
        except ValueError as error:
            raise DamagedProjectorError(f"{path} holds no bookmarks: {error}") from None
    return embedding


def _inside(root: Path, named: str) -> Path:
    """Return the path that a configuration names; refuse one outside the log."""
    # Resolved first: the path may go up, or through a link.
    path = (root / named).resolve()
    if not path.is_relative_to(root.resolve()):
        raise DamagedProjectorError(f"{root / CONFIG} names {named!r}, which lies outside the log's folder")
    if not path.is_file():
        raise DamagedProjectorError(f"{root / CONFIG} names {named!r}, and there is no such file")
    return path


def _text(path: Path, most: int) -> str:
    size = path.stat().st_size
    if size > most:
        raise DamagedProjectorError(f"{path} has {size:,} bytes, more than the {most:,} that are read")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise DamagedProjectorError(f"{path} is no text: byte {error.start} is not UTF-8") from None


def _lines(path: Path) -> list[str]:
    """Return the lines of a file that are not blank, as TensorBoard does."""
    return [line.removesuffix("\r") for line in _text(path, MOST_BYTES).split("\n") if line.strip()]


def _read_vectors(path: Path, shape: tuple[int, ...]) -> Array:
    if path.suffix == ".bytes":
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


def _read_raw(path: Path, shape: tuple[int, ...]) -> Array:
    """Return values that were written as float32 one after the other."""
    size = path.stat().st_size
    if len(shape) != 2 or size > MOST_BYTES or size != 4 * shape[0] * shape[1] or size == 0:
        raise DamagedProjectorError(f"{path} has {size:,} bytes, which is not float32 {list(shape)}")
    return np.fromfile(path, np.dtype("<f4")).reshape(shape)


def _read_metadata(path: Path, count: int) -> dict[str, list[str] | Array]:
    lines = [list(map(_unescape, line.split("\t"))) for line in _lines(path)]
    # As TensorBoard: the first line has names only where there are several columns.
    names = lines.pop(0) if lines and len(lines[0]) > 1 else ["label"]
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
    first = next(iter(columns), None)
    # The first are labels, which stay as they are written.
    return {name: cells if name == first else _numbers(cells) for name, cells in columns.items()}


def _numbers(cells: list[str]) -> list[str] | Array:
    """Return cells as numbers where all are numbers, as TensorBoard does; what is empty among them is NaN."""
    filled = [cell for cell in cells if cell]
    if not filled or not all(map(NUMBER.fullmatch, filled)):
        return cells
    if len(filled) == len(cells) and all(map(WHOLE.fullmatch, cells)):
        return np.array([int(cell) for cell in cells], np.int64)
    return np.array([float(cell or "nan") for cell in cells], np.float64)


def _read_sprite(path: Path, count: int, dims: tuple[int, ...]) -> Array:
    if len(dims) != 2 or not all(0 < one <= MOST_SIDE for one in dims):
        raise DamagedProjectorError(f"{path}: single_image_dim is {list(dims)}, not [width, height]")
    try:
        # Pillow warns of pictures that would take much memory; here their size is checked instead.
        with (
            warnings.catch_warnings(action="ignore", category=Image.DecompressionBombWarning),
            Image.open(path) as file,
        ):
            if max(file.size) > MOST_SIDE:
                raise DamagedProjectorError(
                    f"{path} has {file.size[0]} by {file.size[1]} pixels, more than {MOST_SIDE:,} on a side"
                )
            image = np.asarray(file.convert("L" if file.mode in ("1", "L", "LA") else "RGB"))
        # Others write grey pictures in three equal channels.
        if image.ndim == 3 and (image == image[:, :, :1]).all():
            image = image[:, :, 0]
        return cut(image, count, height=dims[1], width=dims[0])
    except DamagedProjectorError:
        raise
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError) as error:
        raise DamagedProjectorError(f"{path} is no picture that can be read: {error}") from None
    except ValueError as error:
        raise DamagedProjectorError(f"{path}: {error}") from None


__getattr__, __dir__ = words(__name__, __all__)

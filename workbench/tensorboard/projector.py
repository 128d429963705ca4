"""TensorBoard's projector format: embeddings written to a log, and read back.

A log's folder holds ``projector_config.pbtxt``, which names the files of each embedding: ``tensors.tsv`` (or
``tensors.bytes``), ``metadata.tsv``, ``sprite.png`` and ``bookmarks.json``, in a folder of their own.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from workbench.base.public import words
from workbench.embedding import Embedding
from workbench.embedding.bookmarks import states_of, text_of
from workbench.embedding.thumbnails import MOST_SIDE, as_images, cut, lay_out
from workbench.tensorboard.left_out import checkpointed
from workbench.tensorboard.projector_config import (
    CONFIG,
    Config,
    DamagedProjectorError,
    folder_of,
    in_checkpoints,
    inside,
    read_config,
    text,
    write_config,
)
from workbench.tensorboard.projector_metadata import columns_of, read_metadata, write_metadata
from workbench.tensorboard.projector_vectors import (
    MOST_BYTES,
    as_float32,
    check_raw,
    read_vectors,
    write_vectors,
)

__all__ = ["DamagedProjectorError", "read", "write"]

Array = np.ndarray[Any, Any]

MOST_BOOKMARK_BYTES = 16 << 20
"""Largest file of bookmarks that is read, in bytes."""
MOST_PICTURE_BYTES = 3 * MOST_SIDE**2
"""Largest sheet of thumbnails that is written, in bytes of its pixels: as many as TensorBoard takes."""


# ------------------------------------------------------------------------------------------------- writing


def write(embedding: Embedding, logdir: str | Path, name: str = "embedding", *, raw: bool = False) -> Path:
    r"""Write `embedding` to a log's folder under `name`, for ``tensorboard --logdir``; return the configuration's path.

    Vectors (float32), names, labels, columns, thumbnails and bookmarks are written; the selection is not. An embedding
    of the same name is replaced, others in the log stay. Tabs, line ends and backslashes in texts are written as \t,
    \n, \\. `name` is any text; what no folder may be called is written as %2f.

    Vectors are text, with as many digits as it takes to read the same numbers back. `raw` writes their bytes instead:
    less to write and to read where there are many. Thumbnails that take more than TensorBoard's 8,192 pixels on a side
    together are made smaller, and a UserWarning says so.

    Raises:
        TypeError: `name` is no text.
        ValueError: `name` is empty, or the vectors hold NaN, which TensorBoard does not read; or as raw bytes they are
            what it takes for text.
        NotADirectoryError: `logdir` is a file.
        DamagedProjectorError: there is a configuration that cannot be read; nothing was written.
    """
    root = Path(logdir)
    if root.exists() and not root.is_dir():
        raise NotADirectoryError(f"a log is written to a folder, and {root} is a file")
    own = folder_of(name)
    vectors = as_float32(embedding)
    if raw:
        check_raw(vectors)
    config = read_config(root) if (root / CONFIG).exists() else Config()
    folder = root / own
    folder.mkdir(parents=True, exist_ok=True)
    tensors, other = ("tensors.bytes", "tensors.tsv") if raw else ("tensors.tsv", "tensors.bytes")
    info = config.add(name, tensor_path=f"{own}/{tensors}", tensor_shape=vectors.shape)
    write_vectors(folder / tensors, vectors)
    columns, first = columns_of(embedding)
    if columns:
        write_metadata(folder / "metadata.tsv", columns)
        info.metadata_path = f"{own}/metadata.tsv"
        # One column has no line of names above it: it is labels to whoever reads it.
        if first != ["labels"] and (first or len(columns) > 1):
            config.first[name] = first
    if embedding.thumbnails is not None:
        _write_sprite(embedding.thumbnails, folder / "sprite.png", info.sprite)
        info.sprite.image_path = f"{own}/sprite.png"
    if embedding.bookmarks:
        (folder / "bookmarks.json").write_text(text_of(embedding.bookmarks), encoding="utf-8", newline="\n")
        info.bookmarks_path = f"{own}/bookmarks.json"
    # Last: a log that is read meanwhile names only files that are whole.
    path = write_config(config, root)
    (folder / other).unlink(missing_ok=True)
    return path


def _write_sprite(thumbnails: Array, path: Path, about: Any) -> None:
    """Write thumbnails in one picture, and how large each is in it into `about`."""
    sheet = lay_out(thumbnails, MOST_PICTURE_BYTES)
    height, width = thumbnails.shape[1:3]
    if (sheet.height, sheet.width) != (height, width):
        warnings.warn(
            f"{len(thumbnails):,} thumbnails of {width} by {height} pixels were written as {sheet.width} by "
            f"{sheet.height}: TensorBoard takes all of them in one picture, of {MOST_SIDE:,} pixels on a side at most; "
            "embedding.take(...) fewer to keep their size",
            UserWarning,
            stacklevel=3,
        )
    Image.fromarray(sheet.image).save(path)
    about.single_image_dim.extend((sheet.width, sheet.height))


# ------------------------------------------------------------------------------------------------- reading


def read(logdir: str | Path) -> dict[str, Embedding]:
    r"""Return the embeddings of a log's folder by name: vectors, names, labels, columns, thumbnails and bookmarks.

    The first column is taken for the labels where no comment of `write` says that it has names. Vectors are text, or
    raw float32 of the configuration's ``tensor_shape``. Files outside the folder are not read. Nor are checkpoints: an
    embedding that has its vectors there is left out, and a UserWarning says so.

    Raises:
        FileNotFoundError: there is no such folder, or no configuration in it.
        DamagedProjectorError: a file is missing, damaged, too large, or does not go with the others; names it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write(Embedding([[1.0, 2.0], [3.0, 4.0]], labels=["<b>", "tab\there"]), folder, "letters")
    ...     read(folder)["letters"].labels
    ('<b>', 'tab\there')
    """
    found, left = read_parts(Path(logdir))
    if left:
        warnings.warn(f"{Path(logdir) / CONFIG}: {checkpointed(left)}", UserWarning, stacklevel=2)
    return found


def read_parts(root: Path) -> tuple[dict[str, Embedding], list[str]]:
    """Return the embeddings of a folder by name, and the names of those whose vectors lie in a checkpoint."""
    waiting, left = parts_of(root)
    return read_all(waiting), left


def read_all(waiting: Mapping[str, Callable[[], Embedding]]) -> dict[str, Embedding]:
    """Read each of the embeddings; where one is damaged, a note on the error says how the others are read."""
    found: dict[str, Embedding] = {}
    for name, part in waiting.items():
        try:
            found[name] = part()
        except DamagedProjectorError as error:
            others = ", ".join(repr(one) for one in waiting if one != name)[:200]
            if others:
                error.add_note(
                    f"{name!r} cannot be read; wb.tensorboard.open(folder).projector(name) reads others alone: {others}"
                )
            raise
    return found


def parts_of(root: Path) -> tuple[dict[str, Callable[[], Embedding]], list[str]]:
    """Return what reads each embedding of a folder, by name, and the names of those whose vectors lie in a checkpoint.

    Each raises as `read` does; another that is damaged makes no difference to it.
    """
    if not (root / CONFIG).is_file():
        raise FileNotFoundError(f"{root} holds no embeddings for the projector: there is no {CONFIG} in it")
    config = read_config(root)
    # TensorBoard takes the path for a name where there is none.
    found = {
        name: functools.partial(_read_one, root, info, name, config.first.get(name, ["labels"]))
        for info in config.message.embeddings
        if info.tensor_path
        for name in [info.tensor_name or info.tensor_path]
    }
    return dict(found), in_checkpoints(config)


def _read_one(root: Path, info: Any, name: str, first: list[str]) -> Embedding:
    """Return one embedding; `first` says of each of its first columns what it is."""
    vectors = read_vectors(inside(root, info.tensor_path), tuple(info.tensor_shape))
    columns: dict[str, list[str] | Array] = {}
    if info.metadata_path:
        path = inside(root, info.metadata_path)
        columns = read_metadata(path, len(vectors), len(first), MOST_BYTES)
        if len(columns) < len(first):
            raise DamagedProjectorError(
                f"{path} has {len(columns)} columns, and {CONFIG} says that the first have {' and '.join(first)}"
            )
    images = None
    if info.sprite.image_path:
        sprite = inside(root, info.sprite.image_path)
        images = as_images(_read_sprite(sprite, len(vectors), tuple(info.sprite.single_image_dim)))
    # The first column is what the projector shows at a point unless asked otherwise.
    told = dict(zip(first, list(columns), strict=False))
    texts = {kind: columns.pop(column) for kind, column in told.items()}
    embedding = Embedding(
        vectors,
        texts.get("labels"),
        names=texts.get("names"),
        metadata=columns,
        images=images,
        label_name=told.get("labels", "label"),
        title=name,
    )
    if info.bookmarks_path:
        path = inside(root, info.bookmarks_path)
        try:
            embedding.bookmarks = states_of(text(path, MOST_BOOKMARK_BYTES))
        except DamagedProjectorError:
            raise
        except ValueError as error:
            raise DamagedProjectorError(f"{path} holds no bookmarks: {error}") from None
    return embedding


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
                    f"{path} has {file.size[0]} by {file.size[1]} pixels, more than {MOST_SIDE:,} on a side, "
                    "which is what TensorBoard and browsers take: write fewer points, or smaller pictures of them, and "
                    "single_image_dim as these have"
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

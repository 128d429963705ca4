"""The configuration of TensorBoard's projector: which files each embedding of a log has, and where they lie."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

__all__ = [
    "CONFIG",
    "Config",
    "DamagedProjectorError",
    "folder_of",
    "in_checkpoints",
    "inside",
    "read_config",
    "text",
    "write_config",
]

CONFIG = "projector_config.pbtxt"
MOST_CONFIG_BYTES = 1 << 20
"""Largest configuration that is read, in bytes."""
LONGEST_FOLDER = 100
"""Most characters of the name of an embedding's folder."""


class DamagedProjectorError(ValueError):
    """A file of a projector's log that cannot be read; the message names it."""


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


_Message = _config_type()


class Config:
    """A configuration, and what the first columns of embeddings' metadata are.

    TensorBoard knows of no names beside labels, so what is neither labels nor a column is told in comments, which it
    skips: ``# workbench: {"embedding": "words", "first": ["names"]}``.
    """

    def __init__(self) -> None:
        self.message: Any = _Message()
        self.first: dict[str, list[str]] = {}
        """By embedding, for each of its first columns ``"names"`` or ``"labels"``; where it is not there, the first
        has labels."""

    def add(self, name: str, **fields: Any) -> Any:
        """Add an embedding in place of those that have its name, and return its part of the message."""
        kept = [one for one in self.message.embeddings if one.tensor_name != name]
        del self.message.embeddings[:]
        self.message.embeddings.extend(kept)
        self.first.pop(name, None)
        return self.message.embeddings.add(tensor_name=name, **fields)


_TOLD = re.compile(r"^# workbench: (.*)$", re.MULTILINE)
_FIRST: tuple[list[str], ...] = ([], ["names"], ["names", "labels"])


def read_config(root: Path) -> Config:
    """Read the configuration in a folder; raises DamagedProjectorError where it is damaged."""
    path = root / CONFIG
    config = Config()
    written = text(path, MOST_CONFIG_BYTES)
    try:
        text_format.Parse(written, config.message)
    except text_format.ParseError as error:
        raise DamagedProjectorError(f"{path} is damaged at line {error}") from None
    for found in _TOLD.finditer(written):
        try:
            told = json.loads(found.group(1))
        # Thousands of brackets in each other are no comment of ours.
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict) or told.get("first") not in _FIRST or "embedding" not in told:
            raise DamagedProjectorError(
                f"{path}: a comment says nothing of an embedding's columns: {found.group()[:100]!r}; "
                "without it the first column has labels"
            )
        config.first[str(told["embedding"])] = told["first"]
    return config


def in_checkpoints(config: Config) -> list[str]:
    """Return the names of the embeddings that have no file of vectors: TensorBoard takes these from a checkpoint."""
    return [one.tensor_name for one in config.message.embeddings if not one.tensor_path]


def write_config(config: Config, root: Path) -> Path:
    """Write the configuration of a folder, in one step: who reads it meanwhile finds a whole one."""
    told = [
        f"# workbench: {json.dumps({'embedding': one.tensor_name, 'first': config.first[one.tensor_name]})}\n"
        for one in config.message.embeddings
        if one.tensor_name in config.first
    ]
    fresh = root / f".{CONFIG}.new"
    message = text_format.MessageToString(config.message, as_utf8=True)
    fresh.write_text("".join(told) + message, encoding="utf-8", newline="\n")
    fresh.replace(root / CONFIG)
    return root / CONFIG


# --------------------------------------------------------------------------------------------------- paths


def folder_of(name: str) -> str:
    """Return the name of the folder for an embedding called `name`: another one for each, and a plain one.

    Raises:
        TypeError: the name is no text.
        ValueError: it is empty, or holds half a character.

    >>> folder_of("digits"), folder_of("layer/1"), folder_of("..")
    ('digits', 'layer%2f1', '%2e%2e')
    """
    if not isinstance(name, str):
        raise TypeError(f"an embedding's name is a text, got {type(name).__name__}; str(...) makes one of it")
    if not name:
        raise ValueError("'' cannot name an embedding: its files lie in a folder of that name; give a word")
    try:
        name.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name!r} cannot name an embedding: character {error.start} is half of one, which no file holds"
        ) from None
    # As PyTorch's writer does, and what else file systems take for something else.
    escaped = re.sub(r"[^A-Za-z0-9_.-]|^[.-]+|\.+$", _percent, name)
    if len(escaped) <= LONGEST_FOLDER:
        return escaped
    # No name that is short enough has this sign in it.
    return f"{escaped[:60]}~{hashlib.sha256(name.encode()).hexdigest()[:32]}"


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02x}" for byte in found.group().encode())


def inside(root: Path, named: str) -> Path:
    """Return the path that a configuration names; raises DamagedProjectorError for one outside the log."""
    # Resolved first: the path may go up, or through a link.
    path = (root / named).resolve()
    if not path.is_relative_to(root.resolve()):
        raise DamagedProjectorError(f"{root / CONFIG} names {named!r}, which lies outside the log's folder")
    if not path.is_file():
        raise DamagedProjectorError(f"{root / CONFIG} names {named!r}, and there is no such file")
    return path


def text(path: Path, most: int) -> str:
    """Return a file's text; raises DamagedProjectorError where it has more than `most` bytes, or others than text."""
    size = path.stat().st_size
    if size > most:
        raise DamagedProjectorError(f"{path} has {size:,} bytes, more than the {most:,} that are read")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise DamagedProjectorError(f"{path} is no text: byte {error.start} is not UTF-8") from None

"""Checkpoints: everything a training needs to go on, in one safetensors file each, which nothing can run from.

A file is replaced whole or not at all. Its state is JSON in the metadata, which names the tensors. A summary beside it
has the checksums of both, and a third entry that of the summary, so that a damaged file is told from a good one.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workbench.base.errors import WeightsError, short
from workbench.base.files import alone
from workbench.interop.safetensors import load_file, read_metadata, save_file
from workbench.interop.weights import CHECKPOINT
from workbench.tensor import Tensor
from workbench.tensor.interchange import plain
from workbench.train.errors import CheckpointError
from workbench.train.serialization import pack, unpack

__all__ = [
    "Stored",
    "Summary",
    "best_of",
    "clean",
    "files",
    "load",
    "newest",
    "place",
    "read_summary",
    "save",
]

FORMAT = 2
STATE, SUMMARY, CHECKSUM = CHECKPOINT, f"{CHECKPOINT}.summary", f"{CHECKPOINT}.checksum"
"""Keys of the metadata."""

_KINDS: dict[str, tuple[type, ...]] = {
    "run": (str,),
    "step": (int,),
    "epoch": (int,),
    "time": (int, float),
    "monitor": (str, type(None)),
    "value": (int, float, type(None)),
    "mode": (str,),
    "state": (int,),
    "tensors": (dict,),
}
"""What a summary consists of."""

_NAME = re.compile(r"(\d{4,})-step-(\d+)\.safetensors")
_LEFT = re.compile(r"\.\d{4,}-step-\d+\.safetensors\.[0-9a-f]+\.part")
"""What a save that was cut short leaves behind."""


@dataclass(frozen=True)
class Summary:
    """What a checkpoint says about itself; it is read without reading the tensors."""

    run: str
    """The training that it belongs to."""
    step: int
    epoch: int
    """Epochs that were completed."""
    time: float
    """When it was saved, in seconds since 1970."""
    monitor: str | None = None
    """What tells the best from the others, such as ``val_loss``."""
    value: float | None = None
    mode: str = "min"


@dataclass(frozen=True)
class Stored:
    """A file of a folder of checkpoints; the serial number grows with every save."""

    path: Path
    serial: int
    step: int


def save(state: Mapping[str, Any], path: str | os.PathLike[str], summary: Summary) -> None:
    """Write a state: afterwards the file is there whole, or what was there before.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save({"x": np.ones(2)}, f"{folder}/a.safetensors", Summary("r", 7, 1, 0.0))
    ...     load(f"{folder}/a.safetensors"), read_summary(f"{folder}/a.safetensors").step
    ({'x': array([1., 1.])}, 7)
    """
    tensors: dict[str, Any] = {}
    text = json.dumps(pack(state, tensors))
    told = {
        "format": FORMAT,
        **asdict(summary),
        "state": zlib.crc32(text.encode()),
        "tensors": {key: _checksum(value) for key, value in tensors.items()},
    }
    summary_text = json.dumps(told)
    checksum = str(zlib.crc32(summary_text.encode()))
    save_file(tensors, path, metadata={STATE: text, SUMMARY: summary_text, CHECKSUM: checksum})


def _checksum(value: Any) -> int:
    """Return a checksum of values, type, sizes and what dims are called."""
    array, names = (plain(value), value.dim_labels) if isinstance(value, Tensor) else (value, None)
    kind = f"{array.dtype.str} {array.shape} {names if names and any(names) else None}"
    # As bytes, since nothing but NumPy knows bfloat16; memory is looked at where it is.
    values = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    return zlib.crc32(values, zlib.crc32(kind.encode()))


def read_summary(path: str | os.PathLike[str]) -> Summary:
    """Return what a checkpoint says about itself; `CheckpointError` where it is none."""
    told = _told(path, _metadata(path))
    return Summary(**{key: told[key] for key in Summary.__dataclass_fields__})


def _metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    try:
        return read_metadata(path)
    except WeightsError as error:
        raise CheckpointError(f"this checkpoint is damaged: {error}") from None


def _told(path: str | os.PathLike[str], metadata: Mapping[str, str]) -> dict[str, Any]:
    if STATE not in metadata or SUMMARY not in metadata:
        raise CheckpointError(
            f"{os.fspath(path)} is no checkpoint of a Trainer: its metadata has no {SUMMARY!r}. Weights alone are "
            "loaded with model.load_state_dict(wb.load_weights(path))"
        )
    try:
        told = json.loads(metadata[SUMMARY])
        version = told["format"]
        missing = {*Summary.__dataclass_fields__, "state", "tensors"} - told.keys()
    # It may be JSON of any form.
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CheckpointError(
            f"{os.fspath(path)}: this checkpoint is damaged, its summary cannot be read ({error})"
        ) from None
    # Before its checksum, which another format may keep elsewhere.
    if version != FORMAT:
        raise CheckpointError(
            f"{os.fspath(path)} is a checkpoint of format {version}, and this version reads {FORMAT}"
        )
    if zlib.crc32(metadata[SUMMARY].encode()) != _whole(metadata.get(CHECKSUM)):
        raise CheckpointError(
            f"{os.fspath(path)}: this checkpoint is damaged, the checksum of its summary does not fit"
        )
    if missing:
        raise CheckpointError(
            f"{os.fspath(path)}: this checkpoint is damaged, its summary lacks {sorted(missing)}"
        )
    # By the very type, as True is an int.
    wrong = [key for key, kinds in _KINDS.items() if type(told[key]) not in kinds]
    if wrong:
        raise CheckpointError(
            f"{os.fspath(path)}: this checkpoint is damaged, its summary has {wrong[0]}={short(told[wrong[0]])}"
        )
    return dict(told)


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the state of a checkpoint, all of it checked.

    Raises `CheckpointError` where it is damaged or is no checkpoint, and FileNotFoundError where there is none.
    """
    metadata = _metadata(path)
    told = _told(path, metadata)
    lead = f"{os.fspath(path)}: this checkpoint is damaged"
    text = metadata[STATE]
    if zlib.crc32(text.encode()) != told["state"]:
        raise CheckpointError(f"{lead}, the checksum of its state does not fit")
    try:
        tensors = load_file(path)
    except WeightsError as error:
        raise CheckpointError(f"{lead}: {error}") from None
    if tensors.keys() != told["tensors"].keys():
        raise CheckpointError(f"{lead}, it has not the tensors that it says it has")
    for key, value in tensors.items():
        if _checksum(value) != told["tensors"][key]:
            raise CheckpointError(f"{lead}, the checksum of {key!r} does not fit")
    try:
        state = unpack(json.loads(text), tensors)
    # Whoever can write checksums can write a state that is none, so its form is not trusted either.
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise CheckpointError(f"{lead}, its state cannot be read ({error})") from None
    if not isinstance(state, dict):
        raise CheckpointError(f"{lead}, its state is no dict")
    return state


# --------------------------------------------------------------------------------------------- folders


def files(folder: str | os.PathLike[str]) -> list[Stored]:
    """Return the checkpoints of a folder, the oldest first, without looking into them."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    found = [(match, name) for name in names if (match := _NAME.fullmatch(name))]
    stored = [Stored(Path(folder, name), int(match[1]), int(match[2])) for match, name in found]
    return sorted(stored, key=lambda one: one.serial)


def place(folder: str | os.PathLike[str], step: int) -> Path:
    """Return where the next checkpoint of a folder is saved."""
    # By number and not by time: clocks are set back, and copies get new times.
    serial = max((one.serial for one in files(folder)), default=0) + 1
    return Path(folder, f"{serial:04d}-step-{step}.safetensors")


def clean(folder: str | os.PathLike[str]) -> list[str]:
    """Remove what saves that were cut short left in a folder; return the names. Where another saves, do nothing."""
    try:
        with alone(folder, wait=False) as had:
            left = [name for name in os.listdir(folder) if had and _LEFT.fullmatch(name)]
            for name in left:
                Path(folder, name).unlink(missing_ok=True)
    except FileNotFoundError:
        return []
    return left


def newest(folder: str | os.PathLike[str], *, best: bool = False) -> tuple[dict[str, Any], Path, list[str]]:
    """Return the state of the newest good checkpoint of a folder, its path, and what is wrong with those passed over.

    With `best`, that with the best monitored value among those of the same training as the newest. Raises
    FileNotFoundError where the folder has no checkpoint, `CheckpointError` where none of them is good.
    """
    stored = files(folder)
    if not stored:
        raise FileNotFoundError(f"there is no checkpoint in {os.fspath(folder)}")
    problems: list[str] = []
    for one in _ranked(stored, problems) if best else reversed(stored):
        try:
            return load(one.path), one.path, problems
        # Also one that another training has let go of meanwhile.
        except (CheckpointError, OSError) as error:
            problems.append(str(error))
    raise CheckpointError(
        f"none of the {len(stored)} checkpoints in {os.fspath(folder)} can be used:\n  "
        + "\n  ".join(problems)
    )


def _ranked(stored: list[Stored], problems: list[str]) -> list[Stored]:
    """Return the checkpoints of the newest training that have a monitored value, the best first."""
    told: list[tuple[Stored, Summary]] = []
    for one in stored:
        try:
            told.append((one, read_summary(one.path)))
        except (CheckpointError, OSError) as error:
            problems.append(str(error))
    # A folder may hold earlier trainings, whose values are not to be compared with this one's.
    own = [(one, summary) for one, summary in told if summary.run == told[-1][1].run]
    valued = [(one, summary) for one, summary in own if summary.value is not None]
    if told and not valued:
        raise CheckpointError("no checkpoint here says how good it is: monitor a value, or resume='last'")
    return [one for one, _ in sorted(valued, key=lambda pair: _rank(pair[1]))]


def _rank(summary: Summary) -> float:
    value = float("nan") if summary.value is None else summary.value
    # NaN, which is as bad as can be.
    if value != value:
        return float("inf")
    return -value if summary.mode == "max" else value


def best_of(stored: list[Stored], run: str) -> Stored | None:
    """Return that with the best monitored value of one training, the earliest of equals; None where none has one."""
    rated: list[tuple[float, int, Stored]] = []
    for one in stored:
        try:
            summary = read_summary(one.path)
        except (CheckpointError, OSError):
            continue
        if summary.run == run and summary.value is not None:
            rated.append((_rank(summary), one.serial, one))
    # Not by the entry itself, which has no order.
    return min(rated, key=lambda entry: entry[:2])[2] if rated else None

"""What tests write: event files, record by record, and what a writer refuses."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from tensorboardX.record_writer import masked_crc32c

import workbench as wb
from workbench.tensorboard import SummaryWriter


def records(path: Path, events: list[Any]) -> None:
    """Write events as an event file has them, each with its right checksums."""
    with path.open("wb") as stream:
        for event in events:
            data = event.SerializeToString()
            head = struct.pack("<Q", len(data))
            stream.write(head + struct.pack("<I", masked_crc32c(head)) + data)
            stream.write(struct.pack("<I", masked_crc32c(data)))


def only_what_follows_is_written(folder: Path, write: Any, error: type[Exception], message: str) -> Any:
    """Check that a writer refuses `write` in words and goes on; return the log, which has nothing of it."""
    with SummaryWriter(folder) as writer:
        with pytest.raises(error, match=message):
            write(writer)
        writer.add_scalar("after", 1.0)
    log = wb.tensorboard.open(folder)
    assert list(log.runs) == ["."] and list(log.runs["."].scalars) == ["after"]
    return log

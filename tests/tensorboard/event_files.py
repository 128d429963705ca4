"""Event files that tests write, record by record."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from tensorboardX.record_writer import masked_crc32c


def records(path: Path, events: list[Any]) -> None:
    """Write events as an event file has them, each with its right checksums."""
    with path.open("wb") as stream:
        for event in events:
            data = event.SerializeToString()
            head = struct.pack("<Q", len(data))
            stream.write(head + struct.pack("<I", masked_crc32c(head)) + data)
            stream.write(struct.pack("<I", masked_crc32c(data)))

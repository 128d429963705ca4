"""Devices by name: ``cpu``, or a backend's own with an index, such as ``cuda:1``."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["CPU", "Device"]

_WORDS = re.compile(r"([a-z][a-z0-9_]*)(?::(\d+))?")


class Device(str):
    """Where values are: a kind and, where there are several of it, an index. Equal to its name.

    Raises RuntimeError for what is no device's name.

    >>> Device("cuda:1").type, Device("cuda:1").index, Device("cpu") == "cpu"
    ('cuda', 1, True)
    """

    type: str
    index: int | None  # type: ignore[assignment]

    def __new__(cls, name: Any = "cpu", index: int | None = None) -> Device:
        """Read a device's name, or take it from a device."""
        text = str(name) if index is None else f"{name}:{index}"
        found = _WORDS.fullmatch(text)
        if found is None:
            raise RuntimeError(
                f"Invalid device string: {text!r}. A device is a lower-case word, with an index if need be: "
                "'cpu', 'cuda:0'."
            )
        self = super().__new__(cls, text)
        self.type = found[1]
        self.index = None if found[2] is None else int(found[2])
        return self

    def __repr__(self) -> str:
        rest = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{rest})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (str(self),)


CPU = Device("cpu")

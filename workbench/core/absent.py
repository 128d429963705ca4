"""`Absent`: a rule that an op does not have, and why."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Absent"]


@dataclass(frozen=True)
class Absent:
    """A rule that does not exist, and the reason in one sentence."""

    reason: str

    def __bool__(self) -> bool:
        return False

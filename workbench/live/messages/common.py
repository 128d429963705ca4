"""What more than one view says or draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Dim", "Head", "PROTOCOL_VERSION", "Refusal", "SelectEvent", "ViewName"]

PROTOCOL_VERSION = 6
"""Raised when a message changes shape; a view refuses a state of another version and says so."""

ViewName: TypeAlias = str
"""Name of a view, a key of `workbench.live.messages.VIEWS`; TypeScript has the names themselves."""


@dataclass(frozen=True)
class Dim:
    """One dimension: its name (None if it has none) and its size."""

    name: str | None
    size: int


@dataclass(frozen=True)
class Head:
    """What every view says about itself: what it shows, where that came from and how fresh it is."""

    title: str
    """What is shown, e.g. ``conv1.weight``."""
    source: str
    """Where it came from: a variable, a cell, a line of code; empty if unknown."""
    updated: float
    """When Python made this state, in seconds since the epoch."""
    live: bool
    """True while the thing shown may still change by itself."""
    code: str = ""
    """Python that recreates what is shown ("write as code"); empty if there is none."""


@dataclass(frozen=True)
class Refusal:
    """Why the last request was refused; the state is as it was before it."""

    request: str
    reason: str


@dataclass(frozen=True)
class SelectEvent:
    """A person picked an observer, a node, or nothing."""

    type: Literal["select"]
    id: str | None

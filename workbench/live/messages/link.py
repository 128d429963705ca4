"""The link between page and kernel: what carries states and events, and who is there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from workbench.live.messages.common import ViewName

__all__ = ["Announcement", "Hello", "Reply", "Request", "Trouble", "Update", "Welcome", "Withdrawal"]


@dataclass(frozen=True)
class Announcement:
    """Kernel to page, on the data comm: a view model exists and this is its newest state."""

    type: Literal["state"]
    version: int
    view: ViewName
    model: str
    """Identity of the view model inside this kernel."""
    order: int
    """Grows with every model that is shown: a panel shows the one of its view with the largest."""
    picture: int
    """Counts the pictures of this model that were sent, from 1."""
    state: dict[str, object]


@dataclass(frozen=True)
class Update:
    """Kernel to page, on the data comm: fields of a view model's state that are others than in the picture before.

    A page that has not got that picture cannot use it; it says hello, and gets the whole state.
    """

    type: Literal["update"]
    version: int
    view: ViewName
    model: str
    order: int
    picture: int
    """One more than that of the picture which it changes."""
    fields: dict[str, object]
    kept: list[int]
    """For each buffer of the state its place among those of that picture; −1 for those that come with this message."""


@dataclass(frozen=True)
class Withdrawal:
    """Kernel to page: a view model is gone."""

    type: Literal["gone"]
    version: int
    model: str


@dataclass(frozen=True)
class Trouble:
    """Kernel to page: no picture of a view model could be made, and why; the last one stays valid."""

    type: Literal["trouble"]
    version: int
    view: ViewName
    model: str
    reason: str


@dataclass(frozen=True)
class Hello:
    """Page to kernel, on the control comm: when it opens, when `views` changes, and every half minute."""

    type: Literal["hello"]
    version: int
    views: list[str]
    """The views that the page draws now; only their states are made and sent."""
    have: dict[str, object] = field(default_factory=dict)
    """For each model the number of the last picture that came: one that was lost on the way is sent again."""


@dataclass(frozen=True)
class Welcome:
    """Kernel to page, on the control comm: the answer to every hello."""

    type: Literal["welcome"]
    version: int
    kernel: str
    """Identity of the kernel's process: another one after a restart."""
    data: str
    """Identity of the data comm."""


@dataclass(frozen=True)
class Request:
    """Page to kernel, on the control comm, which is served while a cell runs: an event for a view model."""

    type: Literal["event"]
    version: int
    sender: str
    """One load of one page, which numbers what it sends."""
    number: int
    """Counts from 1: a gesture that arrives again is answered again, and done once."""
    oldest: int
    """The smallest number to which the sender has no answer yet."""
    model: str
    event: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """Kernel to page, on the control comm: what became of a request."""

    type: Literal["reply"]
    version: int
    sender: str
    """Whose request it answers; empty if that could not be read."""
    number: int
    """Which request of that sender; 0 if it is the answer to something else."""
    model: str
    accepted: bool
    reason: str

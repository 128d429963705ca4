"""What of a view's state a page does not have yet: of a million points none travels again because one was picked."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from workbench.live.encode import encode, encode_snapshot
from workbench.live.model import Snapshot

__all__ = ["Sent", "encode_news"]


class Sent:
    """The large fields and the buffers of the last state that was sent, as the objects that they were."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._fields = _lasting(snapshot)
        # Of a state that is always sent whole nothing need be kept alive.
        self._buffers = snapshot.buffers if snapshot.lasting else ()

    def holds(self, snapshot: Snapshot) -> bool:
        """Say whether `snapshot` has large fields, and all of them are those that were sent."""
        now = _lasting(snapshot)
        # By identity: to compare ten thousand nodes would cost as much as to send them.
        return (
            bool(now)
            and now.keys() == self._fields.keys()
            and all(self._fields[name] is value for name, value in now.items())
        )

    def places(self, buffers: Sequence[bytes]) -> list[int]:
        """Return for each of `buffers` its place among those that were sent, or -1 where it was not."""
        known = {id(buffer): place for place, buffer in enumerate(self._buffers)}
        return [known.get(id(buffer), -1) for buffer in buffers]


def _lasting(snapshot: Snapshot) -> dict[str, object]:
    return {name: getattr(snapshot.state, name) for name in snapshot.lasting}


def encode_news(
    view: str, snapshot: Snapshot, sent: Sent | None
) -> tuple[dict[str, object], list[bytes], bool]:
    """Return fields of a state as plain data, its buffers, and whether these are all of its fields.

    Without the large ones where they are among what was `sent`.

    Raises:
        TypeError, ValueError: as `encode_snapshot`.
    """
    if sent is None or not sent.holds(snapshot):
        return *encode_snapshot(view, snapshot), True
    # A state is a dataclass of messages, or it would not have been sent before.
    names = [one.name for one in dataclasses.fields(snapshot.state)]  # type: ignore[arg-type]
    news = {name: encode(getattr(snapshot.state, name)) for name in names if name not in snapshot.lasting}
    return news, list(snapshot.buffers), False

"""States as plain data: what is allowed to travel to a page, and what it becomes on the way."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from numbers import Integral, Real

from workbench.base.collector import collector_at_rest
from workbench.live.messages import VIEWS
from workbench.live.model import Snapshot

__all__ = ["MAXIMUM_BYTES", "encode", "encode_snapshot"]

MAXIMUM_BYTES = 64 * 1024 * 1024
"""A picture with more bytes in its buffers than this is not sent."""


_MESSAGES: dict[type, tuple[str, ...]] = {}
"""The fields of the dataclasses that were met."""


def encode(value: object) -> object:
    """Return `value` as plain data that JSON knows; floats that are not finite become None.

    Takes dataclasses, lists, tuples, mappings with text as keys, text, numbers (NumPy's too), bool and None.

    Raises:
        TypeError: anything else, with its type in the message.

    >>> encode([1.5, float("nan"), ("a", None)])
    [1.5, None, ['a', None]]
    """
    # By their very types first: a graph of ten thousand nodes is half a million of these.
    kind = type(value)
    if kind is str or kind is int or value is None or kind is bool:
        return value
    if kind is list:
        return [encode(entry) for entry in value]  # type: ignore[attr-defined]
    if kind in _MESSAGES:
        return {name: encode(getattr(value, name)) for name in _MESSAGES[kind]}
    if isinstance(value, (str, bool)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (list, tuple)):
        return [encode(entry) for entry in value]
    # By type, so that a dataclass itself, which is no message, is refused below.
    if dataclasses.is_dataclass(kind):
        _MESSAGES[kind] = tuple(entry.name for entry in dataclasses.fields(kind))
        return {name: encode(getattr(value, name)) for name in _MESSAGES[kind]}
    if isinstance(value, Mapping):
        return {str(key): encode(entry) for key, entry in value.items()}
    return _encode_number(value)


def _encode_number(value: object) -> object:
    if type(value).__name__ == "bool":  # NumPy's bool is none of Python's numbers
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return encode(float(value))
    raise TypeError(
        f"a state holds a {type(value).__qualname__}, which cannot travel to a page; "
        "use text, numbers, lists, or a message of workbench.live.messages; arrays travel as buffers"
    )


def encode_snapshot(view: str, snapshot: Snapshot) -> tuple[dict[str, object], list[bytes]]:
    """Return the state of `snapshot` as plain data, and its buffers.

    Raises:
        TypeError: the state is not one that `view` draws, or holds something that cannot travel.
        ValueError: the buffers are larger than `MAXIMUM_BYTES`.
    """
    states = VIEWS[view].states
    if not isinstance(snapshot.state, states):
        expected = " or ".join(state.__name__ for state in states)
        raise TypeError(f"the {view} view draws {expected}, not {type(snapshot.state).__name__}")
    size = sum(len(buffer) for buffer in snapshot.buffers)
    if size > MAXIMUM_BYTES:
        raise ValueError(
            f"the picture has {size / 1e6:.0f} MB of buffers, more than the {MAXIMUM_BYTES / 1e6:.0f} MB "
            "that are sent; draw fewer points or a part of it"
        )
    with collector_at_rest():
        state = encode(snapshot.state)
    assert isinstance(state, dict)
    return state, list(snapshot.buffers)

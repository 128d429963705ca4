"""What a function does besides giving its result, as far as one call shows: it prints, writes into arguments.

A graph does none of that. So what is traced is watched, and a function that does more runs as it is written.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from workbench.graph.blocks import GraphError

__all__ = ["refused_effects", "unwritten"]


class _Heard:
    """A stream that hears what this thread prints, and lets others through."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.thread, self.heard = stream, threading.get_ident(), False

    def write(self, text: str) -> int:
        if threading.get_ident() != self.thread:
            return int(self.stream.write(text))
        # Said again by the call that runs as it is written.
        self.heard = True
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def refused_effects() -> Iterator[None]:
    """Refuse a function that prints: raise `GraphError` afterwards. What it printed the call that follows shows."""
    out, sys.stdout = sys.stdout, _Heard(sys.stdout)
    heard: Any = sys.stdout
    try:
        yield
    finally:
        sys.stdout = out
    if heard.heard:
        raise GraphError("it prints, which a graph does not")


def unwritten(tensors: list[Any], versions: list[int]) -> None:
    """Raise `GraphError` where one of the tensors was changed in place since it had that version."""
    if any(one._version != version for one, version in zip(tensors, versions, strict=True)):
        raise GraphError("it changes an argument in place")

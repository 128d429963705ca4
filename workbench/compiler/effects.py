"""What a function does besides giving its result, as far as one call shows: it draws, prints, writes into arguments.

A graph does none of that. So what is traced is watched, and a function that does more runs as it is written.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

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
    """Refuse a function that prints, or draws numbers of Python's or NumPy's own: raise `GraphError` afterwards.

    What was drawn is put back, and what was printed is not shown: the call that follows does both.
    """
    drawn, drawn_by_numpy = random.getstate(), np.random.get_state()
    out, sys.stdout = sys.stdout, _Heard(sys.stdout)
    heard: Any = sys.stdout
    try:
        yield
    finally:
        sys.stdout = out
        before = drawn, _plain(drawn_by_numpy)
        draws = before != (random.getstate(), _plain(np.random.get_state()))
        if draws:
            random.setstate(drawn)
            np.random.set_state(drawn_by_numpy)
    if draws:
        raise GraphError(
            "it draws numbers by Python's or NumPy's random, which would be the same in every call"
        )
    if heard.heard:
        raise GraphError("it prints, which a graph does not")


def _plain(state: Any) -> Any:
    return tuple(one.tobytes() if isinstance(one, np.ndarray) else one for one in state)


def unwritten(tensors: list[Any], versions: list[int]) -> None:
    """Raise `GraphError` where one of the tensors was changed in place since it had that version."""
    if any(one._version != version for one, version in zip(tensors, versions, strict=True)):
        raise GraphError("it changes an argument in place")

"""Several Python threads that call kernels at once, each with what is its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy.typing as npt

Arrays = list[npt.NDArray[Any]]


def at_once(calls: list[Callable[[], Arrays]], rounds: int = 6) -> None:
    """Assert that calls from threads of their own give, bit for bit, what they give one after the other."""
    wanted = [call() for call in calls]
    start = threading.Barrier(len(calls))
    wrong: list[str] = []

    def run(i: int) -> None:
        try:
            start.wait(60)
            for _ in range(rounds):
                for place, (have, want) in enumerate(zip(calls[i](), wanted[i], strict=True)):
                    if have.tobytes() != want.tobytes():
                        wrong.append(f"caller {i}: result {place} differs")
        except Exception as error:
            wrong.append(repr(error))

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []

"""Work on a model beside the running cell: in a thread of its own, on a copy, counted, and stopped when asked."""

from __future__ import annotations

import copy
import functools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from workbench.attribution.base import Attribution
from workbench.nn import Module
from workbench.tensor import Tensor

__all__ = ["Runs", "Stopped", "attempt", "own_copy"]

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Stopped(KeyboardInterrupt):
    """A person asked for an end; a method makes of it what it would of Ctrl+C."""


class Runs:
    """Counts how often, and with how many rows, a model ran; once `stop` was called, its next run raises `Stopped`.

    >>> runs = Runs()
    >>> double = own_copy(lambda x: x * 2, runs)
    >>> _ = double(Tensor([[1.0], [2.0]]))
    >>> runs.calls, runs.rows
    (1, 2)
    >>> runs.stop()
    >>> runs.stopped
    True
    """

    def __init__(self, told: Callable[[], None] | None = None) -> None:
        self.calls = 0
        self._rows = 0
        self._methods: list[Attribution] = []
        self.started = time.monotonic()
        self._told = told
        self._stopped = threading.Event()
        self._said = False

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.started

    @property
    def rows(self) -> int:
        """How many rows went through the model."""
        return self._rows

    @property
    def total(self) -> int | None:
        """How many are going to; None while nobody knows."""
        planned = sum(one.rows[1] for one in self._methods)
        return planned if planned >= self._rows > 0 else None

    @contextmanager
    def of(self, method: Attribution) -> Iterator[None]:
        """Count rows towards those that `method` plans, while it runs."""
        # What ran before, such as a look at what is predicted, is none of them.
        self._rows = 0
        self._methods.append(method)
        try:
            yield
        finally:
            self._methods.remove(method)

    @property
    def stopped(self) -> bool:
        """True once an end was asked for."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Let the next run of the model raise `Stopped`; from any thread."""
        self._stopped.set()

    def check(self) -> None:
        """Raise `Stopped` where an end was asked for, once: what a method makes of what it has may run the model."""
        if self._stopped.is_set() and not self._said:
            self._said = True
            raise Stopped(f"stopped after {self.calls} runs of the model")

    def count(self, arguments: tuple[Any, ...]) -> None:
        """Note one run of the model, or raise `Stopped`."""
        self.check()
        self.calls += 1
        first = next((one for one in arguments if isinstance(one, Tensor) and one.ndim), None)
        self._rows += 1 if first is None else first.shape[0]
        if self._told is not None:
            self._told()


def attempt(what: str, work: Callable[[], T]) -> tuple[T | None, str]:
    """Return what `work` finds, or None and why it finds nothing.

    It is the one place here that takes any error. Models, baselines and perturbations are other people's programs and
    raise what they like; behind a question that a view asks in a thread nobody stands to whom it could be raised, and
    a board would be left half full without a word. So the words of the error are the answer, shown where the picture
    would be, and the log has the traceback. What ends a run, `Stopped` or Ctrl+C, is no error and goes through.

    >>> attempt("a quotient", lambda: 1 / 0)
    (None, 'ZeroDivisionError: division by zero')
    """
    try:
        return work(), ""
    except Exception as error:
        logger.info("there is no answer to %s", what, exc_info=True)
        return None, f"{type(error).__name__}: {error}"


def own_copy(forward: Callable[..., Any], runs: Runs) -> Callable[..., Any]:
    """Return what runs as `forward` does and is counted by `runs`: of a module a copy, in evaluation mode.

    The copy is what makes it safe beside a cell that trains the same module: modes and hooks are its own, and its
    parameters stay those of now.
    """
    if isinstance(forward, Module):
        module = copy.deepcopy(forward).eval()
        module.register_forward_pre_hook(lambda _, arguments: runs.count(arguments))
        return module
    owner = getattr(forward, "__self__", None)
    name = getattr(forward, "__name__", "")
    if isinstance(owner, Module) and name:
        forward = getattr(copy.deepcopy(owner).eval(), name)

    @functools.wraps(forward)
    def counted(*arguments: Any) -> Any:
        runs.count(arguments)
        return forward(*arguments)

    return counted

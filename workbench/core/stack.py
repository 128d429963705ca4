"""The stack of interpreters that ops run through, and whether gradients are recorded: per thread and asyncio task.

The topmost interpreter processes a call; whatever it calls in turn goes to the interpreter *below* it. At the bottom
stands eager evaluation.
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, TypeVar

from workbench.core.op import Op

__all__ = [
    "BOTTOM", "IN_FORCE", "Interpreter", "Recording", "State", "are_parameters_fixed", "below", "computes_only",
    "enable_grad", "ends_here", "enter", "find", "grad_enabled", "inference", "interpreting", "leave", "no_grad",
    "parameters_fixed", "set_grad", "tell_drawn", "tell_noise", "tell_written", "top", "without",
]  # fmt: skip


class Interpreter(Protocol):
    """Something that gives a call of an op a meaning."""

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Return the result(s) of `op`; ops applied meanwhile go to the interpreter below.

        One with an attribute ``transparent`` that is true returns what calls below gave, already recorded.
        """
        ...


Kind = TypeVar("Kind")


class State(NamedTuple):
    """What dispatch must know: whether gradients are recorded, and the stack of interpreters as linked pairs."""

    grad: bool
    top: tuple[Interpreter, Any] | None
    inference: bool = False


BOTTOM = State(True, None)
"""What is in force where nobody says otherwise."""
IN_FORCE: contextvars.ContextVar[State] = contextvars.ContextVar("workbench_dispatch", default=BOTTOM)
"""What is in force here and now."""
# Bound once: every op calls it.
_get = IN_FORCE.get


def grad_enabled() -> bool:
    """Say whether calls are recorded for gradients."""
    return _get().grad


def computes_only() -> bool:
    """Say whether ops only compute, here and now: nothing is recorded and no interpreter looks on."""
    state = _get()
    return not state.grad and state.top is None


def enter(grad: bool, inference: bool | None = None) -> Any:
    """Record for gradients, or do not, until `leave` is called with what this returns.

    With `inference`, say whether results are inference tensors.
    """
    before = _get()
    return IN_FORCE.set(State(grad, before.top, before.inference if inference is None else inference))


def leave(before: Any) -> None:
    """Go back to what was in force at `enter`."""
    IN_FORCE.reset(before)


class Recording:
    """A block inside which calls are recorded for gradients, or are not."""

    # Written out: a block made of a generator costs more than most ops of few values.
    __slots__ = ("_before", "_grad")

    def __init__(self, grad: bool) -> None:
        self._grad = grad

    def __enter__(self) -> None:
        self._before = enter(self._grad)

    def __exit__(self, *exception: object) -> None:
        leave(self._before)


_FIXED: contextvars.ContextVar[bool] = contextvars.ContextVar("workbench_fixed", default=False)


class parameters_fixed:
    """Promise that inside this block gradients are asked of what functions are given, and never of their parameters.

    What is compiled takes parameters for constants then, as it does where nothing is recorded.
    """

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = _FIXED.set(True)

    def __exit__(self, *exception: object) -> None:
        _FIXED.reset(self._before)


def are_parameters_fixed() -> bool:
    """Say whether gradients of arguments alone are asked for."""
    return _FIXED.get()


def no_grad() -> Recording:
    """Record nothing for gradients inside this block."""
    return Recording(False)


def enable_grad() -> Recording:
    """Record for gradients inside this block, even within `no_grad`."""
    return Recording(True)


def inference() -> bool:
    """Say whether what is made now can never be part of a gradient."""
    return _get().inference


def top() -> Interpreter | None:
    """Return the topmost interpreter; None where ops are evaluated."""
    found = _get().top
    return None if found is None else found[0]


def set_grad(grad: bool) -> None:
    """Record for gradients, or do not, from here on."""
    IN_FORCE.set(_get()._replace(grad=grad))


@contextmanager
def below() -> Iterator[None]:
    """Run the ops of this block without the topmost interpreter, as its `process` would."""
    state = _get()
    token = IN_FORCE.set(state if state.top is None else state._replace(top=state.top[1]))
    try:
        yield
    finally:
        IN_FORCE.reset(token)


def find(kind: type[Kind]) -> Kind | None:
    """Return the topmost interpreter of a class."""
    link = _get().top
    while link is not None:
        interpreter, link = link
        if isinstance(interpreter, kind):
            return interpreter
    return None


def ends_here() -> bool:
    """Say whether nobody differentiates what is called here: nothing is recorded, and whoever looks on writes it down.

    A gradient rule then may call one op that has no gradient for several that have one, in a graph as in eager code.
    """
    state = _get()
    link = state.top
    while link is not None:
        interpreter, link = link
        if not getattr(interpreter, "writes_down", False):
            return False
    return not state.grad


def tell_drawn(seed: int, generator: Any) -> None:
    """Tell the topmost interpreter with a method ``drew`` that a seed was drawn from `generator`."""
    link = _get().top
    while link is not None:
        interpreter, link = link
        drew = getattr(interpreter, "drew", None)
        if drew is not None:
            drew(seed, generator)
            return


def tell_written(target: Any, name: str) -> None:
    """Tell each interpreter with a method ``writes`` that numbers are about to be written into `target`."""
    link = _get().top
    while link is not None:
        interpreter, link = link
        writes = getattr(interpreter, "writes", None)
        if writes is not None:
            writes(target, name)


def tell_noise(kind: str, sizes: Any, dtype: Any, arguments: Any, keywords: Any, generator: Any) -> Any:
    """Ask the topmost interpreter with a method ``noise`` for a value in place of numbers to draw; None for no such."""
    link = _get().top
    while link is not None:
        interpreter, link = link
        asked = getattr(interpreter, "noise", None)
        if asked is not None:
            return asked(kind, sizes, dtype, arguments, keywords, generator)
    return None


def without(kind: type) -> Any:
    """Run the ops of a block without the interpreters of a class, wherever they stand in the stack."""
    state = _get()
    kept: list[Interpreter] = []
    link = state.top
    while link is not None:
        interpreter, link = link
        if not isinstance(interpreter, kind):
            kept.append(interpreter)
    # The pairs are linked anew: others that entered earlier still hold the old ones.
    stack: tuple[Interpreter, Any] | None = None
    for interpreter in reversed(kept):
        stack = (interpreter, stack)
    return _in_force(state._replace(top=stack))


@contextmanager
def _in_force(state: State) -> Iterator[None]:
    token = IN_FORCE.set(state)
    try:
        yield
    finally:
        IN_FORCE.reset(token)


@contextmanager
def interpreting(interpreter: Interpreter) -> Iterator[None]:
    """Run the ops of this block through `interpreter`, on top of those already in force."""
    state = _get()
    token = IN_FORCE.set(state._replace(top=(interpreter, state.top)))
    try:
        yield
    finally:
        IN_FORCE.reset(token)

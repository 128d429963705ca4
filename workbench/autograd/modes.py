"""Whether gradients are recorded, as blocks, as decorators, and as a setting.

>>> import workbench as wb
>>> from workbench.autograd.modes import no_grad
>>> x = wb.ones(2, requires_grad=True)
>>> with no_grad():
...     (x * 2).requires_grad
False
>>> @no_grad
... def double(x):
...     return x * 2
>>> double(x).requires_grad
False
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from typing import Any

from workbench.core import dispatch

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
]


class _Mode:
    """A block in which gradients are recorded or not; also a decorator of functions and of generator functions."""

    grad: bool
    inference: bool | None = None

    def __init__(self) -> None:
        self._entered: list[Any] = []

    def __enter__(self) -> None:
        # A stack, as one object may be entered inside itself.
        self._entered.append(dispatch.enter(self.grad, self.inference))

    def __exit__(self, *exception: Any) -> None:
        dispatch.leave(self._entered.pop())

    def again(self) -> _Mode:
        """Return another block of the same kind: a decorated function may call itself, or run in several threads."""
        other = object.__new__(type(self))
        other._entered = []
        other.grad, other.inference = self.grad, self.inference
        return other

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Run `function` inside the block, whenever it is called."""
        if inspect.isgeneratorfunction(function):
            return self._generator(function)

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self.again():
                return function(*args, **kwargs)

        return wrapper

    def _generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Run each step of a generator inside the block, and what happens between its steps outside."""

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            steps = function(*args, **kwargs)
            sent: Any = None
            raised: BaseException | None = None
            while True:
                try:
                    with self.again():
                        # Only while the generator runs: between two steps the mode is the caller's.
                        made = steps.send(sent) if raised is None else steps.throw(raised)
                except StopIteration as end:
                    return end.value
                sent, raised = None, None
                try:
                    sent = yield made
                except GeneratorExit:
                    with self.again():
                        steps.close()
                    raise
                except BaseException as error:  # handed on to the generator, as `yield from` does
                    raised = error

        return wrapper


class _Plain(_Mode):
    """A mode without arguments, which decorates with and without parentheses."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        made = object.__new__(cls)
        made._entered = []
        # As @no_grad without parentheses this is a function, and Python then calls no __init__.
        return made if function is None else made(function)

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        pass


class no_grad(_Plain):
    """Record nothing for gradients inside this block (or decorated function)."""

    grad = False


class enable_grad(_Plain):
    """Record for gradients inside this block, even within `no_grad`."""

    grad = True


class set_grad_enabled(_Mode):
    """Record for gradients or not, from here on; as a block, only inside it. Also a decorator.

    >>> import workbench as wb
    >>> from workbench.autograd.modes import set_grad_enabled
    >>> x = wb.ones(2, requires_grad=True)
    >>> with set_grad_enabled(False):
    ...     (x * 2).requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.grad = bool(mode)
        self._before = dispatch.grad_enabled()
        dispatch.set_grad(self.grad)

    def __enter__(self) -> None:
        dispatch.set_grad(self.grad)

    def __exit__(self, *exception: Any) -> None:
        dispatch.set_grad(self._before)

    def again(self) -> _Mode:
        """Return another block of the same kind."""
        return enable_grad() if self.grad else no_grad()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Run `function` in this mode; what was set by making the decorator is taken back."""
        dispatch.set_grad(self._before)
        # As a decorator it holds inside the function alone: what making it has set was taken back.
        return super().__call__(function)


class inference_mode(_Mode):
    """Compute only: nothing is recorded, and what is made can never be part of a gradient. Also a decorator.

    >>> import workbench as wb
    >>> from workbench.autograd.modes import inference_mode
    >>> with inference_mode():
    ...     y = wb.ones(2) * 2
    >>> y.is_inference()
    True
    """

    def __new__(cls, mode: Any = True) -> Any:
        if callable(mode):
            return cls(True)(mode)
        return object.__new__(cls)

    def __init__(self, mode: Any = True) -> None:
        super().__init__()
        self.grad = not mode
        self.inference = bool(mode)


def is_grad_enabled() -> bool:
    """Say whether calls are recorded for gradients."""
    return dispatch.grad_enabled()


def is_inference_mode_enabled() -> bool:
    """Say whether results are inference tensors."""
    return dispatch.inference()

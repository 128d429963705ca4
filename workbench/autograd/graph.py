"""The tape seen from outside: how numbers are kept on it, and hooks on several gradients at once.

PyTorch's `torch.autograd.graph`. Hooks on one call stand on the call itself: `Node.register_hook`.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from typing import Any

from workbench.autograd.engine import current_walk
from workbench.base.errors import AutogradError
from workbench.base.public import words
from workbench.core import tape
from workbench.core.tape import Gathering, Node
from workbench.tensor import Tensor

__all__ = ["Gathering", "Node", "register_multi_grad_hook", "saved_tensors_hooks"]

# `+= 1` reads and writes, and another thread may run in between.
_lock = threading.Lock()


class saved_tensors_hooks:
    """Keep what the tape keeps in another way: ``pack(tensor)`` when it is kept, ``unpack(packed)`` when it is read.

    Inside this block every tensor that a gradient rule will read goes through `pack`, which may return anything: a
    file's name, a compressed form, the tensor itself. Backward calls `unpack` for it, as often as it is read.

    >>> import workbench as wb
    >>> from workbench.autograd.graph import saved_tensors_hooks
    >>> x = wb.tensor([1.0, 2.0], requires_grad=True)
    >>> with saved_tensors_hooks(lambda t: t.detach().numpy().astype("f2"), lambda a: wb.tensor(a, dtype="float32")):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self._hooks = pack_hook, _checked(unpack_hook)
        self._tokens: list[contextvars.Token[Any]] = []

    def __enter__(self) -> None:
        self._tokens.append(tape.saving.set(self._hooks))
        with _lock:
            tape.watching += 1

    def __exit__(self, *exception: object) -> None:
        with _lock:
            tape.watching -= 1
        tape.saving.reset(self._tokens.pop())


def _checked(unpack: Callable[[Any], Tensor]) -> Callable[[Any], Tensor]:
    def checked(packed: Any) -> Tensor:
        value = unpack(packed)
        if not isinstance(value, Tensor):
            raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor, got {type(value)}")
        return value

    return checked


class _MultiHandle:
    """The hooks of one registration, removed together."""

    def __init__(self, handles: Sequence[Any]) -> None:
        self._handles = handles

    def remove(self) -> None:
        """Call the hook no more."""
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> _MultiHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
) -> _MultiHandle:
    """Call `fn` when the gradients of several tensors are known; return a handle that removes it.

    With mode "all" it is called once, when backward is over, ``fn(gradients)`` with a list in the order of the
    tensors, None for those that get none in this backward. With "any" it is called with the first gradient to arrive.

    >>> import workbench as wb
    >>> from workbench.autograd.graph import register_multi_grad_hook
    >>> a, b = (wb.tensor(value, requires_grad=True) for value in (2.0, 3.0))
    >>> handle = register_multi_grad_hook([a, b], lambda gradients: print([g.item() for g in gradients]))
    >>> (a * b).backward()
    [3.0, 2.0]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    for one in tensors:
        if not one._requires_grad:
            raise AutogradError("cannot register a hook on a tensor that doesn't require gradient")
    gathered = _Gathered(tensors, fn, mode)
    return _MultiHandle([one.register_hook(gathered.hook(i)) for i, one in enumerate(tensors)])


class _Gathered:
    """Gradients of one backward, until it is over."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[..., None], mode: str) -> None:
        self.count = len(tensors)
        self.fn = fn
        self.mode = mode
        self.found: dict[int, Any] = {}
        self.walk: object = None
        """Which backward the gradients are of."""

    def hook(self, i: int) -> Callable[[Tensor], None]:
        """Return the hook of tensor number `i`."""

        def arrived(gradient: Tensor) -> None:
            walk = current_walk.get()
            # Another backward: what one that failed has left is dropped.
            first = walk is not self.walk
            if first:
                self.walk, self.found = walk, {}
            self.found[i] = gradient
            if not first:
                return
            if self.mode == "any":
                self.fn(gradient)
            elif walk is not None:
                walk.at_end.append(self.finish)

        return arrived

    def finish(self) -> None:
        """Call the function with what has come."""
        # Cleared first: the function may start a backward of its own.
        found, self.found, self.walk = self.found, {}, None
        self.fn([found.get(k) for k in range(self.count)])


__getattr__, __dir__ = words(__name__, __all__)

"""The tape seen from outside: how numbers are kept on it. PyTorch's `torch.autograd.graph`.

Hooks on one call stand on the call itself: `Node.register_hook`.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

from workbench.core import tape
from workbench.core.tape import Gathering, Node
from workbench.tensor import Tensor

__all__ = ["Gathering", "Node", "saved_tensors_hooks"]

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
    tensor([2.0000, 4.0000])
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

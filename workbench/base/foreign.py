"""Tensors of another library, met where one of ours is wanted: what to call them, and what helps."""

from __future__ import annotations

from typing import Any

__all__ = ["called", "is_foreign", "mending"]


def is_foreign(thing: Any) -> bool:
    """Say whether `thing` is a tensor of PyTorch itself, which need not be installed to tell.

    >>> is_foreign(3.0)
    False
    """
    kind = type(thing)
    return any(
        one.__name__ == "Tensor" and one.__module__ in ("torch", "torch._tensor") for one in kind.__mro__
    )


def called(thing: Any) -> str:
    """Return what an error calls the type of `thing`.

    >>> called(3.0)
    "'float'"
    """
    return "'torch.Tensor' (PyTorch's own)" if is_foreign(thing) else repr(type(thing).__name__)


def mending(thing: Any) -> str:
    """Return what makes a tensor of ours of `thing`, in words.

    >>> mending([1.0])
    'wb.tensor(...) makes one'
    """
    if is_foreign(thing):
        return "it is PyTorch's own, of another library: wb.from_dlpack(x) shares its memory, wb.tensor(x) copies it"
    return "wb.tensor(...) makes one"

"""Tensors and modules of another library, met where ours are wanted: what to call them, and what helps."""

from __future__ import annotations

from types import MethodType
from typing import Any

__all__ = ["called", "is_foreign", "mending", "mending_module", "told"]


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


def mending_module(thing: Any) -> str:
    """Return what makes a module of ours of one of PyTorch's own, in words; nothing for anything else.

    >>> mending_module(3.0)
    ''
    """
    kinds = type(thing.__self__ if isinstance(thing, MethodType) else thing).__mro__
    if not any(one.__name__ == "Module" and one.__module__ == "torch.nn.modules.module" for one in kinds):
        return ""
    return (
        "it is a module of PyTorch's own: wb.interop.torch.from_module(module) makes one of it that runs here"
    )


def told(thing: Any, otherwise: str = "") -> str:
    """Return the type of what is no tensor or module of ours, and what helps: of a foreign one that, else what is said.

    >>> told([1.0], "wb.tensor(...) makes one")
    'list; wb.tensor(...) makes one'
    """
    if is_foreign(thing):
        kind, helps = "torch.Tensor", mending(thing)
    else:
        kind, helps = type(thing).__name__, mending_module(thing) or otherwise
    return f"{kind}; {helps}" if helps else kind

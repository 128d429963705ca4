"""How values lie in memory, in PyTorch's words: layouts, and orders of the dims of pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "Layout", "MemoryFormat", "channels_last", "channels_last_3d", "check_format", "check_layout", "check_pinned",
    "contiguous_format", "format_asked", "preserve_format", "sparse_coo",
    "sparse_csr", "strided",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Layout:
    """How the values of a tensor are kept: ``strided``, each at its own place, or sparse, those that are not 0.

    >>> strided
    workbench.strided
    """

    name: str

    def __repr__(self) -> str:
        return f"workbench.{self.name}"

    def __reduce__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class MemoryFormat:
    """In which order the dims of a tensor lie in memory.

    >>> channels_last, channels_last.order
    (workbench.channels_last, (0, 2, 3, 1))
    """

    name: str
    order: tuple[int, ...] | None = None
    """The dims as they lie in memory, the slowest first; None where any number of dims will do."""

    def __repr__(self) -> str:
        return f"workbench.{self.name}"

    def __reduce__(self) -> str:
        return self.name


strided = Layout("strided")
sparse_coo = Layout("sparse_coo")
sparse_csr = Layout("sparse_csr")
contiguous_format = MemoryFormat("contiguous_format")
preserve_format = MemoryFormat("preserve_format")
channels_last = MemoryFormat("channels_last", (0, 2, 3, 1))
channels_last_3d = MemoryFormat("channels_last_3d", (0, 2, 3, 4, 1))


def check_layout(op: str, layout: Any) -> None:
    """Refuse a layout that is not that of plain tensors; None asks for nothing.

    >>> check_layout("zeros", "dense")
    Traceback (most recent call last):
    ...
    TypeError: zeros(): argument 'layout' must be a layout such as workbench.strided, not str
    """
    if layout is None or layout is strided:
        return
    if not isinstance(layout, Layout):
        raise TypeError(
            f"{op}(): argument 'layout' must be a layout such as workbench.strided, not {type(layout).__name__}"
        )
    raise RuntimeError(
        f"{op}(): it makes values that each have a place of their own, layout=strided, got {layout}: what is made "
        "becomes sparse by to_sparse(layout=…)"
    )


def check_pinned(op: str, pin_memory: Any) -> None:
    """Refuse to pin memory: that is for copies to a GPU by its driver, which nothing here does."""
    if pin_memory:
        raise RuntimeError(
            f"{op}(): pin_memory=True requires an accelerator whose driver pins memory, and there is none here: "
            "leave it away, copies to a device work without it"
        )


def check_format(op: str, given: Any) -> None:
    """Refuse what is no memory format; None asks for none."""
    if given is not None and not isinstance(given, MemoryFormat):
        raise TypeError(
            f"{op}(): argument 'memory_format' must be a memory format such as workbench.channels_last, not "
            f"{type(given).__name__}"
        )


def format_asked(op: str, given: Any, ndim: int) -> MemoryFormat | None:
    """Return the memory format that is asked for, None for none; refuse one that is not for `ndim` dims.

    >>> format_asked("contiguous", channels_last, 2)
    Traceback (most recent call last):
    ...
    RuntimeError: contiguous(): required rank 4 tensor to use channels_last format, got 2 dims
    """
    check_format(op, given)
    if given is not None and given.order is not None and len(given.order) != ndim:
        raise RuntimeError(
            f"{op}(): required rank {len(given.order)} tensor to use {given.name} format, got {ndim} dims"
        )
    return given  # type: ignore[no-any-return]

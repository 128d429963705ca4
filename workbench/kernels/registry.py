"""The kernels by op name: what runs, which calls it takes, and what it needs of the machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Kernel", "half_names", "lookup", "lookup_half", "names", "register"]


@dataclass(frozen=True, slots=True)
class Kernel:
    """Compiled code for one op.

    `run` takes the arguments of the op's plain forward and returns what that returns, as NumPy arrays.
    `accepts` takes the same arguments and says whether `run` is right for them and pays; when it does
    not, the caller runs the plain forward.
    """

    name: str
    run: Callable[..., Any]
    accepts: Callable[..., bool]
    needs: tuple[str, ...] = ("float32",)
    """What it asks of its arguments and of the processor, in words for `workbench doctor`."""
    least: int = 0
    """Fewer values than this in the largest argument are never worth it: it is not even asked."""
    into: Callable[..., None] | None = None
    """``into(out, *operands)``: for float32 without gaps, the same into memory that is there, perhaps an operand's."""


_kernels: dict[str, Kernel] = {}
"""Filled at import by the family files; empty where the compiled module is missing."""


_halves: dict[str, Kernel] = {}
"""Those that are given 16-bit floats as they are, by op name."""


def register(kernel: Kernel, *, half: bool = False) -> Kernel:
    """Enter `kernel` under its name; a name is taken once.

    What is entered as `half` is asked before 16-bit floats are cast to float32, and is given them as they are. It
    computes in float32 and rounds once, and returns the types that the op's rule names.
    """
    table = _halves if half else _kernels
    if kernel.name in table:
        raise ValueError(f"there is a kernel called {kernel.name!r} already")
    table[kernel.name] = kernel
    return kernel


def lookup(op_name: str) -> Kernel | None:
    """Return the kernel for an op, or None when there is none in this process."""
    return _kernels.get(op_name)


def lookup_half(op_name: str) -> Kernel | None:
    """Return the kernel of an op for 16-bit floats, or None when there is none in this process."""
    return _halves.get(op_name)


def names() -> tuple[str, ...]:
    """Return the names of the ops that have a kernel in this process."""
    return tuple(sorted(_kernels))


def half_names() -> tuple[str, ...]:
    """Return the names of the ops that have a kernel for 16-bit floats in this process."""
    return tuple(sorted(_halves))

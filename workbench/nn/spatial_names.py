"""What layers on sequences, images and volumes ask of the names of their input, such as [N, C, H, W]."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Names, near_miss
from workbench.base.errors import DimensionError
from workbench.core.origins import origins_of
from workbench.core.value import dims_of
from workbench.ops.nn.conv.window_geometry import LAYOUT

__all__ = ["IMAGE", "check_layout", "check_names", "check_spatial", "require_size"]

IMAGE: Names = ("N", "C", "H", "W")
"""Names of the dims of a batch of images."""


def check_names(layer: str, x: Any, expected: Names = IMAGE) -> None:
    """Raise `DimensionError` where a dim of `x` has a name other than the one expected at its position.

    Dims without a name pass; how many dims there are is left to the op.

    >>> import workbench as wb
    >>> check_names("Conv2d", wb.zeros(N=1, C=1, H=4, W=4))
    """
    names = x._names
    if names is None or names == expected:
        return
    wrong = [
        i
        for i, (name, wanted) in enumerate(zip(names, expected, strict=False))
        if name is not None and name != wanted
    ]
    # Too few or too many dims are for the op to refuse, which knows what it takes.
    if not wrong or len(names) != len(expected):
        return
    given = names[wrong[0]]
    message = (
        f"takes dims {list(expected)} and got {list(names)}: position {wrong[0]} is {given!r} "
        f"where {expected[wrong[0]]!r} is expected."
    )
    error = DimensionError(
        message + _reason(names, expected, wrong),
        op=layer,
        operands=(dims_of(x).operand("input", wrong),),
        fix=_fix(names, expected, wrong),
    )
    error.label(("",), (origins_of(x),))
    raise error


def check_layout(layer: str, x: Any, n: int) -> None:
    """Raise `DimensionError` unless the names of `x` are those of [N, C, …] or [C, …] with `n` spatial dims.

    >>> import workbench as wb
    >>> check_layout("Conv1d", wb.zeros(C=1, L=4), 1)
    """
    names = x._names
    if names is not None:
        expected = LAYOUT[n]
        check_names(layer, x, expected if len(names) == n + 2 else expected[1:])


def check_spatial(layer: str, x: Any, n: int) -> None:
    """Raise `DimensionError` unless the last `n` dims of `x` are called as spatial dims are, where they have names.

    >>> import workbench as wb
    >>> check_spatial("ZeroPad2d", wb.zeros(time=1, H=4, W=4), 2)
    """
    names = x._names
    if names is not None and len(names) >= n and names[-n:] != LAYOUT[n][2:]:
        check_names(layer, x, (*names[:-n], *LAYOUT[n][2:]))


def require_size(least: int, **sizes: object) -> None:
    """Raise ValueError unless every size is a whole number, at least `least`.

    >>> require_size(1, in_channels=0)
    Traceback (most recent call last):
    ValueError: in_channels must be a whole number, at least 1, got 0
    """
    for what, value in sizes.items():
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
            raise ValueError(f"{what} must be a whole number, at least {least}, got {value!r}")


def _quoted(expected: Names) -> str:
    return ", ".join(repr(name) for name in expected)


def _reason(names: Names, expected: Names, wrong: list[int]) -> str:
    if set(names) == set(expected):
        return " The names are the same in another order."
    for i in wrong:
        name = names[i]
        if name is not None and name not in expected and near_miss(name, (expected[i],)):
            return f" Is {name!r} a misspelling of {expected[i]!r}?"
    return ""


def _fix(names: Names, expected: Names, wrong: list[int]) -> str:
    """Code that would work: an alignment if the names are permuted, else new names for those that are wrong."""
    if set(names) == set(expected):
        return f"x.align_to({_quoted(expected)})"
    if any(names[i] in expected for i in wrong):
        return f"x.rename({_quoted(expected)})  # if the dims are those; else name them right and x.align_to(...)"
    return (
        "x.rename(" + ", ".join(f"{names[i]}={expected[i]!r}" for i in wrong) + ")  # if they mean the same"
    )

"""Laying neighbouring dims out as one, and splitting one into several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.nn import functional
from workbench.nn.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Lay neighbouring dims out as one: those from `start_dim` to `end_dim`.

    Dims are given by position or by name. The new dim is called `out_dim`, which is ``features`` where all dims that
    go into it have names.

    >>> import workbench as wb
    >>> Flatten()(wb.zeros(N=2, C=3, H=4, W=4)).names
    ('N', 'features')
    >>> Flatten("H", "W", out_dim="pixel")(wb.zeros(N=2, C=3, H=4, W=4)).names
    ('N', 'C', 'pixel')
    """

    def __init__(self, start_dim: int | str = 1, end_dim: int | str = -1, out_dim: str | None = None) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim
        self.out_dim = out_dim

    def forward(self, input: Any) -> Any:
        """Flatten."""
        return functional.flatten(input, self.start_dim, self.end_dim, self.out_dim)

    def extra_repr(self) -> str:
        """Return the settings."""
        named = f", out_dim={self.out_dim!r}" if self.out_dim else ""
        return f"start_dim={self.start_dim!r}, end_dim={self.end_dim!r}{named}"


class Unflatten(Module):
    """Split one dim, given by position or by name, into several.

    `unflattened_size` is a tuple of sizes, of which one may be -1, or of pairs of name and size (or a dict of these).
    Raises TypeError where it is something else, and `DimensionError` where the sizes do not multiply up.

    >>> import workbench as wb
    >>> Unflatten(1, (3, 4))(wb.zeros(2, 12)).shape
    (2, 3, 4)
    >>> Unflatten("features", {"C": 3, "L": 4})(wb.zeros(N=2, features=12)).names
    ('N', 'C', 'L')
    """

    unflattened_size: tuple[Any, ...]

    def __init__(self, dim: int | str, unflattened_size: Any) -> None:
        super().__init__()
        self.dim = dim
        self.unflattened_size = _checked_sizes(unflattened_size)

    def forward(self, input: Any) -> Any:
        """Split the dim."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"dim={self.dim!r}, unflattened_size={self.unflattened_size}"


def _checked_sizes(sizes: Any) -> tuple[Any, ...]:
    """Return sizes, or pairs of name and size, as a tuple."""
    if isinstance(sizes, Mapping):
        sizes = tuple(sizes.items())
    if not isinstance(sizes, tuple | list):
        raise TypeError(
            f"unflattened_size must be a tuple of ints, or of pairs of name and size, but found type "
            f"{type(sizes).__name__}"
        )
    named = any(isinstance(one, tuple | list) for one in sizes)
    for i, one in enumerate(sizes):
        if named:
            good = (
                isinstance(one, tuple | list) and len(one) == 2 and isinstance(one[0], str) and _whole(one[1])
            )
        else:
            good = _whole(one)
        if not good:
            kind = "pairs of name and size" if named else "ints"
            raise TypeError(
                f"unflattened_size must be tuple of {kind}, but found element of type {type(one).__name__} at pos {i}"
            )
    return tuple(tuple(one) for one in sizes) if named else tuple(sizes)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)

"""Where the dims of tensors of indices stand in what they pick."""

from __future__ import annotations

from workbench.base.dims import Dims

__all__ = ["layout"]


def layout(ndim: int, dims: tuple[int, ...], indices: tuple[Dims, ...], width: int) -> tuple[list[int], int]:
    """Return the dims that stay, and before how many of them the `width` dims of the indices stand.

    They take the place of the indexed dims where those are neighbours, and come first where they are not.
    """
    rest = [i for i in range(ndim) if i not in dims]
    # An index without dims selects: the dims of the others are neighbours when it is gone.
    wide = [dim for dim, one in zip(dims, indices, strict=True) if one.sizes] or list(dims)
    gone = set(dims) - set(wide)
    inside = [i for i in range(wide[0], wide[-1] + 1) if i not in gone]
    return rest, (sum(i < wide[0] for i in rest) if inside == wide and width else 0)

"""Dims that a layer knows by their position, such as the classes in dim 1: a name must not say otherwise."""

from __future__ import annotations

from typing import Any

from workbench.base.errors import DimensionError
from workbench.core.origins import origins_of
from workbench.core.value import dims_of

__all__ = ["check_places"]


def check_places(layer: str, x: Any, **places: int) -> None:
    """Raise `DimensionError` where a dim of `x` has one of these names and stands elsewhere than `layer` takes it.

    Other names, and dims without a name, pass. A value with fewer dims than a place needs passes too.

    >>> import workbench as wb
    >>> check_places("CrossEntropyLoss", wb.zeros(N=2, C=3, T=4), C=1)
    >>> check_places("CrossEntropyLoss", wb.zeros(N=2, T=4, C=3), C=1)
    Traceback (most recent call last):
    workbench.base.errors.DimensionError: CrossEntropyLoss: CrossEntropyLoss takes 'C' as dim 1 and got ...
    """
    names = x._names
    if names is None:
        return
    for name, place in places.items():
        if name in names and place < len(names) and names.index(name) != place:
            _refuse(layer, x, name, place, places)


def _refuse(layer: str, x: Any, name: str, place: int, places: dict[str, int]) -> None:
    names = x._names
    here = names.index(name)
    fix = ""
    # An alignment has to name every dim.
    if None not in names:
        order = [one for one in names if one not in places]
        for one, wanted in sorted(places.items(), key=lambda pair: pair[1]):
            if one in names:
                order.insert(wanted, one)
        fix = "x.align_to(" + ", ".join(repr(one) for one in order) + ")"
    error = DimensionError(
        f"{layer} takes {name!r} as dim {place} and got {list(names)}, where it is dim {here}.",
        op=layer,
        operands=(dims_of(x).operand("input", [here]),),
        fix=fix,
    )
    error.label(("",), (origins_of(x),))
    raise error

"""Names on a tensor: given, changed, refined, and used to put dims in order. They never move data by themselves.

These are methods of `Tensor`, written as functions of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.base.dims import Names, check_names, misspelling, near_miss
from workbench.base.errors import DimensionError
from workbench.core.op import ops
from workbench.core.origins import note_line
from workbench.core.value import dims_of
from workbench.ops.shape import reshape as shapes

if TYPE_CHECKING:
    from workbench.tensor.tensor import Tensor

__all__ = ["align_as", "align_to", "has_names", "refine_names", "rename", "rename_"]


def has_names(self: Tensor) -> bool:
    """True if any dim has a name."""
    return self._names is not None


def rename(self: Tensor, *names: Any, **renamed: str | None) -> Tensor:
    """Return the same tensor under other names: ``rename('N', 'C')``, ``rename(N='B')``, ``rename(None)``.

    One ``...`` stands for the dims that keep their names.
    """
    return note_line(ops.rename(self, names=_renamed(self, names, renamed)))  # type: ignore[no-any-return]


def rename_(self: Tensor, *names: Any, **renamed: str | None) -> Tensor:
    """Rename in place."""
    self._names = _renamed(self, names, renamed)
    return note_line(self)  # type: ignore[no-any-return]


def _renamed(self: Tensor, names: tuple[Any, ...], renamed: dict[str, str | None]) -> Names | None:
    if names and renamed:
        raise DimensionError("rename: either positional args or keyword args, but not both", op="rename")
    if renamed:
        # Who names one dim of a parameter takes its labels for the names of the others.
        known = self.dim_labels
        for old in renamed:
            if old not in known:
                near = near_miss(old, known)
                raise DimensionError(
                    f"rename: Tried to rename dim '{old}' to dim '{renamed[old]}' in "
                    f"Tensor{list(known)} but dim "
                    f"'{old}' does not exist" + (f". Did you mean {near!r}?" if near else ""),
                )
        # Together, so that two names can be exchanged.
        names = tuple(renamed.get(name, name) if name else None for name in known)
    elif names == (None,):
        return None
    elif not names and self.ndim:
        raise DimensionError("rename: give the new names, or None to drop all", op="rename")
    elif any(one in (..., "...") for one in names):
        names = _fill(self, names, "rename")
    return check_names(names, self.ndim)


def _fill(self: Tensor, names: tuple[Any, ...], op: str) -> tuple[Any, ...]:
    """Replace the one ellipsis in `names` by this tensor's own names at those positions."""
    places = [i for i, one in enumerate(names) if one in (..., "...")]
    if len(places) > 1:
        raise DimensionError(f"{op}: More than one Ellipsis ('...') found in names", op=op)
    at, after = places[0], len(names) - places[0] - 1
    if at + after > self.ndim:
        raise DimensionError(f"{op}: {len(names) - 1} names for {self.ndim} dims", op=op)
    return (*names[:at], *self.names[at : self.ndim - after], *names[at + 1 :])


def refine_names(self: Tensor, *names: Any) -> Tensor:
    """Give names to dims that have none; a name that is there already must be the same."""
    wanted = _fill(self, names, "refine_names") if any(one in (..., "...") for one in names) else names
    if len(wanted) != self.ndim:
        raise DimensionError(
            f"refine_names: different number of dims: {len(wanted)} names for {self.ndim} dims",
            op="refine_names",
        )
    for i, (own, name) in enumerate(zip(self.names, wanted, strict=True)):
        # Refining only adds: a name that is there can be repeated, and neither changed nor dropped.
        if own is not None and own != name:
            why = (
                f"{own!r} is more specific than None"
                if name is None
                else f"{own!r} is different from {name!r}"
            )
            if name is not None and near_miss(name, [own]):
                why += f" (is {name!r} a misspelling?)"
            raise DimensionError(
                f"refine_names: cannot coerce Tensor{list(self.names)} to Tensor{list(wanted)} "
                f"because {why} at index {i}",
                operands=(dims_of(self).operand("input", [i]),),
            )
    return note_line(ops.rename(self, names=check_names(wanted, self.ndim)))  # type: ignore[no-any-return]


def align_to(self: Tensor, *names: Any) -> Tensor:
    """Permute the dims into the order of `names`, with size-1 dims for names this tensor lacks.

    One ``...`` stands for all dims that are not mentioned, in their order. A parameter's labels are its names here.
    """
    if self._names is None and any(self.dim_labels):
        self = ops.rename(self, names=self.dim_labels)
    given = [one for one in names if one not in (..., "...")]
    if len(names) - len(given) > 1:
        raise DimensionError("align_to: More than one Ellipsis ('...') found in names", op="align_to")
    if None in given:
        raise DimensionError(
            "align_to: the desired order of dimensions cannot contain a None name", op="align_to"
        )
    # Without an ellipsis every dim must have a place.
    if len(given) == len(names):
        for i, name in enumerate(self.names):
            if name is None:
                raise DimensionError(
                    f"align_to: All input dims must be named. Found unnamed dim at index {i} of "
                    f"Tensor{list(self.names)}.",
                    operands=(dims_of(self).operand("input", [i]),),
                    fix="x.align_to('...', ...)",
                )
            if name not in given:
                near = near_miss(name, given)
                raise DimensionError(
                    f"align_to: Cannot find dim {name!r} from Tensor{list(self.names)} in desired "
                    f"alignment {given}." + (f" Is {near!r} a misspelling?" if near else "")
                )
    check_names(given, len(given))
    for name in given:
        if name not in self.names:
            # A name that is not there becomes a new dim: one that only looks misspelt would do so silently.
            near = misspelling(name, [one for one in self.names if one not in given])
            if near is not None:
                raise DimensionError(
                    f"align_to: there is no dim {name!r} in Tensor{list(self.names)}. Is {name!r} a misspelling of "
                    f"{near!r}?",
                    operands=(dims_of(self).operand("input", [self.names.index(near)]),),
                )
    order: list[Any] = []
    for one in names:
        if one in (..., "..."):
            order += [i for i, name in enumerate(self.names) if name is None or name not in given]
        else:
            order.append(self.names.index(one) if one in self.names else one)
    whole: Any = self  # the tensor, whose names these are
    moved = shapes.permute(whole, tuple(i for i in order if isinstance(i, int)))
    for at, one in enumerate(order):
        if isinstance(one, str):
            moved = shapes.unsqueeze(moved, at, one)
    return moved


def align_as(self: Tensor, other: Any) -> Tensor:
    """Permute the dims into the order of `other`'s, with size-1 dims where this tensor lacks one."""
    return self.align_to(*other.names)

"""Dimension names and their algebra: what a tensor's dims are called, and which go together.

A dim has a size and a name; the name `None` is a wildcard that goes with any name. Names never move data:
positions decide, and names check them. The rules are those of PyTorch's named tensors (unify from the
right), made stricter where those were silent: a name that is nearly another is called a misspelling, and
operands whose names are a permutation of each other are refused with the alignment that would fix them.
"""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from workbench.base.errors import DimensionError, DimensionIndexError, Operand
from workbench.base.symbolic_size import hint, is_one, remembered

__all__ = [
    "Dims",
    "LabelledDims",
    "Names",
    "broadcast",
    "broadcast_size",
    "broadcast_sizes",
    "check_names",
    "dim_index",
    "dim_indices",
    "misspelling",
    "near_miss",
    "new_name",
    "unify_along",
    "unify_names",
]

Names = tuple[str | None, ...]

MAXIMUM_DIMS = 64
"""NumPy's own limit on the number of dimensions."""

LONGEST_NAME = 256
"""Most characters of a name: they stand in every error, picture and printed form."""


class Dims(NamedTuple):
    """The dims of one tensor: names and sizes, position by position."""

    names: Names
    sizes: tuple[int, ...]

    @property
    def numel(self) -> int:
        """Number of values of a tensor with these dims."""
        return math.prod(self.sizes)

    def operand(self, label: str = "", marks: Iterable[int] = ()) -> Operand:
        """Return these dims as an operand of an error, with the positions in `marks` marked."""
        marked = set(marks)
        return Operand(
            label, self.names, self.sizes, marks=tuple(i in marked for i in range(len(self.sizes)))
        )

    def without(self, axes: Iterable[int]) -> Dims:
        """Return these dims less those at the positions `axes`."""
        drop = set(axes)
        keep = [i for i in range(len(self.sizes)) if i not in drop]
        return Dims(tuple(self.names[i] for i in keep), tuple(self.sizes[i] for i in keep))

    @property
    def labels(self) -> Names:
        """What the dims are called in pictures: their names, or what a parameter says of dims that have none."""
        return self.names

    def by_label(self) -> Dims:
        """Return these dims with their labels as names: what an op sees where another operand has names."""
        return self

    def of_sizes(self, sizes: tuple[int, ...]) -> Dims:
        """Return as many dims of other sizes, with these names and labels."""
        return Dims(self.names, sizes)

    def __str__(self) -> str:
        named = zip(self.labels, map(hint, self.sizes), strict=True)
        return "[" + ", ".join(f"{name or '·'}:{size}" for name, size in named) + "]"


class LabelledDims(Dims):
    """The dims of a parameter: they have no names, so that nothing is refused for them; it is known what they are.

    They equal unnamed dims of these sizes. Pictures show the labels, a dim may be asked for by its label, and an op
    that gets values with names beside them takes the labels for names (`by_label`).

    >>> dims = LabelledDims.of((None, None), (2, 3), ("out_features", "in_features"))
    >>> dims.names, dim_index(dims, "in_features"), print(dims)
    [out_features:2, in_features:3]
    ((None, None), 1, None)
    """

    _labels: Names

    @classmethod
    def of(cls, names: Names, sizes: tuple[int, ...], labels: Names) -> LabelledDims:
        """Return dims without names that are called `labels`."""
        dims: LabelledDims = tuple.__new__(cls, (names, sizes))
        dims._labels = labels
        return dims

    @property
    def labels(self) -> Names:
        """What the dims are called."""
        return self._labels

    def by_label(self) -> Dims:
        """Return dims whose names are the labels."""
        return Dims(self._labels, self.sizes)

    def of_sizes(self, sizes: tuple[int, ...]) -> Dims:
        """Return as many dims of other sizes, with these labels."""
        return LabelledDims.of(self.names, sizes, self._labels)


def unnamed(sizes: Sequence[int]) -> Dims:
    """Return dims of the given sizes without names.

    >>> print(unnamed((2, 3)))
    [·:2, ·:3]
    """
    return Dims((None,) * len(sizes), tuple(sizes))


def check_names(names: Sequence[str | None] | None, ndim: int) -> Names | None:
    """Return `names` as a tuple fit for a tensor of `ndim` dims, or None where no dim has a name.

    A name is an identifier (letters, digits and underscores, not starting with a digit) and occurs once.

    >>> check_names(("N", "C"), 2)
    ('N', 'C')
    >>> check_names(("N", "N"), 2)
    Traceback (most recent call last):
    workbench.base.errors.DimensionError: Cannot construct a tensor with duplicate names: 'N' stands twice ...
    """
    if names is None:
        return None
    if isinstance(names, str):
        raise TypeError(f"names must be a tuple of names, not the string {names!r}: write names=({names!r},)")
    result = tuple(names)
    if len(result) != ndim:
        raise DimensionError(
            f"Number of names ({len(result)}) and number of dimensions in tensor ({ndim}) do not "
            f"match: got {list(result)}."
        )
    for name in result:
        if name is not None:
            _check_name(name)
    given = [name for name in result if name is not None]
    if len(set(given)) != len(given):
        twice = next(name for name in given if given.count(name) > 1)
        raise DimensionError(
            f"Cannot construct a tensor with duplicate names: {twice!r} stands twice in {list(result)}."
        )
    return result if given else None


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"a dimension name is a string or None, not {name!r}")
    if len(name) > LONGEST_NAME:
        raise DimensionError(
            f"a dimension name has at most {LONGEST_NAME} characters, not {len(name)} characters: {name[:40]!r}…"
        )
    # By itself `isidentifier` takes letters of every script, among them ones that look alike.
    if not (name.isascii() and name.isidentifier()):
        raise DimensionError(
            f"{name!r} is not a valid dimension name: names must contain alphabetical characters, digits and/or "
            "underscore and not start with a digit."
        )


def near_miss(name: str, candidates: Iterable[str | None]) -> str | None:
    """Return the candidate that `name` is probably a misspelling of, or None.

    >>> near_miss("chanels", ["batch", "channels"])
    'channels'
    """
    known = [candidate for candidate in candidates if candidate and candidate != name]
    for candidate in known:
        if candidate.lower() == name.lower():
            return candidate
    # Of one or two letters nearly every other name would be a misspelling.
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.75) if len(name) > 2 else []
    return close[0] if close else None


def misspelling(name: str, candidates: Iterable[str | None]) -> str | None:
    """Return the near miss of `name`, unless the two differ by a number only: those are two names of one family.

    >>> misspelling("chanels", ["channels"]), misspelling("head1", ["head2"])
    ('channels', None)
    """
    near = near_miss(name, candidates)
    letters = [re.sub(r"\d+", "", one) for one in (name, near or "")]
    return None if letters[0] == letters[1] and name.lower() != (near or "").lower() else near


def dim_index(dims: Dims, dim: int | str, op: str = "") -> int:
    """Return the position of `dim`, given by index (negative from the end) or by name.

    >>> dim_index(Dims(("N", "C"), (2, 3)), "C"), dim_index(unnamed((2, 3)), -1)
    (1, 1)
    """
    if isinstance(dim, str):
        if dim in dims.labels:
            return dims.labels.index(dim)
        near = near_miss(dim, dims.labels)
        raise DimensionIndexError(
            f"Name {dim!r} not found in Tensor{list(dims.labels)}."
            + (f" Did you mean {near!r}?" if near else ""),
            op=op,
            operands=(dims.by_label().operand(),),
        )
    if dim is None:
        raise DimensionIndexError("Please look up dimensions by name, got: name = None.", op=op)
    ndim = len(dims.sizes)
    # As in PyTorch a tensor without dims takes 0 and -1, as if it had one.
    limit = max(ndim, 1)
    try:
        index = operator.index(dim)
    except TypeError as error:
        raise TypeError(f"{op or 'dim'}: a dim is a whole number or a name, got {dim!r}") from error
    if not -limit <= index < limit:
        raise DimensionIndexError(
            f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {index})",
            op=op,
            operands=(dims.operand(),),
        )
    return index % limit


def dim_indices(dims: Dims, dim: int | str | Sequence[int | str] | None, op: str = "") -> tuple[int, ...]:
    """Return the positions of one dim, several, or (None) all of them, each at most once.

    >>> dim_indices(Dims(("N", "C"), (2, 3)), None), dim_indices(Dims(("N", "C"), (2, 3)), ("C",))
    ((0, 1), (1,))
    """
    if dim is None:
        return tuple(range(len(dims.sizes)))
    several = (dim,) if isinstance(dim, int | str) else tuple(dim)
    # As in PyTorch no dim at all means all of them.
    if not several:
        return tuple(range(len(dims.sizes)))
    indices = tuple(dim_index(dims, one, op) for one in several)
    if len(set(indices)) != len(indices):
        raise DimensionError(
            f"dim {list(several)} names a dimension twice.", op=op, operands=(dims.operand(),)
        )
    if not dims.sizes:
        return ()
    return indices


def new_name(name: str | None, others: Names, given: Names) -> str | None:
    """Return the name of a dim that an op makes beside `others`: `name`, unless one of them has it.

    What is `given` without any name stays so: names are there for those who use them, and a program that names nothing
    never meets them.

    >>> new_name("E", ("N",), ("N", None)), new_name("E", ("E",), ("E", None)), new_name("E", (None,), (None, None))
    ('E', None, None)
    """
    return name if any(given) and name not in others else None


@remembered(4096)
def unify_names(op: str, a: Dims, b: Dims) -> Names:
    """Return the names that two operands have together, matched from the right; raise where they clash.

    >>> unify_names("add", Dims(("N", "C"), (2, 3)), Dims((None,), (3,)))
    ('N', 'C')
    """
    ndim = max(len(a.names), len(b.names))
    left = (None,) * (ndim - len(a.names)) + a.names
    right = (None,) * (ndim - len(b.names)) + b.names
    # Clashes are told first: a name that stands elsewhere is often no more than their consequence.
    for position in range(ndim - 1, -1, -1):
        x, y = left[position], right[position]
        if x is not None and y is not None and x != y:
            raise _clash(op, a, b, ndim - position, x, y)
    for position in range(ndim - 1, -1, -1):
        x, y = left[position], right[position]
        if x != y:
            name = x if y is None else y
            other = right if y is None else left
            if name in other:
                raise _misaligned(op, a, b, str(name))
    return tuple(x if y is None else y for x, y in zip(left, right, strict=True))


@remembered(4096)
def unify_along(op: str, a: Dims, b: Dims, dim: int, labels: tuple[str, str] = ("input", "index")) -> Names:
    """Return the names of values picked, or written, along `dim`: there that of `b`, elsewhere those of both.

    What stands along `dim` is another thing in each (entries, and which of them); all other dims go together place by
    place, and a name that stands at another place in the other one is refused. `a` and `b` have equally many dims.

    >>> unify_along("gather", Dims(("N", "C"), (2, 5)), Dims(("N", "K"), (2, 3)), 1)
    ('N', 'K')
    """
    try:
        for i in range(len(a.names) - 1, -1, -1):
            x, y = a.names[i], b.names[i]
            if i != dim and x is not None and y is not None and x != y:
                raise _clash(op, a, b, len(a.names) - i, x, y)
        for i, (x, y) in enumerate(zip(a.names, b.names, strict=True)):
            if (y is not None and y in (*a.names[:i], *a.names[i + 1 :])) or (
                x is not None and x in (*b.names[:i], *b.names[i + 1 :])
            ):
                raise _misaligned(op, a, b, str(y if y in a.names and y != x else x))
    except DimensionError as error:
        error.label(labels, ((), ()))
        raise
    return tuple(x if y is None else y for x, y in zip(a.names, b.names, strict=True))


def _clash(op: str, a: Dims, b: Dims, from_right: int, x: str, y: str) -> DimensionError:
    """The error for two different names at the same position from the right."""
    message = (
        f"Error when attempting to broadcast dims {list(a.names)} and dims {list(b.names)}: dim {x!r} and dim {y!r} "
        "are at the same position from the right but do not match."
    )
    fix = ""
    near = near_miss(y, a.names) or near_miss(x, b.names)
    if set(a.names) == set(b.names) or (None not in b.names and set(b.names) < set(a.names)):
        message += " The names are the same in another order."
        fix = "other.align_as(input)"
    elif near is not None:
        wrong, target = (y, "other") if near in a.names else (x, "input")
        message += f" Is {wrong!r} a misspelling of {near!r}?"
        fix = f"{target}.rename({wrong}={near!r})"
    elif None not in b.names and None not in a.names and not set(a.names) & set(b.names) - {x, y}:
        fix = f"other.rename({y}={x!r})  # if they mean the same"
    elif None not in b.names:
        fix = (
            f"other.align_to('...', {x!r})"
            if x in b.names
            else f"other.rename({y}={x!r})  # if they mean the same"
        )
    elif x not in b.names and y not in a.names:
        fix = f"other.rename({y}={x!r})  # if they mean the same"
    marks_a, marks_b = [len(a.sizes) - from_right], [len(b.sizes) - from_right]
    return DimensionError(
        message, op=op, operands=(a.operand("input", marks_a), b.operand("other", marks_b)), fix=fix
    )


def _misaligned(op: str, a: Dims, b: Dims, name: str) -> DimensionError:
    """The error for a name that stands at different positions from the right in the two operands."""
    message = (
        f"Misaligned dims when attempting to broadcast dims {list(a.names)} and dims {list(b.names)}: dim {name!r} "
        "appears in a different position from the right across both lists."
    )
    longer, shorter, label = (a, b, "other") if len(a.names) >= len(b.names) else (b, a, "input")
    other = "input" if label == "other" else "other"
    fix = (
        f"{label}.align_as({other})"
        if None not in shorter.names and set(shorter.names) <= set(longer.names)
        else ""
    )
    marks = [[i for i, one in enumerate(dims.names) if one == name] for dims in (a, b)]
    return DimensionError(
        message, op=op, operands=(a.operand("input", marks[0]), b.operand("other", marks[1])), fix=fix
    )


@remembered(4096)
def broadcast(op: str, a: Dims, b: Dims) -> Dims:
    """Return the dims of an elementwise op on two operands: names unified, sizes broadcast.

    >>> print(broadcast("add", Dims(("N", "C"), (2, 3)), Dims(("C",), (3,))))
    [N:2, C:3]
    """
    names = unify_names(op, a, b)
    ndim = len(names)
    left = (1,) * (ndim - len(a.sizes)) + a.sizes
    right = (1,) * (ndim - len(b.sizes)) + b.sizes
    sizes = []
    for position, (x, y) in enumerate(zip(left, right, strict=True)):
        sizes.append(broadcast_size(x, y))
        if sizes[-1] is None:
            raise _sizes_clash(op, a, b, position, ndim, names[position])
    return Dims(names, tuple(sizes))


def broadcast_size(x: Any, y: Any) -> Any:
    """Return the size that two dims have together, where one of 1 goes with any; None where they do not go together.

    Of sizes of a trace it is guarded which of these it was, and no more than that: a 1 that always is one needs none.

    >>> broadcast_size(3, 1), broadcast_size(3, 3), broadcast_size(3, 2)
    (3, 3, None)
    """
    # Plain numbers, the common case, need no guard.
    if type(x) is int is type(y):
        return y if x == 1 else x if y in (1, x) else None
    if is_one(x):
        return y
    if is_one(y):
        return x
    today = hint(x), hint(y)
    if today[0] == today[1]:
        return x if x == y else None
    if today[0] == 1:
        return y if x == 1 else None
    return x if today[1] == 1 and y == 1 else None


def broadcast_sizes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the sizes that several shapes broadcast to together; raise ValueError where they do not go together.

    >>> broadcast_sizes((2, 1), (3,), ())
    (2, 3)
    """
    ndim = max(map(len, shapes), default=0)
    found: list[Any] = [1] * ndim
    for shape in shapes:
        for position, size in enumerate(shape, ndim - len(shape)):
            found[position] = broadcast_size(found[position], size)
            if found[position] is None:
                raise ValueError(f"sizes do not go together: {[tuple(one) for one in shapes]}")
    return tuple(found)


def _sizes_clash(op: str, a: Dims, b: Dims, position: int, ndim: int, name: str | None) -> DimensionError:
    from_right = ndim - position
    x, y = a.sizes[-from_right], b.sizes[-from_right]
    called = f" ({name!r})" if name else ""
    fix = ""
    # Guesses at what was meant: a matrix the other way round, or a vector along another dim.
    if x in b.sizes and y in a.sizes and len(a.sizes) == len(b.sizes) == 2:
        fix = f"{op}(input, other.t())"
    elif len(b.sizes) == 1 and y in a.sizes:
        after = len(a.sizes) - 1 - a.sizes.index(y)
        fix = f"{op}(input, other[:{', None' * after}])"
    return DimensionError(
        f"The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension "
        f"{position}{called}.",
        op=op,
        operands=(
            a.operand("input", [len(a.sizes) - from_right]),
            b.operand("other", [len(b.sizes) - from_right]),
        ),
        fix=fix,
    )

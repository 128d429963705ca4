"""Einstein sums: products of several tensors, summed over the dims that the result does not have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from workbench.base.dims import Dims, broadcast_size, broadcast_sizes, misspelling, near_miss
from workbench.base.errors import DimensionError
from workbench.base.symbolic_size import remembered
from workbench.core.op import ops
from workbench.core.outcome import seen_dims
from workbench.core.typing import Tensor
from workbench.ops.linalg.matrices import shape
from workbench.ops.offer import offered

Label = str
"""A subscript: a letter, a word, or ``.0``, ``.1``, … for the dims of an ellipsis, counted from the right."""


class Plan(NamedTuple):
    """An equation as it applies to operands of given sizes."""

    terms: tuple[tuple[Label, ...], ...]
    out: tuple[Label, ...]
    sizes: dict[Label, int]
    words: bool = False
    """Whether subscripts are set apart by spaces: they are then names of dims, of one letter or several."""


def _refuse(message: str) -> DimensionError:
    return DimensionError(f"einsum(): {message}")


# ------------------------------------------------------------------------------------------ the equation


def _letters(term: str, which: str, offset: int) -> list[Label]:
    """Split a term of single letters; an ellipsis is the label ``...``."""
    found: list[Label] = []
    position = 0
    while position < len(term):
        letter = term[position]
        if letter == ".":
            if term[position : position + 3] != "...":
                raise _refuse(f"found '.' {which} that is not part of any ellipsis")
            if "..." in found:
                raise _refuse(f"found '.' {which} for which an ellipsis was already found")
            found.append("...")
            position += 3
        elif letter.isascii() and letter.isalpha():
            found.append(letter)
            position += 1
        elif letter.isspace():
            position += 1
        else:
            raise _refuse(
                f"invalid subscript given at index {offset + position} in the equation string, subscripts must be in "
                "[a-zA-Z]"
            )
    return found


def _words(equation: str, ranks: tuple[int, ...]) -> tuple[list[list[Label]], list[Label] | None] | None:
    """Split terms into words at spaces; None where the equation is one of letters.

    It is one of words where some word has several letters, and the words of every term, not its letters, are as many
    as its operand has dims.
    """
    left, arrow, right = equation.partition("->")
    terms = [term.split() for term in left.split(",")]
    out = right.split() if arrow else None
    everything = [word for term in [*terms, out or []] for word in term if word != "..."]
    if len(terms) != len(ranks) or not all(word.isidentifier() for word in everything):
        return None
    if all(len(word) == 1 for word in everything):
        return None
    by_letters = []
    for term, rank in zip(terms, ranks, strict=True):
        if not (len(term) == rank or ("..." in term and len(term) - 1 <= rank)):
            return None
        by_letters.append(sum(len(word) for word in term if word != "...") == rank)
    return None if all(by_letters) else (terms, out)


@remembered(1024)
def _plan(equation: str, sizes: tuple[tuple[int, ...], ...]) -> Plan:
    """Read an equation for operands of the given sizes; refuse what does not fit."""
    ranks = tuple(len(one) for one in sizes)
    words = _words(equation, ranks)
    if words is not None:
        return _checked(words[0], words[1], sizes)._replace(words=True)
    left, arrow, right = equation.partition("->")
    parts = left.split(",")
    if len(parts) > len(sizes):
        raise _refuse("fewer operands were provided than specified in the equation")
    if len(parts) < len(sizes):
        raise _refuse("more operands were provided than specified in the equation")
    terms, offset = [], 0
    for i, part in enumerate(parts):
        terms.append(_letters(part, f"for operand {i}", offset))
        offset += len(part) + 1
    plan = _checked(terms, _letters(right, "in the output", offset + 1) if arrow else None, sizes)
    return plan._replace(words=_set_apart((*parts, right)))


def _set_apart(terms: Sequence[str]) -> bool:
    """Say whether letters are set apart by spaces in every term that has several: ``"N T, T C -> N C"``."""
    several = [term.split() for term in terms if len(term.replace("...", " ").split()) > 1]
    together = any(len(word) > 1 and word != "..." for term in terms for word in term.split())
    return bool(several) and not together


def _checked(
    terms: Sequence[Sequence[Label]], out: Sequence[Label] | None, sizes: tuple[tuple[int, ...], ...]
) -> Plan:
    full: list[tuple[Label, ...]] = []
    found: dict[Label, int] = {}
    widest = 0
    for i, (term, own) in enumerate(zip(terms, sizes, strict=True)):
        named = [label for label in term if label != "..."]
        dots = len(own) - len(named)
        if dots != 0 and ("..." not in term or dots < 0):
            raise _refuse(
                f"the number of subscripts in the equation ({len(named)}) "
                + (
                    f"is more than the number of dimensions ({len(own)}) for operand {i}"
                    if "..." in term
                    else f"does not match the number of dimensions ({len(own)}) for operand {i} and no ellipsis was "
                    "given"
                )
            )
        widest = max(widest, dots)
        labels = tuple(
            one
            for label in term
            for one in ([f".{k}" for k in range(dots - 1, -1, -1)] if label == "..." else [label])
        )
        _measure(i, labels, own, found)
        full.append(labels)
    ellipsis = tuple(f".{k}" for k in range(widest - 1, -1, -1))
    if out is None:
        every = [label for labels in full for label in labels if not label.startswith(".")]
        result = ellipsis + tuple(sorted(label for label in set(every) if every.count(label) == 1))
    else:
        result = tuple(one for label in out for one in (ellipsis if label == "..." else (label,)))
        for label in result:
            if result.count(label) > 1:
                raise _refuse(f"output subscript {label} appears more than once in the output")
            if label not in found:
                near = near_miss(label, found)
                raise _refuse(
                    f"output subscript {label} does not appear in the equation for any input operand"
                    + (f". Did you mean {near!r}?" if near else "")
                )
    return Plan(tuple(full), result, found)


def _measure(i: int, labels: tuple[Label, ...], own: tuple[int, ...], found: dict[Label, int]) -> None:
    """Enter the sizes of one operand; sizes of 1 go with any."""
    here: dict[Label, int] = {}
    for label, size in zip(labels, own, strict=True):
        if here.setdefault(label, size) != size:
            raise _refuse(
                f"subscript {label} is repeated for operand {i} but the sizes don't match, {size} != {here[label]}"
            )
        before = found.setdefault(label, size)
        found[label] = broadcast_size(before, size)
        if found[label] is None:
            raise _refuse(
                f"subscript {label} has size {size} for operand {i} which does not broadcast with previously seen "
                f"size {before}"
            )


# -------------------------------------------------------------------------------------------------- names


def _names(plan: Plan, dims: Sequence[Dims], numbered: bool) -> tuple[str | None, ...]:
    """Return the names of the result; a dim that is called differently in two operands is refused where it stays.

    A word is the name of its dims. So is a letter that some dim is called by; other letters that stand close together
    say nothing of names, nor do numbers (`numbered`), for which letters stand here. As in `matmul`, dims that are
    contracted under such a letter may be called differently, but a name must not stand under two subscripts.
    """
    _check_words(plan, dims)
    meant = {name for own in dims for name in own.names} - {None} if not numbered else set()
    called: dict[Label, tuple[str, int]] = {}
    under: dict[str, tuple[Label, int]] = {}
    for i, (labels, own) in enumerate(zip(plan.terms, dims, strict=True)):
        for label, name in zip(labels, own.names, strict=True):
            if name is None:
                continue
            if label != name and not label.startswith(".") and (plan.words or label in meant):
                raise _called_otherwise(label, name, i, plan.words, dims)
            other, first = called.setdefault(label, (name, i))
            if other != name and label in plan.out:
                raise _clash(
                    f"subscript {label} is called {other!r} in operand {first} and {name!r} in operand {i}.",
                    dims,
                )
            before, first = under.setdefault(name, (label, i))
            if before != label:
                raise _clash(
                    f"{name!r} stands under subscript {before} in operand {first} and under {label} in operand {i}.",
                    dims,
                )
    return tuple(called[label][0] if label in called else None for label in plan.out)


def _called_otherwise(label: Label, name: str, i: int, words: bool, dims: Sequence[Dims]) -> DimensionError:
    if not words and label in dims[i].names:
        return _clash(
            f"subscript {label!r} stands for the dim {name!r} of operand {i}, which has another dim called "
            f"{label!r}.",
            dims,
        )
    near = " Is one a misspelling of the other?" if near_miss(label, [name]) else ""
    return _clash(
        f"the dim called {label!r} in the equation is called {name!r} in operand {i}.{near}",
        dims,
        "write letters that are no names close together, as 'ij,jk->ik'" if len(label) == 1 else "",
    )


def _check_words(plan: Plan, dims: Sequence[Dims]) -> None:
    """Refuse two words so alike that one is meant, of which each is summed alone: what was to meet does not."""
    alone = [
        (label, i)
        for i, labels in enumerate(plan.terms)
        for label in labels
        if len(label) > 2 and label not in plan.out and sum(label in other for other in plan.terms) == 1
    ]
    for at, (label, i) in enumerate(alone):
        near = misspelling(label, [other for other, j in alone[:at] if j != i])
        if near is not None:
            raise _clash(
                f"{near!r} and {label!r} are summed each by itself. Is one a misspelling of the other?", dims
            )


def _clash(message: str, dims: Sequence[Dims], fix: str = "") -> DimensionError:
    return DimensionError(
        f"einsum(): {message}",
        operands=tuple(one.operand(f"operand {i}") for i, one in enumerate(dims)),
        fix=fix,
    )


# ------------------------------------------------------------------------------------------- the products


def _single(x: Any, labels: tuple[Label, ...], keep: set[Label]) -> tuple[Any, tuple[Label, ...]]:
    """Take the diagonals of repeated labels, and sum what nothing else needs."""
    while len(set(labels)) < len(labels):
        label = next(one for one in labels if labels.count(one) > 1)
        i = labels.index(label)
        j = labels.index(label, i + 1)
        order = (*(k for k in range(len(labels)) if k not in (i, j)), i, j)
        # Laid out as one, the diagonal of two dims of one size lies size + 1 values apart.
        x = ops.permute(x, dim=order)
        *rest, size, _ = shape(x)
        flat = ops.reshape(x, sizes=(*rest, size * size))
        x = ops.index(flat, key=(Ellipsis, slice(0, max(size * size, 1), size + 1)))
        labels = (*(labels[k] for k in order[:-2]), label)
    gone = tuple(i for i, label in enumerate(labels) if label not in keep)
    if gone:
        x = ops.sum(x, dim=gone, keepdim=False)
        labels = tuple(label for label in labels if label in keep)
    return x, labels


def _ordered(x: Any, labels: tuple[Label, ...], wanted: tuple[Label, ...]) -> Any:
    """Return `x` with its dims in the wanted order."""
    order = tuple(labels.index(label) for label in wanted)
    return x if order == tuple(range(len(order))) else ops.permute(x, dim=order)


def _merged(x: Any, groups: Sequence[int]) -> Any:
    """Lay neighbouring dims out as one: `groups` says how many make each."""
    if all(count == 1 for count in groups):
        return x
    sizes, at = shape(x), 0
    merged = []
    for count in groups:
        merged.append(math.prod(sizes[at : at + count]))
        at += count
    return ops.reshape(x, sizes=tuple(merged))


def _pair(
    a: Any, labels_a: tuple[Label, ...], b: Any, labels_b: tuple[Label, ...], keep: set[Label]
) -> tuple[Any, tuple[Label, ...]]:
    """Multiply two operands as batches of matrices, and sum what nothing else needs."""
    sizes_a, sizes_b = dict(zip(labels_a, shape(a), strict=True)), dict(zip(labels_b, shape(b), strict=True))
    both = [label for label in labels_a if label in sizes_b]
    # What only one operand has, or has at its full size, is summed there.
    for label in both:
        if label not in keep and sizes_a[label] != sizes_b[label]:
            if sizes_a[label] == 1:
                b = ops.sum(b, dim=(labels_b.index(label),), keepdim=True)
            else:
                a = ops.sum(a, dim=(labels_a.index(label),), keepdim=True)
    a, labels_a = _single(a, labels_a, keep | set(labels_b))
    b, labels_b = _single(b, labels_b, keep | set(labels_a))
    both = [label for label in labels_a if label in labels_b]
    batch = tuple(label for label in both if label in keep)
    inner = tuple(label for label in both if label not in keep)
    left = tuple(label for label in labels_a if label not in both)
    right = tuple(label for label in labels_b if label not in both)
    if not inner:
        return _outer(a, labels_a, b, labels_b, batch, left, right)
    a = _ordered(a, labels_a, batch + left + inner)
    b = _ordered(b, labels_b, batch + inner + right)
    shape_a, shape_b = shape(a), shape(b)
    whole = broadcast_sizes(shape_a[: len(batch)], shape_b[: len(batch)])
    kept_left = shape_a[len(batch) : len(batch) + len(left)]
    kept_right = shape_b[len(shape_b) - len(right) :] if right else ()
    ones = (1,) * len(batch)
    a = _merged(a, (*ones, len(left), len(inner)))
    b = _merged(b, (*ones, len(inner), len(right)))
    product = ops.matmul(a, b)
    sizes = (*whole, *kept_left, *kept_right)
    if shape(product) != sizes:
        product = ops.reshape(product, sizes=sizes)
    return product, batch + left + right


def _outer(
    a: Any,
    labels_a: tuple[Label, ...],
    b: Any,
    labels_b: tuple[Label, ...],
    batch: tuple[Label, ...],
    left: tuple[Label, ...],
    right: tuple[Label, ...],
) -> tuple[Any, tuple[Label, ...]]:
    """Multiply two operands where nothing is summed."""
    a, b = _ordered(a, labels_a, batch + left), _ordered(b, labels_b, batch + right)
    if left and right:
        a = ops.reshape(a, sizes=shape(a) + (1,) * len(right))
        sizes = shape(b)
        b = ops.reshape(b, sizes=(*sizes[: len(batch)], *(1,) * len(left), *sizes[len(batch) :]))
    elif left:
        b = ops.reshape(b, sizes=shape(b) + (1,) * len(left))
    elif right:
        a = ops.reshape(a, sizes=shape(a) + (1,) * len(right))
    return ops.mul(a, b), batch + left + right


def _sublists(arguments: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Return the equation and the operands of the form ``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

    def term(numbers: Sequence[Any]) -> str:
        for number in numbers:
            if number is not Ellipsis and not (isinstance(number, int) and 0 <= number < 52):
                raise _refuse(f"expected subscripts to be within the range [0, 52), but got {number}")
        return "".join("..." if number is Ellipsis else letters[number] for number in numbers)

    operands = list(arguments[0 : len(arguments) - 1 : 2])
    terms = [term(one) for one in arguments[1 : len(operands) * 2 : 2]]
    equation = ",".join(terms)
    if len(arguments) % 2:
        equation += "->" + term(arguments[-1])
    return equation, operands


def _order(
    terms: Sequence[tuple[Label, ...]], out: tuple[Label, ...], sizes: dict[Label, int]
) -> tuple[int, int]:
    """Return which two of several operands to multiply first: those that make the smallest product of what they had."""
    best = None
    chosen = (0, 1)
    for i in range(len(terms)):
        for j in range(i + 1, len(terms)):
            others = {label for k, term in enumerate(terms) if k not in (i, j) for label in term} | set(out)
            mine = set(terms[i]) | set(terms[j])
            work = math.prod(sizes[label] for label in mine)
            made = math.prod(sizes[label] for label in mine & others)
            cost = (made - sum(math.prod(sizes[label] for label in terms[k]) for k in (i, j)), work)
            if best is None or cost < best:
                best, chosen = cost, (i, j)
    return chosen


@offered("workbench")
def einsum(*args: str | Tensor | Sequence[Tensor] | Sequence[int]) -> Tensor:
    """Sum of products of tensors, by an equation that names their dims: ``einsum("ij,jk->ik", a, b)``.

    A subscript is a letter, or a word where they are set apart by spaces: ``"batch time, time out -> batch out"``.
    What stands twice in a term is a diagonal; what the result does not have is summed; ``...`` stands for any dims,
    which broadcast. Without ``->`` the result has what stands once, in alphabetical order. Instead of an equation each
    tensor may be followed by a list of numbers.

    Names of dims go with their subscripts: words (of one letter too) must agree with them, and so must a letter that
    some dim is called by; other letters close together say nothing of names. What stays has one name in all operands.
    Raises `DimensionError` where equation, sizes or names do not fit.

    >>> import workbench as wb
    >>> x, w = wb.ones(N=2, T=5, C=3), wb.ones(C=3, D=4)
    >>> wb.einsum("N T C, C D -> N T D", x, w).names
    ('N', 'T', 'D')
    >>> wb.einsum("ii", wb.eye(3))
    tensor(3.)
    """
    if (
        not args
        or (isinstance(args[0], str) and len(args) < 2)
        or (not isinstance(args[0], str) and len(args) < 2)
    ):
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], str):
        equation, operands = args[0], list[Any](args[1:])
        if len(operands) == 1 and isinstance(operands[0], list | tuple):
            operands = list(operands[0])
    else:
        equation, operands = _sublists(args)
    plan = _plan(equation, tuple(shape(one) for one in operands))
    names: tuple[str | None, ...] = ()
    if any(one._names is not None for one in operands):
        names = _names(plan, seen_dims(operands), not isinstance(args[0], str))
        operands = [ops.rename(one, names=None) if one._names is not None else one for one in operands]
    terms = list(plan.terms)
    while len(operands) > 1:
        i, j = (0, 1) if len(operands) == 2 else _order(terms, plan.out, plan.sizes)
        # The later one first, so that the other keeps its place.
        b, labels_b = operands.pop(j), terms.pop(j)
        a, labels_a = operands.pop(i), terms.pop(i)
        keep = set(plan.out).union(*terms)
        a, labels_a = _single(a, labels_a, keep | set(labels_b))
        b, labels_b = _single(b, labels_b, keep | set(labels_a))
        made, labels = _pair(a, labels_a, b, labels_b, keep)
        operands.append(made)
        terms.append(labels)
    result, labels = _single(operands[0], terms[0], set(plan.out))
    result = _ordered(result, labels, plan.out)
    return ops.rename(result, names=names) if any(names) else result

"""What an annotation such as ``Tensor["N C H W"]`` asks of a tensor: names, sizes and type, checked in one place.

The words of an annotation, one a dim: a name (``N``), a name with its size (``C=3``), a size (``3``), ``_`` for any
dim, and at most one ``...`` for any number of dims.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from workbench.base.dims import Dims, check_names, near_miss
from workbench.base.dtypes import DType, as_dtype, dtype_of
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.value import Value, dims_of

__all__ = ["Sizes", "Spec"]


class Word(NamedTuple):
    """What is asked of one dim: its name, its size, both or nothing."""

    name: str | None = None
    size: int | None = None


Sizes = dict[str, tuple[int, str, Dims]]
"""Sizes by name that the arguments of one call have agreed on: the size, which argument said so, and its dims."""


@dataclass(frozen=True)
class Spec:
    """The dims that a tensor must have, read from words; and its type, if any is asked for.

    >>> Spec.read("... C=3 H W")
    Tensor["... C=3 H W"]
    """

    text: str
    before: tuple[Word, ...]
    after: tuple[Word, ...] | None
    """Words behind the ``...``; None where there is none, and the number of dims is fixed."""
    dtype: DType | None = None

    @classmethod
    def read(cls, text: Any, dtype: Any = None) -> Spec:
        """Return what `text` asks for. Raises TypeError or `DimensionError` for words that mean nothing."""
        if not isinstance(text, str):
            raise TypeError(f'an annotation of a tensor is words in a string, as Tensor["N C"], not {text!r}')
        parts = text.replace(",", " ").split()
        if parts.count("...") > 1:
            raise DimensionError(f"Tensor[{text!r}]: '...' stands more than once")
        words = [None if part == "..." else _word(part, text) for part in parts]
        # Words before and after the ellipsis are of one tensor: no name twice.
        check_names(
            [word.name for word in words if word is not None], len([w for w in words if w is not None])
        )
        at = words.index(None) if None in words else len(words)
        before = tuple(word for word in words[:at] if word is not None)
        after = tuple(word for word in words[at:] if word is not None) if at < len(words) else None
        return cls(" ".join(parts), before, after, None if dtype is None else as_dtype(dtype))

    def __repr__(self) -> str:
        return f'Tensor["{self.text}"{"" if self.dtype is None else f", {self.dtype.name}"}]'

    def match(
        self,
        value: Any,
        label: str = "tensor",
        op: str = "",
        sizes: Sizes | None = None,
        strict: bool = False,
    ) -> None:
        """Raise unless `value` is a tensor of these dims and this type.

        `sizes` are those that other tensors of the call have; what this one adds is entered. A dim without a name goes
        with any, unless `strict`. Raises TypeError, `DimensionError` or `DTypeError`.
        """
        if not isinstance(value, Value):
            raise TypeError(f"{_at(op)}{label} must be a {self!r}, not {type(value).__name__}: {value!r:.60}")
        dims = dims_of(value)
        # How many dims there are comes first: names and sizes are compared place by place.
        words = self._along(dims, label, op)
        self._match_names(words, dims, label, op, strict)
        self._match_sizes(words, dims, label, op, {} if sizes is None else sizes)
        if self.dtype is not None and dtype_of(value.payload) != self.dtype:
            raise DTypeError(
                f"{_at(op)}{label} must be a {self!r}, and its values are {dtype_of(value.payload).name}. "
                f"Cast it first: {_code(label)}.to(wb.{self.dtype.name})"
            )

    def _along(self, dims: Dims, label: str, op: str) -> list[Word]:
        """Return the word for each dim."""
        fixed = len(self.before) + len(self.after or ())
        count = len(dims.sizes)
        if count < fixed or (count > fixed and self.after is None):
            least = "" if self.after is None else "at least "
            raise DimensionError(
                f"{label} must be a {self!r} with {least}{fixed} dims, and has {count}.",
                op=op,
                operands=(dims.operand(_code(label)),),
            )
        return [*self.before, *[Word()] * (count - fixed), *(self.after or ())]

    def _match_names(self, words: Sequence[Word], dims: Dims, label: str, op: str, strict: bool) -> None:
        wrong = [
            i
            for i, (word, own) in enumerate(zip(words, dims.names, strict=True))
            if word.name is not None and (own != word.name if own is not None or strict else False)
        ]
        # A name that is asked for must not stand at a place that was left open.
        wrong += [
            i
            for i, (word, own) in enumerate(zip(words, dims.names, strict=True))
            if word.name is None and own is not None and own in [one.name for one in words]
        ]
        if not wrong:
            return
        at = wrong[0]
        wanted, own = words[at].name, dims.names[at]
        given = f"is called {own!r}" if own is not None else "has no name"
        message = f"{label} must be a {self!r}: dim {at} {given}" + (
            f", expected {wanted!r}." if wanted else "."
        )
        code = _code(label)
        asked = [word.name for word in words if word.name is not None]
        fix = ""
        if own is None:
            names = [
                repr(word.name if word.name is not None else one)
                for word, one in zip(words, dims.names, strict=True)
            ]
            fix = f"{code}.refine_names({', '.join(names)})"
        elif set(asked) <= set(dims.names):
            # Asked before a misspelling: all names are there.
            message += " The names are the same in another order."
            order = [repr(word.name) for word in self.before]
            order += ["..."] if self.after is not None else []
            fix = f"{code}.align_to({', '.join([*order, *(repr(word.name) for word in self.after or ())])})"
            fix = "" if "None" in fix else fix
        else:
            near = near_miss(own, [one for one in asked if one not in dims.names])
            if near is not None:
                message += f" Is {own!r} a misspelling of {near!r}?"
                fix = f"{code}.rename({own}={near!r})"
        raise DimensionError(message, op=op, operands=(dims.operand(code, wrong),), fix=fix)

    def _match_sizes(self, words: Sequence[Word], dims: Dims, label: str, op: str, sizes: Sizes) -> None:
        code = _code(label)
        for at, (word, size) in enumerate(zip(words, dims.sizes, strict=True)):
            called = f"dim {word.name!r}" if word.name is not None else f"dim {at}"
            if word.size is not None and size != word.size:
                raise DimensionError(
                    f"{label} must be a {self!r}: {called} has size {size}, expected {word.size}.",
                    op=op,
                    operands=(dims.operand(code, [at]),),
                )
            if word.name is None:
                continue
            # The first argument with that name decides, and the error shows both.
            known = sizes.setdefault(word.name, (size, label, dims))
            if known[0] != size:
                first = known[2]
                marks = [i for i, one in enumerate(first.names) if one == word.name]
                raise DimensionError(
                    f"{called} has size {size} in {label} and {known[0]} in {known[1]}; one name has one size in a "
                    "call.",
                    op=op,
                    operands=(first.operand(_code(known[1]), marks), dims.operand(code, [at])),
                )


_WORD = re.compile(r"(?:(?P<name>[A-Za-z_]\w*)=)?(?P<size>\d+)|(?P<only>[A-Za-z_]\w*)", re.ASCII)


def _word(part: str, text: str) -> Word:
    found = _WORD.fullmatch(part)
    if found is None:
        raise DimensionError(
            f"Tensor[{text!r}]: {part!r} is no word for a dim. A word is a name (N), a name with a size (C=3), a size "
            "(3), _ for any dim, or one ... for any number of dims."
        )
    only = found["only"]
    if only is not None:
        return Word(None if only == "_" else only)
    return Word(found["name"], int(found["size"]))


def _at(op: str) -> str:
    return f"{op}: " if op else ""


def _code(label: str) -> str:
    """Return what a label is called in code: ``argument 'x'`` is ``x``."""
    found = re.fullmatch(r"argument '(.*)'", label)
    return found[1] if found else label.replace("the ", "")

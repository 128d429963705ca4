"""What operators do to whole numbers that are sizes, so that a trace keeps them as expressions.

Each rule takes what the operator takes and gives NotImplemented where it needs a tensor after all.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from workbench.base.dtypes import bool_, dtype_of, int64
from workbench.base.errors import NoNumbersError
from workbench.base.symbolic_size import SymbolicNumber
from workbench.onnx.values import MOST_INTEGERS, Integers, data_type, numbers_in, wb
from workbench.tensor import Tensor

__all__ = [
    "cast", "chosen", "compared", "concat", "filled", "gather", "product", "remainder", "row", "same", "sliced",
    "split", "squeezed", "unsqueezed", "with_each",
]  # fmt: skip


def _pairs(a: Any, b: Any) -> list[tuple[Any, Any]] | None:
    """Return the numbers of two operands, one beside the other; None where they do not fit or one is a tensor."""
    if not (isinstance(a, Integers) and isinstance(b, Integers)):
        return None
    left, right = a.numbers, b.numbers
    if len(left) != len(right) and 1 not in (len(left), len(right)):
        return None
    count = max(len(left), len(right)) if left and right else 0
    return list(
        zip(left * (count if len(left) == 1 else 1), right * (count if len(right) == 1 else 1), strict=False)
    )


def with_each(rule: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return what computes with each pair of numbers."""

    def compute(*operands: Any, **attributes: Any) -> Any:
        if attributes or not operands:
            return NotImplemented
        result = operands[0]
        for other in operands[1:]:
            pairs = _pairs(result, other)
            if pairs is None:
                return NotImplemented
            found = [rule(one, two) for one, two in pairs]
            # Numbers beyond int64 wrap in a tensor, and would not here.
            if any(type(one) is int and not -(1 << 63) <= one < 1 << 63 for one in found):
                return NotImplemented
            result = Integers(found[0] if result.single and other.single else found)
        return result

    return compute


def divided(one: Any, two: Any) -> Any:
    """Return a quotient towards zero, as the format has it; sizes are not negative."""
    if isinstance(one, SymbolicNumber) or isinstance(two, SymbolicNumber):
        return one // two
    return abs(one) // abs(two) * (1 if (one < 0) == (two < 0) else -1)


def remainder(a: Any, b: Any, *, fmod: int = 0) -> Any:
    """``Mod``: the remainder with the divisor's sign."""
    return NotImplemented if fmod else _REST(a, b)


def compared(rule: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return what compares each pair of numbers: what it says of sizes is guarded."""

    def compute(a: Any, b: Any) -> Any:
        pairs = _pairs(a, b)
        if pairs is None:
            return NotImplemented
        found = [bool(rule(one, two)) for one, two in pairs]
        return wb.tensor(found[0] if a.single and b.single else found, dtype=bool_)

    return compute


def chosen(condition: Any, a: Any, b: Any) -> Any:
    """``Where``: numbers of one or the other, where the condition has numbers."""
    pairs = _pairs(a, b)
    if pairs is None or not isinstance(condition, Tensor) or condition.dim() > 1:
        return NotImplemented
    try:
        which = condition.tolist()
    except NoNumbersError:
        return NotImplemented
    which = which if isinstance(which, list) else [which]
    if len(which) != len(pairs):
        return NotImplemented
    return Integers([one if first else two for first, (one, two) in zip(which, pairs, strict=True)])


def same(value: Any, *rest: Any, **attributes: Any) -> Any:
    """Give the numbers as they are."""
    return value


def cast(value: Any, *, to: int, **attributes: Any) -> Any:
    """``Cast``: as numbers of 64 or 32 bits they are what they were."""
    return Integers(value.plain(), data_type(to)) if to in (6, 7) else NotImplemented


def gather(data: Any, places: Any, *, axis: int = 0) -> Any:
    """``Gather``: numbers by their places."""
    if not isinstance(data, Integers) or data.single or axis not in (0, -1):
        return NotImplemented
    try:
        wanted = numbers_in(places)
    except NoNumbersError:
        return NotImplemented
    if isinstance(wanted, list) and any(isinstance(one, list) for one in wanted):
        return NotImplemented
    if isinstance(wanted, list):
        return Integers([data.numbers[one] for one in wanted])
    return Integers(data.numbers[wanted])


def concat(*parts: Any, axis: int) -> Any:
    """``Concat``: one row of all."""
    if not all(isinstance(one, Integers) and not one.single for one in parts) or axis not in (0, -1):
        return NotImplemented
    return Integers([number for one in parts for number in one.numbers])


def sliced(data: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    """``Slice``: numbers from one place to another."""
    if not isinstance(data, Integers) or data.single:
        return NotImplemented
    try:
        first, last = numbers_in(starts)[0], numbers_in(ends)[0]
        step = 1 if steps is None else numbers_in(steps)[0]
    except NoNumbersError:
        return NotImplemented
    if step < 0 and last < -len(data.numbers):
        last = None
    return Integers(list(data.numbers[slice(first, last, step)]))


def squeezed(data: Any, axes: Any = None, **attributes: Any) -> Any:
    """``Squeeze``: a row of one number is the number."""
    if isinstance(data, Integers) and not data.single and len(data.numbers) == 1:
        return Integers(data.numbers[0])
    return NotImplemented


def unsqueezed(data: Any, axes: Any = None, **attributes: Any) -> Any:
    """``Unsqueeze``: a number is a row of one."""
    if isinstance(data, Integers) and data.single:
        return Integers([data.number])
    return NotImplemented


def row(data: Any, shape: Any, **attributes: Any) -> Any:
    """``Reshape``: to a row, or to one number."""
    if not isinstance(data, Integers) or not isinstance(shape, Integers) or shape.single:
        return NotImplemented
    if shape.numbers == () and len(data.numbers) == 1:
        return Integers(data.numbers[0])
    whole = len(shape.numbers) == 1 and shape.numbers[0] in (-1, len(data.numbers))
    return Integers(list(data.numbers)) if whole else NotImplemented


def product(data: Any, axes: Any = None, *, keepdims: int = 1, **attributes: Any) -> Any:
    """``ReduceProd``: how many values there are."""
    if not isinstance(data, Integers) or data.single or not data.numbers:
        return NotImplemented
    total = data.numbers[0]
    for one in data.numbers[1:]:
        total = total * one
    return Integers([total] if keepdims else total)


def split(data: Any, sizes: Any = None, *, axis: int = 0, num_outputs: int = 0, outputs: int) -> Any:
    """``Split``: into rows of equal lengths, or of those that are given."""
    if not isinstance(data, Integers) or data.single:
        return NotImplemented
    count = len(data.numbers)
    if sizes is None:
        if count % outputs:
            return NotImplemented
        lengths = [count // outputs] * outputs
    else:
        lengths = numbers_in(sizes)
    found, place = [], 0
    for length in lengths:
        found.append(Integers(list(data.numbers[place : place + length])))
        place += length
    return tuple(found) if outputs > 1 else found[0]


def filled(shape: Any, *, value: Any = None) -> Any:
    """``ConstantOfShape``: a short row of one whole number."""
    plain = isinstance(shape, Integers) and len(shape.numbers) == 1 and type(shape.numbers[0]) is int
    if not plain or value is None or dtype_of(value) != int64 or not 0 <= shape.numbers[0] <= MOST_INTEGERS:
        return NotImplemented
    return Integers(
        numbers_in(value)[:1] * shape.numbers[0] if value.dim() else [value.item()] * shape.numbers[0]
    )


PLUS, MINUS, TIMES = with_each(operator.add), with_each(operator.sub), with_each(operator.mul)
OVER, LEAST, MOST = with_each(divided), with_each(min), with_each(max)
_REST = with_each(operator.mod)

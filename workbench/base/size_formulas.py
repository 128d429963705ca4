"""Numbers that Python makes of sizes and that are not whole, as in ``1 / n`` and ``n ** 0.5``.

Rounding makes sums of floats depend on their order. So a formula is kept as it was written, and a run computes it anew,
by the same steps of Python's own arithmetic: to the bit what the traced function would have computed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.base.size_expressions import (
    Expression,
    Size,
    Symbol,
    Symbolic,
    TooLargeError,
    evaluate,
    written,
)

__all__ = ["ARITHMETIC", "Formula", "calculated"]

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow,
}  # fmt: skip
"""What a formula is made with."""

MOST_PARTS = 64
"""A formula of more parts is refused, so that nothing that works on them runs out of stack."""


class Formula(Symbolic):
    """``left sign right``, a float: of sizes, numbers and formulas; immutable, equal where it is written the same.

    >>> n = Expression.of(Symbol("n", 64))
    >>> share = calculated(1, "/", n)
    >>> share, share.hint, calculated(calculated(n, "**", 0.5), "*", n + 1)
    (1 / n, 0.015625, (n ** 0.5) * (n + 1))
    """

    __slots__ = ("left", "parts", "right", "sign")

    def __init__(self, left: Any, sign: str, right: Any) -> None:
        self.left = left
        self.sign = sign
        self.right = right
        self.parts: int = 1 + sum(one.parts if isinstance(one, Formula) else 1 for one in (left, right))
        if self.parts > MOST_PARTS:
            raise TooLargeError(f"a formula of {self.parts} parts")

    @property
    def _key(self) -> Any:
        # 1 and 1.0, and 0.0 and -0.0, are equal as numbers and not as parts of a formula: repr tells them apart.
        return self.sign, *(
            one if isinstance(one, Symbolic) else repr(one) for one in (self.left, self.right)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Formula) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def symbols(self) -> Iterator[Symbol]:
        """Every symbol in it, as often as it stands there."""
        for one in self.sizes():
            yield from one.symbols()

    def sizes(self) -> Iterator[Expression]:
        """Every size that it is made of."""
        for one in (self.left, self.right):
            if isinstance(one, Formula):
                yield from one.sizes()
            elif isinstance(one, Expression):
                yield one

    def evaluate(self, bindings: Mapping[Symbol, Any]) -> Any:
        """Return what it is where the symbols are what `bindings` says."""
        return ARITHMETIC[self.sign](evaluate(self.left, bindings), evaluate(self.right, bindings))

    def over(self, rule: Callable[[Expression], Size]) -> Formula | float:
        """Return it with `rule` applied to each size: a number where none is left that differs."""
        left, right = (
            one.over(rule) if isinstance(one, Formula) else rule(one) if isinstance(one, Expression) else one
            for one in (self.left, self.right)
        )
        if isinstance(left, Symbolic) or isinstance(right, Symbolic):
            return Formula(left, self.sign, right)
        return float(ARITHMETIC[self.sign](left, right))

    def written(self, name: Callable[[Symbol], str]) -> str:
        """Return it as Python writes it, with symbols called what `name` says."""
        return f"{_enclosed(self.left, name)} {self.sign} {_enclosed(self.right, name)}"


def _enclosed(part: Any, name: Callable[[Symbol], str]) -> str:
    """Return a part, in parentheses where it has parts of its own or a sign."""
    text = written(part, name) if isinstance(part, Symbolic) else repr(part)
    alone = not isinstance(part, Formula) and (not isinstance(part, Expression) or part.symbol is not None)
    return text if alone and not text.startswith("-") else f"({text})"


def calculated(left: Any, sign: str, right: Any) -> Any:
    """Return ``left sign right``: a size where both are whole and so is it, else a formula, or a plain number.

    Raises `TooLargeError` where that is neither a size nor a float, or has too many parts; and what Python raises
    today, for a division by zero or a result that is too large.

    >>> n = Expression.of(Symbol("n", 64))
    >>> calculated(n, "//", 2), calculated(n, "*", 0.5), calculated(3, "*", 2)
    (n//2, n * 0.5, 6)
    """
    whole = isinstance(left, int | Expression) and isinstance(right, int | Expression)
    if sign == "**" and whole and not (isinstance(right, int) and right < 0):
        if isinstance(right, Expression):
            raise TooLargeError("a power of whole numbers with an exponent that is not known")
    elif not whole or sign in ("/", "**"):
        if not isinstance(left, Symbolic) and not isinstance(right, Symbolic):
            return ARITHMETIC[sign](left, right)
        formula = Formula(left, sign, right)
        if type(formula.hint) is not float:
            raise TooLargeError(f"{formula} is no float today")
        return formula
    return ARITHMETIC[sign](left, right)

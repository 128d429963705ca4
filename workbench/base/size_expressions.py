"""Whole numbers that are not known yet: the algebra of sizes as expressions over named symbols.

An expression is a polynomial with whole coefficients over atoms: symbols, and quotients rounded down that could not be
divided out. It is kept in one canonical form, so that equal expressions are found equal without asking for numbers:
``n*c//c`` is ``n``, ``(n + 1) - 1`` is ``n``, and ceil-division written either way is one expression. A remainder is
what is left of the quotient, ``a - b*(a//b)``. A result without symbols is a plain int.
"""

from __future__ import annotations

import functools
import math
import operator
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

__all__ = [
    "Atom", "Expression", "Quotient", "Size", "Symbol", "Symbolic", "TooLargeError", "evaluate", "hint_of", "written",
]  # fmt: skip

MOST_TERMS = 256
"""A sum of more terms is refused: what it would cost to keep is worth less than a plain number."""

MOST_POWER = 8
"""The largest exponent that is multiplied out."""


class TooLargeError(ValueError):
    """An expression with so many terms that it is of no use to anybody."""


class Symbol:
    """A size that differs from run to run: a name, and what it is today."""

    __slots__ = ("hint", "later", "name")

    def __init__(self, name: str, hint: int, later: bool = False) -> None:
        self.name = name
        self.hint = hint
        self.later = later
        """True for what is not known before a run begins: perhaps it never is, in a branch that is not taken."""

    @property
    def key(self) -> str:
        """What symbols are ordered and compared by."""
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Symbol) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


class Symbolic:
    """A number that differs from run to run, because sizes do: an `Expression`, or a `Formula`, which is not whole."""

    # No ABC: whether an operand is one is asked in every run of a graph, and a plain class answers sooner.
    __slots__ = ()

    @property
    def hint(self) -> Any:
        """What it is today."""
        return self.evaluate(_Hints())

    @abstractmethod
    def symbols(self) -> Iterator[Symbol]:
        """Every symbol in it, as often as it stands there."""

    @abstractmethod
    def evaluate(self, bindings: Mapping[Symbol, Any]) -> Any:
        """Return what it is where the symbols are what `bindings` says: numbers, or anything with their arithmetic."""

    @abstractmethod
    def written(self, name: Callable[[Symbol], str]) -> str:
        """Return it as Python writes it, with symbols called what `name` says."""

    def __repr__(self) -> str:
        return written(self)


class Quotient:
    """``numerator // divisor``, rounded down, where it could not be divided out."""

    __slots__ = ("divisor", "key", "numerator")

    def __init__(self, numerator: Size, divisor: Size) -> None:
        self.numerator = numerator
        self.divisor = divisor
        # In order `~` comes after all letters: quotients stand behind symbols.
        self.key = f"~({numerator})//({divisor})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quotient) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return self.key[1:]


Atom = Symbol | Quotient
Monomial = tuple[tuple[Atom, int], ...]
"""Atoms with their powers, in order; that of a constant is empty."""
Terms = dict[Monomial, int]


class Expression(Symbolic):
    """A sum of products of atoms, in canonical form; immutable, equal where it is the same sum.

    >>> n = Expression.of(Symbol("n", 64))
    >>> n * 3 // 3 == n, (n + 1) - 1 == n, n - n
    (True, True, 0)
    >>> -(-n // 2) == (n + 1) // 2, (n - 1) // 2 + 1
    (True, (n + 1)//2)
    """

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms
        """Monomials with their coefficients, in order, none of them 0."""
        self._hash = hash(terms)

    @staticmethod
    def of(symbol: Symbol) -> Expression:
        """Return the expression that is one symbol."""
        return Expression(((((symbol, 1),), 1),))

    @property
    def symbol(self) -> Symbol | None:
        """The symbol, where the expression is one and nothing else."""
        if len(self.terms) == 1 and self.terms[0][1] == 1:
            monomial = self.terms[0][0]
            if len(monomial) == 1 and monomial[0][1] == 1 and isinstance(monomial[0][0], Symbol):
                return monomial[0][0]
        return None

    @property
    def constant(self) -> int:
        """The term without atoms."""
        return dict(self.terms).get((), 0)

    @property
    def leading(self) -> int:
        """The coefficient of the first term with atoms."""
        return next(coefficient for monomial, coefficient in self.terms if monomial)

    def symbols(self) -> Iterator[Symbol]:
        """Every symbol in it, as often as it stands there."""
        for monomial, _ in self.terms:
            for atom, _ in monomial:
                if isinstance(atom, Symbol):
                    yield atom
                else:
                    for part in (atom.numerator, atom.divisor):
                        if isinstance(part, Expression):
                            yield from part.symbols()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self._hash == other._hash and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def evaluate(self, bindings: Mapping[Symbol, Any]) -> Any:
        """Return what it is where the symbols are what `bindings` says: numbers, or anything with their arithmetic."""
        total: Any = 0
        for monomial, coefficient in self.terms:
            product: Any = coefficient
            for atom, power in monomial:
                value = (
                    bindings[atom]
                    if isinstance(atom, Symbol)
                    else evaluate(atom.numerator, bindings) // evaluate(atom.divisor, bindings)
                )
                product = product * value**power if power != 1 else product * value
            total = total + product
        return total

    def written(self, name: Callable[[Symbol], str]) -> str:
        """Return it as Python writes it, with symbols called what `name` says."""
        text = ""
        for monomial, coefficient in self.terms:
            factors = [part for atom, power in monomial for part in [_written_atom(atom, name)] * power]
            alone = len(factors) == 1 and (coefficient == 1 or (coefficient == -1 and text != ""))
            parts = [one if alone or not one.endswith("~") else f"({one[:-1]})" for one in factors]
            parts = [one.removesuffix("~") for one in parts]
            if abs(coefficient) != 1 or not parts:
                parts.insert(0, str(abs(coefficient)))
            sign = "-" if coefficient < 0 else "+"
            text += f" {sign} {'*'.join(parts)}"
        return text[3:] if text.startswith(" + ") else f"-{text[3:]}"

    def __add__(self, other: Size) -> Size:
        return _sum(_terms(self), _terms(other))

    def __sub__(self, other: Size) -> Size:
        return _sum(_terms(self), _scaled(_terms(other), -1))

    def __rsub__(self, other: int) -> Size:
        return _sum(_terms(other), _scaled(_terms(self), -1))

    def __neg__(self) -> Size:
        return _made(_scaled(_terms(self), -1))

    def __mul__(self, other: Size) -> Size:
        return _product(_terms(self), _terms(other))

    __radd__, __rmul__ = __add__, __mul__

    def __floordiv__(self, other: Size) -> Size:
        return _quotient(self, other)

    def __rfloordiv__(self, other: int) -> Size:
        return _quotient(other, self)

    def __mod__(self, other: Size) -> Size:
        return self - other * _quotient(self, other)

    def __rmod__(self, other: int) -> Size:
        return other - self * _quotient(other, self)

    def __pow__(self, other: int) -> Size:
        if not 0 <= other <= MOST_POWER:
            raise TooLargeError(f"powers are multiplied out up to {MOST_POWER}, not {other}")
        return functools.reduce(operator.mul, [self] * other, 1)


Size = int | Expression


# ------------------------------------------------------------------------------------------ sums, products


def _terms(size: Size) -> Terms:
    if isinstance(size, Expression):
        return dict(size.terms)
    return {(): size} if size else {}


def _made(terms: Terms) -> Size:
    """Return the canonical form of a sum: a plain int where no atom is left."""
    kept = {monomial: coefficient for monomial, coefficient in terms.items() if coefficient}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    if len(kept) > MOST_TERMS:
        raise TooLargeError(f"a size of {len(kept)} terms")
    return Expression(tuple(sorted(kept.items(), key=lambda term: _order(term[0]))))


def _order(monomial: Monomial) -> tuple[int, list[tuple[str, int]]]:
    """Products of more atoms come first, the constant last."""
    return -sum(power for _, power in monomial), [(atom.key, power) for atom, power in monomial]


def _sum(a: Terms, b: Terms) -> Size:
    total = dict(a)
    for monomial, coefficient in b.items():
        total[monomial] = total.get(monomial, 0) + coefficient
    return _made(total)


def _scaled(terms: Terms, factor: int) -> Terms:
    return {monomial: coefficient * factor for monomial, coefficient in terms.items()}


def _product(a: Terms, b: Terms) -> Size:
    total: Terms = {}
    for left, x in a.items():
        for right, y in b.items():
            monomial = _joined(left, right)
            total[monomial] = total.get(monomial, 0) + x * y
    return _made(total)


def _joined(a: Monomial, b: Monomial, sign: int = 1) -> Monomial:
    """Return the product of two monomials, or with `sign` -1 their quotient; powers of 0 are left out."""
    powers = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) + sign * power
    return tuple(
        sorted(((atom, power) for atom, power in powers.items() if power), key=lambda one: one[0].key)
    )


# ----------------------------------------------------------------------------------------------- quotients


def _quotient(a: Size, b: Size) -> Size:
    """Return ``a // b`` with what divides taken out."""
    if isinstance(b, Expression):
        return _by_expression(a, b)
    if b == 0:
        raise ZeroDivisionError("integer division or modulo by zero")
    if isinstance(a, int):
        return a // b
    return _by_number(-a, -b) if b < 0 else _by_number(a, b)


def _by_number(a: Size, b: int) -> Size:
    """Divide by a number above 0: terms that it divides come out, and of the constant what is whole."""
    if isinstance(a, int) or b == 1:
        return a // b if isinstance(a, int) else a
    outside: Terms = {m: c // b for m, c in a.terms if c % b == 0 or not m}
    inside: Terms = {m: c % b if not m else c for m, c in a.terms if c % b}
    rest = _made(inside)
    if isinstance(rest, int):
        return _made(outside)
    common = math.gcd(b, *(c for m, c in rest.terms if m))
    if common > 1:
        # What the constant has above a multiple of the common divisor is rounded away.
        fewer = _made({m: c // common for m, c in rest.terms})
        return _sum(outside, _terms(_by_number(fewer, b // common)))
    if rest.leading < 0:
        # Rounding down what is negative is rounding up what is positive: both are written by the latter.
        return _sum(outside, _scaled(_terms(_by_number(-rest + (b - 1), b)), -1))
    nested = _nested(rest)
    if nested is not None:
        return _sum(outside, _terms(_by_number(nested[0], nested[1] * b)))
    return _sum(outside, {((Quotient(rest, b), 1),): 1})


def _nested(rest: Expression) -> tuple[Size, int] | None:
    """Return what ``e//d + p`` is the rounded quotient of, ``e + d*p`` and ``d``; None where `rest` is no such sum."""
    for monomial, coefficient in rest.terms:
        if coefficient == 1 and len(monomial) == 1 and monomial[0][1] == 1:
            atom = monomial[0][0]
            if isinstance(atom, Quotient) and isinstance(atom.divisor, int):
                others = _made({m: c for m, c in rest.terms if m != monomial})
                return atom.numerator + others * atom.divisor, atom.divisor
    return None


def _by_expression(a: Size, b: Expression) -> Size:
    """Divide by an expression: exactly where that goes, else what both have in common is taken out."""
    if a == 0:
        return 0
    exact = _exactly(a, b)
    if exact is not None:
        return exact
    outside: Terms = {}
    rest = _terms(a)
    if len(b.terms) == 1:
        ((monomial, coefficient),) = b.terms
        for m, c in list(rest.items()):
            if c % coefficient == 0 and _divides(monomial, m):
                outside[_joined(m, monomial, -1)] = c // coefficient
                del rest[m]
    left, divisor = _reduced(_made(rest), b)
    if not isinstance(divisor, Expression) or not left:
        return _sum(outside, _terms(_quotient(left, divisor)))
    return _sum(outside, {((Quotient(left, divisor), 1),): 1})


def _divides(divisor: Monomial, monomial: Monomial) -> bool:
    powers = dict(monomial)
    return all(powers.get(atom, 0) >= power for atom, power in divisor)


def _reduced(a: Size, b: Expression) -> tuple[Size, Size]:
    """Return both without the atoms and the number that every term of both has."""
    terms = [*_terms(a).items(), *b.terms]
    number = math.gcd(*(c for _, c in terms))
    atoms = [dict(m) for m, _ in terms]
    shared = {atom: min(one.get(atom, 0) for one in atoms) for atom in atoms[0]} if atoms else {}
    monomial = tuple((atom, power) for atom, power in shared.items() if power)
    if number == 1 and not monomial:
        return a, b
    first, second = (
        _made({_joined(m, monomial, -1): c // number for m, c in _terms(one).items()}) for one in (a, b)
    )
    return first, second


def _exactly(a: Size, b: Expression) -> Size | None:
    """Return the polynomial that ``a / b`` is; None where something is left over."""
    atoms = sorted({atom for m in (*_terms(a), *_terms(b)) for atom, _ in m}, key=lambda atom: atom.key)

    # By degree first, as polynomial division needs it: every step then leaves only smaller terms.
    def rank(monomial: Monomial) -> tuple[int, ...]:
        powers = dict(monomial)
        exponents = [powers.get(atom, 0) for atom in atoms]
        return (sum(exponents), *exponents)

    lead = max(_terms(b), key=rank)
    quotient: Terms = {}
    left = a
    for _ in range(MOST_TERMS):
        if left == 0:
            return _made(quotient)
        terms = _terms(left)
        first = max(terms, key=rank)
        if not _divides(lead, first) or terms[first] % dict(b.terms)[lead]:
            return None
        part = {_joined(first, lead, -1): terms[first] // dict(b.terms)[lead]}
        quotient |= part
        left = _sum(terms, _scaled(_terms(_product(part, dict(b.terms))), -1))
    return None


# ------------------------------------------------------------------------------------------------ numbers


class _Hints(Mapping[Symbol, int]):
    """Every symbol's value of today."""

    def __getitem__(self, symbol: Symbol) -> int:
        return symbol.hint

    # A Mapping has to have these two; `evaluate` looks symbols up and no more.
    def __iter__(self) -> Iterator[Symbol]:
        return iter(())

    def __len__(self) -> int:
        return 0


def hint_of(number: Any) -> Any:
    """Return what a size, or another number that sizes decide, is today."""
    return number.hint if isinstance(number, Symbolic) else number


def evaluate(number: Any, bindings: Mapping[Symbol, Any]) -> Any:
    """Return what `number` is where the symbols are what `bindings` says; a plain number is what it is.

    >>> n = Symbol("n", 64)
    >>> evaluate(Expression.of(n) * 3 + 1, {n: 5})
    16
    """
    return number.evaluate(bindings) if isinstance(number, Symbolic) else number


# ------------------------------------------------------------------------------------------------- printing


def written(number: Any, name: Callable[[Symbol], str] = lambda symbol: symbol.name) -> str:
    """Return a number as Python writes it, with symbols called what `name` says.

    >>> n, c = Expression.of(Symbol("n", 64)), Expression.of(Symbol("c", 3))
    >>> print(written((n + 3) // 4 * c - 4))
    c*((n + 3)//4) - 4
    """
    return number.written(name) if isinstance(number, Symbolic) else str(number)


def _written_atom(atom: Atom, name: Callable[[Symbol], str]) -> str:
    """Return an atom; one that ends in ``~`` is to be put in parentheses where it is not alone."""
    if isinstance(atom, Symbol):
        return name(atom)
    return f"{_enclosed(atom.numerator, name)}//{_enclosed(atom.divisor, name)}~"


def _enclosed(size: Size, name: Callable[[Symbol], str]) -> str:
    text = written(size, name)
    plain = isinstance(size, int) or size.symbol is not None
    return text if plain and not text.startswith("-") else f"({text})"

"""The size of a dim of a traced tensor, as the traced function meets it: a whole number that is no ``int``.

Arithmetic with it stays an expression, or where that is not whole a formula. Whatever asks for a number (a comparison,
``range``, a key of a dict, a printed form, NumPy) gets today's, and the trace keeps a guard. It is no subclass of
``int``, because C code reads past one.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from functools import lru_cache, update_wrapper
from typing import Any, TypeVar

import numpy as np

from workbench.base.size_expressions import Expression, Symbolic, TooLargeError
from workbench.base.size_formulas import ARITHMETIC, Formula, calculated
from workbench.base.size_guards import OPEN, RELATIONS, SizeScope

__all__ = [
    "SymbolicFloat", "SymbolicNumber", "SymbolicSize", "as_float", "hint", "is_one", "plain", "remembered", "scaled",
    "sized", "whole",
]  # fmt: skip


def as_float(count: Any) -> Any:
    """Return a count as a float, in which ops compute; a size of a trace stays what it is, for the graph to keep.

    >>> as_float(3)
    3.0
    """
    return count if isinstance(count, SymbolicNumber) else float(count)


def scaled(size: Any, by: float) -> Any:
    """Return ``floor(size * by)``; of a size of a trace an expression, where the product is exact.

    >>> scaled(5, 1.5)
    7
    """
    if isinstance(size, SymbolicSize):
        above, below = by.as_integer_ratio()
        if above < _EXACT and below < _EXACT:
            return size * above // below
    return math.floor(plain(size) * by)


_EXACT = 1 << 20
"""Up to such numbers above and below the line a float and a size have a product without rounding."""


def is_one(size: Any) -> bool:
    """Say whether a size is 1 always: a plain number, which needs no guard."""
    return type(size) is int and size == 1


Rule = TypeVar("Rule", bound=Callable[..., Any])


def remembered(most: int) -> Callable[[Rule], Rule]:
    """Return a decorator that remembers up to `most` results, except while somebody traces: sizes are then asked anew.

    As keys of a dict they would be numbers, and guarded to be just these.
    """

    def decorated(rule: Rule) -> Rule:
        known = lru_cache(maxsize=most)(rule)

        def asked(*arguments: Any) -> Any:
            return rule(*arguments) if OPEN else known(*arguments)

        return update_wrapper(asked, rule)  # type: ignore[return-value]

    return decorated


def _scope_of(*values: Any) -> SizeScope:
    """Return the scope in which the result belongs: of two, the inner trace's, for which the other's is a constant."""
    scopes = [one.scope for one in values if isinstance(one, SymbolicNumber)]
    return max(scopes, key=lambda scope: (scope.active, scope.depth))


def _operand(value: Any, scope: SizeScope) -> Any:
    """Return a number as `scope` knows it; None for what is none, or has a type of its own."""
    if isinstance(value, SymbolicNumber):
        return value.expression if value.scope is scope and scope.active else value.fix()
    if type(value) is float:
        return value
    return int(value) if isinstance(value, int | np.integer) else None


def _combined(a: Any, b: Any, rule: Callable[[Any, Any], Any]) -> Any:
    """Return ``rule(a, b)`` as an expression or a formula where it can be one, else as a plain number."""
    scope = _scope_of(a, b)
    left, right = _operand(a, scope), _operand(b, scope)
    if left is None or right is None:
        return _fixed(a, b, rule)
    if rule in _DIVISIONS and isinstance(right, int | Expression) and not scope.decide(right, "!=", 0):
        raise ZeroDivisionError("integer division or modulo by zero")
    try:
        return sized(calculated(scope.settle(left), _SIGNS[rule], scope.settle(right)), scope)
    except TooLargeError:
        return rule(scope.fix(left), scope.fix(right))


_SIGNS = {rule: sign for sign, rule in ARITHMETIC.items()}


def _fixed(a: Any, b: Any, rule: Callable[[Any, Any], Any]) -> Any:
    """Return ``rule(a, b)`` of today's numbers; what is no number is asked itself."""
    # Python then asks the other operand, a tensor for instance, which has operators of its own.
    if not all(isinstance(one, numbers.Number | np.ndarray) for one in (a, b)):
        return NotImplemented
    return rule(plain(a), plain(b))


_DIVISIONS = (operator.floordiv, operator.mod)


def _asked(a: Any, relation: str, b: Any) -> Any:
    """Say whether ``a relation b``; the trace keeps the answer, not the number."""
    scope = _scope_of(a, b)
    left, right = _operand(a, scope), _operand(b, scope)
    if left is None or right is None:
        if not isinstance(b, float | np.floating):
            return NotImplemented
        right = float(b)
    if not isinstance(left, Expression) or not isinstance(right, float):
        return scope.decide(left, relation, right)
    if not math.isfinite(right):
        return RELATIONS[relation](0, right)
    if relation in ("==", "!="):
        return scope.decide(left, relation, int(right)) if right == int(right) else relation == "!="
    # A whole number lies below 2.5 where it lies below 3, and above it where it lies above 2.
    return scope.decide(left, relation, math.ceil(right) if relation in ("<", ">=") else math.floor(right))


def _operator(
    rule: Callable[[Any, Any], Any], work: Callable[..., Any]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the methods of an operator: for a size on the left, and on the right."""

    def method(self: Any, other: Any) -> Any:
        return work(self, other, rule)

    def reflected(self: Any, other: Any) -> Any:
        return work(other, self, rule)

    return method, reflected


def _comparison(relation: str) -> Callable[..., Any]:
    """Return the method of a comparison."""

    def method(self: Any, other: Any) -> Any:
        return _asked(self, relation, other)

    return method


class SymbolicNumber:
    """A number in a trace that sizes decide: what it is made of, and the scope that keeps what is decided about it."""

    __slots__ = ("expression", "scope")
    __array_ufunc__ = None  # NumPy leaves arithmetic with it to it

    def __init__(self, expression: Any, scope: SizeScope) -> None:
        self.expression = expression
        self.scope = scope

    @property
    def hint(self) -> Any:
        """Today's number, without a guard: for what people are shown and what decides nothing."""
        return self.expression.hint

    def fix(self) -> Any:
        """Return today's number; the trace then holds for this number only."""
        return self.scope.fix(self.expression)

    # ------------------------------------------------------------------------------- what a number is asked

    def __hash__(self) -> int:
        return hash(self.fix())

    def __bool__(self) -> bool:
        return self.scope.decide(self.expression, "!=", 0)

    def __int__(self) -> int:
        return int(self.fix())

    def __float__(self) -> float:
        return float(self.fix())

    def __complex__(self) -> complex:
        return complex(self.fix())

    def __repr__(self) -> str:
        return repr(self.fix())

    def __format__(self, form: str) -> str:
        return format(self.fix(), form)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.fix(), dtype)

    def __reduce__(self) -> Any:
        return type(self.hint), (self.fix(),)

    def __getattr__(self, name: str) -> Any:
        # bit_length, is_integer and their like are asked of today's number. NumPy looks for protocols: it has none.
        if name.startswith("__") or not hasattr(type(self.hint), name):
            raise AttributeError(f"a size has no attribute {name!r}")
        return getattr(self.fix(), name)

    # -------------------------------------------------------------------------- arithmetic, comparisons

    __add__, __radd__ = _operator(operator.add, _combined)
    __sub__, __rsub__ = _operator(operator.sub, _combined)
    __mul__, __rmul__ = _operator(operator.mul, _combined)
    __truediv__, __rtruediv__ = _operator(operator.truediv, _combined)
    __floordiv__, __rfloordiv__ = _operator(operator.floordiv, _combined)
    __mod__, __rmod__ = _operator(operator.mod, _combined)
    __eq__, __ne__ = _comparison("=="), _comparison("!=")
    __lt__, __le__ = _comparison("<"), _comparison("<=")
    __gt__, __ge__ = _comparison(">"), _comparison(">=")

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        return (
            _combined(self, other, operator.pow) if modulo is None else pow(self.fix(), plain(other), modulo)
        )

    def __rpow__(self, other: Any) -> Any:
        return _combined(other, self, operator.pow)

    def __neg__(self) -> Any:
        return -1 * self  # of a float, too: 0 - x would lose the sign of 0

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    # ----------------------------------------------------------------------------- what changes nothing

    def _itself(self, *_: Any) -> Any:
        return self

    __pos__ = __copy__ = __deepcopy__ = conjugate = _itself
    real = property(_itself)
    imag = property(lambda self: type(self.hint)(0))


class SymbolicSize(SymbolicNumber):
    """A size in a trace, a whole number: its expression, and the scope that keeps what is decided about it.

    >>> from workbench.base.size_expressions import Symbol
    >>> scope = SizeScope()
    >>> n = sized(Expression.of(Symbol("n", 64)), scope)
    >>> (n * 3 + 3) // 3 == n + 1, n > 4, (n / 2).hint, n << 1
    (True, True, 32.0, 128)
    >>> [str(one) for one in scope.guards]
    ['n > 4', 'n == 64']
    """

    __slots__ = ()

    __index__ = __int__ = SymbolicNumber.fix
    __trunc__ = __floor__ = __ceil__ = SymbolicNumber._itself
    __lshift__, __rlshift__ = _operator(operator.lshift, _fixed)
    __rshift__, __rrshift__ = _operator(operator.rshift, _fixed)
    __and__, __rand__ = _operator(operator.and_, _fixed)
    __or__, __ror__ = _operator(operator.or_, _fixed)
    __xor__, __rxor__ = _operator(operator.xor, _fixed)
    numerator = property(SymbolicNumber._itself)
    denominator = property(lambda self: 1)

    def __round__(self, digits: int | None = None) -> Any:
        return self if digits is None or digits >= 0 else round(self.fix(), digits)

    def __invert__(self) -> Any:
        return -self - 1


class SymbolicFloat(SymbolicNumber):
    """A float that a trace made of sizes, as ``1 / n``: a formula, which a run computes anew.

    >>> from workbench.base.size_expressions import Symbol
    >>> scope = SizeScope()
    >>> n = sized(Expression.of(Symbol("n", 64)), scope)
    >>> n**0.5 > 7, (n / 3).__ceil__().hint, float(1 / n)
    (True, 22, 0.015625)
    >>> [str(one) for one in scope.guards]
    ['n ** 0.5 > 7', 'n == 64']
    """

    __slots__ = ()

    def __floor__(self) -> Any:
        above, below = self._halves()
        return math.floor(self.fix()) if below is None else above // below

    def __ceil__(self) -> Any:
        above, below = self._halves()
        return math.ceil(self.fix()) if below is None else -(-above // below)

    def _halves(self) -> tuple[Any, Any]:
        """Return the sizes of which this is the quotient: below 2^52 it is rounded past no whole number. Else None."""
        sides = self.expression.left, self.expression.right
        if self.expression.sign != "/" or not all(isinstance(one, int | Expression) for one in sides):
            return None, None
        return sized(sides[0], self.scope), sized(sides[1], self.scope)

    def __trunc__(self) -> int:
        return int(self.fix())

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.fix(), digits)


numbers.Integral.register(SymbolicSize)
numbers.Real.register(SymbolicFloat)


def sized(number: Any, scope: SizeScope) -> Any:
    """Return a size, or a formula of sizes, as a traced function meets it: a plain number where it is known."""
    if isinstance(number, Symbolic) and not scope.active:
        return number.hint
    number = scope.settle(number)
    if isinstance(number, Formula):
        return SymbolicFloat(number, scope)
    return SymbolicSize(number, scope) if isinstance(number, Expression) else number


def plain(value: Any) -> Any:
    """Return `value`, and in place of a number of a trace today's, which is guarded."""
    return value.fix() if isinstance(value, SymbolicNumber) else value


def hint(value: Any) -> int:
    """Return today's number of a size or a plain number, without a guard."""
    return value.hint if isinstance(value, SymbolicSize) else operator.index(value)


def whole(value: Any) -> Any:
    """Return a whole number as a plain int, as ``int`` does; a size of a trace stays what it is.

    >>> whole(np.int64(3)), whole(2.0)
    (3, 2)
    """
    return value if isinstance(value, SymbolicSize) else int(value)

"""The size of a dim of a traced tensor, as the traced function meets it: a whole number that is no ``int``.

Arithmetic with it stays an expression. Whatever asks for a number (a comparison, ``range``, a key of a dict, a printed
form, NumPy) gets today's, and the trace keeps a guard. It is no subclass of ``int``, because C code reads past one.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from functools import lru_cache, update_wrapper
from typing import Any, TypeVar

import numpy as np

from workbench.base.size_expressions import Expression, Size, TooLargeError
from workbench.base.size_guards import OPEN, RELATIONS, SizeScope

__all__ = ["SymbolicSize", "as_float", "hint", "is_one", "plain", "remembered", "scaled", "sized", "whole"]


def as_float(count: Any) -> Any:
    """Return a count as a float, in which ops compute; a size of a trace stays what it is, for the graph to keep.

    >>> as_float(3)
    3.0
    """
    return count if isinstance(count, SymbolicSize) else float(count)


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
    scopes = [one.scope for one in values if isinstance(one, SymbolicSize)]
    return max(scopes, key=lambda scope: (scope.active, scope.depth))


def _operand(value: Any, scope: SizeScope) -> Size | None:
    """Return a whole number as `scope` knows it; None for what is none."""
    if isinstance(value, SymbolicSize):
        return value.expression if value.scope is scope and scope.active else value.fix()
    return int(value) if isinstance(value, int | np.integer) else None


def _combined(a: Any, b: Any, rule: Callable[[Any, Any], Any]) -> Any:
    """Return ``rule(a, b)`` as an expression where both are whole, else as a plain number."""
    scope = _scope_of(a, b)
    left, right = _operand(a, scope), _operand(b, scope)
    if left is None or right is None:
        return _fixed(a, b, rule)
    if rule in _DIVISIONS and not scope.decide(right, "!=", 0):
        raise ZeroDivisionError("integer division or modulo by zero")
    try:
        return sized(rule(scope.settle(left), scope.settle(right)), scope)
    except TooLargeError:
        return rule(scope.fix(left), scope.fix(right))


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
    if left is not None and right is not None:
        return scope.decide(left, relation, right)
    if not isinstance(b, float | np.floating):
        return NotImplemented
    if not math.isfinite(b):
        return RELATIONS[relation](0, b)
    if relation in ("==", "!="):
        return scope.decide(a.expression, relation, int(b)) if b == int(b) else relation == "!="
    # A whole number lies below 2.5 where it lies below 3, and above it where it lies above 2.
    return scope.decide(a.expression, relation, math.ceil(b) if relation in ("<", ">=") else math.floor(b))


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


class SymbolicSize:
    """A size in a trace: an expression, and the scope that keeps what is decided about it.

    >>> from workbench.base.size_expressions import Symbol
    >>> scope = SizeScope()
    >>> n = sized(Expression.of(Symbol("n", 64)), scope)
    >>> (n * 3 + 3) // 3 == n + 1, n > 4, n / 2
    (True, True, 32.0)
    >>> [str(one) for one in scope.guards]
    ['n > 4', 'n == 64']
    """

    __slots__ = ("expression", "scope")
    __array_ufunc__ = None  # NumPy leaves arithmetic with it to it

    def __init__(self, expression: Expression, scope: SizeScope) -> None:
        self.expression = expression
        self.scope = scope

    @property
    def hint(self) -> int:
        """Today's number, without a guard: for what people are shown and what decides nothing."""
        return self.expression.hint

    def fix(self) -> int:
        """Return today's number; the trace then holds for this number only."""
        return self.scope.fix(self.expression)

    # ------------------------------------------------------------------------------- what a number is asked

    __index__ = __int__ = fix

    def __hash__(self) -> int:
        return hash(self.fix())

    def __bool__(self) -> bool:
        return self.scope.decide(self.expression, "!=", 0)

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
        return int, (self.fix(),)

    def __getattr__(self, name: str) -> Any:
        # bit_length, to_bytes and their like are asked of today's number. NumPy looks for protocols: it has none.
        if name.startswith("__") or not hasattr(int, name):
            raise AttributeError(f"a size has no attribute {name!r}")
        return getattr(self.fix(), name)

    # -------------------------------------------------------------------------- arithmetic, comparisons

    __add__, __radd__ = _operator(operator.add, _combined)
    __sub__, __rsub__ = _operator(operator.sub, _combined)
    __mul__, __rmul__ = _operator(operator.mul, _combined)
    __floordiv__, __rfloordiv__ = _operator(operator.floordiv, _combined)
    __mod__, __rmod__ = _operator(operator.mod, _combined)
    __truediv__, __rtruediv__ = _operator(operator.truediv, _fixed)
    __lshift__, __rlshift__ = _operator(operator.lshift, _fixed)
    __rshift__, __rrshift__ = _operator(operator.rshift, _fixed)
    __and__, __rand__ = _operator(operator.and_, _fixed)
    __or__, __ror__ = _operator(operator.or_, _fixed)
    __xor__, __rxor__ = _operator(operator.xor, _fixed)
    __eq__, __ne__ = _comparison("=="), _comparison("!=")
    __lt__, __le__ = _comparison("<"), _comparison("<=")
    __gt__, __ge__ = _comparison(">"), _comparison(">=")

    # ----------------------------------------------------------------------------- what changes nothing

    def _itself(self, *_: Any) -> SymbolicSize:
        return self

    __pos__ = __trunc__ = __floor__ = __ceil__ = __copy__ = __deepcopy__ = conjugate = _itself
    real = numerator = property(_itself)
    imag = property(lambda self: 0)
    denominator = property(lambda self: 1)

    def __round__(self, digits: int | None = None) -> Any:
        return self if digits is None or digits >= 0 else round(self.fix(), digits)

    def __neg__(self) -> Any:
        return sized(-self.expression, self.scope)

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __invert__(self) -> Any:
        return -self - 1

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        if modulo is None and type(other) is int and other >= 0:
            return _combined(self, other, operator.pow)
        return pow(self.fix(), plain(other), modulo)

    def __rpow__(self, other: Any) -> Any:
        return _fixed(other, self, operator.pow)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self


numbers.Integral.register(SymbolicSize)


def sized(size: Size, scope: SizeScope) -> int | SymbolicSize:
    """Return a size as a traced function meets it: a plain int where it is known."""
    if isinstance(size, Expression) and not scope.active:
        return size.hint
    size = scope.settle(size)
    return SymbolicSize(size, scope) if isinstance(size, Expression) else size


def plain(value: Any) -> Any:
    """Return `value`, and in place of a size today's number, which is guarded."""
    return value.fix() if isinstance(value, SymbolicSize) else value


def hint(value: Any) -> int:
    """Return today's number of a size or a plain number, without a guard."""
    return value.hint if isinstance(value, SymbolicSize) else operator.index(value)


def whole(value: Any) -> Any:
    """Return a whole number as a plain int, as ``int`` does; a size of a trace stays what it is.

    >>> whole(np.int64(3)), whole(2.0)
    (3, 2)
    """
    return value if isinstance(value, SymbolicSize) else int(value)

"""What a trace has decided about its sizes: guards, and what follows from them without asking again."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.base.size_bounds import Bounds, bounds_of
from workbench.base.size_expressions import Expression, Size, Symbol, Symbolic, evaluate, hint_of, written
from workbench.base.size_formulas import Formula
from workbench.base.source_location import calling_frame, place

__all__ = ["OPEN", "RELATIONS", "Guard", "SizeScope"]

OPEN: set[SizeScope] = set()
"""The scopes in whose blocks the program is now, in any thread. Where there are none, sizes are plain numbers."""

RELATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""What two sizes may be asked."""

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_TURNED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_RANGES: Mapping[str, Bounds] = {
    "==": (0, 0),
    "<": (-math.inf, -1),
    "<=": (-math.inf, 0),
    ">": (1, math.inf),
    ">=": (0, math.inf),
}
"""Where a whole number lies that is related so to 0."""


@dataclass(frozen=True)
class Guard:
    """Something that was so while a function was traced, and on which what it did then depends.

    >>> n = Symbol("n", 64)
    >>> guard = Guard(Expression.of(n), ">", 4, "net.py:12")
    >>> print(guard, guard.holds({n: 3}))
    n > 4 False
    """

    left: Size | Formula | float
    relation: str
    """One of ``== != < <= > >=``."""
    right: Size | Formula | float
    source: str = ""
    """Line of the user's code that asked."""
    number: bool = field(default=False, compare=False)
    """True where a size was needed as the number that it is, and not merely compared with one."""
    later: bool = field(init=False, repr=False, compare=False)
    """True if it can not be asked before a run begins."""

    def __post_init__(self) -> None:
        # Worked out once: every run of a graph asks. The class is frozen, and this is how such a field is set.
        object.__setattr__(self, "later", any(one.later for one in self.symbols()))

    def holds(self, bindings: Mapping[Symbol, Any]) -> bool:
        """Say whether it is so for the sizes `bindings`."""
        return bool(RELATIONS[self.relation](evaluate(self.left, bindings), evaluate(self.right, bindings)))

    def symbols(self) -> Iterator[Symbol]:
        """Every symbol that it asks for, as often as it stands there."""
        for one in (self.left, self.right):
            if isinstance(one, Symbolic):
                yield from one.symbols()

    def says(self, other: Guard) -> bool:
        """Say whether `other` is the same, whichever line asked."""
        return (self.left, self.relation, self.right) == (other.left, other.relation, other.right)

    def written(self, name: Callable[[Symbol], str] = str) -> str:
        """Return it as Python writes it, with symbols called what `name` says."""
        return f"{written(self.left, name)} {self.relation} {written(self.right, name)}"

    def over(self, rule: Callable[[Any], Any]) -> Guard:
        """Return it with what `rule` makes of both sides."""
        return Guard(rule(self.left), self.relation, rule(self.right), self.source, self.number)

    def __str__(self) -> str:
        return self.written()


@dataclass
class _Facts:
    """What is known of one sum: between which numbers it lies, and which it is not."""

    low: float = -math.inf
    high: float = math.inf
    never: set[int] = field(default_factory=set)

    def narrow(self, low: float, high: float) -> None:
        self.low, self.high = max(self.low, low), min(self.high, high)
        # An end that cannot be is no end.
        while self.low in self.never:
            self.low += 1
        while self.high in self.never:
            self.high -= 1


class SizeScope:
    """The sizes of one trace: what has been decided about them, and what is known of them by that.

    A question about sizes is answered by what they are today. Where the answer does not follow from what is known, it
    becomes a guard.

    >>> n, scope = Expression.of(Symbol("n", 64)), SizeScope()
    >>> scope.decide(n, ">", 4), scope.decide(n + 1, ">", 2), scope.decide(n * 3 // 3, "==", n)
    (True, True, True)
    >>> [str(one) for one in scope.guards]
    ['n > 4']
    """

    def __init__(self, guards: Iterable[Guard] = (), depth: int = 0) -> None:
        self.guards: list[Guard] = []
        self.active = True
        """False after the block of the scope: what is left of its sizes are then the numbers that they were."""
        self.depth = depth
        """How many traces it stands in: where sizes of two meet, the inner one keeps them."""
        self._values: dict[Symbol, Size] = {}
        """Symbols that are something else, by an equation."""
        self._facts: dict[Size, _Facts] = {}
        """Of sums without a constant, whose first coefficient is above 0."""
        for guard in guards:
            self.take(guard)

    def __enter__(self) -> SizeScope:
        OPEN.add(self)
        return self

    def __exit__(self, *error: object) -> None:
        self.active = False
        OPEN.discard(self)

    def settle(self, size: Any) -> Any:
        """Return a size, or a formula of sizes, with everything put in that equations say."""
        if isinstance(size, Formula):
            return size.over(self.settle) if any(one in self._values for one in size.symbols()) else size
        # What one symbol stands for may have others in it.
        while isinstance(size, Expression) and any(one in self._values for one in size.symbols()):
            size = evaluate(size, _Values(self._values))
        return size

    def decide(self, left: Any, relation: str, right: Any) -> bool:
        """Say whether ``left relation right``; leave a guard where that may be otherwise in another run."""
        left, right = self.settle(left), self.settle(right)
        if not all(isinstance(one, int | Expression) for one in (left, right)):
            return self._compared(left, relation, right)
        difference = left - right
        outcome = bool(RELATIONS[relation](hint_of(difference), 0))
        if isinstance(difference, Expression) and self.active:
            so = relation if outcome else _OPPOSITE[relation]
            if not self._follows(difference, so):
                # Written with the size on the left, as people do.
                if isinstance(left, int):
                    left, so, right = right, _TURNED[so], left
                guard = Guard(left, so, right, _line())
                if not (guard.later and self._asked_before(difference, so)):
                    self.take(guard)
        return outcome

    def _asked_before(self, difference: Expression, relation: str) -> bool:
        """Say whether a guard asks that; from those of later sizes nothing follows, not even what they say."""
        for one in self.guards:
            left, right = self.settle(one.left), self.settle(one.right)
            if one.later and isinstance(left, int | Expression) and isinstance(right, int | Expression):
                if (left - right, one.relation) == (difference, relation):
                    return True
                if (right - left, _TURNED[one.relation]) == (difference, relation):
                    return True
        return False

    def _compared(self, left: Any, relation: str, right: Any) -> bool:
        """Compare formulas, of which nothing follows that was not asked."""
        outcome = bool(RELATIONS[relation](hint_of(left), hint_of(right)))
        if self.active and (isinstance(left, Symbolic) or isinstance(right, Symbolic)):
            guard = Guard(left, relation if outcome else _OPPOSITE[relation], right, _line())
            if not guard.holds(
                {one: one.hint for one in guard.symbols()}
            ):  # NaN: the opposite is not so, either
                self.fix(left)
                self.fix(right)
            elif not any(guard.says(one) for one in self.guards):
                self.take(guard)
        return outcome

    def know(self, symbol: Symbol, size: Size) -> None:
        """Take in that a symbol is something else, which follows and needs no guard."""
        self._values[symbol] = size

    def fix(self, size: Any) -> Any:
        """Return the number that a size, or a formula of sizes, is today; that sizes are these numbers is guarded."""
        today, before = hint_of(size), len(self.guards)
        if isinstance(size, Formula):
            for one in size.sizes():
                self.decide(one, "==", one.hint)
        elif isinstance(size, Expression):
            self.decide(size, "==", today)
        self.guards[before:] = [replace(one, number=True) for one in self.guards[before:]]
        return today

    def take(self, guard: Guard) -> None:
        """Keep a guard, and what follows from it.

        From one of sizes that are known later nothing does: it may stand in a branch that is not taken, and never be
        asked.
        """
        self.guards.append(guard)
        if not guard.later:
            self._note(guard)

    def _note(self, guard: Guard) -> None:
        """Take in what follows from a guard."""
        left, right = self.settle(guard.left), self.settle(guard.right)
        if not all(isinstance(one, int | Expression) for one in (left, right)):
            return
        difference = left - right
        if not isinstance(difference, Expression):
            return
        rest, sign = _upright(difference - difference.constant)
        facts = self._facts.setdefault(rest, _Facts(*self._bounds(rest)))
        if guard.relation == "!=":
            facts.never.add(-sign * difference.constant)
            facts.narrow(-math.inf, math.inf)
        else:
            low, high = (one - difference.constant for one in _RANGES[guard.relation])
            facts.narrow(*((low, high) if sign > 0 else (-high, -low)))
        if facts.low == facts.high:
            solved = _solved(rest - int(facts.low))
            if solved is not None:
                self._values[solved[0]] = solved[1]
                # What was known of the symbol is now known of what it is.
                for one in self.guards:
                    if not one.later and solved[0] in one.symbols():
                        self._note(one)

    def _bounds(self, rest: Expression) -> Bounds:
        return bounds_of(rest, self._told)

    def _told(self, rest: Size) -> Bounds:
        """Return what guards say of the bounds of a sum without a constant."""
        if not isinstance(rest, Expression):
            return rest, rest
        upright, sign = _upright(rest)
        facts = self._facts.get(upright, _UNKNOWN)
        return (facts.low, facts.high) if sign > 0 else (-facts.high, -facts.low)

    def _follows(self, difference: Expression, relation: str) -> bool:
        """Say whether it is known that ``difference relation 0``."""
        low, high = bounds_of(difference, self._told)
        if relation != "!=":
            least, most = _RANGES[relation]
            return least <= low and high <= most
        rest, sign = _upright(difference - difference.constant)
        never = self._facts.get(rest, _UNKNOWN).never
        return low > 0 or high < 0 or -sign * difference.constant in never


_UNKNOWN = _Facts()


def _line() -> str:
    """Return the line of the user's code that asks."""
    frame = calling_frame()
    return place(frame.f_code.co_filename, frame.f_lineno) if frame is not None else ""


def _upright(rest: Size) -> tuple[Expression, int]:
    """Return a sum whose first coefficient is above 0, and by which sign it was multiplied for that."""
    assert isinstance(rest, Expression)
    return (-rest, -1) if rest.leading < 0 else (rest, 1)  # type: ignore[return-value]


def _solved(equation: Size) -> tuple[Symbol, Size] | None:
    """Return a symbol, and what it is where `equation` is 0; None where it can not be solved for one.

    Of several it is the one that came last, by its name: what comes later is told by what was there.
    """
    if not isinstance(equation, Expression):
        return None
    everywhere = list(equation.symbols())
    for monomial, coefficient in reversed(equation.terms):
        if len(monomial) == 1 and monomial[0][1] == 1 and isinstance(symbol := monomial[0][0], Symbol):
            others = Expression.of(symbol) * coefficient - equation
            whole = not isinstance(others, Expression) or all(c % coefficient == 0 for _, c in others.terms)
            if everywhere.count(symbol) == 1 and whole and hint_of(others) % coefficient == 0:
                return symbol, others // coefficient
    return None


class _Values(Mapping[Symbol, Size]):
    """What symbols are; one of which nothing is said is itself."""

    def __init__(self, values: Mapping[Symbol, Size]) -> None:
        self._known = values

    def __getitem__(self, symbol: Symbol) -> Size:
        return self._known[symbol] if symbol in self._known else Expression.of(symbol)

    def __iter__(self) -> Iterator[Symbol]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

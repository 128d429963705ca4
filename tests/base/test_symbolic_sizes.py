"""Sizes that are not known yet: their algebra is that of plain numbers, and their guards say what was decided."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.size_bounds import bounds_of
from workbench.base.size_expressions import Expression, Symbol, evaluate, written
from workbench.base.size_guards import SizeScope
from workbench.base.symbolic_size import SymbolicFloat, SymbolicNumber, SymbolicSize, sized, whole

SYMBOLS = tuple(Symbol(name, size) for name, size in zip("abc", (6, 4, 3), strict=True))
RULES = (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod)

sizes = st.integers(1, 40)
leaves = st.sampled_from(SYMBOLS) | st.integers(-5, 8)
trees = st.recursive(leaves, lambda inner: st.tuples(st.sampled_from(RULES), inner, inner), max_leaves=7)


def symbolic() -> tuple[SizeScope, dict[Symbol, Any]]:
    scope = SizeScope()
    return scope, {one: sized(Expression.of(one), scope) for one in SYMBOLS}


def computed(tree: Any, values: dict[Symbol, Any]) -> Any:
    """Return what a tree of operators is for the given values of its symbols."""
    if isinstance(tree, Symbol):
        return values[tree]
    if isinstance(tree, int | float):
        return tree
    rule, left, right = tree
    return rule(computed(left, values), computed(right, values))


@given(trees, st.tuples(sizes, sizes, sizes))
def test_arithmetic_is_that_of_plain_numbers_for_all_sizes_that_the_guards_allow(
    tree: Any, others: tuple[int, int, int]
) -> None:
    scope, values = symbolic()
    today = {one: one.hint for one in SYMBOLS}
    try:
        result = computed(tree, values)
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            computed(tree, today)
        return
    found = result.expression if isinstance(result, SymbolicSize) else result
    assert evaluate(found, today) == computed(tree, today)
    elsewhere = dict(zip(SYMBOLS, others, strict=True))
    if all(guard.holds(elsewhere) for guard in scope.guards):
        assert evaluate(found, elsewhere) == computed(tree, elsewhere)
        low, high = bounds_of(found, scope._told)
        assert low <= evaluate(found, elsewhere) <= high


numbers = leaves | st.sampled_from([0.5, -0.1, 3.0, 1e300, 0.0, -0.0, float("inf")])
broken = st.recursive(
    numbers,
    lambda inner: st.tuples(st.sampled_from((*RULES, operator.truediv, operator.pow)), inner, inner),
    max_leaves=7,
)


def outcome(tree: Any, values: dict[Symbol, Any]) -> Any:
    """Return what a tree gives, by its bits where it is a float, or which error it ends with."""
    try:
        found = computed(tree, values)
    except (ArithmeticError, TypeError) as error:
        return type(error)
    return repr(found)


@given(broken, st.tuples(sizes, sizes, sizes))
def test_arithmetic_with_floats_is_that_of_python_to_the_bit_for_all_sizes_that_the_guards_allow(
    tree: Any, others: tuple[int, int, int]
) -> None:
    scope, values = symbolic()
    today = {one: one.hint for one in SYMBOLS}
    if isinstance(outcome(tree, today), type):
        assert outcome(tree, values) is outcome(tree, today)
        return
    result = computed(tree, values)
    found = result.expression if isinstance(result, SymbolicNumber) else result
    assert repr(evaluate(found, today)) == outcome(tree, today)
    elsewhere = dict(zip(SYMBOLS, others, strict=True))
    if all(guard.holds(elsewhere) for guard in scope.guards):
        try:
            given = repr(evaluate(found, elsewhere))
        except ArithmeticError as error:
            given = type(error)
        assert given == outcome(tree, elsewhere)
    if isinstance(result, SymbolicFloat):
        names = {"a": 6, "b": 4, "c": 3, "inf": math.inf}
        assert repr(eval(written(found), names)) == outcome(tree, today)


@given(trees, trees, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), st.tuples(sizes, sizes, sizes))
def test_what_follows_from_guards_is_so(
    first: Any, second: Any, relation: str, others: tuple[int, int, int]
) -> None:
    """Whatever is answered without a guard of its own holds wherever the guards there are hold."""
    scope, values = symbolic()
    elsewhere = dict(zip(SYMBOLS, others, strict=True))
    questions = {
        "==": operator.eq,
        "!=": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
    try:
        pairs = [
            (computed(a, values), computed(b, values)) for a, b in ((first, second), (second, 4), (first, 0))
        ]
        answers = [bool(questions[relation](a, b)) for a, b in pairs]
        plain = [
            (computed(a, elsewhere), computed(b, elsewhere))
            for a, b in ((first, second), (second, 4), (first, 0))
        ]
    except ZeroDivisionError:
        return
    if all(guard.holds(elsewhere) for guard in scope.guards):
        assert answers == [questions[relation](a, b) for a, b in plain]


@given(trees)
def test_a_written_expression_is_python_for_it(tree: Any) -> None:
    _, values = symbolic()
    try:
        result = computed(tree, values)
    except ZeroDivisionError:
        return
    if isinstance(result, SymbolicSize):
        for today in ({"a": 6, "b": 4, "c": 3}, {"a": 7, "b": 9, "c": 11}):
            bound = {one: today[one.name] for one in SYMBOLS}
            try:
                expected = evaluate(result.expression, bound)
            except ZeroDivisionError:
                continue
            assert eval(written(result.expression), {}, today) == expected


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (lambda a, b: a * b // b, lambda a, b: a),
        (lambda a, b: (a + 1) - 1, lambda a, b: a),
        (lambda a, b: a * b * 6 // (2 * b), lambda a, b: 3 * a),
        (lambda a, b: -(-a // 2), lambda a, b: (a + 1) // 2),
        (lambda a, b: ((a - 1) // 2 + 1 - 1) // 2 + 1, lambda a, b: (a - 1) // 4 + 1),
        (lambda a, b: a // 2 * 2 + a % 2, lambda a, b: a),
        (lambda a, b: (a * a - b * b) // (a + b), lambda a, b: a - b),
        (lambda a, b: (4 * a + 3) // 4, lambda a, b: a),
        (lambda a, b: (4 * a + 2) // 8, lambda a, b: a // 2),
        (lambda a, b: a**3, lambda a, b: a * a * a),
        (lambda a, b: math.prod((a, b, 2)), lambda a, b: 2 * b * a),
        (lambda a, b: sum((a, b)), lambda a, b: b + a),
        (lambda a, b: (a * 6) % 3, lambda a, b: 0),
        (lambda a, b: np.int64(3) * a, lambda a, b: a * 3),
    ],
)
def test_equal_expressions_are_equal_without_a_guard(left: Any, right: Any) -> None:
    scope, (a, b, _) = (made := symbolic())[0], made[1].values()
    assert left(a, b) == right(a, b)
    assert [one for one in scope.guards if one.relation != "!="] == []


# Each asks for a number of the size 6, or of what it is beside: what comes out, and the guard that says so.
USES: list[tuple[Any, Any, str | None]] = [
    (lambda a: a > 4, True, "a > 4"),
    (lambda a: 4 > a, False, "a >= 4"),
    (lambda a: a == 6, True, "a == 6"),
    (lambda a: a != 6, False, "a == 6"),
    (lambda a: (a,) == (2,), False, "a != 2"),
    (lambda a: a in (1, 2), False, "a != 1"),
    (bool, True, "a != 0"),
    (lambda a: list(range(a)), [0, 1, 2, 3, 4, 5], "a == 6"),
    (lambda a: [0] * a, [0] * 6, "a == 6"),
    (lambda a: a * "x", "xxxxxx", "a == 6"),
    (lambda a: {6: "six"}[a], "six", "a == 6"),
    (lambda a: {7: "seven"}.get(a), None, "a == 6"),
    (lambda a: f"{a}", "6", "a == 6"),
    (lambda a: f"{a:03}", "006", "a == 6"),
    (lambda a: "%d" % a, "6", "a == 6"),  # noqa: UP031
    (str, "6", "a == 6"),
    (repr, "6", "a == 6"),
    (float, 6.0, "a == 6"),
    (int, 6, "a == 6"),
    (complex, 6 + 0j, "a == 6"),
    (math.sqrt, math.sqrt(6), "a == 6"),
    # That these are what they are is asked below, of the formula.
    (lambda a: a**0.5, 6**0.5, f"a ** 0.5 == {6**0.5}"),
    (lambda a: a / 2, 3.0, "a / 2 == 3.0"),
    (lambda a: 1 / a, 1 / 6, f"1 / a == {1 / 6}"),
    (lambda a: a * 0.5, 3.0, "a * 0.5 == 3.0"),
    (lambda a: (a / 4).__floor__(), 1, "a//4 == 1"),
    (lambda a: float(a / 2), 3.0, "a == 6"),
    (lambda a: round(a / 4), 2, "a == 6"),
    (lambda a: hash(a / 2), hash(3.0), "a == 6"),
    (lambda a: 2**a, 64, "a == 6"),
    (lambda a: a**-1, 1 / 6, f"a ** (-1) == {1 / 6}"),
    (lambda a: a << 1, 12, "a == 6"),
    (lambda a: a & 3, 2, "a == 6"),
    (lambda a: np.zeros((a,)).shape, (6,), "a == 6"),
    (lambda a: np.arange(a).tolist(), [0, 1, 2, 3, 4, 5], "a == 6"),
    (lambda a: np.array([a, 2]).tolist(), [6, 2], "a == 6"),
    (lambda a: (np.ones(2) * a).tolist(), [6.0, 6.0], "a == 6"),
    (lambda a: math.gcd(a, 4), 2, "a == 6"),
    (lambda a: a.bit_length(), 3, "a == 6"),
    (lambda a: pickle.loads(pickle.dumps(a)), 6, "a == 6"),
    (lambda a: Fraction(1, 2) * a, 3, "a == 6"),
    (lambda a: a > 4.5, True, "a > 4"),
    (lambda a: a >= 5.5, True, "a >= 6"),
    (lambda a: a < 6.5, True, "a < 7"),
    (lambda a: a == 6.0, True, "a == 6"),
    (lambda a: a == 6.5, False, None),
    (lambda a: a < math.inf, True, None),
    (lambda a: a == "6", False, None),
    (lambda a: a is None, False, None),
    (lambda a: a >= 0, True, None),
    (lambda a: a == -1, False, None),
    (lambda a: max(a, 4) == a, True, "a >= 4"),
    (lambda a: copy.deepcopy(a) == a, True, None),
    (lambda a: round(a) == a, True, None),
    (lambda a: math.ceil(a) == a, True, None),
    (lambda a: isinstance(a, int), False, None),
]


@pytest.mark.parametrize(("use", "expected", "guard"), USES)
def test_what_asks_for_a_number_gets_it_and_leaves_a_guard(
    use: Any, expected: Any, guard: str | None
) -> None:
    scope = SizeScope()
    a = sized(Expression.of(SYMBOLS[0]), scope)
    assert use(a) == expected
    left = [str(one) for one in scope.guards]
    assert left[:1] == ([] if guard is None else [guard])
    assert all(one.holds({SYMBOLS[0]: 6}) for one in scope.guards)
    assert not scope.guards or scope.guards[0].source.startswith("test_symbolic_sizes.py:")


def test_what_is_decided_once_is_not_asked_again() -> None:
    scope, values = symbolic()
    a, b, _ = values.values()
    assert a > 4
    assert a > 3
    assert a * b >= b - 1
    assert not a < 2
    assert a + 1 != 4
    assert a != 5
    assert a == 6
    assert a + 1 == 7
    assert [str(one) for one in scope.guards] == ["a > 4", "a*b >= b - 1", "a != 5", "a == 6"]
    assert whole(a * 2) == 12


def test_an_equation_says_what_a_symbol_is_from_then_on() -> None:
    scope, values = symbolic()
    a, b, c = values.values()
    assert a == b + 2
    assert (b * c).expression == (values[SYMBOLS[1]] * c).expression
    assert a - 2 == b
    assert isinstance(a * 1 - b, int)
    assert len(scope.guards) == 1


def test_sizes_of_an_ended_trace_are_the_numbers_that_they_were() -> None:
    scope, values = symbolic()
    scope.active = False
    a, *_ = values.values()
    assert type(a + 1) is int
    assert a + 1 == 7
    assert a > 4
    assert scope.guards == []


def test_where_two_traces_meet_the_inner_one_keeps_its_sizes() -> None:
    outer, inner = SizeScope(), SizeScope(depth=1)
    a = sized(Expression.of(SYMBOLS[0]), outer)
    b = sized(Expression.of(SYMBOLS[1]), inner)
    for both in (a * b, b * a):
        assert both.scope is inner
        assert str(both.expression) == "6*b"
    assert [str(one) for one in outer.guards] == ["a == 6"]
    assert inner.guards == []


def test_division_by_what_is_0_today_is_refused() -> None:
    scope = SizeScope()
    zero = sized(Expression.of(Symbol("z", 0)), scope)
    with pytest.raises(ZeroDivisionError):
        _ = 5 // zero
    assert str(scope.guards[0]) == "z == 0"

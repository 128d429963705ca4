"""Scripts of functions give what Python gives: control flow, containers, text, exceptions."""

from __future__ import annotations

import math
import pickle
import traceback

import pytest

import workbench as wb
from tests.jit.programs import same
from workbench import Tensor


def early(x: int, y: int) -> int:
    if x > 10:
        return x
    if y > 10:
        if x > 5:
            return y
        x = x + 1
    elif y < -10:
        return -y
    return x * y


@pytest.mark.parametrize(("x", "y"), [(11, 0), (6, 11), (3, 11), (0, -20), (2, 3)])
def test_early_returns(x: int, y: int) -> None:
    same(early, x, y)


def loops(xs: list[int], limit: int) -> tuple[int, int, list[int]]:
    total, count = 0, 0
    seen: list[int] = []
    for i, x in enumerate(xs):
        if x < 0:
            continue
        if total > limit:
            break
        for j in range(i, 0, -1):
            if j == x:
                break
            total += j
        while count < 3:
            count += 1
            if count == 2:
                continue
            seen.append(count * x)
        total += x
    return total, count, seen


@pytest.mark.parametrize("limit", [-1, 3, 100])
def test_loops(limit: int) -> None:
    same(loops, [1, -2, 5, 7, 2], limit)
    same(loops, [], limit)


def found(xs: list[int], wanted: int) -> int | None:
    for i in range(len(xs)):
        for j in range(i):
            if xs[i] + xs[j] == wanted:
                return i * 10 + j
    return None


def test_returning_from_loops_in_loops() -> None:
    for wanted in (3, 9, 7, 100):
        same(found, [1, 2, 4, 5], wanted)


def growing(xs: list[int]) -> list[int]:
    for x in xs:
        if x > 0:
            xs.append(x - 1)  # noqa: PERF401
    return xs


def test_a_list_that_grows_while_a_loop_goes_over_it() -> None:
    same(growing, [3, 1])


def two_names(xs: list[int]) -> tuple[list[int], list[int]]:
    ys = xs
    ys.append(1)
    zs = xs + [2]  # noqa: RUF005
    xs += [3]
    ys[0] = 7
    rows = [xs, zs]
    rows[1].append(4)
    return ys, zs


def test_two_names_of_one_list() -> None:
    same(two_names, [5])


def in_place(x: Tensor, y: Tensor) -> Tensor:
    z = x
    x += y
    row = x[0]
    row.mul_(2.0)
    x[1] = 5.0
    return z + row


def test_tensors_that_are_changed_in_place() -> None:
    same(in_place, wb.ones(2, 2), wb.ones(2, 2))


def optional(x: Tensor | None, n: int | None = None) -> Tensor:
    if x is None:
        x = wb.ones(2)
    if n is not None and n > 2:
        x = x * n
    m = n if n is not None else 1
    return x + m


def test_optionals_are_refined() -> None:
    same(optional, None)
    same(optional, wb.zeros(2), 3)
    same(optional, wb.zeros(2), 1)


def dicts(words: list[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for word in words:
        if word in counts:
            counts[word] += 1
        else:
            counts[word] = 1
    for key, value in counts.items():
        if value > 1:
            counts[key] = counts.get(key, 0) * 10
    return counts


def test_dicts() -> None:
    same(dicts, ["a", "b", "a"])


def text(name: str, n: int, x: float) -> str:
    parts = name.strip().split(",")
    head = ", ".join([part.upper() for part in parts if len(part) > 1])
    return f"{head}:{n:03d} {x:.2f}" + f"{n} of {len(parts)}" + ("!" * n) + name[::-1]


def test_text() -> None:
    same(text, " ab,c,def ", 2, 0.125)


def numbers(a: int, b: int, x: float) -> tuple[int, int, float, float, int, bool, float, float]:
    return a // b, a % b, a / b, x**2, a**3, a < b < 10, max(x, 1.5), math.sqrt(abs(x)) + round(x, 1)


@pytest.mark.parametrize(("a", "b"), [(7, 2), (-7, 2), (7, -2), (1, 0)])
def test_numbers_are_those_of_python(a: int, b: int) -> None:
    same(numbers, a, b, 2.25)


def raises(n: int) -> int:
    assert n != 1, f"one is {n}"
    if n == 2:
        raise ValueError("two")
    if n == 3:
        raise IndexError
    return [1, 2][n]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_exceptions(n: int) -> None:
    same(raises, n)


def test_an_exception_has_its_message() -> None:
    with pytest.raises(AssertionError, match="one is 1"):
        wb.jit.script(raises)(1)


def test_what_a_script_raises_is_its_error_too() -> None:
    scripted = wb.jit.script(raises)
    for n, kind in ((1, AssertionError), (2, ValueError), (3, IndexError)):
        with pytest.raises(wb.jit.Error) as caught:
            scripted(n)
        assert isinstance(caught.value, kind)
        assert traceback.format_exception_only(caught.value)[-1].startswith(kind.__name__)
        # What another process is told is Python's own.
        again = pickle.loads(pickle.dumps(caught.value))
        assert type(again) is kind and again.args == caught.value.args
    with pytest.raises(IndexError) as caught:
        scripted(4)
    assert not isinstance(caught.value, wb.jit.Error)


def test_plain_exceptions_are_the_error() -> None:
    def refuses(x: Tensor) -> Tensor:
        raise Exception("never")

    with pytest.raises(wb.jit.Error, match="never"):
        wb.jit.script(refuses)(wb.ones(1))


def helper(x: Tensor, n: int = 2) -> tuple[Tensor, int]:
    return x * n, n + 1


def calls(x: Tensor) -> Tensor:
    y, n = helper(x)
    z, _ = helper(n=n, x=y)
    return z


def test_functions_that_call_functions() -> None:
    same(calls, wb.ones(2))
    graph = wb.jit.script(calls).graph
    assert list(graph.functions) == ["helper"]
    assert not wb.jit.script(calls).inlined_graph.functions


def short(xs: list[int], n: int) -> bool:
    return (len(xs) > n and xs[n] > 0) or n == 7


def test_what_decides_is_asked_first() -> None:
    for n in (0, 1, 5, 7):
        same(short, [1, -1], n)


def gradient(x: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = x * x if i % 2 == 0 else x + x.sum()
    return x.sum()


def test_gradients_go_through_control_flow() -> None:
    one, other = (wb.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    gradient(one, 3).backward()
    wb.jit.script(gradient)(other, 3).backward()
    assert (one.grad == other.grad).all()


def test_a_script_is_written_and_read(tmp_path) -> None:
    made = wb.jit.script(loops)
    again = wb.graph.parse(str(made.graph))
    assert str(again) == str(made.graph)
    assert again([1, -2, 5], 100) == made([1, -2, 5], 100)
    assert str(wb.graph.parse(made.code)) == str(made.graph)
    made.save(tmp_path / "loops.wb")
    assert wb.jit.load(tmp_path / "loops.wb")([1, -2, 5], 100) == made([1, -2, 5], 100)


def test_the_code_runs_as_python() -> None:
    made = wb.jit.script(loops)
    names: dict = {}
    exec(made.code, names)
    assert names["loops"]({}, {}, [1, -2, 5], 100) == loops([1, -2, 5], 100)

"""Programs that work in the same memory one after another: none reads what another left there."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from workbench import kernels
from workbench.kernels.loader import native

pytestmark = pytest.mark.skipif(not kernels.available(), reason="programs are made of compiled kernels")


def squared(size: int) -> tuple[Any, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A program of (x @ x) @ x, whose first product lies in its arena; what it is given, and what it gives."""
    program = native.compiled.Program(native.compiled.Store())
    x = program.input([size, size], "float32")
    program.finish([program.product(program.product(x, x), x)])
    assert program.arena_bytes >= 4 * size * size
    given = np.random.default_rng(size).standard_normal((size, size), dtype=np.float32)
    return program, given, given @ given @ given


def expect(made: tuple[Any, np.ndarray[Any, Any], np.ndarray[Any, Any]]) -> None:
    program, given, expected = made
    (found,) = program.run([given])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("order", [(8, 40, 24), (40, 8, 24), (24, 8, 40)], ids=str)
def test_programs_of_several_sizes(order: tuple[int, ...]) -> None:
    first, *others = [squared(size) for size in order]
    expect(first)
    for one in others:
        # One that has run already makes room for a larger one.
        one[0].share_arena(first[0])
        for made in (first, one, first):
            expect(made)


def test_one_that_has_run_stays_where_it_is() -> None:
    one, other = squared(8), squared(9)
    expect(one)
    with pytest.raises(ValueError, match="before it has run"):
        one[0].share_arena(other[0])


def test_several_threads() -> None:
    programs = [squared(size) for size in (30, 60, 17)]
    for one in programs[1:]:
        one[0].share_arena(programs[0][0])
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(60):
                expect(programs[(number + turn) % 3])
        except AssertionError as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures

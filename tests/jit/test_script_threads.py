"""Eight threads on one script give what one thread gives: nothing of a run is kept in what it runs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import workbench as wb
from tests.jit.programs import same_value
from workbench import Tensor, nn


class Deciding(nn.Module):
    """A branch, a loop and a list between layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x: Tensor, times: int) -> tuple[Tensor, list[int]]:
        seen: list[int] = []
        state = self.first(x)
        for i in range(times):
            if state.sum() > 0:
                state = self.cell(x, state) - 0.5
                seen.append(i)
            else:
                state = state.abs() + self.first(x)
                seen.append(-i)
        return state, seen


def test_eight_threads_on_one_script() -> None:
    model = Deciding()
    given = [(wb.randn(3, 4), i % 5) for i in range(64)]
    expected = [model(*one) for one in given]
    for made in (wb.jit.script(model), wb.jit.freeze(wb.jit.script(model.eval()))):
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda one, made=made: made(*one), given * 4))
        assert all(same_value(one, other) for one, other in zip(found, expected * 4, strict=True))


def test_eight_threads_on_one_compiled_script() -> None:
    model = wb.jit.script(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).eval())
    fast, given = wb.compile(model), [wb.randn(1 + i % 4, 4) for i in range(32)]
    with wb.no_grad():
        expected = [model(one) for one in given]

    def call(one: Tensor) -> Tensor:
        with wb.no_grad():
            return fast(one)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(call, given * 4))
    for one, other in zip(found, expected * 4, strict=True):
        assert (one - other).abs().max() < 1e-6
    assert "128 calls ran compiled" in str(wb.compiler.explain(fast)), wb.compiler.explain(fast)


def test_a_compiled_script_that_asks_for_numbers_runs_as_it_is_written() -> None:
    model, x = wb.jit.script(Deciding().eval()), wb.randn(3, 4)
    fast = wb.compile(model)
    with wb.no_grad():
        assert same_value(fast(x, 3), model(x, 3))
    told = str(wb.compiler.explain(fast))
    assert "1 call ran as written: it has no graph" in told and "no numbers" in told

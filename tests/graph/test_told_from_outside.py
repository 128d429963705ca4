"""What a traced function is told from outside, the time or others' random numbers, is in no graph: it is refused."""

from __future__ import annotations

import datetime
import os
import random
import time
import uuid
from time import perf_counter_ns
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.graph import GraphError, trace
from workbench.graph.reaching import reached

own = random.Random(3)
generator = np.random.default_rng(3)
legacy = np.random.RandomState(3)

TOLD: dict[str, Any] = {
    "time.time": lambda x: x * time.time(),
    "time_ns in a tensor": lambda x: x + wb.tensor(time.time_ns()),
    "by its own name": lambda x: x * perf_counter_ns(),
    "datetime": lambda x: x * datetime.datetime.now().timestamp(),
    "uuid": lambda x: x * float(uuid.uuid4().int),
    "urandom": lambda x: x * int.from_bytes(os.urandom(8), "big"),
    "a generator made there": lambda x: x * float(np.random.default_rng().random()),
}
DRAWN: dict[str, Any] = {
    "Python's random": lambda x: x * random.random(),
    "NumPy's random": lambda x: x + wb.tensor(np.random.rand(3)),
    "own": lambda x: x * own.random(),
    "generator": lambda x: x * float(generator.random()),
    "legacy": lambda x: x * legacy.rand(),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_what_is_told_each_time_is_refused_with_the_line(name: str) -> None:
    with pytest.raises(
        GraphError, match=r"test_told_from_outside\.py:\d+: the traced function is told something else"
    ):
        trace(TOLD[name], wb.ones(3))


def test_a_module_in_another_is_seen_whatever_else_was_imported() -> None:
    known: dict[str, Any] = {"np": np}
    exec("def told(x):\n    return x * float(np.random.default_rng().random())", known)
    with pytest.raises(GraphError, match="the traced function is told something else"):
        trace(known["told"], wb.ones(3))


def test_an_attribute_is_no_global_of_the_same_name() -> None:
    class Settings:
        time, generator = 2.0, 3.0

    settings = Settings()
    assert "time" in globals() and "generator" in globals()
    met = [path for path, _ in reached(lambda x: x * settings.time * settings.generator)]
    assert "time" not in met and "generator" not in met and "settings" in met


class Stamped(wb.nn.Module):
    """It asks for the time in a method that `forward` calls."""

    def _stamp(self) -> float:
        return time.monotonic()

    def forward(self, x: wb.Tensor) -> wb.Tensor:
        return x + self._stamp()


class Inheriting(Stamped):
    """The same, by inheritance."""


@pytest.mark.parametrize("kind", [Stamped, Inheriting])
def test_so_is_what_a_method_is_told(kind: Any) -> None:
    with pytest.raises(GraphError, match="is told something else each time it runs"):
        trace(wb.nn.Sequential(wb.nn.ReLU(), kind()), wb.ones(3))


@pytest.mark.parametrize("name", DRAWN)
def test_what_others_draw_is_refused_and_not_drawn(name: str) -> None:
    before = own.getstate(), str(generator.bit_generator.state), legacy.get_state()[2], random.getstate()
    with pytest.raises(GraphError, match=f"draws numbers by {name}, which would be the same at every run"):
        trace(DRAWN[name], wb.ones(3))
    assert before == (
        own.getstate(),
        str(generator.bit_generator.state),
        legacy.get_state()[2],
        random.getstate(),
    )


def test_a_function_that_looks_at_the_time_and_computes_nothing_with_it_is_traced() -> None:
    took = []

    def function(x: wb.Tensor) -> wb.Tensor:
        start = time.perf_counter()
        y = x * 2
        took.append(time.perf_counter() - start)
        return y

    assert trace(function, wb.ones(3))(wb.ones(3)).tolist() == [2.0] * 3


def test_what_decides_by_it_is_refused() -> None:
    turns = iter([True, False])

    def function(x: wb.Tensor) -> wb.Tensor:
        return x * 2 if next(turns) and time.time() > 0 else x.exp()

    with pytest.raises(GraphError, match="it calls other functions"):
        trace(function, wb.ones(3))


def test_a_compiled_function_that_asks_for_the_time_runs_as_it_is_written() -> None:
    fast = wb.compile(TOLD["by its own name"])
    assert fast(wb.ones(1, dtype=wb.float64)).item() < fast(wb.ones(1, dtype=wb.float64)).item()
    assert "is told something else each time it runs" in str(wb.compiler.explain(fast))


def test_a_scripted_trace_refuses_too() -> None:
    with pytest.raises(GraphError, match=r"test_told_from_outside\.py:\d+: the traced function is told"):
        wb.jit.trace(TOLD["time.time"], wb.ones(3))

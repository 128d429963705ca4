"""Dispatch: the stack of interpreters, the short path, and values without numbers."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import workbench as wb
from workbench.core import Op, WithoutNumbers, apply, interpreting, ops
from workbench.core.op import table_add


class Counting:
    """Counts what passes and hands it to the interpreter below."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        self.seen.append(op.name)
        return apply(op, *inputs, **params)


def test_interpreters_call_the_one_below() -> None:
    outer, inner = Counting(), Counting()
    with interpreting(outer), interpreting(inner):
        (wb.ones(2) + 1).sum()
    assert inner.seen == outer.seen == ["add", "sum"]


def test_gradients_go_through_the_stack_too() -> None:
    counting = Counting()
    x = wb.ones(2, requires_grad=True)
    with interpreting(counting):
        (x * x).sum().backward()
    assert counting.seen[:2] == ["mul", "sum"]
    assert {"expand", "mul"} <= set(counting.seen[2:])


def test_the_stack_is_per_thread() -> None:
    counting = Counting()
    with interpreting(counting):
        thread = threading.Thread(target=lambda: wb.ones(2) + 1)
        thread.start()
        thread.join()
    assert counting.seen == []


def test_values_without_numbers_follow_rules_and_refuse_numbers() -> None:
    with interpreting(WithoutNumbers()):
        y = (wb.ones(N=2, C=3) @ wb.ones(C=3, K=4)).relu()
    assert (y.shape, y.names, y.dtype) == ((2, 4), ("N", "K"), wb.float32)
    for touch in (y.numpy, y.item, lambda: bool(y), y.tolist):
        with pytest.raises(wb.NoNumbersError, match=r"has dims .*N:2, K:4.* no numbers"):
            touch()


def test_the_short_path_agrees_with_the_long() -> None:
    x, y = wb.randn(N=3, C=4), wb.randn(C=4)
    short = x + y
    long = apply(ops.add, x, y)
    assert short.names == long.names == ("N", "C")
    assert short.tolist() == long.tolist()


def test_an_op_taken_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="there is an op called 'add' already"):
        table_add(ops.add)

"""Changes in place of much memory: nobody can tell whether numbers were copied there or took the place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core import tape
from workbench.nn import functional as F
from workbench.testing import assert_close

COUNT = 40_000


def values(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(COUNT).astype(np.float32)


def made(seed: int = 0) -> wb.Tensor:
    """A tensor whose memory nobody else knows."""
    return wb.tensor(values(seed)) * 1.0


def test_memory_that_others_see_is_written_to() -> None:
    expected = np.maximum(values(), 0)
    for other in (
        lambda x: x[5:], lambda x: x.detach(), lambda x: x.numpy(), lambda x: x.rename("N"),
        lambda x: x.reshape(2, -1), lambda x: memoryview(x.numpy()),
    ):  # fmt: skip
        x = made()
        seen = other(x)
        F.relu(x, inplace=True)
        array = np.asarray(seen.numpy() if isinstance(seen, wb.Tensor) else seen).reshape(-1)
        np.testing.assert_array_equal(array, expected[-array.size :])
        np.testing.assert_array_equal(x.numpy(), expected)


def test_memory_from_outside_is_written_to() -> None:
    buffer = bytearray(values().tobytes())
    wb.frombuffer(buffer, dtype=wb.float32).relu_()
    np.testing.assert_array_equal(np.frombuffer(buffer, np.float32), np.maximum(values(), 0))
    array = values()
    wb.from_numpy(array).relu_()
    np.testing.assert_array_equal(array, np.maximum(values(), 0))


def test_numbers_of_another_tensor_are_copied() -> None:
    x, y = made(0), made(1)
    x.copy_(y)
    x.mul_(0.0)
    np.testing.assert_array_equal(y.numpy(), values(1))
    z = made(2)
    z[:] = y
    z.zero_()
    np.testing.assert_array_equal(y.numpy(), values(1))


def test_the_order_in_memory_stays() -> None:
    x = made().reshape(4, 100, 100).permute(2, 0, 1).clone()
    before = x.stride()
    F.silu(x, inplace=True)
    assert x.stride() == before


@pytest.mark.parametrize("name", ["leaky_relu", "elu", "silu", "hardswish", "mish"])
def test_gradients_of_changes_in_a_row(name: str) -> None:
    """These are computed from the numbers as they were: those must still be there."""
    function = getattr(F, name)
    leaf = wb.tensor(values(), requires_grad=True)
    function(function(leaf * 1.0)).sum().backward()
    expected = leaf.grad.clone()
    leaf.grad = None
    x = leaf * 1.0
    function(x, inplace=True)
    function(x, inplace=True)
    x.sum().backward()
    assert_close(leaf.grad, expected)


def test_a_result_that_its_gradient_needs_may_not_be_changed_again() -> None:
    leaf = wb.tensor(values(), requires_grad=True)
    for change in (
        lambda x: x.add_(1.0),
        lambda x: x[3:].zero_(),
        lambda x: x.detach().mul_(2.0),
        lambda x: F.relu(x.mul_(2.0), inplace=True),
    ):
        x = leaf * 1.0
        F.relu(x, inplace=True)
        change(x)
        with pytest.raises(wb.AutogradError, match="modified by an inplace operation: output 0 of 'relu'"):
            x.sum().backward()


def test_what_was_kept_of_the_value_before_is_missed() -> None:
    leaf = wb.tensor(values(), requires_grad=True)
    x = leaf * 1.0
    y = x * x
    F.relu(x, inplace=True)
    with pytest.raises(wb.AutogradError, match="modified by an inplace operation: input 0 of 'mul'"):
        (x + y).sum().backward()


def test_a_call_is_told_of_changes_as_often_as_it_takes_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    told = 0
    notice = tape.Node.notice

    def count(node: Any, array: Any) -> None:
        nonlocal told
        told += 1
        notice(node, array)

    monkeypatch.setattr(tape.Node, "notice", count)
    start = wb.ones(4, requires_grad=True)
    y = start * 1
    for _ in range(50):
        y.sigmoid_()
    assert told <= 150  # each of the calls before would be 1225
    early = wb.ones(4, requires_grad=True).exp()
    other = early * 2
    for _ in range(3):
        early.add_(1)
    with pytest.raises(wb.AutogradError, match="modified by an inplace operation"):
        other.sum().backward()


def test_a_call_is_told_of_memory_that_was_away_for_a_while() -> None:
    x = wb.tensor(values(), requires_grad=True) * 1.0
    F.relu(x, inplace=True)
    kept = x.detach()
    x.data = wb.zeros(COUNT)
    x.mul_(1.0).mul_(1.0)  # of these the call before is told, to which they are nothing
    x.data = kept
    x.mul_(3.0)
    with pytest.raises(wb.AutogradError, match="modified by an inplace operation: output 0 of 'relu'"):
        x.sum().backward()

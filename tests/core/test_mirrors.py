"""Conjugates are views: what is changed in place in one is changed in the other, on the tape as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb


def values() -> wb.Tensor:
    return wb.tensor([[1 + 2j, 3 - 1j]], dtype=wb.complex128)


@pytest.mark.parametrize(
    "view", [lambda x: x.conj(), lambda x: x.mH.mT, lambda x: x.H.t(), lambda x: x.adjoint().mT]
)
def test_a_change_goes_both_ways(view: Callable[[Any], Any]) -> None:
    x = values()
    y = view(x)
    x.mul_(1j)
    assert y.tolist() == [[-2 - 1j, 1 - 3j]]
    y[0, 0] = 5 + 1j
    assert x.tolist() == [[5 - 1j, 1 + 3j]]
    assert x._version == y._version == 2


def test_whatever_shares_the_memory_takes_part() -> None:
    x = values()
    y = x.conj()
    part, detached, twice = y[0, 1:], y.detach(), y.conj()
    part.zero_()
    detached[0, 0] = 1j
    assert x.tolist() == twice.tolist() == [[-1j, 0]]
    twice.fill_(2 + 1j)
    assert part.tolist() == [2 - 1j]
    assert x.tolist() == [[2 + 1j, 2 + 1j]]


def test_gradients_go_through_a_change_of_the_conjugate() -> None:
    x = values().requires_grad_()
    base = x * 1
    base.conj().mul_(wb.tensor([2j, 1.0], dtype=wb.complex128))
    base.abs().square().sum().backward()
    # |conj(x) * 2i| ** 2 = 4 |x| ** 2
    assert wb.allclose(x.grad, wb.tensor([[8 + 16j, 6 - 2j]], dtype=wb.complex128))


def test_a_conjugate_says_so_and_can_be_resolved() -> None:
    x = values()
    y = x.conj()
    assert y.is_conj() and y[0].is_conj() and not x.is_conj() and not y.conj().is_conj()
    own = y.resolve_conj()
    x.zero_()
    assert own.tolist() == [[1 - 2j, 3 + 1j]] and not own.is_conj()
    assert x.resolve_conj() is x
    real = wb.ones(2)
    assert real.conj() is real

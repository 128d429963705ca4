"""Memory that is read while it is written, and views that change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench.base.errors import DimensionError


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x[1:].add_(x[:-1]),
        lambda x: x[:-1].copy_(x[1:]),
        lambda x: x.__setitem__(slice(1, None), x[:-1]),
        lambda x: x.index_add_(0, wb.tensor([0, 1, 2, 3]), x),
        lambda x: x.index_copy_(0, wb.tensor([1, 0]), x[:2]),
        lambda x: x.scatter_(0, wb.tensor([1, 0]), x[:2]),
        lambda x: x.__setitem__(wb.tensor([1, 0]), x[:2]),
        lambda x: wb.add(x[1:], 1.0, out=x[:-1]),
        lambda x: wb.cat([x[:2], x[2:]], out=x),
    ],
    ids=range(9),
)
def test_what_overlaps_is_refused_and_nothing_is_written(change: Callable[[Any], Any]) -> None:
    for x in (wb.tensor([1.0, 2.0, 3.0, 4.0]), wb.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True) * 1):
        with pytest.raises(DimensionError, match="refer to a single memory location"):
            change(x.detach() if x.requires_grad else x)
        assert x.tolist() == [1.0, 2.0, 3.0, 4.0]
        assert x._version == 0


def test_the_same_memory_is_fine() -> None:
    x = wb.tensor([1.0, 2.0, 3.0])
    x.add_(x)
    x[:2] = x[:2]
    x.mul_(x.detach())
    x[:2] *= 2.0
    wb.sin(x, out=x)
    assert wb.allclose(x, wb.tensor([8.0, 32.0, 36.0]).sin())


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.squeeze(), lambda x: x.rename(None), lambda x: x.rename("N"), lambda x: x.refine_names("N"),
        lambda x: x.rename("N").align_to("N"), lambda x: x.reshape(2), lambda x: x.view(2), lambda x: x.expand(2),
        lambda x: x.view_as(x), lambda x: x[...], lambda x: x.permute(0), lambda x: x.movedim(0, 0),
        lambda x: x.ravel(),
    ],
    ids=range(13),
)  # fmt: skip
def test_a_view_that_changes_nothing_is_a_view_on_the_tape(view: Callable[[Any], Any]) -> None:
    x = wb.tensor([1.0, 2.0], requires_grad=True)
    base = x * 1
    same = view(base)
    same.mul_(3.0)
    base.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    base = x * 1
    same = view(base)
    base.mul_(4.0)
    x.grad = None
    same.sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


@pytest.mark.parametrize(
    "same", [lambda x: x.contiguous(), lambda x: x.to(x.dtype), lambda x: x.flatten(), lambda x: x.conj()]
)
def test_what_changes_nothing_and_is_no_view_is_the_tensor_itself(same: Callable[[Any], Any]) -> None:
    x = wb.ones(2)
    assert same(x) is x

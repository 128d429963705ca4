"""What hooks may put in a gradient's place: a tensor of its sizes and type, PyTorch's words for what else comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb

WRONG: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda g: g[:2], wb.DimensionError, "has changed the size of value"),
    (lambda g: g.sum(), wb.DimensionError, "has changed the size of value"),
    (lambda g: g[None], wb.DimensionError, "has changed the size of value"),
    (lambda g: g.double(), wb.DTypeError, r"has changed the type of value \(was float32 got float64\)"),
    (lambda g: g.half(), wb.DTypeError, r"has changed the type of value \(was float32 got float16\)"),
    (lambda g: g.long(), wb.DTypeError, r"has changed the type of value \(was float32 got int64\)"),
    (lambda g: g + 0j, wb.DTypeError, r"has changed the type of value \(was float32 got complex64\)"),
    (lambda g: 3.0, TypeError, "expected a Tensor or None, but hook '<lambda>' returned 'float'"),
    (lambda g: [g], TypeError, "returned 'list'"),
    (lambda g: "a", TypeError, "returned 'str'"),
]


def _run(place: str, hook: Callable[[Any], Any]) -> Any:
    x = wb.ones(3, requires_grad=True)
    y = x * 2
    if place == "leaf":
        x.register_hook(hook)
    elif place == "result":
        y.register_hook(hook)
    elif place == "before a call":
        y.grad_fn.register_prehook(lambda gradients: tuple(hook(one) for one in gradients))
    else:
        y.grad_fn.register_hook(
            lambda found, gradients: tuple(None if one is None else hook(one) for one in found)
        )
    (y * y).sum().backward()
    return x.grad


PLACES = ["leaf", "result", "before a call", "after a call"]


@pytest.mark.parametrize(("hook", "error", "words"), WRONG)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_gradient_is_refused(place: str, hook: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        _run(place, hook)


@pytest.mark.parametrize("place", PLACES)
def test_a_gradient_alike_stands_in(place: str) -> None:
    assert _run(place, lambda g: g * 3).tolist() == [24.0, 24.0, 24.0]


@pytest.mark.parametrize("place", ["leaf", "result"])
def test_none_changes_nothing(place: str) -> None:
    assert _run(place, lambda g: None).tolist() == [8.0, 8.0, 8.0]


def test_as_many_as_there_were() -> None:
    x = wb.ones(3, requires_grad=True)
    y = x * 2
    y.grad_fn.register_prehook(lambda gradients: gradients + gradients)
    with pytest.raises(wb.AutogradError, match=r"incorrect number of values \(got 2, but expected 1\)"):
        y.sum().backward()

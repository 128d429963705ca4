"""Factories of plain sizes are compiled: they give what they gave, note the line, and leave everything else alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.tensor import factories

CALLS: dict[str, Callable[[], Any]] = {
    "zeros": lambda: wb.zeros(2, 3),
    "zeros of a list": lambda: wb.zeros([2, 0]),
    "zeros of a size": lambda: wb.zeros(wb.ones(4, 1).shape),
    "zeros of nothing": lambda: wb.zeros(()),
    "zeros without sizes": lambda: wb.zeros(),
    "ones": lambda: wb.ones(5),
    "ones, float64": lambda: wb.ones(5, dtype=wb.float64),
    "ones, int64": lambda: wb.ones((5,), dtype=wb.int64),
    "ones, int8": lambda: wb.ones(5, dtype=wb.int8),
    "ones, bfloat16": lambda: wb.ones(5, dtype=wb.bfloat16),
    "ones that ask": lambda: wb.ones(5, requires_grad=True),
    "ones with names": lambda: wb.ones(N=5),
    "full": lambda: wb.full((2, 3), 0.1),
    "full of a number of entries": lambda: wb.full(3, 0.1),
    "full of what is too large": lambda: wb.full((2,), 1e300),
    "full of NaN": lambda: wb.full((2,), float("nan")),
    "full that asks": lambda: wb.full((2,), -0.0, requires_grad=True),
    "zeros_like": lambda: wb.zeros_like(wb.tensor([[1, 2]])),
    "ones_like": lambda: wb.ones_like(wb.zeros(N=2)),
    "ones_like of a number": lambda: wb.ones_like(wb.tensor(2.0, dtype=wb.float64)),
    "negative": lambda: wb.zeros(2, -1),
    "a bool": lambda: wb.zeros(True),
    "a float": lambda: wb.zeros(2.0),
    "too large": lambda: wb.zeros(2**31, 2**31),
    "too many dims": lambda: wb.zeros(*(1,) * 65),
    "in inference mode": lambda: in_inference(lambda: wb.zeros(2)),
    "arange": lambda: wb.arange(5),
    "arange backwards": lambda: wb.arange(5, 0, -2),
    "arange of nothing": lambda: wb.arange(0),
    "arange past the end": lambda: wb.arange(1, 8, 3),
    "arange of a size with names": lambda: wb.arange(3, names=("N",)),
}


def in_inference(function: Callable[[], Any]) -> Any:
    with wb.inference_mode():
        return function()


def told(function: Callable[[], Any]) -> Any:
    try:
        x = function()
    except Exception as error:
        return type(error), str(error)
    return (
        str(x.payload.dtype),
        x.shape,
        x.payload.tobytes(),
        x.names,
        x.requires_grad,
        x.is_inference(),
        x.is_leaf,
    )


@pytest.mark.parametrize("name", CALLS)
def test_a_factory_gives_the_same_either_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = told(CALLS[name])
    monkeypatch.setattr(factories, "_filled_new", lambda *given: None)
    assert quick == told(CALLS[name])


def test_defaults_are_those_in_force() -> None:
    try:
        wb.set_default_dtype(wb.float64)
        assert {wb.zeros(2).dtype, wb.full((2,), 0.5).dtype, wb.empty(2).dtype} == {wb.float64}
    finally:
        wb.set_default_dtype(wb.float32)


def test_the_line_is_the_program_s() -> None:
    line = sys._getframe().f_lineno + 1
    made = [wb.zeros(2), wb.full((2,), 1.0), wb.zeros_like(wb.tensor([1.0])), wb.tensor([2.0]), wb.arange(3)]
    assert {one._origin for one in made} == {(__file__, line)}


def test_each_call_has_memory_of_its_own() -> None:
    x, y = wb.zeros(3), wb.zeros(3)
    x += 1
    assert y.tolist() == [0, 0, 0]
    assert np.asarray(x.payload).flags.writeable


@pytest.mark.parametrize(
    "number", [1.5, 0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-46, 16777217.0]
)
@pytest.mark.parametrize("default", ["float32", "float64"])
def test_tensors_of_plain_floats_are_those_of_other_ways(number: float, default: str) -> None:
    before = wb.get_default_dtype()
    wb.set_default_dtype(default)
    try:
        expected = np.array([number, 2.0]).astype(default)
        for found in (
            wb.tensor([number, 2.0]),
            wb.tensor((number, 2.0)),
            wb.stack([wb.tensor(number), wb.tensor(2.0)]),
        ):
            assert found.dtype == wb.get_default_dtype()
            assert found.numpy().tobytes() == expected.tobytes()
        assert wb.tensor(number).shape == () and wb.tensor([number], names=("N",)).names == ("N",)
        assert (
            wb.tensor(number, requires_grad=True).requires_grad
            and wb.tensor([number], requires_grad=True).requires_grad
        )
        assert wb.tensor([number, 1]).dtype == wb.get_default_dtype() and wb.tensor([number, True]).shape == (
            2,
        )
    finally:
        wb.set_default_dtype(before)

"""Python's numbers given to tensors: the same ones are taken, refused, cut and wrapped as PyTorch does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from tests.peers.op_db.judge import theirs  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def _words(text: str) -> list[str]:
    return text.split()


VALUES = _words(
    "True 0 1 -1 -255 -256 127 128 -128 -129 255 256 300 2**31 -2**31 2**40 2**62 0.5 -0.5 3.7 -3.7 255.0 255.9 "
    "-128.9 300.5 65504.0 65519.0 7e4 3e38 1e39 -1e39 9.3e18 inf -inf nan None '5' 1j 1+0j np.float32(0.5) "
    "np.int64(300) np.uint8(7) t.tensor(5) t.tensor(2.5)"
)
TYPES = _words("bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64")

PLACES = {
    "tensor": "t.tensor([V], dtype=T)",
    "tensor of one": "t.tensor(V, dtype=T)",
    "full": "t.full((2,), V, dtype=T)",
    "full_like": "t.full_like(x, V)",
    "new_full": "x.new_full((2,), V)",
    "fill_": "x.fill_(V)",
    "masked_fill": "x.masked_fill(mask, V)",
    "index_fill": "x.index_fill(0, t.tensor([1]), V)",
    "scatter": "x.scatter(0, t.tensor([1]), V)",
    "setitem": "put(x, 0, V)",
    "setitem of a slice": "put(x, slice(1, None), V)",
    "setitem by a mask": "put(x, mask, V)",
}
"""Where a number V goes into a tensor of type T."""

ELSEWHERE = {
    # None and tensors have a meaning of their own in some of the calls, and tensors of types that differ are cast.
    "full": "t.tensor(2.5) t.tensor(5)",
    "scatter": "t.tensor(2.5) t.tensor(5)",
    "masked_fill": "t.tensor(2.5)",
    "index_fill": "t.tensor(2.5)",
    "tensor": "t.tensor(2.5) 1+0j np.float32(0.5)",
    "tensor of one": "t.tensor(2.5) 1+0j np.float32(0.5)",
    **{f"setitem{how}": "np.float32(0.5)" for how in ("", " of a slice", " by a mask")},
}
"""Values that are not compared in a place: what PyTorch has for them depends on more than number and type."""


def _put(x: Any, key: Any, value: Any) -> Any:
    x[key] = value
    return x


def _outcome(library: Any, expression: str, value: str, dtype: str) -> Any:
    """Return the numbers that come of an expression, or "refused"."""
    names = {"t": library, "np": np, "inf": math.inf, "nan": math.nan, "put": _put}
    names["T"] = getattr(library, dtype)
    names["x"] = library.zeros(2, dtype=names["T"])
    names["mask"] = library.tensor([True, False])
    try:
        result = eval(expression.replace("V", value), names)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return "refused"
    result = result if library is torch else theirs(result)
    return str(result.dtype), result.tolist()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("place", PLACES)
def test_numbers_go_into_tensors_as_in_pytorch(place: str, dtype: str) -> None:
    for value in VALUES:
        if value in ELSEWHERE.get(place, "").split() or (dtype == "complex64" and value[:2] in ("1j", "1+")):
            continue
        expected = _outcome(torch, PLACES[place], value, dtype)
        found = _outcome(wb, PLACES[place], value, dtype)
        assert repr(found) == repr(expected), f"{PLACES[place]} with V = {value}, T = {dtype}"


OPERATORS = _words("+ - * // % & | ^ == != < <= > >=")


@pytest.mark.parametrize("dtype", _words("uint8 int8 int16 int32 int64"))
@pytest.mark.parametrize("operator", OPERATORS)
def test_numbers_beside_small_integers(operator: str, dtype: str) -> None:
    for number in (300, -1, 256, 2**33 + 5, -129, 7):
        for form in (f"x {operator} ({number})", f"({number}) {operator} x"):
            results = []
            for library in (torch, wb):
                x = library.tensor([1, 7, 100], dtype=getattr(library, dtype))
                try:
                    result = eval(form, {"x": x})
                except (RuntimeError, ZeroDivisionError):
                    results.append("refused")
                    continue
                results.append(
                    (
                        str(result.dtype).replace("workbench", "torch"),
                        (result if library is torch else theirs(result)).tolist(),
                    )
                )
            assert results[0] == results[1], form


RANGES = """
t.arange(t.tensor(3)) | t.arange(t.tensor(3.0)) | t.arange(t.tensor(True)) | t.arange(True) | t.arange(np.int64(3))
t.arange(np.float32(3)) | t.arange(t.tensor(3, dtype=t.uint8)) | t.arange(t.tensor(3.0, dtype=t.float64))
t.arange(0, t.tensor(3), t.tensor(1)) | t.arange(0, 3, t.tensor(0.5)) | t.arange(t.tensor([3])) | t.arange(None)
t.arange(1j) | t.arange("3") | t.arange(math.nan) | t.linspace(t.tensor(0), 1, 3) | t.linspace(t.tensor([0]), 1, 3)
t.linspace(0, 1, t.tensor(3)) | t.linspace(0, 1, 3.0) | t.linspace(None, 1, 3) | t.linspace(0, 1j, 3)
t.linspace(0, 3000, 4, dtype=t.uint8) | t.linspace(0, 10, 4, dtype=t.uint8) | t.logspace(t.tensor(0), 1, 3)
t.full((2,), t.tensor(3)) | t.full((2,), np.float64(3)) | t.full((2,), t.tensor([3])) | t.full((2,), np.int32(3))
t.Tensor(2, 3).shape | t.Tensor(16).shape | t.Tensor() | t.Tensor([1, 2]) | t.Tensor(np.array([1, 2])) | t.Tensor(0)
t.Tensor(np.int64(3)).shape | t.Tensor(2.5) | t.Tensor(True) | t.Tensor(None) | t.Tensor("5") | t.Tensor(-1)
t.Tensor(2, [1]) | t.Tensor((2, 3)) | t.Tensor([[1, 2], [3]]) | t.Tensor([True, 2]) | t.Tensor(range(3))
t.Tensor(2, 2.5)
t.tensor([2**63]) | t.tensor([2**70], dtype=t.float32) | t.tensor([2**63], dtype=t.float64)
t.tensor([10**400], dtype=t.float64)
t.tensor(np.array([300]), dtype=t.uint8) | t.tensor(t.tensor([300]), dtype=t.uint8) | t.as_tensor([300], dtype=t.uint8)
t.randint(0, 300, (2,), dtype=t.uint8) | t.randint(-5, 3, (2,), dtype=t.uint8)
t.zeros(2, dtype=t.uint8).random_(0, 300)
"""


@pytest.mark.parametrize(
    "expression", [one.strip() for one in RANGES.replace("\n", "|").split("|") if one.strip()]
)
def test_ranges_and_constructors(expression: str) -> None:
    results = []
    for library in (torch, wb):
        try:
            result = eval(expression, {"t": library, "np": np, "math": math})
        except (TypeError, ValueError, RuntimeError, OverflowError):
            results.append("refused")
            continue
        if isinstance(result, tuple):
            results.append(tuple(result))
            continue
        result = theirs(result)
        results.append((str(result.dtype), result.tolist()))
    assert results[0] == results[1]

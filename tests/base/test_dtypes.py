"""Promotion: PyTorch's table, recorded from torch 2.13 for tensors with dims, 0-dim tensors and Python scalars."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.base.dtypes import as_dtype

WITH_DIMS = [
    ("float32", "float64", "float64"), ("float32", "int64", "float32"), ("float16", "int64", "float16"),
    ("float16", "float32", "float32"), ("int32", "int64", "int64"), ("uint8", "int8", "int16"),
    ("bool", "uint8", "uint8"), ("bool", "float32", "float32"), ("complex64", "float64", "complex128"),
    ("int64", "float16", "float16"), ("int16", "complex64", "complex64"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "expected"), WITH_DIMS)
def test_tensors_with_dims(a: str, b: str, expected: str) -> None:
    x, y = wb.ones(2, dtype=a), wb.ones(2, dtype=b)
    assert (x + y).dtype.name == expected
    assert (y + x).dtype.name == expected


@pytest.mark.parametrize(
    ("a", "scalar", "expected"),
    [
        ("float32", 2.5, "float32"), ("float16", 2.5, "float16"), ("int64", 2.5, "float32"), ("int32", 2, "int32"),
        ("uint8", 2, "uint8"), ("bool", 2, "int64"), ("float32", 2j, "complex64"), ("float64", 2j, "complex128"),
    ],
)  # fmt: skip
def test_python_scalars_are_weak(a: str, scalar: complex, expected: str) -> None:
    assert (wb.ones(2, dtype=a) + scalar).dtype.name == expected
    assert (scalar + wb.ones(2, dtype=a)).dtype.name == expected


@pytest.mark.parametrize(
    ("a", "zero_dim", "expected"),
    [
        ("float32", "float64", "float32"),
        ("int32", "int64", "int32"),
        ("int64", "float32", "float32"),
        ("int64", "float64", "float64"),
    ],
)
def test_zero_dim_tensors_are_weaker_than_tensors_with_dims(a: str, zero_dim: str, expected: str) -> None:
    assert (wb.ones(2, dtype=a) * wb.tensor(1, dtype=zero_dim)).dtype.name == expected


def test_division_of_integers_gives_floats() -> None:
    assert (wb.tensor([1, 2]) / 2).tolist() == [0.5, 1.0]
    assert (wb.tensor([1, 2]) / wb.tensor([2, 2])).dtype is wb.float32


def test_an_unknown_type_lists_the_known() -> None:
    with pytest.raises(wb.DTypeError, match="it has float32, float64"):
        wb.zeros(2, dtype="float31")


def test_short_names_are_those_of_pytorch() -> None:
    short = {
        "half": "float16", "float": "float32", "double": "float64", "cfloat": "complex64", "cdouble": "complex128",
        "short": "int16", "int": "int32", "long": "int64",
    }  # fmt: skip
    for name, full in short.items():
        assert getattr(wb, name) is getattr(wb, full) is as_dtype(name)
        assert name in wb.__all__

"""Operators that make tensors: of sizes, of places, of chance."""

from __future__ import annotations

from typing import Any

from workbench.base.dtypes import float32, int64
from workbench.base.symbolic_size import SymbolicNumber
from workbench.onnx import integers
from workbench.onnx.errors import OnnxError
from workbench.onnx.table import operator
from workbench.onnx.values import Integers, bounded, data_type, numbers_in, wb

__all__: list[str] = []


@operator("ConstantOfShape", since=9, numbers=(0,), integers=integers.filled)
def _constant_of_shape(shape: list[Any], *, value: Any = None) -> Any:
    bounded(shape)
    if value is None:
        return wb.zeros(tuple(shape), dtype=float32)
    return wb.full(tuple(shape), value.reshape(-1)[0].item(), dtype=value.dtype)


@operator("Range", since=11, raw=True)
def _range(start: Any, limit: Any, delta: Any) -> Any:
    kinds = [one.dtype for one in (start, limit, delta) if not isinstance(one, Integers)]
    first, last, step = (_single(numbers_in(one)) for one in (start, limit, delta))
    if not isinstance(step, SymbolicNumber) and step == 0:
        raise OnnxError("the step of a range is no 0")
    if not any(isinstance(one, SymbolicNumber) for one in (first, last, step)):
        bounded([max(int((last - first) / step), 0)])
        if (last - first) / step <= 0:
            last = first
    return wb.arange(first, last, step, dtype=kinds[0] if kinds else int64)


def _single(value: Any) -> Any:
    return value[0] if isinstance(value, list) else value


@operator("EyeLike", since=9)
def _eye_like(x: Any, *, dtype: int | None = None, k: int = 0) -> Any:
    kind = x.dtype if dtype is None else data_type(dtype)
    rows, columns = wb.arange(x.shape[0]).reshape(-1, 1), wb.arange(x.shape[1])
    return (columns - rows == k).to(kind)


# -------------------------------------------------------------------------------------------------- chance


@operator("RandomNormal", pure=False)
def _random_normal(
    *, dtype: int = 1, mean: float = 0.0, scale: float = 1.0, seed: float = 0.0, shape: list[int]
) -> Any:
    return (wb.randn(tuple(bounded(shape))) * scale + mean).to(data_type(dtype))


@operator("RandomUniform", pure=False)
def _random_uniform(
    *, dtype: int = 1, high: float = 1.0, low: float = 0.0, seed: float = 0.0, shape: list[int]
) -> Any:
    return (wb.rand(tuple(bounded(shape))) * (high - low) + low).to(data_type(dtype))


@operator("RandomNormalLike", pure=False)
def _random_normal_like(
    x: Any, *, dtype: int | None = None, mean: float = 0.0, scale: float = 1.0, seed: float = 0.0
) -> Any:
    kind = x.dtype if dtype is None else data_type(dtype)
    return (wb.randn(tuple(x.shape)) * scale + mean).to(kind)


@operator("RandomUniformLike", pure=False)
def _random_uniform_like(
    x: Any, *, dtype: int | None = None, high: float = 1.0, low: float = 0.0, seed: float = 0.0
) -> Any:
    kind = x.dtype if dtype is None else data_type(dtype)
    return (wb.rand(tuple(x.shape)) * (high - low) + low).to(kind)


@operator("Bernoulli", since=15, pure=False)
def _bernoulli(x: Any, *, dtype: int | None = None, seed: float = 0.0) -> Any:
    kind = x.dtype if dtype is None else data_type(dtype)
    return (wb.rand(tuple(x.shape)) < x).to(kind)


@operator("Multinomial", since=7, pure=False)
def _multinomial(x: Any, *, dtype: int = 6, sample_size: int = 1, seed: float = 0.0) -> Any:
    return wb.multinomial(wb.softmax(x, -1), sample_size, replacement=True).to(data_type(dtype))

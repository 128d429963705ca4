"""Operators of the domain ai.onnx.ml that are tensors in and tensors out: what stands before and behind models."""

from __future__ import annotations

from typing import Any

from workbench.onnx.errors import OnnxError
from workbench.onnx.table import operator
from workbench.onnx.values import wb

__all__: list[str] = []

_DOMAIN = "ai.onnx.ml"


@operator("ArrayFeatureExtractor", domain=_DOMAIN, still=(1,))
def _extracted(x: Any, y: Any) -> Any:
    found = wb.index_select(x, x.ndim - 1, y.reshape(-1))
    # A row comes out as a table of one.
    return found.reshape(1, -1) if x.ndim == 1 else found


@operator("Binarizer", domain=_DOMAIN)
def _binarizer(x: Any, *, threshold: float = 0.0) -> Any:
    return (x > threshold).to(x.dtype)


@operator("Scaler", domain=_DOMAIN)
def _scaler(x: Any, *, offset: list[float], scale: list[float]) -> Any:
    return (x.float() - wb.tensor(offset)) * wb.tensor(scale)


@operator("Normalizer", domain=_DOMAIN)
def _normalizer(x: Any, *, norm: str = "MAX") -> Any:
    x = x.float()
    match norm:
        case "MAX":
            size = x.amax(-1, keepdim=True)
        case "L1":
            size = x.abs().sum(-1, keepdim=True)
        case "L2":
            size = (x * x).sum(-1, keepdim=True).sqrt()
        case _:
            raise OnnxError(f"it has the norm {norm!r}: there are MAX, L1 and L2")
    # What is nothing but zeros stays so.
    return wb.where(size == 0, x, x / wb.where(size == 0, wb.ones_like(size), size))


@operator("Imputer", domain=_DOMAIN)
def _imputer(
    x: Any, *, imputed_value_floats: list[float] | None = None, imputed_value_int64s: list[int] | None = None,
    replaced_value_float: float = 0.0, replaced_value_int64: int = 0,
) -> Any:  # fmt: skip
    point = x.dtype.is_floating_point
    values = imputed_value_floats if point else imputed_value_int64s
    if not values:
        raise OnnxError("it says no values of the type that it is given")
    wanted = replaced_value_float if point else replaced_value_int64
    missing = x.isnan() if wanted != wanted else x == wanted
    return wb.where(missing, wb.tensor(values, dtype=x.dtype), x)


@operator("LinearRegressor", domain=_DOMAIN)
def _regressor(
    x: Any, *, coefficients: list[float], intercepts: list[float] | None = None, post_transform: str = "NONE",
    targets: int = 1,
) -> Any:  # fmt: skip
    if post_transform not in _TRANSFORMS:
        raise OnnxError(f"it has the transform {post_transform!r}: there are {', '.join(_TRANSFORMS)}")
    found = x.float() @ wb.tensor(coefficients).reshape(targets, -1).t()
    found = found if not intercepts else found + wb.tensor(intercepts)
    return _TRANSFORMS[post_transform](found)


_TRANSFORMS: dict[str, Any] = {
    "NONE": lambda x: x,
    "SOFTMAX": lambda x: x.softmax(-1),
}

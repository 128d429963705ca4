"""Products of matrices, and what is computed of them."""

from __future__ import annotations

from typing import Any

from workbench.onnx.table import operator
from workbench.onnx.values import wb

__all__: list[str] = []


@operator("MatMul")
def _matmul(a: Any, b: Any) -> Any:
    return wb.matmul(a, b)


@operator("Gemm", since=7)
def _gemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Any:
    a = a.t() if transA else a
    # A layer's weights lie as `linear` takes them: the usual case is one call.
    if alpha == 1.0 and beta == 1.0 and transB and c is not None and c.dim() == 1:
        return wb.linear(a, b, c)
    found = wb.matmul(a, b.t() if transB else b)
    found = found if alpha == 1.0 else found * alpha
    return found if c is None else found + (c if beta == 1.0 else c * beta)


@operator("Einsum", since=12)
def _einsum(*inputs: Any, equation: str) -> Any:
    # Letters that stand apart would be names of dims.
    return wb.einsum(equation.replace(" ", ""), *inputs)


@operator("Det", since=11)
def _det(x: Any) -> Any:
    return wb.det(x)

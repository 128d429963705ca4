"""Ops on codes by the numbers that these stand for: sums, products, activations, normalisation.

Results become codes of the scale and zero point that are told, as those of `torch.ops.quantized`. Functions of one
value are a table of 256 results; sums and products of two unsigned codes are one pass; products of matrices, softmax
and norms are made of whole sums (`code_arithmetic.py`). What is not of 8-bit codes under one scale goes the long way:
dequantize, compute, quantize.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.dtypes import quint8
from workbench.base.quantized_array import QuantizedArray, to_codes
from workbench.core.code_tables import LEAST, by_table
from workbench.core.op import DTypeRule, Op, Sample, Saves
from workbench.core.quantization import integers
from workbench.kernels.loader import native
from workbench.ops.contract.matmul import MATMUL
from workbench.ops.elementwise.arithmetic import ADD, MUL
from workbench.ops.elementwise.copying import CLONE
from workbench.ops.nn.activation.gated import GELU, GELU_TANH, SILU
from workbench.ops.nn.activation.pointwise_ops import HARDSWISH, LEAKY_RELU, MISH
from workbench.ops.nn.activation.softmax import SOFTMAX
from workbench.ops.nn.norm.group_norm import GROUP_NORM
from workbench.ops.nn.norm.layer_norm import LAYER_NORM, RMS_NORM
from workbench.ops.quantized.code_arithmetic import (
    Coded,
    is_bytes,
    normalised,
    product_of_codes,
    softmax_of_codes,
)
from workbench.ops.quantized.requantize import NO_GRADIENT

__all__ = ["RECODED", "SERVED"]

_FEW = 64
_KEPT = DTypeRule("the quantized type of the first input", None, lambda dtype, params: dtype)


def _plain(value: Any) -> Any:
    if isinstance(value, QuantizedArray):
        return value.dequantize()
    return value.astype(np.float32) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value


def _first(inputs: tuple[Any, ...]) -> QuantizedArray:
    return next(one for one in inputs if isinstance(one, QuantizedArray))


def _coded(
    real: Any, like: QuantizedArray, scale: float, zero_point: int, qmin: int, qmax: int, relu: bool
) -> QuantizedArray:
    low = max(qmin, zero_point) if relu else qmin
    codes = to_codes(np.asarray(real, np.float32), scale, zero_point, low, qmax, like.dtype)
    return QuantizedArray(np.asarray(codes), scale, zero_point, like.dtype)


def _forward(of: Op) -> Callable[..., QuantizedArray]:
    """Return the long way: dequantize, compute, quantize."""

    def run(
        *inputs: Any, scale: float, zero_point: int, qmin: int, qmax: int, relu: bool = False, **params: Any
    ) -> QuantizedArray:
        with np.errstate(all="ignore"):
            out = of.forward(*map(_plain, inputs), **params)
        return _coded(out[0] if of.outputs > 1 else out, _first(inputs), scale, zero_point, qmin, qmax, relu)

    return run


def _sum(a: QuantizedArray, b: QuantizedArray) -> tuple[Any, Any]:
    """Return the real sum, and what it is multiplied by: each term is rounded once, as in PyTorch."""

    def real(q: QuantizedArray) -> Any:
        scale = np.float32(q.scale)
        offset = -(np.float32(q.zero_point) * scale)
        # In double precision, which holds the product and the sum.
        return (q.codes * np.float64(scale) + np.float64(offset)).astype(np.float32)

    return real(a) + real(b), np.float32(1)


def _product(a: QuantizedArray, b: QuantizedArray) -> tuple[Any, Any]:
    """Return the product of whole numbers, and what it is multiplied by."""
    whole = (a.codes.astype(np.int64) - a.zero_point) * (b.codes.astype(np.int64) - b.zero_point)
    return whole.astype(np.float32), np.float32(a.scale) * np.float32(b.scale)


def _pair(of: Op, combine: Callable[[Any, Any], tuple[Any, Any]]) -> Callable[..., QuantizedArray]:
    """Return the array code of two tensors of codes, which rounds where PyTorch's does; else the long way."""
    long_way = _forward(of)

    def run(
        a: Any, b: Any, *, scale: float, zero_point: int, qmin: int, qmax: int, relu: bool
    ) -> QuantizedArray:
        if not all(
            isinstance(one, QuantizedArray) and one.per_tensor and one.dtype.bits == 8 for one in (a, b)
        ):
            out = {"scale": scale, "zero_point": zero_point, "qmin": qmin, "qmax": qmax, "relu": relu}
            return long_way(a, b, **out)
        value, factor = combine(a, b)
        codes = np.rint(value * (factor * (np.float32(1) / np.float32(scale)))) + zero_point
        low = max(qmin, zero_point) if relu else qmin
        return QuantizedArray(np.clip(codes, low, qmax).astype(a.dtype.numpy), scale, zero_point, a.dtype)

    return run


def _tabled(of: Op) -> Callable[..., QuantizedArray]:
    """Return the way by a table, where there are values enough."""
    long_way = _forward(of)

    def run(q: Any, *, scale: float, zero_point: int, qmin: int, qmax: int, **params: Any) -> QuantizedArray:
        if q.size < LEAST or not q.per_tensor or q.dtype.itemsize != 1 or q.dtype.bits != 8:
            out = {"scale": scale, "zero_point": zero_point, "qmin": qmin, "qmax": qmax}
            return long_way(q, **out, **params)
        return by_table(of, q, params, scale, zero_point, (qmin, qmax))

    return run


def _combined(long_way: Callable[..., QuantizedArray], name: str) -> Callable[..., QuantizedArray]:
    """Return the way of sums and products: one pass over codes of one shape."""

    def run(
        a: Any, b: Any, *, scale: float, zero_point: int, qmin: int, qmax: int, relu: bool
    ) -> QuantizedArray:
        fits = native is not None and all(
            isinstance(one, QuantizedArray) and one.dtype is quint8 and one.per_tensor and one.size >= _FEW
            for one in (a, b)
        )
        if not fits or a.shape != b.shape:
            out = {"scale": scale, "zero_point": zero_point, "qmin": qmin, "qmax": qmax, "relu": relu}
            return long_way(a, b, **out)
        codes = getattr(native, name)(
            a.codes, a.scale, a.zero_point, b.codes, b.scale, b.zero_point, scale, zero_point,
            max(qmin, zero_point) if relu else qmin, qmax,
        )  # fmt: skip
        return QuantizedArray.own(codes, scale, zero_point, quint8)

    return run


def _matmul(plainly: bool) -> Callable[..., QuantizedArray]:
    """Return the way of products of matrices: whole sums."""
    long_way = _forward(MATMUL)

    def run(a: Any, b: Any, **out: Any) -> QuantizedArray:
        if not (is_bytes(a) and is_bytes(b)):
            return long_way(a, b, **out)
        return product_of_codes(a, b, Coded(**out), plainly=plainly)

    return run


def _softmax(plainly: bool) -> Callable[..., QuantizedArray]:
    """Return the way of the softmax: a table of powers, and whole sums."""
    long_way = _forward(SOFTMAX)

    def run(q: Any, *, dim: int, **out: Any) -> QuantizedArray:
        if not is_bytes(q) or not q.ndim or not q.scale > 0:
            return long_way(q, dim=dim, **out)
        told = Coded(**out)
        last = np.moveaxis(q.codes, dim, -1)
        codes = softmax_of_codes(
            np.ascontiguousarray(last).reshape(math.prod(last.shape[:-1]), last.shape[-1]), q.scale, told,
            plainly=plainly,
        )  # fmt: skip
        moved = np.moveaxis(codes.reshape(last.shape), -1, dim)
        return QuantizedArray.own(moved, told.scale, told.zero_point, q.dtype)

    return run


def _last_dims(shape: tuple[int, ...], count: int) -> tuple[int, int]:
    """Return how many rows there are, and how many neighbours share a factor."""
    return math.prod(shape[: len(shape) - count]), 1


def _groups(shape: tuple[int, ...], groups: int) -> tuple[int, int]:
    return shape[0] * groups, math.prod(shape[2:])


def _norm(of: Op, rows: Callable[..., tuple[int, int]], plainly: bool) -> Callable[..., QuantizedArray]:
    """Return the way of norms: whole sums of codes and of their squares, one mean and one factor a row."""
    long_way = _forward(of)

    def run(
        q: Any, weight: Any = None, bias: Any = None, *, scale: float, zero_point: int, qmin: int, qmax: int,
        eps: float, **params: Any,
    ) -> QuantizedArray:  # fmt: skip
        out = Coded(scale, zero_point, qmin, qmax)
        if not is_bytes(q) or not q.size:
            given = [q, *(one for one in (weight, bias) if one is not None)]
            return long_way(*given, eps=eps, **out._asdict(), **params)
        many, run_of = rows(q.shape, **params)
        codes = normalised(q, many, run_of, weight, bias, of is not RMS_NORM, eps, out, plainly=plainly)
        return QuantizedArray.own(codes.reshape(q.shape), scale, zero_point, q.dtype)

    return run


_OUT = {"scale": 0.03, "zero_point": 90, "qmin": 0, "qmax": 255}


def _record(
    of: Op, way: Callable[..., Any], forward: Callable[..., QuantizedArray] | None = None, **own: Any
) -> Op:
    """Declare what computes an op on codes: it takes the op's parameters, and what its result is coded by."""
    name = f"quantized_{of.name}"
    rule: Any = of.quantized

    def dims(
        *given: Dims, scale: float, zero_point: int, qmin: int, qmax: int, relu: bool = False, **params: Any
    ) -> Dims:
        found: Any = of.dims(*given, **params)
        return found[0] if of.outputs > 1 else found  # type: ignore[no-any-return]

    def samples() -> list[Sample]:
        return [
            Sample(
                tuple(_sample_input(one, rule.role(i)) for i, one in enumerate(sample.inputs)),
                {**sample.params, **_OUT, **own},
                names=sample.names,
            )
            for sample in of.samples()
        ]

    return Op(
        name=name,
        doc=f"On codes: {of.doc[0].lower()}{of.doc[1:]}",
        equation=f"q = clamp(rne(y / s) + z, qmin, qmax), {of.equation}",
        reference=of.reference,
        dims=dims,
        rule=of.rule,
        dtype=_KEPT,
        forward=forward or _forward(of),
        vjp=NO_GRADIENT,
        saves=Saves(output=False),
        quantized=integers(name, way, "own", inputs=rule.inputs),
        cost=lambda given, out, **params: 3.0 * out.numel,
        samples=samples,
    )


def _sample_input(values: Any, role: str) -> Any:
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return values
    numbers = values.astype(np.float32)
    return numbers if role == "plain" else QuantizedArray.quantized(numbers, 0.02, 120, quint8)


SERVED: dict[str, Op] = {
    **{
        of.name: _record(of, _combined(forward, kernel), forward, relu=False)
        for of, forward, kernel in (
            (ADD, _pair(ADD, _sum), "add_codes"),
            (MUL, _pair(MUL, _product), "multiply_codes"),
        )
    },
    **{of.name: _record(of, _tabled(of)) for of in (GELU, GELU_TANH, HARDSWISH, LEAKY_RELU, MISH, SILU)},
    MATMUL.name: _record(MATMUL, _matmul(False), _matmul(True)),
    SOFTMAX.name: _record(SOFTMAX, _softmax(False), _softmax(True)),
    **{
        of.name: _record(of, _norm(of, rows, False), _norm(of, rows, True))
        for of, rows in ((LAYER_NORM, _last_dims), (RMS_NORM, _last_dims), (GROUP_NORM, _groups))
    },
}
"""The ops on codes, by the names of those on numbers."""

RECODED = _record(CLONE, _tabled(CLONE))
"""Codes under another scale. It serves no op on numbers: a copy keeps the scale that it has."""

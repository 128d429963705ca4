"""Softmax and its kin: scores along a dim as probabilities, or as their logarithms."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.base.dims import dim_index
from workbench.base.dtypes import as_dtype
from workbench.base.errors import DTypeError
from workbench.base.quantized_array import code_range
from workbench.core.contribution import WEIGHTS, Contribution
from workbench.core.dtype_rules import FLOAT
from workbench.core.families import grid
from workbench.core.op import Op, Sample, Saves, ops
from workbench.core.quantization import GRADIENT, OWN, UNIT, Quantization
from workbench.core.tape import Call
from workbench.core.typing import Dim, DimsLike, DTypeLike, Tensor
from workbench.core.value import dims_of
from workbench.ops.nn import batching
from workbench.ops.offer import offered
from workbench.ops.reduce.reductions import logsumexp

OUTPUT = Saves((), output=True)


def shifted(x: Any, dim: int) -> Any:
    """Return `x` less its largest value along `dim`, with one dim at least."""
    x = x.reshape(1) if x.ndim == 0 else x
    # An infinite score less an infinite largest one is NaN, as in PyTorch; of no scores there is no largest.
    with np.errstate(invalid="ignore"):
        return x - np.max(x, axis=dim, keepdims=True, initial=-np.inf)


def _softmax(x: Any, dim: int) -> Any:
    e = np.exp(shifted(x, dim))
    return (e / np.sum(e, axis=dim, keepdims=True)).reshape(x.shape)


def _total(x: Any, dim: int) -> Any:
    """Return the sum over `dim`, kept with size 1; of a value without dims, the value."""
    return ops.sum(x, dim=(dim,) if x.payload.shape else (), keepdim=True)


def _plain_total(x: Any, dim: int) -> Any:
    return np.sum(x, axis=dim if x.ndim else None, keepdims=True)


def _softmax_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    return (ops.softmax_gradient(g, c.out, dim=c.params["dim"]),)


def _softmax_gradient_vjp(c: Call, direction: Any) -> tuple[Any, ...]:
    (g, y), dim = c.inputs, c.params["dim"]
    to_g = to_y = None
    if c.needs[0]:
        to_g = ops.softmax_gradient(direction, y, dim=dim)
    if c.needs[1]:
        away = ops.sub(g, _total(ops.mul(g, y), dim))
        to_y = ops.sub(ops.mul(direction, away), ops.mul(g, _total(ops.mul(direction, y), dim)))
    return to_g, to_y


def _softmax_of_codes(op: Op, q: Any, dim: int) -> Any:
    scale, zero_point = op.quantized.fixed(q.dtype)  # type: ignore[union-attr, misc]  # stated below
    low, high = code_range(q.dtype)
    told = {"dim": dim, "scale": scale, "zero_point": zero_point, "qmin": low, "qmax": high}
    served: Any = ops.quantized_softmax
    return served.quantized.codes(served, q, **told)


def _log_softmax(x: Any, dim: int) -> Any:
    away = shifted(x, dim)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(away), axis=dim, keepdims=True))
    return (away - total).reshape(x.shape)


def _log_softmax_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    return (ops.log_softmax_gradient(g, c.out, dim=c.params["dim"]),)


def _log_softmax_gradient_vjp(c: Call, direction: Any) -> tuple[Any, ...]:
    (g, y), dim = c.inputs, c.params["dim"]
    shares = ops.mul(direction, ops.exp(y))
    to_g = ops.sub(direction, _total(shares, dim)) if c.needs[0] else None
    to_y = ops.neg(ops.mul(shares, _total(g, dim))) if c.needs[1] else None
    return to_g, to_y


def _samples() -> list[Sample]:
    return [
        Sample((grid(3, 4),), {"dim": 1}, names=(("N", "C"),)),
        Sample((grid(2, 3, 4) * 20,), {"dim": 1}, names=(("N", "C", "T"),)),
        Sample((grid(),), {"dim": 0}),
        Sample((grid(2, 0),), {"dim": 1}),
    ]


def _declared(
    name: str,
    doc: str,
    equation: str,
    forward: Callable[[Any, int], Any],
    vjp: Callable[[Call, Any], tuple[Any, ...]],
    quantized: Quantization,
    contribution: Contribution | None = None,
) -> Op:
    """Declare an op along one dim that passes names and sizes through."""
    return Op(
        name=name,
        doc=doc,
        equation=equation,
        dims=lambda x, dim: x,
        rule="names and sizes pass through",
        dtype=FLOAT,
        forward=forward,
        vjp=vjp,
        reference="Bridle 1990",
        saves=OUTPUT,
        cost=lambda dims, out, **params: 5.0 * out.numel,
        samples=_samples,
        properties=frozenset({"same", "wide"}),
        small=name,
        quantized=quantized,
        contribution=contribution,
    )


SOFTMAX = _declared(
    "softmax",
    "Exponentials scaled to sum to 1 along a dim, without overflow.",
    "y_i = e^{x_i} / Σ_j e^{x_j}",
    _softmax,
    _softmax_vjp,
    replace(UNIT, codes=_softmax_of_codes, kernel="quantized_softmax"),
    WEIGHTS,
)
LOG_SOFTMAX = _declared(
    "log_softmax",
    "Logarithm of softmax, without overflow.",
    "y_i = x_i - ln Σ_j e^{x_j}",
    _log_softmax,
    _log_softmax_vjp,
    OWN,
)


def _gradient_samples() -> list[Sample]:
    return [
        Sample((grid(3, 4, seed=1), grid(3, 4, seed=2)), {"dim": 1}, names=(("N", "C"), ("N", "C"))),
        Sample((grid(2, 3, 4, seed=1), grid(2, 3, 4, seed=2)), {"dim": 1}),
        Sample((grid(seed=1), grid(seed=2)), {"dim": 0}),
        Sample((grid(2, 0), grid(2, 0)), {"dim": 1}),
    ]


def _gradient_declared(
    name: str,
    doc: str,
    equation: str,
    forward: Callable[[Any, Any, int], Any],
    vjp: Callable[[Call, Any], tuple[Any, ...]],
) -> Op:
    """Declare the gradient of such an op, from what flows to its output and the output itself."""
    return Op(
        name=name,
        doc=doc,
        equation=equation,
        dims=lambda g, y, dim: y,
        rule="as the output of the op",
        dtype=FLOAT,
        forward=forward,
        vjp=vjp,
        saves=Saves(None, output=False),
        quantized=GRADIENT,
        cost=lambda dims, out, **params: 4.0 * out.numel,
        samples=_gradient_samples,
        batch=batching.along_both,
    )


SOFTMAX_GRADIENT = _gradient_declared(
    "softmax_gradient",
    "Gradient of softmax for its input.",
    "gx_i = y_i·(g_i - Σ_j g_j·y_j)",
    lambda g, y, dim: y * (g - _plain_total(g * y, dim)),
    _softmax_gradient_vjp,
)
LOG_SOFTMAX_GRADIENT = _gradient_declared(
    "log_softmax_gradient",
    "Gradient of the logarithm of softmax for its input.",
    "gx_i = g_i - e^{y_i}·Σ_j g_j",
    lambda g, y, dim: g - np.exp(y) * _plain_total(g, dim),
    _log_softmax_gradient_vjp,
)

# ---------------------------------------------------------------------------------- the words people use


def _along(op: Op, input: Any, dim: int | str, dtype: Any) -> Tensor:
    if input.payload.dtype.kind == "c":
        raise DTypeError(f"{op.name} is not defined for complex values, this is {input.dtype.name}")
    if dtype is not None:
        input = input.to(as_dtype(dtype))
    return op(input, dim=dim_index(dims_of(input), dim, op.name))


@offered()
def softmax(input: Tensor, dim: Dim, dtype: DTypeLike | None = None) -> Tensor:
    """Exponentials scaled to sum to 1 along `dim`: y_i = e^{x_i} / Σ_j e^{x_j}. Computed in `dtype`, if given.

    >>> import workbench as wb
    >>> wb.softmax(wb.zeros(N=1, C=4), "C")
    tensor([[0.2500, 0.2500, 0.2500, 0.2500]], names=('N', 'C'))
    """
    return _along(SOFTMAX, input, dim, dtype)


@offered()
def log_softmax(input: Tensor, dim: Dim, dtype: DTypeLike | None = None) -> Tensor:
    """Logarithm of softmax along `dim`, without overflow: y_i = x_i - ln Σ_j e^{x_j}. Computed in `dtype`, if given.

    >>> import workbench as wb
    >>> wb.log_softmax(wb.zeros(N=1, C=2), "C")
    tensor([[-0.6931, -0.6931]], names=('N', 'C'))
    """
    return _along(LOG_SOFTMAX, input, dim, dtype)


@offered("nn.functional")
def softmin(
    input: Tensor, dim: Dim | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None
) -> Tensor:
    """Softmax of the negated values: y_i = e^{-x_i} / Σ_j e^{-x_j}.

    >>> import workbench as wb
    >>> wb.nn.functional.softmin(wb.zeros(N=1, C=2), "C")
    tensor([[0.5000, 0.5000]], names=('N', 'C'))
    """
    return _along(SOFTMAX, ops.neg(input), _usual("softmin", input, dim, _stacklevel), dtype)


def _usual(name: str, input: Any, dim: int | str | None, stacklevel: int) -> int | str:
    """Return `dim`, or where none is given the one that PyTorch takes: 1 of [N, C] and [N, C, H, W], else 0."""
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        UserWarning,
        stacklevel=stacklevel,
    )
    return 0 if len(dims_of(input).sizes) in (0, 1, 3) else 1


@offered("nn.functional", name="softmax")
def _functional_softmax(
    input: Tensor, dim: Dim | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None
) -> Tensor:
    """Exponentials scaled to sum to 1 along `dim`: y_i = e^{x_i} / Σ_j e^{x_j}. Computed in `dtype`, if given."""
    return _along(SOFTMAX, input, _usual("softmax", input, dim, _stacklevel), dtype)


@offered("nn.functional", name="log_softmax")
def _functional_log_softmax(
    input: Tensor, dim: Dim | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None
) -> Tensor:
    """Logarithm of softmax along `dim`, without overflow: y_i = x_i - ln Σ_j e^{x_j}."""
    return _along(LOG_SOFTMAX, input, _usual("log_softmax", input, dim, _stacklevel), dtype)


# Found by documentation and pickle under the names that people call.
for _function in (_functional_softmax, _functional_log_softmax):
    _function.__name__ = _function.__qualname__ = _function.__name__.removeprefix("_functional_")


@offered("special", name="softmax")
def _special_softmax(input: Tensor, dim: Dim, *, dtype: DTypeLike | None = None) -> Tensor:
    """Exponentials scaled to sum to 1 along `dim`: y_i = e^{x_i} / Σ_j e^{x_j}. Computed in `dtype`, if given."""
    return _along(SOFTMAX, input, dim, dtype)


@offered("special", name="log_softmax")
def _special_log_softmax(input: Tensor, dim: Dim, *, dtype: DTypeLike | None = None) -> Tensor:
    """Logarithm of softmax along `dim`, without overflow: y_i = x_i - ln Σ_j e^{x_j}."""
    return _along(LOG_SOFTMAX, input, dim, dtype)


@offered("special", name="logsumexp", out=True)
def _special_logsumexp(input: Tensor, dim: DimsLike, keepdim: bool = False) -> Tensor:
    """Logarithm of the sum of exponentials over dims, without overflow: y = ln Σ e^x."""
    return logsumexp(input, dim, keepdim)


for _offered in (_special_softmax, _special_log_softmax, _special_logsumexp):
    _offered.__name__ = _offered.__qualname__ = _offered.__name__.removeprefix("_special_")
    _offered.__module__ = "workbench.special"

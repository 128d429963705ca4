"""Scans: running sums, products, extremes along a dim, one result for each position."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dims import Dims, broadcast, dim_index
from workbench.base.dtypes import as_dtype
from workbench.core.batch_rules import all_along
from workbench.core.contribution import SELECTED, SMALLEST, Contribution
from workbench.core.dtype_rules import FLOAT, PROMOTE, SUM
from workbench.core.families import grid
from workbench.core.op import DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import CHOSEN, OWN, Quantization
from workbench.core.tape import Call
from workbench.core.typing import Dim, DTypeLike, Tensor
from workbench.core.value import dims_of
from workbench.ops.elementwise.complex import conjugate, zeros
from workbench.ops.offer import offered
from workbench.ops.reduce.extremes import PICKED, ValuesIndices, along, index_pair, ordered
from workbench.ops.reduce.sorting import to_places


def _samples() -> list[Sample]:
    return [
        Sample((grid(3, 4),), {"dim": 1}, names=(("N", "C"),)),
        Sample((grid(4, 3, 2).transpose(1, 2, 0),), {"dim": 0}),
        Sample((grid(),), {"dim": 0}),
    ]


def scan(
    name: str,
    doc: str,
    equation: str,
    forward: Callable[..., Any],
    vjp: Callable[..., tuple[Any, ...]],
    *,
    saves: Saves,
    dtype: DTypeRule = SUM,
    samples: Callable[[], list[Sample]] = _samples,
    outputs: int = 1,
    properties: frozenset[str] = frozenset(),
    quantized: Quantization = OWN,
    contribution: Contribution | None = None,
) -> Op:
    """Declare an op that runs along a dim; names and sizes pass through."""

    def whole(x: Any, dim: int) -> Any:
        result = forward(along(x), dim)
        if x.ndim:
            return result
        return tuple(one.reshape(()) for one in result) if outputs > 1 else result.reshape(())

    return Op(
        name=name,
        doc=doc,
        equation=equation,
        dims=(lambda x, dim: x) if outputs == 1 else (lambda x, dim: (x,) * outputs),
        rule="names and sizes pass through",
        dtype=dtype,
        forward=whole,
        vjp=vjp,
        saves=saves,
        cost=lambda dims, out, **params: float(out.numel),
        samples=samples,
        outputs=outputs,
        properties=properties,
        quantized=quantized,
        contribution=contribution,
    )


def reverse(x: Any, dim: int) -> Any:
    """Return `x` with the entries along `dim` in reverse order."""
    return ops.flip(x, dim=(dim,)) if x.payload.shape else x


def shift(x: Any, dim: int, fill: float = 0.0) -> Any:
    """Move the entries along `dim` one place up, the first becomes `fill`."""
    shape = x.payload.shape
    if not shape:
        return ops.add(zeros(x), fill)
    if shape[dim] == 0:
        return x
    return ops.pad(x, padding=tuple((1, -1) if i == dim else (0, 0) for i in range(len(shape))), value=fill)


def reverse_scan(b: Any, a: Any, dim: int) -> Any:
    """Return s with s_i = b_i + a_{i+1}·s_{i+1}, from the last entry to the first."""
    flipped = ops.linear_scan(reverse(b, dim), shift(reverse(a, dim), dim), dim=dim)
    return reverse(flipped, dim)


_DOUBLE = {"f": np.dtype(np.float64), "F": np.dtype(np.complex128)}


def _in_double(accumulate: Callable[..., Any]) -> Callable[..., Any]:
    """Return a scan that runs in double precision: every step would round once more, and thousands of them add up."""

    def forward(x: Any, dim: int) -> Any:
        wide = _DOUBLE.get(x.dtype.char)
        return accumulate(x, dim) if wide is None else accumulate(x.astype(wide), dim).astype(x.dtype)

    return forward


def _linear_scan(b: Any, a: Any, dim: int) -> Any:
    out = np.empty(np.broadcast_shapes(b.shape, a.shape), np.result_type(b, a))
    if not out.ndim:
        return np.array(b, out.dtype)
    rows, steps, factors = (
        np.moveaxis(np.broadcast_to(one, out.shape), dim, 0) if one is not out else np.moveaxis(out, dim, 0)
        for one in (out, b, a)
    )
    for i in range(len(rows)):
        # Not by way of rows[-1], in which anything may stand at first.
        rows[i] = steps[i] + factors[i] * rows[i - 1] if i else steps[0]
    return out


def _linear_scan_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    _, a = c.inputs
    dim = c.params["dim"]
    own = reverse_scan(g, conjugate(a), dim)
    return (
        own if c.needs[0] else None,
        ops.mul(own, conjugate(shift(c.out, dim))) if c.needs[1] else None,
    )


def _linear_scan_dims(b: Dims, a: Dims, dim: int) -> Dims:
    return broadcast("linear_scan", b, a)


LINEAR_SCAN = Op(
    name="linear_scan",
    doc="Linear recurrence along a dim, on two operands of equal sizes.",
    equation="y_i = b_i + a_i·y_{i-1}",
    reference="Blelloch 1990, prefix sums and their applications",
    dims=_linear_scan_dims,
    rule="names unify, sizes pass through",
    dtype=PROMOTE,
    forward=_linear_scan,
    vjp=_linear_scan_vjp,
    saves=Saves((1,), output=True),
    cost=lambda dims, out, **params: 2.0 * out.numel,
    samples=lambda: [
        Sample((grid(3, 4, seed=1), grid(3, 4, seed=2)), {"dim": 1}, names=(("N", "T"), ("N", "T"))),
        Sample((grid(4, 3, seed=1), grid(4, 3, seed=2)), {"dim": 0}),
    ],
    batch=all_along,
    quantized=OWN,
)

CUMSUM = scan(
    "cumsum",
    "Running sum along a dim.",
    "y_i = Σ_{j ≤ i} x_j",
    _in_double(lambda x, dim: np.cumsum(x, axis=dim)),
    lambda c, g: (reverse(ops.cumsum(reverse(g, c.params["dim"]), dim=c.params["dim"]), c.params["dim"]),),
    saves=Saves((), output=False),
    properties=frozenset({"linear", "wide"}),
)


def _cumprod_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    """Without dividing, so that zeros do no harm: what comes before times what comes after."""
    x, dim = c.inputs[0], c.params["dim"]
    # By a scan backwards, and not by a division by x, which may be 0.
    return (ops.mul(conjugate(shift(c.out, dim, 1.0)), reverse_scan(g, conjugate(x), dim)),)


CUMPROD = scan(
    "cumprod",
    "Running product along a dim.",
    "y_i = Π_{j ≤ i} x_j",
    _in_double(lambda x, dim: np.cumprod(x, axis=dim)),
    _cumprod_vjp,
    saves=Saves(None, output=True),
    samples=lambda: [
        *_samples(),
        Sample((grid(2, 5) * np.array([1.0, 0, 1, 0, 1]),), {"dim": 1}),
    ],
    properties=frozenset({"wide"}),
)


def _running(accumulate: Any) -> Any:
    """Running extreme and its index: the last of several, and of a NaN, which stays once it is met."""

    def forward(x: Any, dim: int) -> tuple[Any, Any]:
        values = accumulate(x, axis=dim)
        here = np.arange(x.shape[dim]).reshape((-1,) + (1,) * (x.ndim - 1 - dim))
        hit = x == values
        if x.dtype.kind == "f":
            # NaN equals nothing, itself included, and counts as a hit.
            hit |= np.isnan(x)
        # The last hit so far: of equal values the later one counts, as in PyTorch.
        return values, np.maximum.accumulate(np.where(hit, here, 0), axis=dim)

    return forward


CUMMAX = scan(
    "cummax",
    "Running maximum along a dim, and where it stands last.",
    "y_i = max_{j ≤ i} x_j",
    _running(np.maximum.accumulate),
    to_places,
    saves=Saves((), output=True, outputs=(1,)),
    dtype=PICKED,
    outputs=2,
    quantized=CHOSEN,
    contribution=SELECTED,
)
CUMMIN = scan(
    "cummin",
    "Running minimum along a dim, and where it stands last.",
    "y_i = min_{j ≤ i} x_j",
    _running(np.minimum.accumulate),
    to_places,
    saves=Saves((), output=True, outputs=(1,)),
    dtype=PICKED,
    outputs=2,
    quantized=CHOSEN,
    contribution=SMALLEST,
)


def _logcumsumexp(x: Any, dim: int) -> Any:
    if x.dtype.kind != "c":
        return np.logaddexp.accumulate(x, axis=dim)
    out = x.copy()
    rows = np.moveaxis(out, dim, 0)
    for i in range(1, len(rows)):
        before, here = rows[i - 1], rows[i]
        # The one with the larger real part is taken out, so that the exponential stays below 1.
        first = before.real > here.real
        high, low = np.where(first, before, here), np.where(first, here, before)
        nothing = np.isneginf(low.real)
        rows[i] = np.where(nothing, high, high + np.log1p(np.exp(np.where(nothing, high, low) - high)))
    return out


def _logcumsumexp_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    """Only exponentials of differences that are not positive: nothing overflows."""
    x, dim, out = c.inputs[0], c.params["dim"], c.out
    before = shift(out, dim, -np.inf)
    # Infinities that meet have no difference, and nothing that was -∞ so far has a share.
    ratio = ops.where(ops.eq(before, out), 1.0, ops.exp(ops.sub(before, out)))
    share = ops.where(ops.eq(out, -np.inf), 0.0, ops.exp(ops.sub(x, out)))
    return (ops.mul(conjugate(share), reverse_scan(g, conjugate(ratio), dim)),)


LOGCUMSUMEXP = scan(
    "logcumsumexp",
    "Logarithm of the running sum of exponentials along a dim, without overflow.",
    "y_i = ln Σ_{j ≤ i} e^{x_j}",
    _in_double(_logcumsumexp),
    _logcumsumexp_vjp,
    saves=Saves(None, output=True),
    dtype=FLOAT,
    properties=frozenset({"wide"}),
)

# ---------------------------------------------------------------------------------- the words people use


def _run(op: Op, input: Any, dim: int | str, dtype: Any = None) -> Tensor:
    at = dim_index(dims_of(input), dim, op.name)
    if dtype is None:
        return op(input, dim=at)
    target = as_dtype(dtype)
    # Cast again: sums of small integers are int64.
    return op(input.to(target), dim=at).to(target)


@offered(out=True, in_place="Tensor")
def cumsum(input: Tensor, dim: Dim, *, dtype: DTypeLike | None = None) -> Tensor:
    """Running sum along a dim: y_i = Σ_{j ≤ i} x_j. Integers are summed as int64.

    >>> import workbench as wb
    >>> wb.tensor([1.0, 2.0, 3.0], names=("T",)).cumsum("T")
    tensor([1., 3., 6.], names=('T',))
    """
    return _run(CUMSUM, input, dim, dtype)


@offered(out=True, in_place="Tensor")
def cumprod(input: Tensor, dim: Dim, *, dtype: DTypeLike | None = None) -> Tensor:
    """Running product along a dim: y_i = Π_{j ≤ i} x_j. Integers are multiplied as int64.

    >>> import workbench as wb
    >>> wb.tensor([1, 2, 3]).cumprod(0)
    tensor([1, 2, 6])
    """
    return _run(CUMPROD, input, dim, dtype)


@offered(out="exact")
def cummax(input: Tensor, dim: Dim) -> ValuesIndices:
    """Running maximum along a dim and where it stands last, as a named tuple ``(values, indices)``.

    >>> import workbench as wb
    >>> wb.tensor([1.0, 3.0, 2.0]).cummax(0)
    ValuesIndices(values=tensor([1., 3., 3.]), indices=tensor([0, 1, 1]))
    """
    ordered(input, "cummax")
    return index_pair(_run(CUMMAX, input, dim))


@offered(out="exact")
def cummin(input: Tensor, dim: Dim) -> ValuesIndices:
    """Running minimum along a dim and where it stands last, as a named tuple ``(values, indices)``."""
    ordered(input, "cummin")
    return index_pair(_run(CUMMIN, input, dim))


@offered(out="exact")
def logcumsumexp(input: Tensor, dim: Dim) -> Tensor:
    """Logarithm of the running sum of exponentials along a dim, without overflow: y_i = ln Σ_{j ≤ i} e^{x_j}.

    >>> import workbench as wb
    >>> wb.logcumsumexp(wb.zeros(2), 0)
    tensor([0.0000, 0.6931])
    """
    return _run(LOGCUMSUMEXP, input, dim)

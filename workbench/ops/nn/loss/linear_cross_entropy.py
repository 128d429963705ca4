"""Cross entropy of a linear map's scores, chunk by chunk where the scores of all samples would not fit."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError
from workbench.core.dtype_rules import KEEP
from workbench.core.families import grid
from workbench.core.index_types import check_index
from workbench.core.op import Absent, Op, Sample, Saves, ops
from workbench.core.quantization import GRADIENT, LOSS
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.nn.loss.cross_entropy import check_reduction, cross_entropy, reduce_loss
from workbench.ops.offer import offered


@offered("nn.functional")
@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` works through the samples in chunks.

    `batch_chunk_size` is the number of samples at a time. None: as many as make their scores no larger than the
    inputs, divided by N for the `chunking_method` ``"aspect_ratio:N"`` ("auto" is N = 2), all for None. Gradients may
    always be taken again and sums are kept in the type of the values, so that `allow_retain_graph`, `acc_policy` and
    `acc_dtype` have no effect here.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        _divisor(self.chunking_method)
        if self.batch_chunk_size is not None and self.batch_chunk_size <= 0:
            raise ValueError(f"batch_chunk_size must be positive int or None, got {self.batch_chunk_size!r}")


def _divisor(method: str | None) -> int | None:
    """Return what a chunking method divides the chunk by; None where it is no method."""
    if method is None:
        return None
    if method == "auto":
        return 2
    name, separator, factor = method.partition(":")
    factor = factor if separator else "1"
    if name != "aspect_ratio" or not factor.isdigit() or int(factor) < 1:
        raise ValueError(
            f"invalid chunking_method: {method!r}; use 'auto', 'aspect_ratio' or 'aspect_ratio:N'"
        )
    return int(factor)


def _chunk(options: Any, samples: int, features: int, classes: int) -> int:
    """Return how many samples are worked on at a time."""
    if options.batch_chunk_size is not None:
        return max(1, min(int(options.batch_chunk_size), samples))
    divisor = _divisor(options.chunking_method)
    if divisor is None or not features:
        return max(1, samples)
    # So many that their scores are as large as the inputs; then up to a power of 2, as in PyTorch.
    wanted = -(-samples // max(1, -(-classes // features)))
    power: int = 1 << max(wanted - 1, 0).bit_length()
    return max(1, min(power // divisor, samples))


def _scores(x: Any, weight: Any, bias: Any) -> Any:
    """Return logarithms of the probabilities of the classes."""
    scores = x @ weight.T
    # In place: scores are what takes the memory.
    if bias is not None:
        scores += bias
    scores -= scores.max(axis=1, keepdims=True)
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return scores


def _chunked(x: Any, weight: Any, target: Any, bias: Any = None, *, chunk: int, ignore_index: int) -> Any:
    out = np.empty(x.shape[0], x.dtype)
    for start in range(0, len(x), chunk):
        rows = slice(start, start + chunk)
        out[rows] = ops.nll_loss.forward(
            _scores(x[rows], weight, bias), target[rows], reduction="none", ignore_index=ignore_index
        )
    return out


def _chunked_dims(
    x: Dims, weight: Dims, target: Dims, bias: Dims | None = None, *, chunk: int, ignore_index: int
) -> Dims:
    return Dims(x.names[:1], x.sizes[:1])


def _chunked_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    x, weight, target, *bias = c.inputs
    # The scores are computed anew: to keep them would undo the chunks.
    gx, gw, gb = ops.linear_cross_entropy_gradient(g, x, weight, target, *bias, **c.params)
    found = (gx, gw, None, gb)
    # Without a bias there is an input less than there are gradients.
    return tuple(one if need else None for one, need in zip(found, c.needs, strict=False))


_CHUNKED_PARAMS = {"chunk": 2, "ignore_index": -100}

LINEAR_CROSS_ENTROPY = Op(
    name="linear_cross_entropy",
    doc="Cross entropy of each sample's class under a linear map's scores, a chunk of samples at a time.",
    equation="y_n = -ln softmax(x_n·wᵀ + b)[target_n]",
    reference="Wijmans et al. 2025, for scores that are never all in memory",
    dims=_chunked_dims,
    rule="[N, D], [C, D], [N] -> [N]",
    dtype=KEEP,
    forward=_chunked,
    vjp=_chunked_vjp,
    saves=Saves(None, output=False),
    cost=lambda dims, out, **params: 2.0 * dims[0].numel * dims[1].sizes[0],
    samples=lambda: [
        Sample(
            (grid(5, 3), grid(4, 3), np.array([0, 3, 1, 1, 2]), grid(4)),
            _CHUNKED_PARAMS,
            names=(("N", "C"), None, ("N",), None),
        ),
        Sample((grid(5, 3), grid(4, 3), np.array([0, 3, 1, 1, 2])), {"chunk": 5, "ignore_index": 1}),
    ],
    tolerance=1e-5,
    quantized=LOSS,
)


def _chunked_gradient(
    g: Any, x: Any, weight: Any, target: Any, bias: Any = None, *, chunk: int, ignore_index: int
) -> tuple[Any, Any, Any]:
    gx, gw = np.empty_like(x), np.zeros_like(weight)
    gb = np.zeros(weight.shape[0], weight.dtype)
    for start in range(0, len(x), chunk):
        rows = slice(start, start + chunk)
        picked, own = target[rows], np.where(target[rows] == ignore_index, 0, g[rows])
        share = np.exp(_scores(x[rows], weight, bias))
        # `own` is 0 where a target is ignored: which entry is lowered there does not matter.
        share[np.arange(len(picked)), np.where(picked == ignore_index, 0, picked)] -= 1
        share *= own[:, None]
        gx[rows] = share @ weight
        gw += share.T @ x[rows]
        gb += share.sum(axis=0)
    return gx, gw, gb


LINEAR_CROSS_ENTROPY_GRADIENT = Op(
    name="linear_cross_entropy_gradient",
    doc="Gradients of chunked cross entropy of a linear map for its input, weight and bias.",
    equation="s = g·(softmax(x·wᵀ + b) - [c = target]); gx = s·w, gw = sᵀ·x, gb = Σ s",
    reference="Wijmans et al. 2025, for scores that are never all in memory",
    dims=lambda g, x, weight, target, bias=None, *, chunk, ignore_index: (
        x,
        weight,
        Dims(weight.names[:1], weight.sizes[:1]),
    ),
    rule="as the input, the weight and its classes",
    dtype=KEEP,
    forward=_chunked_gradient,
    vjp=Absent("gradients of gradients need the scores of all samples: call without options"),
    saves=Saves((), output=False),
    cost=lambda dims, out, **params: 6.0 * dims[1].numel * dims[2].sizes[0],
    samples=lambda: [
        Sample((grid(5), grid(5, 3), grid(4, 3), np.array([0, 3, 1, 1, 2]), grid(4)), _CHUNKED_PARAMS)
    ],
    outputs=3,
    quantized=GRADIENT,
)

# ---------------------------------------------------------------------------------- the words people use


def _check(input: Any, weight: Any, bias: Any) -> None:
    x, w = dims_of(input), dims_of(weight)
    operands = (x.operand("input"), w.operand("linear_weight"))
    if len(x.sizes) not in (1, 2):
        raise DimensionError(
            f"expected input with dimensionality 1 or 2, got {len(x.sizes)}",
            op="linear_cross_entropy",
            operands=operands,
        )
    if len(w.sizes) < 2:
        raise DimensionError(
            f"expected linear_weight with dimensionality at least 2, got {len(w.sizes)}",
            op="linear_cross_entropy",
            operands=operands,
        )
    if x.sizes[-1] != w.sizes[-1]:
        raise DimensionError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{x.sizes[-1]} and {w.sizes[-1]}, respectively",
            op="linear_cross_entropy",
            operands=operands,
        )
    if bias is not None and dims_of(bias).sizes != w.sizes[:-1]:
        raise DimensionError(
            f"expected linear_bias shape {list(w.sizes[:-1])}, got {list(dims_of(bias).sizes)}",
            op="linear_cross_entropy",
        )
    if len(w.sizes) > 2 and len(x.sizes) == 1:
        raise DimensionError(
            f"K-dimensional loss defined by linear_weight shape {list(w.sizes)} requires batched input "
            f"[N, {x.sizes[-1]}], got unbatched input with shape {list(x.sizes)}",
            op="linear_cross_entropy",
            operands=operands,
        )


@offered("nn.functional")
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """`cross_entropy` of the scores that a linear map gives: cross_entropy(input·linear_weightᵀ + linear_bias, target).

    Shapes: input [N, in] or [in], linear_weight [C, in] or [C, d1, …, in], linear_bias [C] or [C, d1, …], target as for
    `cross_entropy` of scores [N, C] or [N, C, d1, …]. With `options` (`LinearCrossEntropyOptions`) the samples are
    worked through in chunks, forward and backward, so that the scores of all are never in memory at once.

    >>> import workbench as wb
    >>> wb.nn.functional.linear_cross_entropy(wb.zeros(2, 3), wb.zeros(4, 3), wb.tensor([0, 3])).item()
    1.3862943649291992
    """
    check_reduction(reduction)
    _check(input, linear_weight, linear_bias)
    x, w = dims_of(input), dims_of(linear_weight)
    sizes = (*x.sizes[:-1], *w.sizes[:-1])
    whole = target.payload.dtype.kind in "iu"
    if dims_of(target).sizes == sizes and not whole and ignore_index is not None:
        raise DimensionError(
            "ignore_index cannot be specified when target contains probabilities", op="linear_cross_entropy"
        )
    ignored = -100 if ignore_index is None else ignore_index
    if options is not None:
        if len(w.sizes) == 2 and whole and label_smoothing == 0.0:
            check_index("linear_cross_entropy", target, "uint8/int64", "target")
            return _in_chunks(input, linear_weight, target, linear_bias, weight, reduction, ignored, options)
        warnings.warn(
            "linear_cross_entropy: ``options`` ignored; chunked path needs label_smoothing == 0, classes for targets, "
            f"and a weight [C, in]. Got label_smoothing={label_smoothing}, target.dtype={target.dtype.name}, "
            f"linear_weight {list(w.sizes)}.",
            UserWarning,
            stacklevel=2,
        )
    flat = ops.reshape(linear_weight, sizes=(math.prod(w.sizes[:-1]), w.sizes[-1]))
    values = [input, flat]
    if linear_bias is not None:
        values.append(ops.reshape(linear_bias, sizes=(math.prod(w.sizes[:-1]),)))
    scores = ops.reshape(ops.linear(*values), sizes=sizes) if len(w.sizes) > 2 else ops.linear(*values)
    return cross_entropy(
        scores, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


def _in_chunks(
    input: Any, table: Any, target: Any, bias: Any, weight: Any, reduction: str, ignored: int, options: Any
) -> Tensor:
    batched = len(dims_of(input).sizes) == 2
    if not batched:
        input = ops.unsqueeze(input, dim=0, name=None)
        target = ops.unsqueeze(target, dim=0, name=None)
    samples, features = dims_of(input).sizes
    classes = dims_of(table).sizes[0]
    if dims_of(target).sizes != (samples,):
        raise DimensionError(
            f"Expected input batch_size ({samples}) to match target batch_size ({list(dims_of(target).sizes)}).",
            op="linear_cross_entropy",
        )
    chunk = _chunk(options, samples, features, classes)
    values = (input, table, target) if bias is None else (input, table, target, bias)
    loss = ops.linear_cross_entropy(*values, chunk=chunk, ignore_index=ignored)
    counted = ops.to(ops.ne(target, ignored), dtype=loss.payload.dtype)
    if weight is not None:
        # What is ignored may be no class at all: it looks up the first weight, and counts 0.
        own = ops.gather(weight, ops.where(ops.ne(target, ignored), target, 0), dim=0)
        counted = ops.mul(counted, own)
        loss = ops.mul(loss, counted)
    if reduction == "mean":
        return ops.div(reduce_loss(loss, "sum"), reduce_loss(counted, "sum"))
    loss = reduce_loss(loss, reduction)
    return loss if batched or reduction == "sum" else ops.squeeze(loss, dim=(0,))

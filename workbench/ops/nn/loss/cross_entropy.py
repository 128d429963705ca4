"""Negative log-likelihood and cross entropy, and what all losses share: how they are reduced."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np

from workbench.base.dims import Dims, unify_names
from workbench.base.errors import DimensionError, DimensionIndexError
from workbench.core.dtype_rules import KEEP
from workbench.core.families import grid
from workbench.core.index_types import check_index
from workbench.core.op import BadInput, Op, Sample, Saves, ops
from workbench.core.quantization import GRADIENT, LOSS
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.nn.loss import batching
from workbench.ops.offer import offered

# ------------------------------------------------------------------------------- what losses share


def reduce_loss(loss: Tensor, reduction: str) -> Tensor:
    """Bring a loss for each sample to what `reduction` asks for: "none", "sum" or "mean"."""
    if reduction == "none":
        return loss
    axes = tuple(range(len(dims_of(loss).sizes)))
    if reduction == "sum":
        return ops.sum(loss, dim=axes, keepdim=False)
    check_reduction(reduction)
    return ops.mean(loss, dim=axes, keepdim=False)


def check_reduction(reduction: str) -> None:
    """Raise ValueError unless `reduction` is one of "none", "mean" and "sum"."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction: use 'none', 'mean' or 'sum'")


def chosen_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """Return the reduction that is meant, where the old words `size_average` and `reduce` may say it instead."""
    if size_average is None and reduce is None:
        check_reduction(reduction)
        return reduction
    meant = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead.",
        UserWarning,
        stacklevel=3,
    )
    return meant


# ------------------------------------------------------------------------- negative log-likelihood


def nll_dims(x: Dims, target: Dims, weight: Dims | None = None, *, reduction: str, ignore_index: int) -> Dims:
    _check_nll(x, target, weight)
    samples = _samples_of(x)
    names = unify_names("nll_loss", samples, target)
    return Dims(names, samples.sizes) if reduction == "none" else Dims((), ())


def _samples_of(x: Dims) -> Dims:
    return x.without((_class_axis(len(x.sizes)),))


def _class_axis(ndim: int) -> int:
    return 1 if ndim > 1 else 0


def _check_nll(x: Dims, target: Dims, weight: Dims | None) -> None:
    operands = (x.operand("input", [0]), target.operand("target", range(len(target.sizes))))
    if not x.sizes:
        raise DimensionError(
            "input tensor should be 1D or 2D or more: [C], [N, C] or [N, C, d1, ...].", op="nll_loss"
        )
    if len(x.sizes) > 1 and target.sizes[:1] != x.sizes[:1]:
        size = target.sizes[0] if target.sizes else "none"
        raise DimensionError(
            f"Expected input batch_size ({x.sizes[0]}) to match target batch_size ({size}): log-probabilities [N, C] "
            f"go with one class [N] each, got {list(x.sizes)} and {list(target.sizes)}.",
            op="nll_loss",
            operands=operands,
        )
    if target.sizes != _samples_of(x).sizes:
        raise DimensionError(
            f"Expected target size {list(_samples_of(x).sizes)}, got {list(target.sizes)}: one class for each place.",
            op="nll_loss",
            operands=operands,
        )
    classes = x.sizes[_class_axis(len(x.sizes))]
    if weight is not None and weight.sizes != (classes,):
        raise DimensionError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor "
            f"of shape: {list(weight.sizes)}",
            op="nll_loss",
            operands=(x.operand("input", [_class_axis(len(x.sizes))]), weight.operand("weight", [0])),
        )


def checked_classes(target: Any, classes: int, ignore_index: int) -> tuple[Any, Any]:
    """Return the classes, those to ignore replaced by 0, and where there is one to count (None: everywhere)."""
    if not target.size:
        return target, None
    low, high = int(target.min()), int(target.max())
    # Nothing is ignored and nothing is wrong: the common case, without a copy.
    if 0 <= low and high < classes and not 0 <= ignore_index < classes:
        return target, None
    valid = target != ignore_index
    kept = np.where(valid, target, 0)
    low, high = int(kept.min()), int(kept.max())
    if low < 0 or high >= classes:
        raise DimensionIndexError(
            f"Target {low if low < 0 else high} is out of bounds: the input has {classes} classes.",
            op="nll_loss",
        )
    return kept, valid


def _weights(target: Any, valid: Any, weight: Any, dtype: Any) -> Any:
    """Return what each sample counts for; None where it is 1 for all."""
    if weight is None:
        return None if valid is None else valid.astype(dtype)
    return weight[target] if valid is None else np.where(valid, weight[target], 0)


def _nll(x: Any, target: Any, weight: Any = None, *, reduction: str, ignore_index: int) -> Any:
    axis = _class_axis(x.ndim)
    target, valid = checked_classes(target, x.shape[axis], ignore_index)
    if x.ndim == 2:
        loss = -x[np.arange(len(target)), target]
    else:
        loss = -np.take_along_axis(x, np.expand_dims(target, axis), axis).squeeze(axis)
    weights = _weights(target, valid, weight, x.dtype)
    if weights is not None:
        # Not a product: what is ignored may be infinite.
        loss = np.where(weights == 0, 0, loss) * weights if valid is not None else loss * weights
    if reduction == "none":
        return loss.astype(x.dtype, copy=False)
    total = loss.sum()
    if reduction == "mean":
        # Where nothing counts the mean is 0/0, NaN as in PyTorch.
        with np.errstate(invalid="ignore", divide="ignore"):
            total = total / x.dtype.type(loss.size if weights is None else weights.sum())
    return np.asarray(total, x.dtype)


def _nll_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    x, target, *weight = c.inputs
    gradients = [
        ops.nll_loss_gradient(g, target, *weight, sizes=x.payload.shape, **c.params) if c.needs[0] else None,
        None,
    ]
    if weight:
        gradients.append(_weight_gradient(x, target, weight[0], g, c.out, c.params) if c.needs[2] else None)
    return tuple(gradients)


def _weight_gradient(x: Any, target: Any, weight: Any, g: Any, out: Any, params: Any) -> Any:
    """Gradient of the loss for the weights of the classes: what each sample adds, summed by class."""
    sizes, plain = x.payload.shape, {**params, "reduction": "none"}
    picked = ops.nll_loss(x, target, **plain)
    if params["reduction"] == "mean":
        counted = ops.to(ops.ne(target, params["ignore_index"]), dtype=x.payload.dtype)
        share = ops.div(g, class_weight_total(x, target, weight, params["ignore_index"]))
        each = ops.mul(ops.mul(ops.sub(picked, out), counted), share)
    else:
        each = ops.mul(picked, g)
    spread = ops.nll_loss_gradient(each, target, sizes=sizes, **plain)
    axis = _class_axis(len(sizes))
    return ops.neg(ops.sum(spread, dim=tuple(i for i in range(len(sizes)) if i != axis), keepdim=False))


def class_weight_total(x: Any, target: Any, weight: Any, ignore_index: int) -> Any:
    """Return the sum of the weights of all samples that are not ignored."""
    sizes = x.payload.shape
    axis = _class_axis(len(sizes))
    column = tuple(size if i == axis else 1 for i, size in enumerate(sizes))
    spread = ops.expand(ops.reshape(weight, sizes=column), sizes=sizes)
    # The likelihood with weights in place of scores picks them out, in a graph and in a batch too.
    return ops.neg(ops.nll_loss(spread, target, reduction="sum", ignore_index=ignore_index))


_NLL_PARAMS = {"reduction": "none", "ignore_index": -100}


def _nll_samples() -> list[Sample]:
    target = np.array([0, 3, 1])
    weight = grid(4, low=0.3, seed=3)
    places = np.array([[0, 2], [1, 1], [3, 0]])
    return [
        Sample((grid(3, 4), target), _NLL_PARAMS, names=(("N", "C"), ("N",))),
        Sample((grid(3, 4), target), {**_NLL_PARAMS, "reduction": "mean"}, names=(("N", "C"), ("N",))),
        Sample((grid(3, 4), target, weight), {"reduction": "mean", "ignore_index": 3}),
        Sample((grid(3, 4), target, weight), {"reduction": "sum", "ignore_index": -100}),
        Sample((grid(3, 4, 2), places, weight), {"reduction": "none", "ignore_index": 1}),
        Sample((grid(4), np.array(2)), {"reduction": "mean", "ignore_index": -100}),
    ]


NLL_LOSS = Op(
    name="nll_loss",
    doc="Negative log-likelihood of each place's class, weighted by class, for each or together.",
    equation="y_n = -w[target_n]·x[n, target_n]; mean: Σ y_n / Σ w[target_n]",
    dims=nll_dims,
    rule="[N, C, …], [N, …] -> [N, …], or a scalar",
    dtype=KEEP,
    forward=_nll,
    vjp=_nll_vjp,
    saves=Saves(None, output=True, output_for=(2,)),
    cost=lambda dims, out, **params: float(dims[1].numel),
    samples=_nll_samples,
    bad=lambda: [
        BadInput(
            (grid(3, 4), np.array([0, 4, 1])), _NLL_PARAMS, DimensionIndexError, "Target 4 is out of bounds"
        ),
        BadInput((grid(3, 4), np.array([0, 1])), _NLL_PARAMS, DimensionError, "one class [N] each"),
        BadInput(
            (grid(3, 4, 2), np.zeros((3, 3), int)), _NLL_PARAMS, DimensionError, "Expected target size [3, 2]"
        ),
        BadInput((grid(3, 4), np.array([0, 1, 1]), grid(3)), _NLL_PARAMS, DimensionError, "all 4 classes"),
        BadInput(
            (grid(3, 4), np.array([0, 1, 1])),
            _NLL_PARAMS,
            DimensionError,
            "do not match",
            names=(("N", "C"), ("T",)),
        ),
    ],
    properties=frozenset({"wide"}),
    batch=batching.nll_loss,
    quantized=LOSS,
)


def _nll_gradient(
    g: Any, target: Any, weight: Any = None, *, sizes: tuple[int, ...], reduction: str, ignore_index: int
) -> Any:
    axis = _class_axis(len(sizes))
    target, valid = checked_classes(target, sizes[axis], ignore_index)
    weights = _weights(target, valid, weight, g.dtype)
    each = -g if weights is None else -g * weights
    if reduction == "mean":
        with np.errstate(invalid="ignore", divide="ignore"):
            each = each / g.dtype.type(target.size if weights is None else weights.sum())
    if valid is not None:
        each = np.where(valid, each, 0)
    out = np.zeros(sizes, g.dtype)
    if len(sizes) == 2:
        out[np.arange(len(target)), target] = each
    else:
        each = np.broadcast_to(each, target.shape)
        np.put_along_axis(out, np.expand_dims(target, axis), np.expand_dims(each, axis), axis)
    return out


def _nll_gradient_vjp(c: Call, u: Any) -> tuple[Any, ...]:
    g, target, *weight = c.inputs
    params = {name: c.params[name] for name in ("reduction", "ignore_index")}
    loss = ops.nll_loss(u, target, *weight, **params)
    gradients = [loss if c.needs[0] else None, None]
    if weight:
        gradients.append(_weight_gradient(u, target, weight[0], g, loss, params) if c.needs[2] else None)
    return tuple(gradients)


NLL_LOSS_GRADIENT = Op(
    name="nll_loss_gradient",
    doc="Gradient of the negative log-likelihood for its input: the transpose of nll_loss, which is linear.",
    equation="y[n, c] = -g_n·w[c]·[c = target_n]",
    dims=lambda g, target, weight=None, *, sizes, reduction, ignore_index: Dims((None,) * len(sizes), sizes),
    rule="an unnamed tensor of the given sizes",
    dtype=KEEP,
    forward=_nll_gradient,
    vjp=_nll_gradient_vjp,
    saves=Saves(None, output=False),
    cost=lambda dims, out, **params: float(dims[1].numel),
    samples=lambda: [
        Sample((grid(3), np.array([0, 3, 1])), {"sizes": (3, 4), **_NLL_PARAMS}),
        Sample(
            (grid(), np.array([0, 3, 1]), grid(4, low=0.3)),
            {"sizes": (3, 4), "reduction": "mean", "ignore_index": 3},
        ),
    ],
    batch=batching.nll_loss_gradient,
    quantized=GRADIENT,
)

# ---------------------------------------------------------------------------------- the words people use


@offered("workbench", "nn.functional")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of the classes `target` under log-probabilities `input`.

    y_n = -weight[target_n]·input[n, target_n]; its mean is Σ y_n / Σ weight[target_n]. Shapes: input [N, C],
    [N, C, d1, …] or [C]; target [N], [N, d1, …] or []; weight [C]. A target that is `ignore_index` does not count.

    >>> import workbench as wb
    >>> wb.nll_loss(wb.tensor([[-1.0, -2.0], [-3.0, -4.0]]), wb.tensor([0, 1])).item()
    2.5
    """
    return _nll_loss(input, target, weight, ignore_index, chosen_reduction(size_average, reduce, reduction))


def _nll_loss(input: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Tensor:
    types: Literal["uint8/int64", "int64"] = "uint8/int64" if len(input.payload.shape) < 3 else "int64"
    check_index("nll_loss", target, types, "target", "; or give probabilities, in the shape of the input")
    values = (input, target) if weight is None else (input, target, weight)
    return ops.nll_loss(*values, reduction=reduction, ignore_index=ignore_index)


@offered("workbench", "nn.functional")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy between scores `input` and classes or probabilities `target`: -ln softmax(x)[target].

    Shapes: input [N, C], [N, C, d1, …] or [C]; target one class for each place ([N], [N, d1, …] or []), or
    probabilities in the input's shape; weight [C]. With `label_smoothing` s, a class becomes the distribution
    (1 - s)·[c = target] + s/C. The mean divides by the weights of the classes counted; with probabilities by N.

    >>> import workbench as wb
    >>> wb.cross_entropy(wb.zeros(N=2, C=4), wb.tensor([0, 3])).item()
    1.3862943649291992
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise DimensionError(
            f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}", op="cross_entropy"
        )
    sizes = input.payload.shape
    if not sizes:
        raise DimensionError(
            "cross_entropy takes scores [C], [N, C] or [N, C, d1, ...]; a scalar has no classes.",
            op="cross_entropy",
        )
    axis = _class_axis(len(sizes))
    # The usual call is one op, which keeps no logarithms for its gradient.
    if weight is None and _fits_one_op(input, target):
        return ops.cross_entropy(
            input, target, reduction=reduction, ignore_index=ignore_index, smoothing=label_smoothing
        )
    scores = ops.log_softmax(input, dim=axis)
    if target.payload.shape == sizes and target.payload.dtype.kind not in "iub":
        if ignore_index >= 0:
            raise DimensionError(
                "ignore_index is not supported for floating point target: give probabilities of 0 instead.",
                op="cross_entropy",
            )
        return _against_probabilities(scores, target, weight, reduction, label_smoothing, axis)
    return smoothed_nll_loss(
        scores, target, weight, ignore_index=ignore_index, reduction=reduction, smoothing=label_smoothing
    )


def smoothed_nll_loss(
    scores: Any, target: Any, weight: Any, *, reduction: str, ignore_index: int, smoothing: float
) -> Tensor:
    """The negative log-likelihood of each place's class, of which a share is that of all classes alike."""
    loss = _nll_loss(scores, target, weight, ignore_index, reduction)
    if smoothing == 0.0:
        return loss
    sizes = scores.payload.shape
    axis = _class_axis(len(sizes))
    smooth = _against_all(scores, target, weight, ignore_index, reduction, axis)
    return ops.add(ops.mul(loss, 1.0 - smoothing), ops.mul(smooth, smoothing / sizes[axis]))


def _fits_one_op(input: Any, target: Any) -> bool:
    """Say whether these are floats and a class for each place, in types that PyTorch takes."""
    scores, classes = input.payload, target.payload
    return (
        len(scores.shape) >= 2
        and 0 not in scores.shape
        and scores.dtype.kind == "f"
        and scores.dtype.itemsize >= 4
        and (classes.dtype == np.int64 or (classes.dtype == np.uint8 and len(scores.shape) == 2))
    )


def _by_class(weight: Any, sizes: tuple[int, ...], axis: int) -> Any:
    return ops.reshape(weight, sizes=(sizes[axis],) + (1,) * (len(sizes) - axis - 1))


def _against_probabilities(
    scores: Any, target: Any, weight: Any, reduction: str, smoothing: float, axis: int
) -> Tensor:
    sizes = scores.payload.shape
    if smoothing > 0.0:
        target = ops.add(ops.mul(target, 1.0 - smoothing), smoothing / sizes[axis])
    product = ops.mul(scores, target)
    if weight is not None:
        product = ops.mul(product, _by_class(weight, sizes, axis))
    loss = ops.neg(ops.sum(product, dim=(axis,), keepdim=False))
    return reduce_loss(loss, reduction)


def _against_all(scores: Any, target: Any, weight: Any, ignore_index: int, reduction: str, axis: int) -> Any:
    """The loss against every class alike, which label smoothing mixes in."""
    sizes = scores.payload.shape
    weighted = scores if weight is None else ops.mul(scores, _by_class(weight, sizes, axis))
    loss = ops.neg(ops.sum(weighted, dim=(axis,), keepdim=False))
    counted = ops.ne(target, ignore_index)
    loss = ops.where(counted, loss, 0.0)
    if reduction != "mean":
        return reduce_loss(loss, reduction)
    if weight is not None:
        total = class_weight_total(scores, target, weight, ignore_index)
    else:
        total = reduce_loss(ops.to(counted, dtype=scores.payload.dtype), "sum")
    return ops.div(reduce_loss(loss, "sum"), total)

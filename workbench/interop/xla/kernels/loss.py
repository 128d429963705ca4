"""Losses of classes. A class out of bounds cannot be refused on a device: its loss is NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.interop.xla.libraries import jax, jnp

__all__ = ["KERNELS"]


def _classes(target: Any, ignore_index: int) -> tuple[Any, Any]:
    valid = target != ignore_index
    return jnp.where(valid, target, 0), valid


def _picked(x: Any, target: Any, axis: int) -> Any:
    places = jnp.expand_dims(target, axis)
    return jnp.take_along_axis(x, places, axis, mode="fill").squeeze(axis)


def _nll(x: Any, target: Any, weight: Any = None, *, reduction: str, ignore_index: int) -> Any:
    axis = 0 if x.ndim == 1 else 1
    target, valid = _classes(target, ignore_index)
    loss = -_picked(x, target, axis)
    weights = valid.astype(x.dtype) if weight is None else jnp.where(valid, weight[target], 0)
    loss = jnp.where(weights == 0, 0, loss) * weights
    if reduction == "none":
        return loss
    return loss.sum() / weights.sum() if reduction == "mean" else loss.sum()


def _nll_gradient(
    g: Any, target: Any, weight: Any = None, *, sizes: tuple[int, ...], reduction: str, ignore_index: int
) -> Any:
    axis = 0 if len(sizes) == 1 else 1
    target, valid = _classes(target, ignore_index)
    weights = valid.astype(g.dtype) if weight is None else jnp.where(valid, weight[target], 0)
    each = -g * weights
    if reduction == "mean":
        each = each / weights.sum()
    each = jnp.expand_dims(jnp.where(valid, each, 0), axis)
    shape = [-1 if i == axis else 1 for i in range(len(sizes))]
    hit = np.arange(sizes[axis]).reshape(shape) == jnp.expand_dims(target, axis)
    return jnp.where(hit, each, 0).astype(g.dtype)


def _cross_entropy(x: Any, target: Any, *, reduction: str, ignore_index: int, smoothing: float = 0.0) -> Any:
    target, valid = _classes(target, ignore_index)
    logarithms = jax.nn.log_softmax(x, axis=1)
    loss = -_picked(logarithms, target, 1)
    if smoothing:
        loss = (1 - smoothing) * loss - smoothing * logarithms.mean(1)
    loss = jnp.where(valid, loss, 0)
    if reduction == "none":
        return loss
    return loss.sum() / valid.sum().astype(x.dtype) if reduction == "mean" else loss.sum()


def _cross_entropy_gradient(
    g: Any, x: Any, target: Any, *, reduction: str, ignore_index: int, smoothing: float = 0.0
) -> Any:
    target, valid = _classes(target, ignore_index)
    shares = jax.nn.softmax(x, axis=1)
    shape = [-1 if i == 1 else 1 for i in range(x.ndim)]
    hit = np.arange(x.shape[1]).reshape(shape) == jnp.expand_dims(target, 1)
    shares = shares - smoothing / x.shape[1] - jnp.where(hit, 1 - smoothing, 0).astype(x.dtype)
    if reduction == "mean":
        g = g / valid.sum().astype(x.dtype)
    shares = shares * (g if reduction != "none" else jnp.expand_dims(g, 1))
    return jnp.where(jnp.expand_dims(valid, 1), shares, 0)


def _scores(x: Any, weight: Any, bias: Any) -> Any:
    scores = jnp.matmul(x, weight.T, precision="highest")
    return scores if bias is None else scores + bias


def _of_products(x: Any, weight: Any, target: Any, bias: Any = None, *, chunk: int, ignore_index: int) -> Any:
    return _cross_entropy(_scores(x, weight, bias), target, reduction="none", ignore_index=ignore_index)


def _of_products_gradient(
    g: Any, x: Any, weight: Any, target: Any, bias: Any = None, *, chunk: int, ignore_index: int
) -> Any:
    share = _cross_entropy_gradient(
        g, _scores(x, weight, bias), target, reduction="none", ignore_index=ignore_index
    )
    gx = jnp.matmul(share, weight, precision="highest")
    return gx, jnp.matmul(share.T, x, precision="highest"), share.sum(0)


def _binary(x: Any, target: Any) -> Any:
    yes, no = jnp.maximum(jnp.log(x), -100), jnp.maximum(jnp.log1p(-x), -100)
    return (target - 1) * no - target * yes


KERNELS: dict[str, Callable[..., Any]] = {
    "binary_cross_entropy": _binary,
    "cross_entropy": _cross_entropy,
    "cross_entropy_gradient": _cross_entropy_gradient,
    "linear_cross_entropy": _of_products,
    "linear_cross_entropy_gradient": _of_products_gradient,
    "nll_loss": _nll,
    "nll_loss_gradient": _nll_gradient,
}

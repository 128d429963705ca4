"""Random programs: values, and steps that make more of them; what a step does not take it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import workbench as wb
from workbench.core.value import Value

REFUSALS = (TypeError, ValueError, LookupError, RuntimeError, ArithmeticError)
F: Any = wb.nn.functional
Draw = np.random.Generator


def dim(draw: Draw, x: Any) -> Any:
    """Return a dim by position, or by name where it has one."""
    at = int(draw.integers(0, max(x.ndim, 1)))
    return x.names[at] if x.ndim and x.names[at] is not None and draw.random() < 0.5 else at


def places(draw: Draw, x: Any, size: int) -> Any:
    """Return indices of the shape of a value, under its names or others."""
    found = wb.from_numpy(draw.integers(0, max(size, 1), x.shape))
    return (
        found.rename(*draw.permutation(np.array(x.names, object)))
        if x.ndim and draw.random() < 0.7
        else found
    )


def one(function: Callable[[Any], Any]) -> Callable[[Draw, Any, Any], Any]:
    return lambda draw, x, y: function(x)


def two(function: Callable[[Any, Any], Any]) -> Callable[[Draw, Any, Any], Any]:
    return lambda draw, x, y: function(x, y)


def along(function: Callable[[Any, Any], Any]) -> Callable[[Draw, Any, Any], Any]:
    return lambda draw, x, y: function(x, dim(draw, x))


def indexed(function: Callable[[Any, Any, Any, Any], Any]) -> Callable[[Draw, Any, Any], Any]:
    """A function of a value, a dim, indices and another value."""

    def step(draw: Draw, x: Any, y: Any) -> Any:
        at = dim(draw, x)
        return function(x, at, places(draw, y, x.size(at)), y)

    return step


STEPS: dict[str, Callable[[Draw, Any, Any], Any]] = {
    "add": two(lambda x, y: x + y),
    "mul": two(lambda x, y: x * y),
    "where": two(lambda x, y: wb.where(x > 0, x, y)),
    "matmul": two(lambda x, y: x @ y),
    "matmul_transposed": two(lambda x, y: x @ y.mT),
    "outer": two(wb.outer),
    "inner": two(wb.inner),
    "kron": two(wb.kron),
    "cdist": two(wb.cdist),
    "tensordot": two(lambda x, y: wb.tensordot(x, y, 1)),
    "einsum": two(lambda x, y: wb.einsum("ij,jk->ik", x, y)),
    "einsum_outer": two(lambda x, y: wb.einsum("i,j->ij", x, y)),
    "einsum_numbers": two(lambda x, y: wb.einsum(x, [0, 1], y, [1, 2])),
    "linear": two(lambda x, y: F.linear(x, y)),
    "cat": lambda draw, x, y: wb.cat([x, y], dim(draw, x)),
    "stack": two(lambda x, y: wb.stack([x, y])),
    "hstack": two(lambda x, y: wb.hstack([x, y])),
    "meshgrid": two(lambda x, y: wb.meshgrid(x, y, indexing="ij")),
    "cartesian_prod": two(wb.cartesian_prod),
    "block_diag": two(wb.block_diag),
    "broadcast_tensors": two(wb.broadcast_tensors),
    "expand_as": two(lambda x, y: x.expand_as(y)),
    "align_as": two(lambda x, y: x.align_as(y)),
    "attention": two(lambda x, y: F.scaled_dot_product_attention(x, y, y)),
    "neg": one(lambda x: -x),
    "transpose": one(lambda x: x.mT),
    "flatten": one(lambda x: x.flatten()),
    "reshape": one(lambda x: x.reshape(-1, 2)),
    "unsqueeze": along(lambda x, at: x.unsqueeze(at)),
    "diagonal": one(wb.diagonal),
    "diag_embed": one(wb.diag_embed),
    "tril": one(wb.tril),
    "unfold": along(lambda x, at: x.unfold(at, 2, 1)),
    "unflatten": along(lambda x, at: x.unflatten(at, (2, -1))),
    "unflatten_named": along(lambda x, at: x.unflatten(at, (("a", 2), ("b", -1))) if x.has_names() else x),
    "one_hot": one(lambda x: F.one_hot(x.long().abs() % 4)),
    "nonzero": one(wb.nonzero),
    "sum": along(lambda x, at: x.sum(at)),
    "max": along(lambda x, at: x.max(at)),
    "sort": along(lambda x, at: x.sort(at)),
    "softmax": along(lambda x, at: x.softmax(at)),
    "cumsum": along(lambda x, at: x.cumsum(at)),
    "select": along(lambda x, at: x.select(at, 0)),
    "split": along(lambda x, at: x.split(2, at)),
    "unbind": along(lambda x, at: x.unbind(at)),
    "flip": along(lambda x, at: x.flip(at)),
    "index": one(lambda x: x[..., [0, 1]]),
    "index_by_value": lambda draw, x, y: x[places(draw, y, len(x))],
    "gather": indexed(lambda x, at, index, y: x.gather(at, index)),
    "take_along_dim": indexed(lambda x, at, index, y: wb.take_along_dim(x, index, at)),
    "index_select": indexed(lambda x, at, index, y: x.index_select(at, index)),
    "index_add": indexed(lambda x, at, index, y: x.index_add(at, index.flatten()[: y.size(at)], y)),
    "index_copy": indexed(lambda x, at, index, y: x.index_copy(at, index.flatten()[: y.size(at)], y)),
    "scatter": indexed(lambda x, at, index, y: x.scatter(at, index, y)),
    "scatter_add": indexed(lambda x, at, index, y: x.scatter_add(at, index, y)),
    "scatter_reduce": indexed(lambda x, at, index, y: x.scatter_reduce(at, index, y, "amax")),
    "put": lambda draw, x, y: x.put(places(draw, y, x.numel()), y),
    "masked_fill": one(lambda x: x.masked_fill(x > 0, 0.0)),
    "masked_scatter": two(lambda x, y: x.masked_scatter(x > 0, y)),
    "masked_select": two(lambda x, y: x.masked_select(y > 0)),
    "select_scatter": two(lambda x, y: x.select_scatter(y, 0, 0)),
    "copied": two(lambda x, y: x.clone().copy_(y)),
    "assigned": two(lambda x, y: _assigned(x.clone(), y)),
    "layer_norm": one(lambda x: F.layer_norm(x, x.shape[-1:])),
    "pad": one(lambda x: F.pad(x, (1, 1))),
    "vmap": one(lambda x: wb.func.vmap(lambda row: row * 2)(x)),
    "jacobian": one(lambda x: wb.func.jacrev(lambda v: v * v)(x) if x.numel() < 9 else x),
    "svd": one(lambda x: tuple(wb.linalg.svd(x, full_matrices=False))),
    "cov": one(lambda x: wb.cov(x)),
}


def _assigned(x: Any, y: Any) -> Any:
    x[0] = y
    return x


def values_in(found: Any) -> list[Any]:
    """Return the values in what a step made."""
    if isinstance(found, list | tuple):
        return [one for part in found for one in values_in(part)]
    return [found] if isinstance(found, Value) else []


def run(
    draw: Draw, values: list[Any], steps: int, refused: Callable[[str, Exception], None]
) -> list[tuple[str, Any]]:
    """Take random steps from `values` on; return what they made, with the names of the steps."""
    made: list[tuple[str, Any]] = []
    words = list(STEPS)
    pool = list(values)
    for _ in range(steps):
        word = words[int(draw.integers(len(words)))]
        x, y = (pool[int(draw.integers(len(pool)))] for _ in range(2))
        try:
            found = values_in(STEPS[word](draw, x, y))
        except REFUSALS as error:
            refused(word, error)
            continue
        made += [(word, one) for one in found]
        pool += [one for one in found if one.numel() <= 256 and one.ndim <= 4 and one.dtype is wb.float32]
        pool = pool[-12:]
    return made

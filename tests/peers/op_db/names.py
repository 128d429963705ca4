"""Which of our functions answers to an entry of the op database."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import workbench as wb
from workbench.ops import ops

__all__ = ["PLAIN", "function_for"]

PLAIN: tuple[str, ...] = tuple(json.loads((Path(__file__).parent / "plain_ops.json").read_text()))
"""Entries (``name`` or ``name.variant``) that take and return plain dense tensors, forward and backward."""


def _max_pool_gradient(x: Any, **kwargs: Any) -> Any:
    """Gradient of max_pool2d for a gradient of ones; torch holds it to depend on the pooled values too."""
    _, indices = wb.max_pool2d(x, **{**kwargs, "return_indices": True})
    ones = wb.ones(*indices.shape, dtype=x.dtype)
    batched = [one if x.ndim == 4 else one.unsqueeze(0) for one in (ones, indices)]
    shape = x.shape if x.ndim == 4 else (1, *x.shape)
    return ops.max_pool2d_gradient(*batched, input_shape=shape).reshape(x.shape) + 0 * x


SPECIAL: dict[str, Callable[..., Any]] = {
    "max_pool2d_with_indices_backward": _max_pool_gradient,
    "T": lambda x: x.T,
    "H": lambda x: x.H,
    "mT": lambda x: x.mT,
    "mH": lambda x: x.mH,
    "slice": lambda x, *args, **kwargs: wb.slice(x, *args, **kwargs),
    "where": lambda x, condition, other: wb.where(condition, x, other),
    "einsum": lambda operands, equation: wb.einsum(equation, *operands),
    "linalg.lstsq.grad_oriented": lambda a, b, driver: wb.linalg.lstsq(a, b, driver=driver)[:2],
    "linalg.pinv.singular": lambda a, b: wb.linalg.pinv(a @ b.mT),
    "zero_": lambda x: x.clone().zero_(),
    "fill": lambda x, value: wb.fill(x, value),
    "float": lambda x, **kwargs: x.float(),
    "polygamma": lambda x, n: wb.polygamma(n, x),
    "special.polygamma": lambda x, n: wb.special.polygamma(n, x),
    "max.binary": lambda x, other: wb.max(x, other),
    "min.binary": lambda x, other: wb.min(x, other),
    "view": lambda x, *args: x.view(*args),
    "view_as": lambda x, other: x.view_as(other),
    "expand": lambda x, *args: x.expand(*args),
    "repeat": lambda x, *args: x.repeat(*args),
    "nn.functional.embedding": lambda weight, indices, **kwargs: wb.nn.functional.embedding(
        indices, weight, **kwargs
    ),
    "nn.functional.embedding_bag": lambda weight, indices, **kwargs: wb.nn.functional.embedding_bag(
        indices, weight, **kwargs
    ),
    # The database's distance is one of torch's modules.
    "nn.functional.triplet_margin_with_distance_loss": lambda *args, **kwargs: (
        wb.nn.functional.triplet_margin_with_distance_loss(
            *args, **{**kwargs, "distance_function": wb.pairwise_distance}
        )
    ),
}
"""Entries whose call in the database is not that of the function of their name."""


def function_for(name: str, variant: str) -> Callable[..., Any]:
    """Return our function for an entry, or raise AttributeError where there is none.

    A dotted name is looked up in its namespace; a plain one in `workbench`, else among the tensor's methods.
    """
    for key in (f"{name}.{variant}", name):
        if key in SPECIAL:
            return SPECIAL[key]
    owner: Any = wb
    parts = name.split(".")
    for part in parts[:-1]:
        owner = getattr(owner, part)
    if len(parts) == 1 and not hasattr(owner, parts[0]):
        owner = wb.Tensor
    return getattr(owner, parts[-1])

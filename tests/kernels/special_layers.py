"""Attention and recurrent layers on operands of which one has a value that is no finite number, for both libraries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.kernels.special_values import Case, Shapes

__all__ = ["BY_LAYER", "digest"]

_QUERIES, _KEYS, _HIDDEN = 5, 19, 17
"""Sizes that leave a tail behind vectors of 8 and of 16 lanes."""

_SEEN = np.random.default_rng(3).random((_QUERIES, _KEYS)) > 0.3
_BLIND = _SEEN & (np.arange(_QUERIES) % 3 != 1)[:, None]
"""Rows 1 and 4 look at nothing."""
_UNSEEN_ENDS = _SEEN & (np.arange(_KEYS) % (_KEYS - 1) != 0)
"""Nobody looks at the first key and the last, which are those that have the special values."""
_ADDED = np.where(_SEEN, np.random.default_rng(4).standard_normal((_QUERIES, _KEYS)), -math.inf)

_HEADS: Shapes = ((1, 2, _QUERIES, 4), (1, 2, _KEYS, 4), (1, 2, _KEYS, 3))


def _attention(mask: Any = None, **params: Any) -> tuple[Case, Shapes]:
    def case(lib: Any, F: Any, q: Any, k: Any, v: Any) -> Any:
        given = None if mask is None else lib.tensor(mask)
        if given is not None and mask.dtype != bool:
            given = given.to(q.dtype)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=given, **params)

    return case, _HEADS


def _recurrent(kind: str, gates: int, **settings: Any) -> tuple[Case, Shapes]:
    """Return a layer as a function of its input, its states and its weights; its result is all that it returns."""
    states = 2 if kind == "LSTM" else 1
    directions = 2 if settings.get("bidirectional") else 1

    def case(lib: Any, F: Any, x: Any, *rest: Any) -> Any:
        layer = getattr(lib.nn, kind)(3, _HIDDEN, **settings)
        names = [name for name, _ in layer.named_parameters()]
        weights = dict(zip(names, rest[states:], strict=True))
        first = tuple(rest[:states]) if states > 1 else rest[0]
        out, last = lib.func.functional_call(layer, weights, (x, first))
        several = (out, *last) if states > 1 else (out, last)
        return lib.cat([one.reshape(-1) for one in several])

    state = (directions, 2, _HIDDEN)
    width = gates * _HIDDEN
    weights = ((width, 3), (width, _HIDDEN), (width,), (width,))
    return case, ((4, 2, 3), *(state,) * states, *weights * directions)


BY_LAYER: dict[str, tuple[Case, Shapes]] = {
    "causal attention": _attention(is_causal=True),
    "attention, mask of bools": _attention(_SEEN),
    "attention, mask over what is special": _attention(_UNSEEN_ENDS),
    "attention, rows that see nothing": _attention(_BLIND),
    "attention, mask of numbers": _attention(_ADDED),
    "attention, numbers that hide rows": _attention(np.where(_BLIND, 0.3, -math.inf)),
    "attention, mask with a gradient": (
        lambda lib, F, q, k, v, mask: F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
        (*_HEADS, (_QUERIES, _KEYS)),
    ),
    "LSTM": _recurrent("LSTM", 4),
    "GRU": _recurrent("GRU", 3),
    "GRU in both directions": _recurrent("GRU", 3, bidirectional=True),
    "RNN": _recurrent("RNN", 1),
    "RNN of relu": _recurrent("RNN", 1, nonlinearity="relu"),
}


def digest(values: Any, finite: Any = None) -> tuple[Any, float]:
    """Return which values are finite (0), NaN (1) or infinite (2), and one sum over those that are finite.

    Each counts with a factor of its own in the sum, so that one which is wrong shows; all of them would fill megabytes.
    `finite` says which to add up, where that is known otherwise.
    """
    values = np.asarray(values, np.float64)
    kinds = np.where(np.isnan(values), 1, np.where(np.isinf(values), 2, 0)).astype(np.int8)
    factors = np.cos(np.arange(values.size)).reshape(values.shape)
    return kinds, float((values * factors)[kinds == 0 if finite is None else finite].sum())

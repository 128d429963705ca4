"""Attention as an explanation: the weights of every layer, found by the ops that run, and their product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from workbench.attribution.checks import check_model
from workbench.attribution.modes import evaluating
from workbench.base.errors import DimensionError
from workbench.core.contribution import Contribution
from workbench.core.dispatch import interpreting, no_grad
from workbench.core.op import Op, ops
from workbench.core.value import new
from workbench.ops.nn.attention.scaled_dot_product import weights_of
from workbench.ops.shape.creation import tri
from workbench.tensor import Tensor
from workbench.tensor.interchange import plain

__all__ = ["attention_rollout", "attention_weights"]

Array = np.ndarray[Any, Any]
Heads = Literal["mean", "max", "min"]


@dataclass
class _Weights:
    """Looks on while a model runs, and keeps the weights with which values are averaged."""

    found: list[Array] = field(default_factory=list)
    known: dict[int, Any] = field(default_factory=dict)
    """What a softmax over the last dim gave, and what became of it, by identity. Kept, so that none is reused."""
    transparent: bool = True

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run the op, and note weights."""
        if op is ops.attention:
            self._attended(*inputs, **params)
        elif op is ops.matmul and id(inputs[0]) in self.known:
            weights = plain(inputs[0])
            if _add_up(weights):
                self.found.append(weights)
        result = op(*inputs, **params)
        if self._are_weights(op, inputs, params):
            self.known[id(result)] = result
        return result

    def _are_weights(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> bool:
        rule = op.contribution
        if not isinstance(rule, Contribution):
            return False
        if rule.relevance == "weights":
            # Of fewer dims it is a list of classes.
            return bool(inputs[0].ndim > 2 and params["dim"] % inputs[0].ndim == inputs[0].ndim - 1)
        # What moves, chooses or drops values leaves them weights, on their way from the softmax to what they weigh.
        passed_on = rule.kind == "moved" or rule.relevance == "chosen" or op is ops.dropout
        return passed_on and any(id(one) in self.known for one in inputs)

    def _attended(
        self,
        query: Any,
        key: Any,
        value: Any,
        mask: Any = None,
        *,
        scale: float,
        causal: bool,
        dropout: float,
        seed: int,
    ) -> None:
        """Note the weights that the fused op forms and never keeps."""
        query, key = query.rename(None), key.rename(None)
        scores = (query * scale) @ key.transpose(2, 3)
        if mask is not None:
            scores = scores + mask.rename(None)
        if causal:
            scores = scores.masked_fill(tri(*scores.shape[2:]).logical_not(), -np.inf)
        self.found.append(weights_of(scores, True).numpy(force=True))


def _add_up(weights: Array) -> bool:
    """Say whether rows still sum to 1, or to 0 for queries that may look at nothing, wherever they were moved."""
    sums = weights.sum(axis=-1, dtype=np.float64)
    return bool((np.minimum(np.abs(sums), np.abs(sums - 1)) < _ROUNDING).all())


_ROUNDING = 0.02
"""By how much a row of weights may miss 1: those of bfloat16 have eight bits."""


def attention_weights(
    forward: Callable[..., Any], inputs: Any, additional_forward_args: Any = None
) -> list[Tensor]:
    """Return the attention weights of a model's layers in the order in which they ran, each [N, head, query, key].

    `inputs` and `additional_forward_args` are the model's arguments, a tensor or a tuple of them; the samples are along
    the first's dim N, or its dim 0. Weights are those of attention ops, whatever module called them, and of a softmax
    over the last dim by which something is multiplied (``softmax(q @ k.T) @ v``). Rows sum to 1; they are zeros for
    queries that may look at nothing. The model runs in evaluation mode, without gradients.

    Raises:
        ValueError: the model ran no attention.

    >>> import workbench as wb
    >>> model = wb.models.BertEncoder(wb.models.BertSettings(words=50, features=8, layers=2, heads=4, hidden=16))
    >>> weights = attention_weights(model.eval(), wb.tensor([[1, 2, 3]]))
    >>> len(weights), weights[0].shape, weights[0].names
    (2, (1, 4, 3, 3), ('N', 'head', 'query', 'key'))
    """
    check_model("attention_weights", forward)
    given = _tuple(inputs) + _tuple(additional_forward_args)
    samples = _samples(given)
    seen = _Weights()
    with evaluating(forward), no_grad(), interpreting(seen):
        forward(*given)
    if not seen.found:
        raise ValueError(
            "attention_weights: the model ran no attention: neither an attention op, nor a softmax over the last dim "
            "by which something is multiplied"
        )
    return [new(_by_head(one, samples), ("N", "head", "query", "key")) for one in seen.found]


def _tuple(given: Any) -> tuple[Any, ...]:
    if given is None:
        return ()
    return given if isinstance(given, tuple) else (given,)


def _samples(given: tuple[Any, ...]) -> int:
    first = next((one for one in given if isinstance(one, Tensor) and one.ndim), None)
    if first is None:
        raise TypeError("attention_weights: inputs are tensors with samples along a dim")
    samples = first.shape[first.names.index("N") if "N" in first.names else 0]
    if samples == 0:
        raise DimensionError(
            "the inputs have no samples, so that nothing is looked at", op="attention_weights"
        )
    return samples


def _by_head(weights: Array, samples: int) -> Array:
    """Return weights [..., query, key] as [N, head, query, key]: heads of a sample lie beside each other."""
    rows = int(np.prod(weights.shape[:-2], dtype=int))
    if rows % samples:
        raise DimensionError(
            f"attention over {list(weights.shape)} cannot be divided among {samples} samples: name the inputs' dim of "
            "samples N, if it is not their first",
            op="attention_weights",
        )
    return weights.reshape(samples, rows // samples, *weights.shape[-2:])


def attention_rollout(
    forward: Callable[..., Any],
    inputs: Any,
    additional_forward_args: Any = None,
    *,
    residual: float = 0.5,
    heads: Heads = "mean",
    layers: slice = slice(None),
) -> Tensor:
    """Return how much of each token of the input reaches each token of the last layer by attention, [N, query, key].

    ``R = Â_L ⋯ Â_2 Â_1`` with ``Â = residual · I + (1 − residual) · A``, rows scaled to sum to 1. A are the weights of
    a layer averaged over its `heads` (or the greatest or least of them), and the identity stands for the shortcut
    around it. Row ``[n, 0]`` is what the first token, which classifiers read, has collected from each. Attention says
    where a model looked, not what it concluded; no class is asked for.

    Source: Abnar, Zuidema: Quantifying Attention Flow in Transformers (2020).

    Raises:
        TypeError: `layers` is no slice.
        ValueError: the model ran no attention, or a setting is impossible.
        DimensionError: layers look at other tokens than their own, as a decoder's at an encoder's.

    >>> import workbench as wb
    >>> model = wb.models.BertEncoder(wb.models.BertSettings(words=50, features=8, layers=2, heads=4, hidden=16))
    >>> rollout = attention_rollout(model.eval(), wb.tensor([[1, 2, 3]]))
    >>> rollout.names, rollout.sum("key").numpy().round(5).tolist()
    (('N', 'query', 'key'), [[1.0, 1.0, 1.0]])
    """
    if not 0 <= residual <= 1:
        raise ValueError(f"attention_rollout: residual is a share from 0 to 1, got {residual!r}")
    if heads not in get_args(Heads):
        raise ValueError(
            f"attention_rollout: heads are joined by {', '.join(get_args(Heads))}, not by {heads!r}"
        )
    if not isinstance(layers, slice):
        raise TypeError(f"attention_rollout: layers is a slice of them, such as slice(0, 2), got {layers!r}")
    every = attention_weights(forward, inputs, additional_forward_args)
    chosen = [one.numpy() for one in every[layers]]
    if not chosen:
        raise ValueError(f"attention_rollout: {layers} leaves none of {len(every)} layers")
    tokens = chosen[0].shape[-1]
    found: Array = np.broadcast_to(np.eye(tokens), (chosen[0].shape[0], tokens, tokens))
    for number, weights in enumerate(chosen):
        if weights.shape[-2:] != (tokens, tokens):
            raise DimensionError(
                f"attention {number} looks from {weights.shape[-2]} tokens at {weights.shape[-1]}, the first had "
                f"{tokens}: only layers of one sequence that looks at itself are chained. Choose them with layers=",
                op="attention_rollout",
            )
        joined = getattr(np, heads)(weights.astype(np.float64), axis=1)
        mixed = residual * np.eye(tokens) + (1 - residual) * joined
        total = mixed.sum(-1, keepdims=True)
        found = (mixed / np.where(total == 0, 1, total)) @ found
    return new(found.astype(chosen[0].dtype), ("N", "query", "key"))

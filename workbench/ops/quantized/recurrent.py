"""Recurrent layers with 8-bit weights: inputs and states are quantized as they come, gates are floating point.

What comes in is multiplied for all steps at once, by one range; the state at every step, by its own, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.core.families import grid
from workbench.core.op import DTypeRule, Op, Sample, Saves
from workbench.core.quantization import integers
from workbench.kernels.loader import native
from workbench.ops.nn.recurrent.functions import through_layers
from workbench.ops.nn.recurrent.gru import GRU
from workbench.ops.nn.recurrent.lstm import LSTM
from workbench.ops.nn.recurrent.rnn import RNN
from workbench.ops.nn.recurrent.shared import PACKED, SEQUENCE, product_cost
from workbench.ops.quantized.dynamic import (
    QUANTIZED_LINEAR_DYNAMIC,
    fits_dynamic,
    highest_code,
)
from workbench.ops.quantized.linear import packed_linear
from workbench.ops.quantized.quantize import REFERENCE
from workbench.ops.quantized.requantize import NO_GRADIENT, sample_weights

__all__ = ["QUANTIZED_GRU", "QUANTIZED_LSTM", "QUANTIZED_RNN", "recurrent_dynamic"]


class _Product:
    """Stands for a weight in the array code of floating point layers: a product quantizes what it is given."""

    __array_ufunc__ = None
    """NumPy's arrays leave the product to it."""

    def __init__(self, weight: Any, bias: Any, highest: int) -> None:
        self.weight, self.bias, self.highest = weight, bias, highest

    @property
    def T(self) -> _Product:
        return self

    def __rmatmul__(self, state: Any) -> Any:
        return QUANTIZED_LINEAR_DYNAMIC.forward(
            state, self.weight, self.bias, by_row=False, highest=self.highest, relu=False
        )


def _rule(of: Op, name: str, states: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the array code of a layer, and what calls its kernel where that takes the operands."""

    def forward(pre: Any, *operands: Any, highest: int, **params: Any) -> Any:
        before, weight, *bias = operands[:states], *operands[states:]
        product = _Product(weight, bias[0] if bias else None, highest)
        return of.forward(pre, *before, product, **params)[: states + 1]

    def on_codes(pre: Any, *operands: Any, **params: Any) -> Any:
        before, weight, *bias = operands[:states], *operands[states:]
        if not fits_dynamic(pre, weight) or not all(one.dtype == np.float32 for one in before):
            return forward(pre, *operands, **params)
        layer = packed_linear(weight, bias[0] if bias else None)
        return getattr(native, name)(pre, *before, layer.native, **params)

    return forward, on_codes


def _record(of: Op, kind: str, gates: int, states: int, **more: Any) -> Op:
    name = f"quantized_{of.name}"
    forward, on_codes = _rule(of, name, states)

    def dims(*given: Dims, highest: int, **params: Any) -> Any:
        found: Any = of.dims(*given[: states + 2], **params)
        return found[: states + 1]

    def samples() -> list[Sample]:
        def values(*shape: int, seed: int = 0) -> Any:
            return grid(*shape, low=-1.0, high=1.0, seed=seed).astype(np.float32)

        first = [values(2, 4, seed=one + 1) for one in range(states)]
        weight, bias = sample_weights(gates * 4, 4), values(gates * 4, seed=9)
        settings = {"highest": 127, **more}
        return [
            Sample((values(3, 2, gates * 4), *first, weight, bias), {**SEQUENCE, **settings}),
            Sample((values(5, gates * 4), *first, weight), {**PACKED, **settings, "highest": 255}),
        ]

    return Op(
        name=name,
        doc=f"{kind} whose state is quantized at every step, by its own range, and meets an 8-bit weight.",
        equation=f"as {of.name}, with q(h)·w·sh·sw + b for h·w; scale and zero point of h from its range",
        reference=REFERENCE,
        dims=dims,
        rule=of.rule,
        dtype=DTypeRule("float32", None, lambda dtype, params: (np.dtype(np.float32),) * (states + 1)),
        forward=forward,
        vjp=NO_GRADIENT,
        saves=Saves(output=False),
        quantized=integers(
            name, on_codes, "ends", inputs=(*("plain",) * (states + 1), "weight", "plain"), axis=0
        ),
        cost=product_cost,
        samples=samples,
        outputs=states + 1,
    )


QUANTIZED_LSTM = _record(LSTM, "Long short-term memory", 4, 2)
QUANTIZED_GRU = _record(GRU, "Gated recurrent units", 3, 1)
QUANTIZED_RNN = _record(RNN, "A plain recurrent layer", 1, 1, relu=False)
_RECORDS = {"LSTM": QUANTIZED_LSTM, "GRU": QUANTIZED_GRU}


def _layer(
    mode: str,
    input: Any,
    states: Sequence[Any],
    weights: Sequence[Any],
    biases: bool,
    reverse: bool,
    batch_sizes: Any,
    highest: int,
) -> tuple[Any, ...]:
    """Run one layer in one direction; return its output and its last states."""
    w_ih, w_hh, *added = weights
    pre = QUANTIZED_LINEAR_DYNAMIC(input, w_ih, *added[:1], by_row=False, highest=highest, relu=False)
    way = {"reverse": reverse, "batch_sizes": batch_sizes, "highest": highest}
    operands = (pre, *states, w_hh, *added[1:])
    if mode in _RECORDS:
        return tuple(_RECORDS[mode](*operands, **way))
    return tuple(QUANTIZED_RNN(*operands, relu=mode == "RNN_RELU", **way))


def recurrent_dynamic(
    mode: str,
    input: Any,
    states: tuple[Any, ...] | None,
    weights: Sequence[Sequence[Any]],
    *,
    biases: bool,
    dropout: float = 0.0,
    train: bool = False,
    directions: int = 1,
    batch_sizes: tuple[int, ...] | None = None,
    reduce_range: bool = False,
) -> tuple[Any, tuple[Any, ...]]:
    """Go through the layers of ``LSTM``, ``GRU``, ``RNN_TANH`` or ``RNN_RELU`` with qint8 weights.

    `input` is float32 [T, N, …] or packed rows, `weights` are those of each layer and direction: w_ih, w_hh, and
    with `biases` b_ih and b_hh in float32. With `reduce_range` inputs and states have 7 bits, as in PyTorch. Returns
    the output, and the last states of all layers stacked.
    """
    return through_layers(
        mode, input, states, weights, biases=biases, dropout=dropout, train=train, directions=directions,
        batch_sizes=batch_sizes, layer=partial(_layer, highest=highest_code(reduce_range)),
    )  # fmt: skip

"""Recurrent layers with 8-bit weights: inputs and states are quantized as they come, gates are floating point.

What comes in is multiplied for all steps at once, by one range; the state at every step, by its own, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.base.dims import Dims, new_name
from workbench.base.errors import DimensionError
from workbench.base.symbolic_size import remembered
from workbench.core.families import grid
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import integers
from workbench.kernels.loader import native
from workbench.ops.contract.matmul import LINEAR
from workbench.ops.nn.recurrent.gru import GRU
from workbench.ops.nn.recurrent.lstm import LSTM
from workbench.ops.nn.recurrent.rnn import RNN
from workbench.ops.nn.recurrent.steps import Sizes
from workbench.ops.quantized.dynamic import (
    QUANTIZED_LINEAR_DYNAMIC,
    fits_dynamic,
    highest_code,
)
from workbench.ops.quantized.linear import packed_linear
from workbench.ops.quantized.quantize import REFERENCE
from workbench.ops.quantized.requantize import NO_GRADIENT, sample_weights
from workbench.ops.random.dropout import dropout as dropped
from workbench.ops.shape.creation import filled

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


def _layers(operands: Sequence[Any], biases: bool) -> list[Sequence[Any]]:
    """Return what each layer and direction is multiplied with, and its biases."""
    each = 4 if biases else 2
    return [operands[place : place + each] for place in range(0, len(operands), each)]


def _rule(of: Op, name: str, states: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the array code of layers, and what calls their kernel where that takes the operands."""

    def forward(
        x: Any, *operands: Any, biases: bool, directions: int, batch_sizes: Sizes, highest: int, **more: Any
    ) -> Any:
        layers = _layers(operands[states:], biases)
        ends: list[Any] = []
        for place in range(0, len(layers), directions):
            outputs = []
            for way in range(directions):
                w_ih, w_hh, *added = layers[place + way]
                pre = QUANTIZED_LINEAR_DYNAMIC.forward(
                    x, w_ih, *added[:1], by_row=False, highest=highest, relu=False
                )
                product = _Product(w_hh, added[1] if added else None, highest)
                first = (one[place + way] for one in operands[:states])
                y, *last = of.forward(
                    pre, *first, product, reverse=way == 1, batch_sizes=batch_sizes, **more
                )[: states + 1]
                outputs.append(y)
                ends.append(last)
            x = np.concatenate(outputs, axis=-1)
        return x, *(np.stack([one[k] for one in ends]) for k in range(states))

    def on_codes(x: Any, *operands: Any, biases: bool, **params: Any) -> Any:
        layers = _layers(operands[states:], biases)
        first = operands[:states]
        # The kernel takes no step without a sequence.
        if (
            not x.size
            or not all(fits_dynamic(x, weight) for own in layers for weight in own[:2])
            or not all(one.dtype == np.float32 for one in first)
        ):
            return forward(x, *operands, biases=biases, **params)
        weights = [
            packed_linear(weight, bias).native
            for own in layers
            for weight, bias in zip(own[:2], own[2:] or (None, None), strict=True)
        ]
        return getattr(native, name)(x, *first, weights, **params)

    return forward, on_codes


def _dims_rule(of: Op, states: int) -> Callable[..., Any]:
    """Return the dims rule of layers one after the other: that of each, over what its input becomes."""

    @remembered(256)
    def through(x: Dims, given: tuple[Dims, ...], biases: bool, directions: int, way: Any) -> Any:
        first, layers = given[:states], _layers(given[states:], biases)
        count, refused = len(layers), [one for one in first if not one.sizes or one.sizes[0] != len(layers)]
        if count % directions or refused:
            raise DimensionError(
                f"quantized_{of.name}: a state has an entry for each of {count} layers in {directions} directions, "
                f"it is {[list(one.sizes) for one in first]}.",
                operands=tuple(one.operand("state") for one in refused),
            )
        before = [Dims(one.names[1:], one.sizes[1:]) for one in first]
        y: Any = x
        last: Any = ()
        for place in range(0, count, directions):
            for w_ih, w_hh, *added in layers[place : place + directions]:
                pre: Any = LINEAR.dims(x, w_ih, *added[:1])
                found: Any = of.dims(pre, *before, w_hh, reverse=False, **dict(way))
                y, *last = found[: states + 1]
            x = Dims(y.names, (*y.sizes[:-1], directions * y.sizes[-1]))
        return x, *(
            Dims((new_name("layers", one.names, one.names), *one.names), (count, *one.sizes)) for one in last
        )

    def dims(x: Dims, *given: Dims, biases: bool, directions: int, highest: int, **way: Any) -> Any:
        return through(x, given, biases, directions, tuple(way.items()))

    return dims


def _record(of: Op, kind: str, gates: int, states: int, **more: Any) -> Op:
    name = f"quantized_{of.name}"
    forward, on_codes = _rule(of, name, states)

    def samples() -> list[Sample]:
        def values(*shape: int, seed: int = 0) -> Any:
            return grid(*shape, low=-1.0, high=1.0, seed=seed).astype(np.float32)

        def layers(depth: int, directions: int, biases: bool) -> list[Any]:
            found: list[Any] = []
            for place in range(depth * directions):
                inputs = 5 if place < directions else 4 * directions
                found += sample_weights(gates * 4, inputs), sample_weights(gates * 4, 4)
                found += [values(gates * 4, seed=9), values(gates * 4, seed=8)] if biases else []
            return found

        one = [values(4, 2, 4, seed=k + 1) for k in range(states)]
        two = [values(1, 2, 4, seed=k + 1) for k in range(states)]
        whole = {"biases": True, "directions": 2, "batch_sizes": None, "highest": 127, **more}
        packed = {"biases": False, "directions": 1, "batch_sizes": (2, 2, 1), "highest": 255, **more}
        return [
            Sample((values(3, 2, 5), *one, *layers(2, 2, True)), whole),
            Sample((values(5, 5), *two, *layers(1, 1, False)), packed),
        ]

    def bad() -> list[BadInput]:
        sample = samples()[0]
        states_of_one = [one[:3] for one in sample.inputs[1 : states + 1]]
        inputs = (sample.inputs[0], *states_of_one, *sample.inputs[states + 1 :])
        return [
            BadInput(inputs, sample.params, DimensionError, "an entry for each of 4 layers in 2 directions")
        ]

    return Op(
        name=name,
        doc=f"Layers of {kind} whose inputs and states are quantized by their own range, and meet 8-bit weights.",
        equation=f"as {of.name}, with q(x)·w·sx·sw + b for x·w and so for h·w; scale and zero point from the range",
        reference=REFERENCE,
        dims=_dims_rule(of, states),
        rule="steps and batch keep their names; the last dim is called as the weight's last",
        dtype=DTypeRule("float32", None, lambda dtype, params: (np.dtype(np.float32),) * (states + 1)),
        forward=forward,
        vjp=NO_GRADIENT,
        saves=Saves(output=False),
        quantized=integers(name, on_codes, "ends", inputs=(*("plain",) * (states + 1), "weight"), axis=0),
        cost=lambda dims, out, **params: (
            2.0 * dims[0].numel / max(1, dims[0].sizes[-1])
            * sum(one.numel for one in dims[states + 1 :] if len(one.sizes) == 2)
        ),
        samples=samples,
        bad=bad,
        outputs=states + 1,
    )  # fmt: skip


QUANTIZED_LSTM = _record(LSTM, "long short-term memory", 4, 2)
QUANTIZED_GRU = _record(GRU, "gated recurrent units", 3, 1)
QUANTIZED_RNN = _record(RNN, "Elman's kind", 1, 1, relu=False)
_MODES: dict[str, tuple[Op, dict[str, Any]]] = {
    "LSTM": (QUANTIZED_LSTM, {}),
    "GRU": (QUANTIZED_GRU, {}),
    "RNN_TANH": (QUANTIZED_RNN, {"relu": False}),
    "RNN_RELU": (QUANTIZED_RNN, {"relu": True}),
}


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
    op, more = _MODES[mode]
    params = {
        "biases": biases, "directions": directions, "batch_sizes": batch_sizes,
        "highest": highest_code(reduce_range), **more,
    }  # fmt: skip
    if states is None:
        sizes = (len(weights), _batch(input, batch_sizes), weights[0][1].payload.shape[1])
        states = tuple(filled(sizes, 0, input.payload.dtype) for _ in range(op.outputs - 1))
    if not (dropout and train):
        y, *last = op(input, *states, *(one for own in weights for one in own), **params)
        return y, tuple(last)
    ends: list[Any] = []
    for place in range(0, len(weights), directions):
        # Between layers, not behind the last.
        x = dropped(y, dropout, train) if place else input
        first = (ops.index(one, key=(slice(place, place + directions),)) for one in states)
        y, *last = op(
            x, *first, *(one for own in weights[place : place + directions] for one in own), **params
        )
        ends.append(last)
    return y, tuple(ops.cat(*(one[k] for one in ends), dim=0) for k in range(len(states)))


def _batch(input: Any, batch_sizes: tuple[int, ...] | None) -> int:
    return int(input.payload.shape[1] if batch_sizes is None else batch_sizes[0])

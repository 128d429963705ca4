"""Layers on codes of random and awkward shapes: what both judges run, that with PyTorch and that without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.dtypes import qint8, quint8
from workbench.base.quantized_array import QuantizedArray
from workbench.core.op import ops
from workbench.core.value import new

__all__ = ["LAYERS", "Layer", "run"]


@dataclass(frozen=True)
class Layer:
    """One layer and what it is given."""

    kind: str
    x: tuple[int, ...]
    weight: tuple[int, ...]
    geometry: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        given = "-".join(f"{key}{value}" for key, value in self.geometry)
        return f"{self.kind}-{'x'.join(map(str, self.x))}-{'x'.join(map(str, self.weight))}-{given}"

    @property
    def n(self) -> int:
        """Number of spatial dims."""
        return len(self.x) - 2

    @property
    def transposed(self) -> bool:
        """True where the weight is [C, O / groups, ...]."""
        return "transpose" in self.kind

    @property
    def outputs(self) -> int:
        """Number of channels that come out."""
        return self.weight[1] * dict(self.geometry)["groups"] if self.transposed else self.weight[0]

    def codes(self, ties: bool, relu: bool, per_channel: bool, highest: int = 255) -> tuple[Any, ...]:
        """Return codes of the input and the weight, a bias, and scale and zero point of the result.

        With `ties`, scales are such that many results meet a half.
        """
        random = np.random.default_rng([len(str(self)), *self.x, *self.weight, ties, relu, per_channel])
        x = random.integers(0, highest + 1, self.x).astype(np.uint8)
        w = random.integers(-128, 128, self.weight).astype(np.int8)
        x_scale, x_zero = float(random.uniform(0.005, 0.1)), int(random.integers(0, min(200, highest + 1)))
        axis = 1 if self.transposed else 0
        scales = random.uniform(0.001, 0.02, self.weight[axis] if per_channel else 1)
        terms = int(np.prod(self.weight[1:]))
        scale = x_scale * float(np.mean(scales)) * 60 * float(np.sqrt(terms))
        bias = random.standard_normal(self.outputs) * scale * 20
        if ties:
            scales = np.full_like(scales, scales[0]) * 2.0 ** random.integers(0, 2, scales.shape)
            step = x_scale * float(scales[0])
            scale = step * float(2 * random.integers(30, 60) * max(1, int(np.sqrt(terms))))
            bias = np.rint(bias / step) * step
        weight = (
            QuantizedArray(w, scales, np.zeros(len(scales), int), qint8, axis)
            if per_channel
            else QuantizedArray(w, float(scales[0]), 0, qint8)
        )
        zero = int(random.integers(0, 200))
        return QuantizedArray(x, x_scale, x_zero, quint8), weight, bias.astype(np.float32), scale, zero

    def with_large_bias(self, relu: bool, per_channel: bool) -> tuple[Any, ...]:
        """Return the same with a bias of up to 31 bits, counted in steps of the sums that it is added to."""
        x, weight, _, _, zero = self.codes(False, relu, per_channel)
        scales = np.resize(np.asarray(weight.scale), self.outputs)
        steps = np.linspace(-1.98, 1.98, self.outputs) if self.outputs > 1 else np.array([1.7])
        bias = (steps * 2.0**30 * x.scale * scales).astype(np.float32)
        return x, weight, bias, float(2.0**31 * x.scale * scales.max() / 240), zero // 20


def _conv(n: int, x: Any, weight: Any, **more: Any) -> Layer:
    defaults = {"stride": (1,) * n, "padding": (0,) * n, "dilation": (1,) * n, "groups": 1}
    return Layer(f"conv{n}d", x, weight, tuple((defaults | more).items()))


def _transposed(n: int, x: Any, weight: Any, **more: Any) -> Layer:
    defaults = {
        "stride": (1,) * n,
        "padding": (0,) * n,
        "output_padding": (0,) * n,
        "dilation": (1,) * n,
        "groups": 1,
    }
    return Layer(f"conv_transpose{n}d", x, weight, tuple((defaults | more).items()))


LAYERS = [
    _conv(1, (2, 5, 17), (7, 5, 3), padding=(1,)),
    _conv(1, (1, 6, 20), (9, 2, 4), stride=(2,), dilation=(2,), groups=3),
    _conv(2, (2, 3, 9, 8), (17, 3, 3, 3), padding=(1, 1)),
    _conv(2, (1, 16, 7, 5), (33, 16, 1, 1)),
    _conv(2, (1, 1, 11, 10), (1, 1, 5, 3), stride=(2, 1), padding=(2, 0)),
    _conv(2, (2, 6, 9, 9), (4, 6, 3, 2), stride=(1, 2), padding=(2, 1), dilation=(2, 3)),
    _conv(2, (1, 24, 8, 8), (24, 1, 3, 3), padding=(1, 1), groups=24),
    _conv(2, (1, 8, 6, 6), (16, 2, 3, 3), groups=4),
    _conv(2, (1, 70, 6, 5), (130, 70, 3, 3), padding=(1, 1)),
    _conv(3, (2, 3, 5, 6, 4), (6, 3, 3, 3, 3), padding=(1, 1, 1)),
    _conv(
        3, (1, 4, 6, 5, 5), (4, 2, 2, 3, 1), stride=(2, 1, 2), padding=(1, 1, 0), dilation=(2, 1, 1), groups=2
    ),
    _transposed(1, (2, 4, 9), (4, 3, 3), stride=(2,), padding=(1,), output_padding=(1,)),
    _transposed(2, (1, 5, 4, 6), (5, 7, 3, 2), stride=(2, 3), padding=(1, 0)),
    _transposed(2, (2, 6, 5, 4), (6, 4, 2, 3), dilation=(2, 1), padding=(1, 2), groups=2),
    _transposed(3, (1, 2, 3, 4, 3), (2, 3, 2, 3, 2), stride=(1, 2, 2), padding=(0, 1, 0)),
    Layer("linear", (5, 12), (7, 12)),
    Layer("linear", (1, 333), (65, 333)),
    Layer("linear", (37, 64), (130, 64)),
    Layer("linear", (2, 3, 17), (1, 17)),
]


def run(layer: Layer, codes: tuple[Any, ...], relu: bool, bias: bool, oracle: bool) -> Any:
    """Return the codes of the result: as computed, or with plain NumPy."""
    x, weight, added, scale, zero = codes
    op: Any = getattr(ops, f"quantized_{layer.kind}")
    params = {
        **dict(layer.geometry), "scale": scale, "zero_point": zero, "qmin": 0, "qmax": 255, "relu": relu,
    }  # fmt: skip
    operands = (x, weight, added) if bias else (x, weight)
    if oracle:
        return op.forward(*operands, **params).codes
    return op(*map(new, operands), **params).payload.codes

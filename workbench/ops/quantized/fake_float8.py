"""Floats of 8 bits, simulated: what storing values in them does, while they stay wider and can be trained."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dtypes import as_dtype, converted, float8_e4m3fn, narrowest
from workbench.base.errors import DTypeError
from workbench.core.batching import elementwise
from workbench.core.dtype_rules import FLOAT
from workbench.core.families import grid
from workbench.core.op import Op, Sample, Saves, ops
from workbench.core.tape import Call
from workbench.core.typing import DTypeLike, Tensor
from workbench.ops.offer import offered
from workbench.ops.quantized.fake_quantize import CODES_ONLY

__all__ = ["FAKE_FLOAT8"]

_LARGEST = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}


def _fake_float8(x: Any, *, scale: float, dtype: str) -> Any:
    largest = _LARGEST[dtype]
    shown = np.clip(x / np.asarray(scale, x.dtype), -largest, largest).astype(np.float32)
    return (converted(shown, as_dtype(dtype).numpy).astype(x.dtype) * np.asarray(scale, x.dtype)).astype(
        x.dtype
    )


def _vjp(c: Call, g: Any) -> tuple[Any, ...]:
    # As if nothing were rounded, where the value is within: NaN is not.
    inside = ops.le(ops.abs(c.inputs[0]), _LARGEST[c.params["dtype"]] * abs(c.params["scale"]))
    return (ops.where(inside, g, 0.0),)


FAKE_FLOAT8 = Op(
    name="fake_float8",
    doc="Real numbers rounded to those that a float of 8 bits has, times a scale; beyond its largest they stick to it.",
    equation="y = float8(clamp(x/s, -largest, largest))·s; gradient: straight through, 0 where clamped",
    reference="Micikevicius et al. 2022",
    dims=lambda x, **params: x,
    rule="names and sizes pass through",
    dtype=FLOAT,
    forward=_fake_float8,
    vjp=_vjp,
    saves=Saves((0,), output=False),
    quantized=CODES_ONLY,
    cost=lambda dims, out, **params: 4.0 * out.numel,
    samples=lambda: [
        Sample((grid(3, 4),), {"scale": 1.0, "dtype": "float8_e4m3fn"}, names=(("N", "C"),)),
        Sample((grid(3, 4) * 100,), {"scale": 0.003, "dtype": "float8_e5m2"}),
        Sample((grid(0, 3),), {"scale": 1.0, "dtype": "float8_e5m2"}),
    ],
    properties=frozenset({"estimate"}),
    batch=elementwise,
)


@offered("workbench")
def fake_float8(input: Tensor, dtype: DTypeLike = float8_e4m3fn, scale: float = 1.0) -> Tensor:
    """Round to the numbers of a float of 8 bits, times `scale`: y = float8(clamp(x/s, -largest, largest))·s.

    The gradient passes straight through where nothing is clamped. Raises `DTypeError` for other types.

    >>> import workbench as wb
    >>> wb.fake_float8(wb.tensor([3.3, 500.0])), wb.fake_float8(wb.tensor([3.3]), wb.float8_e5m2)
    (tensor([  3.2500, 448.0000]), tensor([3.5000]))
    """
    kind = as_dtype(dtype)
    if not narrowest(kind.numpy):
        raise DTypeError(
            f"fake_float8 takes float8_e4m3fn or float8_e5m2, got {kind.name}: call .to() for others"
        )
    return ops.fake_float8(input, scale=float(scale), dtype=kind.name)

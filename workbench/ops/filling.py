"""Ops that put other values in the place of some or all."""

from __future__ import annotations

import numpy as np

from workbench.core.dtype_rules import KEEP
from workbench.core.families import NOT_QUANTIZED, grid, per_value
from workbench.core.op import Op, Sample, Saves, ops
from workbench.ops.complexes import zeros

NOTHING = Saves((), output=False)

FILL = Op(
    name="fill",
    doc="As many values as there were, all of them one number.",
    equation="y = value",
    reference="elementary",
    dims=lambda x, value: x,
    rule="names and sizes pass through",
    dtype=KEEP,
    forward=lambda x, value: np.full_like(x, value),
    vjp=lambda c, g: (
        zeros(g) if c.needs[0] else None,
        ops.sum(g, dim=tuple(range(g._array.ndim)), keepdim=False) if c.needs[1] else None,
    ),
    saves=NOTHING,
    quantized=NOT_QUANTIZED,
    cost=per_value,
    samples=lambda: [Sample((grid(3, 4), 0.5), names=(("N", "C"), None)), Sample((grid(3, 4), grid()))],
    bad=list,
)

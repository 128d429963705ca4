"""Indices as vectors of zeros and a one."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.errors import DimensionError, DimensionIndexError
from workbench.core.batch_rules import as_it_is
from workbench.core.dispatch import numbers
from workbench.core.families import NOT_DIFFERENTIABLE
from workbench.core.index_types import check_index
from workbench.core.op import BadInput, DTypeRule, Op, Sample, ops
from workbench.core.quantization import WHOLE
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.offer import offered
from workbench.ops.shape.movement import NOTHING


def _one_hot(x: Any, count: int, dtype: Any) -> Any:
    if x.size and (x.min() < 0 or x.max() >= count):
        wrong = int(x.min()) if x.min() < 0 else int(x.max())
        raise DimensionIndexError(f"class {wrong} is not in [0, {count})", op="one_hot")
    out = np.zeros((*x.shape, count), dtype)
    out.reshape(x.size, count)[np.arange(x.size), x.reshape(-1)] = 1
    return out


ONE_HOT = Op(
    name="one_hot",
    doc="A vector for each index: one at the index, zero elsewhere.",
    equation="y[…, k] = [x = k]",
    dims=lambda x, count, dtype: Dims((*x.names, None), (*x.sizes, count)),
    rule="a new unnamed dim at the end",
    dtype=DTypeRule("as asked", None, lambda dtype, params: np.dtype(params["dtype"])),
    forward=_one_hot,
    vjp=NOT_DIFFERENTIABLE,
    saves=NOTHING,
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [Sample((np.array([0, 2, 1]),), {"count": 3, "dtype": np.dtype("i8")}, names=(("N",),))],
    bad=lambda: [
        BadInput(
            (np.array([0, 5]),),
            {"count": 3, "dtype": np.dtype("i8")},
            DimensionIndexError,
            "is not in [0, 3)",
        )
    ],
    batch=as_it_is,
    quantized=WHOLE,
)


@offered("workbench", "nn.functional")
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """A vector for each index: 1 (int64) at the index, 0 elsewhere, along a new last dim.

    >>> import workbench as wb
    >>> wb.one_hot(wb.tensor([0, 2])).tolist()
    [[1, 0, 0], [0, 0, 1]]
    """
    check_index("one_hot", input, "int64", "input")
    if num_classes < 0 and not dims_of(input).numel:
        raise DimensionError("Can not infer total number of classes from empty tensor.", op="one_hot")
    count = num_classes if num_classes >= 0 else int(numbers(input).max()) + 1
    return ops.one_hot(input, count=count, dtype=np.dtype(np.int64))

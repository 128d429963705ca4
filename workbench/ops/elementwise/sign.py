"""Signs and directions: of real numbers, and of complex ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.core.dtype_rules import FLOAT, PROMOTE
from workbench.core.families import unary
from workbench.core.op import DTypeRule, Saves, ops
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.ops.elementwise.complex import is_complex_value, real_type, zeros
from workbench.ops.offer import offered


def sign_of(x: Any) -> Any:
    """Return the signs of real numbers: 0 for NaN, as in PyTorch."""
    if x.dtype.kind == "b":
        return x.copy()
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


def _sgn(x: Any) -> Any:
    if x.dtype.kind != "c":
        return sign_of(x)
    size = np.abs(x)
    return np.where(size == 0, 0, x / np.where(size == 0, 1, size)).astype(x.dtype, copy=False)


def _sgn_gradient(c: Call, g: Any) -> Any:
    x = c.inputs[0]
    if not is_complex_value(x):
        return zeros(g)
    # The part of g along x does not turn it; the rest turns it by 1/|x|.
    size = ops.abs(x)
    nothing = ops.eq(size, 0.0)
    safe = ops.where(nothing, 1.0, size)
    along = ops.mul(ops.real(ops.mul(g, ops.conj(c.out))), c.out)
    return ops.div(ops.where(nothing, 0.0, ops.sub(g, along)), safe)


SGN = unary(
    "sgn",
    "Sign; of a complex number, its direction.",
    "y = x/|x|, 0 at 0",
    _sgn,
    _sgn_gradient,
    saves=Saves(None, output=True),
    dtype=PROMOTE,
)


def _angle(x: Any) -> Any:
    if x.dtype.kind == "c":
        return np.angle(x)
    return np.where(np.isnan(x), x, np.where(x < 0, x.dtype.type(np.pi), x.dtype.type(0)))


def _angle_gradient(c: Call, g: Any) -> Any:
    x = c.inputs[0]
    if not is_complex_value(x):
        return zeros(g)
    size = ops.abs(x)
    safe = ops.where(ops.eq(size, 0.0), 1.0, size)
    return ops.mul(g, ops.mul(ops.div(ops.div(x, safe), safe), 1j))


ANGLE = unary(
    "angle",
    "Angle to the positive real axis in radians; π for negative real numbers.",
    "y = atan2(Im x, Re x)",
    _angle,
    _angle_gradient,
    dtype=DTypeRule("real, integers become float32", FLOAT.common, lambda dtype, params: real_type(dtype)),
)


@offered(out="exact", in_place="Tensor")
def sgn(input: Tensor) -> Tensor:
    """Sign; of a complex number, its direction: y = x/|x|, 0 at 0. Names pass through.

    >>> import workbench as wb
    >>> wb.sgn(wb.tensor([-3.0, 0.0])), wb.sgn(wb.tensor([3 + 4j]))
    (tensor([-1.,  0.]), tensor([0.6000+0.8000j]))
    """
    return SGN(input)


@offered(out=True)
def angle(input: Tensor) -> Tensor:
    """Angle to the positive real axis in radians: y = atan2(Im x, Re x); π for negative numbers. Names pass through.

    >>> import workbench as wb
    >>> wb.angle(wb.tensor([1j, -1 + 0j]))
    tensor([1.5708, 3.1416])
    """
    return ANGLE(input)

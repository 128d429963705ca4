"""Ops that put other values in the place of some or all: chosen, bounded, filled."""

from __future__ import annotations

from typing import Any, overload

import ml_dtypes
import numpy as np

from workbench.base.dims import Dims, broadcast
from workbench.base.dtypes import promote
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.numbers import fitted
from workbench.core import sparse_indexing
from workbench.core.batch_rules import as_it_is
from workbench.core.contribution import CHOSEN, PRODUCT, rectifying
from workbench.core.direct_writes import computes
from workbench.core.dtype_rules import KEEP, PROMOTE
from workbench.core.families import binary, grid, unbroadcast
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import COMPUTED, JOINED, Quantization
from workbench.core.quantized_rules import joined
from workbench.core.tape import Call
from workbench.core.typing import Operand, Scalar, Tensor
from workbench.core.value import Value, new
from workbench.ops.elementwise.complex import real_only, zeros
from workbench.ops.offer import offered

NOTHING = Saves((), output=False)
INPUT = Saves(output=False)

FILL = Op(
    name="fill",
    contribution=PRODUCT,
    doc="As many values as there were, all of them one number.",
    equation="y = value",
    dims=lambda x, value: x,
    rule="names and sizes pass through",
    dtype=KEEP,
    forward=lambda x, value: np.full_like(x, value),
    vjp=lambda c, g: (zeros(g),),
    saves=NOTHING,
    samples=lambda: [
        Sample((grid(3, 4),), {"value": 0.5}, names=(("N", "C"),)),
        Sample((grid(),), {"value": 2}),
    ],
    batch=as_it_is,
    sparse=sparse_indexing.fill,
    quantized=COMPUTED,
)

# --------------------------------------------------------------------------------------- by a condition


def _where_dims(condition: Dims, x: Dims, y: Dims) -> Dims:
    return broadcast("where", condition, broadcast("where", x, y))


def _where(condition: Any, x: Any, y: Any) -> Any:
    if condition.dtype.kind not in "bu":
        raise DTypeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}: "
            "compare first, e.g. x != 0"
        )
    # PyTorch still takes masks of uint8.
    return np.where(condition.astype(np.bool_, copy=False), x, y)


def _where_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    condition, x, y = c.inputs
    return (
        None,
        unbroadcast(ops.where(condition, g, 0.0), x) if c.needs[1] else None,
        unbroadcast(ops.where(condition, 0.0, g), y) if c.needs[2] else None,
    )


WHERE = Op(
    name="where",
    doc="Choose from two operands by a condition.",
    equation="y = condition ? a : b",
    dims=_where_dims,
    rule="names of all three unify from the right, sizes broadcast",
    dtype=DTypeRule(
        "as the chosen operands together", lambda dtype: dtype, lambda dtype, params: dtype, skip=1
    ),
    forward=_where,
    vjp=_where_vjp,
    saves=Saves((0,), output=False),
    samples=lambda: [
        Sample((grid(3, 4) > 0, grid(3, 4, seed=1), grid(4, seed=2)), names=(("N", "C"), ("N", "C"), ("C",))),
        Sample((grid(3, 1) > 0, grid(3, 4, seed=1), grid(3, 4, seed=2))),
    ],
    bad=lambda: [BadInput((grid(3), grid(3), grid(3)), {}, DTypeError, "expected condition to be a boolean")],
    properties=frozenset({"elementwise"}),
    quantized=Quantization("joined", joined, inputs=("plain", "value")),
    contribution=CHOSEN,
)

# --------------------------------------------------------------------------------------- within bounds


def _clamp_vjp(c: Call, g: Any, low: float | None, high: float | None) -> Any:
    x = c.inputs[0]
    # At a bound the gradient passes, as in PyTorch. One bound after the other: no mask is made of two.
    for bound, compare in ((low, ops.ge), (high, ops.le)):
        if bound is not None:
            g = ops.where(compare(x, bound), g, 0.0)
    return g


def _clip(x: Any, low: Any, high: Any) -> Any:
    if low is None and high is None:
        return x.copy()
    # Of two zeros NumPy's loops return either; as in PyTorch, what meets one bound stays what it is.
    if x.dtype.kind == "f" and (high if low is None else low) == 0 and (low is None or high is None):
        return (
            np.where(x > high, x.dtype.type(high), x)
            if low is None
            else np.where(x < low, x.dtype.type(low), x)
        )
    return np.clip(x, low, high)


CLAMP = Op(
    name="clamp",
    doc="Keep values within bounds.",
    equation="y = min(max(x, low), high)",
    dims=lambda x, low, high: x,
    rule="names and sizes pass through",
    dtype=real_only("clamp", KEEP),
    forward=_clip,
    vjp=lambda c, g: (_clamp_vjp(c, g, **c.params),),
    saves=INPUT,
    samples=lambda: [
        Sample((grid(3, 4),), {"low": -0.5, "high": 0.9}, names=(("N", "C"),)),
        Sample((grid(3, 4),), {"low": None, "high": 0.9}),
    ],
    properties=frozenset({"elementwise"}),
    into=np.clip,
    quantized=COMPUTED,
    contribution=rectifying(lambda params: params["low"] == 0),
)


def _bound(name: str, doc: str, equation: str, forward: Any, inside: str, outside: str) -> Op:
    """Declare a bound that is an operand; where a value meets it the gradient is the value's."""

    def gradient(c: Call, g: Any) -> Any:
        return (
            # Where both are equal it goes to the value, and the bound gets none.
            lambda: ops.where(getattr(ops, inside)(*c.inputs), g, 0.0),
            lambda: ops.where(getattr(ops, outside)(*c.inputs), g, 0.0),
        )

    return binary(
        name, doc, equation, forward, gradient, dtype=real_only(name), quantized=JOINED, contribution=CHOSEN
    )


CLAMP_MIN = _bound("clamp_min", "Keep values from a bound up.", "y = max(a, b)", np.maximum, "ge", "lt")
CLAMP_MAX = _bound("clamp_max", "Keep values up to a bound.", "y = min(a, b)", np.minimum, "le", "gt")

# ------------------------------------------------------------------------------------ what is no number


def _nan_to_num(x: Any, nan: float, posinf: float | None, neginf: float | None) -> Any:
    # Most often there is nothing to replace, which is seen in a fraction of the time that replacing takes.
    return (
        x.copy()
        if x.dtype.kind in "biu" or np.isfinite(x).all()
        else np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)
    )


NAN_TO_NUM = Op(
    name="nan_to_num",
    doc="Put numbers in the place of NaN and infinities.",
    equation="y = nan where x is NaN, posinf where ∞, neginf where -∞, x elsewhere",
    dims=lambda x, **params: x,
    rule="names and sizes pass through",
    dtype=PROMOTE,
    forward=_nan_to_num,
    vjp=lambda c, g: (ops.where(ops.isfinite(c.inputs[0]), g, 0.0),),
    saves=INPUT,
    samples=lambda: [
        Sample((grid(3, 4),), {"nan": 0.0, "posinf": None, "neginf": None}, names=(("N", "C"),)),
    ],
    properties=frozenset({"elementwise"}),
    quantized=COMPUTED,
)

# ---------------------------------------------------------------------------------- the words people use


@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Tensor, input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor: ...
@offered("workbench", out="exact")
def where(
    condition: Tensor, input: Tensor | Scalar | None = None, other: Tensor | Scalar | None = None
) -> Tensor | tuple[Tensor, ...]:
    """Choose from two operands by a condition: y = condition ? a : b. Names of all three unify, sizes broadcast.

    With a condition alone return where it holds, as ``nonzero(as_tuple=True)`` does.

    >>> import workbench as wb
    >>> x = wb.tensor([-1.0, 2.0])
    >>> wb.where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    if input is None or other is None:
        if input is not other:
            raise TypeError("where() takes a condition alone, or two operands beside it: one is missing")
        return condition.nonzero(as_tuple=True)
    if not isinstance(input, Value) and not isinstance(other, Value):
        input = new(np.asarray(input, promote((input, other))))
    return WHERE(condition, _beside(input, other), _beside(other, input))


def _beside(value: Any, other: Any) -> Any:
    """Return a number that is chosen beside a tensor of integers in the type of that; refuse one that it has not."""
    if isinstance(value, Value) or type(value) is not int or other.payload.dtype.kind not in "iu":
        return value
    return fitted("where", value, other.payload.dtype)


@offered("Tensor", name="where")
def _where_method(self: Tensor, condition: Tensor, other: Tensor | Scalar) -> Tensor:
    """Keep the values where `condition` is True, and take those of `other` elsewhere: y = condition ? x : other."""
    chosen: Tensor = where(condition, self, other)
    return chosen


@offered(aliases=["clip"], out=True, in_place=True)
@computes(CLAMP, 3)
def clamp(input: Tensor, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """Keep values within [min, max]: y = min(max(x, low), high). Bounds are numbers or tensors that broadcast.

    Names pass through, those of bounds unify with them. At a bound the gradient is the value's.

    >>> import workbench as wb
    >>> wb.clamp(wb.tensor([-2.0, 0.5, 3.0]), min=0, max=1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None and max is None:
        raise ValueError("clamp: at least one of 'min' or 'max' must not be None")
    dtype = input.payload.dtype
    if dtype.kind in "iu":
        min, max = (fitted("clamp", one, dtype) if type(one) is int else one for one in (min, max))
    if all(bound is None or _fits(bound, dtype) for bound in (min, max)):
        return CLAMP(input, low=min, high=max)
    if min is not None:
        input = CLAMP_MIN(input, min)
    return input if max is None else CLAMP_MAX(input, max)


def _fits(bound: Any, dtype: np.dtype[Any]) -> bool:
    """Say whether a bound is a number that does not change the type of what it bounds."""
    if isinstance(bound, Value):
        return False
    return dtype.kind in "fcV" or (type(bound) is int and dtype.kind in "iu")


@offered(out=True, in_place=True)
def clamp_min(input: Tensor, min: Operand) -> Tensor:
    """Keep values from a bound up: y = max(x, low). Names of a tensor of bounds unify, sizes broadcast.

    >>> import workbench as wb
    >>> wb.clamp_min(wb.tensor([-2.0, 0.5]), 0)
    tensor([0.0000, 0.5000])
    """
    return clamp(input, min=min)


@offered(out=True, in_place=True)
def clamp_max(input: Tensor, max: Operand) -> Tensor:
    """Keep values up to a bound: y = min(x, high). Names of a tensor of bounds unify, sizes broadcast.

    >>> import workbench as wb
    >>> wb.clamp_max(wb.tensor([-2.0, 0.5]), 0)
    tensor([-2.,  0.])
    """
    return clamp(input, max=max)


@offered("workbench")
def fill(input: Tensor, value: Operand) -> Tensor:
    """As many values as there were, all of them one number: y = value. Names and sizes pass through.

    >>> import workbench as wb
    >>> wb.fill(wb.tensor([1.0, 2.0]), 5)
    tensor([5., 5.])
    """
    _check_one("fill", value)
    value = _as_type("fill", value, input.payload.dtype)
    # A sum, through which the gradient goes on to the value.
    return ops.add(zeros(input), value) if isinstance(value, Value) else FILL(input, value=value)


@offered(in_place="Tensor")
def masked_fill(input: Tensor, mask: Tensor, value: Operand) -> Tensor:
    """Put one number where `mask` is True: y = mask ? value : x. Names unify, sizes broadcast, the type stays.

    Raises `DTypeError` unless the mask is bool, and for a complex value in a real tensor.

    >>> import workbench as wb
    >>> wb.masked_fill(wb.tensor([1.0, 2.0]), wb.tensor([True, False]), -1)
    tensor([-1.,  2.])
    """
    if mask.payload.dtype.kind != "b":
        raise DTypeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.name}: "
            "compare first, e.g. mask != 0"
        )
    _check_one("masked_fill", value)
    return WHERE(mask, _as_type("masked_fill", value, input.payload.dtype), input)


def _check_one(op: str, value: Any) -> None:
    if isinstance(value, Value) and value.payload.shape != ():
        raise DimensionError(
            f"{op} only supports a 0-dimensional value tensor, but got tensor with {len(value.payload.shape)} "
            "dimension(s): give a number, or choose with where()",
            op=op,
        )


def _as_type(op: str, value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number, or a tensor of one, in the type of what it is put into."""
    if not isinstance(value, Value):
        return fitted(op, value, dtype)
    if value.payload.dtype.kind == "c" and dtype.kind != "c":
        raise DTypeError(
            f"{op}: a complex value cannot be put into a tensor of type {dtype}: cast the tensor first"
        )
    return value if value.payload.dtype == dtype else ops.to(value, dtype=dtype)


@offered(out="exact", in_place=True)
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Put numbers in the place of NaN (0 by default) and of infinities (by default the largest of the type).

    Names and sizes pass through; no gradient goes to what was replaced.

    >>> import workbench as wb
    >>> wb.nan_to_num(wb.tensor([wb.nan, 1.0, wb.inf]), posinf=9.0)
    tensor([0., 1., 9.])
    """
    dtype = input.payload.dtype
    if dtype.itemsize == 2 and dtype.kind not in "iu":
        # It is computed in float32, whose largest number 16 bits do not hold.
        largest = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
        posinf, neginf = largest if posinf is None else posinf, -largest if neginf is None else neginf
    return NAN_TO_NUM(input, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)

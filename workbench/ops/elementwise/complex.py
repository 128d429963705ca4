"""Complex numbers: their parts, their conjugate, and how they are put together."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from workbench.base.dims import Dims, broadcast
from workbench.base.dtypes import as_numbers
from workbench.base.errors import DimensionError, DTypeError
from workbench.core.batch_rules import as_it_is
from workbench.core.dtype_rules import FLOAT, PROMOTE
from workbench.core.families import grid, unary, unbroadcast
from workbench.core.mirrors import is_mirrored
from workbench.core.op import BadInput, DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import NO_COMPLEX
from workbench.core.tape import Call, alias_off_tape
from workbench.core.typing import Tensor
from workbench.core.value import Value, dims_of
from workbench.ops.offer import offered
from workbench.ops.shape.movement import memory_of

NOTHING = Saves((), output=False)


def real_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of the real part of a type; real types are their own."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def complex_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the complex type whose parts are of a real type; complex types are their own."""
    if dtype.kind == "c":
        return dtype
    return np.dtype(np.complex128 if dtype == np.float64 else np.complex64)


REAL_PART = DTypeRule("as the input, complex become real", None, lambda dtype, params: real_type(dtype))
MAGNITUDE = DTypeRule(
    "promoted, complex become real", lambda dtype: dtype, lambda dtype, params: real_type(dtype)
)


def real_only(op: str, rule: DTypeRule = PROMOTE) -> DTypeRule:
    """Return a type rule as `rule` that refuses complex numbers, which have no order."""

    def common(dtype: np.dtype[Any]) -> np.dtype[Any]:
        if dtype.kind == "c":
            raise DTypeError(
                f"{op} is not supported for complex tensors, which have no order: take abs(), real or imag first"
            )
        return dtype if rule.common is None else rule.common(dtype)

    return DTypeRule(rule.name, common, rule.result, rule.skip)


_Value = TypeVar("_Value", bound=Any)


def is_complex_value(value: Any) -> bool:
    """Say whether a tensor has complex values."""
    return bool(value.payload.dtype.kind == "c")


def conjugate(value: _Value) -> _Value:
    """Return the conjugate for a gradient rule: nothing is recorded for what is real."""
    if not isinstance(value, Value):
        return value.conjugate()  # type: ignore[no-any-return]
    return ops.conj(value) if value.payload.dtype.kind == "c" else value  # type: ignore[return-value]


def zeros(gradient: Any) -> Any:
    """Return the zeros that a gradient rule hands on where the derivative is 0."""
    return ops.fill(alias_off_tape(gradient), value=0)  # they depend on nothing


CONJ = unary(
    "conj",
    "Complex conjugate; real values are returned as they are.",
    "y = Re x - i·Im x",
    lambda x: np.conjugate(x) if x.dtype.kind == "c" else x,
    lambda c, g: conjugate(g),
    saves=NOTHING,
    dtype=PROMOTE,
    properties=["linear", "passes"],
    quantized=NO_COMPLEX,
)


def _conjugated(x: Any) -> Any:
    """Return the conjugate in memory of its own, in which the dims lie as in that of `x`."""
    if x.dtype.kind != "c":
        return x
    order = sorted(range(x.ndim), key=lambda dim: -abs(x.strides[dim]))
    inverse = sorted(range(x.ndim), key=order.__getitem__)
    return np.conjugate(x.transpose(order), order="C").transpose(inverse)


CONJ_VIEW = unary(
    "conj_view",
    "Complex conjugate as a view: what is changed in place in one is changed in both.",
    "y = Re x - i·Im x",
    _conjugated,
    lambda c, g: conjugate(g),
    saves=NOTHING,
    dtype=PROMOTE,
    properties=["linear", "view", "mirror"],
    quantized=NO_COMPLEX,
)


def _real_vjp(c: Call, g: Any) -> Any:
    return ops.to(g, dtype=c.inputs[0].payload.dtype)


REAL = unary(
    "real",
    "Real part, as a view.",
    "y = Re x",
    lambda x: x.real if x.dtype.kind == "c" else x,
    _real_vjp,
    saves=NOTHING,
    dtype=REAL_PART,
    properties=["linear", "view"],
    quantized=NO_COMPLEX,
)
IMAG = Op(
    name="imag",
    doc="Imaginary part of complex values, as a view.",
    equation="y = Im x",
    dims=lambda x: x,
    rule="names and sizes pass through",
    dtype=REAL_PART,
    forward=lambda x: x.imag,
    vjp=lambda c, g: (ops.mul(g, 1j),),
    saves=NOTHING,
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [Sample((grid(3, 4) + 1j * grid(3, 4, seed=1),), names=(("N", "C"),))],
    properties=frozenset({"linear", "view", "same", "elementwise"}),
    quantized=NO_COMPLEX,
)


def _pairs_dims(x: Dims) -> Dims:
    if not x.sizes or x.sizes[-1] != 2:
        raise DimensionError(
            f"Tensor must have a last dimension of size 2 (real and imaginary part), got {list(x.sizes)}.",
            op="view_as_complex",
            operands=(x.operand("input", [len(x.sizes) - 1] if x.sizes else []),),
        )
    return x.without([len(x.sizes) - 1])


def _as_complex(x: Any) -> Any:
    if x.dtype.kind != "f":
        x = x.astype(np.float32) if x.dtype.kind != "V" else x
    if x.itemsize == 2:
        raise DTypeError(
            f"view_as_complex: there are no complex numbers of two {x.dtype}. Cast first: x.float()"
        )
    # Gradient rules hand over pairs in any layout.
    if x.size and x.strides[-1] != x.itemsize:
        x = np.ascontiguousarray(x)
    return x.view(complex_type(x.dtype))[..., 0]


def _as_real(x: Any) -> Any:
    # A last dim of one value has no gaps, whatever the layout: NumPy splits its value into the two parts.
    return x[..., None].view(real_type(x.dtype))


VIEW_AS_COMPLEX = Op(
    name="view_as_complex",
    doc="Pairs along the last dim as complex numbers, as a view.",
    equation="y[…] = x[…, 0] + i·x[…, 1]",
    dims=_pairs_dims,
    rule="the last dim, of size 2, goes; the other names stay",
    dtype=DTypeRule("complex of the same precision", FLOAT.common, lambda dtype, params: complex_type(dtype)),
    forward=_as_complex,
    vjp=lambda c, g: (ops.view_as_real(g),),
    saves=NOTHING,
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [
        Sample((np.arange(12).reshape(3, 2, 2),), names=(("N", "C", None),)),
        Sample((grid(3, 2),)),
    ],
    bad=lambda: [
        BadInput((grid(3, 3),), {}, DimensionError, "last dimension of size 2"),
        BadInput((grid(3, 2).astype(np.float16),), {}, DTypeError, "Cast first"),
    ],
    properties=frozenset({"linear", "view"}),
    batch=as_it_is,
    quantized=NO_COMPLEX,
)
VIEW_AS_REAL = Op(
    name="view_as_real",
    doc="Complex numbers as pairs along a new last dim, as a view.",
    equation="y[…, 0] = Re x, y[…, 1] = Im x",
    dims=lambda x: Dims((*x.names, None), (*x.sizes, 2)),
    rule="the names stay, the new last dim has none",
    dtype=REAL_PART,
    forward=_as_real,
    vjp=lambda c, g: (ops.view_as_complex(g),),
    saves=NOTHING,
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [Sample((grid(3, 4) + 1j * grid(3, 4, seed=1),), names=(("N", "C"),))],
    properties=frozenset({"linear", "view"}),
    batch=as_it_is,
    quantized=NO_COMPLEX,
)


def _compose(x: Any, y: Any) -> Any:
    # Not x + 1j·y: an infinite imaginary part would make the real part NaN.
    x, y = np.asarray(x), np.asarray(y)
    out = np.empty(np.broadcast_shapes(x.shape, y.shape), complex_type(np.result_type(x, y)))
    out.real, out.imag = x, y
    return out


COMPLEX = Op(
    name="complex",
    doc="Complex numbers from their real and imaginary parts.",
    equation="y = a + i·b",
    dims=lambda x, y: broadcast("complex", x, y),
    rule="names unify from the right, sizes broadcast",
    dtype=DTypeRule("complex of the same precision", FLOAT.common, lambda dtype, params: complex_type(dtype)),
    forward=_compose,
    vjp=lambda c, g: (
        unbroadcast(ops.real(g), c.inputs[0]) if c.needs[0] else None,
        unbroadcast(ops.imag(g), c.inputs[1]) if c.needs[1] else None,
    ),
    saves=NOTHING,
    samples=lambda: [Sample((np.arange(6).reshape(3, 2), np.arange(2)), names=(("N", "C"), ("C",)))],
    bad=lambda: [BadInput((grid(3, 4), grid(3, 5)), {}, DimensionError, "must match the size")],
    properties=frozenset({"linear", "elementwise"}),
    quantized=NO_COMPLEX,
)


# ---------------------------------------------------------------------------------- the words people use


@offered()
def conj(input: Tensor) -> Tensor:
    """Complex conjugate as a view: y = Re x - i·Im x; a real tensor is returned as it is. Names pass through.

    The values lie in memory of their own, which is kept equal: what changes one in place changes the other.

    >>> import workbench as wb
    >>> wb.conj(wb.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return CONJ_VIEW(input) if is_complex_value(input) else input


@offered(out="exact", in_place=True)
def conj_physical(input: Tensor) -> Tensor:
    """Complex conjugate with values of its own: y = Re x - i·Im x; a real tensor is returned as it is.

    >>> import workbench as wb
    >>> wb.conj_physical(wb.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return CONJ(input) if is_complex_value(input) else input


@offered()
def resolve_conj(input: Tensor) -> Tensor:
    """Return a copy of a conjugate (`is_conj`), which changes with nothing else; any other tensor as it is."""
    return ops.clone(input) if is_mirrored(input) else input


@offered()
def resolve_neg(input: Tensor) -> Tensor:
    """Return the tensor itself: negatives are computed when they are asked for, none is pending."""
    return input


@offered("workbench")
def real(input: Tensor) -> Tensor:
    """Real part of a complex tensor, as a view: y = Re x; a real tensor is returned as it is.

    >>> import workbench as wb
    >>> wb.real(wb.tensor([1 + 2j]))
    tensor([1.])
    """
    return REAL(input) if is_complex_value(input) else input


@offered("workbench")
def imag(input: Tensor) -> Tensor:
    """Imaginary part of a complex tensor, as a view: y = Im x. Raises `DTypeError` for a real tensor.

    >>> import workbench as wb
    >>> wb.imag(wb.tensor([1 + 2j]))
    tensor([2.])
    """
    if not is_complex_value(input):
        raise DTypeError(
            f"imag is not implemented for tensors with non-complex dtypes, this is {input.dtype.name}: "
            "its imaginary part is 0, see zeros_like"
        )
    return IMAG(input)


@offered("workbench")
def view_as_real(input: Tensor) -> Tensor:
    """View complex numbers [...] as pairs [..., 2] of real and imaginary part, in the same memory.

    Names pass through, the new dim has none. Raises `DTypeError` for a real tensor.

    >>> import workbench as wb
    >>> wb.view_as_real(wb.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    if not is_complex_value(input):
        raise DTypeError(
            f"view_as_real is only supported for complex tensors, this is {input.dtype.name}: cast it first, "
            "e.g. x.to(workbench.complex64)"
        )
    return VIEW_AS_REAL(input)


@offered("workbench")
def view_as_complex(input: Tensor) -> Tensor:
    """View pairs [..., 2] as complex numbers [...], in the same memory where pairs are adjacent.

    The name of the last dim goes. Raises `DimensionError` unless its size is 2, `DTypeError` unless the numbers are
    float32 or float64.

    >>> import workbench as wb
    >>> wb.view_as_complex(wb.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    _check_parts("view_as_complex", input)
    _check_pairs(input)
    return VIEW_AS_COMPLEX(input)


def _check_pairs(input: Any) -> None:
    """Refuse pairs that do not lie as complex numbers do: a view of them could not share their memory."""
    array = input.payload
    if type(array) is not np.ndarray or not array.ndim or array.shape[-1] != 2:
        return  # the dims rule says what is wrong
    steps = [
        stride // array.itemsize if size != 1 else 0
        for stride, size in zip(array.strides, array.shape, strict=True)
    ]
    if steps[-1] != 1:
        why = "have a last dimension with stride 1"
    elif any(step % 2 for step in steps[:-1]):
        why = "have a stride divisible by 2 for all but last dimension"
    elif memory_of(array)[1] % 2:
        why = "have a storage_offset divisible by 2"
    else:
        return
    raise DimensionError(
        f"view_as_complex: Tensor must {why}. Lay the pairs out anew: view_as_complex(x.contiguous().clone())",
        op="view_as_complex",
        operands=(dims_of(input).operand("input"),),
    )


@offered("workbench", out="exact")
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers from real and imaginary parts of one type: y = a + i·b. Names unify, sizes broadcast.

    >>> import workbench as wb
    >>> wb.complex(wb.tensor([1.0]), wb.tensor([2.0]))
    tensor([1.+2.j])
    """
    _check_parts("complex", real, imag)
    return COMPLEX(real, imag)


@offered("workbench", out="exact")
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Complex numbers from absolute values and angles in radians: y = r·cos φ + i·r·sin φ. Names unify.

    >>> import workbench as wb
    >>> wb.polar(wb.tensor([2.0]), wb.tensor([0.0]))
    tensor([2.+0.j])
    """
    _check_parts("polar", abs, angle)
    return COMPLEX(ops.mul(abs, ops.cos(angle)), ops.mul(abs, ops.sin(angle)))


def _check_parts(op: str, *parts: Any) -> None:
    types = [part.payload.dtype for part in parts]
    if types[0] not in (np.float32, np.float64):
        raise DTypeError(
            f"{op} expects both parts as float32 or float64, got {parts[0].dtype.name}: cast it first, e.g. "
            f"{as_numbers('x', types[0])}"
        )
    if types[-1] != types[0]:
        raise DTypeError(
            f"Expected object of scalar type {parts[0].dtype.name} but got scalar type {parts[-1].dtype.name} "
            f"for second argument of {op}: cast one of them, e.g. with .to(...)"
        )

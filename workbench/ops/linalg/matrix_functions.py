"""Functions of square matrices: determinants, powers, exponentials."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from workbench.core.families import grid
from workbench.core.op import Op, Sample, Saves, ops
from workbench.core.tape import Call
from workbench.core.typing import Tensor
from workbench.core.value import dims_of, new
from workbench.ops.contract.products import named
from workbench.ops.elementwise.complex import conjugate, is_complex_value, zeros
from workbench.ops.elementwise.precision import rounded_once
from workbench.ops.linalg import lapack, lapack_spectra
from workbench.ops.linalg.matrices import (
    adjoint,
    batch_dims,
    check_square,
    column,
    columns,
    diagonal,
    identity,
    matrix_op,
    plus,
    row,
    rows,
    shape,
    swap,
    with_diagonal,
)
from workbench.ops.linalg.solve import inv, square
from workbench.ops.offer import offered


class SlogdetResult(NamedTuple):
    """Signs (or phases) of determinants, and the logarithms of their moduli."""

    sign: Tensor
    logabsdet: Tensor


# ---------------------------------------------------------------------------------------------- determinants


def _det_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    cofactors = ops.linalg_cofactors(c.inputs[0])
    return (ops.mul(column(column(g)), conjugate(cofactors)),)


def _squares() -> list[Sample]:
    """Square matrices, one of them singular, and empty ones."""
    return [
        Sample((square(3),), names=(("M", "N"),)),
        Sample((square(2, 3),), names=(("B", None, None),)),
        Sample((np.array([[1.0, 2.0], [2.0, 4.0]]),)),
        Sample((np.zeros((2, 0, 0)),)),
    ]


DET: Op = matrix_op(
    "linalg_det",
    "Determinants of square matrices.",
    "y = det A",
    dims=lambda a: batch_dims(a),
    rule="the two matrix dims go, with their names",
    forward=lapack.determinant,
    vjp=_det_vjp,
    saves=Saves(None, output=False),
    samples=_squares,
    tolerance=1e-5,
)


def _cofactors(a: Any) -> Any:
    """By the inverse where that is accurate, else from the singular values, which serve singular matrices too."""
    if not a.size:
        return a.copy()
    inverse, info = lapack.invert(a)
    with np.errstate(all="ignore"):
        size = np.abs(a).sum(-1).max(-1) * np.abs(inverse).sum(-1).max(-1)
        # Up to a condition of 1/√ε the inverse has half of the digits right.
        good = (info == 0) & (size < np.finfo(a.dtype).eps ** -0.5)
        if good.all():
            return np.asarray(lapack.determinant(a)[..., None, None] * inverse.swapaxes(-1, -2))
    u, s, vh = lapack_spectra.svd(a, True)
    # U and V have determinants of their own, of modulus 1, which the product of the singular values lacks.
    turn = np.conjugate(lapack.determinant(u) * lapack.determinant(vh))
    return np.conjugate((u * (turn[..., None] * _others(s))[..., None, :]) @ vh)


def _others(values: Any) -> Any:
    """Return for every value the product of the others."""
    ones = np.ones_like(values[..., :1])
    before = np.cumprod(np.concatenate([ones, values[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([ones, values[..., :0:-1]], -1), -1)[..., ::-1]
    return before * after


def _cofactors_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    """The second derivative of the determinant, in the bases of the singular vectors.

    There A is diagonal, and ∂²det/∂a_ii∂a_jj = -∂²det/∂a_ij∂a_ji is the product of all singular values but s_i, s_j.
    """
    a = c.inputs[0]
    size = shape(a)[-1]
    # The determinant of one entry is linear in it. Times 0: of zeros that do not come from g, forward mode would need
    # the whole Jacobian.
    if size < 2:
        return (ops.mul(g, 0.0),)
    u, s, vh = ops.linalg_svd(a, full_matrices=True)
    turn = column(column(ops.mul(ops.linalg_det(u), ops.linalg_det(vh))))
    one = np.eye(size, dtype=bool)
    rest = new(~(one[:, None, :] | one[None, :, :]))
    products = ops.prod(ops.where(rest, row(row(s)), 1.0), dim=(len(shape(s)) + 1,), keepdim=False)
    products = with_diagonal(products, 0.0)
    if is_complex_value(a):
        products = ops.to(products, dtype=a.payload.dtype)
    turned = ops.matmul(adjoint(u), ops.matmul(conjugate(g), adjoint(vh)))
    on = ops.matmul(products, column(diagonal(turned)))
    middle = with_diagonal(
        ops.neg(ops.mul(products, swap(turned))), ops.squeeze(on, dim=(len(shape(on)) - 1,))
    )
    return (ops.matmul(ops.matmul(u, conjugate(ops.mul(middle, turn))), vh),)


COFACTORS: Op = matrix_op(
    "linalg_cofactors",
    "Derivatives of the determinant with respect to the entries of the matrix.",
    "Y = det(A) A⁻ᵀ",
    reference=None,
    dims=lambda a: a,
    rule="names and sizes pass through",
    forward=_cofactors,
    vjp=_cofactors_vjp,
    saves=Saves(None, output=False),
    samples=_squares,
    tolerance=1e-5,
)


@offered("workbench", "Tensor", "linalg", out="exact")
def det(A: Tensor) -> Tensor:
    """Determinants of square matrices.

    >>> import workbench as wb
    >>> wb.linalg.det(wb.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.)
    """
    check_square(A, "linalg.det")
    return ops.linalg_det(A)


def _slogdet_vjp(c: Call, to_sign: Any, to_logarithm: Any) -> tuple[Any, ...]:
    a, sign = c.inputs[0], c.outs[0]
    weight = to_logarithm
    if is_complex_value(a):
        weight = None if weight is None else ops.to(weight, dtype=a.payload.dtype)
        if to_sign is not None:
            turn = ops.imag(ops.mul(ops.conj(to_sign), sign))
            weight = plus(weight, ops.mul(ops.to(turn, dtype=a.payload.dtype), -1j))
    if weight is None:
        return (None,)
    inverse = ops.linalg_inv(a, check=False)[0]
    return (ops.mul(column(column(weight)), adjoint(inverse)),)


SLOGDET: Op = matrix_op(
    "linalg_slogdet",
    "Signs (or phases) of determinants, and the logarithms of their moduli.",
    "det A = s·eˡ",
    "vr",
    dims=lambda a: (batch_dims(a), batch_dims(a)),
    rule="the two matrix dims go, with their names",
    forward=lapack.sign_and_logarithm,
    vjp=_slogdet_vjp,
    saves=Saves(None, output=True, outputs=(0,)),
    samples=lambda: [
        Sample((square(3),), names=(("M", "N"),)),
        Sample((square(2, 3),), names=(("B", None, None),)),
        Sample((np.zeros((2, 0, 0)),)),
    ],
)


@offered("workbench", "Tensor", "linalg", out="exact")
def slogdet(A: Tensor) -> SlogdetResult:
    """Signs (or phases) of determinants, and the logarithms of their moduli: 0 and -∞ for singular matrices.

    >>> import workbench as wb
    >>> wb.linalg.slogdet(wb.tensor([[0.0, 1.0], [1.0, 0.0]])).sign
    tensor(-1.)
    """
    check_square(A, "linalg.slogdet")
    return SlogdetResult(*ops.linalg_slogdet(A))


@offered()
def logdet(input: Tensor) -> Tensor:
    """Logarithms of determinants: -∞ where one is zero, NaN where one is negative.

    >>> import workbench as wb
    >>> wb.logdet(wb.eye(3))
    tensor(0.)
    """
    check_square(input, "logdet")
    sign, logarithm = ops.linalg_slogdet(input)
    if is_complex_value(input):
        return ops.add(ops.log(sign), logarithm)
    return ops.where(ops.eq(sign, -1.0), float("nan"), logarithm)


# -------------------------------------------------------------------------------------- powers, exponentials


@offered("workbench", "Tensor", "linalg", out=True)
def matrix_power(A: Tensor, n: int) -> Tensor:
    """Powers of square matrices: A multiplied n times, its inverse for negative n, the identity for 0.

    >>> import workbench as wb
    >>> wb.linalg.matrix_power(wb.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    check_square(A, "linalg.matrix_power", floating=False)
    names = dims_of(A).names
    power = ops.rename(A, names=None)
    if n == 0:
        # Chosen from two, so that batch dims and the place on the tape come from A.
        everywhere = new(np.ones((1, 1), bool))
        return named(ops.where(everywhere, identity(shape(A)[-1], A), power), names)
    if n == 1:
        return named(ops.clone(power), names)
    if n < 0:
        power, n = inv(power), -n
        names = (*names[:-2], names[-1], names[-2])
    result = None
    # By squaring: as many products as the exponent has binary digits, and one more for each that is 1.
    while True:
        n, odd = divmod(n, 2)
        if odd:
            result = power if result is None else ops.matmul(result, power)
        if not n:
            return named(result, names)
        power = ops.matmul(power, power)


def _matrix_exp_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    """Al-Mohy and Higham: the upper right block of exp([[Aᴴ, G], [0, Aᴴ]])."""
    back = adjoint(c.inputs[0])
    size, ndim = shape(back)[-1], len(shape(back))
    above = ops.cat(back, g, dim=ndim - 1)
    below = ops.cat(zeros(g), back, dim=ndim - 1)
    whole = ops.linalg_matrix_exp(ops.cat(above, below, dim=ndim - 2))
    return (columns(rows(whole, 0, size), size, 2 * size),)


MATRIX_EXP: Op = matrix_op(
    "linalg_matrix_exp",
    "Exponentials of square matrices.",
    "Y = Σ_k Aᵏ / k!",
    dims=lambda a: a,
    rule="names and sizes pass through",
    forward=lapack_spectra.matrix_exp,
    vjp=_matrix_exp_vjp,
    saves=Saves(None, output=False),
    samples=lambda: [
        Sample((grid(3, 3),), names=(("M", "N"),)),
        Sample((grid(2, 2, 2),), names=(("B", None, None),)),
    ],
    tolerance=1e-5,
)


@offered("workbench", "Tensor", "linalg")
@rounded_once
def matrix_exp(A: Tensor) -> Tensor:
    """Exponentials of square matrices: Y = Σ_k Aᵏ / k!; of 16-bit floats computed in float32 and rounded once.

    >>> import workbench as wb
    >>> wb.linalg.matrix_exp(wb.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    check_square(A, "linalg.matrix_exp")
    return ops.linalg_matrix_exp(A)

"""Orthogonal matrices by maps from all matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.core.dispatch import no_grad
from workbench.nn.module import Module
from workbench.ops import FUNCTIONS, LINALG
from workbench.tensor import Tensor

__all__ = ["MAPS", "Invertible", "Orthogonal", "parametrization"]

MAPS = ("matrix_exp", "cayley", "householder")

_cat: Any = FUNCTIONS["cat"]


class Orthogonal(Module):
    """Any matrix to an orthogonal one: what `parametrizations.orthogonal` registers."""

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.dtype.is_complex and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = tuple(weight.shape)
        self.orthogonal_map = orthogonal_map
        self.trivial = use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        """Return the orthogonal matrix of any matrix."""
        wide = x.shape[-2] < x.shape[-1]
        if wide:
            x = x.mT
        q = self._reflected(x) if self.orthogonal_map == "householder" else self._turned(x)
        if self.trivial:
            assert self.base is not None
            q = self.base @ q
        return q.mT if wide else q

    def _turned(self, x: Tensor) -> Tensor:
        """Map the skew-symmetric matrix that the lower triangle gives."""
        n, k = x.shape[-2:]
        lower = x.tril()
        if n != k:
            lower = _cat([lower, x.new_zeros((*x.shape[:-2], n, n - k))], dim=-1)
        skew = lower - lower.mH
        if self.orthogonal_map == "matrix_exp":
            q = LINALG["matrix_exp"](skew)
        else:
            # Cayley's map: (I - A/2)⁻¹·(I + A/2) is orthogonal for every skew-symmetric A, as the two factors
            # commute.
            one = _eye(x, n)
            q = LINALG["solve"](one - skew * 0.5, one + skew * 0.5)
        return q if n == k else q[..., :k]  # type: ignore[no-any-return]

    def _reflected(self, x: Tensor) -> Tensor:
        """Return the product of the reflections in the columns of the lower triangle, signs from the diagonal."""
        a = x.tril(diagonal=-1)
        # A reflection in a vector with 1 on top and `a` below, which is how LAPACK keeps them.
        tau = 2.0 / (1.0 + (a * a).sum(-2))
        q = LINALG["householder_product"](a, tau)
        # Detached: the slope of a sign is 0, so there is nothing to record.
        signs = FUNCTIONS["diagonal"](x.detach(), dim1=-2, dim2=-1).sign()
        return q * signs.unsqueeze(-2)  # type: ignore[no-any-return]


class Invertible(Orthogonal):
    """The same where a matrix can be assigned: with a base to learn around, or by reflections."""

    def right_inverse(self, q: Tensor) -> Tensor:
        """Return what the orthogonal matrix nearest to `q` by QR decomposition is learned from.

        Raises ValueError for another size.
        """
        if tuple(q.shape) != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {tuple(q.shape)}."
            )
        with no_grad():
            tall = q.mT if q.shape[-2] < q.shape[-1] else q
            if self.trivial:
                self.base = _completed(tall)
                start = q.new_zeros(self.shape)
                # With nothing below the diagonal each reflection turns a sign and -1 turns it back, so
                # `householder` gives the identity. The other maps do not look at the diagonal.
                FUNCTIONS["diagonal"](start, dim1=-2, dim2=-1).fill_(-1.0)
                return start
            reflectors, tau = FUNCTIONS["geqrf"](tall)
            # The signs of the diagonal make R's positive; a reflection that was not used has the other one.
            diagonal = FUNCTIONS["diagonal"](reflectors, dim1=-2, dim2=-1)
            diagonal.copy_(diagonal.sign() * (1.0 - 2.0 * (tau == 0).to(tau.dtype)))
            return reflectors.mT if tall is not q else reflectors  # type: ignore[no-any-return]


def parametrization(weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> Orthogonal:
    """Return the parametrization for a weight."""
    inverse = use_trivialization or orthogonal_map == "householder"
    return (Invertible if inverse else Orthogonal)(weight, orthogonal_map, use_trivialization)


def _eye(x: Tensor, n: int) -> Tensor:
    identity = x.new_zeros((n, n))
    FUNCTIONS["diagonal"](identity).fill_(1.0)
    return identity


def _completed(tall: Tensor) -> Tensor:
    """Return a square orthogonal matrix whose first columns are those of `tall`, made orthonormal."""
    n, k = tall.shape[-2:]
    if n == k:
        apart = (tall.mH @ tall - _eye(tall, n)).abs()
        # As good as orthogonal already: QR would only change its signs and last digits.
        tolerance = 10.0 * n * float(np.finfo(tall.dtype.numpy).eps)
        if bool((apart <= tolerance).all()):
            return tall.clone()
        return _orthonormal(tall)
    drawn = tall.new_empty((*tall.shape[:-2], n, n - k)).normal_()
    return _orthonormal(_cat([tall, drawn], dim=-1))


def _orthonormal(a: Tensor) -> Tensor:
    """Return the Q of a = QR with a positive diagonal of R."""
    q, r = LINALG["qr"](a)
    return q * FUNCTIONS["diagonal"](r, dim1=-2, dim2=-1).sgn().unsqueeze(-2)  # type: ignore[no-any-return]

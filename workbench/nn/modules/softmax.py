"""Activations along a dim: exponentials scaled to sum to 1."""

from __future__ import annotations

from typing import Any

from workbench.nn import functional
from workbench.nn.module import Module
from workbench.nn.spatial_names import IMAGE, check_names

__all__ = ["LogSoftmax", "Softmax", "Softmax2d", "Softmin"]


class _AlongDim(Module):
    def __init__(self, dim: int | str | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        """Return the dim."""
        return f"dim={self.dim!r}"


class Softmax(_AlongDim):
    """Exponentials scaled to sum to 1 along `dim`, given by position or by name: y_i = e^{x_i} / Σ_j e^{x_j}.

    Names and sizes pass through.

    >>> import workbench as wb
    >>> Softmax("C")(wb.zeros(N=1, C=2))
    tensor([[0.5000, 0.5000]], names=('N', 'C'))
    """

    def forward(self, input: Any) -> Any:
        """Apply along the dim."""
        # Where `dim` is left out, the warning names the line that called the module.
        return functional.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """Logarithm of softmax along `dim`, given by position or by name: y_i = x_i - ln Σ_j e^{x_j}.

    Names and sizes pass through.

    >>> import workbench as wb
    >>> LogSoftmax("C")(wb.zeros(N=1, C=2))
    tensor([[-0.6931, -0.6931]], names=('N', 'C'))
    """

    def forward(self, input: Any) -> Any:
        """Apply along the dim."""
        return functional.log_softmax(input, self.dim, _stacklevel=5)


class Softmin(_AlongDim):
    """Softmax of the negated values along `dim`, given by position or by name: y_i = e^{-x_i} / Σ_j e^{-x_j}.

    Names and sizes pass through.

    >>> import workbench as wb
    >>> Softmin("C")(wb.zeros(N=1, C=2))
    tensor([[0.5000, 0.5000]], names=('N', 'C'))
    """

    def forward(self, input: Any) -> Any:
        """Apply along the dim."""
        return functional.softmin(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels of images [N, C, H, W] or [C, H, W], at each place.

    Names and sizes pass through. Raises ValueError for another number of dims, `DimensionError` where names say that
    the dims are others.

    >>> import workbench as wb
    >>> Softmax2d()(wb.zeros(N=1, C=2, H=1, W=1)).sum("C")
    tensor([[[1.]]], names=('N', 'H', 'W'))
    """

    def forward(self, input: Any) -> Any:
        """Apply over the channels."""
        ndim = len(input.payload.shape)
        if ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {ndim}D instead")
        check_names("Softmax2d", input, IMAGE[4 - ndim :])
        return functional.softmax(input, -3)

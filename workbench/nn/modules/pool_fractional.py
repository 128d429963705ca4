"""Pooling over windows that chance places, as layers."""

from __future__ import annotations

from typing import Any, ClassVar

from workbench.nn import functional
from workbench.nn.module import Module
from workbench.nn.spatial_names import check_layout
from workbench.ops.nn.conv.window_geometry import Sizes, several
from workbench.tensor import Tensor

__all__ = ["FractionalMaxPool2d", "FractionalMaxPool3d"]


class _FractionalMaxPool(Module):
    spatial: ClassVar[int]
    _random_samples: Tensor | None

    def __init__(
        self,
        kernel_size: int | Sizes,
        output_size: int | Sizes | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        n, layer = self.spatial, type(self).__name__
        self.kernel_size = several(kernel_size, n, "kernel_size")
        if min(self.kernel_size) < 1:
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        if output_size is None and output_ratio is None:
            raise ValueError(f"{layer} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else several(output_size, n, "output_size")
        self.output_ratio = None if output_ratio is None else _ratios(output_ratio, n)

    def forward(self, input: Any) -> Any:
        """Return the largest values, and where they lie if `return_indices`."""
        check_layout(type(self).__name__, input, self.spatial)
        return getattr(functional, f"fractional_max_pool{self.spatial}d")(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )  # fmt: skip


def _ratios(given: float | tuple[float, ...], n: int) -> tuple[float, ...]:
    ratios = (given,) * n if isinstance(given, int | float) else tuple(given)
    if len(ratios) != n or not all(0 < one < 1 for one in ratios):
        raise ValueError(f"output_ratio must be between 0 and 1, one number or {n} of them (got {given})")
    return ratios


class FractionalMaxPool2d(_FractionalMaxPool):
    """Largest value of overlapping windows of [N, C, H, W] or [C, H, W] that chance places. Graham 2014.

    The result has `output_size`, or `output_ratio` (between 0 and 1) times the size of the input. Each call draws
    where the windows lie, unless `_random_samples` [N, C, 2] says it. With `return_indices` also where the values lie.

    >>> import workbench as wb
    >>> FractionalMaxPool2d(3, output_ratio=0.5)(wb.zeros(N=1, C=3, H=20, W=16)).shape
    (1, 3, 10, 8)
    """

    spatial = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """Largest value of overlapping windows of [N, C, D, H, W] or [C, D, H, W] that chance places.

    See `FractionalMaxPool2d`; `_random_samples` are [N, C, 3].

    >>> import workbench as wb
    >>> FractionalMaxPool3d(2, output_size=(2, 3, 4))(wb.zeros(N=1, C=1, D=5, H=6, W=7)).shape
    (1, 1, 2, 3, 4)
    """

    spatial = 3

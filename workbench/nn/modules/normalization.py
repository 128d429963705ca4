"""Normalisation of each example by itself, over its last dims or over groups of channels, as layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench.base.dims import Names
from workbench.nn import functional, init
from workbench.nn.module import Module
from workbench.nn.parameter import Parameter
from workbench.nn.spatial_names import check_layout, check_names, require_size
from workbench.ops.nn.conv.window_geometry import LAYOUT
from workbench.ops.nn.norm.layer_norm import LAYER_NORM
from workbench.tensor.factories import ones, zeros

__all__ = ["GroupNorm", "LayerNorm", "RMSNorm"]

Shape = int | str | Sequence[int] | Sequence[str] | Mapping[str, int]


class _LastDims(Module):
    """A layer that works on the last dims: their sizes, their names, and a weight of these sizes."""

    normalized_shape: tuple[int, ...]
    dims: Names | None
    """Names of the dims that are normalised, where they were given."""
    weight: Parameter | None

    def _set_shape(self, given: Shape, elementwise_affine: bool) -> None:
        sizes: tuple[Any, ...]
        names: Names | None = None
        if isinstance(given, Mapping):
            names, sizes = tuple(given), tuple(given.values())
        else:
            sizes = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
        if sizes and all(isinstance(one, str) for one in sizes):
            names, sizes = sizes, ()
            if elementwise_affine:
                raise ValueError(
                    f"{type(self).__name__} learns a factor for each value of the dims {list(names)}: say how many "
                    f"those are, as in {{{names[0]!r}: 64}}, or elementwise_affine=False"
                )
        elif not sizes:
            raise ValueError(
                f"{type(self).__name__} normalises one dim or more, got normalized_shape={given!r}"
            )
        else:
            for one in sizes:
                require_size(0, normalized_shape=one)
        self.normalized_shape = sizes
        self.dims = names

    def _parameter(self, make: Any, device: Any, dtype: Any) -> Parameter:
        # A single dim is that of the features, by all habit; of several nobody can say.
        labels = self.dims
        if labels is None and len(self.normalized_shape) == 1:
            labels = ("features",)
        return Parameter(make(self.normalized_shape, dtype=dtype, device=device), dim_labels=labels)

    def _check(self, input: Any) -> Any:
        """Refuse other names than those given; return what the function calls ``normalized_shape``."""
        dims, names = self.dims, input._names
        if dims is None:
            return self.normalized_shape
        # What stands before the normalised dims is not this layer's business.
        if names is not None and len(names) >= len(dims):
            check_names(type(self).__name__, input, (*names[: -len(dims)], *dims))
        if self.normalized_shape:
            return self.normalized_shape
        # Only names were given: the input says how large they are.
        shape: tuple[int, ...] = input.payload.shape
        return shape[-len(dims) :] if len(shape) >= len(dims) else dims

    def _shape_repr(self) -> str:
        if self.dims is None:
            return str(self.normalized_shape)
        if not self.normalized_shape:
            return str(self.dims)
        return str(dict(zip(self.dims, self.normalized_shape, strict=True)))


class LayerNorm(_LastDims):
    """Scale each example to mean 0 and variance 1 over its last dims, then by learned factors.

    y = (x - E[x]) / √(Var[x] + eps)·weight + bias. Ba, Kiros and Hinton 2016.

    `normalized_shape` gives the sizes of the last dims, or their names with their sizes: ``{"H": 4, "W": 4}``; then an
    input of other names is refused. Without factors the names alone are enough: ``["H", "W"]``. The output has the
    input's dims.

    Raises `DimensionError` where the last dims of the input are others, ValueError for a shape that says too little.

    >>> import workbench as wb
    >>> LayerNorm(8)(wb.randn(N=2, T=3, E=8)).names
    ('N', 'T', 'E')
    >>> LayerNorm({"E": 8}).weight.dim_labels
    ('E',)
    """

    bias: Parameter | None

    def __init__(
        self,
        normalized_shape: Shape,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._set_shape(normalized_shape, elementwise_affine)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        affine = elementwise_affine
        self.register_parameter("weight", self._parameter(ones, device, dtype) if affine else None)
        self.register_parameter("bias", self._parameter(zeros, device, dtype) if affine and bias else None)

    def reset_parameters(self) -> None:
        """Forget what was learned: factors of 1, nothing added."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Any) -> Any:
        """Normalise the last dims."""
        shape, weight, bias = self.normalized_shape, self.weight, self.bias
        # The common call, without asking anyone else.
        if (
            weight is not None
            and bias is not None
            and self.dims is None
            and input.payload.shape[-len(shape) :] == shape
        ):
            return LAYER_NORM(input, weight, bias, count=len(shape), eps=self.eps)[0]
        return functional.layer_norm(input, self._check(input), weight, bias, self.eps)

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"{self._shape_repr()}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(_LastDims):
    """Scale each example by the root mean square of its last dims, then by learned factors.

    y = x / √(E[x²] + eps)·weight; eps is the type's own resolution where it is None. Zhang and Sennrich 2019.

    `normalized_shape` gives the sizes of the last dims, or names, as `LayerNorm` takes them.

    >>> import workbench as wb
    >>> RMSNorm(2, eps=0.0)(wb.tensor([[3.0, 3.0]])).tolist()
    [[1.0, 1.0]]
    """

    def __init__(
        self,
        normalized_shape: Shape,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._set_shape(normalized_shape, elementwise_affine)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter(
            "weight", self._parameter(ones, device, dtype) if elementwise_affine else None
        )

    def reset_parameters(self) -> None:
        """Forget what was learned: factors of 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Any) -> Any:
        """Normalise the last dims."""
        return functional.rms_norm(x, self._check(x), self.weight, self.eps)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"{self._shape_repr()}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Scale each group of channels of each example of [N, C, …] to mean 0 and variance 1, then by learned factors.

    y = (x - E[x]) / √(Var[x] + eps)·weight + bias, over the channels of a group and all places. One group is the whole
    example, as many groups as channels is `InstanceNorm2d`. Wu and He 2018.

    Raises ValueError where the channels do not divide into the groups, `DimensionError` for an input that does not fit.

    >>> import workbench as wb
    >>> GroupNorm(2, 6)(wb.randn(N=2, C=6, H=4, W=4)).names
    ('N', 'C', 'H', 'W')
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        require_size(1, num_groups=num_groups)
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine

        def learned(make: Any) -> Parameter:
            return Parameter(make(num_channels, dtype=dtype, device=device), dim_labels=("C",))

        self.register_parameter("weight", learned(ones) if affine else None)
        self.register_parameter("bias", learned(zeros) if affine and bias else None)

    def reset_parameters(self) -> None:
        """Forget what was learned: factors of 1, nothing added."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Any) -> Any:
        """Normalise groups of channels."""
        n = len(input.payload.shape) - 2
        if n in LAYOUT:
            check_layout("GroupNorm", input, n)
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )

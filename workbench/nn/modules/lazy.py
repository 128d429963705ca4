"""Layers that take the size of their input from the first call: then they become the layer itself."""

from __future__ import annotations

from typing import Any, ClassVar

from workbench.base.errors import DimensionError
from workbench.core.dispatch import no_grad
from workbench.core.value import dims_of
from workbench.nn.module import Module
from workbench.nn.modules.batch_norm import BatchNorm1d, BatchNorm2d, BatchNorm3d, RunningNorm
from workbench.nn.modules.conv import Conv1d, Conv2d, Conv3d, ConvNd
from workbench.nn.modules.conv_transpose import (
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    ConvTransposeNd,
)
from workbench.nn.modules.convolution_settings import PaddingMode
from workbench.nn.modules.instance_norm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from workbench.nn.modules.linear import Linear
from workbench.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from workbench.nn.spatial_names import require_size
from workbench.ops.nn.conv.window_geometry import Sizes
from workbench.tensor.factories import tensor

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
    "LazyModuleMixin",
]


class LazyModuleMixin(Module):
    """A module with parameters whose sizes are known at its first call.

    Before the call `initialize_parameters` is given its input. After it the module is a `cls_to_become`, where that is
    not None. A state that is loaded also says the sizes.
    """

    cls_to_become: ClassVar[Any] = None

    def initialize_parameters(self, *inputs: Any, **keywords: Any) -> None:
        """Give sizes to all parameters and buffers; every such module has its own way."""
        raise TypeError(
            f"{type(self).__name__} has no initialize_parameters, which says the sizes of its parameters"
        )

    def has_uninitialized_params(self) -> bool:
        """Say whether a parameter or buffer of this module has no sizes yet."""
        own = self.__dict__
        return any(is_lazy(own[name]) for name in (*self._parameter_names, *self._buffer_names))

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        if not self.has_uninitialized_params() and self.cls_to_become is None:
            return super().__call__(*inputs, **keywords)
        own = self.__dict__
        held = [own[name] for name in (*self._parameter_names, *self._buffer_names)]
        # All that the first call changes: the class, the attributes, and the class and memory of each tensor.
        before = (
            type(self),
            dict(own),
            [(one, type(one), one.payload, one._names, one._labels) for one in held if is_lazy(one)],
        )
        try:
            return self._first_call(inputs, keywords)
        except BaseException:  # an interrupt, too: half of a layer is none
            self.__class__ = before[0]
            own.clear()
            own.update(before[1])
            for one, kind, array, names, labels in before[2]:
                one.__class__, one.payload, one._names, one._labels = kind, array, names, labels
            raise

    def _first_call(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Give sizes to the parameters, become the layer itself, and call that."""
        self.initialize_parameters(*inputs, **keywords)
        if self.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become
            # Called as what it has become, hooks and all, so that this call is like every later one.
            return self(*inputs, **keywords)
        return super().__call__(*inputs, **keywords)


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` whose `in_features` is the size of the last dim of its first input.

    >>> import workbench as wb
    >>> layer = LazyLinear(4)
    >>> layer(wb.zeros(N=2, features=3)).shape, layer
    ((2, 4), Linear(in_features=3, out_features=4, bias=True))
    """

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        # Of no size: nothing is drawn for a layer whose parameters are put in below.
        super().__init__(0, 0, bias=False)
        require_size(0, out_features=out_features)
        self.out_features = out_features
        self.weight = _parameter(("out_features", "in_features"), device, dtype)
        if bias:
            self.bias = _parameter(("out_features",), device, dtype)

    def initialize_parameters(self, input: Any) -> None:
        """Take the size of the last dim."""
        found = self.weight if not is_lazy(self.weight) else input
        self.in_features = dims_of(found).sizes[-1]
        sizes = (self.out_features, self.in_features)
        _begin(self, (self.weight, sizes), (self.bias, sizes[:1]))


def _parameter(labels: Any, device: Any, dtype: Any) -> UninitializedParameter:
    return UninitializedParameter(device=device, dtype=dtype, dim_labels=labels)


def _begin(module: Any, *tensors: tuple[Any, Sizes]) -> None:
    """Give sizes and first values to those that have none; what a state has brought stays as it is."""
    here = [(one, sizes) for one, sizes in tensors if one is not None]
    missing = [(one, sizes) for one, sizes in here if is_lazy(one)]
    if not missing:
        return
    held = (*module.parameters(recurse=False), *module.buffers(recurse=False))
    known = [(one, one.detach().clone()) for one in held if not is_lazy(one)]
    for one, sizes in missing:
        one.materialize(sizes)
    module.reset_parameters()
    if len(missing) < len(here):
        # All are drawn at once, or none: what a state has brought is put back behind that.
        with no_grad():
            for one, value in known:
                one.copy_(value)


class _LazyConv(LazyModuleMixin, ConvNd):
    """What is common to convolutions that take their number of channels from the first input."""

    smallest = 0

    def _make_lazy(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        require_size(1, out_channels=out_channels)
        if out_channels % self.groups:
            raise ValueError(f"out_channels must be divisible by groups: {out_channels} by {self.groups}")
        self.out_channels = out_channels
        self.weight = _parameter(self._weight_labels(), device, dtype)
        if bias:
            self.bias = _parameter(("out_channels",), device, dtype)

    def initialize_parameters(self, input: Any, *others: Any, **keywords: Any) -> None:
        """Take the number of channels."""
        if is_lazy(self.weight):
            self._check_channels(input)
        else:  # a state was loaded
            sizes = self.weight.shape
            self.in_channels = sizes[0] if self.transposed else sizes[1] * self.groups
        _begin(self, (self.weight, self._weight_sizes()), (self.bias, (self.out_channels,)))

    def _check_channels(self, input: Any) -> None:
        dims, n = dims_of(input), self.spatial
        if len(dims.sizes) not in (n + 1, n + 2):
            raise DimensionError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, but got input "
                f"of size: {list(dims.sizes)}.",
                op=type(self).__name__, operands=(dims.operand("input"),),
            )  # fmt: skip
        channels = dims.sizes[-n - 1]
        if channels % self.groups:
            raise ValueError(f"in_channels must be divisible by groups: {channels} by {self.groups}")
        self.in_channels = channels


class _LazyStraight(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: int | Sizes,
        stride: int | Sizes = 1,
        padding: int | Sizes | str = 0,
        dilation: int | Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: PaddingMode = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        # Without a bias: `_make_lazy` puts one in where it is wanted.
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self._make_lazy(out_channels, bias, device, dtype)


class LazyConv1d(_LazyStraight, Conv1d):
    """A `Conv1d` whose `in_channels` is the number of channels of its first input.

    >>> import workbench as wb
    >>> LazyConv1d(4, 3)(wb.zeros(N=1, C=2, L=5)).shape
    (1, 4, 3)
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyStraight, Conv2d):
    """A `Conv2d` whose `in_channels` is the number of channels of its first input.

    >>> import workbench as wb
    >>> layer = LazyConv2d(4, 3)
    >>> layer.weight
    <UninitializedParameter>
    >>> layer(wb.zeros(N=1, C=2, H=5, W=5)).shape, layer.weight.shape
    ((1, 4, 3, 3), (4, 2, 3, 3))
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyStraight, Conv3d):
    """A `Conv3d` whose `in_channels` is the number of channels of its first input.

    >>> import workbench as wb
    >>> LazyConv3d(4, 1)(wb.zeros(N=1, C=2, D=2, H=5, W=5)).shape
    (1, 4, 2, 5, 5)
    """

    cls_to_become = Conv3d


class _LazyTransposed(_LazyConv, ConvTransposeNd):
    def __init__(
        self,
        out_channels: int,
        kernel_size: int | Sizes,
        stride: int | Sizes = 1,
        padding: int | Sizes = 0,
        output_padding: int | Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sizes = 1,
        padding_mode: PaddingMode = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode
        )
        self._make_lazy(out_channels, bias, device, dtype)


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A `ConvTranspose1d` whose `in_channels` is the number of channels of its first input.

    >>> import workbench as wb
    >>> LazyConvTranspose1d(4, 3)(wb.zeros(N=1, C=2, L=5)).shape
    (1, 4, 7)
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A `ConvTranspose2d` whose `in_channels` is the number of channels of its first input.

    >>> import workbench as wb
    >>> LazyConvTranspose2d(4, 2, stride=2)(wb.zeros(N=1, C=2, H=5, W=5)).shape
    (1, 4, 10, 10)
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """A `ConvTranspose3d` whose `in_channels` is the number of channels of its first input.

    >>> import workbench as wb
    >>> LazyConvTranspose3d(4, 1)(wb.zeros(N=1, C=2, D=2, H=5, W=5)).shape
    (1, 4, 2, 5, 5)
    """

    cls_to_become = ConvTranspose3d


class _LazyNorm(LazyModuleMixin, RunningNorm):
    """What is common to normalisations that take their number of channels from the first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        # As a layer without factors and statistics, which are put in below, without sizes.
        super().__init__(0, eps, momentum, False, False)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = _parameter(("C",), device, dtype)
            self.bias = _parameter(("C",), device, dtype) if bias else None
        if track_running_stats:
            for name in ("running_mean", "running_var"):
                self.register_buffer(name, UninitializedBuffer(device=device, dtype=dtype, dim_labels=("C",)))
            self.register_buffer("num_batches_tracked", tensor(0, device=device))

    def initialize_parameters(self, input: Any) -> None:
        """Take the number of channels."""
        self._check_dims(input)
        own = (self.weight, self.bias, self.running_mean, self.running_var)
        known = [one for one in own if one is not None and not is_lazy(one)]
        sizes = dims_of(input).sizes
        self.num_features = known[0].shape[0] if known else sizes[self._channel_dim(len(sizes))]
        _begin(self, *[(one, (self.num_features,)) for one in own])

    def _channel_dim(self, ndim: int) -> int:
        return next(names.index("C") for names in self.expected if len(names) == ndim)


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A `BatchNorm1d` whose `num_features` is the number of channels of its first input.

    >>> import workbench as wb
    >>> LazyBatchNorm1d()(wb.randn(N=8, features=4)).shape
    (8, 4)
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A `BatchNorm2d` whose `num_features` is the number of channels of its first input.

    >>> import workbench as wb
    >>> layer = LazyBatchNorm2d()
    >>> layer(wb.randn(N=2, C=3, H=4, W=4)).shape, layer.running_mean.shape
    ((2, 3, 4, 4), (3,))
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A `BatchNorm3d` whose `num_features` is the number of channels of its first input.

    >>> import workbench as wb
    >>> LazyBatchNorm3d()(wb.randn(N=2, C=3, D=2, H=4, W=4)).shape
    (2, 3, 2, 4, 4)
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """An `InstanceNorm1d` whose `num_features` is the number of channels of its first input.

    Unlike `InstanceNorm1d` it has factors and running statistics unless they are declined.

    >>> import workbench as wb
    >>> LazyInstanceNorm1d()(wb.randn(N=2, C=3, L=4)).shape
    (2, 3, 4)
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """An `InstanceNorm2d` whose `num_features` is the number of channels of its first input; see `LazyInstanceNorm1d`.

    >>> import workbench as wb
    >>> LazyInstanceNorm2d()(wb.randn(N=2, C=3, H=4, W=4)).shape
    (2, 3, 4, 4)
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """An `InstanceNorm3d` whose `num_features` is the number of channels of its first input; see `LazyInstanceNorm1d`.

    >>> import workbench as wb
    >>> LazyInstanceNorm3d()(wb.randn(N=2, C=3, D=2, H=4, W=4)).shape
    (2, 3, 2, 4, 4)
    """

    cls_to_become = InstanceNorm3d

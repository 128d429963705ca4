"""Normalisation by the statistics of a batch, as layers; what layers with running statistics have in common."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from workbench.base.dims import Names
from workbench.base.errors import DimensionValueError
from workbench.core.value import dims_of, labelled
from workbench.nn import init
from workbench.nn.module import Module
from workbench.nn.parameter import Parameter
from workbench.nn.spatial_names import check_names, require_size
from workbench.ops.nn.conv.window_geometry import LAYOUT
from workbench.ops.nn.norm.batch_norm import check_values, factors, values_per_channel
from workbench.ops.nn.norm.batch_norm_ops import BATCH_NORM, BATCH_NORM_INFERENCE
from workbench.ops.nn.norm.running_statistics import update_in_graph, update_running
from workbench.tensor import Tensor
from workbench.tensor.factories import empty, ones, tensor, zeros

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "BatchNormNd", "RunningNorm"]


LABELS = ("C",)
"""What the dim of factors and statistics is called."""


class RunningNorm(Module):
    """Factors for each channel, and statistics of the channels that move while training."""

    _version = 2
    expected: ClassVar[tuple[Names, ...]]
    """Names of the dims, for each number of dims that is taken."""
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        require_size(0, num_features=num_features)
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        options: dict[str, Any] = {"dtype": dtype, "device": device}

        def learned() -> Parameter:
            return Parameter(empty(num_features, **options), dim_labels=LABELS)

        self.register_parameter("weight", learned() if affine else None)
        self.register_parameter("bias", learned() if affine and bias else None)
        tracked = track_running_stats
        for name, make in (("running_mean", zeros), ("running_var", ones)):
            self.register_buffer(name, labelled(make(num_features, **options), LABELS) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0, device=device) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget what was measured."""
        mean, var, count = self.running_mean, self.running_var, self.num_batches_tracked
        if self.track_running_stats and mean is not None and var is not None and count is not None:
            init.zeros_(mean)
            init.ones_(var)
            init.zeros_(count)

    def reset_parameters(self) -> None:
        """Forget what was measured and learned: factors of 1, nothing added."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        """Take a state from before batches were counted as one of no batches."""
        key, version = f"{prefix}num_batches_tracked", local_metadata.get("version")
        if self.num_batches_tracked is not None and (version is None or version < 2):
            state_dict = {key: self.num_batches_tracked, **state_dict}
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def _check(self, input: Any) -> None:
        """Refuse names that are not expected."""
        ndim = len(input.payload.shape)
        for expected in self.expected:
            if len(expected) == ndim:
                check_names(type(self).__name__, input, expected)

    def _check_dims(self, input: Any) -> None:
        """Refuse another number of dims."""
        counts = [len(names) for names in self.expected]
        if len(input.payload.shape) in counts:
            return
        wanted = " or ".join(str(list(names)) for names in self.expected)
        raise DimensionValueError(
            f"expected {' or '.join(f'{count}D' for count in counts)} input (got {len(input.payload.shape)}D input): "
            f"{type(self).__name__} takes dims {wanted}.",
            op=type(self).__name__, operands=(dims_of(input).operand("input"),),
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class BatchNormNd(RunningNorm):
    """Scale each channel to mean 0 and variance 1 over the batch, then by learned factors."""

    _remembered = ("_seen",)
    _seen: tuple[Any, Any, Any] = (None, None, None)
    """Type of the values, and running statistics, that were found to be in order."""

    def forward(self, input: Any) -> Any:
        """Normalise [N, C, …]: by the batch's own statistics while training, by the running ones otherwise."""
        array, names = input.payload, input._names
        if names is not None and names != self.expected[0]:
            self._check(input)
        shape = array.shape
        if len(shape) != len(self.expected[0]):
            self._check_dims(input)
        mean, var = self.running_mean, self.running_var
        # By identity: a type and statistics that have passed once need no second look, which small layers
        # would feel.
        seen = self._seen
        if array.dtype is not seen[0] or mean is not seen[1] or var is not seen[2]:
            check_values(type(self).__name__, input, mean, var)
            self.__dict__["_seen"] = (array.dtype, mean, var)
        weight: Any = self.weight
        bias: Any = self.bias
        if weight is None or bias is None:
            weight, bias = factors(input, weight, bias)
        if not self.training and mean is not None and var is not None:
            return BATCH_NORM_INFERENCE(input, mean, var, weight, bias, eps=self.eps)
        count = values_per_channel(type(self).__name__, input)
        output, batch_mean, rstd = BATCH_NORM(input, weight, bias, eps=self.eps)
        if self.training and self.track_running_stats and mean is not None and var is not None:
            self._track(mean, var, batch_mean, rstd, count)
        return output

    def _track(self, mean: Any, var: Any, batch_mean: Any, rstd: Any, count: int) -> None:
        """Move the running statistics towards those of the batch."""
        momentum, batches = self.momentum, self.num_batches_tracked
        # While traced, the statistics are values of the graph, which returns what they become.
        if type(batch_mean.payload) is not np.ndarray:
            update_in_graph((mean, var), (batch_mean, rstd), count, self.eps, momentum, batches)
            return
        if batches is not None:
            counted = batches.payload
            np.add(counted, 1, out=counted)
            batches._version += 1
            # The mean of all batches so far, where there is no momentum.
            momentum = 1.0 / int(counted) if momentum is None else momentum
        # Of an empty batch there is nothing to learn. No momentum and no count move nothing, as in PyTorch.
        if count:
            update_running(mean, var, batch_mean.payload, rstd.payload, count, self.eps, momentum or 0.0)

    def __getstate__(self) -> dict[str, Any]:
        # A copy has statistics of its own, and is no reason to keep these.
        return {**super().__getstate__(), "_seen": (None, None, None)}


class BatchNorm1d(BatchNormNd):
    """Batch normalisation of rows [N, C] or sequences [N, C, L]; see `BatchNorm2d`.

    The last dim of rows may have any name, such as ``features``.

    >>> import workbench as wb
    >>> BatchNorm1d(4)(wb.randn(N=8, features=4)).names
    ('N', 'features')
    """

    expected = (("N", "C"), ("N", "C", "L"))

    def _check(self, input: Any) -> None:
        if len(input.payload.shape) == 3:
            check_names("BatchNorm1d", input, ("N", "C", "L"))


class BatchNorm2d(BatchNormNd):
    """Batch normalisation of images [N, C, H, W].

    y = (x - E[x]) / √(Var[x] + eps)·weight + bias, for each channel; the running statistics move by
    running ← (1 - momentum)·running + momentum·measured, with the unbiased variance (momentum None: their plain
    mean so far). Ioffe and Szegedy 2015.

    Raises `DimensionError` for other dims and for a batch of one value a channel, `DTypeError` for values that are not
    real floating point; then no statistics move.

    >>> import workbench as wb
    >>> layer = BatchNorm2d(3)
    >>> y = layer(wb.randn(N=4, C=3, H=5, W=5))
    >>> bool(abs(y.mean(["N", "H", "W"]).detach().numpy()).max() < 1e-5)
    True
    """

    expected = (LAYOUT[2],)


class BatchNorm3d(BatchNormNd):
    """Batch normalisation of volumes [N, C, D, H, W]; see `BatchNorm2d`.

    >>> import workbench as wb
    >>> BatchNorm3d(2)(wb.randn(N=4, C=2, D=2, H=3, W=3)).shape
    (4, 2, 2, 3, 3)
    """

    expected = (LAYOUT[3],)

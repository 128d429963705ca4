"""Batch normalisation over processes: in the one that there is, batch normalisation."""

from __future__ import annotations

from typing import Any, ClassVar

from workbench.base.dims import Names
from workbench.nn.module import Module
from workbench.nn.modules.batch_norm import BatchNorm1d, BatchNorm2d, BatchNorm3d, BatchNormNd

__all__ = ["SyncBatchNorm"]


class SyncBatchNorm(BatchNormNd):
    """Batch normalisation of [N, C], [N, C, …]: the statistics are this process's, the only one there is.

    >>> import workbench as wb
    >>> model = SyncBatchNorm.convert_sync_batchnorm(wb.nn.Sequential(wb.nn.Conv2d(3, 4, 3), wb.nn.BatchNorm2d(4)))
    >>> model(wb.zeros(2, 3, 8, 8)).shape
    (2, 4, 6, 6)
    """

    expected: ClassVar[tuple[Names, ...]] = (
        *BatchNorm1d.expected,
        *BatchNorm2d.expected,
        *BatchNorm3d.expected,
    )

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)
        self.process_group = process_group

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Return the module with each batch normalisation in it replaced by one of this class, with its parameters."""
        if isinstance(module, BatchNormNd) and not isinstance(module, cls):
            return cls._like(module, process_group)
        for name, child in module.named_children():
            converted = cls.convert_sync_batchnorm(child, process_group)
            if converted is not child:
                setattr(module, name, converted)
        return module

    @classmethod
    def _like(cls, norm: BatchNormNd, process_group: Any) -> SyncBatchNorm:
        made = cls(
            norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats, process_group
        )
        # The very same parameters and statistics: an optimizer may have them already.
        made.weight, made.bias = norm.weight, norm.bias
        made.running_mean, made.running_var = norm.running_mean, norm.running_var
        made.num_batches_tracked = norm.num_batches_tracked
        made.training = norm.training
        return made

"""Training with fake quantization settles: normalisations freeze, observers stop."""

from __future__ import annotations

from typing import Any

from workbench.base.errors import QuantizationError
from workbench.quantization import disable_observer
from workbench.quantization.fake_quantize import FakeQuantizeBase
from workbench.quantization.intrinsic.qat import freeze_bn_stats
from workbench.train.callbacks.base import Callback

__all__ = ["QuantizationSchedule"]


class QuantizationSchedule(Callback):
    """Freezes batch normalisations and switches observers off, each from the start of an epoch on, counted from 1.

    What comes after trains the weights for the ranges and the statistics that the converted model will have. None:
    never. Jacob et al. 2018, section 3.

    Raises ValueError for epochs before the first, and `QuantizationError` for a model without fake quantization.

    >>> QuantizationSchedule(freeze_bn_stats=3, disable_observer=4)
    QuantizationSchedule(freeze_bn_stats=3, disable_observer=4)
    """

    def __init__(self, *, freeze_bn_stats: int | None = 3, disable_observer: int | None = 4) -> None:
        for name, epoch in (("freeze_bn_stats", freeze_bn_stats), ("disable_observer", disable_observer)):
            if epoch is not None and epoch < 1:
                raise ValueError(f"{name} is the number of an epoch, 1 or more, or None: got {epoch}")
        self.freeze_bn_stats = freeze_bn_stats
        self.disable_observer = disable_observer

    def on_fit_start(self, trainer: Any) -> None:
        """Refuse a model that rounds nothing."""
        if not any(isinstance(one, FakeQuantizeBase) for one in trainer.model.modules()):
            raise QuantizationError(
                "QuantizationSchedule goes with a model that trains with fake quantization: prepare_qat or "
                "prepare_qat_fx makes one"
            )

    def on_epoch_start(self, trainer: Any) -> None:
        """Do what is due; again where training goes on after a stop."""
        epoch = trainer.epoch + 1
        if self.freeze_bn_stats is not None and epoch >= self.freeze_bn_stats:
            trainer.model.apply(freeze_bn_stats)
        if self.disable_observer is not None and epoch >= self.disable_observer:
            trainer.model.apply(disable_observer)

    def __repr__(self) -> str:
        return (
            f"QuantizationSchedule(freeze_bn_stats={self.freeze_bn_stats}, "
            f"disable_observer={self.disable_observer})"
        )

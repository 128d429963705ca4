"""A schedule that lowers the rate once something measured gets no better."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, Literal

from workbench.optim.lr_scheduler.base import EPOCH_WARNING, LRScheduler, check_optimizer, put
from workbench.optim.optimizer import Optimizer
from workbench.optim.settings import check_number

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """The rate times `factor` once what is measured has been no better for more than `patience` steps.

    Better is smaller (`mode` ``min``) or larger (``max``) than the best so far by more than `threshold`, as a part of
    it (``rel``) or as it is (``abs``). After a change `cooldown` steps are not counted; no rate goes below `min_lr`,
    and none changes by less than `eps`.

    Raises ValueError for `factor` of 1 or more, and for other modes.

    >>> import workbench as wb
    >>> optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
    >>> schedule.step(3.0); schedule.step(3.0); schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if not check_number("factor", factor) < 1.0:
            raise ValueError(f"Factor should be < 1.0, got {factor}.")
        if factor < 0:
            raise ValueError(f"factor must be 0 or more, got {factor}: a rate is never negative")
        count = len(check_optimizer(optimizer).param_groups)
        if isinstance(min_lr, list | tuple) and len(min_lr) != count:
            raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")
        _check_modes(mode, threshold_mode)
        # Without the base's constructor: it makes a first step, and nothing is measured yet.
        self.factor = factor
        self.optimizer = optimizer
        self.default_min_lr = None if isinstance(min_lr, list | tuple) else min_lr
        self.min_lrs = list(min_lr) if isinstance(min_lr, list | tuple) else [min_lr] * count
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self._last_lr = self._current()
        self._reset()

    @property
    def mode_worse(self) -> float:
        """What is worse than anything measured."""
        return math.inf if self.mode == "min" else -math.inf

    def _reset(self) -> None:
        """Forget what was measured."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take what was measured, and lower the rates if it is time."""
        if isinstance(metrics, str | Mapping):
            raise TypeError(
                f"metrics is one number, such as the validation loss, got {type(metrics).__name__}"
            )
        measured = float(metrics)
        if epoch is not None:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(measured, self.best):
            self.best = measured
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        # What is measured while the new rate settles counts neither as bad nor towards the patience.
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._current()

    def _reduce_lr(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                    "being added to the optimizer. Please modify the `min_lrs` field to match the length of the "
                    "`optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, lowest in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, lowest)
            if old - new > self.eps:
                put(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """True while steps after a change are not counted."""
        return self.cooldown_counter > 0

    def _is_better(self, measured: float, best: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        bound = (
            best * (1.0 + sign * self.threshold)
            if self.threshold_mode == "rel"
            else best + sign * self.threshold
        )
        # NaN is no better than anything.
        return measured < bound if self.mode == "min" else measured > bound

    def state_dict(self) -> dict[str, Any]:
        """Return where the schedule is, and its settings."""
        return {**super().state_dict(), "mode_worse": self.mode_worse}

    def _check_state(self, state: Mapping[str, Any]) -> None:
        super()._check_state(state)
        _check_modes(state.get("mode", self.mode), state.get("threshold_mode", self.threshold_mode))


def _check_modes(mode: Any, threshold_mode: Any) -> None:
    if mode not in ("min", "max"):
        raise ValueError(f"mode {mode} is unknown! It is 'min' or 'max'")
    if threshold_mode not in ("rel", "abs"):
        raise ValueError(f"threshold mode {threshold_mode} is unknown! It is 'rel' or 'abs'")

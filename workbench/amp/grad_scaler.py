"""Loss scaling for float16: gradients too small for the type are made larger, and steps that overflow are left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from workbench.core import dispatch
from workbench.tensor import Tensor

__all__ = ["GradScaler"]

LARGEST = float(np.finfo(np.float32).max)
"""The scale never grows beyond what float32 holds."""


@dataclass
class _Round:
    """What has been done with one optimizer since the last `update`."""

    stage: Literal["ready", "unscaled", "stepped"] = "ready"
    overflowed: bool | None = None


class GradScaler:
    """Multiplies the loss by a scale, and divides the gradients by it before the step.

    Gradients that are then not finite leave the step out, and `update` makes the scale smaller by `backoff_factor`;
    after `growth_interval` steps in a row that were taken it grows by `growth_factor`. The words, the state and the
    course of the scale are those of ``torch.amp.GradScaler``. Micikevicius et al., Mixed precision training, 2018.

    >>> import workbench as wb
    >>> p = wb.ones(2, requires_grad=True)
    >>> optimizer, scaler = wb.optim.SGD([p], lr=0.5), GradScaler(init_scale=8.0)
    >>> scaler.scale((p * p).sum()).backward()
    >>> p.grad
    tensor([16., 16.])
    >>> scaler.step(optimizer); scaler.update()
    >>> p.detach()
    tensor([0., 0.])
    """

    def __init__(
        self,
        device: str = "cpu",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._enabled = enabled
        if enabled and growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._device = device
        self._scale = float(init_scale)
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        self._used = False
        self._rounds: dict[int, _Round] = {}

    def scale(self, outputs: Any) -> Any:
        """Return a tensor, or a list, tuple or other iterable of tensors, times the scale."""
        if not self._enabled:
            return outputs
        self._used = True
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, list | tuple):
            return type(outputs)(self.scale(one) for one in outputs)
        if isinstance(outputs, Iterable):
            # Gone over only when somebody asks, as PyTorch does: it may be long, or have no end.
            return map(self.scale, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of `optimizer` by the scale, and see whether all are finite.

        Call it before looking at gradients, or clipping them; otherwise `step` does it. RuntimeError for a second call
        before `update`, ValueError for gradients that are float16 themselves.
        """
        if not self._enabled:
            return
        self._check_used("unscale_")
        round_ = self._rounds.setdefault(id(optimizer), _Round())
        if round_.stage == "unscaled":
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if round_.stage == "stepped":
            raise RuntimeError("unscale_() is being called after step().")
        gradients = [
            one.grad for group in optimizer.param_groups for one in group["params"] if one.grad is not None
        ]
        if any(one.dtype.name == "float16" for one in gradients):
            raise ValueError("Attempting to unscale FP16 gradients.")
        # In float32, as PyTorch has it, so that the same gradients come out.
        inverse = float(np.float32(1.0 / self._scale))
        overflowed = None
        with dispatch.no_grad():
            for gradient in gradients:
                # Also after the first that is not finite: all of them have to be brought back.
                overflowed = bool(overflowed) or not _finite(gradient)
                gradient.mul_(inverse)
        round_.overflowed, round_.stage = overflowed, "unscaled"

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Have `optimizer` take a step, unless a gradient is not finite; return what it returned, or None.

        RuntimeError for a second call before `update`, or with a closure.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_used("step")
        round_ = self._rounds.setdefault(id(optimizer), _Round())
        if round_.stage == "stepped":
            raise RuntimeError("step() has already been called since the last update().")
        if round_.stage == "ready":
            self.unscale_(optimizer)
        if round_.overflowed is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None if round_.overflowed else optimizer.step(*args, **kwargs)
        round_.stage = "stepped"
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Make the scale smaller where a step was left out, larger after many that were taken, or `new_scale`."""
        if not self._enabled:
            return
        self._check_used("update")
        if new_scale is not None:
            if isinstance(new_scale, Tensor) and (new_scale.numel() != 1 or new_scale.requires_grad):
                raise AssertionError(
                    "new_scale should be a float or a 1-element tensor with requires_grad=False."
                )
            self._scale = float(new_scale.item() if isinstance(new_scale, Tensor) else new_scale)
        else:
            found = [one.overflowed for one in self._rounds.values() if one.overflowed is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adjust(any(found))
        self._rounds = {}

    def forget(self) -> None:
        """Forget what was done since the last `update`, where a step is given up: the scale stays as it is."""
        self._rounds = {}

    def _adjust(self, overflowed: bool) -> None:
        if overflowed:
            self._scale = float(np.float32(self._scale * self._backoff_factor))
            self._growth_tracker = 0
            return
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            grown = self._scale * self._growth_factor
            self._scale = float(np.float32(grown)) if grown <= LARGEST else self._scale
            self._growth_tracker = 0

    def _check_used(self, name: str) -> None:
        if not self._used:
            raise AssertionError(
                f"Attempted {name} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )

    def overflowed(self, optimizer: Any) -> bool:
        """Say whether a gradient of `optimizer` was not finite, since the last `update`."""
        return bool(self._enabled and self._rounds.get(id(optimizer), _Round()).overflowed)

    def get_scale(self) -> float:
        """Return the scale; 1.0 where this is not enabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """Return what the scale grows by."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale grows by."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return what the scale is made smaller by."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale is made smaller by."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return after how many steps in a row the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many steps in a row the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Say whether this scales at all."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the scale, its settings and the steps since it last changed; nothing where this is not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from where another was; RuntimeError for the state of one that was not enabled."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved "
                "from a disabled instance of GradScaler."
            )
        scale, tracker = float(state_dict["scale"]), int(state_dict["_growth_tracker"])
        factors = state_dict["growth_factor"], state_dict["backoff_factor"], state_dict["growth_interval"]
        self._scale, self._growth_tracker = scale, tracker
        self._growth_factor, self._backoff_factor, self._growth_interval = factors


def _finite(gradient: Tensor) -> bool:
    return bool(np.isfinite(gradient.detach().numpy()).all())

"""Fake quantization whose scale and zero point are trained along with the weights (LSQ)."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.errors import QuantizationError
from workbench.core.value import new
from workbench.nn import Module, Parameter
from workbench.ops.quantized.learnable_fake_quantize import (
    fake_quantize_learnable_per_channel_affine,
    fake_quantize_learnable_per_tensor_affine,
)
from workbench.quantization.fake_quantize import ObservingFakeQuantize
from workbench.quantization.observer import MovingAverageMinMaxObserver
from workbench.quantization.observer_base import Array, ObserverBase
from workbench.quantization.schemes import Scheme
from workbench.tensor import Tensor

__all__ = ["CHANGING", "LearnableFakeQuantize", "check_learned"]

CHANGING = threading.RLock()
"""Held while an observer and the scales that go with it are put in place, or read: before any observer's own lock."""


class LearnableFakeQuantize(ObservingFakeQuantize):
    """Rounds by a scale and a zero point that are parameters; an observer gives them their first values.

    At first they follow the observer (`enable_static_estimate`); `enable_param_learning` leaves them to the optimizer.

    Args:
        observer: a kind of observer, per tensor or per channel.
        quant_min, quant_max: limits of the codes.
        scale, zero_point: values to begin with.
        channel_len: number of channels where each has a scale of its own, else -1.
        use_grad_scaling: scale gradients by 1/√(values · quant_max), so that steps suit the number of values.

    >>> import workbench as wb
    >>> fake = LearnableFakeQuantize(MovingAverageMinMaxObserver, 0, 15)
    >>> _ = fake(wb.tensor([0.0, 1.5]))
    >>> _ = fake.enable_param_learning()
    >>> fake(wb.tensor([0.24])).sum().backward()
    >>> [name for name, one in fake.named_parameters() if one.grad is not None]
    ['scale', 'zero_point']
    """

    resizable = ("scale", "zero_point")
    scale: Tensor
    zero_point: Tensor
    static_enabled: Tensor
    learning_enabled: Tensor
    eps: Tensor

    def __init__(
        self,
        observer: Callable[..., Any] = MovingAverageMinMaxObserver,
        quant_min: int = 0,
        quant_max: int = 255,
        scale: float = 1.0,
        zero_point: float = 0.0,
        channel_len: int = -1,
        use_grad_scaling: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__()
        if not quant_min < quant_max:
            raise QuantizationError(
                f"`quant_min` must be strictly less than `quant_max`: {quant_min} and {quant_max} were given"
            )
        if channel_len != -1 and not channel_len > 0:
            raise QuantizationError(
                f"channel_len is a number of channels, or -1, and {channel_len} was given"
            )
        watching = observer(**{**settings, "quant_min": quant_min, "quant_max": quant_max})
        if not isinstance(watching, ObserverBase):
            raise QuantizationError(
                f"LearnableFakeQuantize takes a kind of observer, and {observer!r} was given"
            )
        self.activation_post_process = watching
        self.use_grad_scaling = use_grad_scaling
        self.bitwidth = int(math.log2(quant_max - quant_min + 1))
        several = max(1, channel_len)
        self.scale = Parameter(new(np.full(several, scale, np.float32)))
        self.zero_point = Parameter(new(np.full(several, zero_point, np.float32)))
        # Its own switches, beside those of every fake quantization: what PyTorch's states call them.
        del self.observer_enabled
        self.register_buffer("static_enabled", new(np.ones(1, np.uint8)))
        self.register_buffer("learning_enabled", new(np.zeros(1, np.uint8)))
        self.register_buffer("eps", new(np.array([np.finfo(np.float32).eps], np.float32)))

    @property
    def observer(self) -> ObserverBase:
        """What gives scale and zero point their first values, and has those that were learned in force."""
        self._follow()
        return self.activation_post_process

    @property
    def scheme(self) -> Scheme:
        """How ranges become codes."""
        return self.activation_post_process.scheme

    # -------------------------------------------------------------------------------------- switches

    def enable_param_learning(self) -> LearnableFakeQuantize:
        """Leave scale and zero point to the optimizer from now on."""
        return self.toggle_qparam_learning(True).toggle_fake_quant(True).toggle_observer_update(False)

    def enable_static_estimate(self) -> LearnableFakeQuantize:
        """Have scale and zero point follow the observer, and round."""
        return self.toggle_qparam_learning(False).toggle_fake_quant(True).toggle_observer_update(True)

    def enable_static_observation(self) -> LearnableFakeQuantize:
        """Have scale and zero point follow the observer, and do not round."""
        return self.toggle_qparam_learning(False).toggle_fake_quant(False).toggle_observer_update(True)

    def toggle_observer_update(self, enabled: bool = True) -> LearnableFakeQuantize:
        """Observe from now on, or not."""
        self.static_enabled.payload[0] = bool(enabled)
        return self

    def toggle_qparam_learning(self, enabled: bool = True) -> LearnableFakeQuantize:
        """Train scale and zero point from now on, or not."""
        with CHANGING:
            self.learning_enabled.payload[0] = bool(enabled)
            self.scale.requires_grad = self.zero_point.requires_grad = bool(enabled)
        return self

    def toggle_fake_quant(self, enabled: bool = True) -> LearnableFakeQuantize:
        """Round from now on, or not."""
        self.fake_quant_enabled.payload[0] = bool(enabled)
        return self

    def enable_observer(self, enabled: bool = True) -> LearnableFakeQuantize:
        """Observe from now on, or not."""
        return self.toggle_observer_update(enabled)

    # ------------------------------------------------------------------------------------- computing

    def forward(self, x: Any) -> Any:
        """Observe [any dims] if that is on, and round if that is on."""
        observer, scale, zero_point = self._together(x)
        if not self.fake_quant_enabled.payload[0]:
            return x
        factor = (
            1.0 / math.sqrt(x.numel() * observer.quant_max) if self.use_grad_scaling and x.numel() else 1.0
        )
        limits = (observer.quant_min, observer.quant_max, factor)
        if not observer.qscheme.per_channel:
            return fake_quantize_learnable_per_tensor_affine(x, scale, zero_point, *limits)
        axis, count = getattr(observer, "ch_axis", -1) % x.ndim, scale.shape[0]
        if count != x.shape[axis]:
            raise QuantizationError(
                f"{count} scales go with {count} channels, and dim {axis} of the input has {x.shape[axis]}: give "
                f"channel_len={x.shape[axis]}"
            )
        return fake_quantize_learnable_per_channel_affine(x, scale, zero_point, axis, *limits)

    def _together(self, x: Any) -> tuple[ObserverBase, Tensor, Tensor]:
        """Return an observer, a scale and a zero point that go together, for this call alone; look at the values first.

        Who moves ranges meanwhile may put another observer here: what was computed with is not theirs to change.
        """
        static, observer = bool(self.static_enabled.payload[0]), self.activation_post_process
        if static:
            observer.unlearn()
        # The first values are looked at in any case: what has seen none is not converted.
        if static or not observer.has_data:
            observer(x.detach())
        if static:
            return observer, *self._taken(observer)
        self._keep_sensible()
        self._follow()
        with CHANGING:
            observer, scale, zero_point = self.activation_post_process, self.scale, self.zero_point
            # Of those that no optimizer has the memory is held: they may have another number of values meanwhile.
            trained = scale.requires_grad or zero_point.requires_grad
            return (
                (observer, scale, zero_point) if trained else (observer, scale.detach(), zero_point.detach())
            )

    def _taken(self, observer: ObserverBase) -> tuple[Tensor, Tensor]:
        """Take what is observed, if it still is observed here, and return it."""
        with CHANGING:
            if not observer.has_range:
                return self.scale.detach(), self.zero_point.detach()
            values = self._values(observer)
            if self.activation_post_process is observer:
                self._have(*values)
        return new(values[0]), new(values[1])

    def _keep_sensible(self) -> None:
        """Hold the scale above the least one, and the zero point in the middle where the scheme is symmetric."""
        least = self.eps.payload[0]
        if bool(np.any(self.scale.payload < least)):
            self.scale.data = new(np.maximum(self.scale.payload, least))
        if self.qscheme.symmetric and bool(np.any(self.zero_point.payload)):
            self.zero_point.data = new(np.zeros_like(self.zero_point.payload))

    @property
    def sensible(self) -> bool:
        """Whether codes can have the scale and the zero point that are learned: not where training diverges."""
        if self.static_enabled.payload[0]:
            return True
        widest = self.scale.payload.astype(np.float64) * (self.quant_max - self.quant_min)
        return bool(
            np.all(np.abs(widest) <= np.finfo(np.float32).max)
            and np.all(np.isfinite(self.zero_point.payload))
        )

    def qparams(self) -> tuple[Array, Array]:
        """Return scale (float32) and zero point (int64) as they were learned, one entry or one a channel."""
        self._keep_sensible()
        limits = self.quant_min, self.quant_max
        zero = np.clip(np.rint(np.nan_to_num(self.zero_point.payload)), *limits).astype(np.int64)
        scale = np.array(self.scale.payload)
        return (scale, zero) if self.qscheme.per_channel else (scale[0], zero[0])

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Return scale and zero point as they were learned, as tensors."""
        scale, zero = self.qparams()
        return new(np.atleast_1d(scale)), new(np.atleast_1d(zero))

    def set_range(self, low: float, high: float) -> None:
        """Set the range by hand: what is learned goes on from there."""
        self.activation_post_process.set_range(low, high)
        self.take_range()

    def take_range(self) -> None:
        """Begin anew with the range that the observer has."""
        with CHANGING:
            if self.activation_post_process.has_range:
                self._have(*self._values(self.activation_post_process))

    def _follow(self) -> None:
        """Put what was learned in force; first take a range that was set by hand meanwhile."""
        observer = self.activation_post_process
        if self.static_enabled.payload[0]:
            return
        if observer.override is not None and observer.learned is None:
            self.take_range()
        if self.sensible:
            observer.learn(*self.qparams())
        else:
            # Views go on with the last that codes can have, and are told why nothing is measured: `check_learned`.
            observer.outdate()

    def check_follower(self, observer: ObserverBase) -> None:
        """Refuse an observer that has another number of scales than are learned here."""
        if not self.learning_enabled.payload[0] or not observer.has_data:
            return
        count, wanted = self.scale.shape[0], np.size(observer.qparams()[0])
        if count != wanted:
            raise QuantizationError(
                f"{count} scale{'s are' if count > 1 else ' is'} learned here, and an optimizer holds "
                f"{'them' if count > 1 else 'it'}: there cannot be {wanted} now. Choose per channel or per tensor "
                "before learning begins, or after enable_static_estimate()"
            )

    def _values(self, observer: ObserverBase) -> tuple[Array, Array]:
        """Return scale and zero point of an observer, as numbers that are learned: one entry, or one a channel."""
        scale, zero_point = observer.qparams()
        scale = np.maximum(np.atleast_1d(scale).astype(np.float32), self.eps.payload[0])
        zero_point = np.atleast_1d(zero_point).astype(np.float32)
        return scale, np.zeros_like(zero_point) if observer.qscheme.symmetric else zero_point

    def _have(self, scale: Array, zero_point: Array) -> None:
        for parameter, values in ((self.scale, scale), (self.zero_point, zero_point)):
            # Whoever holds the parameter goes on holding it; a gradient was that of another number of values.
            if values.shape != tuple(parameter.shape):
                parameter.grad = None
            parameter.payload = values.copy()


def check_learned(model: Module) -> None:
    """Raise `QuantizationError` where a scale or a zero point was learned that no codes can have."""
    for name, module in model.named_modules():
        if isinstance(module, LearnableFakeQuantize) and not module.sensible:
            raise QuantizationError(
                f"{name} has learned scale {module.scale.tolist()} and zero point {module.zero_point.tolist()}, "
                "which no codes can have: the training has diverged. Take smaller steps, or go back to the ranges "
                "that were observed: enable_static_estimate()"
            )

"""Fake quantization as a module: what conversion will do to values, while they can still be trained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.errors import QuantizationError
from workbench.core.value import new
from workbench.nn import Module
from workbench.ops.quantized.fake_quantize import FAKE_QUANTIZE_PER_CHANNEL, FAKE_QUANTIZE_PER_TENSOR
from workbench.quantization.observer import MovingAverageMinMaxObserver
from workbench.quantization.observer_base import ObserverBase, PartialObserver
from workbench.quantization.schemes import Scheme
from workbench.tensor import Tensor

__all__ = [
    "FakeQuantize",
    "disable_fake_quant",
    "disable_observer",
    "enable_fake_quant",
    "enable_observer",
    "fake_quantize",
]


def fake_quantize(x: Any, scheme: Scheme, scale: Any, zero_point: Any, axis: int | None = None) -> Any:
    """Round `x` to the numbers that codes can stand for, per tensor or along `axis`."""
    if axis is None:
        return FAKE_QUANTIZE_PER_TENSOR(
            x,
            scale=float(np.reshape(scale, ())),
            zero_point=int(np.reshape(zero_point, ())),
            qmin=scheme.quant_min,
            qmax=scheme.quant_max,
        )
    return FAKE_QUANTIZE_PER_CHANNEL(
        x,
        scales=tuple(np.asarray(scale).tolist()),
        zero_points=tuple(np.asarray(zero_point).tolist()),
        axis=axis % x.ndim,
        qmin=scheme.quant_min,
        qmax=scheme.quant_max,
    )


class FakeQuantize(Module):
    """Observes values, then rounds them to what the codes of the observed range can stand for.

    The gradient passes straight through where nothing is clamped. Observing and rounding can each be switched off.

    >>> import workbench as wb
    >>> fake = FakeQuantize(MovingAverageMinMaxObserver, 0, 15)
    >>> fake(wb.tensor([0.0, 0.24, 1.5]))
    tensor([0.0000, 0.2000, 1.5000])
    """

    resizable = ("scale", "zero_point")
    scale: Tensor
    zero_point: Tensor
    fake_quant_enabled: Tensor
    observer_enabled: Tensor

    def __init__(
        self,
        observer: Callable[..., Any] = MovingAverageMinMaxObserver,
        quant_min: int = 0,
        quant_max: int = 255,
        **settings: Any,
    ) -> None:
        super().__init__()
        if quant_min > quant_max:
            raise QuantizationError(
                f"`quant_min` should be less than or equal to `quant_max`: {quant_min} and {quant_max} were given"
            )
        watching = observer(**{**settings, "quant_min": quant_min, "quant_max": quant_max})
        if not isinstance(watching, ObserverBase):
            raise QuantizationError(f"FakeQuantize takes a kind of observer, and {observer!r} was given")
        self.activation_post_process = watching
        self.register_buffer("scale", new(np.ones(1, np.float32)))
        self.register_buffer("zero_point", new(np.zeros(1, np.int64)))
        self.register_buffer("fake_quant_enabled", new(np.ones(1, np.uint8)))
        self.register_buffer("observer_enabled", new(np.ones(1, np.uint8)))

    @classmethod
    def with_args(cls, **settings: Any) -> PartialObserver:
        """Return a factory of modules of this kind with the given settings."""
        return PartialObserver(cls, settings)

    @property
    def observer(self) -> ObserverBase:
        """What decides the range."""
        return self.activation_post_process

    def forward(self, x: Any) -> Any:
        """Observe [any dims] if that is on, and round if that is on."""
        observer = self.observer
        if self.observer_enabled.payload[0]:
            # Ranges are observed, not trained.
            observer(x.detach())
        if observer.has_data or observer.override is not None:
            scale, zero_point = observer.qparams()
            self.scale.payload, self.zero_point.payload = np.atleast_1d(scale), np.atleast_1d(zero_point)
        if not self.fake_quant_enabled.payload[0]:
            return x
        axis = getattr(observer, "ch_axis", None)
        return fake_quantize(x, observer.scheme, self.scale.payload, self.zero_point.payload, axis)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Return scale and zero point of the observer."""
        return self.observer.calculate_qparams()

    def enable_fake_quant(self, enabled: bool = True) -> FakeQuantize:
        """Round from now on, or not."""
        self.fake_quant_enabled.payload[0] = bool(enabled)
        return self

    def disable_fake_quant(self) -> FakeQuantize:
        """Round no longer."""
        return self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> FakeQuantize:
        """Observe from now on, or not."""
        self.observer_enabled.payload[0] = bool(enabled)
        return self

    def disable_observer(self) -> FakeQuantize:
        """Observe no longer: the range stays."""
        return self.enable_observer(False)


def _each(method: str, doc: str) -> Callable[[Module], None]:
    """Return a function for `Module.apply` that calls `method` of every fake quantization."""

    def function(module: Module) -> None:
        if isinstance(module, FakeQuantize):
            getattr(module, method)()

    function.__name__ = function.__qualname__ = method
    function.__doc__ = doc
    return function


enable_fake_quant = _each("enable_fake_quant", "``model.apply(enable_fake_quant)``: round from now on.")
disable_fake_quant = _each("disable_fake_quant", "``model.apply(disable_fake_quant)``: round no longer.")
enable_observer = _each("enable_observer", "``model.apply(enable_observer)``: observe from now on.")
disable_observer = _each("disable_observer", "``model.apply(disable_observer)``: observe no longer.")

"""Fake quantization as a module: what conversion will do to values, while they can still be trained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dtypes import DType
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QScheme
from workbench.core.value import new
from workbench.nn import Module
from workbench.ops.quantized.fake_quantize import FAKE_QUANTIZE_PER_CHANNEL, FAKE_QUANTIZE_PER_TENSOR
from workbench.ops.quantized.fake_quantize_scaled import FAKE_QUANTIZE_SCALED
from workbench.quantization.channel_observers import (
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
)
from workbench.quantization.observer import MovingAverageMinMaxObserver
from workbench.quantization.observer_base import ObserverBase, PartialObserver
from workbench.quantization.plain_observers import FixedQParamsObserver
from workbench.quantization.schemes import Scheme
from workbench.tensor import Tensor

__all__ = [
    "FakeQuantize",
    "FakeQuantizeBase",
    "FixedQParamsFakeQuantize",
    "FusedMovingAvgObsFakeQuantize",
    "ObservingFakeQuantize",
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


class FakeQuantizeBase(Module):
    """What stands for quantization in training: whether it observes, and whether it rounds, are each a switch."""

    fake_quant_enabled: Tensor
    observer_enabled: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", new(np.ones(1, np.uint8)))
        self.register_buffer("observer_enabled", new(np.ones(1, np.uint8)))

    @classmethod
    def with_args(cls, **settings: Any) -> PartialObserver:
        """Return a factory of modules of this kind with the given settings."""
        return PartialObserver(cls, settings)

    @classmethod
    def with_callable_args(cls, **callables: Callable[[], Any]) -> PartialObserver:
        """Return a factory whose settings are asked for when a module is made."""
        return PartialObserver(cls, {}, callables)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Return scale and zero point."""
        raise QuantizationError(f"{type(self).__name__} does not say how it finds scale and zero point")

    def enable_fake_quant(self, enabled: bool = True) -> FakeQuantizeBase:
        """Round from now on, or not."""
        self.fake_quant_enabled.payload[0] = bool(enabled)
        return self

    def disable_fake_quant(self) -> FakeQuantizeBase:
        """Round no longer."""
        return self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> FakeQuantizeBase:
        """Observe from now on, or not."""
        self.observer_enabled.payload[0] = bool(enabled)
        return self

    def disable_observer(self) -> FakeQuantizeBase:
        """Observe no longer: the range stays."""
        return self.enable_observer(False)


class ObservingFakeQuantize(FakeQuantizeBase):
    """Has an observer, which decides the range that values are rounded by, and that conversion goes by."""

    activation_post_process: ObserverBase

    @property
    def observer(self) -> ObserverBase:
        """What decides the range."""
        return self.activation_post_process

    @property
    def dtype(self) -> DType:
        """Type of the codes."""
        return self.activation_post_process.dtype

    @property
    def qscheme(self) -> QScheme:
        """How ranges are mapped to codes."""
        return self.activation_post_process.qscheme

    @property
    def quant_min(self) -> int:
        """Least code."""
        return self.activation_post_process.quant_min

    @property
    def quant_max(self) -> int:
        """Greatest code."""
        return self.activation_post_process.quant_max

    @property
    def ch_axis(self) -> int:
        """The dim whose entries have a scale each, or -1."""
        return getattr(self.activation_post_process, "ch_axis", -1)


class FakeQuantize(ObservingFakeQuantize):
    """Observes values, then rounds them to what the codes of the observed range can stand for.

    y = (clamp(rne(x / s) + z, quant_min, quant_max) - z)·s. The gradient passes straight through where nothing is
    clamped. Observing and rounding can each be switched off.

    >>> import workbench as wb
    >>> fake = FakeQuantize(MovingAverageMinMaxObserver, 0, 15)
    >>> fake(wb.tensor([0.0, 0.24, 1.5]))
    tensor([0.0000, 0.2000, 1.5000])
    """

    resizable = ("scale", "zero_point")
    scale: Tensor
    zero_point: Tensor

    def __init__(
        self,
        observer: Callable[..., Any] = MovingAverageMinMaxObserver,
        quant_min: int | None = None,
        quant_max: int | None = None,
        is_dynamic: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__()
        if quant_min is not None and quant_max is not None:
            if quant_min > quant_max:
                raise QuantizationError(
                    "`quant_min` should be less than or equal to `quant_max`: "
                    f"{quant_min} and {quant_max} were given"
                )
            settings = {**settings, "quant_min": quant_min, "quant_max": quant_max}
        watching = observer(**settings, **({"is_dynamic": True} if is_dynamic else {}))
        if not isinstance(watching, ObserverBase):
            raise QuantizationError(f"FakeQuantize takes a kind of observer, and {observer!r} was given")
        self.activation_post_process = watching
        self.is_dynamic = is_dynamic
        self.register_buffer("scale", new(np.ones(1, np.float32)))
        between = watching.qscheme is QScheme.PER_CHANNEL_AFFINE_FLOAT_QPARAMS
        self.register_buffer("zero_point", new(np.zeros(1, np.float32 if between else np.int32)))

    @property
    def is_per_channel(self) -> bool:
        """True if each channel has a scale of its own."""
        return self.qscheme.per_channel

    def forward(self, x: Any, factor: Any = None) -> Any:
        """Observe [any dims] if that is on, and round if that is on; with a `factor` for each row, their product.

        A weight that a batch normalisation is folded into is such a product: its rows are observed and rounded
        without its being written down, where what is observed is a range for each.
        """
        # Once: a person may put another one here while this runs.
        observer = self.observer
        if factor is not None and not self._takes_factor(observer, x, factor):
            x, factor = x * factor.reshape(-1, *[1] * (x.ndim - 1)), None
        if self.observer_enabled.payload[0]:
            # Ranges are observed, not trained.
            observer(*(one.detach() for one in (x, factor) if one is not None))
        if observer.has_range:
            self._take(*observer.qparams())
        if not self.fake_quant_enabled.payload[0]:
            return x
        if factor is not None:
            steps = (new(one.payload.astype(np.float32)) for one in (self.scale, self.zero_point))
            low, high = observer.scheme.quant_min, observer.scheme.quant_max
            return FAKE_QUANTIZE_SCALED(x, factor, *steps, qmin=low, qmax=high)
        axis = getattr(observer, "ch_axis", None)
        return fake_quantize(x, observer.scheme, self.scale.payload, self.zero_point.payload, axis)

    def _takes_factor(self, observer: ObserverBase, x: Any, factor: Any) -> bool:
        """Say whether rows and factors may stay apart: both are float32, and each row has a whole zero point."""
        return (
            isinstance(observer, (PerChannelMinMaxObserver, MovingAveragePerChannelMinMaxObserver))
            # Not one of somebody's own, which may choose otherwise.
            and type(observer) in (PerChannelMinMaxObserver, MovingAveragePerChannelMinMaxObserver)
            and observer.qscheme is not QScheme.PER_CHANNEL_AFFINE_FLOAT_QPARAMS
            and observer.ch_axis in (0, -x.ndim)
            and bool(self.fake_quant_enabled.payload[0])
            and all(
                type(one.payload) is np.ndarray and one.payload.dtype == np.float32 for one in (x, factor)
            )
        )

    def _take(self, scale: Any, zero_point: Any) -> None:
        kind = self.zero_point.payload.dtype
        self.scale.payload = np.atleast_1d(scale)
        self.zero_point.payload = np.atleast_1d(zero_point).astype(kind)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Return scale and zero point of the observer."""
        return self.observer.calculate_qparams()

    def extra_repr(self) -> str:
        """Return the switches, the codes and the scale."""
        scale = self.scale.payload
        shown = f"{float(scale[0]):.6g}" if scale.size == 1 else f"{scale.size} of them"
        return (
            f"fake_quant_enabled={int(self.fake_quant_enabled.payload[0])}, "
            f"observer_enabled={int(self.observer_enabled.payload[0])}, quant_min={self.quant_min}, "
            f"quant_max={self.quant_max}, dtype={self.dtype}, qscheme={self.qscheme}, scale={shown}"
        )


class FixedQParamsFakeQuantize(FakeQuantize):
    """Rounds by a scale and a zero point that are known, such as those of a sigmoid's values.

    >>> import workbench as wb
    >>> from workbench.quantization import default_fixed_qparams_range_0to1_observer
    >>> FixedQParamsFakeQuantize(default_fixed_qparams_range_0to1_observer)(wb.tensor([0.5, 2.0]))
    tensor([0.5000, 0.9961])
    """

    def __init__(self, observer: Callable[..., Any]) -> None:
        super().__init__(observer)
        if not isinstance(self.observer, FixedQParamsObserver):
            raise QuantizationError(
                f"FixedQParamsFakeQuantize takes a FixedQParamsObserver, and {observer!r} makes a "
                f"{type(self.observer).__name__}"
            )
        self._take(*self.observer.qparams())


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """Follows the moving average of the values' ends and rounds by it, under PyTorch's name for doing both at once.

    What it rounds by is what its observer says, which is also what `convert` goes by. (PyTorch trains with another
    formula for scale and zero point here than it converts with.)
    """

    def __init__(
        self,
        observer: Callable[..., Any] = MovingAverageMinMaxObserver,
        quant_min: int | None = 0,
        quant_max: int | None = 255,
        is_dynamic: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(observer, quant_min, quant_max, is_dynamic, **settings)
        known = MovingAverageMinMaxObserver | MovingAveragePerChannelMinMaxObserver
        if not isinstance(self.observer, known):
            raise QuantizationError(
                "FusedMovingAvgObsFakeQuantize goes with MovingAverageMinMaxObserver and "
                f"MovingAveragePerChannelMinMaxObserver, not with {type(self.observer).__name__}: use FakeQuantize"
            )
        # Wider than those of the others, as in PyTorch's states.
        self.fake_quant_enabled.payload = np.ones(1, np.int64)
        self.observer_enabled.payload = np.ones(1, np.int64)


def _each(method: str, doc: str) -> Callable[[Module], None]:
    """Return a function for `Module.apply` that calls `method` of every fake quantization."""

    def function(module: Module) -> None:
        if isinstance(module, FakeQuantizeBase):
            getattr(module, method)()

    function.__name__ = function.__qualname__ = method
    function.__doc__ = doc
    return function


enable_fake_quant = _each("enable_fake_quant", "``model.apply(enable_fake_quant)``: round from now on.")
disable_fake_quant = _each("disable_fake_quant", "``model.apply(disable_fake_quant)``: round no longer.")
enable_observer = _each("enable_observer", "``model.apply(enable_observer)``: observe from now on.")
disable_observer = _each("disable_observer", "``model.apply(disable_observer)``: observe no longer.")

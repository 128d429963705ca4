"""What all observers share: settings, counting, a range set by hand, and telling who watches."""

from __future__ import annotations

import contextvars
import copy
import functools
import itertools
import math
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from workbench.base.dtypes import DType, as_dtype, quint8
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QScheme
from workbench.core.value import new
from workbench.nn import Module
from workbench.quantization.histogram import extremes
from workbench.quantization.schemes import EPS, Scheme, real_number, scheme_of
from workbench.quantization.turns import turns
from workbench.tensor import Tensor

__all__ = ["ObserverBase", "PartialObserver", "Watcher", "unobserved"]

Array = np.ndarray[Any, Any]
Range = tuple[float, float]

_serial = itertools.count()

# By thread: while one measures, another may calibrate.
_observing: contextvars.ContextVar[bool] = contextvars.ContextVar("workbench_observing", default=True)


def _single(array: Array) -> Array:
    """Return values as float32, whose statistics are kept: what it does not reach is infinite there.

    Raises `QuantizationError` for complex values.
    """
    if array.dtype.kind == "c":
        raise QuantizationError(
            f"{array.dtype.name} values have no order, so no range: observe x.real and x.imag, or x.abs()"
        )
    if array.dtype.itemsize <= 4 and array.dtype.kind == "f":
        return array
    with np.errstate(over="ignore"):
        return array.astype(np.float32)


@contextmanager
def unobserved() -> Iterator[None]:
    """Call prepared models in this block, in this thread, without their observers taking note."""
    token = _observing.set(False)
    try:
        yield
    finally:
        _observing.reset(token)


class Watcher(Protocol):
    """Whoever wants to know what observers see: the calibration of a model."""

    def watched(self) -> bool:
        """Say whether anybody looks."""
        ...

    def observed(self) -> None:
        """Take note that an observer has seen a batch."""
        ...


class PartialObserver:
    """A factory of observers with settings of its own, as `ObserverBase.with_args` makes it.

    Two factories are equal where they make the same observers: a `QConfig` can be compared with another.
    """

    __slots__ = ("__weakref__", "callable_args", "make", "settings")

    def __init__(
        self,
        make: Callable[..., Module],
        settings: dict[str, Any],
        callables: dict[str, Callable[[], Any]] | None = None,
    ) -> None:
        self.make = make
        self.settings = settings
        self.callable_args = callables or {}
        """Settings that are asked for when an observer is made, by functions without arguments."""

    @property
    def p(self) -> functools.partial[Module]:
        """The factory as Python's own partial function, where programs for PyTorch look for settings."""
        return functools.partial(self.make, **self.settings)

    def __call__(self, **settings: Any) -> Module:
        asked = {name: one() for name, one in self.callable_args.items() if name not in settings}
        return self.make(**{**self.settings, **asked, **settings})

    def with_args(self, **settings: Any) -> PartialObserver:
        """Return the same factory with further settings."""
        return PartialObserver(self.make, {**self.settings, **settings}, self.callable_args)

    def with_callable_args(self, **callables: Callable[[], Any]) -> PartialObserver:
        """Return the same factory with settings that are asked for when an observer is made."""
        return PartialObserver(self.make, self.settings, {**self.callable_args, **callables})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartialObserver):
            return NotImplemented
        mine, theirs = ((one.make, one.settings, one.callable_args) for one in (self, other))
        return mine == theirs

    def __hash__(self) -> int:
        return hash((self.make, *sorted(self.settings)))

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.settings.items())
        return f"{getattr(self.make, '__name__', self.make)}.with_args({given})"


class ObserverBase(Module):
    """Watches the values that pass through it and turns their range into scale and zero point.

    A call returns its input unchanged. NaN and infinity are counted (`nan_count`, `inf_count`) and left out of every
    statistic. A range set by hand (`set_range`) is in force from the next batch on, from whatever thread it comes.

    Args:
        dtype: quint8, qint8 or qint32: the type of the codes.
        qscheme: per tensor or per channel, affine or symmetric.
        reduce_range: use one bit less, for processors whose 8-bit products are added up in 16 bits.
        quant_min, quant_max: limits of the codes in place of the type's own, e.g. 0 and 15 for 4 bits.
        eps: least scale.
        is_dynamic: say that scale and zero point are to be found anew for each batch once the model is converted.
        factory_kwargs: taken for PyTorch's programs: what is observed decides where statistics lie.
    """

    _version = 3
    resizable: tuple[str, ...] = ("min_val", "max_val")
    eps: Tensor
    min_val: Tensor
    max_val: Tensor

    def __init__(
        self,
        dtype: Any = quint8,
        qscheme: QScheme = QScheme.PER_TENSOR_AFFINE,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = EPS,
        is_dynamic: bool = False,
        factory_kwargs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.is_dynamic = is_dynamic
        self.scheme: Scheme = scheme_of(
            as_dtype(dtype),
            qscheme,
            reduce_range=reduce_range,
            quant_min=quant_min,
            quant_max=quant_max,
            eps=eps,
        )
        self.reduce_range = reduce_range
        self.enabled = True
        self.batches = 0
        self.nan_count = 0
        self.inf_count = 0
        self.version = 0
        """Raised whenever the range in force, or what is known of the values, has changed."""
        self.data_version = 0
        """Raised whenever what is known of the values has changed."""
        self.serial: int | None = None
        """When it saw its first batch, among all observers."""
        self.names: tuple[str | None, ...] = ()
        """Names of the dims of what it saw last."""
        self._override: Range | None = None
        self._learned: tuple[Array, Array] | None = None
        self._watcher: Watcher | None = None
        # Reentrant: subclasses hold it while they call what the base does.
        self._lock = threading.RLock()
        self.register_buffer("eps", new(np.array([eps], np.float32)))
        self.register_buffer("min_val", new(np.array(np.inf, np.float32)))
        self.register_buffer("max_val", new(np.array(-np.inf, np.float32)))

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Take ends of as many ranges as there are channels: of one where there is one for all, and the other way."""
        for name in ("min_val", "max_val"):
            given = state_dict.get(prefix + name)
            if isinstance(given, Tensor | np.ndarray) and not self._has_place_for(given):
                there, here = ("one range for all channels", "one for each")[
                    :: 1 if self.qscheme.per_channel else -1
                ]
                error_msgs.append(
                    f"size mismatch for {prefix}{name}: a value of shape {list(given.shape)} was given, that of an "
                    f"observer with {there}, and here is one with {here}: prepare the model with the qconfig that the "
                    "state was saved with."
                )
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def _has_place_for(self, ends: Tensor | np.ndarray[Any, Any]) -> bool:
        if not self.qscheme.per_channel:
            return math.prod(ends.shape) <= 1
        # Before anything was seen there are no channels yet: an end is infinite.
        return len(ends.shape) == 1 or (not ends.shape and not math.isfinite(float(ends)))

    @classmethod
    def with_args(cls, **settings: Any) -> PartialObserver:
        """Return a factory of observers of this kind with the given settings."""
        return PartialObserver(cls, settings)

    @classmethod
    def with_callable_args(cls, **callables: Callable[[], Any]) -> PartialObserver:
        """Return a factory whose settings are asked for when an observer is made."""
        return PartialObserver(cls, {}, callables)

    # --------------------------------------------------------------------------------------- settings

    @property
    def dtype(self) -> DType:
        """Type of the codes."""
        return self.scheme.dtype

    @property
    def qscheme(self) -> QScheme:
        """How ranges are mapped to codes."""
        return self.scheme.qscheme

    @property
    def quant_min(self) -> int:
        """Least code."""
        return self.scheme.quant_min

    @property
    def quant_max(self) -> int:
        """Greatest code."""
        return self.scheme.quant_max

    @property
    def bits(self) -> int:
        """Bits that tell the codes apart."""
        return self.scheme.bits

    # -------------------------------------------------------------------------------------- observing

    def forward(self, x: Any) -> Any:
        """Take note of `x`, [any dims], and return it."""
        # What is traced has no values yet, and codes have a range already.
        array = x.payload
        if self.observing and type(array) is np.ndarray and array.size:
            self._note(x, self.observe, _single(array))
        return x

    def _note(self, x: Any, observe: Callable[..., None], *values: Array) -> None:
        """Take note of a batch, whose dims are those of `x`, by `observe`."""
        if self._watcher is not None:
            turns.give_way()
        with self._lock:
            if self.serial is None:
                self.serial = next(_serial)
            self.names = x.dim_labels
            self.batches += 1
            observe(*values)
            self.version += 1
            self.data_version += 1
        # Outside of the lock: whoever is told may ask for the range, or set one.
        if self._watcher is not None:
            self._watcher.observed()

    def observe(self, array: Array) -> None:
        """Take note of one batch of floating point values; called with the observer locked."""
        raise QuantizationError(f"{type(self).__name__} does not say what it observes")

    def _extremes(self, array: Array) -> Range | None:
        """Return the ends of the finite values, or None; NaN and infinity are counted here."""
        return self._seen(*extremes(array))

    def _seen(self, low: float, high: float, nan: int, inf: int) -> Range | None:
        """Count NaN and infinity; return the ends of the finite values, or None where there is none."""
        self.nan_count += nan
        self.inf_count += inf
        return None if math.isnan(low) else (low, high)

    @property
    def observing(self) -> bool:
        """Whether it takes note of what passes, in this thread."""
        return self.enabled and _observing.get()

    @contextmanager
    def still(self) -> Iterator[None]:
        """Let it see no batch, and get no other range, while this block looks at it: briefly, for a cell may wait."""
        with self._lock:
            yield

    def watched(self) -> bool:
        """Say whether anybody looks at this observer now."""
        return self._watcher is not None and self._watcher.watched()

    def watch(self, watcher: Watcher | None) -> None:
        """Tell `watcher` of every batch from now on; None: nobody."""
        self._watcher = watcher

    def reset_min_max_vals(self) -> None:
        """Forget what was seen: PyTorch's word for `reset`."""
        self.reset()

    def reset(self) -> None:
        """Forget what was seen; settings and a range set by hand stay."""
        with self._lock:
            self.min_val.payload = np.array(np.inf, np.float32)
            self.max_val.payload = np.array(-np.inf, np.float32)
            self.batches = self.nan_count = self.inf_count = 0
            self.serial = None
            self.version += 1
            self.data_version += 1

    def take_values(self, other: ObserverBase) -> None:
        """Take what `other` knows of the values beside their ends; of that nothing is kept here."""

    # ------------------------------------------------------------------------------------------ ranges

    @property
    def has_data(self) -> bool:
        """True once a finite value was seen."""
        low, high = self.min_val.payload, self.max_val.payload
        return low.size > 0 and bool((low <= high).all())

    @property
    def has_range(self) -> bool:
        """True once a range is known: a finite value was seen, or a range was set by hand."""
        return self.has_data or self._override is not None

    def observed_range(self) -> tuple[Array, Array]:
        """Return the range that this observer would choose: ends as arrays, one entry or one a channel."""
        return self.min_val.payload.astype(np.float64), self.max_val.payload.astype(np.float64)

    def range(self) -> tuple[Array, Array]:
        """Return the range in force, chosen here or by hand, before it is widened to hold zero.

        One set by hand on a per-channel observer limits the ranges of all channels.
        """
        if self._learned is not None:
            scale, zero = self._learned
            return (self.quant_min - zero) * np.float64(scale), (self.quant_max - zero) * np.float64(scale)
        override = self._override
        # Each channel keeps its own range, cut to the one that was set.
        if override is not None and not (self.qscheme.per_channel and self.has_data):
            shape = self.min_val.payload.shape
            return np.full(shape, override[0]), np.full(shape, override[1])
        low, high = self.observed_range()
        if override is None:
            return low, high
        return np.maximum(low, override[0]), np.minimum(high, override[1])

    @property
    def override(self) -> Range | None:
        """The range set by hand, or None."""
        return self._override

    def set_range(self, low: float, high: float) -> None:
        """Set the range by hand; it is in force from the next batch on, and for `convert`.

        Raises `QuantizationError`, and changes nothing, where the ends are not finite, not in order, or leave out
        every value that was seen.
        """
        with self._lock:
            self.check_range(low, high)
            self._override = (float(low), float(high))
            self._learned = None
            self.version += 1
        self._tell()

    @property
    def learned(self) -> tuple[Array, Array] | None:
        """Scale and zero point that are trained beside the observer and in force, or None."""
        return self._learned

    def learn(self, scale: Array, zero_point: Array) -> None:
        """Put a scale (float32) and a zero point (int64), one or one a channel, in force: what was trained.

        They are until the next ones, or a range set by hand.
        """
        with self._lock:
            if self._learned is not None and all(map(np.array_equal, self._learned, (scale, zero_point))):
                return
            self._learned = scale, zero_point
            self.version += 1
        self._tell()

    def outdate(self) -> None:
        """Say that what was found out with the range in force no longer holds."""
        with self._lock:
            self.version += 1
        self._tell()

    def unlearn(self) -> None:
        """Choose by what is observed again, or by the range set by hand."""
        with self._lock:
            self.version += self._learned is not None
            self._learned = None

    def reset_range(self) -> None:
        """Give the range back to the observer."""
        with self._lock:
            self._override = None
            self.version += 1
        self._tell()

    def _tell(self) -> None:
        if self._watcher is not None:
            self._watcher.observed()

    def check_range(self, low: float, high: float) -> None:
        """Raise `QuantizationError` where [low, high] cannot be a range here."""
        low, high = real_number(low, "the low end of a range"), real_number(high, "the high end of a range")
        if not (math.isfinite(low) and math.isfinite(high)):
            raise QuantizationError(f"a range has two finite ends, and {low} to {high} was given")
        if not low < high:
            raise QuantizationError(
                f"the low end {low:.6g} is not below the high end {high:.6g}: give the smaller one first"
            )
        if max(abs(low), abs(high)) > float(np.finfo(np.float32).max):
            raise QuantizationError(f"{low:.3g} to {high:.3g} does not fit into float32")
        span = self.quant_max - self.quant_min
        narrowest = float(self.eps.payload[0]) * span
        if max(high, 0.0) - min(low, 0.0) < narrowest:
            raise QuantizationError(
                f"the range {low:.3g} to {high:.3g} is narrower than {span + 1} codes can be: their least scale is "
                f"{narrowest / span:.3g}, so make it {narrowest:.3g} wide, with 0 in it, or wider"
            )
        if not self.has_data:
            return
        least, most = float(np.min(self.min_val.payload)), float(np.max(self.max_val.payload))
        # Every value would get one and the same code.
        if low > most or high < least:
            raise QuantizationError(
                f"the range {low:.6g} to {high:.6g} leaves out every value that was seen, "
                f"which lie from {least:.6g} to {most:.6g}"
            )

    def qparams(self) -> tuple[Array, Array]:
        """Return scale (float32) and zero point (int64) of the range in force, one entry or one a channel."""
        if self._learned is not None:
            return self._learned
        low, high = self.range()
        # A state that was loaded may have brought another.
        least = float(self.eps.payload[0])
        scheme = self.scheme if least == np.float32(self.scheme.eps) else replace(self.scheme, eps=least)
        return scheme.qparams(low, high)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Return scale (float32) and zero point (int64) of the range in force, as tensors.

        Where no finite value was seen and no range was set, warn and return 1 and 0.
        """
        if not self.has_range:
            seen = ""
            if self.nan_count or self.inf_count:
                seen = f": it has seen only {self.nan_count} NaN and {self.inf_count} infinite values"
            warnings.warn(
                f"must run observer before calling calculate_qparams{seen}. Returning default values.",
                stacklevel=2,
            )
            return new(np.ones(1, np.float32)), new(np.zeros(1, np.int64))
        scale, zero = self.qparams()
        return new(np.atleast_1d(scale)), new(np.atleast_1d(zero))

    # ----------------------------------------------------------------------------------------- copying

    # Locks cannot be copied, and who watches this one does not watch its copy.
    def __deepcopy__(self, memo: dict[int, Any]) -> ObserverBase:
        """Copy it as it is at one moment: values may be streaming through it."""
        made = self.__class__.__new__(self.__class__)
        memo[id(self)] = made
        with self._lock:
            made.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_watcher")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__["_lock"] = threading.RLock()
        self.__dict__["_watcher"] = None

    def extra_repr(self) -> str:
        """Return the range, or that there is none yet."""
        if not self.has_data:
            return "no values yet" if self._override is None else f"set by hand: {self._override}"
        low, high = self.range()
        by_hand = ", set by hand" if self._override is not None else ""
        return f"min_val={float(low.min()):.6g}, max_val={float(high.max()):.6g}{by_hand}"

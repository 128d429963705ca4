"""Observers that search for no range: a type alone, numbers that are given, values that are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.base.dtypes import DType, as_dtype, float16, float32, quint8
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import QScheme
from workbench.core.value import new
from workbench.nn import Module
from workbench.quantization.observer_base import Array, ObserverBase, PartialObserver
from workbench.quantization.schemes import EPS
from workbench.tensor import Tensor

__all__ = [
    "Carrier",
    "FixedQParamsObserver",
    "NoopObserver",
    "PlaceholderObserver",
    "RecordingObserver",
    "ReuseInputObserver",
]


class Carrier(Module):
    """A module in the place of an observer that has no range."""

    def __init__(self, dtype: Any, is_dynamic: bool = False, custom_op_name: str = "") -> None:
        super().__init__()
        self.dtype: DType = as_dtype(dtype)
        self.is_dynamic = is_dynamic
        self.custom_op = custom_op_name

    @classmethod
    def with_args(cls, **settings: Any) -> PartialObserver:
        """Return a factory of observers of this kind with the given settings."""
        return PartialObserver(cls, settings)

    @classmethod
    def with_callable_args(cls, **callables: Callable[[], Any]) -> PartialObserver:
        """Return a factory whose settings are asked for when an observer is made."""
        return PartialObserver(cls, {}, callables)

    def forward(self, x: Any) -> Any:
        """Return the input."""
        return x

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Raise: there is nothing to compute scale and zero point from."""
        raise QuantizationError(
            f"calculate_qparams should not be called for {type(self).__name__}: it watches nothing. "
            "Use MinMaxObserver or HistogramObserver."
        )

    def extra_repr(self) -> str:
        """Return the type."""
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"


class PlaceholderObserver(Carrier):
    """Watches nothing and only says how something is to be quantized later: a type, limits, whether for each batch.

    With `is_dynamic` activations are quantized with a scale of their own in every call; `granularity` says of what
    each has one: ``"tensor"``, or ``"token"``, the last dim's row.
    """

    def __init__(
        self,
        dtype: Any = float32,
        custom_op_name: str = "",
        compute_dtype: Any = None,
        quant_min: int | None = None,
        quant_max: int | None = None,
        qscheme: QScheme | None = None,
        eps: float | None = None,
        is_dynamic: bool = False,
        granularity: str = "tensor",
    ) -> None:
        super().__init__(dtype, is_dynamic or compute_dtype is not None, custom_op_name)
        if granularity not in ("tensor", "token"):
            raise QuantizationError(f"granularity is 'tensor' or 'token', and {granularity!r} was given")
        self.qscheme = QScheme.PER_TENSOR_AFFINE if qscheme is None else qscheme
        self.quant_min, self.quant_max = quant_min, quant_max
        self.eps = EPS if eps is None else eps
        self.granularity = granularity


class NoopObserver(Carrier):
    """Watches nothing: weights become float16."""

    def __init__(self, dtype: Any = float16, custom_op_name: str = "") -> None:
        super().__init__(dtype, False, custom_op_name)


class ReuseInputObserver(Carrier):
    """Stands for the observer of what comes in: a reshape's values have the range that they had before.

    Only a graph knows what comes in, so only `prepare_fx` asks it.
    """

    def __init__(self) -> None:
        super().__init__(quint8)


class RecordingObserver(Carrier):
    """Keeps every value that passes, in `tensor_val`.

    >>> import workbench as wb
    >>> observer = RecordingObserver()
    >>> _ = observer(wb.tensor([1.0, 2.0]))
    >>> observer.get_tensor_value()
    [tensor([1., 2.])]
    """

    def __init__(self, dtype: Any = quint8) -> None:
        super().__init__(dtype)
        self.tensor_val: list[Tensor] = []

    def forward(self, x: Any) -> Any:
        """Keep a copy of the input, and return it."""
        self.tensor_val.append(x.detach().clone())
        return x

    def get_tensor_value(self) -> list[Tensor]:
        """Return what has passed."""
        return self.tensor_val


class FixedQParamsObserver(ObserverBase):
    """Knows scale and zero point already: those of a sigmoid, whose values lie from 0 to 1.

    >>> observer = FixedQParamsObserver(scale=1 / 256, zero_point=0)
    >>> observer.calculate_qparams()
    (tensor([0.0039]), tensor([0], dtype=workbench.int32))
    """

    scale: Tensor
    zero_point: Tensor

    _version = 1

    def __init__(
        self,
        scale: float,
        zero_point: int,
        dtype: Any = quint8,
        qscheme: QScheme = QScheme.PER_TENSOR_AFFINE,
        quant_min: int = 0,
        quant_max: int = 255,
        is_dynamic: bool = False,
        **settings: Any,
    ) -> None:
        if is_dynamic:
            raise QuantizationError(
                "FixedQParamsObserver has one scale, and is_dynamic=True asks for one a batch"
            )
        super().__init__(dtype=dtype, qscheme=qscheme, quant_min=quant_min, quant_max=quant_max, **settings)
        if not scale > 0 or not np.isfinite(scale):
            raise QuantizationError(f"a scale is a finite number above 0, and {scale} was given")
        if not quant_min <= zero_point <= quant_max:
            raise QuantizationError(
                f"zero_point {zero_point} is no code: they go from {quant_min} to {quant_max}"
            )
        # What it does not find out needs no place in a state.
        del self.eps, self.min_val, self.max_val
        self.register_buffer("scale", new(np.array([scale], np.float32)))
        self.register_buffer("zero_point", new(np.array([zero_point], np.int32)))

    def observe(self, array: Array) -> None:
        """Count what is not finite; the range stays."""
        self._extremes(array)

    @property
    def has_data(self) -> bool:
        """True: the range is known before any value is."""
        return True

    def observed_range(self) -> tuple[Array, Array]:
        """Return the ends that the least and the greatest code stand for."""
        scale, zero = float(self.scale.payload[0]), int(self.zero_point.payload[0])
        return np.array((self.quant_min - zero) * scale), np.array((self.quant_max - zero) * scale)

    def qparams(self) -> tuple[Array, Array]:
        """Return scale (float32) and zero point (int64)."""
        return np.asarray(self.scale.payload[0]), np.asarray(self.zero_point.payload[0], np.int64)

    def check_range(self, low: float, high: float) -> None:
        """Raise `QuantizationError`: a fixed range cannot be moved."""
        raise QuantizationError(
            f"the range of this observer is fixed, scale {float(self.scale.payload[0]):.6g} and zero point "
            f"{int(self.zero_point.payload[0])}: give its layer another observer to choose a range by hand"
        )

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Return scale and zero point as they were given."""
        return self.scale, self.zero_point

    def reset(self) -> None:
        """Forget the counts; the range stays."""
        with self._lock:
            self.batches = self.nan_count = self.inf_count = 0
            self.serial = None

    def extra_repr(self) -> str:
        """Return scale and zero point."""
        return f"scale={float(self.scale.payload[0]):.6g}, zero_point={int(self.zero_point.payload[0])}"

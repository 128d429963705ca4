"""Functions between modules on codes: sums, products, joins, and the calls of ops in a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.base.dtypes import float32, quint8
from workbench.base.errors import QuantizationError
from workbench.core.op import ops
from workbench.nn import functional
from workbench.ops.quantized.arithmetic import recoded
from workbench.ops.quantized.quantize import DEQUANTIZE, QUANTIZE_PER_TENSOR
from workbench.ops.quantized.scalars import QUANTIZED_ADD_SCALAR, QUANTIZED_MUL_SCALAR
from workbench.ops.shape.join import cat
from workbench.quantization.float_functional import INSTEAD, FloatFunctional, FXFloatFunctional
from workbench.quantization.observed import observer_of
from workbench.quantization.quantized.boundary import QuantizedModule, require_codes

__all__ = ["FXFloatFunctional", "FloatFunctional", "QFunction", "QFunctional"]


def _is_codes(one: Any) -> bool:
    return bool(getattr(one.payload.dtype, "quantized", False))


def _on_numbers(name: str, numbers: Sequence[Any], relu: bool = False, **params: Any) -> Any:
    """Return what an op makes of the numbers that codes stand for."""
    out = getattr(ops, name)(*numbers, **params)
    out = out[0] if isinstance(out, tuple) else out
    return functional.relu(out) if relu else out


class QFunctional(QuantizedModule):
    """The same functions on codes, with the scale and the zero point of what they return.

    q = quantize(f(dequantize(x), dequantize(y))). Beside codes there may be numbers in floating point, such as a
    parameter: they are taken as they are, and rounded once, with the result.
    """

    def __init__(self) -> None:
        super().__init__()
        self.dtype = quint8
        self.known = True
        """False where calibration never came by: then there is no scale for a result."""

    @classmethod
    def from_float(cls, module: Any) -> Any:
        """Return the form on codes of an observed `FloatFunctional`."""
        observer = observer_of(module)
        made = cls()
        made.dtype = observer.dtype
        made.known = observer.has_range
        if made.known:
            made.set_output(observer)
        return made

    def forward(self, x: Any) -> Any:
        """Refuse: a method says which function is meant."""
        raise QuantizationError(f"QFunctional is not called itself: call its {INSTEAD}")

    def _numbers(self, *inputs: Any) -> list[Any]:
        """Return what codes stand for, and floating point numbers beside them as they are."""
        in_codes = any(_is_codes(one) for one in inputs)
        for one in inputs:
            if not (in_codes and one.dtype.is_floating_point):
                require_codes(self, one)
        return [DEQUANTIZE(one) if _is_codes(one) else one.to(float32) for one in inputs]

    def _output(self) -> dict[str, Any]:
        if not self.known:
            raise QuantizationError(
                "not calibrated: this QFunctional has seen no values before convert(), so its result has no scale; "
                "calibrate with data that reaches it"
            )
        return self._coding()

    def _codes(self, result: Any) -> Any:
        return QUANTIZE_PER_TENSOR(result, **self._output(), dtype=self.dtype)

    def _combined(self, name: str, x: Any, y: Any, **settings: Any) -> Any:
        """Return what the op on codes makes of two tensors; it writes the type that the first has."""
        numbers = self._numbers(x, y)
        if x.dtype is not self.dtype or not _is_codes(y):
            # Codes of another type come out, or there are none: by way of the numbers.
            return self._codes(_on_numbers(name, numbers, **settings))
        return getattr(ops, f"quantized_{name}")(x, y, **self._output(), **settings)

    def add(self, x: Any, y: Any) -> Any:
        """Return x + y."""
        return self._combined("add", x, y, relu=False)

    def add_scalar(self, x: Any, y: float) -> Any:
        """Return x + y for a number y."""
        require_codes(self, x)
        return QUANTIZED_ADD_SCALAR(x, value=float(y), relu=False)

    def mul(self, x: Any, y: Any) -> Any:
        """Return x · y."""
        return self._combined("mul", x, y, relu=False)

    def mul_scalar(self, x: Any, y: float) -> Any:
        """Return x · y for a number y."""
        require_codes(self, x)
        return QUANTIZED_MUL_SCALAR(x, value=float(y), relu=False)

    def cat(self, x: Sequence[Any], dim: int = 0) -> Any:
        """Return tensors joined along `dim`."""
        if x and all(_is_codes(one) and one.dtype is self.dtype for one in x):
            return cat([recoded(one, **self._output()) for one in x], dim=dim)
        return self._codes(cat(self._numbers(*x), dim=dim))

    def add_relu(self, x: Any, y: Any) -> Any:
        """Return max(x + y, 0)."""
        return self._combined("add", x, y, relu=True)

    def matmul(self, x: Any, y: Any) -> Any:
        """Return the product of two matrices."""
        return self._combined("matmul", x, y)

    def extra_repr(self) -> str:
        """Return scale and zero point."""
        return self._output_repr()


class QFunction(QuantizedModule):
    """One call of an op in a graph, on codes: a sum, a product, a function of one value.

    q = quantize(f(dequantize(x), …)), with the scale and the zero point that were observed. What the op takes beside
    values, such as a norm's weight, is floating point.

    >>> import workbench as wb
    >>> x = wb.quantize_per_tensor(wb.tensor([1.0, -2.0]), 0.5, 10, wb.quint8)
    >>> QFunction("add", relu=True)(x, x).dequantize()
    tensor([2., 0.])
    """

    def __init__(self, op: str, *, relu: bool = False, **params: Any) -> None:
        super().__init__()
        self.op, self.params, self.relu, self.dtype = op, params, relu, quint8

    def set_output(self, observer: Any) -> None:
        """Take scale, zero point, type and limits of the codes from what was observed."""
        super().set_output(observer)
        self.dtype = observer.dtype

    def forward(self, *inputs: Any) -> Any:
        """Call the op on codes."""
        rule: Any = getattr(ops, self.op).quantized
        for place, one in enumerate(inputs):
            if rule.role(place) != "plain":
                require_codes(self, one)
        if inputs[0].dtype is self.dtype:
            told = rule.parameters(self.params, **self._coding())
            return getattr(ops, rule.kernel)(*inputs, **(told | {"relu": True} if self.relu else told))
        # The kernel writes the type that it reads.
        numbers = [DEQUANTIZE(one) if _is_codes(one) else one for one in inputs]
        result = _on_numbers(self.op, numbers, self.relu, **self.params)
        return QUANTIZE_PER_TENSOR(result, **self._coding(), dtype=self.dtype)

    def extra_repr(self) -> str:
        """Return the op, what it is told, scale and zero point."""
        told = {**self.params, "relu": True} if self.relu else self.params
        words = [self.op, *(f"{key}={one}" for key, one in told.items()), self._output_repr()]
        return ", ".join(words if self.dtype is quint8 else [*words, f"dtype={self.dtype.name}"])

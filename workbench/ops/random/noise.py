"""Numbers drawn one after the other from a generator's stream: the distributions, and the one way to draw from them.

A trace is told of each draw and makes it an input of its graph, which a run draws anew from the default generator, in
the order of the function: so a graph draws what the function would draw. What is drawn follows from sizes and plain
numbers alone. A distribution whose parameters are tensors is computed from such draws by ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from workbench.base.dtypes import half_width
from workbench.base.errors import DTypeError
from workbench.base.random import Generator, default_generator
from workbench.core.stack import tell_noise
from workbench.core.value import new

__all__ = ["DRAWS", "check_bounds", "evenly", "noise", "numbers_drawn"]

Draw = Callable[..., Any]
"""Draws numbers: ``draw(stream, sizes, dtype, …)``."""


def noise(
    kind: str, sizes: Any, dtype: Any, *arguments: Any, generator: Generator | None = None, **keywords: Any
) -> Any:
    """Return numbers of one of the distributions `DRAWS`, as a tensor without names.

    While a function is traced they are a value of its graph.

    >>> noise("randint", (2,), np.dtype(np.int64), 5, 6)
    tensor([5, 5])
    """
    source = default_generator if generator is None else generator
    if getattr(dtype, "quantized", False):
        raise DTypeError(
            f"{dtype.name} are codes, and numbers are drawn as such: draw them in float32, and quantize them"
        )
    # What runs a call on values without numbers draws nothing, and whoever writes it down knows what it stands for.
    known = tell_noise(kind, sizes, np.dtype(dtype), arguments, keywords, source)
    return new(numbers_drawn(source, kind, sizes, dtype, arguments, keywords)) if known is None else known


def numbers_drawn(
    generator: Generator, kind: str, sizes: Any, dtype: Any, arguments: Any, keywords: Any
) -> np.ndarray[Any, Any]:
    """Draw now, whoever looks on."""
    drawn = DRAWS[kind](generator.numpy, sizes, dtype, *arguments, **keywords)
    if type(drawn) is np.ndarray and drawn.dtype == dtype:
        return drawn
    return np.asarray(drawn).astype(dtype, copy=False)


# ------------------------------------------------------------------------------------- one after the other


def _floats(op: str, draw: Draw) -> Draw:
    """Return a draw of floats or complex numbers of a type; those of 16 bits are drawn in float32 and rounded."""

    def drawn(stream: Any, sizes: Any, dtype: np.dtype[Any]) -> Any:
        if dtype.kind == "c":
            part = np.float32 if dtype == np.complex64 else np.float64
            # Real and imaginary part share the variance.
            scale = np.sqrt(0.5) if op == "randn" else 1.0
            return (draw(stream, sizes, part) + 1j * draw(stream, sizes, part)) * scale
        if dtype.kind not in "fV":
            raise DTypeError(
                f"{op}: values are drawn as floating point or complex numbers, not as {dtype}: use randint"
            )
        if not half_width(dtype):
            return draw(stream, sizes, dtype)
        found = np.asarray(draw(stream, sizes, np.dtype(np.float32)))
        return _fewer_bits(found, dtype) if op == "rand" else found

    return drawn


_DIGITS = {2.0**-10: 11, 2.0**-7: 8}
"""Binary digits of the 16-bit types, by the distance from 1 to the next number."""


def _fewer_bits(drawn: Any, target: Any) -> Any:
    """Return numbers in [0, 1) cut to the digits of a 16-bit type: rounded, the largest would be 1."""
    scale = 2.0 ** _DIGITS[float(ml_dtypes.finfo(target).eps)]  # type: ignore[no-untyped-call]
    return np.floor(drawn * np.float32(scale)) / np.float32(scale)


def _randint(stream: Any, sizes: Any, dtype: Any, first: int, last: int) -> Any:
    return stream.integers(first, last, sizes)


def _randperm(stream: Any, sizes: Any, dtype: Any) -> Any:
    return stream.permutation(sizes[0])


def _exponential(stream: Any, sizes: Any, dtype: Any) -> Any:
    return stream.standard_exponential(sizes)


def _gumbel(stream: Any, sizes: Any, dtype: Any) -> Any:
    return stream.gumbel(size=sizes)


# --------------------------------------------------------------------------------- what overwrites a tensor


def _draw_uniform(stream: Any, sizes: Any, dtype: Any, from_: float = 0.0, to: float = 1.0) -> Any:
    if from_ > to:
        raise ValueError(f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}")
    return evenly(stream, from_, to, sizes, dtype)


def evenly(stream: Any, from_: float, to: float, sizes: Any, dtype: np.dtype[Any]) -> Any:
    """Return numbers of a type drawn evenly from [from, to)."""
    drawn = np.asarray(stream.uniform(from_, to, sizes)).astype(dtype)
    if dtype.kind not in "fV" or from_ == to:
        return drawn
    # Rounded to the type the largest would be `to` itself, which is not to come.
    last = np.asarray(to, dtype)
    return np.where(drawn >= last, np.nextafter(last, np.asarray(from_, dtype)), drawn)


def _draw_normal(stream: Any, sizes: Any, dtype: Any, mean: float = 0.0, std: float = 1.0) -> Any:
    if std < 0:
        raise ValueError(f"normal_ expects std >= 0.0, but found std {std}")
    return stream.normal(mean, std, sizes)


def _draw_exponential(stream: Any, sizes: Any, dtype: Any, lambd: float = 1.0) -> Any:
    if lambd <= 0:
        raise ValueError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return stream.standard_exponential(sizes) / lambd


def _draw_geometric(stream: Any, sizes: Any, dtype: Any, p: float) -> Any:
    if not 0 < p < 1:
        raise ValueError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    # An exponential draw rounded up is a geometric one.
    return np.ceil(stream.standard_exponential(sizes) / -np.log1p(-p))


def _draw_cauchy(stream: Any, sizes: Any, dtype: Any, median: float = 0.0, sigma: float = 1.0) -> Any:
    if sigma <= 0:
        raise ValueError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return median + sigma * np.tan(np.pi * (stream.random(sizes) - 0.5))


def _draw_log_normal(stream: Any, sizes: Any, dtype: Any, mean: float = 1.0, std: float = 2.0) -> Any:
    if std <= 0:
        raise ValueError(f"log_normal_ expects std > 0.0, but found std={std}")
    return np.exp(stream.normal(mean, std, sizes))


def _draw_random(
    stream: Any, sizes: Any, dtype: np.dtype[Any], from_: int | None = None, to: int | None = None
) -> Any:
    """Whole numbers in [from, to), in [0, to), or all that the type holds exactly."""
    if to is None and from_ is not None:
        from_, to = 0, from_
    if to is None:
        bits = {"b": 1, "u": 8 * dtype.itemsize, "i": 8 * dtype.itemsize - 1}.get(dtype.kind)
        to = 2 ** (bits if bits is not None else np.finfo(dtype).nmant + 1 if dtype.kind == "f" else 8)
    low = from_ or 0
    if low >= to:
        raise ValueError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={to}")
    check_bounds("random_", low, to, dtype)
    return stream.integers(low, to, sizes)


def check_bounds(op: str, low: int, to: int, dtype: np.dtype[Any]) -> None:
    """Refuse bounds of whole numbers of which the type has not all."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        least, most = int(limits.min), int(limits.max)
    elif dtype.kind in "fV":
        most = int(float(ml_dtypes.finfo(dtype).max))  # type: ignore[no-untyped-call]
        least = -most
    else:
        return
    if low < least or to - 1 > most:
        raise ValueError(
            f"{op}: {'from' if low < least else 'to - 1'} is out of bounds for {dtype}, which holds {least} to {most}: "
            f"got from={low}, to={to}"
        )


DRAWS: dict[str, Draw] = {
    "rand": _floats("rand", lambda stream, sizes, dtype: stream.random(sizes, dtype)),
    "randn": _floats("randn", lambda stream, sizes, dtype: stream.standard_normal(sizes, dtype)),
    "randint": _randint,
    "randperm": _randperm,
    "exponential": _exponential,
    "gumbel": _gumbel,
    "uniform_": _draw_uniform,
    "normal_": _draw_normal,
    "exponential_": _draw_exponential,
    "geometric_": _draw_geometric,
    "cauchy_": _draw_cauchy,
    "log_normal_": _draw_log_normal,
    "random_": _draw_random,
}
"""The distributions by name; those that end in ``_`` are what the methods of that name overwrite a tensor with."""

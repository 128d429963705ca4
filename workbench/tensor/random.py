"""Random tensors: drawn from a generator's stream, like another tensor, by a distribution's parameters, or in place."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.base.dtypes import as_dtype, get_default_dtype, half_width
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.random import Generator, default_generator
from workbench.core import dispatch
from workbench.core.inplace import write
from workbench.core.typing import DeviceLike, DTypeLike, Size
from workbench.core.value import new
from workbench.tensor.factories import finish, sizes_of
from workbench.tensor.tensor import Tensor
from workbench.tensor.type_queries import finfo

__all__ = [
    "bernoulli", "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "randperm",
]  # fmt: skip


def _stream(generator: Generator | None) -> Any:
    return (default_generator if generator is None else generator).numpy


Draw = Callable[[Any, tuple[int, ...], Any], Any]
"""Draws numbers: ``draw(stream, sizes, dtype)``."""


def _draw(op: str, draw: Draw, sizes: tuple[int, ...], dtype: Any, generator: Generator | None) -> Any:
    """Draw floats or complex numbers of a type; those of 16 bits are drawn in float32 and rounded."""
    target = (get_default_dtype() if dtype is None else as_dtype(dtype)).numpy
    stream = _stream(generator)
    if target.kind == "c":
        part = np.float32 if target == np.complex64 else np.float64
        # Real and imaginary part share the variance.
        scale = np.sqrt(0.5) if op == "randn" else 1.0
        return ((draw(stream, sizes, part) + 1j * draw(stream, sizes, part)) * scale).astype(target)
    if target.kind not in "fV":
        raise DTypeError(
            f"{op}: values are drawn as floating point or complex numbers, not as {target}: use randint"
        )
    if not half_width(target):
        return np.asarray(draw(stream, sizes, target))
    drawn = np.asarray(draw(stream, sizes, np.dtype(np.float32)))
    return (_fewer_bits(drawn, target) if op == "rand" else drawn).astype(target)


_DIGITS = {2.0**-10: 11, 2.0**-7: 8}
"""Binary digits of the 16-bit types, by the distance from 1 to the next number."""


def _fewer_bits(drawn: Any, target: Any) -> Any:
    """Return numbers in [0, 1) cut to the digits of a 16-bit type: rounded, the largest would be 1."""
    scale = 2.0 ** _DIGITS[finfo(target).eps]
    return np.floor(drawn * np.float32(scale)) / np.float32(scale)


def _drawn(op: str, draw: Draw, doc: str) -> Callable[..., Tensor]:
    def factory(
        *size: Size,
        names: Sequence[str | None] | None = None,
        dtype: DTypeLike | None = None,
        device: DeviceLike | None = None,
        generator: Generator | None = None,
        requires_grad: bool = False,
        **dims: int,
    ) -> Tensor:
        sizes, names = sizes_of(op, size, names, dims)
        return finish(_draw(op, draw, sizes, dtype, generator), names, requires_grad, device)

    factory.__name__ = factory.__qualname__ = op
    factory.__doc__ = doc
    return factory


def _like(op: str, draw: Draw, doc: str) -> Callable[..., Tensor]:
    def factory(
        input: Tensor,
        *,
        dtype: DTypeLike | None = None,
        generator: Generator | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        array = _draw(op, draw, input.shape, input.dtype if dtype is None else dtype, generator)
        return finish(array, input._names, requires_grad, input.device)

    factory.__name__ = factory.__qualname__ = f"{op}_like"
    factory.__doc__ = doc
    return factory


def _uniform(stream: Any, size: tuple[int, ...], dtype: Any) -> Any:
    return stream.random(size, dtype)


def _normal(stream: Any, size: tuple[int, ...], dtype: Any) -> Any:
    return stream.standard_normal(size, dtype)


rand = _drawn(
    "rand", _uniform, "Return values drawn evenly from [0, 1): ``rand(2, 3)`` or ``rand(N=2, C=3)``."
)
randn = _drawn(
    "randn", _normal, "Return values drawn from the standard normal: ``randn(2, 3)`` or ``randn(N=2, C=3)``."
)
rand_like = _like(
    "rand", _uniform, "Return values drawn evenly from [0, 1), with the dims, names and type of `input`."
)
randn_like = _like(
    "randn",
    _normal,
    "Return values drawn from the standard normal, with the dims, names and type of `input`.",
)


def randint(
    low: int,
    high: int | Sequence[int] | None = None,
    size: Sequence[int] = (),
    *,
    names: Sequence[str | None] | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
    **dims: int,
) -> Tensor:
    """Return whole numbers drawn evenly from [low, high), or from [0, low) if only one bound is given.

    Sizes stand in `size`, or by name as in ``randint(0, 10, N=2, C=3)``. Raises ValueError for an empty range.

    >>> randint(5, 6, (2,))
    tensor([5, 5])
    """
    last: Any = high
    if isinstance(high, tuple | list):
        last, size = None, high  # randint(high, size)
    first, last = (0, low) if last is None else (low, last)
    if first >= last:
        raise ValueError(f"random_ expects 'from' to be less than 'to', but got from={first} >= to={last}")
    sizes, names = sizes_of("randint", () if dims and not size else (tuple(size),), names, dims)
    _check_bounds("randint", int(first), int(last), as_dtype(dtype or int).numpy)
    drawn = np.asarray(_stream(generator).integers(first, last, sizes))
    return finish(drawn.astype(as_dtype(dtype or int).numpy), names, requires_grad, device)


def randint_like(
    input: Tensor,
    low: int,
    high: int | None = None,
    *,
    dtype: DTypeLike | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Return whole numbers drawn evenly from [low, high), with the dims and names of `input`."""
    drawn = randint(low, high, input.shape, dtype=dtype or input.dtype, generator=generator)
    return finish(drawn.payload, input._names, False, input.device)


def randperm(n: int, *, dtype: DTypeLike | None = None, generator: Generator | None = None) -> Tensor:
    """Return 0 … n-1 in random order. Raises ValueError for a negative `n`."""
    if n < 0:
        raise ValueError(f"n must be non-negative, got {n}")
    return finish(
        np.asarray(_stream(generator).permutation(n)).astype(as_dtype(dtype or int).numpy), None, False
    )


def _probabilities(op: str, input: Tensor) -> Any:
    array = dispatch.numbers(input)
    if not bool(((array >= 0) & (array <= 1)).all()):
        raise ValueError(f"{op}: expected probabilities in [0, 1], got values outside of it or NaN")
    return array


def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """Return 1 with the probability that stands in `input` (or with `p`), else 0. Dims, names and type stay.

    >>> import workbench as wb
    >>> wb.bernoulli(wb.tensor([0.0, 1.0]))
    tensor([0.0000, 1.0000])
    """
    chance = _probabilities("bernoulli", input) if p is None else p
    if p is not None and not 0 <= p <= 1:
        raise ValueError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    drawn = _stream(generator).random(input.shape) < chance
    return finish(np.asarray(drawn).astype(input.payload.dtype), input._names, False, input.device)


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Return counts drawn from Poisson distributions of the rates in `input`. Dims, names and type stay."""
    rates = dispatch.numbers(input)
    if not bool((rates >= 0).all()):
        raise ValueError("invalid Poisson rate, expected all rates to be non-negative")
    drawn = np.asarray(_stream(generator).poisson(rates))
    return finish(drawn.astype(input.payload.dtype), input._names, False, input.device)


def normal(
    mean: Tensor | float = 0.0,
    std: Tensor | float = 1.0,
    size: Size | None = None,
    *,
    names: Sequence[str | None] | None = None,
    generator: Generator | None = None,
    **dims: int,
) -> Tensor:
    """Return values drawn from normal distributions: mean and spread by tensor or number, or of one `size`.

    Sizes by name go as well: ``normal(0, 1, N=2, C=3)``. Raises ValueError for a negative spread.
    """
    spread = dispatch.numbers(std) if isinstance(std, Tensor) else np.asarray(std, np.float32)
    if not bool((spread >= 0).all()):
        raise ValueError(f"normal expects std >= 0.0, but found std {spread.min() if spread.size else std}")
    if size is None and not dims:
        size = np.broadcast_shapes(np.shape(_plain(mean)), spread.shape)
    given = () if size is None else (size,) if isinstance(size, int) else tuple(size)
    sizes, names = sizes_of("normal", given, names, dims)
    noise = randn(sizes, names=names, generator=generator)
    with dispatch.no_grad():
        return noise * std + mean


def _plain(value: Any) -> Any:
    return value.payload if isinstance(value, Tensor) else value


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Return indices drawn with the weights in each row of `input`: dims [..., C] give [..., num_samples], int64.

    Weights are non-negative and need not sum to 1. Without replacement an index is drawn once at most, by the largest
    of w / Exponential(1) (Efraimidis and Spirakis). Raises ValueError for weights that cannot be drawn from.
    """
    weights = dispatch.numbers(input)
    if weights.ndim not in (1, 2):
        raise DimensionError(f"prob_dist must be 1 or 2 dim, got {weights.ndim}", op="multinomial")
    if num_samples <= 0:
        raise ValueError("cannot sample n_sample <= 0 samples")
    if not bool(np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("probability tensor contains either `inf`, `nan` or element < 0")
    if not bool((weights.sum(-1) > 0).all()):
        raise ValueError("invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement and bool(((weights > 0).sum(-1) < num_samples).any()):
        raise ValueError(
            "cannot draw that many without replacement: fewer weights are positive than num_samples = "
            f"{num_samples}. Pass replacement=True."
        )
    stream = _stream(generator)
    # In fewer digits a sum of many weights would swallow small ones.
    wide = weights.astype(np.float64)
    if replacement:
        edges = np.cumsum(wide, -1)
        drawn = stream.random((*wide.shape[:-1], num_samples)) * edges[..., -1:]
        # Row by row: a table of all draws against all weights may be more than there is memory for.
        rows = zip(edges.reshape(-1, edges.shape[-1]), drawn.reshape(-1, num_samples), strict=True)
        # From the right, so that a weight of 0 is never drawn: its edge is the one before it.
        index = np.stack([np.searchsorted(edge, row, side="right") for edge, row in rows]).reshape(
            drawn.shape
        )
    else:
        keys = wide / stream.standard_exponential(wide.shape)
        index = np.argsort(-keys, axis=-1, kind="stable")[..., :num_samples]
    names = None if input._names is None else (*input._names[:-1], None)
    return finish(index.astype(np.int64), names if names is not None and any(names) else None, False)


# ------------------------------------------------------------------------------------------------ in place


def _refilled(name: str, draw: Callable[..., Any], doc: str) -> Callable[..., Tensor]:
    """Return a method that overwrites a tensor with what ``draw(stream, sizes, …)`` gives."""

    def method(self: Tensor, *arguments: Any, generator: Generator | None = None, **keywords: Any) -> Tensor:
        array = np.asarray(draw(_stream(generator), self.shape, self, *arguments, **keywords))
        return write(self, name, lambda old: new(array.astype(self.payload.dtype, copy=False)))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = doc
    own, given = inspect.signature(method).parameters, inspect.signature(draw).parameters
    # The first three (stream, sizes, the tensor) are not the caller's to give.
    parameters = [own["self"], *list(given.values())[3:], own["generator"]]
    method.__signature__ = inspect.Signature(parameters, return_annotation="Tensor")  # type: ignore[attr-defined]
    return method


def _draw_uniform(stream: Any, sizes: Any, like: Tensor, from_: float = 0.0, to: float = 1.0) -> Any:
    if from_ > to:
        raise ValueError(f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}")
    return evenly(stream, from_, to, sizes, like.payload.dtype)


def evenly(stream: Any, from_: float, to: float, sizes: Any, dtype: np.dtype[Any]) -> Any:
    """Return numbers of a type drawn evenly from [from, to)."""
    drawn = np.asarray(stream.uniform(from_, to, sizes)).astype(dtype)
    if dtype.kind not in "fV" or from_ == to:
        return drawn
    # Rounded to the type the largest would be `to` itself, which is not to come.
    last = np.asarray(to, dtype)
    return np.where(drawn >= last, np.nextafter(last, np.asarray(from_, dtype)), drawn)


def _draw_normal(stream: Any, sizes: Any, like: Tensor, mean: float = 0.0, std: float = 1.0) -> Any:
    if std < 0:
        raise ValueError(f"normal_ expects std >= 0.0, but found std {std}")
    return stream.normal(mean, std, sizes)


def _draw_exponential(stream: Any, sizes: Any, like: Tensor, lambd: float = 1.0) -> Any:
    if lambd <= 0:
        raise ValueError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return stream.standard_exponential(sizes) / lambd


def _draw_geometric(stream: Any, sizes: Any, like: Tensor, p: float) -> Any:
    if not 0 < p < 1:
        raise ValueError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    # An exponential draw rounded up is a geometric one.
    return np.ceil(stream.standard_exponential(sizes) / -np.log1p(-p))


def _draw_cauchy(stream: Any, sizes: Any, like: Tensor, median: float = 0.0, sigma: float = 1.0) -> Any:
    if sigma <= 0:
        raise ValueError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return median + sigma * np.tan(np.pi * (stream.random(sizes) - 0.5))


def _draw_log_normal(stream: Any, sizes: Any, like: Tensor, mean: float = 1.0, std: float = 2.0) -> Any:
    if std <= 0:
        raise ValueError(f"log_normal_ expects std > 0.0, but found std={std}")
    return np.exp(stream.normal(mean, std, sizes))


def _draw_bernoulli(stream: Any, sizes: Any, like: Tensor, p: Tensor | float = 0.5) -> Any:
    chance = _probabilities("bernoulli_", p) if isinstance(p, Tensor) else p
    if not isinstance(p, Tensor) and not 0 <= p <= 1:
        raise ValueError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return stream.random(sizes) < chance


def _draw_random(
    stream: Any, sizes: Any, like: Tensor, from_: int | None = None, to: int | None = None
) -> Any:
    """Whole numbers in [from, to), in [0, to), or all that the type holds exactly."""
    if to is None and from_ is not None:
        from_, to = 0, from_
    if to is None:
        kind = like.payload.dtype
        bits = {"b": 1, "u": 8 * kind.itemsize, "i": 8 * kind.itemsize - 1}.get(kind.kind)
        to = 2 ** (bits if bits is not None else np.finfo(kind).nmant + 1 if kind.kind == "f" else 8)
    low = from_ or 0
    if low >= to:
        raise ValueError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={to}")
    _check_bounds("random_", low, to, like.payload.dtype)
    return stream.integers(low, to, sizes)


def _check_bounds(op: str, low: int, to: int, dtype: np.dtype[Any]) -> None:
    """Refuse bounds of whole numbers of which the type has not all."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        least, most = int(limits.min), int(limits.max)
    elif dtype.kind in "fV":
        most = int(finfo(dtype).max)
        least = -most
    else:
        return
    if low < least or to - 1 > most:
        raise ValueError(
            f"{op}: {'from' if low < least else 'to - 1'} is out of bounds for {dtype}, which holds {least} to {most}: "
            f"got from={low}, to={to}"
        )


METHODS: dict[str, Any] = {
    "bernoulli": bernoulli,
    "multinomial": multinomial,
    "uniform_": _refilled("uniform_", _draw_uniform, "Overwrite with values drawn evenly from [from, to)."),
    "normal_": _refilled("normal_", _draw_normal, "Overwrite with values drawn from a normal distribution."),
    "exponential_": _refilled(
        "exponential_", _draw_exponential, "Overwrite with exponential draws of rate `lambd`."
    ),
    "geometric_": _refilled(
        "geometric_", _draw_geometric, "Overwrite with the number of trials to a first success."
    ),
    "cauchy_": _refilled("cauchy_", _draw_cauchy, "Overwrite with draws from a Cauchy distribution."),
    "log_normal_": _refilled(
        "log_normal_", _draw_log_normal, "Overwrite with e to the power of normal draws."
    ),
    "bernoulli_": _refilled("bernoulli_", _draw_bernoulli, "Overwrite with 1 with probability `p`, else 0."),
    "random_": _refilled("random_", _draw_random, "Overwrite with whole numbers drawn evenly."),
}
"""What a tensor offers of these."""

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)

"""Random tensors: drawn from a generator's stream, like another tensor, by a distribution's parameters, or in place."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.base.dims import broadcast_sizes
from workbench.base.dtypes import as_numbers, get_default_dtype, plain_dtype
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.random import Generator
from workbench.base.symbolic_size import SymbolicSize, whole
from workbench.core import dispatch
from workbench.core.inplace import write
from workbench.core.op import ops
from workbench.core.typing import DeviceLike, DTypeLike, Size
from workbench.core.value import Abstract, Value, new
from workbench.ops import offered
from workbench.ops.random.counter_based import seed_from
from workbench.ops.random.noise import DRAWS, check_bounds, noise
from workbench.ops.shape.creation_words import creating, like, said
from workbench.tensor.factories import finish, settled, sizes_of
from workbench.tensor.tensor import Tensor

__all__ = [
    "bernoulli", "binomial", "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like",
    "randn", "randn_like", "randperm",
]  # fmt: skip


def _made(
    value: Any, names: Any = None, requires_grad: bool = False, device: DeviceLike | None = None
) -> Tensor:
    """Return what was drawn under names and on a device: numbers, or a value of a graph that a run draws anew."""
    if isinstance(value.payload, Abstract):
        return settled(value, names, requires_grad, device)
    return finish(value.payload, names, requires_grad, device)


def _bare(value: Any) -> Any:
    """Return a tensor's numbers without names, on the CPU; a value of a trace, which has none, without names."""
    array = value.payload
    if isinstance(array, Abstract) and array.numbers(value) is None:
        return value if value._names is None else ops.rename(value, names=None)
    return new(dispatch.numbers(value))


def _has_numbers(value: Any) -> bool:
    return not isinstance(value.payload, Abstract)


def _type(dtype: DTypeLike | None) -> np.dtype[Any]:
    found: np.dtype[Any] = (get_default_dtype() if dtype is None else plain_dtype(dtype)).numpy
    return found


def _drawn(op: str, doc: str) -> Callable[..., Tensor]:
    def factory(
        *size: Size,
        names: Sequence[str | None] | None = None,
        dtype: DTypeLike | None = None,
        device: DeviceLike | None = None,
        generator: Generator | None = None,
        requires_grad: bool = False,
        **dims: int,
    ) -> Tensor:
        if dims and said(dims):
            words: dict[str, Any] = {
                **dims,
                "names": names,
                "dtype": dtype,
                "device": device,
                "requires_grad": requires_grad,
            }
            return worded(*size, generator=generator, **words)
        sizes, names = sizes_of(op, size, names, dims)
        return _made(noise(op, sizes, _type(dtype), generator=generator), names, requires_grad, device)

    factory.__name__ = factory.__qualname__ = op
    factory.__doc__ = doc
    worded = creating()(factory)
    return like(factory, worded)


def _like(op: str, doc: str) -> Callable[..., Tensor]:
    def factory(
        input: Tensor,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceLike | None = None,
        generator: Generator | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        kind = _type(input.dtype if dtype is None else dtype)
        drawn = noise(op, input.shape, kind, generator=generator)
        return _made(drawn, input._names, requires_grad, input.device if device is None else device)

    factory.__name__ = factory.__qualname__ = f"{op}_like"
    factory.__doc__ = doc
    return creating(out=False, memory_format=True)(factory)


rand = _drawn("rand", "Return values drawn evenly from [0, 1): ``rand(2, 3)`` or ``rand(N=2, C=3)``.")
randn = _drawn(
    "randn", "Return values drawn from the standard normal: ``randn(2, 3)`` or ``randn(N=2, C=3)``."
)
rand_like = _like("rand", "Return values drawn evenly from [0, 1), with the dims, names and type of `input`.")
randn_like = _like(
    "randn", "Return values drawn from the standard normal, with the dims, names and type of `input`."
)


@creating()
def randint(
    low: int = 0,
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
    target, first, last = plain_dtype(dtype or int).numpy, whole(first), whole(last)
    check_bounds("randint", first, last, target)
    drawn = noise("randint", sizes, target, first, last, generator=generator)
    return _made(drawn, names, requires_grad, device)


@creating(out=False, memory_format=True)
def randint_like(
    input: Tensor,
    low: int,
    high: int | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Return whole numbers drawn evenly from [low, high), with the dims and names of `input`."""
    drawn = randint(low, high, input.shape, dtype=dtype or input.dtype, generator=generator)
    return _made(drawn, input._names, False, input.device if device is None else device)


@creating()
def randperm(n: int, *, dtype: DTypeLike | None = None, generator: Generator | None = None) -> Tensor:
    """Return 0 … n-1 in random order. Raises ValueError for a negative `n`."""
    if n < 0:
        raise ValueError(f"n must be non-negative, got {n}")
    return _made(noise("randperm", (n,), plain_dtype(dtype or int).numpy, generator=generator))


def _require_numbers(op: str, *values: Any) -> None:
    """Refuse codes: chances, rates and counts are numbers."""
    for one in values:
        dtype = one.payload.dtype if isinstance(one, Value) else one
        if getattr(dtype, "quantized", False):
            raise DTypeError(
                f"{op} takes and gives plain numbers, and was given codes, {dtype.name}: use "
                f"{as_numbers('x', dtype)}"
            )


def _hits(op: str, sizes: Any, dtype: Any, chance: Tensor | float, generator: Generator | None) -> Any:
    """Return 1 with a probability, a number or one for each place, else 0. Those of a trace are not checked."""
    likely: Any = chance
    _require_numbers("bernoulli", dtype, chance)
    if isinstance(chance, Value):
        likely = _bare(chance)
        array = likely.payload
        if _has_numbers(likely) and not bool(((array >= 0) & (array <= 1)).all()):
            raise ValueError(f"{op}: expected probabilities in [0, 1], got values outside of it or NaN")
    elif not 0 <= chance <= 1:
        raise ValueError(f"bernoulli_ expects p to be in [0, 1], but got p={chance}")
    drawn = noise("rand", sizes, np.dtype(np.float64), generator=generator)
    if _has_numbers(drawn) and not (isinstance(likely, Value) and not _has_numbers(likely)):
        # What the ops below compute, without their price.
        hit = drawn.payload < (likely.payload if isinstance(likely, Value) else likely)
        return new(np.asarray(hit).astype(dtype))
    with dispatch.no_grad():
        return ops.to(ops.lt(drawn, likely), dtype=dtype)


@offered("Tensor")
def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """Return 1 with the probability that stands in `input` (or with `p`), else 0. Dims, names and type stay.

    >>> import workbench as wb
    >>> wb.bernoulli(wb.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    hits = _hits("bernoulli", input.shape, input.payload.dtype, input if p is None else p, generator)
    return _made(hits, input._names, False, input.device)


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Return counts drawn from Poisson distributions of the rates in `input`. Dims, names and type stay.

    Raises ValueError for a rate that is negative or NaN.

    >>> import workbench as wb
    >>> wb.poisson(wb.zeros(2))
    tensor([0., 0.])
    """
    _require_numbers("poisson", input)
    rates = _bare(input)
    if _has_numbers(rates) and not bool((rates.payload >= 0).all()):
        raise ValueError("invalid Poisson rate, expected all rates to be non-negative")
    with dispatch.no_grad():
        counts = ops.to(ops.poisson(rates, seed=seed_from(generator)), dtype=input.payload.dtype)
    return _made(counts, input._names, False, input.device)


def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Return how many of `count` trials succeed, each with probability `prob`. Names unify, sizes broadcast.

    Raises ValueError for a negative count, and for a probability outside of [0, 1].

    >>> import workbench as wb
    >>> wb.binomial(wb.tensor([3.0, 5.0]), wb.tensor([1.0, 0.0]))
    tensor([3., 0.])
    """
    _require_numbers("binomial", count, prob)
    for name, one, most in (("count", count, np.inf), ("prob", prob, 1.0)):
        bare = _bare(one)
        array = bare.payload
        if _has_numbers(bare) and not bool(((array >= 0) & (array <= most)).all()):
            raise ValueError(
                f"binomial: expected {name} to be {'in [0, 1]' if most == 1 else 'non-negative'}, got values outside "
                "of it or NaN"
            )
    with dispatch.no_grad():
        return ops.binomial(count, prob, seed=seed_from(generator))


@creating()
def normal(
    mean: Tensor | float = 0.0,
    std: Tensor | float = 1.0,
    size: Size | None = None,
    *,
    names: Sequence[str | None] | None = None,
    dtype: DTypeLike | None = None,
    generator: Generator | None = None,
    **dims: int,
) -> Tensor:
    """Return values drawn from normal distributions: mean and spread by tensor or number, or of one `size`.

    Sizes by name go as well: ``normal(0, 1, N=2, C=3)``. Raises ValueError for a negative spread.
    """
    spread = _bare(std).payload if isinstance(std, Tensor) else np.asarray(std, np.float32)
    if not isinstance(spread, Abstract) and not bool((spread >= 0).all()):
        raise ValueError(f"normal expects std >= 0.0, but found std {spread.min() if spread.size else std}")
    if size is None and not dims:
        size = broadcast_sizes(mean.payload.shape if isinstance(mean, Tensor) else (), spread.shape)
    given = () if size is None else (size,) if isinstance(size, int | SymbolicSize) else tuple(size)
    sizes, names = sizes_of("normal", given, names, dims)
    drawn = randn(sizes, names=names, dtype=dtype, generator=generator)
    with dispatch.no_grad():
        return drawn * std + mean


@offered("Tensor")
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Return indices drawn with the weights in each row of `input`: dims [..., C] give [..., num_samples], int64.

    Weights are non-negative and need not sum to 1. Without replacement an index is drawn once at most, by the largest
    of w / Exponential(1) (Efraimidis and Spirakis). Raises ValueError for weights that cannot be drawn from.
    """
    weights = _bare(input)
    ndim = len(weights.payload.shape)
    if ndim not in (1, 2):
        raise DimensionError(f"prob_dist must be 1 or 2 dim, got {ndim}", op="multinomial")
    if num_samples <= 0:
        raise ValueError("cannot sample n_sample <= 0 samples")
    if _has_numbers(weights):
        _check_weights(weights.payload, num_samples, replacement)
    with dispatch.no_grad():
        index = _picked(weights, num_samples, replacement, generator)
    names = None if input._names is None else (*input._names[:-1], None)
    return _made(index, names if names is not None and any(names) else None)


def _check_weights(weights: Any, num_samples: int, replacement: bool) -> None:
    """Refuse weights that cannot be drawn from."""
    if not bool(np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("probability tensor contains either `inf`, `nan` or element < 0")
    if not bool((weights.sum(-1) > 0).all()):
        raise ValueError("invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement and bool(((weights > 0).sum(-1) < num_samples).any()):
        raise ValueError(
            "cannot draw that many without replacement: fewer weights are positive than num_samples = "
            f"{num_samples}. Pass replacement=True."
        )


def _picked(weights: Any, num_samples: int, replacement: bool, generator: Generator | None) -> Any:
    """Return the indices that are drawn, by ops, which a trace writes down."""
    # In fewer digits a sum of many weights would swallow small ones.
    kind = np.dtype(np.float64)
    wide = ops.to(weights, dtype=kind)
    sizes = wide.payload.shape
    last = len(sizes) - 1
    if not replacement:
        keys = ops.div(wide, noise("exponential", sizes, kind, generator=generator))
        return ops.sort(ops.neg(keys), dim=last, descending=False)[1][..., :num_samples]
    edges = ops.cumsum(wide, dim=last)
    share = noise("rand", (*sizes[:-1], num_samples), kind, generator=generator)
    # From the right, so that a weight of 0 is never drawn: its edge is the one before it.
    return ops.searchsorted(edges, ops.mul(share, edges[..., -1:]), right=True, narrow=False)


# ------------------------------------------------------------------------------------------------ in place


def _refilled(name: str, doc: str) -> Callable[..., Tensor]:
    """Return a method that overwrites a tensor with numbers of the distribution of that name."""
    draw = DRAWS[name]

    def method(self: Tensor, *arguments: Any, generator: Generator | None = None, **keywords: Any) -> Tensor:
        if "from" in keywords:  # PyTorch's word, which Python's grammar leaves to dicts
            keywords["from_"] = keywords.pop("from")
        drawn = noise(name, self.shape, self.payload.dtype, *arguments, generator=generator, **keywords)
        return write(self, name, lambda old: drawn)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = doc
    own, given = inspect.signature(method).parameters, inspect.signature(draw).parameters
    # The first three (stream, sizes, type) are not the caller's to give.
    parameters = [own["self"], *list(given.values())[3:], own["generator"]]
    method.__signature__ = inspect.Signature(parameters, return_annotation="Tensor")  # type: ignore[attr-defined]
    return method


@offered("Tensor")
def bernoulli_(self: Tensor, p: Tensor | float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Overwrite with 1 with probability `p`, else 0."""
    hits = _hits("bernoulli_", self.shape, self.payload.dtype, p, generator)
    return write(self, "bernoulli_", lambda old: hits)


for _name, _doc in {
    "uniform_": "Overwrite with values drawn evenly from [from, to).",
    "normal_": "Overwrite with values drawn from a normal distribution.",
    "exponential_": "Overwrite with exponential draws of rate `lambd`.",
    "geometric_": "Overwrite with the number of trials to a first success.",
    "cauchy_": "Overwrite with draws from a Cauchy distribution.",
    "log_normal_": "Overwrite with e to the power of normal draws.",
    "random_": "Overwrite with whole numbers drawn evenly.",
}.items():
    offered("Tensor")(_refilled(_name, _doc))

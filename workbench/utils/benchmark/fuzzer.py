"""`Fuzzer`: tensors of random sizes, layouts and types, to measure what one would not have thought of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.base.dtypes import as_dtype
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["FuzzedParameter", "FuzzedTensor", "Fuzzer", "ParameterAlias"]

MOST_TRIES = 1000


@dataclass(frozen=True)
class ParameterAlias:
    """A parameter that takes the value of another: ``alias_to`` its name."""

    alias_to: str


@dataclass(frozen=True)
class FuzzedParameter:
    """A parameter with a distribution: 'uniform' or 'loguniform' from `minval` to `maxval`, or weights by value.

    Both bounds are included; whole bounds give whole numbers. With `strict`, a value of weights is taken as it is,
    otherwise a `ParameterAlias` among the values is followed.
    """

    name: str
    minval: float | None = None
    maxval: float | None = None
    distribution: str | Mapping[Any, float] | None = None
    strict: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.distribution, Mapping):
            if (
                any(weight < 0 for weight in self.distribution.values())
                or not sum(self.distribution.values()) > 0
            ):
                raise ValueError(f"{self.name}: weights must be non-negative, and one of them positive")
            return
        if self.distribution not in ("uniform", "loguniform"):
            raise ValueError(
                f"{self.name}: Unknown distribution: {self.distribution!r}. Use 'uniform', 'loguniform' or weights"
            )
        if self.minval is None or self.maxval is None or self.minval > self.maxval:
            raise ValueError(f"{self.name}: give minval and maxval, minval <= maxval")
        if self.distribution == "loguniform" and self.minval <= 0:
            raise ValueError(f"{self.name}: a loguniform parameter is positive, got minval={self.minval}")

    def sample(self, stream: np.random.Generator) -> Any:
        """Draw a value."""
        if isinstance(self.distribution, Mapping):
            values, weights = list(self.distribution), np.array(list(self.distribution.values()), float)
            return values[int(stream.choice(len(values), p=weights / weights.sum()))]
        low: Any = self.minval
        high: Any = self.maxval
        whole = isinstance(low, int) and isinstance(high, int)
        if self.distribution == "uniform":
            return int(stream.integers(low, high + 1)) if whole else float(stream.uniform(low, high))
        drawn = math.exp(stream.uniform(math.log(low), math.log(high)))
        # Rounding may lead out of the bounds.
        return min(max(round(drawn), int(low)), int(high)) if whole else drawn


@dataclass(frozen=True)
class FuzzedTensor:
    """A tensor whose `size` (and `steps` between its values) are numbers or names of parameters.

    A share of `probability_contiguous` is laid out in order; the others have permuted dims in memory. `dim_parameter`
    names a parameter that says how many dims of `size` are used. A tensor outside of `min_elements` … `max_elements`,
    or larger than `max_allocation_bytes`, is drawn again.
    """

    name: str
    size: Sequence[int | str]
    steps: Sequence[int | str] | None = None
    probability_contiguous: float = 0.5
    min_elements: int | None = None
    max_elements: int | None = None
    max_allocation_bytes: int | None = None
    dim_parameter: str | None = None
    dtype: Any = "float32"
    names: Sequence[str | None] | None = None

    def sample(
        self, params: Mapping[str, Any], stream: np.random.Generator
    ) -> tuple[Tensor, dict[str, Any]] | None:
        """Draw a tensor and what is known of it; None if it would be too small or too large."""

        def resolve(values: Sequence[int | str]) -> tuple[int, ...]:
            return tuple(int(params[one]) if isinstance(one, str) else int(one) for one in values)

        ndim = int(params[self.dim_parameter]) if self.dim_parameter else len(self.size)
        size = resolve(self.size)[:ndim]
        steps = resolve(self.steps)[:ndim] if self.steps is not None else (1,) * ndim
        dtype = as_dtype(self.dtype)
        # Larger by the steps that are taken through it below.
        raw = tuple(one * step for one, step in zip(size, steps, strict=True))
        count, taken = math.prod(size), math.prod(raw) * dtype.itemsize
        if (self.min_elements is not None and count < self.min_elements) or (
            self.max_elements is not None and count > self.max_elements
        ) or (self.max_allocation_bytes is not None and taken > self.max_allocation_bytes):  # fmt: skip
            return None
        order = np.arange(ndim)
        if ndim > 1 and stream.random() >= self.probability_contiguous:
            # Until it is not in order: that share was drawn already.
            while (order == np.arange(ndim)).all():
                order = stream.permutation(ndim)
        # Drawn in the order of memory, and turned back.
        array = _values(stream, tuple(raw[i] for i in order), dtype.numpy).transpose(np.argsort(order))
        array = array[tuple(slice(None, None, step) for step in steps)]
        value: Tensor = new(array, tuple(self.names[:ndim]) if self.names is not None else None)
        return value, {
            "numel": count,
            "order": tuple(int(one) for one in order),
            "steps": steps,
            "is_contiguous": bool(array.flags.c_contiguous),
            "dtype": dtype.name,
        }


def _values(
    stream: np.random.Generator, sizes: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray[Any, Any]:
    if dtype.kind in "biu":
        # What every type of integers can hold.
        return np.asarray(stream.integers(0, 2 if dtype.kind == "b" else 127, sizes)).astype(dtype)
    real = stream.standard_normal(sizes)
    return np.asarray(real + 1j * stream.standard_normal(sizes) if dtype.kind == "c" else real).astype(dtype)


@dataclass
class Fuzzer:
    """Draws sets of tensors by the distributions of their parameters; the same seed gives the same sets.

    `constraints` are functions of the parameters that must all hold. Raises RuntimeError where a set cannot be found.

    >>> fuzzer = Fuzzer(
    ...     [FuzzedParameter("k", 2, 8, "uniform")], [FuzzedTensor("x", ("k", 3))], seed=0)
    >>> for tensors, tensor_params, params in fuzzer.take(1):
    ...     tensors["x"].shape == (params["k"], 3), tensor_params["x"]["numel"] == params["k"] * 3
    (True, True)
    """

    parameters: Sequence[FuzzedParameter | Sequence[FuzzedParameter]]
    tensors: Sequence[FuzzedTensor | Sequence[FuzzedTensor]]
    constraints: Sequence[Callable[..., bool]] = ()
    seed: int | None = None
    _rejected: list[int] = field(default_factory=lambda: [0, 0], repr=False)

    def __post_init__(self) -> None:
        self.parameters, self.tensors = _flat(self.parameters), _flat(self.tensors)
        names = [one.name for one in (*self.parameters, *self.tensors)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"Duplicate name: {', '.join(twice)}")

    @property
    def rejection_rate(self) -> float:
        """Share of the drawn sets that broke a constraint or a bound."""
        tried, refused = self._rejected
        return refused / tried if tried else 0.0

    def take(self, n: int) -> Iterator[tuple[dict[str, Tensor], dict[str, dict[str, Any]], dict[str, Any]]]:
        """Yield `n` sets: the tensors, what is known of each, and the parameters."""
        stream = np.random.default_rng(self.seed)
        for _ in range(n):
            for _ in range(MOST_TRIES):
                found = self._draw(stream)
                self._rejected[0] += 1
                if found is not None:
                    yield found
                    break
                self._rejected[1] += 1
            else:
                raise RuntimeError(
                    f"no set of parameters met the constraints in {MOST_TRIES} tries: widen the parameters or "
                    "the bounds"
                )

    def _draw(self, stream: np.random.Generator) -> Any:
        params = {one.name: one.sample(stream) for one in self.parameters}  # type: ignore[union-attr]
        for one in self.parameters:
            value = params[one.name]  # type: ignore[union-attr]
            # An alias may lead to an alias, and must not lead back.
            seen = set()
            while isinstance(value, ParameterAlias):
                if value.alias_to in seen or value.alias_to not in params:
                    raise ValueError(f"parameter alias {value.alias_to!r} leads nowhere")
                seen.add(value.alias_to)
                value = params[value.alias_to]
            params[one.name] = value  # type: ignore[union-attr]
        if not all(holds(**params) for holds in self.constraints):
            return None
        drawn = {one.name: one.sample(params, stream) for one in self.tensors}  # type: ignore[union-attr]
        if any(one is None for one in drawn.values()):
            return None
        return {n: one[0] for n, one in drawn.items()}, {n: one[1] for n, one in drawn.items()}, params  # type: ignore[index]


def _flat(several: Sequence[Any]) -> list[Any]:
    return [one for group in several for one in (group if isinstance(group, list | tuple) else (group,))]

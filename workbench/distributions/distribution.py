"""What every distribution is: shapes and names of batches and events, checks, draws, densities."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

from workbench.base.dims import Dims, broadcast
from workbench.core.dispatch import no_grad
from workbench.core.size import Size
from workbench.distributions import constraints
from workbench.distributions.utils import lazy_property, with_names
from workbench.tensor import Tensor
from workbench.tensor.factories import sizes_of

__all__ = ["Distribution"]


class Distribution:
    """A distribution, or a batch of independent ones: ``batch_shape`` counts them, ``event_shape`` is that of one draw.

    Draws have the dims [sample…, batch…, event…]. Names of the parameters' dims are those of draws and densities;
    ``sample(S=100)`` names the dim of the draws. Parameters and values are checked unless ``validate_args=False``.

    >>> import workbench as wb
    >>> d = wb.distributions.Normal(wb.zeros(N=2), 1.0)
    >>> d.sample(S=3).names, d.log_prob(wb.zeros(2)).names
    (('S', 'N'), ('N',))
    """

    has_rsample: bool = False
    """Whether draws are differentiable in the parameters."""
    has_enumerate_support: bool = False
    """Whether all values can be listed."""
    arg_constraints: Mapping[str, constraints.Constraint] = {}
    """The region of each parameter."""
    support: Any = constraints.dependent
    """The region of values."""
    _validate_args: bool = __debug__

    def __init__(
        self,
        batch_shape: Sequence[int] = (),
        event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    # ------------------------------------------------------------------------------------------- checks

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Say whether parameters and values are checked where ``validate_args`` is not given."""
        if value not in (True, False):
            raise ValueError(f"parameters are checked or not, True or False: got {value!r}")
        Distribution._validate_args = value

    def _validate_parameters(self) -> None:
        for name, constraint in self.arg_constraints.items():
            if constraints.is_dependent(constraint) or (
                # What is computed from other parameters was checked with them.
                name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property)
            ):
                continue
            value = getattr(self, name)
            if not constraint.holds(value):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def _validate_sample(self, value: Tensor) -> None:
        """Refuse a value of another shape or outside of the support."""
        if not isinstance(value, Tensor):
            raise ValueError(
                f"The value argument to log_prob must be a Tensor, got {type(value).__name__}: wb.tensor(...) makes one"
            )
        events = len(self._event_shape)
        given = tuple(value.shape[value.ndim - events :]) if events else ()
        if given != self._event_shape:
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{tuple(value.shape)} vs {self._event_shape}."
            )
        # From the right, as values broadcast against the batch.
        expected = self._batch_shape + self._event_shape
        for got, own in zip(reversed(value.shape), reversed(expected), strict=False):
            if got != 1 and own != 1 and got != own:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {tuple(value.shape)} vs {expected}."
                )
        support = self.support
        if constraints.is_dependent(support):
            return
        if not support.holds(value):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    # ------------------------------------------------------------------------------------ shapes and names

    @property
    def batch_shape(self) -> Size:
        """Sizes of the batch: how the parameters broadcast."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """Sizes of one draw."""
        return self._event_shape

    def _dim_names(self) -> tuple[str | None, ...]:
        """Names of the dims of batch and event, as the parameters have them."""
        batch, event = len(self._batch_shape), len(self._event_shape)
        found: Dims | None = None
        within: tuple[str | None, ...] = (None,) * event
        for name, constraint in self.arg_constraints.items():
            value = self._parameter(name)
            if not isinstance(value, Tensor) or value._names is None:
                continue
            own = value.ndim - constraint.event_dim
            dims = Dims(tuple(value.names[:own]), tuple(value.shape[:own]))
            found = dims if found is None else broadcast(type(self).__name__, found, dims)
            if constraint.event_dim == event and not any(within):
                within = tuple(value.names[own:])
        names = () if found is None else found.names
        return (*(None,) * (batch - len(names)), *names[len(names) - min(batch, len(names)) :], *within)

    def _named(self, found: Tensor, value: Tensor) -> Tensor:
        """Return what was found for each event of `value` under the names of both batches: for what moves by place."""
        own = self._dim_names()[: len(self._batch_shape)]
        asked = value.names[: value.ndim - len(self._event_shape)]
        if not any(own) and not any(asked):
            return found
        sides = [
            Dims(tuple(names), tuple(sizes))
            for names, sizes in ((own, self._batch_shape), (asked, value.shape[: len(asked)]))
        ]
        return with_names(found, broadcast(type(self).__name__, *sides).names)

    def _parameter(self, name: str) -> Any:
        """Return a parameter that was given, or what a property says of it; None where it would have to be computed."""
        if name in self.__dict__:
            return self.__dict__[name]
        return getattr(self, name) if isinstance(getattr(type(self), name, None), property) else None

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        """Return the sizes of draws: those of the sample, the batch and an event."""
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """Return the distribution with its batch stretched to `batch_shape`; no numbers are copied.

        >>> import workbench as wb
        >>> wb.distributions.Normal(0.0, 1.0).expand((3,)).batch_shape
        (3,)
        """
        sizes = Size(batch_shape)
        new = self._copied(_instance)
        batch = len(self._batch_shape)
        for name, value in self.__dict__.items():
            # What has the batch in front, parameters as what was computed from them; a number for all stays one, and
            # what is private is broadcast where it is used.
            if (
                name[0] != "_"
                and isinstance(value, Tensor)
                and tuple(value.shape[:batch]) == self._batch_shape
            ):
                new.__dict__[name] = value.expand((*sizes, *value.shape[batch:]))
        new._batch_shape = sizes
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """Return the instance that `expand` of a subclass fills: PyTorch's word, by which programs write theirs."""
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method, or leave both to Distribution.expand, which copies what there is"
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _copied(self, instance: Any = None) -> Self:
        """Return a copy, or make `instance` one."""
        if instance is None:
            return copy.copy(self)
        instance.__dict__.update(self.__dict__)
        return instance  # type: ignore[no-any-return]

    # -------------------------------------------------------------------------------------------- draws

    def _draw(self, sizes: tuple[int, ...]) -> Tensor:
        """Draw [*sizes, batch…, event…], differentiably where `has_rsample` says so; names are given afterwards."""
        raise NotImplementedError(f"{type(self).__name__} cannot be drawn from: define sample or rsample")

    def _drawn(self, sample_shape: Sequence[int], dims: dict[str, int]) -> Tensor:
        if isinstance(sample_shape, int):
            raise TypeError(f"sample_shape is a tuple of sizes, as in ({sample_shape},), got {sample_shape}")
        given = () if dims and not tuple(sample_shape) else (tuple(sample_shape),)
        sizes, names = sizes_of("sample", given, None, dims)
        drawn = self._draw(sizes)
        own = self._dim_names()
        if names is None and not any(own):
            return drawn
        return with_names(drawn, (*(names or (None,) * len(sizes)), *own))

    def sample(self, sample_shape: Sequence[int] = (), **dims: int) -> Tensor:
        """Draw values, without gradients: of sizes in front of batch and event, or by name as in ``sample(S=100)``."""
        with no_grad():
            if type(self).rsample is not Distribution.rsample:
                return self.rsample(sample_shape, **dims)
            return self._drawn(sample_shape, dims)

    def rsample(self, sample_shape: Sequence[int] = (), **dims: int) -> Tensor:
        """Draw values that are differentiable in the parameters. Raises NotImplementedError where none are."""
        if not self.has_rsample:
            raise NotImplementedError(
                f"draws of {type(self).__name__} do not follow small changes of its parameters, so that there is no "
                "rsample: write sample(), and differentiate log_prob"
            )
        return self._drawn(sample_shape, dims)

    def sample_n(self, n: int) -> Tensor:
        """Draw `n` values: ``sample((n,))``."""
        return self.sample((n,))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values, [values, batch…, event…]; with ``expand=False`` the dims of the batch have size 1."""
        raise self._absent("enumerate_support", "its values cannot be listed")

    # ---------------------------------------------------------------------------------------- densities

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density, or of the probability, at `value`."""
        if self._validate_args:
            self._validate_sample(value)
        return self._log_prob(value)

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of a draw of at most `value`."""
        if self._validate_args:
            self._validate_sample(value)
        return self._cdf(value)

    def icdf(self, value: Tensor) -> Tensor:
        """Return the quantile: where the distribution function is `value`."""
        return self._icdf(value)

    def _log_prob(self, value: Tensor) -> Tensor:
        raise self._absent("log_prob", "no density has been defined")

    def _cdf(self, value: Tensor) -> Tensor:
        raise self._absent("cdf", "its distribution function has no closed form here")

    def _icdf(self, value: Tensor) -> Tensor:
        raise self._absent("icdf", "its quantiles have no closed form here")

    def entropy(self) -> Tensor:
        """Return the entropy -E[ln p] in nats, of the dims of the batch."""
        raise self._absent(
            "entropy", "there is no closed form; -d.log_prob(d.sample((n,))).mean(0) estimates it"
        )

    def perplexity(self) -> Tensor:
        """Return e to the power of the entropy."""
        return self.entropy().exp()

    @property
    def mean(self) -> Tensor:
        """The mean, of the dims of batch and event."""
        raise self._absent("mean", "there is no closed form; d.sample((n,)).mean(0) estimates it")

    @property
    def mode(self) -> Tensor:
        """Where the density is largest."""
        raise self._absent("mode", "there is no closed form")

    @property
    def variance(self) -> Tensor:
        """The variance, of the dims of batch and event."""
        raise self._absent("variance", "there is no closed form; d.sample((n,)).var(0) estimates it")

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    def _absent(self, what: str, why: str) -> NotImplementedError:
        # No AttributeError: a property that raises one looks as if it were not there.
        return NotImplementedError(f"{type(self).__name__} has no {what}: {why}")

    def __repr__(self) -> str:
        parts = []
        for name in self.arg_constraints:
            value = self._parameter(name)
            if isinstance(value, Tensor):
                shown = (
                    value
                    if math.prod(value.shape) == 1
                    else f"{type(value).__name__} of {tuple(value.shape)}"
                )
                parts.append(f"{name}: {shown}")
        return f"{type(self).__name__}({', '.join(parts)})"

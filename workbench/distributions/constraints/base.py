"""What a constraint is, and what stands for one that depends on other values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from workbench.core.typing import Tensor
from workbench.distributions.utils import holds

__all__ = ["Bound", "Constraint", "Dependent", "dependent_property", "is_dependent"]

Bound: TypeAlias = "Tensor | float"
"""An end of a region."""


class Constraint:
    """A region of values; `event_dim` says how many of the last dims make one value together.

    >>> import workbench as wb
    >>> wb.distributions.constraints.positive.check(wb.tensor([-1.0, 2.0]))
    tensor([False,  True])
    """

    is_discrete: bool = False
    event_dim: int = 0

    def check(self, value: Tensor) -> Tensor:
        """Return of each event of `value` whether it lies in the region, as bool."""
        raise NotImplementedError(
            f"{type(self).__name__} says of no value whether it lies inside: define check"
        )

    def holds(self, value: Tensor) -> bool:
        """Say whether all of `value` lies in the region; of what has no numbers, as in a trace, that is not asked."""
        array = value.payload
        # Of a plain array it can be told without ops, each of which costs more than a few numbers.
        found = self._holds_of(array) if type(array) is np.ndarray else None
        return holds(self.check(value)) if found is None else found

    def _holds_of(self, array: Any) -> bool | None:
        """Say the same of an array of NumPy; None where `check` has to."""
        return None

    def __repr__(self) -> str:
        held = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__.lstrip('_')}({held})"


class Dependent(Constraint):
    """Stands where a region depends on other values, as the support of a uniform distribution on its bounds."""

    def __init__(self, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        self.is_discrete = is_discrete
        self.event_dim = event_dim

    def check(self, value: Tensor) -> Tensor:
        raise ValueError(
            "what depends on an instance can be checked on one only: ask it for its support or its arg_constraints"
        )

    def __call__(self, *, is_discrete: bool | None = None, event_dim: int | None = None) -> Dependent:
        """Return a placeholder of which more is known."""
        return Dependent(
            is_discrete=self.is_discrete if is_discrete is None else is_discrete,
            event_dim=self.event_dim if event_dim is None else event_dim,
        )


class dependent_property(property, Dependent):
    """A property that is a constraint: of an instance it is the region, of the class a placeholder.

    >>> from workbench.distributions import constraints
    >>> class Box:
    ...     size = 2.0
    ...
    ...     @dependent_property(is_discrete=False, event_dim=0)
    ...     def support(self):
    ...         return constraints.interval(0.0, self.size)
    >>> Box().support, is_dependent(Box.support)
    (Interval(lower_bound=0.0, upper_bound=2.0), True)
    """

    def __init__(
        self, fn: Callable[..., Any] | None = None, *, is_discrete: bool = False, event_dim: int = 0
    ) -> None:
        super().__init__(fn)
        self.is_discrete = is_discrete
        self.event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> dependent_property:  # type: ignore[override]
        """Return the property of a function, with what the brackets above it said."""
        return dependent_property(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)

    __repr__ = Constraint.__repr__


def is_dependent(constraint: object) -> bool:
    """Say whether a constraint stands for one that depends on other values."""
    return isinstance(constraint, Dependent)

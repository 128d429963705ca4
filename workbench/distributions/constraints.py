"""Constraints: which values a parameter or a sample may have. `check` says of each event whether it lies inside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from workbench import linalg
from workbench.base.public import words
from workbench.core.typing import Tensor
from workbench.distributions.utils import bare, every, holds
from workbench.ops.shape.join import cat as _joined
from workbench.ops.shape.join import stack as _stacked
from workbench.tensor.factories import full
from workbench.tensor.type_queries import finfo

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
    "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
    "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


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


# --------------------------------------------------------------------------------------------- dependent


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

    >>> class Box:
    ...     size = 2.0
    ...
    ...     @dependent_property(is_discrete=False, event_dim=0)
    ...     def support(self):
    ...         return interval(0.0, self.size)
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


# -------------------------------------------------------------------------------------- of single numbers


class Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


def _whole(value: Tensor, inside: Tensor) -> Tensor:
    """Return where values are whole and inside; those of a type of whole numbers are."""
    return (value % 1 == 0) & inside if value.is_floating_point() else inside


class IntegerInterval(Constraint):
    """Whole numbers from one bound to another, both included."""

    is_discrete = True

    def __init__(self, lower_bound: Bound, upper_bound: Bound) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return _whole(value, (value >= self.lower_bound) & (value <= self.upper_bound))

    def _holds_of(self, array: Any) -> bool | None:
        low, high = self.lower_bound, self.upper_bound
        if array.dtype != np.int64 or type(low) is not int or type(high) is not int:
            return None
        return bool((array >= low).all() and (array <= high).all())


class IntegerLessThan(Constraint):
    """Whole numbers up to a bound, which is included."""

    is_discrete = True

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return _whole(value, value <= self.upper_bound)


class IntegerGreaterThan(Constraint):
    """Whole numbers from a bound on, which is included."""

    is_discrete = True

    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return _whole(value, value >= self.lower_bound)


class Real(Constraint):
    """All numbers; NaN is none."""

    def check(self, value: Tensor) -> Tensor:
        return value == value


class GreaterThan(Constraint):
    """Numbers above a bound."""

    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return value > self.lower_bound


class GreaterThanEq(GreaterThan):
    """Numbers from a bound on."""

    def check(self, value: Tensor) -> Tensor:
        return value >= self.lower_bound


class LessThan(Constraint):
    """Numbers below a bound."""

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class Interval(Constraint):
    """Numbers from one bound to another, both included."""

    def __init__(self, lower_bound: Bound, upper_bound: Bound) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class HalfOpenInterval(Interval):
    """Numbers from one bound to before another."""

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value < self.upper_bound)


# ------------------------------------------------------------------------------------------- of vectors


class Independent(Constraint):
    """A constraint on every value of a block of dims: an event is inside where all of its values are."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        if reinterpreted_batch_ndims < 0:
            raise ValueError(f"reinterpreted_batch_ndims counts dims, got {reinterpreted_batch_ndims}")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """As the constraint within."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """Those of the constraint within, and the dims that are taken into an event."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        inside = self.base_constraint.check(value)
        if inside.ndim < self.reinterpreted_batch_ndims:
            raise ValueError(
                f"Expected value.dim() >= {self.event_dim} but got {value.ndim}: the last dims are one event"
            )
        return every(inside, self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The region of a mixture: what lies in that of every component."""

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise TypeError(f"base_constraint is a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """As the components'."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """As the components'."""
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        # Each component is asked for itself, along a dim in front of the event.
        return self.base_constraint.check(bare(value).unsqueeze(-1 - self.event_dim)).all(-1)


class Simplex(Constraint):
    """Vectors of non-negative numbers whose sum is 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)

    def _holds_of(self, array: Any) -> bool | None:
        if array.dtype.char not in "fd":
            return None
        if not (array >= 0).all():
            return False
        with np.errstate(over="ignore"):
            return bool((np.abs(np.add.reduce(array, -1) - 1) < 1e-6).all())


class OneHot(Constraint):
    """Vectors of a single 1 among zeros."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class Multinomial(Constraint):
    """Vectors of counts whose sum is at most a bound."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


# ------------------------------------------------------------------------------------------ of matrices


class LowerTriangular(Constraint):
    """Matrices with nothing above their diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        value = bare(value)
        return every(value.tril() == value, 2)


class LowerCholesky(LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (bare(value).diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class CorrCholesky(LowerCholesky):
    """Lower triangular matrices with a positive diagonal and rows of length 1: factors of correlations."""

    def check(self, value: Tensor) -> Tensor:
        rows = bare(value).square().sum(-1)
        tolerance = float(finfo(value.dtype).eps) * value.shape[-1] * 10
        return super().check(value) & ((rows.sqrt() - 1).abs() <= tolerance).all(-1)


class Square(Constraint):
    """Matrices with as many rows as columns."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return full(value.shape[:-2], value.shape[-1] == value.shape[-2])


class Symmetric(Square):
    """Matrices that equal their transpose, within 1e-6."""

    def check(self, value: Tensor) -> Tensor:
        value = bare(value)
        if value.shape[-1] != value.shape[-2]:
            return super().check(value)
        return every((value - value.mT).abs() <= 1e-6 + 1e-5 * value.mT.abs(), 2)


class PositiveSemidefinite(Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if value.shape[-1] != value.shape[-2]:
            return symmetric
        return symmetric & (linalg.eigvalsh(bare(value)) >= 0).all(-1)


class PositiveDefinite(Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if value.shape[-1] != value.shape[-2]:
            return symmetric
        return symmetric & (linalg.cholesky_ex(bare(value)).info == 0)


# -------------------------------------------------------------------------------------------- of parts


class Cat(Constraint):
    """A constraint for each stretch along a dim."""

    def __init__(
        self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        self.cseq = list(cseq)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        self.dim = dim
        if len(self.lengths) != len(self.cseq):
            raise ValueError(f"there are {len(self.cseq)} constraints and {len(self.lengths)} lengths")

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether any of them is."""
        return any(one.is_discrete for one in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The largest of theirs."""
        return max(one.event_dim for one in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        value = bare(value)
        parts = value.split(self.lengths, self.dim)
        return _joined([one.check(part) for one, part in zip(self.cseq, parts, strict=True)], self.dim)


class Stack(Constraint):
    """A constraint for each place along a dim."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self.cseq = list(cseq)
        self.dim = dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether any of them is."""
        return any(one.is_discrete for one in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The largest of theirs, and the dim that they are stacked along where that is within."""
        dim = max(one.event_dim for one in self.cseq)
        return dim + (1 if self.dim + dim < 0 else 0)

    def check(self, value: Tensor) -> Tensor:
        parts = bare(value).unbind(self.dim)
        return _stacked([one.check(part) for one, part in zip(self.cseq, parts, strict=True)], self.dim)


dependent = Dependent()
boolean = Boolean()
real = Real()
real_vector = Independent(real, 1)
positive = GreaterThan(0.0)
nonnegative = GreaterThanEq(0.0)
unit_interval = Interval(0.0, 1.0)
nonnegative_integer = IntegerGreaterThan(0)
positive_integer = IntegerGreaterThan(1)
simplex = Simplex()
one_hot = OneHot()
square = Square()
symmetric = Symmetric()
positive_semidefinite = PositiveSemidefinite()
positive_definite = PositiveDefinite()
lower_triangular = LowerTriangular()
lower_cholesky = LowerCholesky()
corr_cholesky = CorrCholesky()
independent = Independent
integer_interval = IntegerInterval
greater_than = GreaterThan
greater_than_eq = GreaterThanEq
less_than = LessThan
interval = Interval
half_open_interval = HalfOpenInterval
multinomial = Multinomial
cat = Cat
stack = Stack

__getattr__, __dir__ = words(__name__, __all__)

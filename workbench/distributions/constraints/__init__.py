"""Constraints: which values a parameter or a sample may have. `check` says of each event whether it lies inside."""

from __future__ import annotations

from workbench.base.public import words
from workbench.distributions.constraints.base import Constraint, Dependent, dependent_property, is_dependent
from workbench.distributions.constraints.matrices import (
    CorrCholesky,
    LowerCholesky,
    LowerTriangular,
    PositiveDefinite,
    PositiveSemidefinite,
    Square,
    Symmetric,
)
from workbench.distributions.constraints.numbers import (
    Boolean,
    GreaterThan,
    GreaterThanEq,
    HalfOpenInterval,
    IntegerGreaterThan,
    IntegerInterval,
    Interval,
    LessThan,
    Real,
)
from workbench.distributions.constraints.parts import Cat, Independent, MixtureSameFamilyConstraint, Stack
from workbench.distributions.constraints.vectors import Multinomial, OneHot, Simplex

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
    "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
    "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip

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

"""From a constraint to a transform that leads there: `biject_to` one to one, `transform_to` any way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.distributions.constraints import Constraint
from workbench.distributions.constraints.matrices import (
    CorrCholesky,
    LowerCholesky,
    PositiveDefinite,
    PositiveSemidefinite,
)
from workbench.distributions.constraints.numbers import (
    GreaterThan,
    GreaterThanEq,
    HalfOpenInterval,
    Interval,
    LessThan,
    Real,
)
from workbench.distributions.constraints.parts import Cat, Independent, Stack
from workbench.distributions.constraints.vectors import Simplex
from workbench.distributions.transforms import (
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SigmoidTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
    Transform,
    identity_transform,
)

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """A table from kinds of constraints to what makes their transform. Called with a constraint it makes that.

    >>> import workbench as wb
    >>> wb.distributions.biject_to(wb.distributions.constraints.positive)
    ExpTransform()
    """

    def __init__(self) -> None:
        self._registry: dict[type[Constraint], Factory] = {}

    def register(self, constraint: Constraint | type[Constraint], factory: Factory | None = None) -> Any:
        """Enter what makes the transform of constraints of this kind: as a function, or as a decorator above one.

        Raises TypeError for what is no kind of constraint.
        """
        if factory is None:
            return lambda given: self.register(constraint, given)
        kind: Any = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, Constraint)):
            raise TypeError(
                f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}"
            )
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        """Return the transform that leads to `constraint`. Raises NotImplementedError where none is registered."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints: register what makes a transform with "
                "biject_to.register or transform_to.register"
            )
        return factory(constraint)


biject_to = ConstraintRegistry()
"""Transforms that are one to one, and have a Jacobian determinant."""
transform_to = ConstraintRegistry()
"""Transforms that are only to lead there, for parameters that are optimized."""


def _both(*kinds: type[Constraint]) -> Callable[[Factory], Factory]:
    def enter(factory: Factory) -> Factory:
        for registry in (biject_to, transform_to):
            for kind in kinds:
                registry.register(kind, factory)
        return factory

    return enter


@_both(Real)
def _real(constraint: Constraint) -> Transform:
    return identity_transform


@_both(GreaterThan, GreaterThanEq)
def _above(constraint: GreaterThan) -> Transform:
    if isinstance(constraint.lower_bound, int | float) and constraint.lower_bound == 0:
        return ExpTransform()
    return ComposeTransform([ExpTransform(), AffineTransform(constraint.lower_bound, 1)])


@_both(LessThan)
def _below(constraint: LessThan) -> Transform:
    return ComposeTransform([ExpTransform(), AffineTransform(constraint.upper_bound, -1)])


@_both(Interval, HalfOpenInterval)
def _between(constraint: Interval) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, int | float) and isinstance(high, int | float) and (low, high) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


@_both(CorrCholesky)
def _correlation(constraint: Constraint) -> Transform:
    return CorrCholeskyTransform()


biject_to.register(Simplex, lambda constraint: StickBreakingTransform())
transform_to.register(Simplex, lambda constraint: SoftmaxTransform())
transform_to.register(LowerCholesky, lambda constraint: LowerCholeskyTransform())
for _kind in (PositiveDefinite, PositiveSemidefinite):
    transform_to.register(_kind, lambda constraint: PositiveDefiniteTransform())


def _enter_parts(registry: ConstraintRegistry) -> None:
    """Enter constraints made of others: for their parts the table is asked itself."""
    registry.register(
        Independent,
        lambda c: IndependentTransform(registry(c.base_constraint), c.reinterpreted_batch_ndims),
    )
    registry.register(
        Cat,
        lambda c: CatTransform([registry(one) for one in c.cseq], c.dim, c.lengths),
    )
    registry.register(Stack, lambda c: StackTransform([registry(one) for one in c.cseq], c.dim))


_enter_parts(biject_to)
_enter_parts(transform_to)

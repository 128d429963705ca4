"""Constraints made of others: on every value of a block, on each component, on stretches and places of a dim."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.core.typing import Tensor
from workbench.distributions.constraints.base import Constraint
from workbench.distributions.utils import bare, every
from workbench.ops.shape.join import cat as _joined
from workbench.ops.shape.join import stack as _stacked

__all__ = ["Cat", "Independent", "MixtureSameFamilyConstraint", "Stack"]


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

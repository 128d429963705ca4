"""Transforms: invertible maps with the logarithm of how they stretch volume, from which distributions are made."""

from __future__ import annotations

from workbench.base.public import words
from workbench.distributions.transforms.base import ComposeTransform, Transform, identity_transform
from workbench.distributions.transforms.elementwise import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from workbench.distributions.transforms.matrices import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
)
from workbench.distributions.transforms.parts import (
    CatTransform,
    IndependentTransform,
    ReshapeTransform,
    StackTransform,
)
from workbench.distributions.transforms.simplex import SoftmaxTransform, StickBreakingTransform

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]  # fmt: skip

__getattr__, __dir__ = words(__name__, __all__)

"""Which training examples a model's answer comes from: those whose learning lowered the loss of an input, or raised
it.
"""

from __future__ import annotations

from workbench.attribution.influence.base import DataInfluence, KMostInfluentialResults
from workbench.attribution.influence.hessian import ArnoldiInfluenceFunction, NaiveInfluenceFunction
from workbench.attribution.influence.neighbours import ExactNearestNeighbors, NearestNeighbors
from workbench.attribution.influence.similarity import SimilarityInfluence
from workbench.attribution.influence.tracin import TracInCP, TracInCPBase
from workbench.attribution.influence.tracin_fast import TracInCPFast, TracInCPFastRandProj
from workbench.base.public import words

__all__ = [
    "ArnoldiInfluenceFunction",
    "DataInfluence",
    "ExactNearestNeighbors",
    "KMostInfluentialResults",
    "NaiveInfluenceFunction",
    "NearestNeighbors",
    "SimilarityInfluence",
    "TracInCP",
    "TracInCPBase",
    "TracInCPFast",
    "TracInCPFastRandProj",
]

__getattr__, __dir__ = words(__name__, __all__)

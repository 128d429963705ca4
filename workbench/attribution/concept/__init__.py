"""Concepts that people have words for: is a layer sensitive to them, and does the output rest on them?

A concept is given by examples. A linear classifier that tells its activations in a layer from those of other concepts
gives a direction (`CAV`), and the derivative of the output along it says how much the output rests on it (`TCAV`).
"""

from __future__ import annotations

from workbench.attribution.concept.cav import CAV
from workbench.attribution.concept.classifier import (
    Classifier,
    DefaultClassifier,
    LeastSquaresClassifier,
    LogisticClassifier,
)
from workbench.attribution.concept.concept import Concept, ConceptInterpreter
from workbench.attribution.concept.tcav import TCAV
from workbench.base.public import words

__all__ = [
    "CAV",
    "TCAV",
    "Classifier",
    "Concept",
    "ConceptInterpreter",
    "DefaultClassifier",
    "LeastSquaresClassifier",
    "LogisticClassifier",
]

__getattr__, __dir__ = words(__name__, __all__)

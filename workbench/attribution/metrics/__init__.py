"""How good attributions are: metrics of one number a sample, and of curves.

>>> import workbench as wb
>>> model = wb.models.DigitsNet().eval()
>>> images = wb.rand(N=2, C=1, H=28, W=28)
>>> attributions = wb.attribution.Saliency(model).attribute(images, target=3)
>>> deletion_curve(model, images, attributions, target=3, steps=4).scores.names
('N', 'fraction')
"""

from __future__ import annotations

from workbench.attribution.metrics.complexity import complexity, sparseness
from workbench.attribution.metrics.curves import Curve, deletion_curve, insertion_curve
from workbench.attribution.metrics.infidelity import infidelity, infidelity_perturb_func_decorator
from workbench.attribution.metrics.measures import MEASURES, Cost, Judged, Measure, Measurement, measure
from workbench.attribution.metrics.pointing_game import pointing_game
from workbench.attribution.metrics.randomization import RandomizationCheck, parameter_randomization
from workbench.attribution.metrics.road import road_curve
from workbench.attribution.metrics.sensitivity import sensitivity_max
from workbench.attribution.metrics.sensitivity_n import sensitivity_n
from workbench.base.public import words

__all__ = [
    "MEASURES",
    "Cost",
    "Curve",
    "Judged",
    "Measure",
    "Measurement",
    "RandomizationCheck",
    "complexity",
    "deletion_curve",
    "infidelity",
    "infidelity_perturb_func_decorator",
    "insertion_curve",
    "measure",
    "parameter_randomization",
    "pointing_game",
    "road_curve",
    "sensitivity_max",
    "sensitivity_n",
    "sparseness",
]

__getattr__, __dir__ = words(__name__, __all__)

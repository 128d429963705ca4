"""How easily a model is misled: small changes of the input that are made to raise its loss.

>>> import workbench as wb
>>> model = wb.nn.Sequential(wb.nn.Linear(4, 3), wb.nn.Softmax(1)).eval()
>>> FGSM(model).perturb(wb.rand(N=2, F=4), epsilon=0.1, target=1).names
('N', 'F')
"""

from __future__ import annotations

from workbench.attribution.robust.attack_comparator import AttackComparator
from workbench.attribution.robust.fgsm import FGSM, LossWarning
from workbench.attribution.robust.min_param_perturbation import MinParamPerturbation
from workbench.attribution.robust.perturbation import Perturbation
from workbench.attribution.robust.pgd import PGD
from workbench.base.public import words

__all__ = ["FGSM", "PGD", "AttackComparator", "LossWarning", "MinParamPerturbation", "Perturbation"]

__getattr__, __dir__ = words(__name__, __all__)

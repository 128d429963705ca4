"""Named tuples that functions return, such as the values and indices of a sort: PyTorch's `torch.return_types`."""

from __future__ import annotations

from workbench.base.public import words
from workbench.ops.elementwise.powers import MantissaExponent
from workbench.ops.linalg.cholesky import CholeskyWithInfo
from workbench.ops.linalg.eigen import EighResult, EigResult
from workbench.ops.linalg.ldl import LDLFactors, LDLFactorsWithInfo
from workbench.ops.linalg.lu import PLU, LUFactors, LUFactorsWithInfo
from workbench.ops.linalg.matrix_functions import SlogdetResult
from workbench.ops.linalg.pseudoinverse import LstsqResult
from workbench.ops.linalg.qr import QRResult, Reflectors
from workbench.ops.linalg.solve import InverseWithInfo, SolutionWithInfo, TriangularSolution
from workbench.ops.linalg.svd import OldSVDResult, SVDResult
from workbench.ops.reduce.extremes import MinMax, ValuesIndices
from workbench.ops.reduce.histogram import Histogram

__all__ = [
    "PLU", "CholeskyWithInfo", "EigResult", "EighResult", "Histogram", "InverseWithInfo", "LDLFactors",
    "LDLFactorsWithInfo", "LUFactors", "LUFactorsWithInfo", "LstsqResult", "MantissaExponent", "MinMax", "OldSVDResult",
    "QRResult", "Reflectors", "SVDResult", "SlogdetResult", "SolutionWithInfo", "TriangularSolution", "ValuesIndices",
]  # fmt: skip

__getattr__, __dir__ = words(__name__, __all__)

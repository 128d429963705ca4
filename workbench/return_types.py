"""Named tuples that functions return, such as the values and indices of a sort: PyTorch's `torch.return_types`."""

from __future__ import annotations

from workbench.ops.counting import Histogram
from workbench.ops.extreme import MinMax, ValuesIndices
from workbench.ops.linalg_cholesky import CholeskyWithInfo
from workbench.ops.linalg_functions import SlogdetResult
from workbench.ops.linalg_inverse import LstsqResult
from workbench.ops.linalg_ldl import LDLFactors, LDLFactorsWithInfo
from workbench.ops.linalg_lu import PLU, LUFactors, LUFactorsWithInfo
from workbench.ops.linalg_qr import QRResult, Reflectors
from workbench.ops.linalg_solve import InverseWithInfo, SolutionWithInfo, TriangularSolution
from workbench.ops.linalg_spectral import EighResult, EigResult
from workbench.ops.linalg_svd import OldSVDResult, SVDResult

__all__ = [
    "PLU", "CholeskyWithInfo", "EigResult", "EighResult", "Histogram", "InverseWithInfo", "LDLFactors",
    "LDLFactorsWithInfo", "LUFactors", "LUFactorsWithInfo", "LstsqResult", "MinMax", "OldSVDResult", "QRResult",
    "Reflectors", "SVDResult", "SlogdetResult", "SolutionWithInfo", "TriangularSolution", "ValuesIndices",
]  # fmt: skip

"""Named tuples that functions return, such as the values and indices of a sort: PyTorch's `torch.return_types`."""

# Written by `python -m workbench.lab.stubs`; change the functions, then run `make format`.

from typing import Any, NamedTuple

from workbench.tensor.tensor import Tensor

class CholeskyWithInfo(NamedTuple):
    """A Cholesky factor, and 0 for each that exists."""
    L: Tensor
    info: Tensor

class EigResult(NamedTuple):
    """Eigenvalues, and eigenvectors as columns."""
    eigenvalues: Tensor
    eigenvectors: Tensor

class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors as columns."""
    eigenvalues: Tensor
    eigenvectors: Tensor

class Histogram(NamedTuple):
    """How much there is in each bin, and where the bins begin and end."""
    hist: Tensor
    bin_edges: Any

class InverseWithInfo(NamedTuple):
    """Inverses, and 0 for each that exists."""
    inverse: Tensor
    info: Tensor

class LDLFactors(NamedTuple):
    """L and D in one matrix, and the pivots."""
    LD: Tensor
    pivots: Tensor

class LDLFactorsWithInfo(NamedTuple):
    """L and D in one matrix, the pivots, and 0 for each that was factored."""
    LD: Tensor
    pivots: Tensor
    info: Tensor

class LUFactors(NamedTuple):
    """L and U in one matrix, and the pivots."""
    LU: Tensor
    pivots: Tensor

class LUFactorsWithInfo(NamedTuple):
    """L and U in one matrix, the pivots, and 0 for each U without a zero on its diagonal."""
    LU: Tensor
    pivots: Tensor
    info: Tensor

class LstsqResult(NamedTuple):
    """What `linalg.lstsq` returns; what a driver does not tell is empty."""
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

class MinMax(NamedTuple):
    """The smallest and the largest value."""
    min: Tensor
    max: Tensor

class OldSVDResult(NamedTuple):
    """A = U diag(S) Vᴴ."""
    U: Tensor
    S: Tensor
    V: Tensor

class PLU(NamedTuple):
    """The three factors of A = P L U."""
    P: Tensor
    L: Tensor
    U: Tensor

class QRResult(NamedTuple):
    """A = Q R."""
    Q: Tensor
    R: Tensor

class Reflectors(NamedTuple):
    """R with the reflectors of Q below it, and their factors."""
    a: Tensor
    tau: Tensor

class SVDResult(NamedTuple):
    """A = U diag(S) Vh."""
    U: Tensor
    S: Tensor
    Vh: Tensor

class SlogdetResult(NamedTuple):
    """Signs (or phases) of determinants, and the logarithms of their moduli."""
    sign: Tensor
    logabsdet: Tensor

class SolutionWithInfo(NamedTuple):
    """Solutions, and 0 for each that exists."""
    result: Tensor
    info: Tensor

class TriangularSolution(NamedTuple):
    """What `triangular_solve` returns."""
    solution: Tensor
    cloned_coefficient: Tensor

class ValuesIndices(NamedTuple):
    """Values picked along a dim, and where along it they stood."""
    values: Tensor
    indices: Tensor

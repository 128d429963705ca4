"""Ready parametrizations: weights of unit norm times a length, of largest singular value 1, and orthogonal ones."""

from __future__ import annotations

from typing import Any

from workbench.base.public import words
from workbench.core.dispatch import no_grad
from workbench.nn import functional
from workbench.nn.module import Module
from workbench.nn.utils import parametrize
from workbench.nn.utils.orthogonal import MAPS, parametrization
from workbench.nn.utils.weight_norms import as_matrix, direction_times_length, lengths, power_iteration
from workbench.ops import FUNCTIONS
from workbench.tensor import Tensor

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _tensor_of(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


class _WeightNorm(Module):
    """w = g·v / ‖v‖."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return direction_times_length(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return lengths(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Learn the length and the direction of a weight apart: w = g·v / ‖v‖ (Salimans and Kingma 2016).

    There is a length for each position of `dim`, or one in all where it is None. The length is
    ``parametrizations.weight.original0``, the direction ``original1``. States of the older `weight_norm` load.

    >>> import workbench as wb
    >>> layer = weight_norm(wb.nn.Linear(3, 2))
    >>> layer.parametrizations.weight.original0.shape, layer.weight.dim_labels
    ((2, 1), ('out_features', 'in_features'))
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    # Keys of the hook-based form, ``weight_g`` and ``weight_v``, are renamed before the state is looked at.
    def from_older(state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        old = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(from_older)
    return module


class _SpectralNorm(Module):
    """w / σ(w), σ the largest singular value by power iteration."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % ndim
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if ndim > 1:
            with no_grad():
                matrix = as_matrix(weight.detach().rename(None), self.dim)
                u, v = (
                    functional.normalize(matrix.new_empty(size).normal_(), dim=0, eps=eps)
                    for size in matrix.shape
                )
                self.register_buffer("_u", u)
                self.register_buffer("_v", v)
                # A good start, so that the first steps of training do not see a σ that is far off.
                power_iteration(matrix, self._u, self._v, 15, eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return functional.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            with no_grad():
                power_iteration(matrix, self._u, self._v, self.n_power_iterations, self.eps)
        # Copies: the next call changes the vectors, and gradients of this one still read them.
        u, v = self._u.clone(), self._v.clone()
        return weight / FUNCTIONS["vdot"](u, FUNCTIONS["mv"](matrix, v))  # type: ignore[no-any-return]

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value: w / σ(w), σ(w) = max ‖w·h‖ / ‖h‖ (Miyato et al. 2018).

    The weight is taken as a matrix whose rows are `dim`: 0, or 1 for transposed convolutions, unless given. σ is
    followed by power iteration, `n_power_iterations` steps each time the weight is read while training.

    >>> import workbench as wb
    >>> layer = spectral_norm(wb.nn.Linear(4, 3), n_power_iterations=30)
    >>> round(float(wb.linalg.matrix_norm(layer.weight.detach(), 2)), 3)
    1.0
    """
    weight = _tensor_of(module, name)
    # Transposed convolutions have the channels that they make in dim 1.
    rows = dim if dim is not None else 1 if getattr(module, "transposed", False) else 0
    return parametrize.register_parametrization(
        module, name, _SpectralNorm(weight, n_power_iterations, rows, eps)
    )


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a matrix orthogonal: its columns orthonormal, or its rows, whichever are fewer.

    It is learned through a map from all matrices: ``"matrix_exp"``, e^A of a skew-symmetric A; ``"cayley"``,
    (I + A/2)(I - A/2)⁻¹; ``"householder"``, a product of reflections. Left out, it is the first for square or complex
    matrices, the last for others. With `use_trivialization` the matrix starts as the orthogonal one that the QR
    decomposition gives of what it was, and A is learned around it (Lezcano-Casado 2019). Dims before the last two are a
    batch.

    >>> import workbench as wb
    >>> q = orthogonal(wb.nn.Linear(4, 2)).weight.detach()
    >>> bool((q @ q.T - wb.eye(2)).abs().max() < 1e-5)
    True
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1] or weight.dtype.is_complex
        orthogonal_map = "matrix_exp" if square else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    held = parametrization(weight, orthogonal_map, use_trivialization)
    return parametrize.register_parametrization(module, name, held, unsafe=True)


__getattr__, __dir__ = words(__name__, __all__)

"""The older spectral normalisation, by a hook before each call."""

from __future__ import annotations

from typing import Any, TypeVar

from workbench.core.dispatch import no_grad
from workbench.core.tape import alias_like
from workbench.nn import functional
from workbench.nn.module import Module
from workbench.nn.parameter import Parameter
from workbench.nn.utils.weight_hooks import found, parameter_of, put, take_out
from workbench.nn.utils.weight_norms import as_matrix
from workbench.ops import FUNCTIONS
from workbench.tensor import Tensor

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]

Layer = TypeVar("Layer", bound=Module)
_mv: Any = FUNCTIONS["mv"]


class SpectralNorm:
    """The hook: sets the weight to w / σ(w) before each call, and follows σ while training."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """Return the weight from the one that is learned."""
        own = module.__dict__
        weight, u, v = own[f"{self.name}_orig"], own[f"{self.name}_u"], own[f"{self.name}_v"]
        plain = weight.rename(None)
        matrix = as_matrix(plain, self.dim)
        if do_power_iteration:
            with no_grad():
                across = matrix.mT
                for _ in range(self.n_power_iterations):
                    v.copy_(functional.normalize(_mv(across, u), dim=0, eps=self.eps))
                    u.copy_(functional.normalize(_mv(matrix, v), dim=0, eps=self.eps))
                # Copies: the next call changes the vectors, and gradients of this one still read them.
                u, v = u.clone(), v.clone()
        sigma = (u * _mv(matrix, v)).sum()
        return alias_like(plain / sigma, weight)  # type: ignore[no-any-return]

    def __call__(self, module: Module, inputs: Any) -> None:
        put(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


def spectral_norm(
    module: Layer,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Layer:
    """Divide a weight by its largest singular value before each call (Miyato et al. 2018).

    What is learned is ``weight_orig``, the singular vectors are the buffers ``weight_u`` and ``weight_v``. PyTorch's
    older form; `parametrizations.spectral_norm` is the newer one. Raises RuntimeError where the weight is normalised so
    already, ValueError where it is no parameter.

    >>> import workbench as wb
    >>> layer = spectral_norm(wb.nn.Linear(3, 2))
    >>> list(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if found(module, SpectralNorm, name) is not None:
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    if n_power_iterations <= 0:
        raise ValueError(
            f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
        )
    weight = parameter_of(module, name, "SpectralNorm")
    rows = dim if dim is not None else 1 if getattr(module, "transposed", False) else 0
    hook = SpectralNorm(name, n_power_iterations, rows, eps)
    with no_grad():
        matrix = as_matrix(weight.detach().rename(None), rows)
        u, v = (
            functional.normalize(matrix.new_empty(size).normal_(), dim=0, eps=eps) for size in matrix.shape
        )
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    # A plain attribute until the first call, so that `module.weight` can be read.
    put(module, name, weight.detach())
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: Layer, name: str = "weight") -> Layer:
    """Make a normalised weight a plain parameter again. Raises ValueError where it is not normalised so."""
    hook = found(module, SpectralNorm, name)
    if hook is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    with no_grad():
        weight = hook[1].compute_weight(module, do_power_iteration=False)
    learned = module.__dict__[f"{name}_orig"].requires_grad
    for one in (name, f"{name}_u", f"{name}_v", f"{name}_orig"):
        delattr(module, one)
    module.register_parameter(name, Parameter(weight.detach(), learned))
    take_out(module, hook[0])
    return module

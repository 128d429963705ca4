"""Muon: momentum made orthogonal, for the matrices within a network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from workbench.core.value import new
from workbench.optim.optimizer import Group, Optimizer
from workbench.optim.settings import check_dense, check_rate, number

__all__ = ["Muon"]


class Muon(Optimizer):
    """Steps along the orthogonal matrix that is nearest to the momentum; for parameters of two dims.

    B ← lerp(B, G, 1 - momentum);  U = B, or lerp(G, B, momentum) if `nesterov`;  O = UVᵀ of its singular vectors, by
    `ns_steps` Newton-Schulz iterations X ← aX + (bA + cA²)X with A = XXᵀ, in bfloat16;
    p ← p·(1 - lr·weight_decay) - lr·ratio·O, where the ratio is √max(1, rows/columns) (``original``) or
    0.2·√max(rows, columns) (``match_rms_adamw``). Jordan 2024; Liu et al. 2025.

    Embeddings, biases and the last layer are better left to `AdamW`. Raises ValueError for parameters of other than
    two dims and for negative settings, RuntimeError for complex parameters.

    >>> import workbench as wb
    >>> p = wb.zeros(2, 2, requires_grad=True)
    >>> p.grad = wb.eye(2)
    >>> Muon([p], lr=1.0).step()
    >>> bool((p.detach().diagonal() < -0.5).all())
    True
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        settings = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, settings)

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse negative settings, and ways to adjust the rate that are not there."""
        check_rate(settings, "Learning rate should be >= 0 but is: {}")
        for key, words in (("momentum", "momentum"), ("weight_decay", "weight decay")):
            # Not `< 0`: NaN is to be refused as well.
            if not settings[key] >= 0:
                raise ValueError(f"{words} should be >= 0 but is: {settings[key]}")
        if settings["adjust_lr_fn"] not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {settings['adjust_lr_fn']} is not supported")
        if not 0 <= settings["ns_steps"] < 100:
            raise ValueError("Number of steps must be less than 100 for computational efficiency")
        if len(settings["ns_coefficients"]) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")

    def _check_parameter(self, parameter: Any) -> None:
        super()._check_parameter(parameter)
        if parameter.payload.ndim != 2:
            raise ValueError(
                f"Muon only supports 2D parameters whereas we found a parameter with size: "
                f"{list(parameter.payload.shape)}; leave those to AdamW"
            )

    def _step_group(self, group: Group) -> None:
        check_dense(self, group["params"])
        moved = [one for one in group["params"] if one._grad is not None]
        for parameter in moved:
            if parameter.payload.dtype.kind == "c":
                raise RuntimeError("Muon does not support complex parameters")
        for parameter in moved:
            array, momentum = parameter.payload, group["momentum"]
            # Half precision is computed in float32, and rounded once.
            own = array.astype(np.float32) if array.dtype.itemsize < 4 else array
            gradient = parameter._grad.payload.astype(own.dtype)
            entry = self.state[parameter]
            if "momentum_buffer" not in entry:
                entry["momentum_buffer"] = new(np.zeros_like(array), parameter._names)
            buffer = entry["momentum_buffer"]
            mean = buffer.payload.astype(own.dtype)
            mean = mean + (gradient - mean) * (1 - momentum)
            buffer.payload[...] = mean
            ahead = gradient + (mean - gradient) * momentum if group["nesterov"] else mean
            direction = _orthogonal(ahead, group["ns_coefficients"], group["ns_steps"], group["eps"])
            lr = number(group["lr"])
            own *= 1 - lr * group["weight_decay"]
            own -= lr * _ratio(group["adjust_lr_fn"], *array.shape) * direction
            if own is not array:
                array[...] = own
            buffer._version += 1
            parameter._version += 1

    def _state_keys(self, group: Group) -> tuple[frozenset[str], frozenset[str]]:
        return frozenset({"momentum_buffer"}), frozenset({"momentum_buffer"})

    def _state_shapes(self, parameter: Any) -> dict[str, tuple[int, ...]]:
        return {"momentum_buffer": tuple(parameter.payload.shape)}


def _ratio(way: str | None, rows: int, columns: int) -> float:
    if way == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


def _rounded(array: Any) -> Any:
    """Return float32 numbers rounded to those that bfloat16 has: products of such are summed in float32."""
    return array.astype(ml_dtypes.bfloat16).astype(np.float32)


def _orthogonal(matrix: Any, coefficients: tuple[float, float, float], steps: int, eps: float) -> Any:
    """Return nearly the orthogonal matrix that is nearest."""
    a, b, c = coefficients
    # Of its two products with its transpose the smaller one is worked with.
    tall = matrix.shape[0] > matrix.shape[1]
    x = _rounded(matrix.T if tall else matrix)
    length = float(_rounded(np.asarray(np.linalg.norm(x), np.float32)))
    x = _rounded(x / max(length, eps))
    for _ in range(steps):
        gram = _rounded(x @ x.T)
        update = _rounded(b * gram + c * (gram @ gram))
        x = _rounded(a * x + update @ x)
    return x.T if tall else x

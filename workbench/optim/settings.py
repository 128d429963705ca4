"""Settings of optimizers: read as numbers, and refused where they make no sense."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from workbench.base.sparse_array import SparseArray
from workbench.tensor import Tensor

__all__ = [
    "check_above_zero",
    "check_betas",
    "check_closure",
    "check_dense",
    "check_moments",
    "check_not_nan",
    "check_not_negative",
    "check_number",
    "check_rate",
    "check_ways",
    "number",
    "pair",
]


def number(value: Any) -> Any:
    """Return a setting as a number: those that are tensors of one element may change between steps."""
    return value.item() if isinstance(value, Tensor) else value


def _checked(what: str, value: Any) -> Any:
    """Return a setting as a number, or raise TypeError for what is none."""
    found = number(value)
    if not isinstance(found, int | float | np.number):
        raise TypeError(f"{what} is a number, got {value!r}")
    return found


def check_number(what: str, value: Any) -> Any:
    """Return a setting, or raise TypeError for what is no number, ValueError for NaN."""
    if math.isnan(_checked(what, value)):
        raise ValueError(f"{what} is a number, got nan")
    return value


def check_above_zero(what: str, value: Any) -> Any:
    """Return a setting, or raise ValueError for what is not above 0."""
    # Asked this way round, NaN is refused too.
    if not _checked(what, value) > 0:
        raise ValueError(f"{what} must be above 0, got {value!r}")
    return value


def check_closure(closure: Any) -> None:
    """Refuse what cannot be called, such as the loss itself."""
    if closure is not None and not callable(closure):
        raise TypeError(
            f"step() takes nothing, or a function that computes loss and gradients anew, got {type(closure).__name__}: "
            "call loss.backward(), then step()"
        )


def pair(what: str, values: Any) -> tuple[Any, ...]:
    """Return several numbers as a tuple, or raise TypeError for one."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{what} are two numbers, got {values!r}")
    return tuple(values)


def check_rate(settings: Mapping[str, Any], message: str = "Invalid learning rate: {}") -> None:
    """Refuse a learning rate that is negative, or a tensor of several."""
    rate = settings["lr"]
    if isinstance(rate, Tensor) and rate.numel() != 1:
        raise ValueError(f"Tensor lr must be 1-element, got shape {list(rate.shape)}")
    # Asked this way round, NaN is refused too.
    if not _checked("lr", rate) >= 0:
        raise ValueError(f"{message.format(number(rate))}; it must be 0 or more")


def check_not_negative(settings: Mapping[str, Any], **words: str) -> None:
    """Refuse negative settings; `words` says by name what each is called."""
    for key, called in words.items():
        if not _checked(key, settings[key]) >= 0:
            raise ValueError(f"Invalid {called} value: {number(settings[key])}; it must be 0 or more")


def check_not_nan(settings: Mapping[str, Any], *keys: str) -> None:
    """Refuse settings that are no number, which may be negative."""
    for key in keys:
        check_number(key, settings[key])


def check_betas(settings: Mapping[str, Any]) -> None:
    """Refuse betas outside [0, 1), and one of them a tensor and the other not."""
    betas = pair("betas", settings["betas"])
    if len(betas) != 2:
        raise ValueError(f"betas are two numbers, got {len(betas)}")
    if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if isinstance(beta, Tensor) and beta.numel() != 1:
            raise ValueError(f"Tensor betas[{i}] must be 1-element")
        if not 0 <= _checked(f"betas[{i}]", beta) < 1:
            raise ValueError(f"Invalid beta parameter at index {i}: {number(beta)}; it must be in [0, 1)")


def check_dense(optimizer: Any, parameters: Iterable[Tensor]) -> None:
    """Refuse sparse gradients, before anything moves."""
    if any(type(one._grad.payload) is SparseArray for one in parameters if one._grad is not None):
        raise RuntimeError(
            f"{type(optimizer).__name__} does not support sparse gradients, please consider SparseAdam instead: it "
            "moves what has no gradient, too. SGD and Adagrad take them as well"
        )


def check_ways(settings: Mapping[str, Any]) -> None:
    """Refuse ways of stepping that cannot be.

    `foreach` and `fused` are how PyTorch goes over many parameters at once, which is what happens here in any case.
    """
    fused, foreach = settings.get("fused"), settings.get("foreach")
    if fused and settings.get("differentiable"):
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
    if settings.get("differentiable"):
        raise ValueError(
            "differentiable=True cannot be honoured: a step writes into the memory of parameters, which no tape "
            "records. Write the update with operations on tensors and apply the model with func.functional_call"
        )
    if settings.get("capturable"):
        raise ValueError(
            "capturable=True cannot be honoured: it is for steps captured into an accelerator's graph, and there is "
            "none here. Leave it False"
        )
    if foreach:
        betas = settings.get("betas", ())
        tensors = [("lr", settings["lr"]), *((f"betas[{i}]", beta) for i, beta in enumerate(betas))]
        for name, value in tensors:
            if betas and isinstance(value, Tensor):
                raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")


def check_moments(settings: Mapping[str, Any], **words: str) -> None:
    """Refuse settings with which Adam and its relatives make no sense; `words` as in `check_not_negative`."""
    check_rate(settings)
    check_not_negative(settings, eps="epsilon")
    check_betas(settings)
    check_not_negative(settings, weight_decay="weight_decay", **words)
    check_ways(settings)

"""What steps of optimizers make of NaN, infinities, denormals and the largest numbers, written once for both libraries.

PyTorch is asked in the type itself: whether a square leaves it is part of the answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["BY_STEP", "OTHERS", "STEP_DTYPES", "stepped"]

STEP_DTYPES = ("float32", "float64")

BY_STEP: dict[str, tuple[str, dict[str, Any]]] = {
    "SGD": ("SGD", {}),
    "SGD maximize decay": ("SGD", {"maximize": True, "weight_decay": 0.1}),
    "SGD momentum": ("SGD", {"momentum": 0.9}),
    "SGD dampening decay": ("SGD", {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    "SGD nesterov": ("SGD", {"momentum": 0.9, "nesterov": True}),
    "Adam": ("Adam", {}),
    "Adam amsgrad decay": ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    "Adam quick": ("Adam", {"betas": (0.3, 0.6), "maximize": True}),
    "AdamW": ("AdamW", {}),
    "NAdam": ("NAdam", {}),
    "NAdam decoupled": ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    "RAdam": ("RAdam", {}),
    "RAdam rectified": ("RAdam", {"betas": (0.9, 0.9), "weight_decay": 0.1}),
    "RAdam decoupled": ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    "Adamax": ("Adamax", {}),
    "Adamax decay": ("Adamax", {"weight_decay": 0.1, "maximize": True}),
    "RMSprop": ("RMSprop", {}),
    "RMSprop momentum": ("RMSprop", {"momentum": 0.9, "weight_decay": 0.1}),
    "RMSprop centered": ("RMSprop", {"centered": True}),
    "RMSprop centered momentum": ("RMSprop", {"centered": True, "momentum": 0.9}),
    "Adagrad": ("Adagrad", {}),
    "Adagrad decay": ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.5, "weight_decay": 0.1}),
    "Adadelta": ("Adadelta", {}),
    "Adadelta decay": ("Adadelta", {"weight_decay": 0.1, "maximize": True}),
}
"""Every compiled pass with all the ways that it forks, by a name for it."""

OTHERS = {"ordinary": (0.5, -0.25, 0.75), "none": (0.0, 0.0, 0.0)}
"""What gradients are at steps that are not special: beside numbers, denormals are lost; beside zeros they last."""

_VALUES = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 1e-30, 1e20, 3.4028235e38, -3.4028235e38, 1.0, -1.0]
).astype(np.float32)
_STEPS = 3


def _operands(others: tuple[float, ...]) -> tuple[Any, list[Any]]:
    """Return parameters and their gradients, step by step: each value with each special gradient at each step."""
    value, special, place = (
        one.reshape(-1) for one in np.meshgrid(_VALUES, _VALUES, np.arange(_STEPS), indexing="ij")
    )
    return value, [np.where(place == i, special, np.float32(others[i])) for i in range(_STEPS)]


def stepped(lib: Any, name: str, dtype: str, others: str) -> list[Any]:
    """Return the parameters after some steps of a library's optimizer, and what it remembers of them."""
    kind, settings = BY_STEP[name]
    of = getattr(lib, dtype)
    values, gradients = _operands(OTHERS[others])
    parameter = lib.tensor(values, dtype=of, requires_grad=True)
    optimizer = getattr(lib.optim, kind)([parameter], lr=0.05, **settings)
    for one in gradients:
        parameter.grad = lib.tensor(one, dtype=of)
        optimizer.step()
    state = optimizer.state.get(parameter, {})
    arrays = [state[key] for key in sorted(state) if state[key] is not None]
    return [one.detach().numpy().copy() for one in (parameter, *arrays) if one.shape == parameter.shape]

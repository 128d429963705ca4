"""What every optimizer is run on, here and by the judge beside torch: parameters, gradients, a small net."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import workbench as wb
from workbench import optim
from workbench.optim import lr_scheduler, swa_utils

STEPS = 50

SHAPES: dict[str, tuple[int, ...]] = {"vector": (7,), "matrix": (4, 5), "kernel": (3, 2, 2, 2), "scalar": ()}
MATRICES: dict[str, tuple[int, ...]] = {"tall": (6, 3), "wide": (3, 6)}
"""For what takes nothing else."""
NET: dict[str, tuple[int, ...]] = {"weight1": (8, 5), "bias1": (8,), "weight2": (3, 8), "bias2": (3,)}
NET_OF_MATRICES: dict[str, tuple[int, ...]] = {"weight1": (8, 5), "weight2": (3, 8)}


TOLERANCES = {
    "float64": (1e-7, 1e-9),
    "float32": (2e-4, 2e-5),
    "complex64": (2e-4, 2e-5),
}
"""Relative and absolute, by the type of the parameters."""
WIDER = {"Muon": (1e-2, 4e-3)}
"""Muon computes in bfloat16, whose rounding the iterations enlarge."""


def tolerance(optimizer: str, dtype: str) -> tuple[float, float]:
    return WIDER.get(optimizer, TOLERANCES[dtype])


def shapes_for(optimizer: str) -> dict[str, tuple[int, ...]]:
    return MATRICES if optimizer == "Muon" else SHAPES


def net_for(optimizer: str) -> dict[str, tuple[int, ...]]:
    return NET_OF_MATRICES if optimizer == "Muon" else NET


def steps_of(optimizer: str) -> int:
    """Steps on the net: each of LBFGS is up to twenty, after a hundred of which any rounding has grown large."""
    return 3 if optimizer == "LBFGS" else STEPS


def numbers(shape: tuple[int, ...], random: np.random.Generator, dtype: str) -> Any:
    drawn = random.standard_normal((*shape, 2))
    array = drawn[..., 0] + 1j * drawn[..., 1] if np.dtype(dtype).kind == "c" else drawn[..., 0]
    return np.asarray(array).astype(dtype)


def start(shapes: dict[str, tuple[int, ...]], dtype: str) -> list[Any]:
    """The parameters to begin with."""
    random = np.random.default_rng(11)
    return [numbers(shape, random, dtype) for shape in shapes.values()]


def gradients(shapes: dict[str, tuple[int, ...]], dtype: str) -> Iterator[list[Any]]:
    """The gradients of each step; now and then one parameter has none."""
    random = np.random.default_rng(12)
    for step in range(STEPS):
        drawn = [numbers(shape, random, dtype) for shape in shapes.values()]
        yield [None if (step + 3 * k) % 11 == 7 else one for k, one in enumerate(drawn)]


def data(dtype: str) -> tuple[Any, Any]:
    """Inputs and targets of the net."""
    random = np.random.default_rng(13)
    return random.standard_normal((20, 5)).astype(dtype), random.standard_normal((20, 3)).astype(dtype)


def run_given(make: Callable[[list[Any]], Any], optimizer: str, dtype: str) -> tuple[list[Any], Any]:
    """Final weights after the given gradients, and the optimizer."""
    shapes = shapes_for(optimizer)
    parameters = [wb.from_numpy(array).requires_grad_() for array in start(shapes, dtype)]
    made = make(parameters)
    for drawn in gradients(shapes, dtype):
        for parameter, gradient in zip(parameters, drawn, strict=True):
            parameter.grad = None if gradient is None else wb.from_numpy(gradient)
        made.step()
    return [one.detach().numpy() for one in parameters], made


def loss_of(parameters: list[Any], x: Any, y: Any, tanh: Callable[[Any], Any]) -> Any:
    """The net's loss, in whichever library the parameters are of."""
    if len(parameters) == 2:
        hidden = tanh(x @ parameters[0].T)
        return ((hidden @ parameters[1].T - y) ** 2).mean()
    hidden = tanh(x @ parameters[0].T + parameters[1])
    return ((hidden @ parameters[2].T + parameters[3] - y) ** 2).mean()


def run_net(make: Callable[[list[Any]], Any], optimizer: str, dtype: str) -> list[Any]:
    """Final weights of the net, trained on all data at once."""
    parameters = [wb.from_numpy(array).requires_grad_() for array in start(net_for(optimizer), dtype)]
    x, y = (wb.from_numpy(array) for array in data(dtype))
    made = make(parameters)

    def closure() -> Any:
        made.zero_grad()
        loss = loss_of(parameters, x, y, wb.tanh)
        loss.backward()
        return loss

    for _ in range(steps_of(optimizer)):
        made.step(closure)
    return [one.detach().numpy() for one in parameters]


# ------------------------------------------------------------------------------------------------- schedules

CONSTANT, EXPONENTIAL, LINEAR = ("ConstantLR", {}), ("ExponentialLR", {"gamma": 0.9}), ("LinearLR", {})

SCHEDULES: dict[str, tuple[str, dict[str, Any]]] = {
    "lambda": ("LambdaLR", {"lr_lambda": lambda step: 0.95**step}),
    "lambdas": ("LambdaLR", {"lr_lambda": [lambda step: 0.95**step, lambda step: 1 / (1 + step)]}),
    "multiplicative": ("MultiplicativeLR", {"lr_lambda": lambda step: 0.9 if step % 3 else 1.2}),
    "stairs": ("StepLR", {"step_size": 7, "gamma": 0.5}),
    "milestones": ("MultiStepLR", {"milestones": [30, 5, 5, 12], "gamma": 0.3}),
    "constant": ("ConstantLR", {"factor": 0.25, "total_iters": 9}),
    "linear": ("LinearLR", {"start_factor": 0.2, "end_factor": 0.8, "total_iters": 13}),
    "linear, by default": LINEAR,
    "exponential": EXPONENTIAL,
    "polynomial": ("PolynomialLR", {"total_iters": 20, "power": 1.7}),
    "cosine": ("CosineAnnealingLR", {"T_max": 8, "eta_min": 0.01}),
    "cosine, long": ("CosineAnnealingLR", {"T_max": 50}),
    "restarts": ("CosineAnnealingWarmRestarts", {"T_0": 6}),
    "restarts, longer each": ("CosineAnnealingWarmRestarts", {"T_0": 4, "T_mult": 2, "eta_min": 0.05}),
    "triangles": ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.3, "step_size_up": 4, "step_size_down": 7}),
    "triangles, halved": (
        "CyclicLR",
        {"base_lr": [0.01, 0.02], "max_lr": 0.3, "step_size_up": 5, "mode": "triangular2"},
    ),
    "triangles, falling": (
        "CyclicLR",
        {"base_lr": 0.01, "max_lr": 0.3, "step_size_up": 5, "mode": "exp_range", "gamma": 0.97},
    ),
    "triangles, own": (
        "CyclicLR",
        {
            "base_lr": 0.01,
            "max_lr": 0.3,
            "step_size_up": 5,
            "scale_fn": lambda x: 0.8**x,
            "cycle_momentum": False,
        },
    ),
    "one cycle": ("OneCycleLR", {"max_lr": 0.5, "total_steps": 51}),
    "one cycle, lines": (
        "OneCycleLR",
        {
            "max_lr": [0.5, 0.2],
            "epochs": 11,
            "steps_per_epoch": 5,
            "anneal_strategy": "linear",
            "pct_start": 0.4,
        },
    ),
    "one cycle, three phases": ("OneCycleLR", {"max_lr": 0.5, "total_steps": 55, "three_phase": True}),
    "plateau": ("ReduceLROnPlateau", {"patience": 2, "factor": 0.5, "cooldown": 1}),
    "plateau, max": (
        "ReduceLROnPlateau",
        {"mode": "max", "patience": 1, "threshold_mode": "abs", "threshold": 0.05, "min_lr": [0.01, 0.02]},
    ),
    "swa": ("SWALR", {"swa_lr": 0.02, "anneal_epochs": 12}),
    "swa, lines": ("SWALR", {"swa_lr": [0.02, 0.5], "anneal_epochs": 5, "anneal_strategy": "linear"}),
    "swa, at once": ("SWALR", {"swa_lr": 0.02, "anneal_epochs": 0}),
    "chained": ("ChainedScheduler", {"schedulers": [CONSTANT, EXPONENTIAL]}),
    "sequence": ("SequentialLR", {"schedulers": [LINEAR, EXPONENTIAL], "milestones": [10]}),
    "sequence of three": (
        "SequentialLR",
        {
            "schedulers": [LINEAR, ("CosineAnnealingLR", {"T_max": 10}), ("StepLR", {"step_size": 3})],
            "milestones": [5, 25],
        },
    ),
}
"""Every schedule: its class and settings; parts of composed ones likewise."""


def make_schedule(modules: tuple[Any, ...], optimizer: Any, kind: str, settings: dict[str, Any]) -> Any:
    """A schedule of either library: `modules` are where to look for its class."""
    settings = dict(settings)
    if "schedulers" in settings:
        settings["schedulers"] = [
            make_schedule(modules, optimizer, part, own) for part, own in settings["schedulers"]
        ]
    cls = next(getattr(module, kind) for module in modules if hasattr(module, kind))
    return cls(settings.pop("schedulers")) if kind == "ChainedScheduler" else cls(optimizer, **settings)


def rates_of(
    modules: tuple[Any, ...], optimizer: Any, kind: str, settings: dict[str, Any]
) -> list[list[float]]:
    """Rates and momenta of all groups, at the start and after each of 50 steps."""
    schedule = make_schedule(modules, optimizer, kind, settings)
    measured = np.random.default_rng(14).random(STEPS)
    seen = []
    for step in range(STEPS + 1):
        groups = optimizer.param_groups
        assert [float(rate) for rate in schedule.get_last_lr()] == [float(group["lr"]) for group in groups]
        seen.append([float(group[key]) for group in groups for key in ("lr", "momentum")])
        optimizer.step()
        if step < STEPS:
            schedule.step(measured[step]) if kind == "ReduceLROnPlateau" else schedule.step()
    return seen


def two_groups() -> Any:
    a, b = wb.ones(1, requires_grad=True), wb.ones(1, requires_grad=True)
    return optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.05}], lr=0.1, momentum=0.9)


OURS = (lr_scheduler, swa_utils)

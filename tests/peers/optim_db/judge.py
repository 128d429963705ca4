"""Run every configuration of an optimizer in torch and in the workbench for 50 steps, and compare the weights."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db

import workbench as wb
from tests.optim.recipe import (
    OURS,
    SCHEDULES,
    STEPS,
    data,
    gradients,
    loss_of,
    net_for,
    rates_of,
    run_given,
    run_net,
    shapes_for,
    start,
    steps_of,
    tolerance,
    two_groups,
)
from workbench import optim

__all__ = [
    "KNOWN",
    "UNOFFERED",
    "Outcome",
    "configurations",
    "entries",
    "judge_entry",
    "judge_schedule",
    "two_groups_of_theirs",
    "weights_given",
    "weights_of_net",
]

UNOFFERED = {
    "swap_in_optimizer_params_and_state": "puts what a compiler traces in the place of parameters for one step"
}
"""What else of torch's room there is not, and why."""

KNOWN = {"SparseAdam": "takes sparse gradients only: tests/peers/test_sparse.py judges it"}
"""Entries that are left out, and why."""


class Outcome(NamedTuple):
    """What came of one comparison."""

    case: str
    message: str
    """What went wrong: empty where it passed."""


def entries() -> dict[str, Any]:
    return {entry.name: entry for entry in optim_db if entry.name not in KNOWN}


def configurations(entry: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """What each is called, and its settings in torch."""
    for one in entry.optim_inputs_func(device="cpu", dtype=torch.float32):
        yield one.desc or "default", dict(one.kwargs)


def ours(value: Any) -> Any:
    """A setting or a part of a state as the workbench takes it."""
    if isinstance(value, torch.Tensor):
        return wb.from_numpy(value.detach().numpy().copy())
    if isinstance(value, dict):
        return {key: ours(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(ours(one) for one in value)
    return value


def judge_entry(name: str, entry: Any) -> Iterator[Outcome]:
    """Yield the outcome of every comparison for one optimizer."""
    for label, settings in configurations(entry):
        yield from _judge_configuration(name, entry, label, settings)
    yield from _judge_refusals(name, entry)


def _judge_configuration(name: str, entry: Any, label: str, settings: dict[str, Any]) -> Iterator[Outcome]:
    cases: list[tuple[str, Any]] = [("net float64", lambda: _judge_net(name, settings, "float64"))]
    if not entry.step_requires_closure:
        types = ["float32", "float64", *(["complex64"] if entry.supports_complex else [])]
        cases += [
            (f"given {dtype}", lambda dtype=dtype: _judge_given(name, settings, dtype)) for dtype in types
        ]
        cases.append(("resumed float64", lambda: _judge_resumed(name, settings, "float64")))
    for case, run in cases:
        try:
            message = run()
        except Exception as error:
            message = f"{type(error).__name__}: {str(error)[:300]}"
        yield Outcome(f"{label}, {case}", message)


def make(name: str, settings: dict[str, Any]) -> Any:
    return lambda parameters: getattr(optim, name)(parameters, **ours(settings))


def _theirs(name: str, settings: dict[str, Any], shapes: Any, dtype: str) -> tuple[list[Any], Any]:
    parameters = [torch.from_numpy(array).requires_grad_() for array in start(shapes, dtype)]
    return parameters, getattr(torch.optim, name)(parameters, **settings)


def _set(parameters: list[Any], drawn: list[Any], wrap: Any) -> None:
    for parameter, gradient in zip(parameters, drawn, strict=True):
        parameter.grad = None if gradient is None else wrap(gradient)


def weights_given(name: str, settings: dict[str, Any], dtype: str) -> tuple[list[Any], Any]:
    """Torch's final weights after the given gradients, and its optimizer."""
    parameters, other = _theirs(name, settings, shapes_for(name), dtype)
    for drawn in gradients(shapes_for(name), dtype):
        _set(parameters, drawn, torch.from_numpy)
        other.step()
    return [one.detach().numpy() for one in parameters], other


def _judge_given(name: str, settings: dict[str, Any], dtype: str) -> str:
    want, other = weights_given(name, settings, dtype)
    got, made = run_given(make(name, settings), name, dtype)
    return _differ(name, dtype, got, want) or _differ_in_state(
        name, dtype, made.state_dict(), other.state_dict()
    )


def _judge_resumed(name: str, settings: dict[str, Any], dtype: str) -> str:
    """Ours takes over torch's weights and state half way."""
    shapes = shapes_for(name)
    parameters, other = _theirs(name, settings, shapes, dtype)
    mine: list[Any] = []
    for step, drawn in enumerate(gradients(shapes, dtype)):
        if step == STEPS // 2:
            mine = [ours(one).requires_grad_() for one in parameters]
            made = getattr(optim, name)(mine, lr=0.5)
            made.load_state_dict(ours(other.state_dict()))
        _set(parameters, drawn, torch.from_numpy)
        other.step()
        if mine:
            _set(mine, drawn, wb.from_numpy)
            made.step()
    return _differ(
        name, dtype, [one.detach().numpy() for one in mine], [one.detach().numpy() for one in parameters]
    )


def weights_of_net(name: str, settings: dict[str, Any], dtype: str) -> list[Any]:
    """Torch's final weights of the net."""
    parameters, other = _theirs(name, settings, net_for(name), dtype)
    x, y = (torch.from_numpy(array) for array in data(dtype))

    def closure() -> Any:
        other.zero_grad()
        loss = loss_of(parameters, x, y, torch.tanh)
        loss.backward()
        return loss

    for _ in range(steps_of(name)):
        other.step(closure)
    return [one.detach().numpy() for one in parameters]


def _judge_net(name: str, settings: dict[str, Any], dtype: str) -> str:
    return _differ(
        name, dtype, run_net(make(name, settings), name, dtype), weights_of_net(name, settings, dtype)
    )


def _differ(name: str, dtype: str, got: list[Any], want: list[Any]) -> str:
    relative, absolute = tolerance(name, dtype)
    for i, (mine, other) in enumerate(zip(got, want, strict=True)):
        if mine.dtype != other.dtype:
            return f"parameter {i} is {mine.dtype}, expected {other.dtype}"
        if not np.allclose(mine, other, relative, absolute):
            return f"parameter {i} differs by {np.abs(mine - other).max():.3g}"
    return ""


def _differ_in_state(name: str, dtype: str, got: Any, want: Any) -> str:
    """Compare two state dicts: the settings, the names of what is kept, shapes and values."""
    if [sorted(group) for group in got["param_groups"]] != [sorted(group) for group in want["param_groups"]]:
        return f"settings {sorted(got['param_groups'][0])}, expected {sorted(want['param_groups'][0])}"
    if sorted(got["state"]) != sorted(want["state"]):
        return f"state of {sorted(got['state'])}, expected {sorted(want['state'])}"
    for number, other in want["state"].items():
        mine = got["state"][number]
        if list(mine) != list(other):
            return f"state {list(mine)}, expected {list(other)}"
        for key, expected in other.items():
            if isinstance(expected, torch.Tensor):
                wanted = expected.numpy()
                found = mine[key].numpy()
                if found.shape != wanted.shape or found.dtype != wanted.dtype:
                    return f"{key} is {found.dtype}{found.shape}, expected {wanted.dtype}{wanted.shape}"
                if not np.allclose(found, wanted, *tolerance(name, dtype)):
                    return f"{key} of {number} differs by {np.abs(found - wanted).max():.3g}"
    return ""


def _judge_refusals(name: str, entry: Any) -> Iterator[Outcome]:
    """What torch refuses is refused, with an error of that class and in words that its database finds."""
    for one in entry.optim_error_inputs_func(device="cpu", dtype=torch.float32):
        given = one.optimizer_error_input
        given_params = given.params if given.params is not None else [torch.randn(1, 1, requires_grad=True)]
        yield Outcome(
            f"refusal: {given.desc}", _refused(name, one, _translated(given_params, {}), given.kwargs)
        )


def _translated(value: Any, seen: dict[int, Any]) -> Any:
    """Parameters as ours: what is one tensor in torch is one here, and has its gradient."""
    if isinstance(value, torch.Tensor):
        if id(value) not in seen:
            seen[id(value)] = ours(value)
            if value.requires_grad:
                seen[id(value)].requires_grad_()
            seen[id(value)].grad = None if value.grad is None else ours(value.grad)
        return seen[id(value)]
    if isinstance(value, dict):
        return {key: _translated(one, seen) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_translated(one, seen) for one in value)
    return value


def _refused(name: str, one: Any, parameters: Any, settings: dict[str, Any]) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            made = getattr(optim, name)(parameters, **ours(settings))
            if one.error_on is OptimizerErrorEnum.CONSTRUCTION_ERROR:
                return "was not refused"
            made.step()
        except Exception as error:
            if not isinstance(error, one.error_type):
                return f"{type(error).__name__}, expected {one.error_type.__name__}: {error}"
            return "" if re.search(one.error_regex, str(error)) else f"other words: {error}"
    return "was not refused"


def two_groups_of_theirs() -> Any:
    groups = [
        {"params": [torch.ones(1, requires_grad=True)]},
        {"params": [torch.ones(1, requires_grad=True)], "lr": 0.05},
    ]
    return torch.optim.SGD(groups, lr=0.1, momentum=0.9)


def judge_schedule(label: str) -> Outcome:
    """Compare rates and momenta over 50 steps."""
    kind, settings = SCHEDULES[label]
    modules = (torch.optim.lr_scheduler, torch.optim.swa_utils)
    try:
        want = rates_of(modules, two_groups_of_theirs(), kind, settings)
        got = rates_of(OURS, two_groups(), kind, settings)
    except Exception as error:
        return Outcome(f"{kind}: {label}", f"{type(error).__name__}: {str(error)[:300]}")
    far = np.abs(np.asarray(got) - np.asarray(want)).max()
    return Outcome(f"{kind}: {label}", "" if far <= 1e-12 else f"rates or momenta differ by {far:.3g}")

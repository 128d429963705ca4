"""The state of an optimizer as a dict in PyTorch's layout, and back: checked whole before anything changes."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.value import new
from workbench.tensor import Tensor

if TYPE_CHECKING:
    from workbench.optim.optimizer import Optimizer

__all__ = ["pack", "unpack"]


def pack(state: Mapping[Any, Any], groups: list[dict[str, Any]]) -> dict[str, Any]:
    """Return state and groups with every parameter replaced by its number."""
    numbers: dict[int, int] = {}
    packed, start = [], 0
    for group in groups:
        for place, parameter in enumerate(group["params"], start):
            # One that stands in several places has the number of the first.
            numbers.setdefault(id(parameter), place)
        start += len(group["params"])
        rest = {key: value for key, value in group.items() if key != "params"}
        packed.append({**rest, "params": [numbers[id(parameter)] for parameter in group["params"]]})
    entries = {
        numbers[id(key)] if isinstance(key, Tensor) else key: value
        for key, value in state.items()
        if not isinstance(key, Tensor) or id(key) in numbers
    }
    return {"state": entries, "param_groups": packed}


def unpack(
    optimizer: Optimizer, given: Mapping[str, Any]
) -> tuple[defaultdict[Any, dict[str, Any]], list[dict[str, Any]]]:
    """Return the state by parameter and the settings of each group; raise ValueError with all that does not fit."""
    if missing := [key for key in ("state", "param_groups") if key not in given]:
        raise ValueError(
            f"no state of an optimizer: {missing} missing, got the keys {sorted(map(str, given))}"
        )
    groups = given["param_groups"]
    _check_groups(optimizer, groups)
    if not isinstance(given["state"], Mapping):
        raise ValueError(
            f"state is a dict of what is remembered by parameter, got {type(given['state']).__name__}"
        )
    parameters: dict[Any, tuple[Any, dict[str, Any]]] = {}
    settings = []
    for theirs, ours in zip(groups, optimizer.param_groups, strict=True):
        # Copied, for whoever gave the state may go on with it.
        loaded = copy.deepcopy({key: value for key, value in theirs.items() if key != "params"})
        if isinstance(loaded.get("betas"), list):  # as JSON has it
            loaded["betas"] = tuple(loaded["betas"])
        # What the state lacks stays as it is here, and has to go with the rest.
        together = {**ours, **loaded}
        optimizer.check_settings(together)
        settings.append(loaded)
        for number, parameter in zip(theirs["params"], ours["params"], strict=True):
            parameters[number] = parameter, together
    state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
    problems: list[str] = []
    for key, entry in given["state"].items():
        number = int(key) if isinstance(key, str) and key.isdigit() else key  # JSON's keys are words
        if number in parameters:
            parameter, group = parameters[number]
            if not isinstance(entry, Mapping):
                problems.append(f"state of parameter {number} is a dict, got {type(entry).__name__}")
                continue
            problems += _differences(optimizer, number, parameter, entry, group)
            state[parameter] = {name: _loaded(value, parameter, name) for name, value in entry.items()}
        elif isinstance(number, int):
            problems.append(
                f"unexpected: state of parameter {number}, and there are {len(parameters)} parameters"
            )
        else:
            state[key] = copy.deepcopy(entry)
    if problems:
        raise ValueError(
            f"Error(s) in loading state_dict for {type(optimizer).__name__} (nothing was changed):\n\t"
            + "\n\t".join(problems)
        )
    return state, settings


def _check_groups(optimizer: Optimizer, groups: Any) -> None:
    """Refuse what are no groups, or groups of other numbers of parameters."""
    if not isinstance(groups, list | tuple):
        raise ValueError(
            f"param_groups is a list of dicts with the key 'params', got {type(groups).__name__}"
        )
    if len(groups) != len(optimizer.param_groups):
        raise ValueError(
            f"loaded state dict has a different number of parameter groups: {len(groups)} there, "
            f"{len(optimizer.param_groups)} here"
        )
    for one in groups:
        if not isinstance(one, Mapping) or not isinstance(one.get("params"), list | tuple):
            raise ValueError(f"each of param_groups is a dict with the key 'params', got {one!r}")
    for i, (theirs, ours) in enumerate(zip(groups, optimizer.param_groups, strict=True)):
        if len(theirs["params"]) != len(ours["params"]):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group: "
                f"group {i} has {len(theirs['params'])} parameters there, {len(ours['params'])} here"
            )


def _differences(
    optimizer: Optimizer, number: int, parameter: Any, entry: Any, group: dict[str, Any]
) -> list[str]:
    """Say in what the state of one parameter does not fit."""
    problems = []
    keys = optimizer._state_keys(group)
    # An empty entry is that of a parameter that no step has reached yet.
    if keys is not None and entry:
        needed, known = keys
        there = {key for key, value in entry.items() if value is not None}
        if missing := sorted(needed - there):
            problems.append(f"missing of parameter {number}: {', '.join(missing)}")
        if unexpected := sorted(there - known):
            problems.append(f"unexpected of parameter {number}: {', '.join(unexpected)}")
    step = entry.get("step")
    if step is not None and not isinstance(step, Tensor | np.ndarray | np.number | int | float):
        problems.append(f"'step' of parameter {number} is a number, got {step!r}")
    shape = tuple(parameter.payload.shape)
    for key, expected in optimizer._state_shapes(parameter).items():
        value = entry.get(key)
        if value is not None and not isinstance(value, Tensor | np.ndarray):
            problems.append(f"{key!r} of parameter {number} is a tensor, got {type(value).__name__}")
        elif value is not None and tuple(value.shape) != expected:
            problems.append(
                f"{key!r} of parameter {number} has shape {list(value.shape)}, the parameter {list(shape)}"
            )
    return problems


def _loaded(value: Any, parameter: Any, key: str) -> Any:
    """Return a copy of what was remembered; what has the parameter's shape gets its type and memory order too."""
    if isinstance(value, Tensor | np.ndarray):
        return _loaded_tensor(value, parameter, key)
    if isinstance(value, dict):
        return {name: _loaded(one, parameter, name) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_loaded(one, parameter, key) for one in value)
    if key == "step" and isinstance(value, int | float):  # as PyTorch 1 kept it
        return new(np.array(value, np.float32))
    return copy.deepcopy(value)


def _loaded_tensor(value: Any, parameter: Any, key: str) -> Any:
    array, own = value.payload if isinstance(value, Tensor) else value, parameter.payload
    names = value._names if isinstance(value, Tensor) else None
    if key == "step" or not isinstance(own, np.ndarray) or own.dtype.kind not in "fcV":
        return new(array.copy(), names)
    if array.shape == own.shape:
        # Laid out as the parameter is: the compiled step goes over both in one order.
        laid_out = np.empty_like(own)
        np.copyto(laid_out, array, casting="unsafe")
        return new(laid_out, names or parameter._names)
    return new(array.astype(own.dtype) if array.dtype.kind in "fcV" and array.ndim else array.copy(), names)

"""What optimizers share: groups of parameters with settings, state for each parameter, and both as a dict."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from workbench.base.errors import AutogradError
from workbench.core import dispatch
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["Optimizer"]

Group = dict[str, Any]


class Optimizer:
    """Base of optimizers: `step` goes over the groups and leaves each parameter to the optimizer's own rule.

    `params` are tensors, or dicts with ``"params"`` and settings of their own. `defaults` are the settings of groups
    that do not say otherwise.
    """

    param_groups: list[Group]
    """One dict a group: ``"params"`` and the settings."""
    state: dict[Tensor, dict[str, Any]]
    """What the optimizer remembers of each parameter: NumPy arrays and numbers."""

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got a Tensor: "
                "write [tensor]"
            )
        given = list(params)
        if not given:
            raise ValueError("optimizer got an empty parameter list")
        self.defaults = defaults
        self.param_groups = []
        self.state = {}
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: Any) -> None:
        """Add parameters with settings of their own."""
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise TypeError("param group must be a dict with the key 'params'")
        group = {**self.defaults, **param_group}
        unknown = set(group) - set(self.defaults) - {"params"}
        if unknown:
            raise ValueError(
                f"unknown setting(s) {sorted(unknown)}: {type(self).__name__} has {sorted(self.defaults)}"
            )
        params = group["params"]
        group["params"] = [params] if isinstance(params, Tensor) else list(params)
        known = {id(one) for other in self.param_groups for one in other["params"]}
        for one in group["params"]:
            _check_parameter(one)
            if id(one) in known:
                raise ValueError("some parameters appear in more than one place: each is optimized once")
            known.add(id(one))
        self.check_settings(group)
        self.param_groups.append(group)

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise ValueError for settings that make no sense; every optimizer knows its own."""

    def update(self, parameter: Any, gradient: Any, state: dict[str, Any], settings: Group) -> None:
        """Change one parameter's array in place; every optimizer has its own rule."""
        raise TypeError(
            f"{type(self).__name__} has no rule: define update(parameter, gradient, state, settings)"
        )

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients, or set them to zero."""
        for parameter in self._parameters():
            if set_to_none or parameter.grad is None:
                parameter.grad = None
            else:
                parameter.grad = parameter.grad.detach().zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter that has a gradient, once; return what `closure` (forward and backward) returned."""
        loss = None
        if closure is not None:
            with dispatch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    gradient = _laid_out_as(parameter._array, parameter.grad._array)
                    state = self.state.get(parameter)
                    if state is None:
                        state = self.state[parameter] = {}
                    self.update(parameter._array, gradient, state, group)
                    parameter._version += 1
        return loss

    def _parameters(self) -> Iterator[Tensor]:
        for group in self.param_groups:
            yield from group["params"]

    # --------------------------------------------------------------------------------------------- state

    def state_dict(self) -> dict[str, Any]:
        """Return settings and state, with parameters numbered in order: what `load_state_dict` takes."""
        numbers = {id(parameter): i for i, parameter in enumerate(self._parameters())}
        state = {
            numbers[id(parameter)]: {
                key: new(value) if isinstance(value, np.ndarray) else value for key, value in entry.items()
            }
            for parameter, entry in self.state.items()
        }
        groups = [
            {**group, "params": [numbers[id(parameter)] for parameter in group["params"]]}
            for group in self.param_groups
        ]
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take settings and state over; values are copied. All is checked before anything changes."""
        groups, entries = state_dict["param_groups"], state_dict["state"]
        parameters = list(self._parameters())
        if len(groups) != len(self.param_groups):
            raise ValueError(
                f"loaded state dict has {len(groups)} parameter groups, this optimizer {len(self.param_groups)}"
            )
        for i, (theirs, ours) in enumerate(zip(groups, self.param_groups, strict=True)):
            if len(theirs["params"]) != len(ours["params"]):
                raise ValueError(
                    f"loaded state dict contains a parameter group that doesn't match the size of optimizer's group: "
                    f"group {i} has {len(theirs['params'])} parameters there, {len(ours['params'])} here"
                )
            self.check_settings({**ours, **theirs})
        state = {parameters[int(i)]: _loaded(int(i), parameters, entry) for i, entry in entries.items()}
        for theirs, ours in zip(groups, self.param_groups, strict=True):
            ours.update(copy.deepcopy({key: value for key, value in theirs.items() if key != "params"}))
        self.state = state

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            count = sum(parameter.numel() for parameter in group["params"])
            settings = ", ".join(f"{key}={value}" for key, value in group.items() if key != "params")
            lines.append(f"  group {i}: {len(group['params'])} parameters, {count} values; {settings}")
        return "\n".join([*lines, ")"])


def _check_parameter(parameter: Any) -> None:
    if not isinstance(parameter, Tensor):
        raise TypeError(
            f"optimizer can only optimize Tensors, but one of the params is {type(parameter).__name__}"
        )
    if not parameter.is_leaf:
        raise AutogradError(
            "can't optimize a non-leaf Tensor: pass the leaf it was computed from, or detach() it first"
        )


def _loaded(index: int, parameters: list[Tensor], entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of what was remembered of one parameter, checked against its shape."""
    if not 0 <= index < len(parameters):
        raise ValueError(
            f"loaded state dict has state for parameter {index}, and there are {len(parameters)} parameters"
        )
    shape = parameters[index].shape
    state: dict[str, Any] = {}
    for key, value in entry.items():
        array = value._array if isinstance(value, Tensor) else value
        if isinstance(array, np.ndarray):
            if array.shape != shape:
                raise ValueError(
                    f"loaded state {key!r} of parameter {index} has shape {list(array.shape)}, "
                    f"the parameter {list(shape)}"
                )
            array = array.copy()
        state[key] = array
    return state


def _laid_out_as(parameter: Any, gradient: Any) -> Any:
    """Return the gradient in the type and memory order of the parameter, where it has others."""
    if gradient.dtype == parameter.dtype and gradient.strides == parameter.strides:
        return gradient
    laid_out = np.empty_like(parameter)
    laid_out[...] = gradient
    return laid_out

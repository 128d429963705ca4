"""A module called with other parameters than its own, which stays as it was: `torch.func.functional_call`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from workbench.base.dims import near_miss
from workbench.core.tape import alias_like
from workbench.ops import FUNCTIONS
from workbench.tensor import Tensor

__all__ = ["functional_call", "stack_module_state"]

_ABSENT = object()


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Return ``module(*args, **kwargs)`` with tensors by dotted path in the place of its parameters and buffers.

    A tensor without names has those of the one it stands for. With `tie_weights` a tensor given for one path of a
    parameter that stands at several stands at all of them. Several dicts are taken together. Raises ValueError for a
    key in two of them and for two tensors for one tied parameter, RuntimeError where, if `strict`, keys are missing or
    unexpected, TypeError for what is no tensor.

    >>> import workbench as wb
    >>> layer = wb.nn.Linear(2, 1, bias=False)
    >>> functional_call(layer, {"weight": wb.ones(1, 2)}, wb.tensor([3.0, 4.0], names=("in_features",)))
    tensor([7.], names=('out_features',))
    """
    values = _together(parameter_and_buffer_dicts)
    own = _own(module)
    _check(module, values, own, strict)
    if tie_weights:
        values = _tied(values, own)
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, values, own):
        return module(*positional, **(kwargs or {}))


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the parameters and the buffers of several models of one form, each stacked along a new first dim.

    With `functional_call` under `vmap` they are an ensemble. Raises RuntimeError for no models, for models of different
    classes, and where not all are training or all are not.

    >>> import workbench as wb
    >>> models = [wb.nn.Linear(2, 1) for _ in range(3)]
    >>> parameters, buffers = stack_module_state(models)
    >>> x = wb.randn(5, 2)
    >>> wb.func.vmap(lambda p: functional_call(models[0], p, x))(parameters).shape
    (3, 5, 1)
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    first = models[0]
    if any(one.training != first.training for one in models):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(one) is not type(first) for one in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = {
        name: _stacked([dict(one.named_parameters())[name] for one in models])
        for name, _ in first.named_parameters()
    }
    buffers = {
        name: _stacked([dict(one.named_buffers())[name] for one in models])
        for name, _ in first.named_buffers()
    }
    return parameters, buffers


def _stacked(values: list[Any]) -> Tensor:
    # Detached, as in PyTorch: gradients gather in the stack and do not go back to the models.
    stacked: Tensor = FUNCTIONS["stack"]([one.detach() for one in values])
    return stacked.requires_grad_() if all(one.requires_grad for one in values) else stacked


def _own(module: Any) -> dict[str, Any]:
    """Return all parameters and buffers by dotted path, those at several paths several times."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _together(dicts: Any) -> dict[str, Any]:
    if isinstance(dicts, Mapping):
        return dict(dicts)
    if not isinstance(dicts, Sequence) or not all(isinstance(one, Mapping) for one in dicts):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, "
            f"but got {type(dicts).__name__}"
        )
    values: dict[str, Any] = {}
    for one in dicts:
        twice = sorted(set(one) & set(values))
        if twice:
            raise ValueError(
                f"{twice[0]} appears in multiple dictionaries; behavior of functional call is ambiguous"
            )
        values |= one
    return values


def _check(module: Any, values: dict[str, Any], own: dict[str, Any], strict: bool) -> None:
    for key, value in values.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"{key}: a tensor is needed, got {type(value).__name__}")
        path, _, name = key.rpartition(".")
        if key not in own and isinstance(getattr(type(module.get_submodule(path)), name, None), property):
            raise KeyError(
                f"{key} is computed from other parameters: give those, parametrizations.{name}.original"
            )
    if not strict:
        return
    missing = [key for key in own if key not in values]
    unexpected = [key for key in values if key not in own]
    problems = []
    if unexpected:
        near = near_miss(unexpected[0], missing)
        problems.append(
            f"Unexpected key(s): {', '.join(unexpected)}." + (f" Is {unexpected[0]} {near}?" if near else "")
        )
    if missing:
        problems.append(f"Missing key(s): {', '.join(missing)}.")
    if problems:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(problems)
        )


def _tied(values: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Return `values` with those for one path of what stands at several at all of them."""
    paths: dict[int, list[str]] = {}
    for path, value in own.items():
        paths.setdefault(id(value), []).append(path)
    tied = dict(values)
    for group in paths.values():
        given = [path for path in group if path in values]
        if len(group) == 1 or not given:
            continue
        if any(values[path] is not values[given[0]] for path in given):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(given)}, which are tied. Consider using "
                "tie_weights=False"
            )
        tied |= dict.fromkeys(group, values[given[0]])
    return tied


@contextmanager
def _replaced(module: Any, values: dict[str, Any], own: dict[str, Any]) -> Iterator[None]:
    """Have `values` stand in the module for this block."""
    before: list[tuple[dict[str, Any], str, Any]] = []
    # Into the modules' own dicts, past __setattr__: a parameter's place takes no other tensor that way.
    places = [(module.get_submodule(key.rpartition(".")[0]).__dict__, key) for key in values]
    try:
        for place, key in places:
            name = key.rpartition(".")[2]
            value, here = values[key], own.get(key)
            if here is not None and value._names is None and value.ndim == here.ndim and any(here.dim_labels):
                value = alias_like(value, here)
            before.append((place, name, place.get(name, _ABSENT)))
            place[name] = value
        yield
    finally:
        # Backwards: where a module stands at two paths a place was set twice, and the first time knew what was there.
        for place, name, value in reversed(before):
            if value is _ABSENT:
                place.pop(name, None)
            else:
                place[name] = value

"""The state of a module: found, collected, checked and copied in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.base.dims import near_miss
from workbench.base.dtypes import as_dtype
from workbench.tensor import Tensor

if TYPE_CHECKING:
    from workbench.nn.module import Module

__all__ = ["IncompatibleKeys", "cast", "collect", "load", "submodule"]


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` did not find, and what it did not know."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


def submodule(root: Module, target: str) -> Module:
    """Return the module at the dotted path `target` below `root`."""
    module = root
    for name in target.split(".") if target else ():
        found = module.__dict__.get(name) if name in module._module_names else None
        if found is None:
            near = near_miss(name, module._module_names)
            raise AttributeError(
                f"{type(module).__name__} has no module `{name}`"
                + (f". Did you mean `{near}`?" if near else "")
            )
        module = found
    return module


def _entries(root: Module, prefix: str) -> list[tuple[str, Module, str]]:
    """Every place of the state: its key, the module that holds it, and the attribute."""
    found = []
    for path, module in root.named_modules(remove_duplicate=False):
        lead = f"{prefix}{path}." if path else prefix
        names = [*module._parameter_names, *(name for name, kept in module._buffer_names.items() if kept)]
        found += [(lead + name, module, name) for name in names if module.__dict__[name] is not None]
    return found


def collect(root: Module, prefix: str, keep_vars: bool) -> dict[str, Tensor]:
    """Return the state by dotted path; memory is shared."""
    return {
        key: module.__dict__[name] if keep_vars else module.__dict__[name].detach()
        for key, module, name in _entries(root, prefix)
    }


def load(root: Module, values: Mapping[str, Any], strict: bool) -> IncompatibleKeys:
    """Copy `values` into the state of `root`, all or nothing."""
    if not isinstance(values, Mapping):
        raise TypeError(f"expected state_dict to be dict-like, got {type(values).__name__}")
    entries = {key: (module, name) for key, module, name in _entries(root, "")}
    missing = [key for key in entries if key not in values]
    unexpected = [key for key in values if key not in entries]
    wrong = [_difference(key, values[key], *entries[key]) for key in entries if key in values]
    problems = [one for one in wrong if one]
    if strict:
        problems = [*_key_problems(missing, unexpected), *problems]
    if problems:
        raise RuntimeError(
            f"Error(s) in loading state_dict for {type(root).__name__} (nothing was changed):\n\t"
            + "\n\t".join(problems)
        )
    for key, (module, name) in entries.items():
        if key in values:
            _put(values[key], module, name)
    return IncompatibleKeys(missing, unexpected)


def _key_problems(missing: list[str], unexpected: list[str]) -> list[str]:
    problems = []
    if missing:
        problems.append("Missing key(s) in state_dict: " + ", ".join(f'"{key}"' for key in missing) + ".")
    if unexpected:
        near = {key: near_miss(key, missing) for key in unexpected}
        problems.append(
            "Unexpected key(s) in state_dict: "
            + ", ".join(f'"{key}"' + (f' (is it "{near[key]}"?)' if near[key] else "") for key in unexpected)
            + "."
        )
    return problems


def _difference(key: str, value: Any, module: Module, name: str) -> str:
    """Say why `value` does not fit the place `name` of `module`; empty where it does."""
    if not isinstance(value, Tensor | np.ndarray):
        return f'"{key}": expected a tensor or an array, got {type(value).__name__}.'
    here: Tensor = module.__dict__[name]
    given, own = value._array if isinstance(value, Tensor) else value, here._array
    if tuple(given.shape) != tuple(own.shape) and name not in module.resizable:
        return (
            f"size mismatch for {key}: copying a param with shape {list(given.shape)} from the state_dict, "
            f"the shape in current model is {list(own.shape)}."
        )
    if given.dtype.kind not in "biuf" and given.dtype.kind != own.dtype.kind:
        return f"type mismatch for {key}: {given.dtype} does not go into {own.dtype}."
    names = value._names if isinstance(value, Tensor) else None
    clash = (
        names and here._names and any(a and b and a != b for a, b in zip(names, here._names, strict=False))
    )
    return f"name mismatch for {key}: dims {list(names or ())} for dims {list(here.names)}." if clash else ""


def _put(value: Any, module: Module, name: str) -> None:
    here: Tensor = module.__dict__[name]
    given = value._array if isinstance(value, Tensor) else value
    if tuple(given.shape) != tuple(here._array.shape):
        here._array = np.array(given, dtype=here._array.dtype)
    elif isinstance(given, np.ndarray) and isinstance(here._array, np.ndarray):
        np.copyto(here._array, given, casting="unsafe")
    else:  # a payload of another kind, such as quantized codes: it is immutable, and shared
        here._array = given
    here._version += 1


def cast(root: Module, target: Any) -> None:
    """Bring floating point parameters and buffers to the type `target`, gradients with them."""
    dtype = as_dtype(target).numpy
    if dtype.kind != "f":
        raise TypeError(f"a module is cast to a floating point type, not {as_dtype(target).name}")
    for tensor in (*root.parameters(), *root.buffers()):
        if isinstance(tensor._array, np.ndarray) and tensor._array.dtype.kind == "f":
            tensor._array = tensor._array.astype(dtype)
            tensor._version += 1
            tensor.grad = None

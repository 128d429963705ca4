"""Going through a module: parameters, buffers and modules, here and below, and by dotted path.

These are methods of `Module`, written as functions of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workbench.base.dims import near_miss
from workbench.nn.parameter import Parameter
from workbench.nn.registry import Registry
from workbench.tensor import Tensor

if TYPE_CHECKING:
    from workbench.nn.module import Module


def named_children(module: Module) -> Iterator[tuple[str, Module]]:
    """Yield the modules right below, each once, with their names."""
    seen: set[int] = set()
    for name in module._module_names:
        child = module.__dict__[name]
        if child is not None and id(child) not in seen:
            seen.add(id(child))
            yield name, child


def children(module: Module) -> Iterator[Module]:
    """Yield the modules right below, each once."""
    return (child for _, child in module.named_children())


def named_modules(
    module: Module, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
) -> Iterator[tuple[str, Module]]:
    """Yield this module and all below, with dotted paths; a module that stands in several places comes once."""
    memo = set() if memo is None else memo
    if remove_duplicate and id(module) in memo:
        return
    memo.add(id(module))
    yield prefix, module
    for name in module._module_names:
        child = module.__dict__[name]
        if child is not None:
            # By the method, and not this function: a class may have its own.
            yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)


def modules(module: Module) -> Iterator[Module]:
    """Yield this module and all below, each once."""
    return (one for _, one in module.named_modules())


def parts(module: Module) -> list[Module]:
    """Return this module and all below, each once, in no order: a walk for what is asked in every call."""
    found: dict[int, Module] = {}
    pending = [module]
    while pending:
        one = pending.pop()
        if id(one) in found:
            continue
        found[id(one)] = one
        if one._module_names:
            held = one.__dict__
            pending += [child for name in one._module_names if (child := held[name]) is not None]
    return list(found.values())


def _named_members(
    module: Module, registry: str, prefix: str, recurse: bool, remove_duplicate: bool
) -> Iterator[tuple[str, Any]]:
    seen: set[int] = set()
    modules = (
        module.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        if recurse
        else iter([(prefix, module)])
    )
    for path, owner in modules:
        for name in getattr(owner, registry):
            value = owner.__dict__[name]
            if value is None or (remove_duplicate and id(value) in seen):
                continue
            seen.add(id(value))
            yield f"{path}.{name}" if path else name, value


def named_parameters(
    module: Module, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
) -> Iterator[tuple[str, Parameter]]:
    """Yield the parameters with dotted paths; one that stands in several places comes once."""
    return _named_members(module, "_parameter_names", prefix, recurse, remove_duplicate)


def parameters(module: Module, recurse: bool = True) -> Iterator[Parameter]:
    """Yield the parameters, each once."""
    return (parameter for _, parameter in module.named_parameters(recurse=recurse))


def named_buffers(
    module: Module, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
) -> Iterator[tuple[str, Tensor]]:
    """Yield the buffers with dotted paths."""
    return _named_members(module, "_buffer_names", prefix, recurse, remove_duplicate)


def buffers(module: Module, recurse: bool = True) -> Iterator[Tensor]:
    """Yield the buffers, each once."""
    return (buffer for _, buffer in module.named_buffers(recurse=recurse))


def get_submodule(module: Module, target: str) -> Module:
    """Return the module at a dotted path; the empty path is this module."""
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


def get_parameter(module: Module, target: str) -> Parameter:
    """Return the parameter at a dotted path. Raises AttributeError where there is none."""
    return _registered(module, target, "_parameter_names", "parameter")  # type: ignore[no-any-return]


def get_buffer(module: Module, target: str) -> Tensor:
    """Return the buffer at a dotted path. Raises AttributeError where there is none."""
    return _registered(module, target, "_buffer_names", "buffer")  # type: ignore[no-any-return]


def _registered(module: Module, target: str, registry: str, kind: str) -> Any:
    path, _, name = target.rpartition(".")
    module = module.get_submodule(path)
    known = getattr(module, registry)
    if name not in known:
        near = near_miss(name, known)
        raise AttributeError(
            f"{type(module).__name__} has no {kind} `{name}`" + (f". Did you mean `{near}`?" if near else "")
        )
    return module.__dict__[name]


def set_submodule(root: Module, target: str, module: Module, strict: bool = False) -> None:
    """Put `module` at a dotted path; with `strict` only where there is a module already.

    Raises AttributeError where the path does not lead to a module, ValueError for an empty path.
    """
    if not target:
        raise ValueError("Cannot set the submodule without a target name!")
    path, _, name = target.rpartition(".")
    parent = root.get_submodule(path)
    if strict and name not in parent._module_names:
        raise AttributeError(f"{type(parent).__name__} has no module `{name}` to replace")
    # A module, that is: its class is made of these functions, and cannot be known here.
    if not isinstance(module, Registry):
        raise ValueError(f"`module` is not an nn.Module, found {type(module).__name__}")
    if name not in parent._module_names:
        parent._check_new(name, "module")
    setattr(parent, name, module)

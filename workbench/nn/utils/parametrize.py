"""Parameters computed from others each time they are read: PyTorch's `torch.nn.utils.parametrize`.

A parametrization is a module that maps what is learned (``original``) to what the layer uses, such as any matrix to a
symmetric one. It is given tensors without names, so that mathematics like ``x + x.T`` is not a clash of names, unless
it has an attribute ``named = True``; what it returns has the names of the parameter that it stands for.
"""

from __future__ import annotations

import contextvars
import copy
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from workbench.base.dims import near_miss
from workbench.base.public import words
from workbench.core.dispatch import no_grad
from workbench.core.value import labelled
from workbench.nn.module import Module
from workbench.nn.modules.container import ModuleDict
from workbench.nn.parameter import Parameter
from workbench.nn.utils.parametrization_list import (
    ParametrizationList,
    check_same,
    plain,
    register,
    seen,
    take,
)
from workbench.tensor import Tensor

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

# By thread or task: what one has kept is not for another.
_cache: contextvars.ContextVar[dict[int, tuple[Any, Tensor]] | None] = contextvars.ContextVar(
    "workbench_parametrizations", default=None
)


@contextmanager
def cached() -> Iterator[None]:
    """Have each parametrized tensor computed once in this block, however often it is read.

    >>> import workbench as wb
    >>> from workbench.nn.utils import parametrizations
    >>> layer = parametrizations.weight_norm(wb.nn.Linear(2, 2))
    >>> with cached():
    ...     layer.weight is layer.weight
    True
    """
    # A block within a block: the values of the outer one stay good until that ends.
    if _cache.get() is not None:
        yield
        return
    token = _cache.set({})
    try:
        yield
    finally:
        _cache.reset(token)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Have ``module.tensor_name`` computed by a parametrization each time it is read; return the module.

    What is learned is then ``module.parametrizations.tensor_name.original``: the inverse of the parametrization, where
    it has a method ``right_inverse``, of what the tensor was. An inverse that returns several tensors gives
    ``original0``, ``original1``, …. Assigning to ``module.tensor_name`` goes through the inverse too. A tensor that has
    a parametrization gets another after it. Unless `unsafe`, size and type must stay: ValueError otherwise, and for a
    name that is no parameter or buffer; nothing is changed then.

    >>> import workbench as wb
    >>> class Symmetric(wb.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = register_parametrization(wb.nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight.rename(None) == layer.weight.rename(None).T).all())
    True
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'parametrizations.weight.original']
    """
    held: Any = module
    if is_parametrized(module, tensor_name):
        parametrization.train(module.training)
        if not unsafe:
            _check_next(getattr(module, tensor_name), parametrization)
        held.parametrizations[tensor_name].append(parametrization)
        held.parametrizations[tensor_name].unsafe |= unsafe
        return module
    original = module.__dict__.get(tensor_name)
    known = tensor_name in module._parameter_names or tensor_name in module._buffer_names
    if not known or original is None:
        near = near_miss(tensor_name, [*module._parameter_names, *module._buffer_names])
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'" + (f". Did you mean '{near}'?" if near else "")
        )
    parametrization.train(module.training)
    listed = ParametrizationList([parametrization], original, unsafe=unsafe).train(module.training)
    # Only now, when all checks have passed.
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _give_class(module)
        held.parametrizations = ModuleDict()
    # On the class, since Python looks for properties nowhere else; so each module needs one of its own.
    setattr(type(module), tensor_name, _reading(tensor_name))
    held.parametrizations[tensor_name] = listed
    return module


def _check_next(value: Tensor, parametrization: Module) -> None:
    """Refuse another parametrization that changes size or type, forwards or backwards."""
    with no_grad():
        start = plain(value.detach())
        result = parametrization(seen(parametrization, start, value.dim_labels))
        check_same(result, value, "module", "parametrization(module)")
        back: Any = value
        # As in PyTorch, a right_inverse that raises it counts as none.
        with suppress(NotImplementedError):
            if hasattr(parametrization, "right_inverse"):
                back = parametrization.right_inverse(seen(parametrization, plain(result), value.dim_labels))
        if not isinstance(back, Tensor):
            raise ValueError(
                f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}"
            )
        check_same(back, value, "module", "right_inverse(parametrization(module))")


def _give_class(module: Module) -> None:
    """Put a class of its own under a module, on which properties can stand."""
    cls = type(module)

    def copied(self: Any, memo: dict[int, Any]) -> Any:
        # A copy gets a class of its own as well: taking a parametrization away deletes the property from the
        # class.
        replica = object.__new__(_class_of_its_own(cls, dict(vars(type(self)))))
        memo[id(self)] = replica
        replica.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return replica

    def refuse(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(): save that, and register the "
            "parametrizations anew before it is loaded"
        )

    words: dict[str, Any] = {"__getstate__": refuse, "__module__": cls.__module__}
    # A class that has a way of its own to be copied keeps it.
    if not hasattr(cls, "__deepcopy__"):
        words["__deepcopy__"] = copied
    module.__class__ = _class_of_its_own(cls, words)


def _class_of_its_own(cls: type[Module], words: dict[str, Any]) -> type[Module]:
    """Return a class below `cls` that no other module has: copies lose their parametrizations one by one."""
    return type(
        f"Parametrized{cls.__name__}",
        (cls,),
        {key: value for key, value in words.items() if key not in ("__dict__", "__weakref__")},
    )


def _reading(name: str) -> property:
    """Return the property that a parametrized tensor is."""

    def read(self: Any) -> Any:
        listed = self.__dict__["parametrizations"].__dict__[name]
        known = _cache.get()
        if known is None:
            return listed()
        if id(listed) not in known:
            # With what it is of: as long as that is held, no other gets its id.
            known[id(listed)] = listed, listed()
        return known[id(listed)][1]

    def write(self: Any, value: Tensor) -> None:
        self.__dict__["parametrizations"].__dict__[name].right_inverse(value)
        known = _cache.get()
        if known is not None:
            known.pop(id(self.__dict__["parametrizations"].__dict__[name]), None)

    return property(read, write)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Say whether a module has a parametrization, or has one for a tensor."""
    listed = module.__dict__.get("parametrizations")
    if not isinstance(listed, ModuleDict):
        return False
    return len(listed) > 0 if tensor_name is None else tensor_name in listed


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parametrized tensor a plain one again, with the value it has, or with what was learned; return the module.

    Raises ValueError for a tensor without parametrizations, and for one that starts from several tensors unless
    `leave_parametrized`.

    >>> import workbench as wb
    >>> from workbench.nn.utils import parametrizations
    >>> layer = parametrizations.weight_norm(wb.nn.Linear(2, 2))
    >>> [name for name, _ in remove_parametrizations(layer, "weight").named_parameters()]
    ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    held: Any = module
    listed = held.parametrizations[tensor_name]
    if listed.is_tensor:
        original = listed.original
        if leave_parametrized:
            with no_grad():
                take(original, getattr(module, tensor_name))
        if original.ndim == len(listed.dims) and original._names is None and any(listed.dims):
            labelled(original, listed.dims)
            if listed.named:
                original._names = listed.dims
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = value.detach()
        if value.requires_grad:
            original = Parameter(original.clone(), dim_labels=value.dim_labels)
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del held.parametrizations[tensor_name]
    register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        # Its class was made for this module alone, over the one that it had.
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type[Module]:
    """Return the class that a module had before it was parametrized: its class, if it is not."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give `to_module` the parametrizations of `from_module`, or those of one tensor, and what they start from.

    A tensor that `to_module` lacks is taken over. Raises ValueError where `from_module` has no such parametrization.
    """
    if not is_parametrized(from_module, tensor_name):
        where = f" on {tensor_name}" if tensor_name else ""
        raise ValueError(f"{type(from_module).__name__} has no parametrization{where}")
    source: Any = from_module
    target: Any = to_module
    for name in [tensor_name] if tensor_name is not None else list(source.parametrizations):
        if not hasattr(to_module, name):
            register(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        listed = source.parametrizations[name]
        for parametrization in listed:
            register_parametrization(to_module, name, parametrization, unsafe=True)
        own = target.parametrizations[name]
        starts = ["original"] if listed.is_tensor else [f"original{i}" for i in range(listed.ntensors)]
        # Shared, not copied, as in PyTorch: both modules learn the same numbers from here on.
        for start in starts:
            setattr(own, start, getattr(listed, start))
    return to_module


__getattr__, __dir__ = words(__name__, __all__)

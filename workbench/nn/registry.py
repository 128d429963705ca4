"""What a module registers: parameters, buffers and other modules, by attribute or by a call.

What is registered lives in the instance's own ``__dict__``, where Python finds it at once; beside it stand the *names*
of what is a parameter, a buffer or a module, in the order in which they came.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from workbench.nn.parameter import Buffer, Parameter
from workbench.ops import FFT, FUNCTIONS, LINALG, NN, SPECIAL
from workbench.tensor import Tensor

if TYPE_CHECKING:
    from workbench.nn.module import Module

__all__ = ["REGISTRATION", "Registry"]

Watcher = Callable[[Any, str, Any], Any]

REGISTRATION: dict[str, dict[int, Watcher]] = {"parameter": {}, "buffer": {}, "module": {}}
"""Hooks of every registration in any module, by kind: ``hook(module, name, value)`` may return another value."""


_OFFERED = {id(one) for offered in (FUNCTIONS, NN, LINALG, FFT, SPECIAL) for one in offered.values()}
"""The functions that people call, as objects: they live as long as the package."""


class Registry:
    """The part of `Module` that knows what is registered."""

    _parameter_names: dict[str, None]
    _buffer_names: dict[str, bool]
    """Names of buffers, and whether each is part of the state."""
    _module_names: dict[str, None]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        # PyTorch's functions are no methods, wherever they are kept: ``op = F.conv2d`` in a class stays the function.
        for name, kept in tuple(cls.__dict__.items()):
            if inspect.isfunction(kept) and id(kept) in _OFFERED:
                setattr(cls, name, staticmethod(kept))

    def __init__(self) -> None:
        # Past our own `__setattr__`, which reads these very tables. The dict is made now: of Python 3.11 two threads
        # that ask for it first, as copies do, may get one each.
        self.__dict__.update(_parameter_names={}, _buffer_names={}, _module_names={})

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        parameters = own.get("_parameter_names")
        if isinstance(value, Parameter | Registry | Buffer):
            if parameters is None:
                kind = "module" if isinstance(value, Registry) else "parameters"
                raise AttributeError(
                    f"cannot assign {kind} before Module.__init__() call: write super().__init__() first"
                )
            # A property decides itself what becomes of a tensor, as that of a parametrized weight does.
            if not isinstance(getattr(type(self), name, None), property):
                self._assign(name, value)
                return
        elif parameters is not None:
            self._check_replacement(name, value)
            # In PyTorch, too, each assignment to a buffer is a registration, and its hooks see it.
            if REGISTRATION["buffer"] and name in self._buffer_names:
                value = _watched("buffer", self, name, value)
        object.__setattr__(self, name, value)

    def _assign(self, name: str, value: Any) -> None:
        """Register what an attribute is set to."""
        if isinstance(value, Buffer):
            self.register_buffer(name, value, value.persistent)
            return
        kind = "parameter" if isinstance(value, Parameter) else "module"
        registry = self._parameter_names if kind == "parameter" else self._module_names
        value = _watched(kind, self, name, value)
        self._check_apart(name, value)
        self._forget(name, registry)
        registry[name] = None
        object.__setattr__(self, name, value)

    def _forget(self, name: str, keep: Mapping[str, Any]) -> None:
        for registry in (self._parameter_names, self._buffer_names, self._module_names):
            if registry is not keep:
                registry.pop(name, None)

    def _check_replacement(self, name: str, value: Any) -> None:
        """Refuse a value that cannot take the place of what is registered under `name`."""
        if value is None:
            return
        for registry, kind, wanted in (
            (self._parameter_names, "parameter", "nn.Parameter"),
            (self._module_names, "child module", "nn.Module"),
        ):
            if name in registry:
                raise TypeError(
                    f"cannot assign {type(value).__name__!r} object to {kind} {name!r} ({wanted} or None required)"
                )
        if name in self._buffer_names and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign {type(value).__name__!r} object to buffer {name!r} (Tensor or None required)"
            )

    def _check_apart(self, name: str, value: Any) -> None:
        """Refuse a module that is this one, or holds it: whoever goes over all modules would never come to an end."""
        if not isinstance(value, Registry) or not (value is self or value._module_names):
            # Leaves, which most modules are, need not be searched.
            return
        if value is self or any(one is self for one in value.modules()):  # type: ignore[attr-defined]
            held = "is this module itself" if value is self else f"holds this {type(self).__name__}"
            raise ValueError(
                f"cannot assign a {type(value).__name__} to child module {name!r}, as it {held}: modules are a tree. "
                f"To know another module without holding it keep it in a list, self.{name} = [module]"
            )

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        self._forget(name, ())  # type: ignore[arg-type]

    def __dir__(self) -> list[str]:
        # The positions in lists of modules are attributes that cannot be written after a dot.
        return sorted({name for name in object.__dir__(self) if not name[0].isdigit()})

    def _check_new(self, name: str, kind: str) -> None:
        if "_parameter_names" not in self.__dict__:
            raise AttributeError(
                f"cannot assign {kind} before Module.__init__() call: write super().__init__() first"
            )
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if not name or "." in name:
            raise KeyError(f"{kind} name must be a string that is not empty and has no '.', got {name!r}")
        if hasattr(self, name) and name not in getattr(self, f"_{kind}_names"):
            raise KeyError(f"attribute {name!r} already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None for one that this module does without.

        Raises KeyError for a name that is taken or cannot be one, TypeError for what is no parameter, ValueError for
        the result of a recorded op.

        >>> import workbench as wb
        >>> module = wb.nn.Module()
        >>> module.register_parameter("scale", wb.nn.Parameter(wb.ones(1)))
        >>> [name for name, _ in module.named_parameters()]
        ['scale']
        """
        self._check_new(name, "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign {type(param).__name__!r} object to parameter {name!r} (nn.Parameter or None required)"
            )
        if param is not None and param._grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter {name!r}. Model parameters must be created explicitly. "
                f"To express {name!r} as a function of another Tensor, compute the value in the forward() method."
            )
        self._place(name, _watched("parameter", self, name, param), self._parameter_names, None)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is not learned; it is part of `state_dict` if `persistent`.

        Raises KeyError for a name that is taken or cannot be one, TypeError for what is no tensor.
        """
        self._check_new(name, "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign {type(tensor).__name__!r} object to buffer {name!r} (Tensor or None required)"
            )
        self._place(name, _watched("buffer", self, name, tensor), self._buffer_names, persistent)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module under a name.

        Raises KeyError for a name that is taken or cannot be one, TypeError for what is no module.
        """
        self._check_new(name, "module")
        if module is not None and not isinstance(module, Registry):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        module = _watched("module", self, name, module)
        self._check_apart(name, module)
        self._place(name, module, self._module_names, None)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a module under a name: another name of `add_module`."""
        self.add_module(name, module)

    def _place(self, name: str, value: Any, registry: dict[str, Any], entry: Any) -> None:
        self._forget(name, registry)
        registry[name] = entry
        object.__setattr__(self, name, value)

    @property
    def _parameters(self) -> Registered:
        return Registered(self, self._parameter_names, "register_parameter")

    @property
    def _buffers(self) -> Registered:
        return Registered(self, self._buffer_names, "register_buffer")

    @property
    def _modules(self) -> Registered:
        return Registered(self, self._module_names, "add_module")


class Registered(MutableMapping[str, Any]):
    """What a module has registered of one kind, by name, as a dict: reading and changing it is done in the module."""

    def __init__(self, module: Registry, names: Mapping[str, Any], register: str) -> None:
        self._module = module
        self._names = names
        self._register = register

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._module.__dict__[name]

    def __setitem__(self, name: str, value: Any) -> None:
        getattr(self._module, self._register)(name, value)

    def __delitem__(self, name: str) -> None:
        if name not in self._names:
            raise KeyError(name)
        delattr(self._module, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))


def _watched(kind: str, module: Any, name: str, value: Any) -> Any:
    """Return what is registered after those who watch all registrations have seen it."""
    # Over a copy: a hook may take itself away.
    for hook in tuple(REGISTRATION[kind].values()):
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value

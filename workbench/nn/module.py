"""`Module`: parameters, buffers and other modules by attribute, and a call.

What is registered lives in the instance's own ``__dict__``, where Python finds it at once; beside it stand
the *names* of what is a parameter, a buffer or a module. A call without hooks costs one test more than the
call of `forward` itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from workbench.base.errors import AutogradError, DimensionError, DTypeError, QuantizationError
from workbench.core import scope
from workbench.nn import state
from workbench.nn.parameter import Parameter
from workbench.tensor import Tensor

__all__ = ["Module", "RemovableHandle"]

Own = TypeVar("Own", bound="Module")
_LOCATED = (DimensionError, DTypeError, AutogradError, QuantizationError)
"""Errors that are told in which module they arose."""


class Module:
    """Base of everything that holds parameters and is called.

    >>> import workbench as wb
    >>> class Double(wb.nn.Module):
    ...     def forward(self, x):
    ...         return x * 2
    >>> Double()(wb.ones(N=2))
    tensor([2.0000, 2.0000], names=('N',))
    """

    training: bool = True
    """True while learning: `train` and `eval` set it here and in all modules below."""
    resizable: tuple[str, ...] = ()
    """Buffers that take the size of what `load_state_dict` brings, such as a histogram that was filled."""
    _parameter_names: dict[str, None]
    _buffer_names: dict[str, bool]
    """Names of buffers, and whether each is part of the state."""
    _module_names: dict[str, None]
    _hooks: dict[int, Callable[..., Any]] | None = None
    _pre_hooks: dict[int, Callable[..., Any]] | None = None
    _hooked: bool = False

    def __init__(self) -> None:
        put = object.__setattr__
        put(self, "_parameter_names", {})
        put(self, "_buffer_names", {})
        put(self, "_module_names", {})

    # ---------------------------------------------------------------------------------------- the call

    def forward(self, *inputs: Any, **keywords: Any) -> Any:
        """Compute the output; every module has its own."""
        raise TypeError(
            f'Module [{type(self).__name__}] is missing the required "forward" function: def forward(self, x)'
        )

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        try:
            if self._hooked or scope.active:
                return self._call_observed(inputs, keywords)
            return self.forward(*inputs, **keywords)
        except _LOCATED as error:
            _tell_place(error, self)
            raise

    def _call_observed(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call with hooks, and say where we are to whom it may concern."""
        with scope.entered(self):
            for pre_hook in tuple((self._pre_hooks or {}).values()):
                changed = pre_hook(self, inputs)
                if changed is not None:
                    inputs = changed if isinstance(changed, tuple) else (changed,)
            output = self.forward(*inputs, **keywords)
            for hook in tuple((self._hooks or {}).values()):
                changed = hook(self, inputs, output)
                output = output if changed is None else changed
            return output

    def register_forward_hook(self, hook: Callable[[Any, tuple[Any, ...], Any], Any]) -> RemovableHandle:
        """Call ``hook(module, inputs, output)`` after every call; what it returns, unless None, is the output.

        Call what it returns, or its ``remove``, to remove the hook.
        """
        return self._add_hook("_hooks", hook)

    def register_forward_pre_hook(self, hook: Callable[[Any, tuple[Any, ...]], Any]) -> RemovableHandle:
        """Call ``hook(module, inputs)`` before every call; what it returns, unless None, are the inputs."""
        return self._add_hook("_pre_hooks", hook)

    def _add_hook(self, registry: str, hook: Callable[..., Any]) -> RemovableHandle:
        if not callable(hook):
            raise TypeError(f"a hook is called, and {type(hook).__name__} cannot be")
        if getattr(self, registry) is None:
            object.__setattr__(self, registry, {})
        handle = RemovableHandle(self, registry)
        getattr(self, registry)[id(handle)] = hook
        object.__setattr__(self, "_hooked", True)
        return handle

    # ------------------------------------------------------------------------------------- registration

    def __setattr__(self, name: str, value: Any) -> None:
        parameters = self.__dict__.get("_parameter_names")
        if isinstance(value, Parameter | Module):
            if parameters is None:
                kind = "parameters" if isinstance(value, Parameter) else "module"
                raise AttributeError(
                    f"cannot assign {kind} before Module.__init__() call: write super().__init__() first"
                )
            registry = parameters if isinstance(value, Parameter) else self._module_names
            self._forget(name, registry)
            registry[name] = None
        elif parameters is not None:
            self._check_replacement(name, value)
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

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        self._forget(name, ())  # type: ignore[arg-type]

    def _check_new(self, name: str, kind: str) -> None:
        if not name or "." in name:
            raise KeyError(f"{kind} name must be a string that is not empty and has no '.', got {name!r}")
        if hasattr(self, name) and name not in (
            *self._parameter_names,
            *self._buffer_names,
            *self._module_names,
        ):
            raise KeyError(f"attribute {name!r} already exists")

    def register_parameter(self, name: str, parameter: Parameter | None) -> None:
        """Add a parameter, or None for one that this module does without."""
        self._check_new(name, "parameter")
        if parameter is not None and not isinstance(parameter, Parameter):
            raise TypeError(
                f"cannot assign {type(parameter).__name__!r} object to parameter {name!r} "
                "(nn.Parameter or None required)"
            )
        self._forget(name, self._parameter_names)
        self._parameter_names[name] = None
        object.__setattr__(self, name, parameter)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is not learned; it is part of `state_dict` if `persistent`."""
        self._check_new(name, "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign {type(tensor).__name__!r} object to buffer {name!r} (Tensor or None required)"
            )
        self._forget(name, self._buffer_names)
        self._buffer_names[name] = persistent
        object.__setattr__(self, name, tensor)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module under a name."""
        self._check_new(name, "module")
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._forget(name, self._module_names)
        self._module_names[name] = None
        object.__setattr__(self, name, module)

    register_module = add_module

    # ------------------------------------------------------------------------------------ what is inside

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the modules right below, each once, with their names."""
        seen: set[int] = set()
        for name in self._module_names:
            module = self.__dict__[name]
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """Yield the modules right below, each once."""
        return (module for _, module in self.named_children())

    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield this module and all below, with dotted paths; a module that stands in several places comes once."""
        memo = set() if memo is None else memo
        if remove_duplicate and id(self) in memo:
            return
        memo.add(id(self))
        yield prefix, self
        for name in self._module_names:
            module = self.__dict__[name]
            if module is not None:
                yield from module.named_modules(
                    memo, f"{prefix}.{name}" if prefix else name, remove_duplicate
                )

    def modules(self) -> Iterator[Module]:
        """Yield this module and all below, each once."""
        return (module for _, module in self.named_modules())

    def _named_members(
        self, registry: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else iter([(prefix, self)])
        )
        for path, module in modules:
            for name in getattr(module, registry):
                value = module.__dict__[name]
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters with dotted paths; one that stands in several places comes once."""
        return self._named_members("_parameter_names", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters, each once."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield the buffers with dotted paths."""
        return self._named_members("_buffer_names", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """Return the module at a dotted path; the empty path is this module."""
        return state.submodule(self, target)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at a dotted path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in module._parameter_names:
            raise AttributeError(f"{type(module).__name__} has no parameter `{name}`")
        return module.__dict__[name]  # type: ignore[no-any-return]

    def set_submodule(self, target: str, module: Module) -> None:
        """Put `module` in the place of the one at a dotted path."""
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if name not in parent._module_names:
            raise AttributeError(f"{type(parent).__name__} has no module `{name}` to replace")
        setattr(parent, name, module)

    # ------------------------------------------------------------------------------------------- changes

    def train(self: Own, mode: bool = True) -> Own:
        """Say to this module and all below that they learn (or, with False, that they are used)."""
        if not isinstance(mode, bool):
            raise TypeError(f"training mode is expected to be boolean, got {mode!r}")
        for module in self.modules():
            object.__setattr__(module, "training", mode)
        return self

    def eval(self: Own) -> Own:
        """Say to this module and all below that they are used, not trained."""
        return self.train(False)

    def requires_grad_(self: Own, requires_grad: bool = True) -> Own:
        """Set whether the parameters are learned."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of the parameters, or set them to zero."""
        for parameter in self.parameters():
            if set_to_none or parameter.grad is None:
                parameter.grad = None
            else:
                parameter.grad = parameter.grad.detach().zero_()

    def apply(self: Own, function: Callable[[Module], Any]) -> Own:
        """Call `function` on every module below, then on this one."""
        for module in self.children():
            module.apply(function)
        function(self)
        return self

    def to(self: Own, target: Any) -> Own:
        """Bring floating point parameters and buffers to a type, such as ``wb.float64``."""
        if target != "cpu":
            state.cast(self, target)
        return self

    def double(self: Own) -> Own:
        """Bring floating point parameters and buffers to float64."""
        return self.to("float64")

    def float(self: Own) -> Own:
        """Bring floating point parameters and buffers to float32."""
        return self.to("float32")

    # --------------------------------------------------------------------------------------------- state

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> dict[str, Tensor]:
        """Return parameters and persistent buffers by dotted path; memory is shared.

        With `keep_vars` the parameters themselves, on which gradients are recorded.
        """
        return state.collect(self, prefix, keep_vars)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> state.IncompatibleKeys:
        """Copy values in by dotted path: tensors or NumPy arrays. All is checked before anything changes.

        Returns the missing and the unexpected keys. Raises RuntimeError, which lists all that is wrong, where
        sizes or names differ and, if `strict`, where keys are missing or unexpected.
        """
        return state.load(self, state_dict, strict)

    # ------------------------------------------------------------------------------------------- printed

    def extra_repr(self) -> str:
        """Return what stands between the parentheses in the printed form, besides the modules below."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = [
            f"({name}): " + "\n  ".join(repr(self.__dict__[name]).split("\n")) for name in self._module_names
        ]
        if not lines:
            return f"{self._get_name()}({extra})"
        body = "\n  ".join([extra, *lines] if extra else lines)
        return f"{self._get_name()}(\n  {body}\n)"


class RemovableHandle:
    """Removes one hook, when it is called."""

    def __init__(self, module: Module, registry: str) -> None:
        self._module = module
        self._registry = registry

    def __call__(self) -> None:
        (getattr(self._module, self._registry) or {}).pop(id(self), None)
        object.__setattr__(self._module, "_hooked", bool(self._module._hooks or self._module._pre_hooks))

    remove = __call__


def _tell_place(error: Exception, caller: Module) -> None:
    """Note on an error the path of the module in which it arose, as seen from the outermost module called so far."""
    innermost: Module = error.__dict__.setdefault("module", caller)
    path = next((name for name, module in caller.named_modules() if module is innermost), "")
    label = f"{path} ({type(innermost).__name__})" if path else type(innermost).__name__
    notes = [note for note in getattr(error, "__notes__", []) if not note.startswith("in module ")]
    if not path and innermost is not caller:
        return  # a module that this one does not hold: what was said further in stays
    error.__notes__ = [
        *notes,
        f"in module {label} of {type(caller).__name__}" if path else f"in module {label}",
    ]
    error.__dict__["module_path"] = path

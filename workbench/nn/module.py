"""`Module`: parameters, buffers and other modules by attribute, and a call.

A call without hooks costs one test more than the call of `forward` itself. What is registered is the `Registry`'s, the
one base; going through it is written in `traversal`, hooks in `hook_registration`, the state in `state`, other types
and devices in `conversion`: functions of a module, which the class lists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from workbench.base.dtypes import as_dtype
from workbench.base.foreign import mending
from workbench.core import scope
from workbench.core.value import Value
from workbench.nn import conversion, hook_registration, state, traversal
from workbench.nn.hooks import Hooks, RemovableHandle, call
from workbench.nn.registry import Registry
from workbench.tensor import Tensor

__all__ = ["Module", "RemovableHandle"]

Own = TypeVar("Own", bound="Module")


class Module(Registry):
    """Base of everything that holds parameters and is called.

    >>> import workbench as wb
    >>> class Double(wb.nn.Module):
    ...     def forward(self, x):
    ...         return x * 2
    >>> Double()(wb.ones(N=2))
    tensor([2., 2.], names=('N',))
    """

    training: bool = True
    """True while learning: `train` and `eval` set it here and in all modules below."""
    resizable: tuple[str, ...] = ()
    """Buffers that take the size of what `load_state_dict` brings, such as a histogram that was filled."""
    _version: int = 1
    """Version of the layout of the state, which `state_dict` writes down and `_load_from_state_dict` is told."""

    _remembered: tuple[str, ...] = ()
    """Attributes that are kept to save work: nothing that a call gives depends on them."""

    _hooks: Hooks | None = None
    _hooked: bool = False
    """True while a call must go through hooks."""

    # ---------------------------------------------------------------------------------- what is inside

    children = traversal.children
    named_children = traversal.named_children
    modules = traversal.modules
    named_modules = traversal.named_modules
    parameters = traversal.parameters
    named_parameters = traversal.named_parameters
    buffers = traversal.buffers
    named_buffers = traversal.named_buffers
    get_submodule = traversal.get_submodule
    set_submodule = traversal.set_submodule
    get_parameter = traversal.get_parameter
    get_buffer = traversal.get_buffer

    # ------------------------------------------------------------------------------------------- hooks

    register_forward_pre_hook = hook_registration.register_forward_pre_hook
    register_forward_hook = hook_registration.register_forward_hook
    register_full_backward_pre_hook = hook_registration.register_full_backward_pre_hook
    register_full_backward_hook = hook_registration.register_full_backward_hook
    register_backward_hook = hook_registration.register_backward_hook
    register_state_dict_pre_hook = hook_registration.register_state_dict_pre_hook
    register_state_dict_post_hook = hook_registration.register_state_dict_post_hook
    _register_state_dict_hook = hook_registration._register_state_dict_hook
    register_load_state_dict_pre_hook = hook_registration.register_load_state_dict_pre_hook
    _register_load_state_dict_pre_hook = hook_registration._register_load_state_dict_pre_hook
    register_load_state_dict_post_hook = hook_registration.register_load_state_dict_post_hook

    # ---------------------------------------------------------------------------------------- the call

    def forward(self, *inputs: Any, **keywords: Any) -> Any:
        """Compute the output; every module has its own. Raises TypeError for one that has none."""
        raise TypeError(
            f'Module [{type(self).__name__}] is missing the required "forward" function: def forward(self, x)'
        )

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        try:
            if self._hooked or scope.active:
                with scope.entered(self):
                    return call(self, inputs, keywords)
            return self.forward(*inputs, **keywords)
        # What is no tensor shows by what it lacks. So no call has to look at its inputs first.
        except AttributeError as error:
            refusal = _refusal(error, self)
            _tell_place(refusal or error, self)
            if refusal is None:
                raise
            raise refusal from error
        except Exception as error:
            _tell_place(error, self)
            raise

    # ------------------------------------------------------------------------------------------- changes

    def train(self: Own, mode: bool = True) -> Own:
        """Say to this module and all below that they learn (or, with False, that they are used)."""
        if not isinstance(mode, bool):
            raise ValueError(f"training mode is expected to be boolean, got {mode!r}")
        # Not by `self.training =`, which would look first whether a flag is something to register.
        object.__setattr__(self, "training", mode)
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: Own) -> Own:
        """Say to this module and all below that they are used, not trained."""
        return self.train(False)

    def requires_grad_(self: Own, requires_grad: bool = True) -> Own:
        """Set whether the parameters are learned."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def share_memory(self: Own) -> Own:
        """Move parameters and buffers to memory that processes share: see `Tensor.share_memory_`."""
        for value in (*self.parameters(), *self.buffers()):
            value.share_memory_()
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of the parameters, or set them to zero."""
        for parameter in self.parameters():
            if set_to_none or parameter.grad is None:
                parameter.grad = None
            else:
                # Detached: a gradient that was made with `create_graph` would otherwise record this, and keep
                # its graph.
                parameter.grad = parameter.grad.detach().zero_()

    def apply(self: Own, fn: Callable[[Module], Any]) -> Own:
        """Call `fn` on every module below, then on this one.

        >>> import workbench as wb
        >>> def start(module):
        ...     if isinstance(module, wb.nn.Linear):
        ...         wb.nn.init.zeros_(module.weight)
        >>> model = wb.nn.Sequential(wb.nn.Linear(2, 1)).apply(start)
        >>> model[0].weight.detach().tolist()
        [[0.0, 0.0]]
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self: Own, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Own:
        """Put ``fn(tensor)`` in the place of every parameter, gradient and buffer, here and below."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        conversion.convert(self, fn)
        return self

    def to(
        self: Own,
        *arguments: Any,
        device: Any = None,
        dtype: Any = None,
        non_blocking: bool = False,
        memory_format: Any = None,
    ) -> Own:
        """Bring parameters and buffers to a device, those with real or complex numbers also to a type; in place.

        Takes a type (``to(wb.float64)``), a device (``to("cuda")``), both, or a tensor to be like; `memory_format` is
        for what has the dims of pictures. Parameters stay the
        objects that optimizers know, and their gradients go along. Raises TypeError for a type of whole numbers,
        `DeviceError` for a device that is not there.

        >>> import workbench as wb
        >>> wb.nn.Linear(2, 2).to(wb.float64).weight.dtype
        workbench.float64
        """
        return self._apply(conversion.caster(*conversion.targets(arguments, dtype, device), memory_format))

    def type(self: Own, dst_type: Any) -> Own:
        """Bring all parameters and buffers, those with whole numbers too, to a type."""
        kind = as_dtype(dst_type)
        return self._apply(lambda value: value.to(kind))

    def float(self: Own) -> Own:
        """Bring floating point parameters and buffers to float32."""
        return self._floating("float32")

    def double(self: Own) -> Own:
        """Bring floating point parameters and buffers to float64."""
        return self._floating("float64")

    def half(self: Own) -> Own:
        """Bring floating point parameters and buffers to float16."""
        return self._floating("float16")

    def bfloat16(self: Own) -> Own:
        """Bring floating point parameters and buffers to bfloat16."""
        return self._floating("bfloat16")

    def _floating(self: Own, name: str) -> Own:
        return self._apply(lambda value: value.to(name) if value.dtype.is_floating_point else value)

    def cpu(self: Own) -> Own:
        """Bring parameters and buffers to the CPU."""
        return self._apply(lambda value: value.cpu())

    def cuda(self: Own, device: Any = None) -> Own:
        """Bring parameters and buffers to an NVIDIA GPU. Raises `DeviceError` where there is none."""
        return self.to(device=f"cuda:{device}" if isinstance(device, int) else device or "cuda")

    def to_empty(self: Own, *, device: Any, recurse: bool = True) -> Own:
        """Bring parameters and buffers to a device without their numbers, which are then whatever is there."""
        return self._apply(lambda value: conversion.emptied(value, device), recurse)

    # --------------------------------------------------------------------------------------------- state

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Return parameters and persistent buffers by dotted path, in an ordered dict; memory is shared.

        With `keep_vars` the parameters themselves, on which gradients are recorded. With a `destination` that dict is
        filled.
        """
        return state.collect(self, destination, prefix, keep_vars)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> state.IncompatibleKeys:
        """Copy values in by dotted path: tensors or NumPy arrays. All is checked before anything changes.

        With `assign` the tensors given take the place of those that are here, instead of their numbers. Returns the
        missing and the unexpected keys. Raises RuntimeError, which lists all that is wrong, where sizes or names differ
        and, if `strict`, where keys are missing or unexpected.

        >>> import workbench as wb
        >>> one, other = wb.nn.Linear(2, 3), wb.nn.Linear(2, 3)
        >>> other.load_state_dict(one.state_dict())
        <All keys matched successfully>
        """
        return state.load(self, state_dict, strict, assign)

    def get_extra_state(self) -> Any:
        """Return what `state_dict` keeps of this module besides tensors; a module that has such gives its own."""
        raise RuntimeError(
            f"{type(self).__name__} has no extra state: a module that has defines get_extra_state and set_extra_state"
        )

    def set_extra_state(self, state: Any) -> None:
        """Take what `get_extra_state` returned; a module that has such gives its own."""
        raise RuntimeError(
            f"{type(self).__name__} has no extra state: a module that has defines get_extra_state and set_extra_state"
        )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put what this module itself holds into the state."""
        state.save_own(self, destination, prefix, keep_vars)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Check and take what this module itself holds out of a state."""
        state.load_own(
            self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies and pickles keep: of what hooks compute the numbers, not the history."""
        state = dict(self.__dict__)
        # Weight norm, spectral norm and pruning put what they computed under their parameter's name: values
        # with a history, which cannot be copied. A copy computes its own at its next call.
        for hook in self._hooks.forward_pre.values() if self._hooks is not None else ():
            name = getattr(hook.call, "name", None)
            if (
                isinstance(name, str)
                and isinstance(state.get(name), Tensor)
                and name not in self._parameter_names
            ):
                state[name] = state[name].detach()
        return state

    # ------------------------------------------------------------------------------------------- printed

    def extra_repr(self) -> str:
        """Return what stands between the parentheses in the printed form, besides the modules below."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        own = self.__dict__
        lines = [f"({name}): " + "\n  ".join(repr(own[name]).split("\n")) for name in self._module_names]
        if not lines:
            if "\n" not in extra:
                return f"{self._get_name()}({extra})"
            return f"{self._get_name()}(\n  " + "\n  ".join(extra.split("\n")) + "\n)"
        body = "\n  ".join([*extra.split("\n"), *lines] if extra else lines)
        return f"{self._get_name()}(\n  {body}\n)"


def _tell_place(error: Exception, caller: Module) -> None:
    """Note on an error the path of the module in which it arose, as seen from the outermost module called so far."""
    # The innermost module comes first, on the way out; those around it only know a longer path to it.
    innermost, kind = error.__dict__.setdefault("_arose", (id(caller), type(caller).__name__))
    path = next((name for name, module in caller.named_modules() if id(module) == innermost), "")
    if not path and innermost != id(caller):
        return  # a module that this one does not hold: what was said further in stays
    # What was noted further in is the end of the longer path: one line says it all.
    notes = [note for note in getattr(error, "__notes__", []) if not note.startswith("in module ")]
    label = f"in module {path} ({kind}) of {type(caller).__name__}" if path else f"in module {kind}"
    error.__notes__ = [*notes, label]


def _refusal(error: AttributeError, caller: Module) -> Exception | None:
    """Return an error in words of a user's where what was given is no tensor."""
    if error.name not in ("payload", "_names") or isinstance(error.obj, Value):
        return None
    return TypeError(
        f"{type(caller).__name__} takes tensors, got {type(error.obj).__name__}: {mending(error.obj)}"
    )

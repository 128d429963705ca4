"""How hooks are registered on a module. Each comes back as a handle whose `remove` takes it away.

These are methods of `Module`, written as functions of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench.nn.hooks import Hook, RemovableHandle, register

if TYPE_CHECKING:
    from workbench.nn.module import Module


def register_forward_pre_hook(
    module: Module, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
) -> RemovableHandle:
    """Call ``hook(module, inputs)`` before every call; what it returns, unless None, are the inputs.

    With `with_kwargs` it is ``hook(module, inputs, keywords)``, which returns None or both; with `prepend` it comes
    before the hooks that are there. Raises TypeError for what cannot be called.

    >>> import workbench as wb
    >>> layer = wb.nn.Identity()
    >>> handle = layer.register_forward_pre_hook(lambda module, inputs: inputs[0] * 2)
    >>> layer(wb.ones(1))
    tensor([2.])
    """
    return register(module, "forward_pre", Hook(hook, with_kwargs), prepend)


def register_forward_hook(
    module: Module,
    hook: Callable[..., Any],
    *,
    prepend: bool = False,
    with_kwargs: bool = False,
    always_call: bool = False,
) -> RemovableHandle:
    """Call ``hook(module, inputs, output)`` after every call; what it returns, unless None, is the output.

    With `with_kwargs` it is ``hook(module, inputs, keywords, output)``; with `always_call` it is called although
    the module failed; with `prepend` it comes before the hooks that are there. Raises TypeError for what cannot be
    called.
    """
    return register(module, "forward", Hook(hook, with_kwargs, always_call), prepend)


def register_full_backward_pre_hook(
    module: Module, hook: Callable[..., Any], prepend: bool = False
) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the gradients of a call are computed.

    `grad_output` is a tuple with a gradient, or None, for each output; what the hook returns, unless None, takes
    its place.
    """
    return register(module, "backward_pre", Hook(hook), prepend)


def register_full_backward_hook(
    module: Module, hook: Callable[..., Any], prepend: bool = False
) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` when the gradients of a call's inputs are known.

    Both are tuples with a gradient, or None, for each positional input and each output, under the dims of the
    tensors they belong to; what the hook returns, unless None, takes the place of `grad_input`.

    >>> import workbench as wb
    >>> layer = wb.nn.Tanh()
    >>> handle = layer.register_full_backward_hook(lambda module, inward, outward: print(inward[0].names))
    >>> layer(wb.zeros(N=2, requires_grad=True)).sum().backward()
    ('N',)
    """
    return register(module, "backward", Hook(hook), prepend)


def register_backward_hook(module: Module, hook: Callable[..., Any]) -> RemovableHandle:
    """Do what `register_full_backward_hook` does, under PyTorch's older name."""
    return module.register_full_backward_hook(hook)


def register_state_dict_pre_hook(module: Module, hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, prefix, keep_vars)`` before this module's part of `state_dict` is made."""
    return register(module, "state_pre", Hook(hook), False)


def register_state_dict_post_hook(module: Module, hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, state_dict, prefix, local_metadata)`` when this module's part of `state_dict` is made.

    It may change the dict, and returns None.
    """
    return register(module, "state", Hook(hook), False)


def _register_state_dict_hook(module: Module, hook: Callable[..., Any]) -> RemovableHandle:
    """Do what `register_state_dict_post_hook` does, but take what the hook returns, unless None, as the dict."""
    return register(module, "state", Hook(hook, with_kwargs=True), False)


def register_load_state_dict_pre_hook(module: Module, hook: Callable[..., Any]) -> RemovableHandle:
    """Call the hook before `load_state_dict` looks at this module.

    It is ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``
    and may change the dict, which is a copy, and the lists.
    """
    return register(module, "load_pre", Hook(hook, with_kwargs=True), False)


def _register_load_state_dict_pre_hook(
    module: Module, hook: Callable[..., Any], with_module: bool = False
) -> RemovableHandle:
    """Do what `register_load_state_dict_pre_hook` does, for a hook that is not given the module by default."""
    return register(module, "load_pre", Hook(hook, with_kwargs=with_module), False)


def register_load_state_dict_post_hook(module: Module, hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, incompatible_keys)`` when `load_state_dict` has copied all values.

    It may change the lists of missing and unexpected keys: with `strict`, what is then left of them is refused, and
    every value is what it was before.
    """
    return register(module, "load", Hook(hook), False)

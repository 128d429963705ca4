"""Hooks of modules: what they are kept in, how they are removed, and a call that goes through them.

Those of one module are kept by the module, in a `Hooks` that it has from its first hook on; those of all modules are
`EVERYWHERE`. While there are any for all modules, `scope.active` is raised, so that a call still has one test to make.
"""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.core import scope
from workbench.nn.backward_hooks import Watch
from workbench.nn.registry import REGISTRATION

if TYPE_CHECKING:
    from workbench.nn.module import Module

__all__ = [
    "EVERYWHERE", "Hook", "Hooks", "RemovableHandle", "call", "only_computes", "register",
    "register_module_backward_hook", "register_module_buffer_registration_hook", "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook",
]  # fmt: skip

_numbers = itertools.count()


class Hook(NamedTuple):
    """One hook and how it wants to be called."""

    call: Callable[..., Any]
    with_kwargs: bool = False
    """It is also given the keywords, or the module, where hooks of its kind may be without."""
    always_call: bool = False
    """It is called although the call of the module failed."""


Table = OrderedDict[int, Hook]


class Hooks:
    """The hooks of a module, by kind."""

    __slots__ = (
        "backward", "backward_pre", "forward", "forward_pre", "load", "load_pre", "state", "state_pre",
    )  # fmt: skip

    def __init__(self) -> None:
        self.forward: Table = OrderedDict()
        self.forward_pre: Table = OrderedDict()
        self.backward: Table = OrderedDict()
        self.backward_pre: Table = OrderedDict()
        self.state: Table = OrderedDict()
        self.state_pre: Table = OrderedDict()
        self.load: Table = OrderedDict()
        self.load_pre: Table = OrderedDict()

    def of_calls(self) -> bool:
        """Say whether a call of the module must go through hooks."""
        return bool(self.forward or self.forward_pre or self.backward or self.backward_pre)

    def compute_only(self) -> bool:
        """Say whether what a call goes through only computes, so that a trace of the call has all of it."""
        after_all = self.backward or self.backward_pre
        calls = (one.call for one in (*self.forward.values(), *self.forward_pre.values()))
        return not after_all and all(getattr(one, "only_computes", False) for one in calls)


def only_computes(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a hook that computes what goes in or comes out, and does nothing else: compiled models take it along."""
    hook.only_computes = True  # type: ignore[attr-defined]  # functions take attributes
    return hook


EVERYWHERE = Hooks()
"""Hooks of every module."""


class RemovableHandle:
    """Removes one hook: by `remove`, by a call of the handle, or at the end of a ``with`` block.

    >>> import workbench as wb
    >>> layer = wb.nn.Identity()
    >>> with layer.register_forward_hook(lambda module, inputs, output: output + 1):
    ...     layer(wb.zeros(1))
    tensor([1.])
    >>> layer(wb.zeros(1))
    tensor([0.])
    """

    def __init__(self, table: dict[int, Any], changed: Callable[[], None]) -> None:
        self.id = next(_numbers)
        self._table = table
        self._changed = changed

    def remove(self) -> None:
        """Remove the hook; nothing happens where it is gone already."""
        if self._table.pop(self.id, None) is not None:
            self._changed()

    def __call__(self) -> None:
        self.remove()

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def register(module: Module, kind: str, hook: Hook, prepend: bool = False) -> RemovableHandle:
    """Add a hook to those of a module."""
    _check(hook.call)
    # At the first hook: most modules never have one.
    if module._hooks is None:
        object.__setattr__(module, "_hooks", Hooks())
    # Weakly: a handle that somebody keeps, in a notebook for instance, is no reason to keep the model.
    known = weakref.ref(module)

    def changed() -> None:
        module = known()
        if module is not None:
            object.__setattr__(module, "_hooked", module._hooks is not None and module._hooks.of_calls())

    handle = _add(getattr(module._hooks, kind), hook, prepend, changed)
    changed()
    return handle


def _check(hook: object) -> None:
    if not callable(hook):
        raise TypeError(f"a hook is called, and {type(hook).__name__} cannot be")


def _add(table: Table, hook: Hook, prepend: bool, changed: Callable[[], None]) -> RemovableHandle:
    handle = RemovableHandle(table, changed)
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


# ----------------------------------------------------------------------------------------------------- a call


def call(module: Module, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call the forward of a module through its hooks and those of all modules."""
    # A module without hooks of its own has those of all in their place; they must not be called twice then.
    own = module._hooks or EVERYWHERE
    own_too = own is not EVERYWHERE
    # A list, as those below: a hook may take itself, or another, away while they are called.
    after = [*EVERYWHERE.forward.items(), *(own.forward.items() if own_too else ())]
    called: set[int] = set()
    output = None
    try:
        for hook in [*EVERYWHERE.forward_pre.values(), *(own.forward_pre.values() if own_too else ())]:
            inputs, keywords = _before(hook, module, inputs, keywords)
        before_backward = [*EVERYWHERE.backward_pre.values(), *(own.backward_pre.values() if own_too else ())]
        backward = [*EVERYWHERE.backward.values(), *(own.backward.values() if own_too else ())]
        watch = None
        if backward or before_backward:
            watch = Watch(module, [one.call for one in before_backward], [one.call for one in backward])
            inputs = watch.inputs(inputs)
        output = module.forward(*inputs, **keywords)
        for number, hook in after:
            # Noted before it is called: a hook that fails here is not called once more for its own failure.
            called.add(number)
            changed = _after(hook, module, inputs, keywords, output)
            output = output if changed is None else changed
        return output if watch is None else watch.outputs(output)
    except Exception as error:
        for number, hook in after:
            if hook.always_call and number not in called:
                _after_failure(hook, module, inputs, keywords, output, error)
        raise


def _before(
    hook: Hook, module: Module, inputs: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not hook.with_kwargs:
        changed = hook.call(module, inputs)
        if changed is None:
            return inputs, keywords
        return (changed if isinstance(changed, tuple) else (changed,)), keywords
    changed = hook.call(module, inputs, keywords)
    if changed is None:
        return inputs, keywords
    if not (isinstance(changed, tuple) and len(changed) == 2 and isinstance(changed[1], dict)):
        raise RuntimeError(
            "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
            f"{type(changed).__name__}: {changed!r}."
        )
    return (changed[0] if isinstance(changed[0], tuple) else (changed[0],)), changed[1]


def _after(hook: Hook, module: Module, inputs: tuple[Any, ...], keywords: dict[str, Any], output: Any) -> Any:
    if hook.with_kwargs:
        return hook.call(module, inputs, keywords, output)
    return hook.call(module, inputs, output)


def _after_failure(
    hook: Hook,
    module: Module,
    inputs: tuple[Any, ...],
    keywords: dict[str, Any],
    output: Any,
    error: Exception,
) -> None:
    """Call a hook that is always called; where it fails too, the first error says so."""
    try:
        _after(hook, module, inputs, keywords, output)
    except Exception as second:
        error.add_note(f"a forward hook with always_call=True failed too: {type(second).__name__}: {second}")


# ------------------------------------------------------------------------------------------ of all modules


def _register_everywhere(kind: str, hook: Hook) -> RemovableHandle:
    _check(hook.call)
    scope.watch()
    return _add(getattr(EVERYWHERE, kind), hook, False, scope.unwatch)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, inputs)`` before every call of every module, before the module's own hooks.

    Meant for debugging and profiling: it holds for the whole process. Returns a handle that removes it.
    """
    return _register_everywhere("forward_pre", Hook(hook))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, inputs, output)`` after every call of every module, before the module's own hooks.

    With `with_kwargs` it is ``hook(module, inputs, keywords, output)``; with `always_call` it is called although the
    module failed. Meant for debugging and profiling: it holds for the whole process.

    >>> import workbench as wb
    >>> from workbench.nn.modules.module import register_module_forward_hook
    >>> with register_module_forward_hook(lambda module, inputs, output: print(type(module).__name__)):
    ...     y = wb.nn.Sequential(wb.nn.ReLU(), wb.nn.Tanh())(wb.zeros(1))
    ReLU
    Tanh
    Sequential
    """
    return _register_everywhere("forward", Hook(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the gradients of every module; see `Module`'s own."""
    return _register_everywhere("backward_pre", Hook(hook))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` when the gradients of a module are known, for every module."""
    return _register_everywhere("backward", Hook(hook))


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Do what `register_module_full_backward_hook` does, under PyTorch's older name."""
    return register_module_full_backward_hook(hook)


def _register_registration(kind: str, hook: Callable[..., Any]) -> RemovableHandle:
    _check(hook)
    table = REGISTRATION[kind]
    # Nothing to tell anyone: whoever registers looks at the table each time.
    handle = RemovableHandle(table, lambda: None)
    table[handle.id] = hook
    return handle


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` when any module registers one; what it returns takes its place."""
    return _register_registration("parameter", hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when any module registers one; what it returns takes its place."""
    return _register_registration("buffer", hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` when any module registers one; what it returns takes its place."""
    return _register_registration("module", hook)

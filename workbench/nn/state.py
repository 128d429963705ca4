"""The state of a module: collected by dotted path, checked, and copied in, all or nothing."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.base.errors import StateDictError
from workbench.core.backend import backend_of, move
from workbench.core.tape import alias
from workbench.core.value import dims_of, new
from workbench.nn.parameter import Parameter, is_lazy
from workbench.nn.state_keys import key_problems, way_to_state
from workbench.tensor import Tensor

if TYPE_CHECKING:
    from workbench.nn.module import Module

__all__ = [
    "EXTRA",
    "IncompatibleKeys",
    "StateDict",
    "collect",
    "load",
    "load_own",
    "once_checked",
    "save_own",
]

EXTRA = "_extra_state"
"""The key, after a module's path, of what `get_extra_state` returns."""
_PLAN = "plan"
"""The key in the local metadata under which modules put what is to be done once all is checked."""


class StateDict(OrderedDict[str, Any]):
    """A state by dotted path; `_metadata` has the version of each module by its path."""

    _metadata: OrderedDict[str, dict[str, Any]]


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` did not find, and what it did not know."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


# ---------------------------------------------------------------------------------------------------- out


def collect(module: Module, destination: Any, prefix: str, keep_vars: bool) -> Any:
    """Put the state of `module` and all below into `destination`; memory is shared."""
    if destination is None:
        destination = StateDict()
        destination._metadata = OrderedDict()
    metadata = {"version": module._version}
    # A destination that the caller gives may be a plain dict, which has no place for versions.
    if hasattr(destination, "_metadata"):
        # The path of a module ends without the dot that its keys go on with.
        destination._metadata[prefix[:-1]] = metadata
    hooks = module._hooks
    if hooks is not None:
        # Over a copy: a hook may take itself away.
        for hook in tuple(hooks.state_pre.values()):
            hook.call(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name in module._module_names:
        child = module.__dict__[name]
        if child is not None:
            child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    if hooks is not None:
        for hook in tuple(hooks.state.values()):
            other = hook.call(module, destination, prefix, metadata)
            if hook.with_kwargs:  # a hook of the older kind may put another dict in its place
                destination = destination if other is None else other
            elif other is not None:
                raise RuntimeError("state_dict post-hook must return None")
    return destination


def save_own(module: Module, destination: Any, prefix: str, keep_vars: bool) -> None:
    """Put what the module itself holds into `destination`."""
    for name in _own_names(module):
        value = module.__dict__[name]
        destination[prefix + name] = value if keep_vars else value.detach()
    if _overrides(module, "get_extra_state"):
        destination[prefix + EXTRA] = module.get_extra_state()


def _own_names(module: Module) -> list[str]:
    """Names of the parameters and persistent buffers that are there."""
    names = [*module._parameter_names, *(name for name, kept in module._buffer_names.items() if kept)]
    return [name for name in names if module.__dict__[name] is not None]


def _overrides(module: Module, method: str) -> bool:
    """Say whether a class below the first one that has `method` has one of its own."""
    # From the root on, where `Module` has one that only says that there is none.
    first = next(cls for cls in reversed(type(module).__mro__) if method in cls.__dict__)
    return getattr(type(module), method) is not first.__dict__[method]


# ----------------------------------------------------------------------------------------------------- in


class Placement(NamedTuple):
    """A value on its way into a place of a module."""

    module: Module
    name: str
    value: Any
    assign: bool

    def put(self) -> Callable[[], None]:
        """Put it there; what comes back undoes that."""
        here: Tensor = self.module.__dict__[self.name]
        # Not by `setattr`, which would register it anew and let hooks of registrations see it.
        if self.assign:
            object.__setattr__(self.module, self.name, _in_place_of(here, self.value))
            return lambda: object.__setattr__(self.module, self.name, here)
        if is_lazy(here):
            return _made_known(here, self.value)
        own = here.payload
        before = own.copy() if isinstance(own, np.ndarray) else own

        def undo() -> None:
            if isinstance(own, np.ndarray):
                np.copyto(own, before)  # into the memory that views share
            here.payload = own
            here._version += 1

        _copy(self.value, here)
        return undo


def _made_known(here: Any, value: Any) -> Callable[[], None]:
    """Give a parameter or buffer without sizes those of `value`, and its numbers; what comes back undoes that."""
    kind, unknown = type(here), here.payload
    called = here._names, here._labels

    def undo() -> None:
        here.__class__, here.payload = kind, unknown
        here._names, here._labels = called

    here.materialize(value.shape)
    _copy(value, here)
    return undo


def load(root: Module, state_dict: Any, strict: bool, assign: bool) -> IncompatibleKeys:
    """Copy `state_dict` into `root`, all or nothing."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(
            f"Expected state_dict to be dict-like, got {type(state_dict)}.{way_to_state(state_dict)}"
        )
    if odd := [key for key in state_dict if not isinstance(key, str)]:
        raise TypeError(f"keys of a state_dict are dotted paths, got {odd[0]!r}")
    # Of the dict, not of the numbers: hooks before loading may rename and drop keys.
    values = OrderedDict(state_dict)
    found = _Loading(getattr(state_dict, "_metadata", None), assign)
    found.visit(root, values, "")
    keys = IncompatibleKeys(found.missing, found.unexpected)
    if found.problems:
        raise _refusal(root, [*(key_problems(*keys, values) if strict else ()), *found.problems])
    # A hook behind the load may still strike keys off these lists: with such hooks they are judged below.
    if strict and (keys.missing_keys or keys.unexpected_keys) and not found.after:
        raise _refusal(root, key_problems(*keys, values))
    undo: list[Callable[[], None]] = []
    try:
        # First what cannot be taken back: where that fails, no tensor has changed yet.
        for act in found.extra:
            act()
        for placement in found.plan:  # one after the other: where one fails, those before it are taken back
            undo.append(placement.put())  # noqa: PERF401
        for module, hook in found.after:
            if hook(module, keys) is not None:
                raise RuntimeError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace."
                )
        if strict and (keys.missing_keys or keys.unexpected_keys):
            raise _refusal(root, key_problems(*keys, values))
    # Also for an interrupt: half of one state and half of another is worse than either.
    except BaseException:
        for act in reversed(undo):
            act()
        raise
    return keys


class _Loading:
    """What one `load_state_dict` finds out while it goes through the modules."""

    def __init__(self, metadata: Any, assign: bool) -> None:
        self.metadata = metadata
        self.assign = assign
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.problems: list[str] = []
        self.plan: list[Placement] = []
        self.extra: list[Callable[[], None]] = []
        self.after: list[tuple[Module, Callable[..., Any]]] = []

    def visit(self, module: Module, values: dict[str, Any], prefix: str) -> None:
        local = {} if self.metadata is None else dict(self.metadata.get(prefix[:-1], {}))
        local |= {"assign_to_params_buffers": self.assign, _PLAN: (self.plan, self.extra)}
        # Strict in any case: without `strict` the caller is told, too, what is missing and what was not
        # known.
        module._load_from_state_dict(
            values, prefix, local, True, self.missing, self.unexpected, self.problems
        )
        for name in module._module_names:
            child = module.__dict__[name]
            if child is not None:
                lead = f"{prefix}{name}."
                self.visit(child, {key: value for key, value in values.items() if key.startswith(lead)}, lead)
        if module._hooks is not None:
            self.after += [(module, hook.call) for hook in module._hooks.load.values()]


def load_own(
    module: Module,
    state_dict: dict[str, Any],
    prefix: str,
    local_metadata: dict[str, Any],
    strict: bool,
    missing_keys: list[str],
    unexpected_keys: list[str],
    error_msgs: list[str],
) -> None:
    """Check what concerns the module itself, and plan what is to be copied; without a plan, copy at once."""
    if module._hooks is not None:
        rest = (state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        # Over a copy: a hook may take itself away.
        for hook in tuple(module._hooks.load_pre.values()):
            hook.call(module, *rest) if hook.with_kwargs else hook.call(*rest)
    plan, extra = local_metadata.get(_PLAN, (None, None))
    assign = bool(local_metadata.get("assign_to_params_buffers", False))
    own = _own_names(module)
    for name in own:
        key = prefix + name
        if key not in state_dict:
            if strict:
                missing_keys.append(key)
            continue
        problem = _difference(key, state_dict[key], module, name, assign)
        if problem:
            error_msgs.append(problem)
        elif is_lazy(state_dict[key]):
            continue  # neither has sizes yet
        elif plan is not None:
            plan.append(Placement(module, name, state_dict[key], assign))
        else:
            Placement(module, name, state_dict[key], assign).put()
    _load_extra(module, state_dict, prefix + EXTRA, strict, missing_keys, unexpected_keys, extra)
    if strict:
        for key in state_dict:
            # Keys of modules below are theirs to check; of those only the first name on the path is looked
            # at.
            if key.startswith(prefix) and key != prefix + EXTRA:
                name, _, below = key[len(prefix) :].partition(".")
                if name not in (module._module_names if below else own):
                    unexpected_keys.append(key)


def _load_extra(
    module: Module,
    state_dict: dict[str, Any],
    key: str,
    strict: bool,
    missing_keys: list[str],
    unexpected_keys: list[str],
    extra: list[Callable[[], None]] | None,
) -> None:
    if _overrides(module, "set_extra_state"):
        if key in state_dict:
            value = state_dict[key]
            if extra is None:
                module.set_extra_state(value)
            else:
                extra.append(lambda: module.set_extra_state(value))
        elif strict:
            missing_keys.append(key)
    elif strict and key in state_dict:
        unexpected_keys.append(key)


def once_checked(local_metadata: dict[str, Any], act: Callable[[], None]) -> None:
    """Do `act`, which a module's own ``_load_from_state_dict`` wants, when all that is loaded fits; else never."""
    _, extra = local_metadata.get(_PLAN, (None, None))
    if extra is None:
        act()
    else:
        extra.append(act)


def _refusal(root: Module, problems: list[str]) -> StateDictError:
    return StateDictError(
        f"Error(s) in loading state_dict for {type(root).__name__} (nothing was changed):\n\t"
        + "\n\t".join(problems)
    )


def _difference(key: str, value: Any, module: Module, name: str, assign: bool) -> str:
    """Say why `value` does not fit the place `name` of `module`; empty where it does."""
    if not isinstance(value, Tensor | np.ndarray):
        return f'"{key}": expected a tensor or an array, got {type(value).__name__}.'
    here: Tensor = module.__dict__[name]
    if is_lazy(value):
        return (
            ""
            if is_lazy(here)
            else f'"{key}": the value given is uninitialized: call its module once before.'
        )
    if is_lazy(here):
        known = here._labels if here._names is None else here._names
        fits = known is None or len(known) == len(value.shape)
        return (
            ""
            if fits
            else f"size mismatch for {key}: shape {list(value.shape)} for dims {list(known or ())}."
        )
    given, own = value.payload if isinstance(value, Tensor) else value, here.payload
    # Files from before PyTorch 0.4, which had no tensors without dims, have such values as [1].
    one_for_none = tuple(given.shape) == (1,) and tuple(own.shape) == ()
    if tuple(given.shape) != tuple(own.shape) and name not in module.resizable and not one_for_none:
        return (
            f"size mismatch for {key}: copying a param with shape {list(given.shape)} from the state_dict, "
            f"the shape in current model is {list(own.shape)}."
        )
    # "V" is bfloat16, which NumPy knows as raw bytes. The rest (complex numbers, text, objects) keep to their
    # own kind.
    numbers_for_codes = getattr(own.dtype, "quantized", False) and not getattr(
        given.dtype, "quantized", False
    )
    other_kind = not assign and given.dtype.kind not in "biufV" and given.dtype.kind != own.dtype.kind
    if numbers_for_codes or other_kind:
        return f"type mismatch for {key}: {given.dtype} does not go into {own.dtype}."
    # Not what a view is called in pictures: a transposed weight is loaded wherever its sizes fit.
    given_names = dims_of(value).labels if isinstance(value, Tensor) else ()
    own_names = dims_of(here).labels
    if any(a and b and a != b for a, b in zip(given_names, own_names, strict=False)):
        return f"name mismatch for {key}: dims {list(given_names)} for dims {list(own_names)}."
    return ""


def _copy(value: Any, here: Tensor) -> None:
    """Copy numbers into a tensor; one number goes into a tensor without dims."""
    own = here.payload
    given = value.payload if isinstance(value, Tensor) else value
    if tuple(own.shape) == () and tuple(given.shape) == (1,):
        given = given.reshape(())
    backend = backend_of(own)
    if backend is not None or backend_of(given) is not None:
        here.payload = move(
            given if given.dtype == own.dtype else move(given, "cpu").astype(own.dtype), here.device
        )
    elif tuple(given.shape) != tuple(own.shape):
        here.payload = np.array(given, dtype=own.dtype)
    elif isinstance(given, np.ndarray) and isinstance(own, np.ndarray):
        np.copyto(own, given, casting="unsafe")
    else:  # a payload of another kind, such as quantized codes: it is immutable, and shared
        here.payload = given
    here._version += 1


def _in_place_of(here: Tensor, value: Any) -> Tensor:
    """Return what is to stand where `here` stood: the value itself, as a parameter where that was one."""
    given = value if isinstance(value, Tensor) else new(value)
    if tuple(given.shape) == (1,) and here.shape == ():
        given = given[0]
    if isinstance(here, Parameter):
        if not isinstance(given, Parameter):
            own = _called_as(here, Parameter(given, False))
            own._owner = given if given._owner is None else given._owner
            given = own
        given.requires_grad_(here.requires_grad)
        return given
    return _called_as(
        here, alias(given, given._names)
    )  # another object: what the caller holds is not touched


def _called_as(here: Tensor, given: Tensor) -> Tensor:
    """Give a new tensor the names and labels of what it stands for, where it says nothing else; return it."""
    said = dims_of(given).labels
    if len(here.shape) == len(given.shape) and (not any(said) or said == dims_of(here).labels):
        given._names, given._labels = here._names, here._labels
    return given

"""What optimizers share: groups of parameters with settings, state for each parameter, hooks, and all as a dict."""

from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from workbench.base.dims import near_miss
from workbench.base.sparse_array import SparseArray
from workbench.core import dispatch
from workbench.core.tape import Handle
from workbench.optim import saving
from workbench.optim.settings import check_closure
from workbench.tensor import Tensor

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

Group = dict[str, Any]
ParamsT: TypeAlias = Iterable[Tensor] | Iterable[Group] | Iterable[tuple[str, Tensor]]
"""What an optimizer is made of, for annotations of others' optimizers."""


class _Required:
    """Stands for a setting that a group of parameters must give, in others' optimizers."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()

_before_every_step: list[Callable[..., Any]] = []
_after_every_step: list[Callable[..., Any]] = []
_HOOKS = (
    "_step_pre_hooks",
    "_step_post_hooks",
    "_state_dict_pre_hooks",
    "_state_dict_post_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)

_OTHERS_WORDS = {"learning_rate": "lr", "decay": "weight_decay", "epsilon": "eps"}
"""Settings that other libraries call otherwise."""


class Optimizer:
    """Base of optimizers: groups of parameters, each with settings of its own.

    `params` are tensors, pairs of a name and a tensor (what ``model.named_parameters()`` gives), or dicts with
    ``"params"`` and settings of their own. `defaults` are the settings of groups that do not say otherwise.

    An optimizer of your own defines ``step(closure=None)`` and goes over `param_groups` there; hooks work for it too.

    >>> import workbench as wb
    >>> class Signs(Optimizer):
    ...     def __init__(self, params, lr=0.1):
    ...         super().__init__(params, {"lr": lr})
    ...
    ...     def step(self, closure=None):
    ...         with wb.no_grad():
    ...             for group in self.param_groups:
    ...                 for p in group["params"]:
    ...                     p.sub_(p.grad.sign() * group["lr"])
    >>> p = wb.ones(1, requires_grad=True)
    >>> (p * p).sum().backward()
    >>> Signs([p]).step()
    >>> p.detach()
    tensor([0.9000])
    """

    defaults: dict[str, Any]
    """Settings of groups that do not say otherwise."""
    param_groups: list[Group]
    """One dict a group: ``"params"`` and the settings; ``"param_names"`` where parameters were given with names."""
    state: defaultdict[Any, dict[str, Any]]
    """What the optimizer remembers of each parameter: tensors and numbers."""

    _step_pre_hooks: list[Callable[..., Any]]
    _step_post_hooks: list[Callable[..., Any]]
    _state_dict_pre_hooks: list[Callable[..., Any]]
    _state_dict_post_hooks: list[Callable[..., Any]]
    _load_state_dict_pre_hooks: list[Callable[..., Any]]
    _load_state_dict_post_hooks: list[Callable[..., Any]]
    _called: bool = False
    """Whether `step` was ever called: schedules want to be stepped after it."""
    _stepping: bool = False
    _step_seen: Any
    """The instance's own `step`, if it had one, when its first schedule was made."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got a Tensor: "
                "write [tensor]"
            )
        if not isinstance(params, Iterable):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{type(params).__name__}: of a module those are model.parameters()"
            )
        # What gives parameters once, as a generator does, is gone over once, here.
        given = list(params)
        if not given:
            raise ValueError(
                "optimizer got an empty parameter list"
                + (
                    ": what gives parameters once, as model.parameters() does, was gone over before. Call it anew"
                    if isinstance(params, Iterator)
                    else ""
                )
            )
        if isinstance(params, Mapping):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got a "
                f"{type(params).__name__}: "
                + ("write [group]" if "params" in params else "of a module those are model.parameters()")
            )
        self.defaults = defaults
        self.check_settings(defaults)
        self.param_groups = []
        self.state = defaultdict(dict)
        self._make_hooks()
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    def _make_hooks(self) -> None:
        for name in _HOOKS:
            setattr(self, name, [])

    def __getstate__(self) -> dict[str, Any]:
        # No hooks: most of them are closures, which cannot be pickled, and they belong to this optimizer.
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hooks()

    # -------------------------------------------------------------------------------------------- groups

    def add_param_group(self, param_group: Any) -> None:
        """Add parameters with settings of their own: a dict with ``"params"``, which is not changed.

        Raises TypeError for what is no tensor, ValueError for what is no leaf, stands in another group, or has a
        setting that makes no sense. Settings of other names are kept, for schedules, unless they look misspelt.
        """
        if not isinstance(param_group, dict) or "params" not in param_group:
            got = (
                f"the keys {list(param_group)}"
                if isinstance(param_group, dict)
                else type(param_group).__name__
            )
            raise TypeError(f"param_group must be a dict with the key 'params', but got {got}")
        parameters, names = _parted(param_group["params"])
        for one in parameters:
            self._check_parameter(one)
        group: Group = {**param_group, "params": parameters}
        if names:
            group["param_names"] = names
        # Other keys may stay, as in PyTorch, where groups carry what their users like; only misspelt settings
        # are refused.
        for key in group.keys() - self.defaults.keys() - {"params"}:
            meant = _OTHERS_WORDS.get(key)
            if near := meant if meant in self.defaults else near_miss(key, self.defaults):
                raise ValueError(f"unknown setting {key!r} of {type(self).__name__}: did you mean {near!r}?")
        for key, value in self.defaults.items():
            group.setdefault(key, value)
        self.check_settings(group)
        self._check_beside(group)
        self.param_groups.append(group)

    def _check_parameter(self, parameter: Any) -> None:
        if not isinstance(parameter, Tensor):
            raise TypeError(
                f"optimizer can only optimize Tensors, but one of the params is {type(parameter).__name__}"
            )
        if not (parameter.is_leaf or parameter.retains_grad):
            raise ValueError(
                "can't optimize a non-leaf Tensor: pass the leaf it was computed from, or detach() it first"
            )

    def _check_beside(self, group: Group) -> None:
        """Refuse a group that does not go with those that are there."""
        own = {id(one) for one in group["params"]}
        if len(own) != len(group["params"]):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters: each is moved as often as it is named",
                stacklevel=4,
            )
        for other in self.param_groups:
            if ("param_names" in group) != ("param_names" in other):
                kind = "with names" if "param_names" in group else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. "
                    f"cannot add param group {kind} to the optimizer"
                )
            if any(id(one) in own for one in other["params"]):
                raise ValueError("some parameters appear in more than one parameter group")

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise ValueError for settings that make no sense; every optimizer knows its own."""

    def _parameters(self) -> Iterator[Tensor]:
        for group in self.param_groups:
            yield from group["params"]

    # ---------------------------------------------------------------------------------------------- step

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients, or set them to zero."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter._grad is None:
                    continue
                if set_to_none or type(parameter._grad.payload) is SparseArray:
                    # Zeros of a sparse gradient have no places: there is none.
                    parameter._grad = None
                else:
                    # Without its history: that of a gradient made with create_graph would be kept by its
                    # zeros.
                    parameter.grad = parameter._grad.detach().zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter that has a gradient, once.

        `closure`, where it is given, computes the loss and the gradients anew; what it returns is returned.
        """
        loss = None
        if closure is not None:
            check_closure(closure)
            # A step may be taken within no_grad(), and its closure needs gradients.
            with dispatch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._step_group(group)
        return loss

    def _step_group(self, group: Group) -> None:
        raise TypeError(f"{type(self).__name__} has no rule: define step(closure=None)")

    # --------------------------------------------------------------------------------------------- hooks

    def _add(
        self, hooks: list[Callable[..., Any]], hook: Callable[..., Any], prepend: bool = False
    ) -> Handle:
        if not callable(hook):
            raise TypeError(f"a hook is called, and {type(hook).__name__} cannot be")
        handle = Handle(hooks, hook)
        if prepend:
            # `Handle` has put it at the end.
            hooks.insert(0, hooks.pop())
        return handle

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return other (args, kwargs)."""
        return self._add(self._step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return self._add(self._step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call ``hook(optimizer)`` before `state_dict` gathers; first of all hooks if `prepend`."""
        return self._add(self._state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call ``hook(optimizer, state_dict)`` on what `state_dict` gathered; it may return another one."""
        return self._add(self._state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call ``hook(optimizer, state_dict)`` before loading; it may return another dict to load."""
        return self._add(self._load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call ``hook(optimizer)`` after loading."""
        return self._add(self._load_state_dict_post_hooks, hook, prepend)

    # --------------------------------------------------------------------------------------------- state

    def state_dict(self) -> dict[str, Any]:
        """Return state and settings in PyTorch's layout, with parameters numbered in order.

        ``{"state": {0: {"exp_avg": tensor, …}, …}, "param_groups": [{"lr": …, "params": [0, …]}, …]}``. The tensors
        are those in use, not copies.

        >>> import workbench as wb
        >>> wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=0.5).state_dict()["param_groups"][0]["lr"]
        0.5
        """
        # Over a copy: a hook may take itself away.
        for before in tuple(self._state_dict_pre_hooks):
            before(self)
        packed = saving.pack(self.state, self.param_groups)
        for after in tuple(self._state_dict_post_hooks):
            changed = after(self, packed)
            packed = packed if changed is None else changed
        return packed

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take settings and state over from what `state_dict` gave, here or in PyTorch's layout; values are copied.

        All is checked before anything changes: the number of groups and of parameters in each, the settings, and for
        every parameter the names and shapes of its state. Raises ValueError, which lists all that is wrong. Settings
        that the dict does not have stay as they are.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"expected the state of an optimizer, a dict, got {type(state_dict).__name__}")
        given = dict(state_dict)
        # A copy: a hook may take itself away.
        for before in tuple(self._load_state_dict_pre_hooks):
            changed = before(self, given)
            given = given if changed is None else changed
        state, groups = saving.unpack(self, given)
        # All was checked by now: a state that does not fit has changed nothing.
        for own, loaded in zip(self.param_groups, groups, strict=True):
            own.update(loaded)
        self.state = state
        for after in tuple(self._load_state_dict_post_hooks):
            after(self)

    def _state_keys(self, group: Group) -> tuple[frozenset[str], frozenset[str]] | None:
        """Return what the state of a parameter of `group` must have and what it may have; None for anything."""
        return None

    def _state_shapes(self, parameter: Any) -> dict[str, tuple[int, ...]]:
        """Return the shapes that tensors in the state of `parameter` have, by name, for those that it always is so."""
        return {}

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])


def _parted(params: Any) -> tuple[list[Any], list[str]]:
    """Return the parameters, and their names where they come with names."""
    if isinstance(params, Tensor):
        params = [params]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
            "will change between runs. Please use a list instead."
        )
    given = list(params)
    names = [one[0] for one in given if isinstance(one, tuple)]
    if names and len(names) != len(given):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    return [one[1] if isinstance(one, tuple) else one for one in given], names


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return `step` between the hooks. A step that calls that of a base has them called once."""

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **keywords: Any) -> Any:
        # Before the hooks: a schedule that is stepped in one of them comes after the step.
        self._called = True
        before = (*_before_every_step, *self._step_pre_hooks)
        after = (*self._step_post_hooks, *_after_every_step)
        # A step may call that of its base class: hooks run once.
        if self._stepping or not (before or after):
            return step(self, *args, **keywords)
        self._stepping = True
        try:
            for hook in before:
                changed = hook(self, args, keywords)
                if changed is not None:
                    if not (isinstance(changed, tuple) and len(changed) == 2):
                        raise RuntimeError(
                            f"a hook before a step must return None or a tuple of (new_args, new_kwargs), "
                            f"but got {changed}."
                        )
                    args, keywords = changed
            result = step(self, *args, **keywords)
            for hook in after:
                hook(self, args, keywords)
        finally:
            self._stepping = False
        return result

    return hooked


Optimizer.step = _with_hooks(Optimizer.step)  # type: ignore[method-assign]


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> Handle:
    """Call ``hook(optimizer, args, kwargs)`` before every optimizer's step; it may return other (args, kwargs)."""
    return Handle(_before_every_step, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> Handle:
    """Call ``hook(optimizer, args, kwargs)`` after each step of every optimizer."""
    return Handle(_after_every_step, hook)

"""What schedules share: when they set the rates of an optimizer, and how they are saved."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from workbench.optim.lr_scheduler.loading import LEFT_ASIDE, differences
from workbench.optim.optimizer import Optimizer
from workbench.optim.settings import check_number, number
from workbench.tensor import Tensor

__all__ = [
    "EPOCH_WARNING",
    "LRScheduler",
    "check_optimizer",
    "describe_functions",
    "one_each",
    "put",
    "restore_functions",
    "values",
]

Rates = list[Any]

EPOCH_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available."
)


class LRScheduler:
    """Base of schedules: every `step` sets the learning rate of every group by the number of steps so far.

    A schedule of your own defines `get_lr`, which returns the rates for step `last_epoch`, one a group. Step once an
    epoch or once a batch, as the schedule is meant, and after the optimizer's step. `last_epoch` other than -1 goes on
    with groups that have an ``"initial_lr"``.

    >>> import workbench as wb
    >>> class Halves(LRScheduler):
    ...     def get_lr(self):
    ...         return [rate * 0.5**self.last_epoch for rate in self.base_lrs]
    >>> optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = Halves(optimizer)
    >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
    [0.5]
    """

    optimizer: Optimizer
    base_lrs: Rates
    """The rates that the schedule starts from, one a group."""
    last_epoch: int
    """Steps taken so far."""
    _last_lr: Rates
    _step_count: int
    _get_lr_called_within_step: bool = False
    _is_initial: bool = False
    _not_saved: ClassVar[tuple[str, ...]] = ("optimizer",)

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = check_optimizer(optimizer)
        if last_epoch == -1:
            for group in optimizer.param_groups:
                # Where an earlier schedule has put it, it stays: all of them begin with the same rate.
                group.setdefault("initial_lr", _own(group["lr"]))
        else:
            for i, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(
                        f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                        f"last_epoch >= 0: load the optimizer's state first, or leave last_epoch at -1"
                    )
        self.base_lrs = values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        if "_step_seen" not in optimizer.__dict__:  # the first schedule: steps count from here on
            optimizer._called = False
            optimizer._step_seen = optimizer.__dict__.get("step")
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of step 0."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    # ---------------------------------------------------------------------------------------------- rates

    def get_last_lr(self) -> Rates:
        """Return the learning rates that the schedule set last, one a group."""
        return self._last_lr

    def get_lr(self) -> Rates:
        """Return the learning rates for step `last_epoch`; every schedule has its own rule."""
        raise TypeError(f"{type(self).__name__} has no rule: define get_lr()")

    def _current(self) -> Rates:
        """Return the rates now in force."""
        return values(self.optimizer, "lr")

    def _times(self, factor: float) -> Rates:
        """Return the rates now in force times a number."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _called_by_step(self) -> None:
        """Warn whoever asks for the next rates where they mean the last ones."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,  # over `get_lr`, to the line that called it
            )

    # ----------------------------------------------------------------------------------------------- step

    def step(self, epoch: int | None = None) -> None:
        """Go one step further, or (deprecated) to the step `epoch`."""
        # The second one: the constructor has made the first.
        if self._step_count == 1:
            self._check_order()
        if epoch is not None:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=2)
        before = self._step_count, self.last_epoch
        self._step_count += 1
        try:
            self._update_lr(epoch)
        except BaseException:  # of a rule, which may be anybody's: this step was not made
            self._step_count, self.last_epoch = before
            raise

    def _check_order(self) -> None:
        """Warn where the first rate is skipped because the optimizer has made no step with it."""
        own = self.optimizer.__dict__
        if own.get("step") is not own.get("_step_seen"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`.",
                UserWarning,
                stacklevel=3,  # over `step`, to the line that called it
            )
        elif not self.optimizer._called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. You should call them in the "
                "opposite order: `optimizer.step()` before `lr_scheduler.step()`. Failure to do this will result in "
                "skipping the first value of the learning rate schedule.",
                UserWarning,
                stacklevel=3,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        closed = getattr(self, "_get_closed_form_lr", None)
        with self._within_step():
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            rates = self.get_lr() if epoch is None or closed is None else closed()
        self._set(rates)

    @contextmanager
    def _within_step(self) -> Iterator[None]:
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _set(self, rates: Rates) -> None:
        # All of them first, so that a rule that gives nonsense changes no group.
        for rate in rates:
            check_number(f"a learning rate of {type(self).__name__}", rate)
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            put(group, "lr", rate)
        self._last_lr = self._current()

    def __repr__(self) -> str:
        hidden = (*self._not_saved, "base_lrs", "last_epoch")
        settings = {key: value for key, value in vars(self).items() if key not in hidden and key[0] != "_"}
        told = [f"step={self.last_epoch}"] if hasattr(self, "last_epoch") else []
        told += [f"lr={self._last_lr}", *(f"{key}={value!r}" for key, value in settings.items())]
        return f"{type(self).__name__}({', '.join(told)})"

    # ---------------------------------------------------------------------------------------------- state

    def state_dict(self) -> dict[str, Any]:
        """Return where the schedule is, and its settings, as plain values; functions are left out."""
        return {key: value for key, value in self.__dict__.items() if key not in self._not_saved}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from where another was; the optimizer's own state holds the rates, load that too.

        All is checked before anything changes. Raises ValueError, which lists what does not fit, for the state of
        another kind of schedule, or of one with another number of groups. A schedule of your own keeps what it likes.
        """
        self._check_state(state_dict)
        self._take(state_dict)

    def _check_state(self, state: Mapping[str, Any]) -> None:
        """Refuse a state that does not fit."""
        if not isinstance(state, Mapping):
            raise TypeError(f"expected the state of a schedule, which is a dict, got {type(state).__name__}")
        there = state.get("base_lrs")
        if isinstance(there, list | tuple) and hasattr(self, "base_lrs") and len(there) != len(self.base_lrs):
            raise ValueError(
                f"the schedule was of {len(there)} parameter groups, this one is of {len(self.base_lrs)}"
            )
        # Others keep what they like, so nothing is known of it.
        if type(self).__module__.startswith("workbench.") and (
            problems := differences(self.state_dict(), state)
        ):
            raise ValueError(
                f"this is no state of a {type(self).__name__} (nothing was changed):\n\t"
                + "\n\t".join(problems)
            )

    def _take(self, state: Mapping[str, Any]) -> None:
        """Take over a state that fits."""
        aside = {*self._not_saved, *LEFT_ASIDE}
        self.__dict__.update({key: value for key, value in state.items() if key not in aside})


def check_optimizer(optimizer: Any) -> Optimizer:
    """Return the optimizer, or raise TypeError for what is none."""
    if not isinstance(optimizer, Optimizer):
        given = (
            f"the class {optimizer.__name__} itself"
            if isinstance(optimizer, type)
            else type(optimizer).__name__
        )
        raise TypeError(f"{given} is not an Optimizer, such as wb.optim.SGD(model.parameters())")
    return optimizer


def values(optimizer: Optimizer, key: str) -> list[Any]:
    """Return a setting of every group; tensors are copied."""
    return [_own(group[key]) for group in optimizer.param_groups]


def put(group: dict[str, Any], key: str, value: Any) -> None:
    """Set a setting of a group; one that is a tensor stays that tensor and gets other numbers."""
    held = group[key]
    if isinstance(held, Tensor):
        held.payload[...] = number(value)
        held._version += 1
    else:
        group[key] = value


def one_each(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """Return a value for each group: those of a list, or the same one for all."""
    count = len(check_optimizer(optimizer).param_groups)
    if isinstance(value, list | tuple):
        if len(value) != count:
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
                f"param_groups has {count}."
            )
        return [_own(one) for one in value]
    return [_own(value) for _ in range(count)]


def _own(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value


def describe_functions(functions: list[Callable[..., Any]]) -> list[dict[str, Any] | None]:
    """Return what a state holds of functions: the attributes of callable objects, nothing of plain functions."""
    return [None if isinstance(one, types.FunctionType) else dict(vars(one)) for one in functions]


def restore_functions(
    functions: list[Callable[..., Any]], described: list[dict[str, Any] | None] | None
) -> None:
    """Give callable objects the attributes that a state holds of them."""
    for function, attributes in zip(functions, described or (), strict=False):
        if attributes is not None:
            vars(function).update(attributes)

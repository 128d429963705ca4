"""Averages of a model's parameters over training: PyTorch's `torch.optim.swa_utils`."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np

from workbench.base.public import words
from workbench.core import dispatch
from workbench.nn import Module
from workbench.nn.modules.batch_norm import BatchNormNd
from workbench.optim.lr_scheduler.base import LRScheduler, Rates, one_each
from workbench.optim.optimizer import Optimizer
from workbench.optim.settings import number
from workbench.tensor import Tensor
from workbench.tensor.factories import tensor

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Many = tuple[Tensor, ...] | list[Tensor]


def _check_decay(decay: float) -> None:
    if not 0 <= decay <= 1:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _move(average: Tensor, current: Tensor, weight: float) -> None:
    """Move an average by `weight` towards a value; whole numbers are rounded towards zero."""
    here, there = average.payload, current.payload
    if here.dtype.kind in "fc":
        here += (there - here) * weight
    else:
        np.copyto(here, here + (there - here) * weight, casting="unsafe")
    average._version += 1


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Tensor, Tensor, Any], Tensor]:
    """Return a function of one parameter for exponential averages: decay·average + (1 - decay)·current.

    >>> import workbench as wb
    >>> get_ema_avg_fn(0.5)(wb.tensor(0.0), wb.tensor(1.0), 3)
    tensor(0.5000)
    """
    _check_decay(decay)

    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with dispatch.no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[[Tensor, Tensor, Any], Tensor]:
    """Return a function of one parameter for equal averages: average + (current - average) / (n + 1).

    >>> import workbench as wb
    >>> get_swa_avg_fn()(wb.tensor(0.0), wb.tensor(1.0), 3)
    tensor(0.2500)
    """

    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with dispatch.no_grad():
            moved: Tensor = averaged_param + (current_param - averaged_param) / (num_averaged + 1)
            return moved

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[Many, Many, Any], None]:
    """Return a function of all parameters for exponential averages, which it changes in place.

    >>> import workbench as wb
    >>> average = wb.tensor([0.0])
    >>> get_ema_multi_avg_fn(0.5)([average], [wb.tensor([1.0])], 3); average
    tensor([0.5000])
    """
    _check_decay(decay)

    def ema_update(ema_param_list: Many, current_param_list: Many, num_averaged: Any) -> None:
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            _move(average, current, 1 - decay)

    return ema_update


def get_swa_multi_avg_fn() -> Callable[[Many, Many, Any], None]:
    """Return a function of all parameters for equal averages, which it changes in place.

    >>> import workbench as wb
    >>> average = wb.tensor([0.0])
    >>> get_swa_multi_avg_fn()([average], [wb.tensor([1.0])], 3); average
    tensor([0.2500])
    """

    def swa_update(averaged_param_list: Many, current_param_list: Many, num_averaged: Any) -> None:
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            _move(average, current, 1 / (number(num_averaged) + 1))

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of what the model's were at each `update_parameters`.

    Equal averages by default (SWA, Izmailov et al. 2018), or those of `avg_fn` (one parameter at a time) or
    `multi_avg_fn` (all at once, in place). Buffers are averaged too if `use_buffers`, else copied. Batch statistics
    belong to other weights afterwards: call `update_bn`.

    Raises AssertionError where both functions are given.

    >>> import workbench as wb
    >>> model = wb.nn.Linear(1, 1)
    >>> averaged = AveragedModel(model)
    >>> for value in (1.0, 2.0):
    ...     _ = wb.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged.module.weight.item()
    1.5
    """

    n_averaged: Tensor
    """How many models are in the average."""

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[[Tensor, Tensor, Any], Any] | None = None,
        multi_avg_fn: Callable[[Many, Many, Any], None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the parameters of `model` into the average; the first time they are copied."""
        ours, theirs = ([*_state_of(one, self.use_buffers)] for one in (self.module, model))
        for own, other in zip(ours, theirs, strict=True):
            if own.shape != other.shape:
                raise ValueError(
                    f"the model to average has a parameter of shape {list(other.shape)} where it had {list(own.shape)}"
                )
        if self.n_averaged.item() == 0:
            _copy_all(ours, theirs)
        elif self.avg_fn is not None:
            averages = [
                self.avg_fn(own.detach(), other.detach(), self.n_averaged)
                for own, other in zip(ours, theirs, strict=True)
            ]
            _copy_all(ours, averages)
        else:
            update = self.multi_avg_fn or get_swa_multi_avg_fn()
            for averages, currents in _by_type(ours, theirs):
                update(averages, currents, self.n_averaged)
        # Running statistics belong to one model's weights: the newest are nearest; update_bn measures the
        # average's own.
        if not self.use_buffers:
            _copy_all(list(self.module.buffers()), list(model.buffers()))
        self.n_averaged.payload[...] += 1
        self.n_averaged._version += 1


def _state_of(model: Module, buffers: bool) -> Iterable[Tensor]:
    return itertools.chain(model.parameters(), model.buffers()) if buffers else model.parameters()


def _copy_all(targets: list[Tensor], sources: list[Tensor]) -> None:
    for target, source in zip(targets, sources, strict=True):
        np.copyto(target.payload, source.payload, casting="unsafe")
        target._version += 1


def _by_type(ours: list[Tensor], theirs: list[Tensor]) -> Iterable[tuple[list[Tensor], list[Tensor]]]:
    """Yield pairs of lists, those of one type together, as functions of many tensors expect them."""
    groups: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
    for own, other in zip(ours, theirs, strict=True):
        pair = groups.setdefault(own.dtype, ([], []))
        pair[0].append(own.detach())
        pair[1].append(other.detach())
    return groups.values()


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Measure the batch statistics of `model` anew, in one pass over a loader.

    Of a batch that is a list or tuple the first entry is the input.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.BatchNorm2d(1))
    >>> update_bn([wb.full((4, 1, 2, 2), 3.0)], model)
    >>> model[0].running_mean.tolist()
    [3.0]
    """
    norms = [module for module in model.modules() if isinstance(module, BatchNormNd)]
    if not norms:
        return
    momenta = [module.momentum for module in norms]
    was_training = model.training
    for module in norms:
        module.reset_running_stats()
        module.momentum = None  # all batches count alike
    # BatchNorm measures in training mode only.
    model.train()
    try:
        with dispatch.no_grad():
            for batch in loader:
                given = batch[0] if isinstance(batch, list | tuple) else batch
                model(given if device is None else given.to(device))
    finally:
        for module, momentum in zip(norms, momenta, strict=True):
            module.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """From the rate now in force to `swa_lr` in `anneal_epochs` steps, along half a cosine or a line; it stays there.

    Raises ValueError for another strategy and for `anneal_epochs` that are not whole or negative.

    >>> import workbench as wb
    >>> optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> optimizer.step(); schedule.step(); schedule.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: Any = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = one_each("swa_lr", optimizer, swa_lr)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _part(self, step: int) -> float:
        """Return how much of the way is behind after `step` steps."""
        part = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return part if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * part)) / 2

    def get_lr(self) -> Rates:
        """Return the rates one step further on the way."""
        self._called_by_step()
        step = self._step_count - 1
        # Without a way all of it is behind, from the first step on.
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._part(step - 1), self._part(step)
        rates = []
        for group in self.optimizer.param_groups:
            goal = group["swa_lr"]
            # Where the way began, computed back from the rate that other schedules may have changed since.
            start = goal if before == 1 else (group["lr"] - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates


__getattr__, __dir__ = words(__name__, __all__)

"""Ablation over a whole data loader: what a metric of all its samples loses with each feature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from workbench.attribution.modes import evaluating
from workbench.attribution.perturbation.ablation import FeatureAblation
from workbench.attribution.perturbation.asking import ask_any
from workbench.attribution.perturbation.features import Features, features_of
from workbench.attribution.perturbation.trials import check_count
from workbench.base.errors import DimensionError
from workbench.base.foreign import told
from workbench.core.dispatch import no_grad
from workbench.core.value import new
from workbench.data.progress import progress
from workbench.tensor import Tensor

__all__ = ["DataLoaderAttribution", "InputRole"]

Array = np.ndarray[Any, Any]
Reduce = Callable[[Any, Any, tuple[Any, ...]], Any]


class InputRole:
    """What an entry of a loader's batches is for."""

    need_attr = 0
    """It is explained."""
    need_forward = 1
    """The model is given it as it is."""
    no_forward = 2
    """The model is not given it, such as labels, which `reduce` may look at."""


class DataLoaderAttribution:
    r"""What a metric of all samples of a data loader loses when a feature is replaced by its baseline in all of them.

    `attr_method` is a `FeatureAblation`, whose model is run. For each feature, or `perturbations_per_pass` of them at
    once, the loader is gone through from beginning to end.

    Raises:
        TypeError: `attr_method` is not a `FeatureAblation`.

    >>> import workbench as wb
    >>> data = wb.utils.data.TensorDataset(wb.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    >>> loader = wb.utils.data.DataLoader(data, batch_size=2)
    >>> method = DataLoaderAttribution(FeatureAblation(lambda x: x.sum(1)))
    >>> found = method.attribute(loader, reduce=lambda sum, output, inputs: (sum or 0) + output.sum())
    >>> [one.tolist() for one in found]
    [[[9.0, 12.0]]]
    """

    def __init__(self, attr_method: FeatureAblation) -> None:
        if type(attr_method) is not FeatureAblation:
            raise TypeError(
                f"DataLoaderAttribution goes through a loader for a FeatureAblation, not for a "
                f"{type(attr_method).__name__}; give FeatureAblation(model)"
            )
        self.attr_method = attr_method
        self.forward_func = attr_method.forward_func

    def attribute(
        self,
        dataloader: Any,
        input_roles: Sequence[int] | None = None,
        baselines: Any = None,
        feature_mask: Any = None,
        reduce: Reduce | None = None,
        to_metric: Callable[[Any], Any] | None = None,
        perturbations_per_pass: int = 1,
        show_progress: bool = False,
        return_input_shape: bool = True,
    ) -> Any:
        """Return for each value of a sample what its feature contributes, [numbers of the metric, …] an input.

        A batch is a tensor, or a list or tuple, whose entries have the `input_roles` (`InputRole`): all are explained
        without it. `reduce` ``(so far, output, perturbed batch)`` gathers the outputs, None being what there is so far
        of the first; without it they are put one behind the other. `to_metric` makes a tensor of what is
        gathered at the end. Baselines and masks broadcast to batches of any size: their first size is 1. Without
        `return_input_shape` the result is one tensor [numbers, features].

        Raises as `FeatureAblation.attribute` does for masks and baselines; DimensionError: roles or first sizes do not
        fit, or batches differ in more than their number of samples; TypeError: the loader cannot be gone through again,
        or the metric is not a tensor; ValueError: the loader is empty or nothing is to be explained.
        """
        method = type(self).__name__
        check_count(method, "perturbations_per_pass", perturbations_per_pass)
        if not isinstance(dataloader, Iterable) or isinstance(dataloader, Iterator):
            raise TypeError(
                f"{method}: a loader, or a list of batches, is gone through many times; a {type(dataloader).__name__} "
                "cannot be"
            )
        first = next(iter(dataloader), None)
        if first is None:
            raise ValueError(f"{method}: the loader has no batches")
        single = not isinstance(first, list | tuple)
        roles = _roles(method, input_roles, 1 if single else len(first))
        explained = tuple(
            one for one, role in zip(_entries(first), roles, strict=True) if role == InputRole.need_attr
        )
        question = ask_any(method, explained, _in_tuple(baselines, single), None, None)
        features = features_of(question, _in_tuple(feature_mask, single))
        _check_broadcast(method, features)
        run = _Passes(self, dataloader, roles, features, reduce or _joined, to_metric)
        with evaluating(self.forward_func), no_grad():
            found = run.all(perturbations_per_pass, show_progress)
        if not return_input_shape:
            low = int(features.numbers[0])
            whole = np.zeros((len(found), int(features.numbers[-1]) - low + 1), found.dtype)
            whole[:, features.numbers - low] = found
            return new(whole)
        tensors = tuple(
            new(array, value._names)
            for array, value in zip(features.spread(found), question.inputs, strict=True)
        )
        return tensors[0] if single else tensors


class _Passes:
    """Passes through a loader, each with some features away."""

    def __init__(
        self,
        owner: DataLoaderAttribution,
        loader: Any,
        roles: Sequence[int],
        features: Features,
        reduce: Reduce,
        to_metric: Callable[[Any], Any] | None,
    ) -> None:
        self.owner, self.loader, self.roles, self.features = owner, loader, roles, features
        self.reduce, self.to_metric = reduce, to_metric

    def all(self, together: int, show_progress: bool) -> Array:
        """Return what the metric loses with each feature, [numbers, features]."""
        count = self.features.count
        bar = progress(range(count + 1), type(self.owner).__name__, unit="feature") if show_progress else None
        try:
            before = self._metrics([None])[0]
            lost = []
            for start in range(0, count, together):
                some = list(range(start, min(start + together, count)))
                lost += [before - after for after in self._metrics(some)]
                if bar is not None:
                    bar.update(len(some))
        finally:
            if bar is not None:
                bar.close()
        return np.stack([one.reshape(-1) for one in lost], axis=-1)

    def _metrics(self, away: Sequence[int | None]) -> list[Array]:
        """Return the metric of a pass for each of the features that are away, None for none."""
        gathered: list[Any] = [None] * len(away)
        for batch in self.loader:
            entries = self._checked(_entries(batch))
            for place, feature in enumerate(away):
                perturbed = self._without(entries, feature)
                given = [
                    one
                    for one, role in zip(perturbed, self.roles, strict=True)
                    if role != InputRole.no_forward
                ]
                output = self.owner.forward_func(*given)
                gathered[place] = self.reduce(gathered[place], output, perturbed)
        metrics = [one if self.to_metric is None else self.to_metric(one) for one in gathered]
        for one in metrics:
            if not isinstance(one, Tensor):
                raise TypeError(
                    f"{type(self.owner).__name__}: the metric is a tensor, got "
                    + told(one, "let to_metric make one, wb.tensor(...)")
                )
        return [one.numpy(force=True) for one in metrics]

    def _checked(self, entries: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the entries of a batch, which go with the features of the first."""
        method = type(self.owner).__name__
        if len(entries) != len(self.roles):
            raise DimensionError(
                f"the first batch has {len(self.roles)} entries, another {len(entries)}: all have as many",
                op=method,
            )
        explained = [
            one for one, role in zip(entries, self.roles, strict=True) if role == InputRole.need_attr
        ]
        for one, mask in zip(explained, self.features.masks, strict=True):
            fits = one.ndim == mask.ndim and all(
                wanted in (1, size) for size, wanted in zip(one.shape[1:], mask.shape[1:], strict=True)
            )
            if not fits:
                raise DimensionError(
                    f"features are those of {list(mask.shape[1:])} values a sample, and a batch has shape "
                    f"{list(one.shape)}: all have the values of the first, or a "
                    "feature_mask of size 1 where they differ",
                    op=method,
                )
        return entries

    def _without(self, entries: tuple[Any, ...], feature: int | None) -> tuple[Any, ...]:
        if feature is None:
            return entries
        question = self.features.question
        numbers = iter(zip(self.features.masks, question.baselines, strict=True))
        made: list[Any] = []
        for one, role in zip(entries, self.roles, strict=True):
            if role != InputRole.need_attr:
                made.append(one)
                continue
            mask, start = next(numbers)
            away = mask == feature
            made.append(new(np.where(away, start, one.payload), one._names) if away.any() else one)
        return tuple(made)


def _entries(batch: Any) -> tuple[Any, ...]:
    return tuple(batch) if isinstance(batch, list | tuple) else (batch,)


def _in_tuple(given: Any, single: bool) -> Any:
    return given if given is None or isinstance(given, tuple) or not single else (given,)


def _joined(so_far: Any, output: Any, inputs: tuple[Any, ...]) -> Any:
    if so_far is None:
        return output
    return new(np.concatenate([so_far.numpy(force=True), output.numpy(force=True)]))


def _roles(method: str, given: Sequence[int] | None, count: int) -> list[int]:
    roles = [InputRole.need_attr] * count if given is None else list(given)
    if len(roles) != count:
        raise DimensionError(f"{len(roles)} input_roles for batches of {count} entries", op=method)
    if any(role not in (0, 1, 2) for role in roles):
        raise ValueError(f"{method}: roles are those of InputRole, 0, 1 and 2; got {roles}")
    if InputRole.need_attr not in roles:
        raise ValueError(
            f"{method}: no entry has the role InputRole.need_attr (0): there is nothing to explain"
        )
    return roles


def _check_broadcast(method: str, features: Features) -> None:
    for kind, arrays in (("baseline", features.question.baselines), ("feature mask", features.masks)):
        for position, array in enumerate(arrays):
            if len(array) != 1:
                raise DimensionError(
                    f"{kind} {position} has shape {list(array.shape)}: it goes with batches of any size, so its first "
                    "size must be 1",
                    op=method,
                )

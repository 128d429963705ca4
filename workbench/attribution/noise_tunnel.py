"""Noise tunnel: a method's attributions of many noisy copies of the inputs, put together."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any, Literal, Self, get_args

import numpy as np

from workbench.attribution.arguments import Over, Question, ask, summed
from workbench.attribution.base import Answer, Attribution, InterruptedWarning, in_groups, warn_of
from workbench.attribution.drawing import check_count, normals, numbers_below, spreads
from workbench.attribution.evaluation import MOST_ROWS, Stopped
from workbench.attribution.saliency import Saliency
from workbench.base.foreign import told
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["NoiseTunnel", "SmoothGrad"]

Array = np.ndarray[Any, Any]
Kind = Literal["smoothgrad", "smoothgrad_sq", "vargrad"]

MOST_BYTES = 1 << 28
"""Noisy copies that are made at once take no more than this, unless their number is said."""


class NoiseTunnel(Attribution):
    """Another method's attributions a of noisy copies of the inputs: their mean, mean of squares, or variance.

    ``smoothgrad`` is E a, ``smoothgrad_sq`` E a², ``vargrad`` E a² − (E a)². The noise is normal, of mean 0.

    Source: Smilkov et al.: SmoothGrad (2017); Adebayo et al.: Local Explanation Methods for Deep Neural Networks Lack
    Sensitivity to Parameter Values (2018).

    Raises:
        TypeError: `attribution_method` is no method of attribution.

    >>> import workbench as wb
    >>> x = wb.tensor([[1.0, -3.0]], names=("N", "features"))
    >>> method = NoiseTunnel(Saliency(lambda x: (x * 2).sum("features")))
    >>> method.attribute(x, nt_samples=10, stdevs=0.1).tolist()
    [[2.0, 2.0]]
    """

    name = "Noise Tunnel"

    def __init__(self, attribution_method: Attribution) -> None:
        if not isinstance(attribution_method, Attribution):
            raise TypeError(
                "NoiseTunnel: attribution_method is a method of attribution, such as Saliency(model); got "
                f"{told(attribution_method)}"
            )
        super().__init__(attribution_method.forward_func)
        self.attribution_method = attribution_method
        self._stopped, self._share = False, 1.0
        self.multiplies_by_inputs = attribution_method.multiplies_by_inputs

    def on(self, forward_func: Callable[..., Any]) -> Self:
        """Return the same tunnel of another model, with the same method inside."""
        other = super().on(forward_func)
        other.attribution_method = self.attribution_method.on(forward_func)
        return other

    def has_convergence_delta(self) -> bool:
        """Return whether the method inside says its deltas."""
        return self.attribution_method.has_convergence_delta()

    def attribute(
        self,
        inputs: Any,
        nt_type: Kind = "smoothgrad",
        nt_samples: int = 5,
        nt_samples_batch_size: int | None = None,
        stdevs: float | tuple[float, ...] = 1.0,
        draw_baseline_from_distrib: bool = False,
        *,
        over: Over = None,
        **kwargs: Any,
    ) -> Any:
        """Return the attributions put together, as the method inside returns them.

        `kwargs` are those of the method inside; targets, further arguments, baselines and masks that have an entry a
        sample go along with the copies. With `draw_baseline_from_distrib` each copy has a baseline drawn from those
        that are given. `nt_samples_batch_size` copies of each sample are made at once. With
        ``return_convergence_delta=True`` the deltas [N · nt_samples] of all copies come, too.

        Raises:
            TypeError, ValueError: settings that cannot be, and as the method inside raises.
        """
        question = ask(type(self).__name__, inputs)
        runs = self._runs(question, nt_type, nt_samples, nt_samples_batch_size, stdevs)
        wants_delta = bool(kwargs.get("return_convergence_delta")) and self.has_convergence_delta()
        shape = _Shape()
        deltas: list[Array] = []
        sums: list[Array] = []
        squares: list[Array] = []
        self._stopped, done, whole = False, 0, 0.0
        for copies in runs:
            given = self._noisy(question, copies, stdevs)
            further = _repeated_settings(kwargs, question, copies, draw_baseline_from_distrib)
            found = self._explained(given[0] if question.single else given, further, first=not done)
            if found is None:
                break
            done += copies
            inner = self.attribution_method
            whole += copies * (inner.progress if inner.interrupted else 1.0)
            if wants_delta:
                found, delta = found
                deltas.append(delta.numpy())
            each = [one.reshape(question.samples, copies, *one.shape[1:]) for one in shape.flat(found)]
            _add(sums, [one.sum(axis=1, dtype=np.float64) for one in each])
            _add(squares, [np.square(one, dtype=np.float64).sum(axis=1) for one in each])
            if self._stopped:
                break
        self.interrupted, self._share = self._stopped, whole / nt_samples
        warn_of(type(self), Answer([], interrupted=self.interrupted, progress=self._share))
        arrays = _together(nt_type, [one / done for one in sums], [one / done for one in squares])
        attributions = shape.restored(arrays, over, type(self).__name__)
        return (attributions, new(np.concatenate(deltas))) if wants_delta else attributions

    def stop(self) -> None:
        """End what runs after its current batch: the answer is of the copies that are done."""
        self._stopped = True
        self.attribution_method.stop()

    def _explained(self, given: Any, settings: dict[str, Any], first: bool) -> Any:
        """Return the attributions of some copies; None where they were cut short and there are others."""
        try:
            with warnings.catch_warnings(action="ignore", category=InterruptedWarning):
                found = self.attribution_method.attribute(given, **settings)
        except Stopped:
            if first:
                raise
            found, self._stopped = None, True
        if self.attribution_method.interrupted:
            self._stopped = True
            return found if first else None
        return found

    def _runs(
        self, question: Question, nt_type: Any, nt_samples: Any, size: int | None, stdevs: Any
    ) -> list[int]:
        """Return how many copies of each sample are made in each run of the method inside."""
        method = question.method
        if nt_type not in get_args(Kind):
            raise ValueError(
                f"{method}: there is no nt_type {nt_type!r}; there are {', '.join(get_args(Kind))}"
            )
        check_count(nt_samples, "nt_samples", method)
        spreads(stdevs, len(question.inputs), method)
        if size is None:
            # About as many rows as go through a model at once: a run that is stopped loses no more than that.
            size = MOST_BYTES // sum(one.payload.nbytes for one in question.inputs)
            size = max(1, min(size, MOST_ROWS // question.samples))
        check_count(size, "nt_samples_batch_size", method)
        size = min(size, nt_samples)
        whole, rest = divmod(nt_samples, size)
        return [size] * whole + [rest] * bool(rest)

    def _noisy(self, question: Question, copies: int, stdevs: Any) -> tuple[Tensor, ...]:
        spread = spreads(stdevs, len(question.inputs), question.method)
        repeated = [np.repeat(one.payload, copies, axis=0) for one in question.inputs]
        noisy = [
            one + normals(one.shape, width, one.dtype) if width else one
            for one, width in zip(repeated, spread, strict=True)
        ]
        return tuple(question.tensors(noisy))

    def _compute(  # type: ignore[override]
        self,
        question: Question,
        nt_type: Kind = "smoothgrad",
        nt_samples: int = 5,
        stdevs: float = 1.0,
        memory: int | str | None = None,
    ) -> Answer:
        settings: dict[str, Any] = {"target": None, "memory": memory}
        if question.target is not None:
            settings["target"] = [tuple(row) for row in question.target.tolist()]
        if "baselines" in inspect.signature(self.attribution_method.attribute).parameters:
            settings["baselines"] = tuple(question.tensors(question.baselines))
            if question.single:
                (settings["baselines"],) = settings["baselines"]
        with warnings.catch_warnings(action="ignore", category=InterruptedWarning):  # said by who asked
            found = self.attribute(
                question.inputs[0] if question.single else question.inputs,
                nt_type,
                nt_samples,
                stdevs=stdevs,
                additional_forward_args=question.extra or None,
                **settings,
            )
        shape = _Shape()
        return Answer(
            shape.flat(found),
            names=shape.names,
            groups=shape.groups,
            interrupted=self._stopped,
            progress=self._share,
        )


class SmoothGrad(NoiseTunnel):
    """The mean gradient of noisy copies of the inputs, without its sign: a noise tunnel on saliency.

    >>> import workbench as wb
    >>> x = wb.tensor([[1.0, -3.0]], names=("N", "features"))
    >>> SmoothGrad(lambda x: (x * 2).sum("features")).attribute(x).tolist()
    [[2.0, 2.0]]
    """

    name = "SmoothGrad"

    def __init__(self, forward_func: Callable[..., Any]) -> None:
        super().__init__(Saliency(forward_func))


class _Shape:
    """How a method returned its attributions: one tensor, a tuple, or a list with one of these for each layer."""

    def __init__(self) -> None:
        self.names: tuple[tuple[str | None, ...], ...] = ()
        self.groups: tuple[int, ...] | None = None
        self.types: list[Any] = []
        self.tuple = False

    def flat(self, found: Any) -> list[Array]:
        """Return the attributions as a flat list of arrays."""
        several = found if isinstance(found, list) else [found]
        tuples = [one if isinstance(one, tuple) else (one,) for one in several]
        self.groups = tuple(len(one) for one in tuples) if isinstance(found, list) else None
        self.tuple = isinstance(found, tuple)
        tensors = [one for each in tuples for one in each]
        self.names = tuple(one.names for one in tensors)
        self.types = [one.payload.dtype for one in tensors]
        return [one.detach().numpy() for one in tensors]

    def restored(self, arrays: list[Array], over: Over, method: str) -> Any:
        """Return arrays in that form, as tensors with names."""
        parts = zip(arrays, self.names, self.types, strict=True)
        tensors = summed([new(one.astype(kind), names) for one, names, kind in parts], over, method)
        return tensors if self.tuple else in_groups(tensors, self.groups)


def _add(sums: list[Array], parts: list[Array]) -> None:
    if not sums:
        sums.extend(parts)
        return
    for total, part in zip(sums, parts, strict=True):
        total += part


def _together(kind: Kind, means: list[Array], squares: list[Array]) -> list[Array]:
    if kind == "smoothgrad":
        return means
    if kind == "smoothgrad_sq":
        return squares
    return [square - mean * mean for mean, square in zip(means, squares, strict=True)]


def _repeated_settings(kwargs: dict[str, Any], question: Question, copies: int, draw: bool) -> dict[str, Any]:
    """Return the settings of the method inside for `copies` copies of each sample."""
    found = dict(kwargs)
    for name in ("target", "additional_forward_args", "baselines", "feature_mask"):
        if name in found:
            found[name] = _repeated(found[name], question.samples, copies)
    if draw and "baselines" in kwargs:
        given = kwargs["baselines"]
        found["baselines"] = _drawn(given() if callable(given) else given, question.samples * copies)
    return found


def _repeated(value: Any, samples: int, copies: int) -> Any:
    """Return what has an entry a sample with each entry repeated."""
    if isinstance(value, tuple):  # a place in the output, or arguments or baselines one by one
        return tuple(_repeated(one, samples, copies) for one in value)
    if isinstance(value, list) and len(value) == samples:
        return [one for one in value for _ in range(copies)]
    # Of a single sample a tensor [1] is rather a number for all than an entry a sample.
    if isinstance(value, Tensor) and value.ndim > (samples == 1) and value.shape[0] == samples:
        return new(np.repeat(value.detach().numpy(force=True), copies, axis=0), value._names)
    return value


def _drawn(baselines: Any, count: int) -> Any:
    """Return a baseline for each copy, drawn from those that are given."""
    if isinstance(baselines, tuple):
        return tuple(_drawn(one, count) for one in baselines)
    if not isinstance(baselines, Tensor):
        return baselines
    array = baselines.detach().numpy(force=True)
    return new(array[numbers_below(len(array), count)], baselines._names)

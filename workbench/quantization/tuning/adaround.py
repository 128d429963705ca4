"""AdaRound: whether a weight goes up or down to its code is learned, for the sake of the layer's output."""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from workbench.autograd.stateless import functional_call
from workbench.base.dims import near_miss
from workbench.base.errors import QuantizationError
from workbench.base.number_format import byte_figure
from workbench.base.random import Generator
from workbench.core import dispatch
from workbench.core.value import new
from workbench.nn import Module, Parameter
from workbench.optim import Adam
from workbench.quantization.batches import Batch, batches_of
from workbench.quantization.given import require_own
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.tuning.places import (
    Place,
    converted,
    limits,
    paused,
    places,
    require_prepared,
    watching,
)
from workbench.quantization.tuning.settled import SettledObserver

__all__ = ["adaround"]

Array = np.ndarray[Any, Any]

_LOW, _HIGH = -0.1, 1.1
"""The sigmoid is stretched to these ends and cut to 0 and 1, so that both can be reached (γ and ζ)."""
_SHARPNESS = (20.0, 2.0)
"""The exponent β, at first and at last: only what is almost decided is pushed, and in the end everything."""
_WARM = 0.2
"""Part of the steps before anything is pushed to 0 or 1."""


@dataclass(frozen=True)
class _Setting:
    steps: int
    batch: int
    rate: float
    weight: float
    seed: int
    limit: int


def adaround(
    prepared: Module,
    data: Any,
    *,
    layers: Collection[str] | None = None,
    steps: int = 1000,
    batch_size: int = 32,
    learning_rate: float = 1e-2,
    regularization: float = 0.01,
    memory_limit: int = 256 * 2**20,
    seed: int = 0,
) -> Any:
    """Return a copy of a prepared and calibrated model whose weights are rounded so that layers compute the same.

    For each layer W̃ = s·clamp(⌊W / s⌋ + h(V)), h(V) = clamp(σ(V)·1.2 - 0.1, 0, 1), and V is learned by Adam on
    mean ‖c(W·x) - c(W̃·x̃)‖² + λ·Σ(1 - |2h - 1|^β), where c cuts off what the layer's codes and its rectifier cut off,
    x̃ is what the layer is given with those before it rounded, λ `regularization`, and β falls from 20 to 2; then h goes
    to 0 or 1. A layer keeps the nearest codes where those that were learned are no better on the samples.

    `prepared` is what `prepare` or `prepare_fx` returned, with any bits and scales per channel or tensor, such as
    those of `bits_qconfig(8, 4)`; `convert` or `convert_fx` the result. Of the samples in `data` as many are drawn and
    kept as fit into `memory_limit` bytes for one layer. `layers` are dotted names, all with weights if not given. The
    same `seed` gives the same codes.

    Raises `QuantizationError` for a model that is not prepared or not calibrated, for names that no layer has, without
    data, for NaN or infinite values, for samples of several sizes, and where not one fits into the memory.

    M. Nagel and others, *Up or down? Adaptive rounding for post-training quantization*, 2020.

    >>> import workbench as wb
    >>> model, x = wb.nn.Sequential(wb.nn.Linear(8, 4), wb.nn.ReLU()).eval(), wb.rand(64, 8)
    >>> prepared = wb.quantization.prepare_fx(model, wb.quantization.bits_qconfig(8, 4), (x,))
    >>> _ = prepared(x)
    >>> integer = wb.quantization.convert_fx(adaround(prepared, x, steps=50))
    >>> type(integer.get_submodule("0")).__name__
    'LinearReLU'
    """
    require_prepared(prepared, "adaround")
    setting = _Setting(steps, batch_size, learning_rate, regularization, seed, memory_limit)
    _check(setting)
    batches = batches_of(data, prepared)
    made, before = copy.deepcopy(prepared), copy.deepcopy(prepared)
    waiting = {place.path: place for place in _chosen(made, layers)}
    require_own(
        made,
        [place.layer for place in waiting.values()],
        "weight",
        "what is learned for one layer would be the other's. Give each a weight of its own before it is prepared, "
        "layer.weight = nn.Parameter(layer.weight.detach().clone()), or leave them out by layers=",
    )
    integer = converted(prepared)
    while waiting:
        path = _next(made, waiting, batches)
        place = waiting.pop(path)
        given, wanted = _samples(place, made, before, batches, setting)
        _settle(_Layer(place, limits(integer.get_submodule(path)), given, wanted), setting)
    return made


def _check(setting: _Setting) -> None:
    for name, value in (("steps", setting.steps), ("batch_size", setting.batch)):
        if type(value) is not int or value < 1:
            raise QuantizationError(f"{name}={value!r}: give a whole number, 1 or more")
    if not setting.rate > 0 or not setting.weight >= 0:
        raise QuantizationError(
            f"learning_rate={setting.rate} and regularization={setting.weight}: the first is above 0, the second 0 or "
            "more"
        )


def _chosen(model: Any, layers: Collection[str] | None) -> list[Place]:
    found = [place for place in places(model) if not place.observer.qscheme.value.endswith("float_qparams")]
    names = [place.path for place in found]
    if not found:
        raise QuantizationError(
            "the model has no layer whose weight becomes codes: there is nothing to round"
        )
    for name in layers or ():
        if name not in names:
            near = near_miss(name, names)
            raise QuantizationError(
                f"the model has no layer {name!r} whose weight becomes codes"
                + (f": did you mean {near!r}?" if near else "")
            )
    return [place for place in found if layers is None or place.path in layers]


def _next(model: Any, waiting: dict[str, Place], batches: list[Batch]) -> str:
    """Return the layer that is called first among those that wait."""
    called: list[str] = []
    hooks = {
        place.layer: lambda layer, arguments, output, path=path: called.append(path)
        for path, place in waiting.items()
    }
    with paused(), watching(hooks):
        model(*batches[0].sample)
    if not called:
        raise QuantizationError(
            f"{', '.join(waiting)} was never called: leave it out by layers=…, or pass data that reach it"
        )
    return called[0]


def _samples(
    place: Place, made: Any, before: Any, batches: list[Batch], setting: _Setting
) -> tuple[Array, Array]:
    """Return samples of what a layer is given with those before it rounded, and what it computed at first."""
    twin = next(one for one in places(before) if one.path == place.path).layer
    inputs: list[Array] = []
    outputs: list[Array] = []
    kept: Array = np.zeros(0, bool)
    with paused():
        for number, batch in enumerate(batches):
            given: list[Array] = []
            wanted: list[Array] = []
            count = batch.samples
            with watching({
                place.layer: lambda layer, arguments, output, into=given: into.append(_numbers(arguments[0])),
                twin: lambda layer, arguments, output, into=wanted: into.append(_numbers(output)),
            }):  # fmt: skip
                made(*batch.arguments)
                before(*batch.arguments)
            x, y = (_joined(place, several) for several in (given, wanted))
            if not (np.isfinite(x).all() and np.isfinite(y).all()):
                raise QuantizationError(
                    f"{place.path} was given NaN or infinite values: no rounding can be fitted to them"
                )
            if not kept.size:
                kept = _drawn(place.path, sum(one.samples for one in batches), x, y, count, setting)
            start = sum(one.samples for one in batches[:number])
            here = np.resize(kept[start : start + count], len(x)) if count else np.zeros(len(x), bool)
            inputs.append(x[here])
            outputs.append(y[here])
    return _joined(place, inputs), _joined(place, outputs)


def _joined(place: Place, several: list[Array]) -> Array:
    sizes = list(dict.fromkeys(one.shape[1:] for one in several))
    if len(sizes) > 1:
        raise QuantizationError(
            f"{place.path} is called with samples of several sizes, {list(sizes[0])} and {list(sizes[1])}, and learns "
            "from those of one: give data of one size, or leave the layer out by layers="
        )
    return np.concatenate(several)


def _numbers(value: Any) -> Array:
    return np.asarray(value.detach().payload)


def _drawn(path: str, total: int, x: Array, y: Array, count: int, setting: _Setting) -> Array:
    """Return which of all samples are kept, drawn evenly where not all fit into the memory."""
    each = (x.nbytes + y.nbytes) / max(1, count)
    most = int(setting.limit // each)
    if most < 1:
        raise QuantizationError(
            f"one sample of {path} takes {byte_figure(each)}, and memory_limit is {byte_figure(setting.limit)}: give "
            f"at least {int(each)} bytes"
        )
    kept = np.ones(total, bool)
    if most < total:
        kept[Generator(setting.seed).numpy.permutation(total)[most:]] = False
    return kept


# ---------------------------------------------------------------------------------------------- one layer


class _Grid:
    """The codes of a weight that the rounding chooses between: those below, and one more."""

    def __init__(self, weight: Array, observer: ObserverBase) -> None:
        scale, zero = (np.asarray(one) for one in observer.qparams())
        if observer.qscheme.per_channel:
            shape = [1] * weight.ndim
            shape[int(getattr(observer, "ch_axis", 0)) % weight.ndim] = -1
            scale, zero = scale.reshape(shape), zero.reshape(shape)
        self.scale = scale.astype(np.float32)
        # Of one zero point the difference would be a number, and no array.
        self.least = np.asarray(observer.quant_min - zero, np.float32)
        self.most = np.asarray(observer.quant_max - zero, np.float32)
        steps = weight.astype(np.float64) / self.scale
        self.floor = np.floor(steps).astype(np.float32)
        self.rest = (steps - self.floor).astype(np.float32)

    def near(self, weight: Array) -> Array:
        """Return the nearest codes' values."""
        return self.value(np.rint(weight / self.scale) - self.floor)

    def value(self, up: Array) -> Array:
        """Return the weight where `up` is added to the lower code."""
        made: Array = np.clip(self.floor + up, self.least, self.most) * self.scale
        return made.astype(np.float32)


class _Layer(NamedTuple):
    """One layer with its samples: what it is given, what it is to compute, and what its codes can stand for."""

    place: Place
    limits: tuple[float, float]
    given: Array
    wanted: Array

    def cut(self, y: Any) -> Any:
        """Return what of an output goes on."""
        return y.clamp(*self.limits)

    def computed(self, weight: Any, x: Array) -> Any:
        """Return what goes on with another weight."""
        return self.cut(functional_call(self.place.layer, {"weight": weight}, (new(x),)))

    def error(self, weight: Array, batch: int) -> float:
        """Return the squared error of what goes on over all samples."""
        total = 0.0
        with dispatch.no_grad():
            for at in range(0, len(self.given), batch):
                found = _numbers(self.computed(new(weight), self.given[at : at + batch]))
                target = _numbers(self.cut(new(self.wanted[at : at + batch])))
                total += float(np.sum((found.astype(np.float64) - target) ** 2))
        return total


def _settle(one: _Layer, setting: _Setting) -> None:
    """Find the rounding of one layer, and leave its weight on the grid of codes."""
    layer, observer = one.place.layer, one.place.observer
    weight = np.asarray(layer.weight.detach().payload)
    observer.reset()
    observer(layer.weight.detach())
    settled = SettledObserver(observer)
    grid = _Grid(weight, settled)
    choices = [grid.near(weight), grid.value(_learned(one, grid, setting))]
    errors = [one.error(choice, setting.batch) for choice in choices]
    with dispatch.no_grad():
        layer.weight.payload = choices[int(errors[1] < errors[0])]
    one.place.module.weight_post_process = settled


def _learned(one: _Layer, grid: _Grid, setting: _Setting) -> Array:
    """Return 1 where a weight goes to the upper code, and 0 where it goes to the lower, by gradient descent."""
    # The start: h(V) is the rest itself, so that the soft weight is the weight.
    share = (grid.rest - _LOW) / (_HIGH - _LOW)
    chosen: Any = Parameter(new(np.log(share / (1 - share)).astype(np.float32)))
    optimizer = Adam([chosen], lr=setting.rate)
    floor, scale = new(grid.floor), new(grid.scale)
    least, most = new(grid.least), new(grid.most)
    stream = Generator(setting.seed).numpy
    warm = int(_WARM * setting.steps)
    for step in range(setting.steps):
        drawn = stream.integers(0, len(one.given), min(setting.batch, len(one.given)))
        up = (chosen.sigmoid() * (_HIGH - _LOW) + _LOW).clamp(0, 1)
        soft = (floor + up).maximum(least).minimum(most) * scale
        target = one.cut(new(one.wanted[drawn]))
        loss = ((one.computed(soft, one.given[drawn]) - target) ** 2).sum() / len(drawn)
        if step >= warm:
            # From 20 to 2 along half a cosine, as the authors do it.
            done = (step - warm) / max(1, setting.steps - warm)
            sharp = _SHARPNESS[1] + 0.5 * (_SHARPNESS[0] - _SHARPNESS[1]) * (1 + np.cos(np.pi * done))
            loss = loss + setting.weight * (1 - (2 * up - 1).abs() ** float(sharp)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return np.asarray(chosen.detach().payload >= 0, np.float32)

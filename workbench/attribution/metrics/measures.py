"""Measures: every metric under one protocol, so that a board can ask each of any result.

A `Measure` has a name, says which direction is better and what it costs, and gives one number a sample, with a curve
where there is one. What is asked is a `Judged`: a model, inputs, attributions, and what the metric may need besides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.attribution.arguments import ask
from workbench.attribution.metrics.complexity import complexity, sparseness
from workbench.attribution.metrics.curves import Curve, deletion_curve, insertion_curve
from workbench.attribution.metrics.features import features
from workbench.attribution.metrics.infidelity import infidelity, infidelity_perturb_func_decorator
from workbench.attribution.metrics.pointing_game import pointing_game
from workbench.attribution.metrics.randomization import parameter_randomization
from workbench.attribution.metrics.road import FRACTIONS, road_curve
from workbench.attribution.metrics.sensitivity import sensitivity_max
from workbench.attribution.metrics.sensitivity_n import sensitivity_n
from workbench.attribution.result import AttributionResult
from workbench.base.dims import near_miss
from workbench.base.random import Generator
from workbench.core.value import new
from workbench.nn import Module
from workbench.tensor import Tensor

__all__ = ["MEASURES", "Cost", "Judged", "Measure", "Measurement", "measure"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Judged:
    """An explanation that is to be judged, and what it explains."""

    forward: Callable[..., Any]
    """The model."""
    inputs: Any
    """A tensor [N, …], or a tuple of them."""
    attributions: Any
    """In the form of the inputs."""
    target: Any = None
    """As in `attribute`."""
    baselines: Any = None
    """What features are replaced by; None for zeros."""
    additional_forward_args: Any = None
    """As in `attribute`."""
    explain: Callable[[Any, Any, Any], Any] | None = None
    """``explain(model, inputs, target)`` makes such attributions anew, of other inputs or another model; None where
    nobody can, and measures that need it say so."""
    multiply_by_inputs: bool = True
    """True for attributions in units of the output, such as those of Integrated Gradients, False for slopes, such as
    those of Saliency."""
    mask: Any = None
    """Marks the thing that the attributions should lie on; None where nobody knows."""
    delta: Tensor | None = None
    """[N]: Σ attributions − (F(input) − F(baseline)); None where the method promises no sum."""
    memory: int | str | None = None
    """What a batch of rows may take, as in `attribute`."""

    @classmethod
    def of(cls, model: Callable[..., Any], result: AttributionResult, **more: Any) -> Judged:
        """Return what is judged for a result of `explain`; `more` are other fields.

        >>> import workbench as wb
        >>> result = wb.attribution.explain(lambda x: x * x, wb.ones(1, 2), targets=1)
        >>> Judged.of(lambda x: x * x, result).target
        [(1,)]
        """
        targets = list(result.targets) if result.targets[0] else None
        return cls(model, result.inputs, result.attributions, targets, delta=result.delta, **more)

    @property
    def samples(self) -> int:
        """Number of samples."""
        first = self.inputs[0] if isinstance(self.inputs, tuple) else self.inputs
        return int(first.shape[0])

    def explained(self, inputs: Any, target: Any) -> Any:
        """Return attributions of the model for other inputs.

        Raises:
            ValueError: nobody said how.
        """
        if self.explain is None:
            raise ValueError("the attributions cannot be made anew: give Judged(explain=…)")
        return self.explain(self.forward, inputs, target)


@dataclass(frozen=True)
class Cost:
    """What a measure takes: multiply by the time of one of each."""

    forwards: int = 0
    """How many samples go through the model."""
    explanations: int = 0
    """How many samples are explained anew."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """What a measure found."""

    measure: str
    """Its name."""
    values: Tensor
    """float64 [N]: one number a sample; NaN where it has no meaning."""
    curve: Curve | None = None
    """What the number is the area of, where it is one."""

    @property
    def mean(self) -> float:
        """The mean over the samples that have a number; NaN where none has."""
        numbers = self.values.numpy()
        numbers = numbers[~np.isnan(numbers)]
        return float(numbers.mean()) if numbers.size else float("nan")


@dataclass(frozen=True)
class Measure:
    """A metric as a board asks it."""

    name: str
    title: str
    """What a column is called."""
    higher_is_better: bool
    meaning: str
    """One sentence for a reader."""
    cost: Callable[[Judged], Cost]
    """Says beforehand what it takes."""
    compute: Callable[..., tuple[Any, Curve | None]]
    """``compute(judged, **settings)`` returns the numbers and the curve."""
    lacks: Callable[[Judged], str | None] = lambda judged: None
    """Says why it cannot be asked, or None where it can."""


def measure(name: str, judged: Judged, **settings: Any) -> Measurement:
    """Return what the measure `name` says of an explanation.

    Draws of chance start from a seed (a setting), so that explanations are compared on the same draws. `settings` are
    those of the measure, as in `MEASURES`.

    Raises:
        ValueError: there is no such measure, or it needs what `judged` does not have. Otherwise as the metric does.

    >>> import workbench as wb
    >>> weights = wb.tensor([[3.0, 1.0]])
    >>> judged = Judged(lambda x: x @ weights.T, wb.ones(1, 2), weights)
    >>> measure("deletion", judged, steps=2).values.tolist()
    [1.5]
    """
    if name not in MEASURES:
        near = near_miss(name, MEASURES)
        hint = f"did you mean {near!r}?" if near else f"there are {', '.join(MEASURES)}"
        raise ValueError(f"there is no measure {name!r}; {hint}")
    chosen = MEASURES[name]
    lacking = chosen.lacks(judged)
    if lacking is not None:
        raise ValueError(f"{name}: {lacking}")
    values, curve = chosen.compute(judged, **settings)
    return Measurement(name, values.detach().double(), curve)


def _deletion(judged: Judged, steps: int = 32, over: Any = None, score: str | None = None) -> Any:
    curve = deletion_curve(*_asked(judged), steps=steps, over=over, score=score, memory=judged.memory)
    return curve.areas, curve


def _insertion(judged: Judged, steps: int = 32, over: Any = None, score: str | None = None) -> Any:
    curve = insertion_curve(*_asked(judged), steps=steps, over=over, score=score, memory=judged.memory)
    return curve.areas, curve


def _asked(judged: Judged) -> tuple[Any, ...]:
    return (
        judged.forward,
        judged.inputs,
        judged.attributions,
        judged.target,
        judged.baselines,
        judged.additional_forward_args,
    )


def _road(judged: Judged, over: Any = None, score: str | None = None, seed: int = 0) -> Any:
    curve = road_curve(
        judged.forward,
        judged.inputs,
        judged.attributions,
        judged.target,
        judged.additional_forward_args,
        over=over,
        score=score,
        generator=Generator(seed),
        memory=judged.memory,
    )
    return curve.areas, curve


def _infidelity(
    judged: Judged, n_perturb_samples: int = 32, part: float = 0.3, over: Any = None, seed: int = 0
) -> Any:
    question = ask(
        "infidelity", judged.inputs, judged.baselines, judged.target, judged.additional_forward_args
    )
    found = features(question, judged.attributions, over)
    stream = Generator(seed).numpy

    def perturb(inputs: Any, baselines: Any) -> tuple[Tensor, ...]:
        values = inputs if isinstance(inputs, tuple) else (inputs,)
        starts = baselines if isinstance(baselines, tuple) else (baselines,)
        chosen = stream.random((values[0].shape[0], found.count)) < part
        masks = found.spread(chosen, np.arange(len(chosen)))
        return tuple(
            new(np.where(mask, start.numpy(), value.payload), value._names)
            for mask, start, value in zip(masks, starts, values, strict=True)
        )

    starts = tuple(
        new(np.ascontiguousarray(np.broadcast_to(one, value.shape)), value._names)
        for one, value in zip(question.baselines, question.inputs, strict=True)
    )
    values = infidelity(
        judged.forward,
        infidelity_perturb_func_decorator(judged.multiply_by_inputs)(perturb),
        judged.inputs,
        _whole(judged),
        starts[0] if question.single else starts,
        judged.additional_forward_args,
        judged.target,
        n_perturb_samples=n_perturb_samples,
        normalize=True,
        memory=judged.memory,
    )
    return values, None


def _whole(judged: Judged) -> Any:
    """Return attributions of the inputs' shape: one for several values is shared among them."""
    pairs = [
        (one, value) for one, value in zip(_tuple(judged.attributions), _tuple(judged.inputs), strict=True)
    ]
    spread = tuple(
        one if one.shape == value.shape else one.expand(value.shape) / (value.numel() / one.numel())
        for one, value in pairs
    )
    return spread if isinstance(judged.inputs, tuple) else spread[0]


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _sensitivity(
    judged: Judged, perturb_radius: float = 0.02, n_perturb_samples: int = 4, seed: int = 0
) -> Any:
    stream = Generator(seed).numpy

    def perturb(inputs: Any, radius: float) -> tuple[Tensor, ...]:
        return tuple(
            new(
                (one.payload + stream.uniform(-radius, radius, one.shape)).astype(one.payload.dtype),
                one._names,
            )
            for one in _tuple(inputs)
        )

    values = sensitivity_max(
        judged.explained, judged.inputs, perturb, perturb_radius, n_perturb_samples, target=judged.target
    )
    return values, None


def _sensitivity_n(
    judged: Judged, part: float = 0.2, n_subsets: int = 32, over: Any = None, seed: int = 0
) -> Any:
    question = ask("sensitivity_n", judged.inputs, any_type=True)
    count = features(question, judged.attributions, over).count
    values = sensitivity_n(
        judged.forward,
        judged.inputs,
        judged.attributions,
        max(round(part * count), 1),
        judged.target,
        judged.baselines,
        judged.additional_forward_args,
        n_subsets=n_subsets,
        over=over,
        generator=Generator(seed),
        memory=judged.memory,
    )
    return values, None


def _randomization(judged: Judged, order: str = "cascading", absolute: bool = False, seed: int = 0) -> Any:
    explain = judged.explain
    assert explain is not None and isinstance(judged.forward, Module)
    check = parameter_randomization(
        judged.forward,
        lambda model, inputs: explain(model, inputs, judged.target),
        judged.inputs,
        order=order,
        absolute=absolute,
        seed=seed,
    )
    return check.means, None


def _pointing(judged: Judged, over: Any = None, tolerance: int = 0) -> Any:
    return pointing_game(judged.attributions, judged.mask, over=over, tolerance=tolerance), None


def _complexity(judged: Judged, over: Any = None) -> Any:
    return complexity(judged.attributions, over=over), None


def _sparseness(judged: Judged, over: Any = None) -> Any:
    return sparseness(judged.attributions, over=over), None


def _delta(judged: Judged) -> Any:
    assert judged.delta is not None
    return judged.delta.abs(), None


def _needs_explain(judged: Judged) -> str | None:
    return (
        None if judged.explain is not None else "the attributions cannot be made anew: give Judged(explain=…)"
    )


def _needs_module(judged: Judged) -> str | None:
    if not isinstance(judged.forward, Module):
        return (
            f"the model is a {type(judged.forward).__name__}, whose parameters are not known; give a module"
        )
    return _needs_explain(judged)


def _points(judged: Judged) -> int:
    """Return how many points a curve has: no step is without a feature."""
    question = ask("measure", judged.inputs, any_type=True)
    return min(32, features(question, judged.attributions).count) + 1


def _layers(judged: Judged) -> int:
    if not isinstance(judged.forward, Module):
        return 0
    return sum(any(True for _ in part.parameters(recurse=False)) for part in judged.forward.modules())


_ALL = (
    Measure(
        "deletion",
        "Deletion",
        False,
        "How high the target's score stays, on average, while the most important features are taken away.",
        lambda judged: Cost(forwards=_points(judged) * judged.samples),
        _deletion,
    ),
    Measure(
        "insertion",
        "Insertion",
        True,
        "How high the target's score is, on average, while the most important features are put in.",
        lambda judged: Cost(forwards=_points(judged) * judged.samples),
        _insertion,
    ),
    Measure(
        "road",
        "ROAD",
        False,
        "As deletion, with what was taken filled in from around it, so that holes tell the model nothing.",
        lambda judged: Cost(forwards=len(FRACTIONS) * judged.samples),
        _road,
    ),
    Measure(
        "infidelity",
        "Infidelity",
        False,
        "How far the attributions, in their best scale, are from the output's change when features are replaced.",
        lambda judged: Cost(forwards=33 * judged.samples),
        _infidelity,
    ),
    Measure(
        "sensitivity",
        "Sensitivity",
        False,
        "How much the explanation changes, at most, when the input hardly does.",
        lambda judged: Cost(explanations=5 * judged.samples),
        _sensitivity,
        _needs_explain,
    ),
    Measure(
        "sensitivity_n",
        "Sensitivity-n",
        True,
        "How well attributions of random sets of features go along with the output's change without them.",
        lambda judged: Cost(forwards=33 * judged.samples),
        _sensitivity_n,
    ),
    Measure(
        "randomization",
        "Randomization",
        False,
        "How alike the explanation is to that of a model whose parameters became random.",
        lambda judged: Cost(explanations=(_layers(judged) + 1) * judged.samples),
        _randomization,
        _needs_module,
    ),
    Measure(
        "pointing_game",
        "Pointing game",
        True,
        "Whether the greatest attribution lies on the thing.",
        lambda judged: Cost(),
        _pointing,
        lambda judged: (
            None if judged.mask is not None else "there is no mask of the thing: give Judged(mask=…)"
        ),
    ),
    Measure(
        "complexity",
        "Complexity",
        False,
        "Over how many features the attributions are spread, as an entropy.",
        lambda judged: Cost(),
        _complexity,
    ),
    Measure(
        "sparseness",
        "Sparseness",
        True,
        "How few features have most of the attributions, as a Gini index.",
        lambda judged: Cost(),
        _sparseness,
    ),
    Measure(
        "delta",
        "Delta",
        False,
        "How far the attributions are from adding up to the output's change.",
        lambda judged: Cost(),
        _delta,
        lambda judged: None if judged.delta is not None else "the method promises no sum",
    ),
)

MEASURES: dict[str, Measure] = {one.name: one for one in _ALL}
"""Every measure by its name."""

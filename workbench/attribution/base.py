"""What the attribution methods share: how they are asked, and how they answer."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from workbench.attribution.arguments import Over, Question, ask, summed
from workbench.attribution.checks import check_model
from workbench.attribution.doubts import DoubtfulWarning, flat_at, not_finite
from workbench.attribution.evaluation import Evaluation, Forecast, forecasting
from workbench.attribution.modes import evaluating, outside
from workbench.attribution.precision import is_floating, rounding_of, total_of
from workbench.attribution.propagation.absorbed import Absorbed
from workbench.core.stack import parameters_fixed
from workbench.core.value import new
from workbench.nn import Module
from workbench.tensor import Tensor
from workbench.tensor.interchange import plain

__all__ = [
    "Answer",
    "Attribution",
    "ConvergenceWarning",
    "GradientAttribution",
    "InterruptedWarning",
    "PerturbationAttribution",
    "check_finite",
    "named",
    "tolerance_of",
    "total_of",
    "warn_of",
]

Array = np.ndarray[Any, Any]

TOLERANCE = 0.05
"""Share of the output's change that a delta may be, as the authors of Integrated Gradients advise."""

LEAST_TOLERANCE = 1e-3
"""A delta below this is rounding, however small the change."""


class ConvergenceWarning(UserWarning):
    """Attributions do not add up to what they explain."""


class InterruptedWarning(UserWarning):
    """A run was ended before its last row; the attributions are of what was done until then."""


@dataclass(frozen=True)
class Answer:
    """Attributions as arrays, and what is known of how good they are."""

    attributions: list[Array]
    """One for each input, of its shape and type; of a layer one for each of its tensors."""
    scores: Array | None = None
    """The model's whole output for the inputs, where the method computed it."""
    delta: Array | None = None
    """float64 [N]: Σ attributions − (F(input) − F(baseline)); None where the method promises no sum."""
    tolerance: Array | None = None
    """float64 [N]: a delta beyond this is worth a warning."""
    interrupted: bool = False
    """Whether the run was ended before its last row."""
    progress: float = 1.0
    """Which share of the rows went through the model."""
    names: tuple[tuple[str | None, ...], ...] | None = None
    """Names of the dims of each attribution where they are not those of the inputs: those of a layer."""
    groups: tuple[int, ...] | None = None
    """For a list of layers, how many of the attributions are of each; None for one layer or the inputs."""
    draw_deltas: Array | None = None
    """float64 [N · draws]: the delta of each draw, sample by sample, where a method draws."""
    doubts: tuple[str, ...] = ()
    """What else a reader has to know, see `workbench.attribution.doubts`."""
    absorbed: Absorbed | None = None
    """What took relevance on its way, where that is shared out call by call."""


class Attribution:
    """A way to say how much each value of an input contributed to one number of a model's output.

    `forward_func` is a module, or any function from inputs [N, …] to outputs [N, …]. A module runs in evaluation mode,
    so that no sample's attributions depend on the others; each part's mode is put back, and a `TrainingModeWarning`
    says where one was in training. Parameters collect no gradients.

    A method has a `name`, `attribute` with the arguments of its equation, which makes a question of them
    (`workbench.attribution.arguments.ask`), and `_compute`, which answers it: its rows go through the model by an
    `Evaluation`, which `evaluation` makes. One that answers in `attribute` by itself needs no more than that, and is
    known to views and boards by nothing else.

    Raises:
        TypeError: `forward_func` cannot be called, or is a module of another library.
    """

    name: ClassVar[str]
    """What the method is called."""

    takes_any_type: ClassVar[bool] = False
    """Whether inputs may be whole numbers: the method needs no gradients for them."""

    draws_baselines: ClassVar[bool] = False
    """Whether baselines are a distribution to draw from, any number of samples."""

    multiplies_by_inputs: bool = False
    """Whether attributions are in units of the output (a share of it), not of its gradient."""

    def __init__(self, forward_func: Callable[..., Any]) -> None:
        check_model(type(self).__name__, forward_func)
        self.forward_func = forward_func
        self._running: list[Evaluation] = []
        self._ending = False
        self.interrupted = False
        """Whether the last run was ended before its last row."""
        self.progress = 1.0
        """Which share of its rows the last run has done."""

    @property
    def forward(self) -> Callable[..., Any]:
        """The model: what `forward_func` is called here."""
        return self.forward_func

    def on(self, forward_func: Callable[..., Any]) -> Self:
        """Return the same method, set as this one is, of another model.

        >>> import workbench as wb
        >>> method = wb.attribution.Saliency(lambda x: x.sum(1)).on(lambda x: 2 * x.sum(1))
        >>> method.attribute(wb.ones(1, 2)).tolist()
        [[2.0, 2.0]]
        """
        other = copy.copy(self)
        other.forward_func = forward_func
        other._running = []
        return other

    def attribute(self, inputs: Any, *arguments: Any, **settings: Any) -> Any:
        """Return the attributions of `inputs`; each method has its own arguments."""
        raise TypeError(f"{type(self).__name__} has no attribute() of its own")

    def answer(self, question: Question, **settings: Any) -> Answer:
        """Return the answer to a checked question.

        Raises:
            ValueError: inputs or baselines hold NaN or infinite values, or gradients came out so.
        """
        check_finite(question)
        self.interrupted = self._ending = False
        try:
            # What is not finite is said below, of the attributions.
            # A module that is asked itself has its layers in it.
            others = [] if isinstance(self.forward, Module) else self._named_modules()
            with (
                np.errstate(invalid="ignore", over="ignore"),
                evaluating(self.forward, others),
            ):
                found = self._compute(question, **settings)
                doubts = self._doubts(question, found)
            self.interrupted, self.progress = found.interrupted, found.progress
            return replace(found, doubts=doubts) if doubts else found
        finally:
            self._running.clear()

    def evaluation(
        self,
        question: Question,
        memory: int | str | None = None,
        internal_batch_size: int | None = None,
        show_progress: bool = False,
        forward: Callable[..., Any] | None = None,
    ) -> Evaluation:
        """Return how the rows of a question go through the model (or another `forward`), which `stop` ends."""
        made = Evaluation(question, forward or self.forward, memory, internal_batch_size, show_progress)
        if self._ending:
            # It was asked for while something was still being made ready.
            made.stop()
        self._running.append(made)
        return made

    @property
    def rows(self) -> tuple[int, int]:
        """How many rows went through the model in what runs, and how many were to go."""
        running = list(self._running)
        return sum(one.done for one in running), sum(one.planned for one in running)

    def stop(self) -> None:
        """End what runs after its current batch, from another thread; the run answers with what it has so far."""
        self._ending = True
        for one in list(self._running):
            one.stop()

    def forecast(self, *arguments: Any, **settings: Any) -> Forecast:
        """Return what `attribute` with the same arguments would take, from a few of its rows.

        >>> import workbench as wb
        >>> method = wb.attribution.IntegratedGradients(lambda x: (x * x).sum(1))
        >>> method.forecast(wb.ones(2, 3), n_steps=20).rows
        44
        """
        with forecasting() as planned, warnings.catch_warnings():
            # Of a few rows nobody reads the attributions.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", DoubtfulWarning)
            self.attribute(*arguments, **settings)
        return Forecast(
            sum(one.rows for one in planned),
            max((one.batch for one in planned), default=0),
            sum(one.seconds for one in planned),
            max((one.bytes for one in planned), default=0),
        )

    @classmethod
    def get_name(cls) -> str:
        """Return what the method is called.

        >>> import workbench as wb
        >>> wb.attribution.IntegratedGradients.get_name()
        'Integrated Gradients'
        """
        return getattr(cls, "name", cls.__name__)

    def has_convergence_delta(self) -> bool:
        """Return whether the method promises that attributions add up, and says by how much they do not."""
        return False

    def compute_convergence_delta(
        self,
        attributions: Any,
        start_point: Any,
        end_point: Any,
        target: Any = None,
        additional_forward_args: Any = None,
    ) -> Tensor:
        """Return by how much attributions do not add up, ``Σ attributions − (F(end) − F(start))``, float64 [N].

        Raises:
            DimensionError: there are not attributions for each sample, or start and end do not go together.
        """
        question = ask(
            type(self).__name__, end_point, start_point, target, additional_forward_args, any_type=True
        )
        parts = attributions if isinstance(attributions, tuple) else (attributions,)
        sums = total_of([one.detach().numpy(force=True) for one in parts])
        with evaluating(self.forward):
            evaluation = Evaluation(question, self.forward)
            change = evaluation.at_inputs()[0].astype(np.float64) - evaluation.at_baselines()
        return new(sums - change)

    def respond(
        self, question: Question, answer: Answer, over: Over = None, return_delta: bool = False
    ) -> Any:
        """Return an answer as `attribute` does: tensors with names, summed `over` dims, with the delta if asked.

        Warns of a delta over its tolerance, unless the delta is returned, and of an interruption.
        """
        found = named(question, answer, over)
        warn_of(type(self), answer, delta=not return_delta)
        if not return_delta:
            return found
        delta = answer.delta if answer.draw_deltas is None else answer.draw_deltas
        assert delta is not None
        return found, new(delta)

    def _named_modules(self) -> list[Module]:
        """Return modules that the model runs whether or not its code names them: those whose layers are explained."""
        return []

    def _doubts(self, question: Question, answer: Answer) -> tuple[str, ...]:
        """Return what a reader of an answer has to know."""
        words = not_finite(answer.attributions)
        return (words,) if words else ()

    def _compute(self, question: Question, **settings: Any) -> Answer:
        """Return the answer to a checked question; the model is in evaluation mode."""
        raise TypeError(
            f"{type(self).__name__} answers in attribute() alone, it has no _compute() to be asked by"
        )


class GradientAttribution(Attribution):
    """A method that reads gradients: inputs are floating point, and the model must be differentiable.

    Nothing is asked of parameters: a compiled model (`wb.compile`) computes gradients as one program, in which they are
    constants.
    """

    reads_slopes: ClassVar[bool] = True
    """Whether it asks for slopes and for nothing else: where there is none it has nothing to say."""

    def answer(self, question: Question, **settings: Any) -> Answer:
        """Return the answer to a checked question; raises as `Attribution.answer` does."""
        with parameters_fixed():
            return super().answer(question, **settings)

    def _doubts(self, question: Question, answer: Answer) -> tuple[str, ...]:
        doubts = super()._doubts(question, answer)
        # Of a layer or a neuron another way is asked about; an end leaves rows at zero that were not asked.
        if not self.reads_slopes or answer.names is not None or answer.interrupted or hasattr(self, "layer"):
            return doubts
        if len(answer.attributions[0]) == 1 and answer.attributions[0].any():
            return doubts  # of one sample, which has a slope
        nothing = ~np.logical_or.reduce(
            [one.reshape(len(one), -1).any(axis=1) for one in answer.attributions]
        )
        if nothing.any() and (words := flat_at(self.forward, question, int(nothing.argmax()))):
            return (*doubts, words)
        return doubts


class PerturbationAttribution(Attribution):
    """A method that asks for outputs alone: inputs are of any numbers, and nothing need be differentiable."""

    takes_any_type = True
    multiplies_by_inputs = True


def named(question: Question, answer: Answer, over: Over = None) -> Any:
    """Return the attributions of an answer as tensors with names, summed `over` dims: of the inputs, or of a layer."""
    if answer.names is None:
        return question.named(answer.attributions, over)
    pairs = zip(answer.attributions, answer.names, strict=True)
    tensors = summed([new(array, names) for array, names in pairs], over, question.method)
    return in_groups(tensors, answer.groups)


def in_groups(tensors: tuple[Tensor, ...], groups: tuple[int, ...] | None) -> Any:
    """Return the tensors of a layer: the only one, or a tuple; of several layers a list of these."""
    if groups is None:
        return tensors[0] if len(tensors) == 1 else tensors
    rest = iter(tensors)
    return [in_groups(tuple(next(rest) for _ in range(count)), None) for count in groups]


def tolerance_of(question: Question, after: Array, before: Array, parts: list[Array]) -> Array:
    """Return how large a delta may be before it is worth a warning, float64 [N].

    That is a share of the change between the outputs `before` and `after`, and what rounds them and the attributions.
    """
    after, before, kind = after.astype(np.float64), before.astype(np.float64), after.dtype
    types = [one.payload.dtype for one in question.inputs]
    size = np.abs(after) + np.abs(before) + total_of([np.abs(one) for one in parts])
    share = np.maximum(TOLERANCE * np.abs(after - before), LEAST_TOLERANCE)
    return np.asarray(share + rounding_of(size, kind, *types))


def warn_of(kind: type[Attribution], answer: Answer, delta: bool = True) -> None:
    """Warn, at the line that asked, of an answer that is not whole or whose attributions do not add up."""
    method = kind.__name__
    if answer.interrupted:
        warnings.warn(
            f"{method} was stopped after {answer.progress:.0%} of its rows; the attributions are of those alone",
            InterruptedWarning,
            stacklevel=outside(),
        )
        return  # the delta is that of what is missing
    for doubt in answer.doubts:
        warnings.warn(f"{method}: {doubt}", DoubtfulWarning, stacklevel=outside())
    if delta and answer.absorbed is not None and (lost := answer.absorbed.trouble()):
        warnings.warn(f"{method}: {lost}", ConvergenceWarning, stacklevel=outside())
    if not delta or answer.delta is None or answer.tolerance is None:
        return
    known = np.isfinite(answer.delta)
    if not known.all():
        warnings.warn(
            f"{method}: nobody can tell whether the attributions of {(~known).sum()} of {len(known)} samples add up: "
            "their outputs are NaN or infinite; look at what the model gives for the inputs and for the baselines",
            ConvergenceWarning,
            stacklevel=outside(),
        )
    sizes = np.abs(answer.delta)[known]
    over = int((sizes > np.broadcast_to(answer.tolerance, known.shape)[known]).sum())
    if over:
        warnings.warn(
            f"{method}: the attributions of {over} of {len(known)} samples do not add up to the output's "
            f"change, off by up to {sizes.max():.3g}" + ("" if answer.doubts else _nearer(kind)),
            # What has no slope, or is not finite, no steps bring together.
            ConvergenceWarning,
            stacklevel=outside(),
        )


def _nearer(kind: type[Attribution]) -> str:
    """Return what brings the attributions of a method nearer to a sum; nothing where it has no steps."""
    takes = inspect.signature(kind.attribute).parameters
    return "; take more steps, e.g. n_steps=200" if "n_steps" in takes else ""


def check_finite(question: Question) -> None:
    """Raise ValueError, with counts, where inputs or baselines hold NaN or infinite values."""
    for position, array in enumerate([*map(plain, question.inputs), *question.baselines]):
        if not is_floating(array.dtype):
            continue
        is_finite = np.isfinite(array)
        if not is_finite.all():
            kind = "input" if position < len(question.inputs) else "baseline"
            finite = int(is_finite.sum())
            nan = int(np.isnan(array).sum())
            raise ValueError(
                f"{question.method}: {kind} {position % len(question.inputs)} holds {nan:,} NaN and "
                f"{array.size - finite - nan:,} infinite of {array.size:,} values, and attributions of those mean "
                "nothing; replace them first"
            )

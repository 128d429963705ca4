"""Sensitivity: how much an explanation changes when the input hardly does."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.attribution.arguments import Question, ask
from workbench.attribution.base import check_finite
from workbench.attribution.checks import check_count
from workbench.attribution.evaluation import MOST_ROWS
from workbench.attribution.metrics.scoring import per_sample, repeated
from workbench.base.errors import DimensionError
from workbench.base.foreign import told
from workbench.base.random import default_generator
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["default_perturb_func", "sensitivity_max"]

Array = np.ndarray[Any, Any]
NAME = "sensitivity_max"


def default_perturb_func(inputs: Any, perturb_radius: float = 0.02) -> tuple[Tensor, ...]:
    """Return inputs to which even draws from ``[−perturb_radius, perturb_radius)`` were added.

    >>> import workbench as wb
    >>> default_perturb_func(wb.zeros(2, 3), 0.1)[0].abs().max().item() <= 0.1
    True
    """
    values = inputs if isinstance(inputs, tuple) else (inputs,)
    return tuple(
        new(
            (
                one.payload + default_generator.numpy.uniform(-perturb_radius, perturb_radius, one.shape)
            ).astype(one.payload.dtype),
            one._names,
        )
        for one in values
    )


def sensitivity_max(
    explanation_func: Callable[..., Any],
    inputs: Any,
    perturb_func: Callable[..., Any] = default_perturb_func,
    perturb_radius: float = 0.02,
    n_perturb_samples: int = 10,
    norm_ord: str | float = "fro",
    max_examples_per_batch: int | None = None,
    **kwargs: Any,
) -> Tensor:
    """Return the greatest relative change of an explanation near its input, [N]; lower is better.

    ``max_x' ‖a(x') − a(x)‖ / ‖a(x)‖`` over perturbed inputs x', ‖a(x)‖ taken as 1 where it is 0.
    ``explanation_func(inputs, **kwargs)`` returns attributions, such as the `attribute` of a method; `kwargs` that go
    by samples (``target``, ``additional_forward_args``, ``baselines``) are repeated along with these.
    ``perturb_func(inputs, perturb_radius)``, or ``perturb_func(inputs)``, gets each sample several times in a row and
    returns tensors of the same shapes. `norm_ord` is ``"fro"`` or the order of a vector norm.

    At most `max_examples_per_batch` samples are explained at once, but never fewer than there are.

    Raises:
        TypeError, DTypeError, DimensionError: inputs, perturbed inputs or attributions do not go together.
        ValueError: NaN or infinite values, a negative radius, an order that there is not.

    Source: Yeh, Hsieh, Suggala, Inouye, Ravikumar: On the (In)fidelity and Sensitivity of Explanations (2019).

    >>> import workbench as wb
    >>> weights = wb.tensor([3.0, -1.0])
    >>> explain = wb.attribution.Saliency(lambda x: (x * weights).sum(1)).attribute
    >>> sensitivity_max(explain, wb.ones(2, 2)).tolist()
    [0.0, 0.0]
    """
    question = ask(NAME, inputs, any_type=True)
    check_finite(question)
    count = check_count(NAME, "n_perturb_samples", n_perturb_samples)
    if not perturb_radius >= 0 or math.isinf(perturb_radius):
        raise ValueError(f"{NAME}: perturb_radius is a finite number of 0 or more, got {perturb_radius!r}")
    order = _order(norm_ord)
    most = MOST_ROWS
    if max_examples_per_batch is not None:
        most = check_count(NAME, "max_examples_per_batch", max_examples_per_batch)
    # Without the radius where the function takes inputs only.
    bounded = len(inspect.signature(perturb_func).parameters) > 1
    start = _flat(question, explanation_func(question_inputs(question), **kwargs), 1)
    size = np.linalg.norm(start, order, axis=1)
    size[size == 0] = 1
    greatest = np.zeros(question.samples)
    done = 0
    while done < count:
        times = min(max(most // question.samples, 1), count - done)
        values = tuple(repeated(value, times) for value in question.inputs)
        given = values if len(values) > 1 else values[0]
        perturbed = perturb_func(given, perturb_radius) if bounded else perturb_func(given)
        # In the form in which the inputs came, for what goes along with them.
        if question.single and isinstance(perturbed, tuple) and len(perturbed) == 1:
            perturbed = perturbed[0]
        found = explanation_func(perturbed, **_repeated_settings(question, kwargs, times))
        change = _flat(question, found, times) - np.repeat(start, times, axis=0)
        relative = np.linalg.norm(change, order, axis=1).reshape(-1, times) / size[:, None]
        greatest = np.maximum(greatest, relative.max(axis=1))
        done += times
    return per_sample(question, greatest)


def question_inputs(question: Question) -> Any:
    """Return the inputs in the form in which they came."""
    return question.inputs[0] if question.single else question.inputs


def _order(norm_ord: Any) -> float | None:
    if norm_ord == "fro":
        return None
    if isinstance(norm_ord, int | float) and not isinstance(norm_ord, bool):
        return float(norm_ord)
    raise ValueError(
        f'{NAME}: norm_ord is "fro" or the order of a vector norm, such as 1 or inf; got {norm_ord!r}'
    )


def _flat(question: Question, attributions: Any, times: int) -> Array:
    """Return float64 [N · times, F]: the attributions of each row in one line, checked."""
    given = attributions if isinstance(attributions, tuple) else (attributions,)
    rows = question.samples * times
    lines = []
    for one in given:
        if not isinstance(one, Tensor):
            raise TypeError(f"{NAME}: explanation_func returns tensors, it returned {told(one)}")
        if one.ndim == 0 or one.shape[0] != rows:
            raise DimensionError(
                f"explanation_func was given {rows} samples and returned attributions of shape {list(one.shape)}: "
                "their first dim must be the samples",
                op=NAME,
            )
        lines.append(one.detach().numpy(force=True).astype(np.float64).reshape(rows, -1))
    line = np.concatenate(lines, axis=1)
    if not np.isfinite(line).all():
        raise ValueError(
            f"{NAME}: explanation_func returned {int((~np.isfinite(line)).sum()):,} NaN or infinite of "
            f"{line.size:,} values"
        )
    return line


def _repeated_settings(question: Question, settings: dict[str, Any], times: int) -> dict[str, Any]:
    """Return the settings of an explanation for samples that are there `times` times in a row each."""
    changed = dict(settings)
    for name in ("target", "additional_forward_args", "baselines"):
        given = settings.get(name)
        if name == "target" and isinstance(given, list):
            changed[name] = [one for one in given for _ in range(times)]
        elif isinstance(given, tuple) and name != "target":
            changed[name] = tuple(_along(question, one, times) for one in given)
        elif given is not None:
            changed[name] = _along(question, given, times)
    return changed


def _along(question: Question, one: Any, times: int) -> Any:
    goes = isinstance(one, Tensor) and one.ndim > 0 and one.shape[0] == question.samples > 1
    return repeated(one, times) if goes else one

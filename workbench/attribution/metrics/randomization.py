"""Sanity checks by random parameters: an explanation that stays as it was did not look at the model."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.attribution.arguments import Question, ask
from workbench.attribution.metrics.scoring import check_attributions, per_sample
from workbench.base.dims import near_miss
from workbench.base.foreign import told
from workbench.base.random import default_generator, fork_rng, manual_seed
from workbench.core.dispatch import no_grad
from workbench.core.value import new
from workbench.nn import Module
from workbench.tensor import Tensor

__all__ = ["RandomizationCheck", "parameter_randomization"]

Array = np.ndarray[Any, Any]
NAME = "parameter_randomization"


@dataclass(frozen=True, eq=False)
class RandomizationCheck:
    """How alike explanations are before and after parameters became random."""

    layers: tuple[str, ...]
    """Names of the layers, in the order in which they became random."""
    similarities: Tensor
    """float64 [N, layer]: 1 where an explanation stayed as it was, about 0 where nothing is left of it."""

    @property
    def means(self) -> Tensor:
        """float64 [N]: the mean similarity over the layers."""
        return self.similarities.mean(dim=1)


def parameter_randomization(
    model: Module,
    explanation_func: Callable[[Module, Any], Any],
    inputs: Any,
    *,
    order: str = "cascading",
    layers: Sequence[str] | None = None,
    absolute: bool = False,
    seed: int = 0,
) -> RandomizationCheck:
    """Return how alike explanations of `model` and of one with random parameters are, from the output on.

    ``explanation_func(model, inputs)`` returns attributions. If `order` is ``"cascading"``, layers become random one
    after the other and stay so; if ``"independent"``, each alone. Alike is the rank correlation (Spearman) of
    attributions, of ``|attributions|`` if `absolute`: an explanation whose similarity stays high does not depend on
    what the model learned. `layers` are dotted names, all that have parameters of their own unless given. A layer
    becomes random by its ``reset_parameters``, or else by normal draws with the mean and spread of each parameter, from
    `seed`. `model` itself stays as it is: a copy is changed.

    Raises:
        TypeError: `model` is no module, or attributions are not tensors.
        ValueError: an order or a layer that there is not, a model without parameters, NaN or infinite attributions.

    Source: Adebayo, Gilmer, Muelly, Goodfellow, Hardt, Kim: Sanity Checks for Saliency Maps (2018).

    >>> import workbench as wb
    >>> model = wb.nn.Linear(8, 3)
    >>> ignorant = lambda model, x: x * x
    >>> parameter_randomization(model, ignorant, wb.rand(2, 8)).similarities.tolist()
    [[1.0], [1.0]]
    """
    if not isinstance(model, Module):
        raise TypeError(f"{NAME}: model is a module, whose parameters become random; got {told(model)}")
    if order not in ("cascading", "independent"):
        raise ValueError(f'{NAME}: order is "cascading" or "independent", got {order!r}')
    names = _layers(model, layers)
    question = ask(NAME, inputs)
    start = _ranked(question, explanation_func(model, inputs), absolute)
    changed = copy.deepcopy(model)
    similarities = np.empty((question.samples, len(names)))
    # The caller's stream of random numbers goes on as if nothing had been drawn.
    with fork_rng():
        manual_seed(seed)
        for place, name in enumerate(names):
            if order == "independent":
                changed = copy.deepcopy(model)
            _randomize(changed.get_submodule(name))
            found = _ranked(question, explanation_func(changed, inputs), absolute)
            similarities[:, place] = _alike(start, found)
    return RandomizationCheck(tuple(names), per_sample(question, similarities, "layer"))


def _layers(model: Module, layers: Sequence[str] | None) -> list[str]:
    known = [
        name for name, part in model.named_modules() if any(True for _ in part.parameters(recurse=False))
    ]
    if not known:
        raise ValueError(f"{NAME}: the model has no parameters that could become random")
    if layers is None:
        return known[::-1]
    for name in layers:
        if name not in known:
            near = near_miss(name, known)
            hint = f"did you mean {near!r}?" if near else f"there are {', '.join(map(repr, known))}"
            raise ValueError(f"{NAME}: there is no layer {name!r} with parameters of its own; {hint}")
    return list(layers)


def _randomize(layer: Module) -> None:
    reset = getattr(layer, "reset_parameters", None)
    if callable(reset):
        reset()
        return
    with no_grad():
        for parameter in layer.parameters(recurse=False):
            array = parameter.detach().numpy(force=True)
            drawn = default_generator.numpy.normal(array.mean(), array.std() or 1.0, array.shape)
            parameter.copy_(new(drawn.astype(array.dtype), None))


def _ranked(question: Question, attributions: Any, absolute: bool) -> Array:
    """Return float64 [N, F]: the ranks of attributions, equal ones having their mean rank, less their mean."""
    arrays = check_attributions(question, attributions, broadcast=True)
    flat = np.concatenate([one.reshape(question.samples, -1) for one in arrays], axis=1)
    ranks = np.stack([_ranks(row) for row in (np.abs(flat) if absolute else flat)])
    return np.asarray(ranks - ranks.mean(axis=1, keepdims=True))


def _ranks(row: Array) -> Array:
    _, place, counts = np.unique(row, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[place.reshape(-1)])


def _alike(a: Array, b: Array) -> Array:
    product = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    # Explanations that are the same everywhere tell nothing apart: alike if both are.
    flat = product == 0
    both = ~a.any(axis=1) & ~b.any(axis=1)
    return np.where(flat, both.astype(np.float64), (a * b).sum(axis=1) / np.where(flat, 1, product))

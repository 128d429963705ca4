"""Going through a model by rules, and back once: what its inputs, or a layer of it, get of its output."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench import autograd
from workbench.attribution.arguments import Question
from workbench.attribution.layer_values import Taken, run_layers
from workbench.attribution.layers import Layer
from workbench.attribution.model_runs import gradients_for
from workbench.attribution.precision import is_floating
from workbench.attribution.propagation.differences import Explained, Reference
from workbench.attribution.propagation.multipliers import SMALL
from workbench.attribution.propagation.recording import Propagation
from workbench.attribution.propagation.relevance import Relevance
from workbench.attribution.target import select
from workbench.base.errors import AutogradError
from workbench.base.random import get_rng_state, set_rng_state
from workbench.core import scope
from workbench.core.dispatch import enable_grad, interpreting
from workbench.core.value import Value, new
from workbench.nn import Module
from workbench.tensor import Tensor
from workbench.tensor.interchange import plain

__all__ = ["Tapped", "multipliers_of", "relevance_of"]

Array = np.ndarray[Any, Any]
Forward = Callable[..., Any]


class Tapped:
    """A model that keeps what a layer gives in each of its runs: what is explained instead of the inputs."""

    def __init__(self, method: str, forward: Forward, layer: Layer) -> None:
        self.method, self.forward, self.layer = method, forward, layer
        self.runs: list[list[Tensor]] = []
        self.by: Propagation | None = None
        """Who follows what the layer gives: it need not come of inputs that have gradients."""

    def __call__(self, *arguments: Any) -> Any:
        rows = next(one.shape[0] for one in arguments if isinstance(one, Tensor))
        follow = None if self.by is None else self.by.follow
        taken = Taken(self.method, self.layer, rows, gradients=True, follow=follow)
        output = run_layers(self.method, self.forward, arguments, [self.layer], [taken])
        self.runs.append(taken.values)
        return output


def multipliers_of(
    forward: Forward,
    question: Question,
    values: Sequence[Array],
    references: Sequence[Array],
    rows: Array,
    small: float = SMALL,
) -> tuple[list[Array], Array, Array]:
    """Return the multipliers for `values`, and the targets' values [rows] there and at the `references`.

    Of a `Tapped` model they are those for the values of its layer. Differences up to `small` count as none. Row i is
    of sample ``rows[i]``, and all arrays have as many rows. Parameters collect no gradients.

    Raises:
        AutogradError: a call has no rule, the two runs part, or the output does not depend on the inputs.
    """
    explained = Explained(question.method)
    reference = Reference(explained, small)
    with enable_grad():
        # What a model draws is to be the same in both runs.
        drawn = get_rng_state()
        leaves, output = _followed(forward, explained, question, values, rows)
        index = select(output, question.target, rows, question.method)
        after = get_rng_state()
        set_rng_state(drawn)
        _, before = _followed(forward, reference, question, references, rows)
        set_rng_state(after)
        reference.finish()
        wanted = forward.runs[0] if isinstance(forward, Tapped) else leaves
        found = gradients_for(output, index, wanted, question.method)
    here = plain(output)[index]
    return found, here, plain(before)[index]


def relevance_of(
    forward: Forward, question: Question, values: Sequence[Array], rows: Array, run: Relevance
) -> tuple[list[Array], Array]:
    """Return the relevance of `values`, or of the layer of a `Tapped` model, and the targets' values [rows].

    Raises:
        AutogradError: a call has no rule, or no relevance reaches the inputs.
    """
    # Modules say when they are called, those too that no code names: their `rule` is asked.
    with enable_grad(), scope.tracking(Module()):
        leaves, output = _followed(forward, run, question, values, rows)
        index = select(output, question.target, rows, question.method)
        wanted = forward.runs[0] if isinstance(forward, Tapped) else leaves
        picked = plain(output)[index]
        seed = np.zeros(output.shape, output.payload.dtype)
        seed[index] = picked
        nothing = not output.requires_grad
        found = () if nothing else _walked(run, output, wanted, leaves, new(seed, output._names))
    if all(one is None for one in found):
        raise AutogradError(
            f"{question.method}: no relevance reaches the inputs: something on the way takes no part, such as "
            "detach(), argmax(), or a softmax behind which nothing is weighed. Explain the scores before a softmax, "
            'or choose softmax="taylor"'
        )
    arrays = [
        np.zeros_like(leaf.payload) if one is None else plain(one)
        for leaf, one in zip(wanted, found, strict=True)
    ]
    return arrays, picked


def _walked(
    run: Relevance, output: Tensor, wanted: list[Tensor], leaves: list[Tensor], seed: Tensor
) -> list[Any]:
    """Return the relevance of `wanted`, and count what goes past these to the inputs."""
    past = [one for one in leaves if one.requires_grad and all(one is not other for other in wanted)]
    if not past or not _goes_past(run, output, wanted):
        return list(autograd.grad(output, wanted, seed, allow_unused=True))
    arrived: list[Any] = [None] * len(wanted)

    def keep(place: int, relevance: Tensor) -> Tensor:
        arrived[place] = relevance
        return new(np.zeros_like(relevance.payload), relevance._names)  # none of it goes on

    handles = [one.register_hook(functools.partial(keep, place)) for place, one in enumerate(wanted)]
    try:
        found = autograd.grad(output, [*wanted, *past], seed, allow_unused=True)
    finally:
        for handle in handles:
            handle.remove()
    for one in found[len(wanted) :]:
        if one is not None:
            run.count("bypass", float(plain(one).sum(dtype=np.float64)))
    return arrived


def _goes_past(run: Relevance, output: Tensor, wanted: list[Tensor]) -> bool:
    """Say whether a way leads from the output to the inputs that passes by all of `wanted`."""
    seen = {_place(one) for one in wanted}
    pending: list[Any] = [output]
    while pending:
        one = pending.pop()
        if _place(one) in seen or not run.depends(one):
            continue
        if one._grad_fn is None:
            return True
        seen.add(_place(one))
        pending += [other for other in one._grad_fn.inputs or () if isinstance(other, Value)]
    return False


def _place(value: Any) -> tuple[int, int]:
    """Return what tells a value's place on the tape: its call and which output, or its leaf."""
    node = value._grad_fn
    if node is None:
        return id(value if value._leaf is None else value._leaf), -1
    return node.serial, value._output


def _followed(
    forward: Forward, run: Propagation, question: Question, values: Sequence[Array], rows: Array
) -> tuple[list[Tensor], Any]:
    """Return the inputs and what the model gives for them, run by `run`, which follows those that have gradients."""
    leaves = [
        leaf.requires_grad_() if is_floating(leaf.dtype.numpy) else leaf for leaf in question.tensors(values)
    ]
    run.follow([leaf for leaf in leaves if leaf.requires_grad])
    if isinstance(forward, Tapped):
        forward.by = run
    with interpreting(run):
        return leaves, forward(*leaves, *question.arguments(rows))

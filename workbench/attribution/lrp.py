"""Layer-wise relevance propagation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution, total_of
from workbench.attribution.behind import modules_behind
from workbench.attribution.propagation.absorbed import absorbed_of, spread
from workbench.attribution.propagation.composites import composite_of
from workbench.attribution.propagation.lrp_rules import PropagationRule
from workbench.attribution.propagation.relevance import Relevance
from workbench.attribution.propagation.runs import relevance_of
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["LRP"]

Array = np.ndarray[Any, Any]


class LRP(GradientAttribution):
    """How much of the output's value is due to each value of the input: relevance, shared out call by call.

    Each op has its own rule (`workbench.attribution.propagation.relevance`). What weighs and adds up is shared out by
    the rule that a module has as its attribute ``rule``, or else by `composite`: a name ("epsilon", "epsilon_plus",
    "epsilon_alpha2_beta1", "epsilon_gamma_box", with "_flat" for the first layer), one rule for all, or a function
    ``(op, first) -> rule``. With `softmax` "constant" the weights of a softmax take no part; with "taylor" they have
    AttnLRP's rule. Relevance is conserved but for what biases, ε and constants take: the delta is all of it,
    `AttributionResult.absorbed` says what took it, and a rest that nothing took is warned of.

    Raises:
        TypeError: `model` cannot be called, a module has something else than a rule as its ``rule``, or `composite`
            is none.
        ValueError: there is no composite of that name, or `softmax` is another word.

    Source: Bach et al. (2015); Montavon et al. (2019); Achtibat et al. (2024).

    >>> import workbench as wb
    >>> weight = wb.tensor([[1.0, 2.0], [3.0, -1.0]])
    >>> LRP(lambda x: wb.relu(x @ weight)).attribute(wb.tensor([[1.0, 1.0]]), target=0).tolist()
    [[1.0, 3.0]]
    """

    name = "LRP"
    reads_slopes = False
    multiplies_by_inputs = True

    def __init__(
        self, model: Callable[..., Any], *, composite: Any = "epsilon", softmax: str = "constant"
    ) -> None:
        super().__init__(model)
        _check_rules(model, type(self).__name__)
        composite_of(composite, type(self).__name__)  # says what is wrong with it
        self.composite = composite
        if softmax not in ("constant", "taylor"):
            raise ValueError(f'{type(self).__name__}: softmax is "constant" or "taylor", got {softmax!r}')
        self.softmax = softmax

    def attribute(
        self,
        inputs: Any,
        target: Any = None,
        additional_forward_args: Any = None,
        return_convergence_delta: bool = False,
        verbose: bool = False,
        *,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return the relevance, of the inputs' shape and names, and with `return_convergence_delta` the deltas [N].

        The delta is ``F(x) − Σ relevance``, as Captum's: what biases, ε and constants took. `verbose` is Captum's word,
        and says nothing here. Warns with `ConvergenceWarning` where what was taken is not the delta within 1e-4.

        Raises:
            TypeError: inputs are not tensors.
            DTypeError: values that have no gradients, or targets that are not whole numbers.
            DimensionError: a target that does not fit the output.
            ValueError: values that are not finite.
            AutogradError: a call has no rule, or no relevance reaches the inputs.
        """
        question = ask(type(self).__name__, inputs, None, target, additional_forward_args)
        return self.respond(question, self.answer(question, memory=memory), over, return_convergence_delta)

    def has_convergence_delta(self) -> bool:
        """Return that relevance adds up."""
        return True

    def compute_convergence_delta(self, attributions: Any, output: Any) -> Tensor:  # type: ignore[override]
        """Return ``output − Σ attributions``, [N]."""
        parts = attributions if isinstance(attributions, tuple) else (attributions,)
        total = total_of([one.detach().numpy(force=True) for one in parts])
        return new(output.detach().numpy(force=True).reshape(-1).astype(np.float64) - total)

    def _compute(  # type: ignore[override]
        self, question: Question, memory: int | str | None = None
    ) -> Answer:
        evaluation = self.evaluation(question, memory)

        def run(values: Sequence[Array], rows: Array) -> list[Array]:
            relevance = self._run()
            found, picked = relevance_of(self.forward, question, values, rows, relevance)
            return [*found, picked, spread(relevance.taken, len(rows))]

        *found, picked, taken = evaluation.gather(
            evaluation.stream(question.samples, question.part, run, "relevance")
        )
        delta = picked.astype(np.float64) - total_of(found)
        return Answer(found, delta=delta, absorbed=absorbed_of(taken, found, picked), **evaluation.state())

    def _run(self) -> Relevance:
        name = type(self).__name__
        return Relevance(name, composite_of(self.composite, name), self.softmax)


def _check_rules(model: Callable[..., Any], method: str) -> None:
    """Raise TypeError where a module has something as its ``rule`` that would be passed over."""
    for root in modules_behind(model):
        for name, module in root.named_modules():
            rule = getattr(module, "rule", None)
            if rule is not None and not isinstance(rule, PropagationRule):
                raise TypeError(
                    f"{method}: the rule of module {name or 'model'!r} is {rule!r}: it is a rule of relevance, such as "
                    "wb.attribution.EpsilonRule(), or None"
                )

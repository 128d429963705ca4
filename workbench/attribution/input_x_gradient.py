"""Input times gradient."""

from __future__ import annotations

from typing import Any

from workbench.attribution.arguments import Question, ask
from workbench.attribution.base import Answer, Attribution
from workbench.attribution.gradients import gradients_at_inputs

__all__ = ["InputXGradient"]


class InputXGradient(Attribution):
    """What each value of the input would contribute to a linear model of the same gradient, ``x · ∂F/∂x``.

    Source: Shrikumar, Greenside, Kundaje: Not Just a Black Box (2016).

    >>> import workbench as wb
    >>> x = wb.tensor([[1.0, -3.0]], names=("N", "features"))
    >>> InputXGradient(lambda x: (x * x).sum("features")).attribute(x).tolist()
    [[2.0, 18.0]]
    """

    name = "Input × Gradient"

    def attribute(self, inputs: Any, target: Any = None, additional_forward_args: Any = None) -> Any:
        """Return the inputs times the gradients of the target, of the inputs' shape and names."""
        question = ask(type(self).__name__, inputs, None, target, additional_forward_args)
        return question.named(self.answer(question).attributions)

    def _compute(self, question: Question) -> Answer:  # type: ignore[override]
        found = gradients_at_inputs(self.forward, question)
        pairs = zip(question.inputs, found, strict=True)
        return Answer([value.numpy() * gradient for value, gradient in pairs])

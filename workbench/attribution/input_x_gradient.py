"""Input times gradient."""

from __future__ import annotations

from typing import Any

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution

__all__ = ["InputXGradient"]


class InputXGradient(GradientAttribution):
    """What each value of the input would contribute to a linear model of the same gradient, ``x · ∂F/∂x``.

    Source: Shrikumar, Greenside, Kundaje: Not Just a Black Box (2016).

    >>> import workbench as wb
    >>> x = wb.tensor([[1.0, -3.0]], names=("N", "features"))
    >>> InputXGradient(lambda x: (x * x).sum("features")).attribute(x).tolist()
    [[2.0, 18.0]]
    """

    name = "Input × Gradient"
    multiplies_by_inputs = True

    def attribute(
        self,
        inputs: Any,
        target: Any = None,
        additional_forward_args: Any = None,
        *,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return the inputs times the gradients of the target, of the inputs' shape and names."""
        question = ask(type(self).__name__, inputs, None, target, additional_forward_args)
        return self.respond(question, self.answer(question, memory=memory), over)

    def _compute(self, question: Question, memory: int | str | None = None) -> Answer:  # type: ignore[override]
        evaluation = self.evaluation(question, memory)
        pairs = zip(question.inputs, evaluation.input_gradients(), strict=True)
        return Answer([value.numpy() * gradient for value, gradient in pairs], **evaluation.state())

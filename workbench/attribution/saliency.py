"""Saliency: the gradient itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.attribution.arguments import Over, Question, ask
from workbench.attribution.base import Answer, GradientAttribution

__all__ = ["Saliency"]


class Saliency(GradientAttribution):
    """How steeply the output changes with each value of the input, ``|∂F/∂x|``.

    Source: Simonyan, Vedaldi, Zisserman: Deep Inside Convolutional Networks (2013).

    >>> import workbench as wb
    >>> x = wb.tensor([[1.0, -3.0]], names=("N", "features"))
    >>> Saliency(lambda x: (x * x).sum("features")).attribute(x).tolist()
    [[2.0, 6.0]]
    """

    name = "Saliency"

    def attribute(
        self,
        inputs: Any,
        target: Any = None,
        abs: bool = True,
        additional_forward_args: Any = None,
        *,
        over: Over = None,
        memory: int | str | None = None,
    ) -> Any:
        """Return the gradients of the target, of the inputs' shape and names; without their signs if `abs`."""
        question = ask(type(self).__name__, inputs, None, target, additional_forward_args)
        return self.respond(question, self.answer(question, abs=abs, memory=memory), over)

    def _compute(  # type: ignore[override]
        self, question: Question, abs: bool = True, memory: int | str | None = None
    ) -> Answer:
        evaluation = self.evaluation(question, memory)
        found = evaluation.input_gradients()
        return Answer([np.abs(one) for one in found] if abs else found, **evaluation.state())

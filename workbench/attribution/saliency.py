"""Saliency: the gradient itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.attribution.arguments import Question, ask
from workbench.attribution.base import Answer, Attribution
from workbench.attribution.gradients import gradients_at_inputs

__all__ = ["Saliency"]


class Saliency(Attribution):
    """How steeply the output changes with each value of the input, ``|∂F/∂x|``.

    Source: Simonyan, Vedaldi, Zisserman: Deep Inside Convolutional Networks (2013).

    >>> import workbench as wb
    >>> x = wb.tensor([[1.0, -3.0]], names=("N", "features"))
    >>> Saliency(lambda x: (x * x).sum("features")).attribute(x).tolist()
    [[2.0, 6.0]]
    """

    name = "Saliency"

    def attribute(
        self, inputs: Any, target: Any = None, abs: bool = True, additional_forward_args: Any = None
    ) -> Any:
        """Return the gradients of the target, of the inputs' shape and names; without their signs if `abs`."""
        question = ask(type(self).__name__, inputs, None, target, additional_forward_args)
        return question.named(self.answer(question, abs=abs).attributions)

    def _compute(self, question: Question, abs: bool = True) -> Answer:  # type: ignore[override]
        found = gradients_at_inputs(self.forward, question)
        return Answer([np.abs(one) for one in found] if abs else found)

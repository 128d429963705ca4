"""Gradients that go back through what rectifies by another rule: guided backpropagation and deconvolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.attribution.propagation.recording import Back, Propagation
from workbench.core.absent import Absent
from workbench.core.contribution import Contribution
from workbench.core.dispatch import apply
from workbench.core.op import Op
from workbench.core.value import Value, new
from workbench.core.views import asks

__all__ = ["Rectified"]


class Rectified(Propagation):
    """An interpreter under which what rectifies lets positive gradients through.

    Where the value was positive, too, if `guided`; wherever, else. Everything else has its gradient.
    """

    def __init__(self, method: str, guided: bool) -> None:
        super().__init__(method)
        self.guided = guided

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run the call; put it on the tape with the rule if it rectifies."""
        rule = op.contribution
        if (
            isinstance(rule, Absent)
            or rule is None
            or not any(isinstance(one, Value) and asks(one) for one in inputs)
        ):
            return apply(op, *inputs, **params)
        if rule.steps is not None:
            # What rectifies may be inside, as in a recurrent layer.
            return self.composed(op, rule, inputs, params)
        if not rule.rectifies(params):
            return apply(op, *inputs, **params)
        return self.call(op, rule, inputs, params, tuple([isinstance(one, Value) for one in inputs]))

    def call(
        self,
        op: Op,
        rule: Contribution,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        followed: tuple[bool, ...],
        results: Any = None,
    ) -> Any:
        """Put a call that rectifies on the tape."""
        return self.recorded(
            op, inputs, params, followed, lambda outs: self._back(op, inputs, params, followed, outs)
        )

    def _back(
        self,
        op: Op,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        followed: tuple[bool, ...],
        outs: tuple[Any, ...],
    ) -> Back:
        gradient = self.gradient_of(op, inputs, params, followed, outs) if self.guided else None

        def back(*gradients: Any) -> tuple[Any, ...]:
            positive = new(np.maximum(gradients[0].payload, 0))
            return (positive,) if gradient is None else gradient(positive)

        return back

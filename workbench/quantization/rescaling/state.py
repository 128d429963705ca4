"""Numbers of a model's parameters, changed all at once on a copy."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from workbench.base.errors import QuantizationError
from workbench.core import dispatch
from workbench.graph import Graph, trace
from workbench.nn import Module

__all__ = ["Numbers", "traced"]

Array = np.ndarray[Any, Any]


class Numbers(dict[str, Array]):
    """Parameters by their dotted names, in double precision, as they are looked at and changed."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self._tensors = {value.name: tensor for value, tensor in graph.parameters.items()}

    def __missing__(self, name: str) -> Array:
        self[name] = np.array(self._tensors[name].detach().payload, np.float64)
        return self[name]

    def write(self, model: Module) -> None:
        """Put the numbers that were looked at into a model."""
        with dispatch.no_grad():
            state: Any = model.state_dict()
            for name, numbers in self.items():
                state[name].payload[...] = numbers


def traced(model: Module, inputs: tuple[Any, ...]) -> tuple[Any, Graph]:
    """Return a copy of a model, ready to be used, and its graph."""
    if not inputs:
        raise QuantizationError(
            "the model is traced to see which layer reads what: give it an example of its inputs"
        )
    made = copy.deepcopy(model).eval()
    with dispatch.no_grad():
        return made, trace(made, *inputs)

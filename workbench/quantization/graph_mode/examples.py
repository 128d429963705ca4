"""What the values of a graph have with examples while it is still traced: a model may ask whether they have names."""

from __future__ import annotations

from typing import Any

from workbench.core import dispatch
from workbench.fx import Graph, Interpreter, Node
from workbench.fx.interception import TRACING
from workbench.nn import Module
from workbench.tensor import Tensor

__all__ = ["Examples"]


class Examples(Interpreter):
    """Runs a graph on examples as far as it is traced, and goes on from there when it is asked again."""

    def __init__(self, module: Module, graph: Graph, inputs: tuple[Any, ...]) -> None:
        # Nobody knows yet which value is used again.
        super().__init__(module, garbage_collect_values=False, graph=graph)
        # Copies: what a model writes into what it is given is no example's.
        self.args_iter = iter([one.clone() if isinstance(one, Tensor) else one for one in inputs])

    def has_names(self, node: Node) -> bool:
        """Say whether a value has names of dims."""
        modes = [(module, module.training) for module in self.module.modules()]
        # Statistics of batches are not to move by this, and nothing of it is traced.
        before, TRACING.tracer = TRACING.tracer, None
        self.module.eval()
        try:
            with dispatch.no_grad():
                for one in self.graph.nodes:
                    if one not in self.env:
                        self.env[one] = self.run_node(one)
        finally:
            TRACING.tracer = before
            for module, training in modes:
                module.training = training
        value = self.env[node]
        return isinstance(value, Tensor) and value.has_names()

"""One representation of computations: traced, checked, rewritten, printed, read, run and drawn.

>>> import workbench as wb
>>> graph = wb.graph.trace(lambda x: x.relu().sum("C"), wb.ones(N=2, C=3))
>>> graph(wb.ones(N=5, C=3)).shape
(5,)
"""

from __future__ import annotations

from workbench.graph import ir, passes
from workbench.graph.cost import Cost, cost, total
from workbench.graph.interpreter import run
from workbench.graph.ir import Graph, GraphError, Node, Type, Value
from workbench.graph.printing import python_text, text
from workbench.graph.reading import parse
from workbench.graph.spec import check
from workbench.graph.trace import trace

__all__ = [
    "Cost", "Graph", "GraphError", "Node", "Type", "Value", "check", "cost", "parse", "passes", "python_text", "run",
    "text", "total", "trace",
]  # fmt: skip

ir.use(run, text)

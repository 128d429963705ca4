"""One representation of computations: traced, checked, rewritten, printed, read, run and drawn.

>>> import workbench as wb
>>> graph = wb.graph.trace(lambda x: x.relu().sum("C"), wb.ones(N=2, C=3))
>>> graph(wb.ones(N=5, C=3)).shape
(5,)
"""

from __future__ import annotations

from workbench.base.public import words
from workbench.graph import passes, types
from workbench.graph.blocks import (
    NAMED,
    Block,
    Control,
    GraphError,
    HeldFunction,
    LeafModule,
    NamedFunction,
    Node,
    SubGraph,
    Value,
    called,
)
from workbench.graph.cost import Cost, cost, total
from workbench.graph.diffing import GraphDiff, NodeDiff, diff
from workbench.graph.interpreter import run, run_apart
from workbench.graph.ir import RUN, TEXT, Graph
from workbench.graph.memory import MemoryPlan, plan_memory
from workbench.graph.printing import text
from workbench.graph.profiling import Profile, profile
from workbench.graph.python_printing import python_text
from workbench.graph.raising import throw
from workbench.graph.reading import parse
from workbench.graph.rewriter import Rewriter
from workbench.graph.spec import check
from workbench.graph.tracing import trace
from workbench.graph.types import TensorType, Type
from workbench.graph.vocabulary import holds, named, narrow
from workbench.graph.walk import last_uses, users, walk

__all__ = [
    "Block", "Control", "Cost", "Graph", "GraphDiff", "GraphError", "HeldFunction", "LeafModule", "MemoryPlan",
    "NamedFunction", "Node", "NodeDiff", "Profile", "Rewriter", "SubGraph", "TensorType", "Type", "Value", "called",
    "check", "cost", "diff", "holds", "last_uses", "named", "narrow", "parse", "passes", "plan_memory", "profile",
    "python_text", "run", "run_apart", "text", "throw", "total", "trace", "types", "users", "walk",
]  # fmt: skip

NAMED.give(named)
RUN.give(run)
TEXT.give(text)
passes.DIFF.give(diff)

__getattr__, __dir__ = words(__name__, __all__)

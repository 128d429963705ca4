"""PyTorch's words for graphs of programs, `torch.fx`, on the one graph of the house.

>>> import workbench as wb
>>> module = wb.fx.symbolic_trace(lambda x: wb.relu(x) * 2)
>>> print(module.graph)
graph():
    %x : [num_users=1] = placeholder[target=x]
    %relu : [num_users=1] = call_function[target=workbench.nn.functional.relu](args = (%x,), kwargs = {})
    %mul : [num_users=1] = call_function[target=operator.mul](args = (%relu, 2), kwargs = {})
    return mul
>>> module(wb.tensor([1.0, -1.0]))
tensor([2., 0.])
"""

from __future__ import annotations

from workbench.base.public import words
from workbench.fx import (
    graph,
    graph_module,
    immutable_collections,
    interpreter,
    node,
    passes,
    proxy,
    subgraph_rewriter,
)  # fmt: skip
from workbench.fx.graph import CodeGen, Graph, PythonCode
from workbench.fx.graph_module import GraphModule
from workbench.fx.interpreter import Interpreter, Transformer
from workbench.fx.lifting import from_graph
from workbench.fx.node import Node, has_side_effect, map_aggregate, map_arg
from workbench.fx.proxy import (
    Attribute,
    GraphAppendingTracer,
    ParameterProxy,
    Proxy,
    TraceError,
    TracerBase,
)  # fmt: skip
from workbench.fx.subgraph_rewriter import Match, replace_pattern
from workbench.fx.tracer import PH, Tracer, is_fx_tracing, symbolic_trace, wrap

__all__ = [
    "PH", "Attribute", "CodeGen", "Graph", "GraphAppendingTracer", "GraphModule", "Interpreter", "Match", "Node",
    "ParameterProxy", "Proxy", "PythonCode", "TraceError", "Tracer", "TracerBase", "Transformer", "from_graph", "graph",
    "graph_module", "has_side_effect", "immutable_collections", "interpreter", "is_fx_tracing", "map_aggregate",
    "map_arg", "node", "passes", "proxy", "replace_pattern", "subgraph_rewriter", "symbolic_trace", "wrap",
]  # fmt: skip

PYTORCH_FILES = ("_compatibility", "_symbolic_trace", "traceback")
"""Files of PyTorch's that have some of these names: ``python -m workbench.torch`` finds them."""

__getattr__, __dir__ = words(__name__, __all__, files=PYTORCH_FILES)

"""`import torch.fx` in a program for PyTorch: its files, its words, and a trace of the program's own functions."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import torch, torch.fx, torch.fx.node
import torch.fx as fx
from torch import nn
from torch.fx import GraphModule, Interpreter, Proxy, Tracer, replace_pattern, symbolic_trace, wrap
from torch.fx._symbolic_trace import is_fx_tracing
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule as Same
from torch.fx.immutable_collections import immutable_list
from torch.fx.node import Node, map_arg
from torch.fx.passes.shape_prop import ShapeProp, TensorMetadata
from torch.fx.passes.split_module import split_module
from torch.fx.proxy import GraphAppendingTracer, TraceError
from torch.fx.subgraph_rewriter import Match
import torch.fx.subgraph_rewriter

assert Same is GraphModule and torch.fx.Node is Node

@wrap
def helper(x):
    assert not is_fx_tracing()
    return x + 1 if x.sum() > 0 else x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return torch.relu(helper(self.layer(x)))

module = torch.fx.symbolic_trace(Net())
ShapeProp(module).propagate(torch.ones(3, 2))
print([(node.op, node.name) for node in module.graph.nodes])
print(tuple(module.graph.output_node().args[0].meta["tensor_meta"].shape))
try:
    symbolic_trace(lambda x: x if x else -x)
except TraceError as error:
    print("refused")
"""


def test_a_program_with_fx() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "workbench.torch", "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "[('placeholder', 'x'), ('call_module', 'layer'), ('call_function', 'helper'), ('call_function', 'relu'), "
        "('output', 'output')]",
        "(3, 2)",
        "refused",
    ]

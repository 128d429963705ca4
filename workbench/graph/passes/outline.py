"""Make one call of several nodes: of a function that does what they do."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.graph.blocks import GraphError, Node
from workbench.graph.ir import Graph
from workbench.graph.outlining import Outliner
from workbench.graph.walk import walk

__all__ = ["outline"]


def outline(graph: Graph, nodes: Iterable[Node], kind: str) -> Graph:
    """Return a graph in which a call of a function stands for `nodes`, which are that function's.

    `kind` is a word for what was put together; the function is called like it, and has it as its `SubGraph.kind`.
    Nodes that stand between those taken out come before the call, or behind it where they need what it gives.

    Raises `GraphError` where it would not be the same graph: a node in between needs some of them and is needed by
    others, changes memory, or does something that nobody knows; where the nodes stand in different blocks, have blocks
    or do more than compute; where they ask for a size that nothing shows that they are given; and where `kind` is no
    identifier.

    >>> import workbench as wb
    >>> graph = wb.graph.trace(lambda x: (x * 2).exp() + 1, wb.ones(N=3))
    >>> made = outline(graph, graph.nodes[:2], "doubled_exp")
    >>> print(made)
    doubled_exp(%x : f32[N:3]):
      kind 'doubled_exp'
      %mul : f32[N:3] = mul(%x, 2)  # ...
      %exp : f32[N:3] = exp(%mul)  # ...
      return %exp
    <BLANKLINE>
    graph(%x : f32[N:3]):
      %exp : f32[N:3] = @doubled_exp(%x)  # ...
      %add : f32[N:3] = add(%exp, 1)  # ...
      return %add
    >>> str(wb.graph.passes.inline(made)) == str(graph)
    True
    """
    result = graph.copy()
    twins = dict(zip(_nodes(graph), _nodes(result), strict=True))
    # By place and each once: whoever names them may do so in any order.
    wanted = set(nodes)
    for node in wanted:
        if node not in twins:
            raise GraphError(f"{node.name} is no node of the graph")
    Outliner(result).take_out([twins[node] for node in _nodes(graph) if node in wanted], kind)
    return result


def _nodes(graph: Graph) -> list[Node]:
    return [node for function in (*graph.functions.values(), graph) for node, _ in walk(function)]

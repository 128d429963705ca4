"""Make constants of parameters, for a graph that is trained no further."""

from __future__ import annotations

from workbench.core.dispatch import no_grad
from workbench.core.value import labelled, new
from workbench.graph.blocks import GraphError
from workbench.graph.ir import Graph
from workbench.graph.passes.constant_fold import constant_fold

__all__ = ["freeze"]


def freeze(graph: Graph, copies: bool = True) -> Graph:
    """Return a graph whose parameters are constants, copies of what they are now, and what follows from them too.

    Without `copies` they share the memory of the parameters: for who notices that those have changed, and makes the
    graph anew, as a compiled function does. It halves what is held while a network is compiled.

    Raises `GraphError` for a graph that changes its parameters when it runs.

    >>> import workbench as wb
    >>> graph = wb.graph.trace(wb.nn.Linear(2, 3), wb.ones(N=1, in_features=2))
    >>> frozen = freeze(graph)
    >>> len(graph.parameters), len(frozen.parameters), len(frozen.constants)
    (2, 0, 2)
    """
    # What a run writes into its inputs it goes on writing.
    changed = [value.name for value in graph.updates if value in graph.parameters]
    if changed:
        names = ", ".join(changed[:3])
        raise GraphError(
            f"a run of {graph.name} changes {names}: a graph that is trained is not frozen; call model.eval() before "
            "it is traced"
        )
    result = graph.copy()
    with no_grad():
        # With its labels, which are names to an op where its other operand has some.
        result.constants |= {
            # Not by detach(), which says that somebody may write there from now on.
            value: labelled(
                tensor.detach().clone() if copies else new(tensor.payload, tensor._names), tensor._labels
            )
            for value, tensor in result.parameters.items()
        }
    result.parameters = {}
    return constant_fold(result)

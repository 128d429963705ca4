"""What a function did until it failed: its graph as far as it came, and the call that was refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from workbench.base import events
from workbench.graph.blocks import Node
from workbench.graph.ir import Graph
from workbench.graph.tracing import Example, prepared

__all__ = ["Stop", "trace_so_far"]


@dataclass(frozen=True)
class Stop:
    """Where a function ended that was traced."""

    error: Exception
    call: Node | None
    """The call that its op refused, as a node without results; None where the error came from somewhere else."""


def trace_so_far(function: Callable[..., Any], *examples: Example) -> tuple[Graph, Stop | None]:
    """Return the graph of `function` as `trace` does; where it fails, what it had computed by then, and where it ended.

    The graph of a function that failed returns nothing. Examples that are none are refused as by `trace`.

    >>> import workbench as wb
    >>> graph, stop = trace_so_far(lambda x, y: x.exp() + y, wb.ones(N=2), wb.ones(M=3))
    >>> [node.name for node, _ in graph.walk()], stop.call.op.name
    (['exp'], 'add')
    """
    tracer, follow = prepared(function, examples)
    graph = tracer.graph
    tracer.watches = True
    try:
        follow()
    except Exception as error:  # whatever a program may raise: it is returned, not swallowed
        refused, tracer.refused = tracer.refused, None
        # A program may go on after an error; then the last one says nothing of the call that was refused before it.
        call = refused[1] if refused is not None and refused[0] in _chain(error) else None
        graph.outputs, graph.single = (), False
        graph.settle(tracer.sizes)
        return graph, Stop(error, call)
    finally:
        tracer.watches, tracer.refused = False, None
    events.publish(graph)
    return graph, None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and those that it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__

"""A graph as a live view: its nodes with their scopes, named shapes on the edges, and what each node costs."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from workbench.graph import Graph, Profile, trace
from workbench.graph import profile as measure
from workbench.graph.arguments import tensors_in
from workbench.graph.tracing import Example
from workbench.live.messages import GraphState, Head
from workbench.live.model import Snapshot
from workbench.live.renderers import renderers
from workbench.widgets.base import ViewWidget
from workbench.widgets.graph_picture import GraphPicture
from workbench.widgets.graph_types import LONGEST
from workbench.widgets.node_selection import NodeSelectionModel

__all__ = ["GraphModel", "GraphWidget", "graph", "graph_of"]


class GraphModel(NodeSelectionModel):
    """Draws `graph` under the name `title`; call `show` to draw another, or this one after it was changed."""

    view = "graph"

    def __init__(
        self, graph: Graph, title: str = "", source: str = "", profile: Profile | None = None
    ) -> None:
        super().__init__()
        self._title = title
        self._source = source
        self._graph = graph
        self._profile = profile
        self._drawn: GraphPicture | None = None

    @property
    def graph(self) -> Graph:
        """The graph that is drawn."""
        return self._graph

    def show(self, graph: Graph, profile: Profile | None = None) -> None:
        """Draw `graph` from now on, and what a `profile` of it says; a picked node stays if it has one of that name."""
        # Drawn before the lock is taken: it may be large.
        drawn = GraphPicture(graph, profile)
        with self._lock:
            self._graph, self._profile, self._drawn = graph, profile, drawn
            self._selected = self._selected if self._selected in drawn.known else None
        self.changed()

    def snapshot(self) -> Snapshot:
        """Return the whole graph, and which node is picked."""
        drawn = self._draw()
        title = (self._title or drawn.graph.name)[:LONGEST]
        head = Head(title, self._source[:LONGEST], drawn.made, live=False)
        with self._lock:
            selected = self._selected
        return Snapshot(
            GraphState(
                kind="graph",
                head=head,
                nodes=drawn.nodes,
                edges=drawn.edges,
                scopes=drawn.scopes,
                selected=selected,
                values=drawn.values_of(selected),
                wrong="",
                truncated=drawn.missing,
            )
        )

    def _known(self) -> Container[str]:
        return self._draw().known

    def _draw(self) -> GraphPicture:
        with self._lock:
            if self._drawn is None:
                self._drawn = GraphPicture(self._graph, self._profile)
            return self._drawn


class GraphWidget(ViewWidget):
    """A graph in a cell."""

    def __init__(
        self,
        graph: Graph,
        title: str = "",
        source: str = "",
        profile: Profile | None = None,
        **traits: Any,
    ) -> None:
        # Without words of its own it is the picture that panels have of the graph, too.
        model = GraphModel(graph, title, source) if title or source else renderers.model_of(graph)
        if profile is not None and isinstance(model, GraphModel):
            model.show(graph, profile)
        super().__init__(model, **traits)


def graph(
    source: Graph | Callable[..., Any], *examples: Example, title: str = "", profile: bool = False
) -> GraphWidget:
    """Show a graph in this cell: `source` itself, or that of a module or function, traced for inputs like `examples`.

    With `profile` it is run on the examples a few times, node by node: nodes can then be coloured by the time that they
    take, and a picked one shows how its values are spread.

    Raises:
        TypeError: `source` is a model without an example of its inputs, or no graph and nothing that can be traced; or
            a graph is to be measured on sizes, without numbers.
    """
    if not profile:
        return GraphWidget(graph_of(source, examples), title)
    if not examples or any(isinstance(one, Mapping) and not [*tensors_in(one)] for one in examples):
        raise TypeError(
            "a graph is measured by running it, which takes tensors with numbers: "
            "wb.widgets.graph(model, batch, profile=True)"
        )
    traced = source if isinstance(source, Graph) else graph_of(source, examples)
    return GraphWidget(traced, title, profile=measure(traced, *examples))


def graph_of(source: Graph | Callable[..., Any], examples: Sequence[Example]) -> Graph:
    """Return `source` where it is a graph, else the graph that tracing it gives.

    Raises:
        TypeError: there is nothing to trace, or nothing to trace it with.
    """
    if isinstance(source, Graph):
        if examples:
            raise TypeError("this is a graph already, which is drawn as it is: leave the examples out")
        return source
    if not callable(source):
        raise TypeError(
            f"a {type(source).__name__} is neither a graph nor something to trace; "
            "give a model and an example of its inputs: wb.widgets.graph(model, batch)"
        )
    if not examples:
        raise TypeError(
            "a model is traced with an example of its inputs: wb.widgets.graph(model, batch); "
            "sizes will do: wb.widgets.graph(model, {'N': 8, 'C': 3})"
        )
    return trace(source, *examples)


renderers.register(Graph, GraphModel)

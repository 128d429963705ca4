"""A graph as a live view: its nodes with their scopes, named shapes on the edges, and what each node costs."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.graph import Graph, Profile, trace
from workbench.graph import profile as measure
from workbench.graph.arguments import tensors_in
from workbench.graph.stopping import Stop, trace_so_far
from workbench.graph.tracing import Example
from workbench.live.messages import GraphState, Head, SelectEvent
from workbench.live.model import Snapshot
from workbench.live.renderers import renderers
from workbench.widgets.base import ViewWidget
from workbench.widgets.graph_picture import LONGEST_ERROR, GraphPicture
from workbench.widgets.graph_svg import save_picture
from workbench.widgets.graph_types import LONGEST
from workbench.widgets.node_selection import NodeSelectionModel, node_at, node_places

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
        self._wrong = ""
        self._drawn: GraphPicture | None = None

    @property
    def graph(self) -> Graph:
        """The graph that is drawn."""
        return self._graph

    def show_stopped(self, graph: Graph, stop: Stop) -> None:
        """Draw `graph` as far as a function came that failed, with the call that was refused, which is picked."""
        drawn = GraphPicture(graph, None, stop)
        with self._lock:
            self._graph, self._profile, self._drawn = graph, None, drawn
            # In words: the error itself would keep all that the function had in its hands.
            self._wrong = f"{type(stop.error).__name__}: {stop.error}"[:LONGEST_ERROR]
            self._selected = drawn.ended
        self.changed()

    def show(self, graph: Graph, profile: Profile | None = None) -> None:
        """Draw `graph` from now on, and what a `profile` of it says; a picked node stays if it has one of that name."""
        # Drawn before the lock is taken: it may be large.
        drawn = GraphPicture(graph, profile)
        with self._lock:
            self._graph, self._profile, self._drawn, self._wrong = graph, profile, drawn, ""
            self._selected = self._selected if self._selected in drawn.known else None
        self.changed()

    def snapshot(self) -> Snapshot:
        """Return the whole graph, and which node is picked."""
        drawn = self._draw()
        title = (self._title or drawn.graph.name)[:LONGEST]
        head = Head(title, self._source[:LONGEST], drawn.made, live=False)
        with self._lock:
            selected, wrong = self._selected, self._wrong
        return Snapshot(
            GraphState(
                kind="graph",
                head=head,
                nodes=drawn.nodes,
                edges=drawn.edges,
                scopes=drawn.scopes,
                selected=selected,
                values=drawn.values_of(selected),
                wrong=wrong,
                truncated=drawn.missing,
            ),
            lasting=("nodes", "edges", "scopes"),
        )

    @property
    def picture(self) -> GraphPicture:
        """What is drawn of the graph."""
        return self._draw()

    def places_of(self, identity: str) -> tuple[str, ...]:
        """Return the name of a node, and the paths of the modules that it lies in, the innermost first."""
        return node_places(self._graph.nodes, identity)

    def show_place(self, places: tuple[str, ...]) -> None:
        """Pick a node that lies at one of `places`: the one of that name, else the last of that module."""
        self.handle(SelectEvent("select", node_at(self._graph.nodes, places)))

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
        assert isinstance(model, GraphModel)  # registered below
        if profile is not None:
            model.show(graph, profile)
        super().__init__(model, **traits)

    @property
    def model(self) -> GraphModel:
        """The view model that this widget draws."""
        assert isinstance(self._model, GraphModel)
        return self._model

    def save(self, path: str | Path) -> None:
        """Write the whole graph to an SVG file, in which text is text.

        Raises:
            ValueError: the file is to be of another kind; the view's menu exports PNG, too.
        """
        save_picture(self.model.picture, path)


def graph(
    source: Graph | Callable[..., Any], *examples: Example, title: str = "", profile: bool = False
) -> GraphWidget:
    """Show a graph in this cell: `source` itself, or that of a module or function, traced for inputs like `examples`.

    With `profile` it is run on the examples a few times, node by node: nodes can then be coloured by the time that they
    take, and a picked one shows how its values are spread.

    A model or function that fails is shown as far as it came, with the call that was refused and the error.

    Raises:
        TypeError: `source` is a model without an example of its inputs, or no graph and nothing that can be traced; or
            a graph is to be measured on sizes, without numbers.
    """
    if not profile:
        _check(source, examples)
        if isinstance(source, Graph):
            return GraphWidget(source, title)
        traced, stop = trace_so_far(source, *examples)
        if stop is None:
            return GraphWidget(traced, title)
        widget = GraphWidget(traced, title or traced.name)
        widget.model.show_stopped(traced, stop)
        widget.draw()
        return widget
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
    _check(source, examples)
    return source if isinstance(source, Graph) else trace(source, *examples)


def _check(source: object, examples: Sequence[Example]) -> None:
    """Refuse what is neither a graph nor can be traced to one."""
    if isinstance(source, Graph):
        if examples:
            raise TypeError("this is a graph already, which is drawn as it is: leave the examples out")
        return
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


renderers.register(Graph, GraphModel)

"""Dims flowing through the ops of a graph, one row an op: what enters, what ends there, what comes out."""

from __future__ import annotations

import time
from collections.abc import Callable, Container
from typing import Any

from workbench.base.dims import Dims
from workbench.base.size_expressions import hint_of
from workbench.graph import Graph, Node, TensorType, Value, called
from workbench.graph.blocks import filled
from workbench.graph.tracing import Example
from workbench.live.messages import FlowOperand, FlowRow, FlowState, Head
from workbench.live.model import Snapshot
from workbench.tensor import Tensor
from workbench.widgets.base import ViewWidget
from workbench.widgets.graph import graph_of
from workbench.widgets.graph_types import LONGEST, dims_of_type, short_name
from workbench.widgets.node_selection import NodeSelectionModel
from workbench.widgets.tensor import TensorWidget

__all__ = ["MOST_ROWS", "FlowModel", "FlowWidget", "flow", "shapes"]

MOST_ROWS = 2000
"""A longer graph is drawn up to here, and the title says so."""


class FlowModel(NodeSelectionModel):
    """Draws how dims flow through `graph` under the name `title`."""

    view = "shapes"

    def __init__(self, graph: Graph, title: str = "") -> None:
        super().__init__()
        self._title = (title or graph.name)[:LONGEST]
        nodes = [node for node, _ in graph.walk()]
        if len(nodes) > MOST_ROWS:
            self._title += f": the first {MOST_ROWS:,} of {len(nodes):,} ops"
        self._made = time.time()
        self._rows = [_row(node) for node in nodes[:MOST_ROWS]]
        self._ids = frozenset(row.node for row in self._rows)

    def snapshot(self) -> Snapshot:
        """Return every row, and which is picked."""
        return Snapshot(
            FlowState("flow", Head(self._title, "", self._made, False), self._rows, self.selected)
        )

    def _known(self) -> Container[str]:
        return self._ids


def _row(node: Node) -> FlowRow:
    return FlowRow(
        node=node.name,
        op=called(node.callee)[:LONGEST],
        scope=".".join(node.scope),
        source=node.source,
        inputs=[_operand(node, i, one) for i, one in enumerate(node.inputs) if isinstance(one, Value)],
        output=_flow_operand(node.outputs[0]),
    )


def _flow_operand(
    value: Value,
    contracted: list[int] | None = None,
    reduced: list[int] | None = None,
    broadcast: list[int] | None = None,
    becomes: list[int | None] | None = None,
) -> FlowOperand:
    return FlowOperand(
        label=value.name,
        dtype=short_name(value.type),
        dims=dims_of_type(value.type),
        contracted=contracted or [],
        reduced=reduced or [],
        broadcast=broadcast or [],
        becomes=becomes or [],
    )


def _operand(node: Node, position: int, value: Value) -> FlowOperand:
    """One tensor of a row, with the dims that end in the op and those that are stretched.

    What ends, or is left with one entry, is contracted where several tensors meet, and reduced where there is one. An
    op that only moves values ends nothing.
    """
    if not _followed(node):
        return _flow_operand(value)
    own, out = value.tensor.dims, node.outputs[0].tensor.dims
    lives = _destinations(node, position)
    # A view moves values about: a dim that is not found again has not ended there.
    ends = [
        i
        for i, there in enumerate(lives)
        if not _moves(node) and (there is None or own.sizes[i] != 1 == out.sizes[there])
    ]
    stretched = [
        i
        for i, there in enumerate(lives)
        if there is not None
        and own.sizes[i] == 1
        and out.sizes[there] != 1
        and _stretches(node, position, i, there)
    ]
    # What ends is contracted where there are several operands, and reduced where there is one.
    joint = len(node.values) > 1
    return _flow_operand(value, ends if joint else [], [] if joint else ends, stretched, lives)


def _followed(node: Node) -> bool:
    """Say whether the rules of an op say what becomes of dims: all that goes in and comes out are tensors."""
    values = (one for one in (*node.inputs, *node.outputs) if isinstance(one, Value))
    return node.op is not None and all(isinstance(one.type, TensorType) for one in values)


def _moves(node: Node) -> bool:
    return node.op is not None and "view" in node.op.properties


def _destinations(node: Node, position: int) -> list[int | None]:
    """Return where in the output each dim of one operand lives on; None for one that ends in the op.

    The op's own dims rule is asked: the operand's dims get names that nothing else has, and those that come out
    live on. So does a dim of which one entry more means one entry more in the output.
    """
    dims = node.inputs[position].tensor.dims
    marks = tuple(f"dim_{i}" for i in range(len(dims.sizes)))
    # Without names, so that no rule finds fault with those of the others.
    operands = [_bare(one) for one in node.inputs]
    operands[position] = Dims(marks, dims.sizes)
    found = _ask(node, operands)
    names = () if found is None else found.names
    return [
        names.index(mark) if mark in names else _by_size(node, position, i) for i, mark in enumerate(marks)
    ]


def _by_size(node: Node, position: int, dim: int) -> int | None:
    """Return the dim of the output that grows with one of an operand.

    With it grow those of its name and size in the other operands, and lists of its size, such as a bias.
    """
    grows, out = node.inputs[position].tensor.dims, node.outputs[0].tensor.dims
    name, size = grows.labels[dim], grows.sizes[dim]
    operands = []
    for i, one in enumerate(node.inputs):
        bare = _bare(one)
        for j, own in enumerate(bare.sizes):
            named = name is not None and one.tensor.dims.labels[j] == name
            # Of the operand itself only this dim; of others those that must grow with it.
            along = j == dim if i == position else named or len(bare.sizes) == 1
            if along and own == size:
                bare = _sized(bare, j, size + 1)
        operands.append(bare)
    found = _ask(node, operands)
    if found is None:
        return None
    grown = [
        i for i, (a, b) in enumerate(zip(out.sizes, found.sizes, strict=False)) if (a, b) == (size, size + 1)
    ]
    return grown[0] if grown else None


def _stretches(node: Node, position: int, dim: int, there: int) -> bool:
    """Say whether a dim of size 1 stands for a longer one: the op gives the same if it is that long."""
    out = node.outputs[0].tensor.dims
    operands = [_bare(one) for one in node.inputs]
    operands[position] = _sized(operands[position], dim, out.sizes[there])
    found = _ask(node, operands)
    return found is not None and found.sizes == out.sizes


def _ask(node: Node, operands: list[Dims]) -> Dims | None:
    """Return what the op's dims rule gives for other operands; None where it refuses them."""
    try:
        # What is computed only when the graph runs counts as 0 here.
        found: Any = node.callee.dims(*operands, **filled(node.params, lambda value: 0, hint_of))
    # A rule refuses sizes in whatever way its op does.
    except (TypeError, ValueError, LookupError, RuntimeError):
        return None
    dims: Dims = found if node.callee.outputs == 1 else found[0]
    return dims


def _bare(one: Any) -> Dims:
    """Return the dims of an operand without names."""
    return (
        Dims((None,) * len(one.tensor.dims.sizes), one.tensor.dims.sizes)
        if isinstance(one, Value)
        else Dims((), ())
    )


def _sized(dims: Dims, dim: int, size: int) -> Dims:
    return Dims(dims.names, (*dims.sizes[:dim], size, *dims.sizes[dim + 1 :]))


class FlowWidget(ViewWidget):
    """The flow of dims through a graph, in a cell."""

    def __init__(self, graph: Graph, title: str = "", **traits: Any) -> None:
        super().__init__(FlowModel(graph, title), **traits)


def flow(source: Graph | Callable[..., Any], *examples: Example, title: str = "") -> FlowWidget:
    """Show in this cell how dims flow through a graph, or through a model traced for inputs like `examples`."""
    return FlowWidget(graph_of(source, examples), title)


def shapes(source: Any, *examples: Example, title: str = "") -> ViewWidget:
    """Show the shapes of `source` in this cell: a tensor with its picture, or how dims flow through a graph or model.

    Raises:
        TypeError: `source` is neither, or a model without an example of its inputs.
    """
    if isinstance(source, Tensor):
        if examples:
            raise TypeError("a tensor is shown by itself: leave the examples out")
        return TensorWidget(source, title or "tensor")
    return flow(source, *examples, title=title)

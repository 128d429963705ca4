"""`split_module`: one module of several, each with a part of the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import getitem as _getitem
from typing import Any

from workbench.base.public import words
from workbench.fx.checks import at
from workbench.fx.graph import Graph
from workbench.fx.graph_module import GraphModule
from workbench.fx.node import CALLS, Node, map_arg
from workbench.nn import Module

__all__ = ["split_module"]


@dataclass(eq=False)
class _Part:
    """A part: its nodes in order, what it is given, and what others read of it."""

    name: str
    nodes: list[Node] = field(default_factory=list)
    inputs: dict[Node, None] = field(default_factory=dict)
    outputs: dict[Node, None] = field(default_factory=dict)
    after: dict[str, None] = field(default_factory=dict)
    """The parts that it reads from."""


def split_module(
    m: GraphModule,
    root_m: Module,
    split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
) -> GraphModule:
    """Return a module that calls submodules ``submod_…``: a node is in that which `split_callback` names for it.

    `qualname_map` gets, for what submodules hold, the paths in `m`. With `keep_original_order` parts run in the order
    of their first nodes, else each behind those that it reads. Raises RuntimeError where parts read one another in a
    circle.

    >>> import workbench as wb
    >>> module = wb.fx.symbolic_trace(lambda x: (x + 1).relu() * 2)
    >>> split = wb.fx.passes.split_module.split_module(module, module, lambda node: int(node.name == "mul"))
    >>> print(split.code.strip())
    def forward(self, x):
        submod_0 = self.submod_0(x);  x = None
        submod_1 = self.submod_1(submod_0);  submod_0 = None
        return submod_1
    """
    parts: dict[str, _Part] = {}
    where: dict[Node, _Part] = {}
    for node in m.graph.nodes:
        if node.op in CALLS:
            name = str(split_callback(node))
            where[node] = parts.setdefault(name, _Part(name))
            where[node].nodes.append(node)
    for node in m.graph.nodes:
        _connect(node, where)
    order = list(parts.values()) if keep_original_order else _in_order(parts)
    return _Splitting(
        m, order, where, {} if qualname_map is None else qualname_map, keep_original_node_name
    ).module()


def _connect(node: Node, where: dict[Node, _Part]) -> None:
    own = where.get(node)
    for one in node.all_input_nodes:
        other = where.get(one)
        if other is own:
            continue
        if other is not None:
            other.outputs[one] = None
        if own is not None:
            own.inputs[one] = None
            if other is not None:
                own.after[other.name] = None


def _in_order(parts: dict[str, _Part]) -> list[_Part]:
    """Return the parts, each behind those that it reads, otherwise in the order of their first nodes."""
    order: list[_Part] = []
    waiting = list(parts.values())
    while waiting:
        ready = [one for one in waiting if all(parts[name] in order for name in one.after)]
        if not ready:
            names = ", ".join(one.name for one in waiting)
            raise RuntimeError(
                f"cycle exists between partitions! {names} read one another in a circle: put the "
                "nodes between them into one"
            )
        order.append(ready[0])
        waiting.remove(ready[0])
    return order


class _Splitting:
    """Writes the outer graph and those of the parts."""

    def __init__(
        self,
        m: GraphModule,
        order: list[_Part],
        where: dict[Node, _Part],
        paths: dict[str, str],
        names: bool | None,
    ) -> None:
        self.m, self.order, self.where, self.paths, self.names = m, order, where, paths, names
        self.graph = Graph(tracer_cls=m.graph._tracer_cls)
        self.known: dict[Node, Node] = {}
        """The nodes of the outer graph that stand for those of the old one."""
        self.held: dict[str, Any] = {}

    def module(self) -> GraphModule:
        """Return the outer module."""
        for node in self.m.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                self.known[node] = self.graph.node_copy(node, self.known.__getitem__)
                if node.op == "get_attr":
                    self.held[node.target] = at(self.m, node.target)
        for part in self.order:
            self._call(part)
        output = self.m.graph.output_node()
        result = map_arg(output.args[0], self.known.__getitem__)
        self.graph.output(result, output.type).meta = dict(output.meta)
        return GraphModule(self.held, self.graph)

    def _call(self, part: _Part) -> None:
        path = f"submod_{part.name}"
        try:
            inputs = tuple([self.known[one] for one in part.inputs])
        except KeyError as missing:
            raise RuntimeError(
                f"{path} reads {missing}, which a part behind it makes: leave keep_original_order away"
            ) from None
        self.held[path] = self._inner(part)
        called = self.graph.call_module(path, inputs)
        if len(part.outputs) == 1:
            self.known[next(iter(part.outputs))] = called
            return
        for i, one in enumerate(part.outputs):
            item = self.graph.call_function(_getitem, (called, i), name=one.name if self.names else None)
            self.known[one] = item

    def _inner(self, part: _Part) -> GraphModule:
        graph = Graph(tracer_cls=self.m.graph._tracer_cls)
        known: dict[Node, Node] = {}
        held: dict[str, Any] = {}
        for one in part.inputs:
            known[one] = graph.placeholder(one.name, one.type)
            known[one].meta = dict(one.meta)
        for node in part.nodes:
            known[node] = graph.node_copy(node, known.__getitem__)
            if node.op == "call_module":
                # One word: a part is flat, whatever the module was.
                word = node.target.replace(".", "_")
                held[word] = at(self.m, node.target)
                known[node].target = word
                self.paths[f"submod_{part.name}.{word}"] = node.target
        results = tuple([known[one] for one in part.outputs])
        graph.output(results[0] if len(results) == 1 else results)
        return GraphModule(held, graph)


__getattr__, __dir__ = words(__name__, __all__)

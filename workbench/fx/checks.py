"""What a graph must be to run, and the words for what it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.fx.node import Node

if TYPE_CHECKING:
    from workbench.fx.graph import Graph

__all__ = ["at", "check_own", "check_target", "lint"]

_MISSING = object()


def at(root: Any, path: str) -> Any:
    """Return what stands at a dotted path of a module; None where nothing does."""
    found = root
    for part in path.split("."):
        # Asked of a module only: the path leads through modules, and ends at one, a tensor or another attribute.
        found = getattr(found, part, _MISSING)
        if found is _MISSING:
            return None
    return found


def check_target(op: str, target: Any) -> None:
    """Refuse a target that no node of this kind can have."""
    if op == "call_function":
        if not callable(target):
            raise ValueError(
                f"Node [graph = …] target {target!r} has type {type(target).__name__} but a Callable is expected: "
                "call_method takes a name"
            )
    elif not isinstance(target, str):
        what = {"call_module": "the path of a module", "get_attr": "the path of an attribute"}.get(
            op, "a name"
        )
        raise ValueError(
            f"a target of {op} is {what}, a str, and not {type(target).__name__}: {target!r}"
            + (": call_function takes a function" if callable(target) else "")
        )


def check_own(graph: Graph, node: Node) -> None:
    """Refuse a node of another graph."""
    if node.graph is not graph:
        raise AssertionError(
            f"Node to insert before is not in graph: {node.name} is a node of another; graph.node_copy copies it"
        )


def lint(graph: Graph) -> None:
    """Raise RuntimeError at the first thing that keeps a graph from running."""
    seen: set[Node] = set()
    names: set[str] = set()
    output: Node | None = None
    for node in graph.nodes:
        if node.graph is not graph:
            raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
        if output is not None and node.op == "output":
            raise RuntimeError(f"Node '{node}' is a second output beside '{output}': erase one of them")
        if output is not None:
            raise RuntimeError(
                f"Node '{node}' stands behind the output, where nothing runs: move or erase it"
            )
        _check_inputs(graph, node, seen)
        if node.name in names:
            raise RuntimeError(f"Node redefined name {node.name}!")
        seen.add(node)
        names.add(node.name)
        output = node if node.op == "output" else None
        _check_target(graph, node)


def _check_inputs(graph: Graph, node: Node, seen: set[Node]) -> None:
    for one in node.all_input_nodes:
        if one.graph is not graph:
            raise RuntimeError(
                f"Argument '{one}' of Node '{node}' does not belong to this Graph, but was used as an argument! "
                "graph.node_copy copies a node of another graph"
            )
        if one._erased:
            raise RuntimeError(f"Argument '{one}' of Node '{node}' was erased from the graph")
        if one not in seen:
            raise RuntimeError(
                f"Argument '{one}' of Node '{node}' was used before it has been defined! "
                f"Please check that Nodes in the graph are topologically ordered\n{graph}"
            )


def _check_target(graph: Graph, node: Node) -> None:
    try:
        check_target(node.op, node.target)
    except ValueError as error:
        raise RuntimeError(f"Node '{node}': {error}") from None
    if graph.owning_module is None or node.op not in ("call_module", "get_attr"):
        return
    found = at(graph.owning_module, node.target)
    if found is None and not _there(graph.owning_module, node.target):
        raise RuntimeError(
            f"Node '{node}' target {node.target} references nonexistent attribute {node.target} of "
            f"{type(graph.owning_module).__name__}: add_submodule(target, module) adds a module, and "
            "an assignment a tensor"
        )
    if node.op == "call_module" and not hasattr(found, "forward"):
        raise RuntimeError(
            f"Node '{node}' target {node.target} calls a module, and there is {type(found).__name__}, which is none"
        )


def _there(root: Any, path: str) -> bool:
    """Say whether a path leads to something, be it None."""
    place, _, name = path.rpartition(".")
    owner = at(root, place) if place else root
    return hasattr(owner, name)

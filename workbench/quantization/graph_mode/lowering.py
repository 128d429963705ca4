"""Sums, products and functions between layers become ops on codes, where what they take is codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from workbench.core.op import ops
from workbench.fx import GraphModule, Node
from workbench.quantization.graph_mode.layers import new_path
from workbench.quantization.graph_mode.observing import OBSERVER, Plan
from workbench.quantization.graph_mode.statements import Call
from workbench.quantization.observed import range_of
from workbench.quantization.quantized.functional_modules import QFunction

__all__ = ["lower_calls"]


def lower_calls(
    module: GraphModule, made: Plan, watching: Collection[Node], codes: set[Node], swapped: set[Node]
) -> dict[str, str]:
    """Put ops on codes in the place of calls that are observed and take codes alone, in place; add them to `codes`.

    Return their paths, each with the path of the observer that its scale comes from.
    """
    sources: dict[str, str] = {}
    calls = Counter(str(node.target) for node in module.graph.nodes if node.op == "call_module")
    for node in [*module.graph.nodes]:
        if node in swapped or node not in made.coded or node in made.inner:
            continue
        start, call = _call(node, made)
        if call is None or not any(user in watching for user in node.users):
            continue
        given = [start.all_input_nodes[place] for place in call.inputs]
        if not _takes_codes(call.op, [one in codes or one in watching for one in given]):
            continue
        lone = start.op == "call_module" and calls[str(start.target)] == 1
        path = str(start.target) if lone else new_path(module, start.name)
        function = QFunction(call.op, relu=start is not node, **call.params)
        sources[path] = str(node.meta[OBSERVER])
        function.set_output(range_of(module.get_submodule(sources[path])))
        (module.set_submodule if lone else module.add_submodule)(path, function)
        codes.add(_replace(module, node, start, path, given))
    return sources


def _call(node: Node, made: Plan) -> tuple[Node, Call | None]:
    """Return the node that calls an op, which may be rectified by the one that is observed, and the call."""
    said = made.said[node]
    if said.way != "computed":
        return node, None
    (before,) = node.all_input_nodes if len(node.all_input_nodes) == 1 else (None,)
    if before not in made.inner:
        return node, said.call
    call = made.said[before].call
    absorbed = call is not None and set(said.ops) <= set(_rule(call.op).absorbs)
    return before, call if absorbed else None


def _rule(op: str) -> Any:
    return getattr(ops, op).quantized


def _takes_codes(op: str, in_codes: list[bool]) -> bool:
    """Say whether there is such an op on codes, and each of its inputs is what it takes there: codes or numbers."""
    rule = _rule(op)
    known = rule.travels == "own" and isinstance(rule.kernel, str)
    return known and all(one == (rule.role(place) != "plain") for place, one in enumerate(in_codes))


def _replace(module: GraphModule, node: Node, start: Node, path: str, given: list[Node]) -> Node:
    name = start.name
    with module.graph.inserting_before(node):
        called = module.graph.call_module(path, tuple(given))
    called.meta.update(node.meta)
    node.replace_all_uses_with(called)
    for one in dict.fromkeys((node, start)):
        module.graph.erase_node(one)
    # Who compares the graphs finds it by its name.
    called.name = name
    return called

"""Which values of a graph are observed, by which observers, and the observers put into the graph."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from workbench.base.dtypes import qint8, quint8
from workbench.fx import GraphModule, Node
from workbench.nn import Linear
from workbench.quantization.graph_mode.layers import new_path
from workbench.quantization.graph_mode.statements import Statement
from workbench.quantization.intrinsic.modules import LinearReLU
from workbench.quantization.observed import range_of
from workbench.quantization.observer import HistogramObserver, MovingAverageMinMaxObserver
from workbench.quantization.plain_observers import Carrier, ReuseInputObserver

__all__ = [
    "BORDER",
    "OBSERVER",
    "Plan",
    "carries_weight",
    "forget_plan",
    "insert_observers",
    "is_prepared",
    "keep_plan",
    "kept_plan",
    "leave_floats",
    "plan",
    "results",
    "results_in_codes",
]

PLAN = "quantization"
"""Under which name a node's meta says what becomes of it."""

_CLAMPS = frozenset({("relu",), ("hardtanh",), ("clamp",)})
"""What only cuts a range: codes for what lies beyond it would be codes that nobody reads."""

BORDER = "results in codes"
"""Under which name the meta of a graph's last node has the places of the results that stay codes."""

OBSERVER = "observer"
"""Under which name a node's meta has the path of the observer whose scale its value gets."""


def results(last: Node) -> list[Any]:
    """Return what a graph's last node returns, one by one."""
    (given,) = last.args
    return list(given) if isinstance(given, tuple | list) else [given]


def results_in_codes(node: Node) -> list[Any]:
    """Return what a graph's last node returns as codes, where they are codes."""
    return [results(node)[place] for place in node.meta.get(BORDER, ())]


@dataclass
class Plan:
    """What becomes of each node: whether it takes codes, what is observed, and which values share an observer."""

    said: dict[Node, Statement]
    configs: dict[Node, Any]
    coded: set[Node] = field(default_factory=set)
    """Nodes that take codes where they take values."""
    inner: set[Node] = field(default_factory=set)
    """Nodes whose values go on into the one behind them and are no codes: a sum that is rectified."""
    clamped: dict[Node, Node] = field(default_factory=dict)
    """Layers whose values only a clamp takes, and that clamp: it is observed, and the layer has its scale."""
    groups: dict[Node, Node] = field(default_factory=dict)
    floating: set[Node] = field(default_factory=set)
    """Layers that take codes and give floating point values, from their sums."""

    def group(self, node: Node) -> Node:
        """Return the node that stands for all that share its scale and zero point."""
        while self.groups.get(node, node) is not node:
            node = self.groups[node]
        return node

    def join(self, a: Node, b: Node) -> None:
        """Have two values share a scale and a zero point."""
        first, second = self.group(a), self.group(b)
        if first is not second:
            self.groups[second] = first

    def gives_codes(self, node: Node) -> bool:
        """Say whether a node's own result is codes, or becomes such."""
        return node in self.coded and node not in self.inner and node not in self.floating

    def values(self, node: Node) -> list[Node]:
        """Return the nodes whose floating point values a node takes."""
        return [
            one
            for one in node.all_input_nodes
            if one in self.said and self.said[one].floating and one.op != "get_attr"
        ]

    def observed(self) -> list[Node]:
        """Return the values that need a scale of their own, in order."""
        found = []
        for node, said in self.said.items():
            taken = any(user in self.coded and not self._is_inner(node, user) for user in node.users)
            own = node in self.coded and said.way in ("layer", "computed") and node not in self.inner
            if node in self.floating:
                continue
            if said.floating and node.op != "get_attr" and (own or (taken and node not in self.coded)):
                found.append(node)
        return found

    def sharing(self) -> dict[Node, list[Node]]:
        """Return the values that need a scale, by the node that stands for all that share one, in order."""
        found: dict[Node, list[Node]] = {}
        for node in self.observed():
            found.setdefault(self.group(node), []).append(node)
        return found

    def activation(self, node: Node) -> Any:
        """Return what makes the observer of a value.

        What has no say itself, such as an input, is observed as the one that takes it wants; what reuses the observer
        of what it takes is passed over, to those that take it.
        """
        known = {node}
        waiting = [node]
        for one in waiting:
            config: Any = self.configs.get(one)
            if _wants(config) and not isinstance(config.activation(), ReuseInputObserver):
                return config.activation
            behind = [user for user in one.users if user in self.coded and user not in known]
            known.update(behind)
            waiting += behind
        return HistogramObserver

    def _is_inner(self, node: Node, user: Node) -> bool:
        return node in self.inner and node in user.all_input_nodes


def _wants(config: Any) -> bool:
    """Say whether a qconfig asks for codes of values."""
    if config is None:
        return False
    made = config.activation()
    return getattr(made, "dtype", None) in (quint8, qint8) and not getattr(made, "is_dynamic", False)


def carries_weight(config: Any) -> bool:
    """Say whether what a qconfig has for weights only carries their type, and finds no codes for them."""
    return config.weight is not None and isinstance(config.weight(), Carrier)


def plan(said: dict[Node, Statement], configs: dict[Node, Any]) -> Plan:
    """Return what becomes of the nodes of a graph by what they say, and by their configurations."""
    made = Plan(said, configs)
    wanted = {node for node in said if _wants(configs.get(node))}
    # As in PyTorch, what only carries the type of another weight, such as float16, leaves a layer as it is.
    wanted -= {node for node in wanted if said[node].way == "layer" and carries_weight(configs[node])}
    for node, own in said.items():
        if (own.way in ("layer", "computed", "custom") and node in wanted) or own.border:
            made.coded.add(node)
        if own.way == "layer" and node in wanted and not own.floating:
            # Its codes are of float32, whatever it computes in today: what converts it says so.
            made.said[node] = replace(own, floating=True)
    _reach_moves(made, wanted)
    _part_fixed(made)
    _join_clamps(made)
    _part_numbers(made)
    layers: dict[str, Node] = {}
    for node, own in said.items():
        if node not in made.coded:
            continue
        taken = made.values(node)
        if own.way == "layer":
            # A layer that is called twice has one scale for its results.
            made.join(layers.setdefault(str(node.target), node), node)
        if own.way == "native" and own.travels == "same" and taken:
            made.join(taken[0], node)
        elif own.way == "native" and own.travels == "joined":
            for one in taken:
                made.join(taken[0], one)
            made.join(taken[0], node)
    return made


def leave_floats(module: GraphModule, made: Plan) -> None:
    """Have linear layers give floating point values where nothing takes their results as codes."""
    calls: dict[str, list[Node]] = {}
    for node in made.coded:
        if made.said[node].way == "layer":
            calls.setdefault(str(node.target), []).append(node)
    for path, nodes in calls.items():
        linear = isinstance(module.get_submodule(path), Linear | LinearReLU)
        taken = any(user in made.coded or user.op == "output" for node in nodes for user in node.users)
        clamped = any(node in made.clamped or node in made.inner for node in nodes)
        if linear and not taken and not clamped:
            made.floating.update(nodes)


def _reach_moves(made: Plan, wanted: set[Node]) -> None:
    """Have ops that take codes as they are take them where they stand beside what does.

    What gives a fixed range has an observer for that alone: it takes the codes of a value that has an observer of its
    own, and no other, which would be cut to that range.
    """
    moves = [node for node, own in made.said.items() if own.way == "native" and node in wanted]
    changed = True
    while changed:
        changed = False
        for node in moves:
            if node in made.coded:
                continue
            beside = any(one in made.coded for one in made.values(node)) or any(
                user in made.coded for user in node.users
            )
            cut = made.said[node].travels == "fixed" and any(
                one not in made.coded and one not in wanted for one in made.values(node)
            )
            if beside and not cut:
                made.coded.add(node)
                changed = True


def _part_fixed(made: Plan) -> None:
    """Have what joins values of a fixed range compute a scale of its own: others would be cut to that range."""

    def is_fixed(node: Node) -> bool:
        own = made.said[node]
        while node in made.coded and own.way == "native" and own.travels == "same" and made.values(node):
            node = made.values(node)[0]
            own = made.said[node]
        return node in made.coded and own.travels == "fixed"

    for node, own in made.said.items():
        if node in made.coded and own.travels == "joined" and any(is_fixed(one) for one in made.values(node)):
            made.said[node] = Statement("computed", "own", own.ops)


def _part_numbers(made: Plan) -> None:
    """Have what brings numbers of its own compute a scale of its own: in that of its input they would be cut off."""
    for node, own in made.said.items():
        if node in made.coded and own.way == "native" and own.brings and node not in made.clamped.values():
            made.said[node] = Statement("computed", "own", own.ops)


def _join_clamps(made: Plan) -> None:
    """Have a layer or a sum that is only clamped be observed behind the clamp, where what is cut away is gone.

    Codes of a layer end where those of its clamp do: to saturate there is to clamp. A sum is clamped as it is.
    """
    for node, own in made.said.items():
        if own.way not in ("layer", "computed") or node not in made.coded or len(node.users) != 1:
            continue
        (after,) = node.users
        said = made.said.get(after)
        if said is None or after not in made.coded or said.way != "native" or said.ops not in _CLAMPS:
            continue
        if after.all_input_nodes != [node]:
            continue
        if own.way == "layer":
            made.clamped[node] = after
        else:
            made.inner.add(node)
            made.said[after] = Statement("computed", "own", said.ops)


def insert_observers(module: GraphModule, made: Plan) -> None:
    """Put an observer behind each value that needs one, in place; values that share a scale share it."""
    held: dict[Node, str] = {}
    for group, nodes in made.sharing().items():
        held[group] = new_path(module, f"activation_post_process_{len(held)}")
        watching = made.activation(nodes[0])().train(module.training)
        ranging = range_of(watching)
        if isinstance(ranging, MovingAverageMinMaxObserver):
            ranging.sharing = len(nodes)
        module.add_submodule(held[group], watching)
    for node in made.observed():
        seen = made.clamped.get(node, node)
        with module.graph.inserting_after(seen):
            called = module.graph.call_module(held[made.group(node)], (seen,))
        for user in [*seen.users]:
            # What takes no codes takes a value that is none itself, and loses nothing: a sum beside a layer.
            if user is not called and (
                seen in made.coded or user in made.coded or seen in results_in_codes(user)
            ):
                user.replace_input_with(seen, called)
    for node in made.said:
        (behind,) = node.users if node in made.inner else (node,)
        if made.group(behind) in held:
            node.meta[OBSERVER] = held[made.group(behind)]
    module.recompile()


def keep_plan(module: GraphModule, made: Plan) -> None:
    """Write into the graph what becomes of its nodes: copies of it know it, too."""
    for node, own in made.said.items():
        places = tuple(node in some for some in (made.coded, made.inner, made.floating))
        node.meta[PLAN] = (own, made.configs.get(node), *places)


def forget_plan(module: GraphModule) -> None:
    """Take out of a graph what `keep_plan` wrote into it: it is converted, and no longer prepared."""
    for node in module.graph.nodes:
        node.meta.pop(PLAN, None)


def is_prepared(module: Any) -> bool:
    """Say whether a module is a graph that was prepared."""
    return isinstance(module, GraphModule) and any(PLAN in node.meta for node in module.graph.nodes)


def kept_plan(module: GraphModule) -> Plan:
    """Return what was written into the graph by `keep_plan`."""
    made = Plan({}, {})
    for node in module.graph.nodes:
        kept = node.meta.get(PLAN)
        if kept is None:
            continue
        made.said[node], made.configs[node], coded, inner, floating = kept
        if coded:
            made.coded.add(node)
        if inner:
            made.inner.add(node)
        if floating:
            made.floating.add(node)
    return made

"""`replace_pattern`: puts one program in the place of another wherever that stands in a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

from workbench.base.public import words
from workbench.fx.checks import at
from workbench.fx.graph import Graph
from workbench.fx.graph_module import GraphModule
from workbench.fx.node import Node
from workbench.fx.tracer import symbolic_trace
from workbench.nn import Module

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A place where the pattern stood: its last node, and which node stood for each of the pattern's."""

    anchor: Node
    nodes_map: dict[Node, Any]


@dataclass
class ReplacedPatterns:
    """A place where the pattern stood, and the nodes that stand there now."""

    anchor: Node
    nodes_map: dict[Node, Any]
    replacements: list[Node]


@dataclass
class InternalMatch:
    """A place where the pattern stands: what filters are given."""

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)


Program = Callable[..., Any] | GraphModule | Graph
Filter = Callable[[InternalMatch, Graph, Graph], bool]


def replace_pattern(gm: GraphModule, pattern: Program, replacement: Program) -> list[Match]:
    """Put `replacement` where `pattern` stands in the graph of `gm`, write its code anew, and return the places.

    Both are functions, modules or graphs of the same number of inputs, each of which stands for any value. A place
    whose inner values are read by others too is left, and so is one that shares nodes with a place that was taken.

    Raises RuntimeError where the two take another number of inputs or give another number of results.

    >>> import workbench as wb
    >>> module = wb.fx.symbolic_trace(lambda x, y: (x + y).relu())
    >>> found = wb.fx.replace_pattern(module, lambda a, b: (a + b).relu(), lambda a, b: (a * b).sigmoid())
    >>> print(module.code.strip())
    def forward(self, x, y):
        mul = x * y;  x = y = None
        sigmoid = mul.sigmoid();  mul = None
        return sigmoid
    """
    return [
        Match(one.anchor, one.nodes_map) for one in replace_pattern_with_filters(gm, pattern, replacement)
    ]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Program,
    replacement: Program | None = None,
    match_filters: Sequence[Filter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
) -> list[ReplacedPatterns]:
    """Do what `replace_pattern` does where all filters say so, ``filter(match, graph, pattern_graph)``.

    With `ignore_literals` numbers and text of the pattern stand for any. `replacement_callback` makes the replacement
    of each place, where none is given.
    """
    wanted = _graph(pattern)
    instead = None if replacement is None else _graph(replacement)
    if instead is None and replacement_callback is None:
        raise RuntimeError("there is neither a replacement nor a replacement_callback that makes one")
    if instead is not None:
        _check_alike(wanted, instead)
    found = list(_matches(gm.graph, wanted, ignore_literals))
    found = [one for one in found if all(keep(one, gm.graph, wanted) for keep in match_filters or ())]
    changed: dict[Node, Any] = {}
    made: list[ReplacedPatterns] = []
    for match in found:
        graph = instead
        if replacement_callback is not None and replacement is None:
            graph = replacement_callback(match, gm.graph, wanted)
            _check_alike(wanted, graph)
        assert graph is not None
        made.append(_replaced(gm, match, wanted, graph, changed))
    for program in (replacement,):
        _take_over(gm, program)
    gm.recompile()
    return made


def _graph(program: Program) -> Graph:
    if isinstance(program, Graph):
        return program
    return program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


def _results(graph: Graph) -> list[Any]:
    result = graph.output_node().args[0]
    return list(result) if isinstance(result, tuple | list) else [result]


def _check_alike(pattern: Graph, replacement: Graph) -> None:
    before, after = (one.find_nodes(op="placeholder") for one in (pattern, replacement))
    if len(before) != len(after):
        raise RuntimeError(
            f"the pattern takes {len(before)} inputs ({before}) and the replacement {len(after)} "
            f"({after}): each stands for "
            "the same value in both, by position"
        )
    if len(_results(pattern)) != len(_results(replacement)):
        raise RuntimeError(
            f"the pattern gives {len(_results(pattern))} results and the replacement {len(_results(replacement))}"
        )


# -------------------------------------------------------------------------------------------------- matching


def _matches(graph: Graph, pattern: Graph, ignore_literals: bool) -> Iterator[InternalMatch]:
    """Yield the places of a pattern that share no node."""
    last = [one for one in _results(pattern) if isinstance(one, Node)]
    # The results that nothing else of the pattern reads: from these all of it is reached.
    ends = [one for one in dict.fromkeys(last) if all(user.op == "output" for user in one.users)]
    if not ends or ends[0].op == "placeholder":
        raise RuntimeError("the pattern computes nothing that could be found in a graph")
    taken: set[Node] = set()
    for places in _places(graph, ends):
        match = InternalMatch(list(places))
        one = _Matching(match, ignore_literals)
        if not all(one.same(wanted, place) for wanted, place in zip(ends, places, strict=True)):
            continue
        match.returning_nodes = [match.nodes_map[end] for end in last]
        if len(match.nodes_map) < sum(
            node.op != "output" for node in pattern.nodes if node.op != "placeholder"
        ):
            continue
        if not _closed(match, pattern):
            continue
        inner = {node for wanted, node in match.nodes_map.items() if wanted.op != "placeholder"}
        if inner & taken:
            continue
        taken |= inner
        match.placeholder_nodes = [match.nodes_map.get(node) for node in pattern.find_nodes(op="placeholder")]
        yield match


def _places(graph: Graph, ends: list[Node]) -> Iterator[tuple[Node, ...]]:
    """Yield nodes of a graph that may be the ends of the pattern."""
    nodes = list(graph.nodes)
    candidates = [[node for node in nodes if _alike(end, node)] for end in ends]
    if len(ends) == 1:
        yield from ((node,) for node in candidates[0])
        return
    # Several ends: any choice of different nodes. Patterns of more than one result are small.
    for chosen in product(*candidates):
        if len(set(chosen)) == len(chosen):
            yield chosen


def _alike(wanted: Node, node: Node) -> bool:
    return wanted.op == node.op and wanted.target == node.target


class _Matching:
    """Goes backwards from the ends, through pattern and graph at once."""

    def __init__(self, match: InternalMatch, ignore_literals: bool) -> None:
        self.known = match.nodes_map
        self.ignore_literals = ignore_literals

    def same(self, wanted: Any, given: Any) -> bool:
        """Say whether an operand of the pattern stands for one of the graph; note which node stands for which."""
        if isinstance(wanted, Node):
            return self._node(wanted, given)
        if isinstance(given, Node):
            return False
        if isinstance(wanted, tuple | list):
            alike = isinstance(given, tuple | list) and len(wanted) == len(given)
            return alike and all(self.same(a, b) for a, b in zip(wanted, given, strict=True))
        if isinstance(wanted, dict):
            alike = isinstance(given, dict) and wanted.keys() == given.keys()
            return alike and all(self.same(one, given[key]) for key, one in wanted.items())
        if isinstance(wanted, slice):
            parts = (wanted.start, wanted.stop, wanted.step)
            return isinstance(given, slice) and self.same(parts, (given.start, given.stop, given.step))
        return self.ignore_literals or (type(wanted) is type(given) and bool(wanted == given))

    def _node(self, wanted: Node, given: Any) -> bool:
        if wanted in self.known:
            known = self.known[wanted]
            return known is given or (
                not isinstance(given, Node) and type(known) is type(given) and known == given
            )
        if wanted.op == "placeholder":
            # Two inputs stand for two values.
            if isinstance(given, Node) and given in self.known.values():
                return False
            self.known[wanted] = given
            return True
        if not isinstance(given, Node) or not _alike(wanted, given) or given in self.known.values():
            return False
        self.known[wanted] = given
        args, other = wanted.args, given.args
        return (
            len(args) == len(other)
            and wanted.kwargs.keys() == given.kwargs.keys()
            and self.same(args, other)
            and self.same(dict(wanted.kwargs), dict(given.kwargs))
        )


def _closed(match: InternalMatch, pattern: Graph) -> bool:
    """Say whether nobody outside reads what stands inside."""
    inside = [
        node for wanted, node in match.nodes_map.items() if wanted.op not in ("placeholder", "get_attr")
    ]
    known = set(inside)
    return all(user in known for node in inside if node not in match.returning_nodes for user in node.users)


# ------------------------------------------------------------------------------------------------- replacing


def _replaced(
    gm: GraphModule, match: InternalMatch, pattern: Graph, replacement: Graph, changed: dict[Node, Any]
) -> ReplacedPatterns:
    graph = gm.graph
    inputs = zip(pattern.find_nodes(op="placeholder"), replacement.find_nodes(op="placeholder"), strict=True)
    # What another place made anew stands for what it was.
    known = {new: _now(match.nodes_map.get(old), changed) for old, new in inputs}
    before = set(graph.nodes)
    with graph.inserting_before(_first_reader(graph, match)):
        result = graph.graph_copy(replacement, known)
    made = [node for node in graph.nodes if node not in before]
    given = list(result) if isinstance(result, tuple | list) else [result]
    for old, new in zip(match.returning_nodes, given, strict=True):
        if isinstance(new, Node):
            old.replace_all_uses_with(new)
        else:
            for user in list(old.users):
                user._change(lambda node, old=old, new=new: new if node is old else node)  # type: ignore[misc]
        changed[old] = new
    # Backwards, so that who reads goes before what is read.
    inside = {node for wanted, node in match.nodes_map.items() if wanted.op != "placeholder"}
    for node in reversed(graph.nodes):
        if node in inside and not node.users:
            graph.erase_node(node)
    return ReplacedPatterns(match.anchors[0], match.nodes_map, made)


def _now(operand: Any, changed: dict[Node, Any]) -> Any:
    while isinstance(operand, Node) and operand in changed:
        operand = changed[operand]
    return operand


def _first_reader(graph: Graph, match: InternalMatch) -> Node:
    """Return the first node behind the place that reads what comes out of it."""
    readers = {user for node in match.returning_nodes for user in node.users}
    inside = set(map(id, match.nodes_map.values()))
    return next(
        (node for node in graph.nodes if node in readers and id(node) not in inside), match.anchors[0]
    )


def _take_over(gm: GraphModule, program: Program | None) -> None:
    """Bring along what the replacement calls and holds, where the module has nothing at that path."""
    root = program.owning_module if isinstance(program, Graph) else program
    if not isinstance(root, Module):
        return
    for node in gm.graph.nodes:
        if node.op in ("call_module", "get_attr") and at(gm, node.target) is None:
            found = at(root, node.target)
            if isinstance(found, Module):
                gm.add_submodule(node.target, found)
            elif found is not None:
                place, _, name = node.target.rpartition(".")
                setattr(at(gm, place) if place else gm, name, found)


__getattr__, __dir__ = words(__name__, __all__)

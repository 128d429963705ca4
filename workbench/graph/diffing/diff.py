"""The difference of two graphs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import accumulate

from workbench.base.collector import collector_at_rest
from workbench.graph.blocks import Block, Node, SubGraph, called
from workbench.graph.diffing.alignment import rising
from workbench.graph.diffing.comparison import Comparison
from workbench.graph.diffing.matching import Matching, matching
from workbench.graph.diffing.notes import notes, renamed
from workbench.graph.diffing.result import GraphDiff, NodeDiff
from workbench.graph.ir import Graph
from workbench.graph.rules import kind_of

__all__ = ["diff"]

Place = tuple[str, ...]


@collector_at_rest()
def diff(before: Graph, after: Graph) -> GraphDiff:
    """Return what is different between two graphs, by structure: what values are called makes no difference.

    Nodes are the same call where they call the same with the same on what is the same; in which order independent ones
    are written makes no difference either. ``diff(b, a)`` is ``diff(a, b)`` the other way round.

    Raises:
        TypeError: one of them is no graph.

    >>> import workbench as wb
    >>> graph = wb.graph.trace(lambda x: x.exp().relu().sum(), wb.ones(N=2))
    >>> other = wb.graph.trace(lambda y: y.exp().tanh().sum(dim=0), wb.ones(N=2))
    >>> found = wb.graph.diff(graph, other)
    >>> found.summary()
    '1 added · 1 removed · 2 the same'
    >>> found.removed[0].op, found.added[0].op
    ('relu', 'tanh')
    """
    for one in (before, after):
        if not isinstance(one, Graph):
            raise TypeError(
                f"a {type(one).__name__} is no graph: wb.graph.diff takes two of what wb.graph.trace, a pass or "
                "wb.graph.parse gives"
            )
    found = matching(before, after)
    return _Difference(found).result()


class _Difference:
    def __init__(self, found: Matching) -> None:
        self._found = found
        self._back = {after: before for before, after in found.nodes.items()}
        self._comparison = Comparison(found)
        self._renamed = renamed(found)
        self._called = {one: other.name for one, other in found.functions}
        self._places: dict[Node, Place] = {}
        self._instead: dict[Node, Node] = {}
        # A graph from elsewhere, such as a file, may know of no modules: then nothing has moved out of them.
        self._modules = all(any(node.scope for node in side.facts) for side in (found.before, found.after))

    def result(self) -> GraphDiff:
        """Return the nodes of both in order, each with what is different about it."""
        before, after = self._found.before.graph, self._found.after.graph
        lists = [
            {function: self._flat(function, graph) for function in (*graph.functions.values(), graph)}
            for graph in (before, after)
        ]
        self._replaced(lists)
        twins: dict[SubGraph, SubGraph] = {other: one for one, other in self._found.functions}
        twins[after] = before
        nodes: list[NodeDiff] = []
        gone = set(lists[0]) - set(twins.values())
        for function in lists[0]:
            if function in gone:
                nodes += map(self._of_before, self._only(lists[0][function]))
        for function, own in lists[1].items():
            nodes += self._merged(lists[0][twins[function]] if function in twins else [], own)
        return GraphDiff(
            before, after, tuple(nodes), tuple(notes(self._found, self._comparison, self._renamed))
        )

    def _flat(self, function: SubGraph, graph: Graph) -> list[Node]:
        """Return the nodes of a function as they are written, and note where each stands."""
        # By one name in both graphs.
        name = self._called.get(function, function.name)
        around = () if function is graph else (f"@{name}",)
        found = []
        for node, place in _placed(function, around, None):
            self._places[node] = place
            found.append(node)
        return found

    def _merged(self, before: list[Node], after: list[Node]) -> Iterator[NodeDiff]:
        """Yield the nodes of one function of both graphs: what was removed stands behind what it stood behind."""
        places = {node: i for i, node in enumerate(before)}
        # What came in the place of another stands where that stood, like one with a twin.
        others = ((i, self._back.get(node, self._instead.get(node))) for i, node in enumerate(after))
        pairs = [(i, places[node]) for i, node in others if node in places]
        begin, start = 0, 0
        for i, j in [*rising(pairs), (len(after), len(before))]:
            # Those with a twin are shown where that stands.
            yield from map(self._of_before, self._only(before[start : j + 1]))
            yield from map(self._of_after, after[begin : i + 1])
            begin, start = i + 1, j + 1

    def _only(self, before: Iterable[Node]) -> list[Node]:
        return [node for node in before if node not in self._found.nodes]

    def _of_before(self, node: Node) -> NodeDiff:
        return NodeDiff("removed", node, None, self._places[node], (), self._instead.get(node))

    def _of_after(self, node: Node) -> NodeDiff:
        place, twin = self._places[node], self._back.get(node)
        if twin is None:
            return NodeDiff("added", None, node, place, (), self._instead.get(node))
        own = self._comparison.own(twin, node)
        moved = list(self._moved(twin, node))
        if own:
            return NodeDiff("changed", twin, node, place, (*own, *moved))
        if moved or twin in self._found.moved:
            reads = self._comparison.sources(twin, node)
            return NodeDiff("moved", twin, node, place, (*moved, *reads))
        types = tuple(self._comparison.types(twin, node))
        return NodeDiff("follows" if types else "same", twin, node, place, types)

    def _moved(self, before: Node, after: Node) -> Iterator[str]:
        """Yield how a node's place differs, but for modules that have another path as a whole."""
        one, other = self._places[before], self._places[after]
        path = before.scope, after.scope
        if one != other and (path[0] == path[1] or path in self._renamed or not self._modules):
            # The same module, by its path or as a whole: what is left are the blocks and the function around it.
            one, other = _around(before, one), _around(after, other)
        if one != other:
            yield f"in {'.'.join(one) or 'the graph'} → {'.'.join(other) or 'the graph'}"

    def _replaced(self, lists: list[dict[SubGraph, list[Node]]]) -> None:
        """Find out what came in the place of what: of one line, of one module, or between the same neighbours."""
        found = self._found
        taken = set(found.nodes.values())
        rest = [
            [node for nodes in lists[0].values() for node in nodes if node not in found.nodes],
            [node for nodes in lists[1].values() for node in nodes if node not in taken],
        ]
        places = [
            {node: (function, i) for function, nodes in one.items() for i, node in enumerate(nodes)}
            for one in lists
        ]
        for key, nothing in ((_line, ()), (_module, ()), (self._between, frozenset())):
            crosses = self._crossing(places)
            groups: list[dict[Hashable, list[Node]]] = [{}, {}]
            for group, nodes in zip(groups, rest, strict=True):
                for node in nodes:
                    where = key(node)
                    if where != nothing:
                        group.setdefault(where, []).append(node)
            for where, nodes in groups[0].items():
                others = groups[1].get(where, [])
                # Between the same neighbours lies also what stands behind something else that was replaced.
                apart = key == self._between and any(map(crosses, nodes, others))
                if len(nodes) == len(others) and not apart:
                    self._instead.update(zip(nodes, others, strict=True))
                    self._instead.update(zip(others, nodes, strict=True))
            rest = [[node for node in nodes if node not in self._instead] for nodes in rest]

    def _crossing(self, places: list[dict[Node, tuple[SubGraph, int]]]) -> Callable[[Node, Node], bool]:
        """Return what says of two nodes whether something stands in front of one, and its twin behind the other."""
        pairs: dict[tuple[SubGraph, SubGraph], list[tuple[int, int]]] = {}
        for one, other in (*self._found.nodes.items(), *self._instead.items()):
            if one in places[0] and other in places[1] and one not in self._found.moved:
                (function, i), (twin, j) = places[0][one], places[1][other]
                pairs.setdefault((function, twin), []).append((i, j))
        known = {}
        for functions, found in pairs.items():
            found.sort()
            behind = [j for _, j in found]
            most = list(accumulate(behind, max))
            least = list(accumulate(reversed(behind), min))[::-1]
            known[functions] = [i for i, _ in found], most, least

        def crosses(one: Node, other: Node) -> bool:
            (function, i), (twin, j) = places[0][one], places[1][other]
            starts, most, least = known.get((function, twin), ([], [], []))
            at = bisect_left(starts, i)
            return (at > 0 and most[at - 1] > j) or (at < len(least) and least[at] < j)

        return crosses

    def _between(self, node: Node) -> Hashable:
        """Return what both graphs have in front of a node that only one of them has."""
        return frozenset(self._comparison.behind(node))


def _line(node: Node) -> Hashable:
    return (node.source, node.scope) if node.source else ()


def _module(node: Node) -> Hashable:
    return node.scope


def _placed(block: Block, around: Place, scope: Place | None) -> Iterator[tuple[Node, Place]]:
    """Yield the nodes of a block and of those in it with their places; in a block of control flow that is its place."""
    for node in block.nodes:
        place = (*around, *(node.scope if scope is None else scope))
        yield node, place
        kind = kind_of(node.callee)
        names = kind.blocks if kind is not None else ()
        for name, inner in zip(names, node.blocks, strict=False):
            # By its kind alone: a name of the graph's own would differ in the other.
            yield from _placed(inner, (*place, called(node.callee), name), ())


def _around(node: Node, place: Place) -> Place:
    """Return a place without the path of the node's module."""
    size = len(node.scope)
    for i in range(len(place) - size + 1):
        if size and place[i : i + size] == node.scope:
            return (*place[:i], *place[i + size :])
    return place

"""The nodes of two blocks, matched step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from workbench.graph.blocks import Node, SubGraph, Value
from workbench.graph.diffing.alignment import common, gaps
from workbench.graph.diffing.sides import LEVELS, Shape, Side

__all__ = ["Matching", "Pair", "grouped"]


class Matching:
    """What belongs together in two graphs."""

    def __init__(self, before: Side, after: Side) -> None:
        self.before = before
        self.after = after
        self.nodes: dict[Node, Node] = {}
        self.functions: list[tuple[SubGraph, SubGraph]] = []
        self.given: dict[Value, Value] = {}
        """Inputs of functions and blocks."""
        self.moved: set[Node] = set()
        """Nodes of the graph before that stand somewhere else after."""

    def turned(self) -> Matching:
        """Return the same, seen from the other graph."""
        other = Matching(self.after, self.before)
        other.nodes = {after: before for before, after in self.nodes.items()}
        other.functions = [(after, before) for before, after in self.functions]
        other.given = {after: before for before, after in self.given.items()}
        other.moved = {self.nodes[node] for node in self.moved}
        return other


def grouped(pairs: Iterable[tuple[Hashable, Any]]) -> dict[Hashable, list[Any]]:
    """Return what stands behind each key, in order."""
    found: dict[Hashable, list[Any]] = {}
    for key, one in pairs:
        found.setdefault(key, []).append(one)
    return found


class Pair:
    """Two blocks whose nodes are matched: by places in their orders."""

    def __init__(self, shapes: Sequence[Shape], tokens: Sequence[tuple[Any, ...]], found: Matching) -> None:
        self._shapes = shapes
        self._tokens = tokens
        self._found = found
        widest = [shape.ups(tokens[-1][i], LEVELS - 1) for i, shape in enumerate(shapes)]
        self._orders = [shape.order(ups) for shape, ups in zip(shapes, widest, strict=True)]
        self._nodes = [
            [shape.block.nodes[i] for i in order] for shape, order in zip(shapes, self._orders, strict=True)
        ]
        self._callees = [[shape.side.facts[node].callee for node in shape.block.nodes] for shape in shapes]
        self._places = [{i: place for place, i in enumerate(order)} for order in self._orders]
        self._partner: list[list[int | None]] = [[None] * len(order) for order in self._orders]

    def matched(self) -> list[tuple[Node, Node]]:
        """Return the pairs that were found here, in order."""
        return [
            (node, self._nodes[1][j])
            for node, j in zip(self._nodes[0], self._partner[0], strict=True)
            if j is not None
        ]

    def match(self) -> None:
        """Find all pairs."""
        for level in range(LEVELS):
            if self._whole():
                break
            self._by_context(level)
        if not self._whole():
            self._in_order()
        self._found.nodes.update(self.matched())

    def _whole(self) -> bool:
        return any(None not in partners for partners in self._partner)

    def _join(self, i: int, j: int) -> None:
        self._partner[0][i], self._partner[1][j] = j, i

    def _by_context(self, level: int) -> None:
        """Join nodes that have everything before them in common, and all behind them; then either of both."""
        ups = [shape.ups(self._tokens[level][i], level) for i, shape in enumerate(self._shapes)]
        downs = [shape.downs(level) for shape in self._shapes]
        # One whole number for the two: thousands of tuples would each be looked at by the garbage collector.
        self._alike(
            [
                [up << 40 | down for up, down in zip(*pair, strict=True)]
                for pair in zip(ups, downs, strict=True)
            ]
        )
        self._alike(ups)
        self._alike(downs)

    def _alike(self, keys: Sequence[Sequence[int]]) -> None:
        """Join nodes of equal keys where both graphs have as many of them."""
        free = [
            [place for place, partner in enumerate(partners) if partner is None] for partners in self._partner
        ]
        found = [
            [own[order[place]] for place in places]
            for own, order, places in zip(keys, self._orders, free, strict=True)
        ]
        counts, others = map(Counter, found)
        # Those of which there is one first: they leave no choice.
        alone = {key: place for key, place in zip(found[1], free[1], strict=True) if others[key] == 1}
        joined = []
        for key, i in zip(found[0], free[0], strict=True):
            if counts[key] == 1 and key in alone:
                self._join(i, alone[key])
                joined.append((i, alone[key]))
        # Of some that cannot be told apart one may be missing: which, the order says later.
        many = {key for key, count in counts.items() if count > 1 and others[key] == count}
        if many:
            self._chosen(
                many, [list(zip(*pair, strict=True)) for pair in zip(found, free, strict=True)], joined, keys
            )

    def _chosen(
        self,
        many: set[int],
        found: list[list[tuple[int, int]]],
        joined: list[tuple[int, int]],
        keys: Sequence[Sequence[int]],
    ) -> None:
        """Join nodes that cannot be told apart, beginning beside pairs; each choice decides for its neighbours."""
        self._neighbours(joined, keys)
        groups = [grouped(pair for pair in one if pair[0] in many) for one in found]
        for key, places in groups[0].items():
            rest = iter(groups[1][key])
            for i in places:
                if self._partner[0][i] is None:
                    j = next(place for place in rest if self._partner[1][place] is None)
                    self._join(i, j)
                    self._neighbours([(i, j)], keys)

    def _in_order(self) -> None:
        """Join what lies between pairs, in order, and then the neighbours of pairs."""
        sides = self._found.before, self._found.after
        whole = list(gaps(self._partner[0], len(self._nodes[1])))
        for level in range(2):
            self._aligned([[side.labels[level][n] for n in nodes] for side, nodes in self._sided(sides)])
        self._aligned(
            [[(side.facts[n].callee, n.scope) for n in nodes] for side, nodes in self._sided(sides)]
        )
        self._aligned([[side.labels[LEVELS - 1][n] for n in nodes] for side, nodes in self._sided(sides)])
        self._beside()
        self._aligned(
            [[side.facts[n].callee for n in nodes] for side, nodes in self._sided(sides)], alike=True
        )
        self._beside()
        self._crossing(whole)

    def _beside(self) -> None:
        pairs = [(i, j) for i, j in enumerate(self._partner[0]) if j is not None]
        self._neighbours(pairs, self._callees)

    def _sided(self, sides: tuple[Side, Side]) -> Iterable[tuple[Side, list[Node]]]:
        return zip(sides, self._nodes, strict=True)

    def _aligned(self, keys: Sequence[Sequence[Hashable]], alike: bool = False) -> None:
        for one, other in list(gaps(self._partner[0], len(self._nodes[1]))):
            for i, j in common([keys[0][i] for i in one], [keys[1][j] for j in other]):
                if not alike or self._similar(one[i], other[j]):
                    self._join(one[i], other[j])

    def _crossing(self, whole: list[tuple[list[int], list[int]]]) -> None:
        """Join what changed its place with a neighbour: the only two of one kind between the same pairs."""
        sides = self._found.before, self._found.after
        for stretch in whole:
            groups = [
                grouped(
                    (side.labels[LEVELS - 1][nodes[place]], place) for place in places if own[place] is None
                )
                for (side, nodes), places, own in zip(self._sided(sides), stretch, self._partner, strict=True)
            ]
            for key, places in groups[0].items():
                others = groups[1].get(key, ())
                if len(places) == len(others) == 1:
                    self._join(places[0], others[0])
                    self._found.moved.add(self._nodes[0][places[0]])

    def _similar(self, i: int, j: int) -> bool:
        """Say whether two calls of one op are likely to be the same one: by their module, operands or a neighbour."""
        one, other = self._nodes[0][i], self._nodes[1][j]
        if one.scope == other.scope and one.scope:
            return True
        facts = self._found.before.facts[one], self._found.after.facts[other]
        if facts[0].arguments == facts[1].arguments:
            return True
        return any(self._partner[0][a] == b for a, b in self._around(i, j, self._callees))

    def _around(self, i: int, j: int, keys: Sequence[Sequence[Hashable]]) -> Iterator[tuple[int, int]]:
        """Yield the neighbours of two nodes that stand at the same place: what they read, and a reader of its kind."""
        pair = tuple(zip(self._shapes, (self._orders[0][i], self._orders[1][j]), keys, strict=True))
        sources = [{(k, out): node for k, node, out in shape.sources[n]} for shape, n, _ in pair]
        users = [
            grouped(((own[user], k, out), user) for k, user, out in shape.users[n]) for shape, n, own in pair
        ]
        for key, one in sources[0].items():
            other = sources[1].get(key)
            if other is not None and keys[0][one] == keys[1][other]:
                yield self._places[0][one], self._places[1][other]
        for where, readers in users[0].items():
            others = users[1].get(where, ())
            if len(readers) == len(others) == 1:
                yield self._places[0][readers[0]], self._places[1][others[0]]

    def _neighbours(self, queue: list[tuple[int, int]], keys: Sequence[Sequence[Hashable]]) -> None:
        """Join what stands at the same place beside a pair and has its key, as far as that goes."""
        while queue:
            for a, b in self._around(*queue.pop(), keys):
                if self._partner[0][a] is None and self._partner[1][b] is None:
                    self._join(a, b)
                    queue.append((a, b))

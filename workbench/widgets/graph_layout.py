"""Where the nodes of a drawn graph lie in a picture that Python makes: scopes as boxes, ranks from top to bottom.

The view lays graphs out by itself, in the page. This is for files that are written where no page is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.live.messages import GraphEdge, GraphNode, GraphScope

__all__ = ["Placed", "Tree", "place", "tree"]

ACROSS, DOWN = 24.0, 40.0
PAD, TITLE = 14.0, 24.0


@dataclass
class Tree:
    """A node, or a box with what is in it; `x` and `y` are its left top corner within the box around it."""

    id: str
    node: GraphNode | None = None
    children: dict[str, Tree] = field(default_factory=dict)
    repeats: int = 1
    """How many boxes that are alike this one stands for."""
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0


@dataclass(frozen=True)
class Placed:
    """Something that is drawn, in pixels of the whole picture."""

    item: Tree
    x: float
    y: float
    depth: int


def tree(nodes: Iterable[GraphNode], scopes: Iterable[GraphScope]) -> tuple[Tree, dict[str, str]]:
    """Return nodes in their boxes, and for nodes of boxes that others stand for the nodes in their place.

    Of boxes beside each other that compute the same the first is drawn, with their count.
    """
    root = Tree("")
    for node in nodes:
        at = root
        for depth in range(1, len(node.scope) + 1):
            path = "box " + ".".join(node.scope[:depth])
            at = at.children.setdefault(path, Tree(path))
        at.children[f"node {node.id}"] = Tree(f"node {node.id}", node)
    instead: dict[str, str] = {}
    _fold(root, {f"box {one.id}": one for one in scopes}, instead)
    return root, instead


def _fold(box: Tree, scopes: Mapping[str, GraphScope], instead: dict[str, str]) -> None:
    kept: dict[str, Tree] = {}
    last: Tree | None = None
    # In the order of the boxes: nodes that stand between them part no stack.
    for key, child in box.children.items():
        if child.node is not None:
            kept[key] = child
            continue
        scope = scopes.get(key)
        alike = (
            last is not None
            and scope is not None
            and scope.kind != "block"
            and scope.same == scopes[last.id].same
        )
        if alike and last is not None:
            last.repeats += 1
            # Node by node: boxes that compute the same have the same nodes in the same order.
            pairs = zip(_nodes(child), _nodes(last), strict=True)
            instead.update({own: instead.get(other, other) for own, other in pairs})
        else:
            kept[key] = last = child
    box.children = kept
    for child in kept.values():
        _fold(child, scopes, instead)


def _nodes(box: Tree) -> list[str]:
    """The nodes in a box, each before those that it feeds, as the graph has them."""
    found: list[str] = []
    for child in box.children.values():
        found += [child.node.id] if child.node is not None else _nodes(child)
    return found


def place(
    root: Tree, edges: Sequence[GraphEdge], sizes: Mapping[str, tuple[float, float]]
) -> tuple[list[Placed], float, float]:
    """Lay out `root`, whose nodes are as large as `sizes` says, and return what is drawn, the width and the height."""
    paths: dict[str, tuple[str, ...]] = {}
    _walk_paths(root, (), paths)
    levels: dict[str, set[tuple[str, str]]] = {}
    for edge in edges:
        one, other = paths.get(edge.source), paths.get(edge.target)
        if one is None or other is None:
            continue
        depth = 0
        while depth < min(len(one), len(other)) and one[depth] == other[depth]:
            depth += 1
        if depth < min(len(one), len(other)):
            levels.setdefault(one[depth - 1] if depth else "", set()).add((one[depth], other[depth]))
    _arrange(root, levels, sizes)
    found: list[Placed] = []
    _collect(root, 0.0, 0.0, 0, found)
    return found, root.width, root.height


def _walk_paths(box: Tree, path: tuple[str, ...], paths: dict[str, tuple[str, ...]]) -> None:
    for key, child in box.children.items():
        if child.node is not None:
            paths[child.node.id] = (*path, key)
        else:
            _walk_paths(child, (*path, key), paths)


def _arrange(
    box: Tree, levels: Mapping[str, set[tuple[str, str]]], sizes: Mapping[str, tuple[float, float]]
) -> None:
    """Give each child of a box its place, boxes inside first."""
    for child in box.children.values():
        if child.node is not None:
            child.width, child.height = sizes[child.node.id]
        else:
            _arrange(child, levels, sizes)
    rows = _rows(list(box.children), levels.get(box.id, set()))
    widest = max((sum(box.children[key].width + ACROSS for key in row) - ACROSS for row in rows), default=0.0)
    widest = max(widest, sizes.get(box.id, (0.0, 0.0))[0] - 2 * PAD)
    y = PAD + TITLE if box.id else 0.0
    left = PAD if box.id else 0.0
    for row in rows:
        wide = sum(box.children[key].width + ACROSS for key in row) - ACROSS
        x = left + (widest - wide) / 2
        for key in row:
            child = box.children[key]
            child.x, child.y = x, y
            x += child.width + ACROSS
        y += max(box.children[key].height for key in row) + DOWN
    box.width = widest + 2 * left
    # Below the last row there is room for the words of what leaves the box.
    box.height = y - DOWN + (PAD + 8 if box.id else 0.0)


def _rows(keys: Sequence[str], pairs: set[tuple[str, str]]) -> list[list[str]]:
    """Return the children by rank: each below all that feed it, near the middle of these."""
    above: dict[str, list[str]] = {key: [] for key in keys}
    order = {key: index for index, key in enumerate(keys)}
    below: dict[str, list[str]] = {key: [] for key in keys}
    waiting = dict.fromkeys(keys, 0)
    for source, target in sorted(pairs, key=lambda pair: (order[pair[0]], order[pair[1]])):
        above[target].append(source)
        below[source].append(target)
        waiting[target] += 1
    rank = dict.fromkeys(keys, 0)
    ready = [key for key in keys if waiting[key] == 0]
    for key in ready:
        for target in below[key]:
            rank[target] = max(rank[target], rank[key] + 1)
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    for key in reversed(ready):
        # What nothing feeds stands just above what it feeds, and not at the top with a long way down.
        if not above[key] and below[key]:
            rank[key] = max(0, min(rank[one] for one in below[key]) - 1)
    rows: list[list[str]] = []
    # Boxes that are folded into one may feed each other: what waits on itself keeps the order of the graph.
    for key in keys:
        while len(rows) <= rank[key]:
            rows.append([])
        rows[rank[key]].append(key)
    rows = [row for row in rows if row]
    place_of: dict[str, float] = {}
    for row in rows:
        wanted = {
            key: sum(place_of[one] for one in above[key] if one in place_of) / max(1, len(above[key]))
            for key in row
        }
        row.sort(key=lambda key: (wanted[key], order[key]))
        place_of |= {key: index - (len(row) - 1) / 2 for index, key in enumerate(row)}
    return rows


def _collect(box: Tree, x: float, y: float, depth: int, found: list[Placed]) -> None:
    for child in box.children.values():
        found.append(Placed(child, x + child.x, y + child.y, depth))
        if child.node is None:
            _collect(child, x + child.x, y + child.y, depth + 1, found)

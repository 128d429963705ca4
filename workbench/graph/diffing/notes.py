"""What is different between two graphs besides their nodes: what goes in and comes out, what must hold, paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from workbench.graph.blocks import Value
from workbench.graph.diffing.comparison import Comparison
from workbench.graph.diffing.matching import Matching

__all__ = ["notes", "renamed"]

Path = tuple[str, ...]


def renamed(found: Matching) -> dict[tuple[Path, Path], int]:
    """Return the modules that have another path as a whole, with how many nodes they have.

    All nodes of the one are in the other, and all of the other in the one.
    """
    pairs = Counter((one.scope, other.scope) for one, other in found.nodes.items() if one not in found.moved)
    befores, afters = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    return {
        pair: count
        for pair, count in pairs.items()
        if pair[0] != pair[1] and befores[pair[0]] == 1 and afters[pair[1]] == 1
    }


def notes(found: Matching, comparison: Comparison, paths: dict[tuple[Path, Path], int]) -> Iterator[str]:
    """Yield a line for each difference."""
    yield from _inputs(found)
    yield from _outputs(found, comparison)
    yield from _updates(found, comparison)
    yield from _guards(found)
    yield from _paths(paths)
    kinds = Counter(
        (found.before.kinds[one], found.after.kinds[other])
        for one, other in _held_alike(found)
        if found.before.kinds[one] != found.after.kinds[other]
    )
    for (kind, new), count in sorted(kinds.items()):
        yield f"{count:,} {kind}{'' if count == 1 else 's'} → {new}{'' if count == 1 else 's'}"


def _inputs(found: Matching) -> Iterator[str]:
    before, after = found.before.graph, found.after.graph
    for value in before.inputs:
        twin = found.given.get(value)
        if twin is None:
            yield f"input {value.name} {value.type} was removed"
        elif found.before.given_types[value] != found.after.given_types[twin]:
            types = str(value.type), str(twin.type)
            shown = (
                types
                if types[0] != types[1]
                else (found.before.given_types[value], found.after.given_types[twin])
            )
            yield f"input {value.name}: {shown[0]} → {shown[1]}"
    new = set(found.given.values())
    yield from (f"input {value.name} {value.type} was added" for value in after.inputs if value not in new)


def _outputs(found: Matching, comparison: Comparison) -> Iterator[str]:
    before, after = found.before.graph, found.after.graph
    if len(before.outputs) != len(after.outputs) or before.single != after.single:
        counts = (f"{len(graph.outputs)}{' alone' if graph.single else ''}" for graph in (before, after))
        yield f"outputs: {' → '.join(counts)}"
    for i, (one, other) in enumerate(zip(before.outputs, after.outputs, strict=False)):
        texts = found.before.reader.operand(one), found.after.reader.operand(other)
        if texts[0] != texts[1]:
            yield f"output {i}: {texts[0]} → {texts[1]}"
        elif not comparison.meet(one, other):
            yield f"output {i} is another value"


def _updates(found: Matching, comparison: Comparison) -> Iterator[str]:
    before, after = (
        {value.name: new for value, new in graph.updates.items()}
        for graph in (found.before.graph, found.after.graph)
    )
    for name in dict.fromkeys((*before, *after)):
        if name not in after:
            yield f"{name} is updated no more"
        elif name not in before:
            yield f"{name} is updated"
        elif not comparison.meet(before[name], after[name]):
            yield f"{name} is updated with another value"


def _guards(found: Matching) -> Iterator[str]:
    pairs = [*found.functions, (found.before.graph, found.after.graph)]
    for one, other in pairs:
        sides = (found.before, one), (found.after, other)
        texts = []
        for side, function in sides:
            side.reader.enter(function)
            texts.append(dict(zip(side.reader.guards(function), function.guards, strict=True)))
        for text, guard in texts[0].items():
            if text not in texts[1]:
                yield f"must no longer hold: {guard}"
        for text, guard in texts[1].items():
            if text not in texts[0]:
                yield f"must hold: {guard}"


def _paths(paths: dict[tuple[Path, Path], int]) -> Iterator[str]:
    """Yield modules with another path, those in one that is called otherwise as that one."""
    found: Counter[tuple[Path, Path]] = Counter()
    for (one, other), count in paths.items():
        same = 0
        while same < min(len(one), len(other)) and one[-1 - same] == other[-1 - same]:
            same += 1
        found[one[: len(one) - same], other[: len(other) - same]] += count
    for (one, other), count in found.items():
        nodes = f"{count:,} node{'' if count == 1 else 's'}"
        yield f"module {'.'.join(one) or '(none)'} → {'.'.join(other) or '(none)'}: {nodes}"


def _held_alike(found: Matching) -> Iterator[tuple[Value, Value]]:
    seen: set[Value] = set()
    for one, other in found.nodes.items():
        facts = found.before.facts[one].reads, found.after.facts[other].reads
        for (_, mine), (_, theirs) in zip(*facts, strict=False):
            alike = mine in found.before.kinds and theirs in found.after.kinds and mine.name == theirs.name
            if alike and mine not in seen:
                seen.add(mine)
                yield mine, theirs

"""Measuring a graph: how long each node runs, and how the numbers are spread that it gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from workbench.base.quantized_array import QuantizedArray
from workbench.base.random import fork_rng
from workbench.core.dispatch import no_grad
from workbench.core.value import Value as Tensor
from workbench.graph.blocks import Node
from workbench.graph.interpreter import run_apart
from workbench.graph.ir import Graph

__all__ = ["BINS", "NodeProfile", "Profile", "Spread", "profile"]

BINS = 32
"""Bins of a histogram."""


@dataclass(frozen=True)
class Spread:
    """How the numbers of a value are spread; those that are infinite or not a number are counted only."""

    count: int
    low: float
    high: float
    mean: float
    std: float
    zeros: float
    """Share of zeros."""
    broken: int
    """How many are infinite or not a number."""
    bins: tuple[int, ...]
    """Counts in equal bins from `low` to `high`."""


@dataclass(frozen=True)
class NodeProfile:
    """What one node did in a run."""

    calls: int
    """How often it ran: in a loop once a turn, in a function once a call."""
    seconds: float
    """How long it ran in all these calls: the median over runs. What its blocks or its function took is part of it."""
    spread: Spread | None
    """Of the first value that it gave last; None where that is no tensor of real numbers, or has none."""


@dataclass(frozen=True)
class Profile:
    """What the nodes of a graph did when it was measured; nodes that never ran, as in a branch, are missing."""

    nodes: Mapping[Node, NodeProfile]
    seconds: float
    """How long the nodes outside of blocks and functions took together."""


def profile(graph: Graph, *inputs: Any, runs: int = 3) -> Profile:
    """Run `graph` on `inputs` a few times, one op after the other, and return what each node did.

    Nothing is changed by it: not the parameters that the graph updates, nor the default generator. A first run, which
    is not counted, warms up and looks at the numbers.

    Raises `ValueError` where `runs` is less than 1, and what running the graph raises.

    >>> import workbench as wb
    >>> graph = wb.graph.trace(lambda x: (x * 2).relu(), wb.ones(N=2))
    >>> made = profile(graph, wb.tensor([-1.0, 3.0], names=("N",)))
    >>> [(node.name, one.calls, one.spread.high) for node, one in made.nodes.items()]
    [('mul', 1, 6.0), ('relu', 1, 6.0)]
    """
    if runs < 1:
        raise ValueError(f"a graph is measured in one run at least, got runs={runs}")
    calls: Counter[Node] = Counter()
    spreads: dict[Node, Spread | None] = {}
    seconds: dict[Node, list[float]] = {}

    def look(node: Node, results: Any, took: float) -> None:
        calls[node] += 1
        spreads[node] = spread_of(results[0] if len(node.outputs) > 1 else results)

    with fork_rng(), no_grad():
        run_apart(graph, *inputs, observe=look)
    for _ in range(runs):
        whole: dict[Node, float] = {}

        def measure(node: Node, results: Any, took: float, whole: dict[Node, float] = whole) -> None:
            whole[node] = whole.get(node, 0.0) + took

        with fork_rng(), no_grad():
            run_apart(graph, *inputs, observe=measure)
        for node, took in whole.items():
            seconds.setdefault(node, []).append(took)
    # By what ran in both: a branch that depends on what is drawn may run in one only.
    nodes = {
        node: NodeProfile(calls[node], median(took), spreads.get(node)) for node, took in seconds.items()
    }
    own = set(graph.nodes)
    return Profile(nodes, sum(one.seconds for node, one in nodes.items() if node in own))


def spread_of(value: Any) -> Spread | None:
    """Return how the numbers of a tensor are spread; None for what is none, is empty, or has complex numbers.

    >>> import workbench as wb
    >>> spread_of(wb.tensor([0.0, 1.0, float("nan")])).broken
    1
    """
    if not isinstance(value, Tensor):
        return None
    payload = value.payload
    # Codes stand for numbers, and these are what a person asks for.
    numbers = payload.dequantize() if isinstance(payload, QuantizedArray) else payload
    if not isinstance(numbers, np.ndarray) or numbers.size == 0 or numbers.dtype.kind == "c":
        return None
    flat = numbers.reshape(-1).astype(np.float64, copy=False)
    finite = flat[np.isfinite(flat)]
    if finite.size == 0:
        return Spread(flat.size, 0.0, 0.0, 0.0, 0.0, 0.0, flat.size, (0,) * BINS)
    low, high = float(finite.min()), float(finite.max())
    # All in one place: NumPy would make a range of its own around it, and so do we, with the place in its middle.
    room = (low, high) if low < high else (low - 0.5, high + 0.5)
    bins, _ = np.histogram(finite, BINS, room)
    return Spread(
        flat.size,
        *room,
        float(finite.mean()),
        float(finite.std()),
        float((finite == 0).mean()),
        int(flat.size - finite.size),
        tuple(map(int, bins)),
    )

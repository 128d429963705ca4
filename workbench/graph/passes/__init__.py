"""Passes: functions from a graph to a graph that computes the same. None changes the graph it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workbench.base.public import words
from workbench.graph.ir import Graph
from workbench.graph.passes.batch_products import batch_products
from workbench.graph.passes.channels_last import channels_last
from workbench.graph.passes.common_subexpressions import common_subexpressions
from workbench.graph.passes.constant_fold import constant_fold
from workbench.graph.passes.dead_code import dead_code
from workbench.graph.passes.differentiate import differentiate
from workbench.graph.passes.freeze import freeze
from workbench.graph.passes.fuse_conv_batch_norm import fuse_conv_batch_norm
from workbench.graph.passes.fuse_convolutions import fuse_convolutions
from workbench.graph.passes.fuse_elementwise import fuse_elementwise
from workbench.graph.passes.inline import inline
from workbench.graph.passes.lower_precision import lower_precision
from workbench.graph.passes.normal_forms import normal_forms
from workbench.graph.passes.outline import outline
from workbench.graph.passes.peephole import peephole
from workbench.graph.passes.pool_before_relu import pool_before_relu
from workbench.graph.passes.unroll import unroll
from workbench.graph.spec import check

__all__ = [
    "Step",
    "batch_products",
    "channels_last",
    "common_subexpressions",
    "constant_fold",
    "dead_code",
    "differentiate",
    "freeze",
    "fuse_conv_batch_norm",
    "fuse_convolutions",
    "fuse_elementwise",
    "inline",
    "lower_precision",
    "normal_forms",
    "outline",
    "peephole",
    "pool_before_relu",
    "run_passes",
    "unroll",
]

Pass = Callable[[Graph], Graph]


@dataclass(frozen=True)
class Step:
    """What one pass did: the graph before and after it."""

    name: str
    before: Graph
    after: Graph


def run_passes(graph: Graph, passes: Sequence[Pass]) -> list[Step]:
    """Run passes in order, check every result, and return each step; the last `after` is the outcome."""
    steps = []
    for one in passes:
        # After each and not at the end: an error then names the pass that made it.
        after = check(one(graph))
        steps.append(Step(one.__name__, graph, after))
        graph = after
    return steps


__getattr__, __dir__ = words(__name__, __all__)

"""Passes: functions from a graph to a graph that computes the same. None changes the graph it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from workbench.base import renderer_lookup
from workbench.base.public import words
from workbench.base.seams import Seam
from workbench.graph.ir import Graph
from workbench.graph.passes.batch_products import batch_products
from workbench.graph.passes.channels_last import channels_last
from workbench.graph.passes.common_subexpressions import common_subexpressions
from workbench.graph.passes.constant_fold import constant_fold
from workbench.graph.passes.dead_code import dead_code
from workbench.graph.passes.differentiate import differentiate
from workbench.graph.passes.freeze import freeze
from workbench.graph.passes.fuse_codes import fuse_codes
from workbench.graph.passes.fuse_conv_batch_norm import fuse_conv_batch_norm
from workbench.graph.passes.fuse_convolutions import fuse_convolutions
from workbench.graph.passes.fuse_elementwise import fuse_elementwise
from workbench.graph.passes.inline import inline
from workbench.graph.passes.lower_precision import lower_precision
from workbench.graph.passes.normal_forms import normal_forms
from workbench.graph.passes.outline import outline
from workbench.graph.passes.peephole import peephole
from workbench.graph.passes.permute_later import permute_later
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
    "fuse_codes",
    "fuse_conv_batch_norm",
    "fuse_convolutions",
    "fuse_elementwise",
    "inline",
    "lower_precision",
    "normal_forms",
    "outline",
    "peephole",
    "permute_later",
    "pool_before_relu",
    "run_passes",
    "step",
    "unroll",
]

DIFF = Seam("comparing two graphs", "workbench.graph")

Pass = Callable[[Graph], Graph]


@dataclass(frozen=True, eq=False)
class Step:
    """What one pass did: the graph before and after it; in a notebook the picture of both, in text their difference."""

    name: str
    before: Graph
    after: Graph

    @cached_property
    def diff(self) -> Any:
        """What the pass changed, a `workbench.graph.GraphDiff`."""
        return DIFF(self.before, self.after)

    def __str__(self) -> str:
        return f"{self.name}: {self.diff}"

    def __repr__(self) -> str:
        return f"<step {self.name} of {self.before.name}: {self.diff.summary()}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return renderer_lookup.mimebundle(self)


def step(graph: Graph, one: Callable[..., Graph], *arguments: Any, **keywords: Any) -> Step:
    """Run a pass on `graph` with what else it takes, check the result, and return both: in a notebook a picture.

    >>> import workbench as wb
    >>> graph = wb.graph.trace(lambda x: (x * 1).exp() + x.exp(), wb.ones(2))
    >>> print(step(graph, wb.graph.passes.peephole))
    peephole: graph → graph: 1 removed · 3 the same
    - mul  %mul  ...
    """
    # After each and not at the end of several: an error then names the pass that made it.
    return Step(_name(one), graph, check(one(graph, *arguments, **keywords)))


def run_passes(graph: Graph, passes: Sequence[Pass]) -> list[Step]:
    """Run passes in order, check every result, and return each step; the last `after` is the outcome."""
    steps: list[Step] = []
    for one in passes:
        steps.append(step(graph, one))
        graph = steps[-1].after
    return steps


def _name(one: Any) -> str:
    # With some of its arguments given beforehand it is the same pass.
    while isinstance(one, partial):
        one = one.func
    return getattr(one, "__name__", None) or type(one).__name__


__getattr__, __dir__ = words(__name__, __all__)

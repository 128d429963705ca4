"""Grow a program step by step: PyTorch runs along, so that each step is made for the tensors that are there by then."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tests.peers.random_programs.defined import TURNS, defined
from tests.peers.random_programs.differentiation import backward, grad, hook
from tests.peers.random_programs.grower import Choose, Grower, Plan
from tests.peers.random_programs.vocabulary import CHANGES, RARE, RESULTS, VIEWS
from tests.random_programs.program import Machine, Step

__all__ = ["grow"]

LONGEST = 14
"""Steps of a program beside its first leaf and its last backward."""


def grow(choose: Choose) -> tuple[list[Step], Machine]:
    """Return a program, and PyTorch's run of it."""
    grower = Grower(choose)
    grower.leaf()
    for _ in range(2 + choose(LONGEST)):
        if grower.machine.ended or grower.machine.broken:
            break
        _step(grower)
    if not grower.machine.ended:
        values = grower.machine.values
        ends = tuple([i for i in range(len(values)) if grower.holds(values[i], lambda x: x.requires_grad)])
        if ends:
            grower.add("backward", ends[-4:], (False, False))
    return grower.steps, grower.machine


def _step(g: Grower) -> None:
    """One step more, if one suits."""
    kind = g.choose(24)
    if kind < 8:
        _word(g, VIEWS)
    elif kind < 14:
        _word(g, CHANGES)
    elif kind < 18:
        _word(g, RESULTS)
    elif kind == 18:
        g.leaf()
    elif kind == 19:
        hook(g)
    elif kind == 20:
        backward(g)
    elif kind == 21:
        grad(g)
    elif kind == 22:
        _word(g, RARE)
    else:
        _word(g, CHANGES)


def _word(g: Grower, words: dict[str, Callable[[Grower], Plan | None]]) -> None:
    """A word of a table."""
    names = list(words)
    name = names[g.choose(len(names))]
    plan = words[name](g)
    if plan is None or not defined(g, name, plan[0]):
        return
    g.add(name, *plan, no_grad=g.often(10) and not (name in TURNS and _first(g, plan).requires_grad))
    if name in TURNS:
        g.turned.add(plan[0][0])


def _first(g: Grower, plan: Plan) -> torch.Tensor:
    """Return the first operand of a plan."""
    return g.machine.values[plan[0][0]]

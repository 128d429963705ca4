"""Which steps have one right answer: what PyTorch leaves open, or says otherwise now and then, is not asked."""

from __future__ import annotations

import torch

from tests.peers.random_programs.grower import Grower
from tests.peers.random_programs.relations import borrows, dense, is_complex, shares, spread

__all__ = ["TURNS", "defined"]

TURNS = ("t_", "transpose_", "squeeze_", "unsqueeze_")
"""Changes of a tensor's own dims."""
ON_REPEATED = (
    "masked_fill_",
    "index_fill_",
    "index_put_",
    "matmul_out",
    "fill_tensor_",
    "set",
    "set_number",
    "augment",
)
"""Changes of memory that entries share which PyTorch lets through and warns that it will not."""
CONJUGATES = ("conj", "H", "mH", "adjoint")
"""Views whose numbers lie nowhere: what reads one while its memory is written is not seen by PyTorch's check."""


def defined(g: Grower, name: str, operands: tuple[int, ...]) -> bool:
    """Say whether it is defined what a step does to a tensor, or what PyTorch says of it."""
    values = g.machine.values
    if name in TURNS:
        x = values[operands[0]]
        if any(shares(one, x) and is_complex(one) for one in values):
            return False  # PyTorch makes a turned view of complex numbers again without the turn
        return not x.retains_grad and not any(
            g.holds(one, lambda one: one.is_leaf and one.grad is x) for one in values
        )
    if name in ("addcmul", "lerp") and any(g.holds(values[i], borrows) for i in operands):
        return False  # several ops here: what they save is looked at although no gradient goes on
    if not name.endswith(("_", "_out")) and name not in ("set", "set_number", "augment", "iadd", "imul"):
        return True
    several = [values[i] for i in operands]
    target = several.pop(-1 if name.endswith("_out") else 0)
    if not spread(target) or _unseen(g, target):
        return False
    if name == "cat_out" and not target.numel():
        return False
    repeated = any(step == 0 and size > 1 for step, size in zip(target.stride(), target.shape, strict=True))
    if repeated and (name in ON_REPEATED or target.is_conj()):
        return False
    return all(_readable(g, name, one, target, several) for one in several)


def _unseen(g: Grower, target: torch.Tensor) -> bool:
    """Say whether a change of this memory goes past the tape: what is read of it later depends on the formula."""
    values = g.machine.values
    around = any(
        step.word == "set_data" or (step.word == "data" and shares(values[step.operands[0]], target))
        for step in g.steps
    )
    return around and any(
        shares(one, target) and g.holds(one, lambda one: one.requires_grad) for one in values
    )


def _readable(
    g: Grower, name: str, one: torch.Tensor, target: torch.Tensor, several: list[torch.Tensor]
) -> bool:
    """Say whether `one` can be read while `target` is written."""
    if borrows(one) and any(x is target for x in several):
        return False
    if not shares(one, target):
        return True
    if name in ("sum_out", "matmul_out") or any(step.word in CONJUGATES for step in g.steps):
        return False
    if target.shape == one.shape and target.stride() != one.stride():
        return False
    return one is target or (dense(one) and dense(target))

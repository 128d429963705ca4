"""Random programs of named values never make a name stand twice; those that name nothing are never told of names."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.programs.random_steps import REFUSALS, STEPS, run, values_in
from workbench.core.op import ops

NAMES = ("a", "b", "c", "d", "e")
SPEAKS_OF_NAMES = ("rename", "align_", "misspelling", "refine_names", "names", "called", "wb.contract")


def drawn_names(draw: np.random.Generator, ndim: int) -> tuple[str | None, ...]:
    """Return names of which none stands twice, some of them missing."""
    chosen = [NAMES[i] for i in draw.permutation(len(NAMES))[:ndim]]
    return tuple(None if draw.random() < 0.25 else name for name in chosen) + (None,) * (ndim - len(chosen))


def check(step: str, value: Any) -> None:
    names = value.names
    assert len(names) == len(value.payload.shape), (step, names)
    assert all(count == 1 for name, count in Counter(names).items() if name is not None), (step, names)


@pytest.mark.parametrize("name", sorted(op.name for op in ops))
def test_no_op_makes_a_name_stand_twice(name: str) -> None:
    op, draw = getattr(ops, name), np.random.default_rng(len(name))
    for sample in op.samples():
        for _ in range(15):
            inputs = [
                wb.from_numpy(one, names=drawn_names(draw, one.ndim)) if isinstance(one, np.ndarray) else one
                for one in sample.inputs
            ]
            try:
                found = values_in(op(*inputs, **sample.params))
            except REFUSALS:
                continue
            for one in found:
                check(name, one)


@pytest.mark.parametrize("seed", range(40))
def test_no_program_makes_a_name_stand_twice(seed: int) -> None:
    draw = np.random.default_rng(seed)
    values = []
    for _ in range(6):
        sizes = [int(size) for size in draw.choice((2, 2, 3), int(draw.integers(1, 4)))]
        values.append(
            wb.from_numpy(draw.normal(size=sizes).astype(np.float32), names=drawn_names(draw, len(sizes)))
        )
    made = run(draw, values, 60, lambda step, error: None)
    assert made
    for step, one in made:
        check(step, one)


def weights(draw: np.random.Generator) -> list[Any]:
    """Return parameters and buffers, what layers make of values without names, and such values."""
    layers = [
        wb.nn.Linear(3, 3), wb.nn.Linear(2, 3), wb.nn.Embedding(3, 2), wb.nn.LayerNorm(3), wb.nn.BatchNorm1d(3),
        wb.nn.GRUCell(3, 3), wb.nn.Conv1d(2, 3, 2), wb.nn.MultiheadAttention(2, 1), wb.nn.PReLU(3),
    ]  # fmt: skip
    x = wb.from_numpy(draw.normal(size=(2, 3)).astype(np.float32))
    held = [
        one for layer in layers for one in (*layer.parameters(), *layer.buffers()) if one.dtype is wb.float32
    ]
    results = [
        layers[0](x),
        layers[2](wb.tensor([[0, 2], [1, 1]])),
        layers[3](x),
        layers[5](x),
        layers[6](wb.ones(1, 2, 4)),
    ]
    chosen = [held[i] for i in draw.permutation(len(held))[:8]]
    return [*chosen, *results, x]


@pytest.mark.parametrize("seed", range(40))
def test_a_program_that_names_nothing_is_never_told_of_names(seed: int) -> None:
    draw = np.random.default_rng(seed)

    def refused(step: str, error: Exception) -> None:
        if isinstance(error, wb.DimensionError) and step != "align_as":  # which asks for names itself
            told = [word for word in SPEAKS_OF_NAMES if word in str(error)]
            assert not told, (step, str(error))
            assert not any(name for operand in error.operands for name in operand.names), (step, str(error))

    made = run(draw, weights(draw), 60, refused)
    assert len(made) > 5
    assert not [(step, one.names) for step, one in made if one.has_names()]


def test_most_steps_are_taken() -> None:
    taken: Counter[str] = Counter()
    for seed in range(40):
        draw = np.random.default_rng(seed)
        taken.update(step for step, _ in run(draw, weights(draw), 60, lambda step, error: None))
    assert len(taken) > 0.9 * len(STEPS), set(STEPS) - set(taken)

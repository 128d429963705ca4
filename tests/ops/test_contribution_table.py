"""What the table says of contributions, held to for every op: it is said, and shares add up to what there was."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest

from workbench.attribution.propagation.composites import composite_of
from workbench.attribution.propagation.differences import Explained, Reference
from workbench.attribution.propagation.relevance import Relevance
from workbench.autograd import grad
from workbench.base.errors import AutogradError
from workbench.core import Absent, Op, Sample, table
from workbench.core.contribution import Contribution, Kind
from workbench.core.dispatch import enable_grad, interpreting, no_grad
from workbench.core.value import Value, new

SHARED = [
    op for op in table() if isinstance(op.contribution, Contribution) and op.contribution.kind != "ends"
]

KINKED = {"cdist": 1e-4}
"""Of what has kinks on the straight line the mean gradient is only nearly complete: by how much of what is shared."""


@pytest.mark.parametrize("op", table(), ids=lambda op: op.name)
def test_every_op_says_how_it_is_shared_out(op: Op) -> None:
    found = op.contribution
    if isinstance(found, Absent):
        assert len(found.reason) > 10
        return
    assert found is not None and found.kind in get_args(Kind)
    assert (found.steps is not None) == (found.kind == "composed")


def is_real(one: Any) -> bool:
    return isinstance(one, np.ndarray) and one.dtype == np.float64 and one.size > 0


def other(op: Op, array: Any, i: int) -> Any:
    """References near the values: inside the domain of the op, and another number at nearly each place."""
    draw = np.random.default_rng(i).uniform(0.9, 0.99, array.shape)
    # Matrices stay what they are, such as symmetric or triangular.
    return np.asarray(array * (0.93 if op.name.startswith("linalg") else draw))


def outputs(results: Any) -> list[Any]:
    several = results if isinstance(results, tuple) else (results,)
    return [one for one in several if one.payload.dtype.kind == "f"]


def both_runs(op: Op, sample: Sample) -> tuple[list[Any], list[Any], list[Any], list[Any], list[Any]]:
    """Return values, references, outputs of both, and what depends on the values."""
    explained = Explained("DeepLift")
    reference = Reference(explained)
    names = sample.names or (None,) * len(sample.inputs)

    def values(arrays: Any) -> list[Any]:
        return [
            (new(one, name).requires_grad_() if is_real(one) else new(one, name))
            if isinstance(one, np.ndarray)
            else one
            for one, name in zip(arrays, names, strict=True)
        ]

    here = values(sample.inputs)
    there = values([other(op, one, i) if is_real(one) else one for i, one in enumerate(sample.inputs)])
    leaves = [one for one in here if isinstance(one, Value) and one._requires_grad]
    explained.follow(leaves)
    reference.follow([one for one in there if isinstance(one, Value) and one._requires_grad])
    with enable_grad():
        with interpreting(explained):
            after = outputs(op(*here, **sample.params))
        with interpreting(reference):
            before = outputs(op(*there, **sample.params))
        reference.finish()
    return here, there, after, before, leaves


@pytest.mark.parametrize("op", SHARED, ids=lambda op: op.name)
def test_shares_add_up(op: Op) -> None:
    for sample in op.samples():
        if not any(is_real(one) for one in sample.inputs):
            continue
        here, there, after, before, leaves = both_runs(op, sample)
        with no_grad():
            plain = outputs(
                op(
                    *[new(one.payload, one._names) if isinstance(one, Value) else one for one in here],
                    **sample.params,
                )
            )
        for one, like in zip(after, plain, strict=True):
            assert one._names == like._names
            np.testing.assert_allclose(one.payload, like.payload, rtol=1e-9, atol=1e-12)
        ends = [one for one in after if one._requires_grad]
        if not ends:
            continue
        weights = [np.random.default_rng(i).normal(size=one.payload.shape) for i, one in enumerate(after)]
        seeds = [
            new(weight, one._names) for weight, one in zip(weights, after, strict=True) if one._requires_grad
        ]
        found = grad(ends, leaves, seeds, allow_unused=True)
        starts = [one for one in there if isinstance(one, Value) and one._requires_grad]
        given = sum(
            float((m.payload * (x.payload - b.payload)).sum())
            for m, x, b in zip(found, leaves, starts, strict=True)
            if m is not None
        )
        parts = [
            w * (y.payload - b.payload)
            for w, y, b in zip(weights, after, before, strict=True)
            if y._requires_grad
        ]
        wanted = sum(float(one.sum()) for one in parts)
        size = sum(float(np.abs(one).sum()) for one in parts)
        assert abs(given - wanted) <= KINKED.get(op.name, 1e-8) * max(size, 1e-3), (op.name, given, wanted)


def conserves(op: Op, sample: Sample) -> bool:
    """Say whether what comes out is made of one value each, and no number stands beside them."""
    rule = op.contribution
    assert isinstance(rule, Contribution)
    alone = sum(is_real(one) for one in sample.inputs) == 1
    return rule.kind == "elementwise" and alone and rule.relevance is None


def shared(op: Op, values: list[Any], sample: Sample, leaves: list[Any]) -> list[Any]:
    """Return the outputs of a run that shares out relevance; none where that is refused by name."""
    run = Relevance("LRP", composite_of("epsilon", "LRP"))
    run.follow(leaves)
    with enable_grad(), interpreting(run):
        try:
            return outputs(op(*values, **sample.params))
        except AutogradError as error:
            if "no rule for" not in str(error):
                raise
            return []


@pytest.mark.parametrize("op", SHARED, ids=lambda op: op.name)
def test_relevance_is_conserved_or_refused(op: Op) -> None:
    for sample in op.samples():
        if not any(is_real(one) for one in sample.inputs):
            continue
        names = sample.names or (None,) * len(sample.inputs)
        values = [
            new(one, name) if isinstance(one, np.ndarray) else one
            for one, name in zip(sample.inputs, names, strict=True)
        ]
        pairs = zip(values, sample.inputs, strict=True)
        leaves = [value.requires_grad_() for value, one in pairs if is_real(one)]
        ends = [one for one in shared(op, values, sample, leaves) if one._requires_grad][:1]
        if not ends:
            continue
        relevance = np.asarray(np.random.default_rng(0).normal(size=ends[0].payload.shape))
        found = grad(ends, leaves, [new(relevance, ends[0]._names)], allow_unused=True)
        arrived = [one.payload for one in found if one is not None]
        assert all(np.isfinite(one).all() for one in arrived), op.name
        if conserves(op, sample):
            np.testing.assert_allclose(
                sum(one.sum() for one in arrived), relevance.sum(), rtol=1e-6, atol=1e-8
            )

"""Every op of the table: a batch gives what its entries give, and forward mode is the transpose of reverse mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from workbench.autograd.engine import grad
from workbench.autograd.forward import Forward
from workbench.core.batching import Batching
from workbench.core.dispatch import apply, interpreting
from workbench.core.op import Op, Sample, table
from workbench.core.value import Value, new
from workbench.testing.checks import inputs_of

BATCH = 3
UP_TO_SIGN = ("linalg_eig", "linalg_eigh", "linalg_svd")
"""Their vectors are known up to a sign, which another algorithm for a batch may choose otherwise."""


def ids(op: Op) -> str:
    return op.name


def several(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def entries_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A batch of values that differ a little: still in the op's domain."""
    if array.dtype.kind not in "fc":
        return np.stack([array] * BATCH)
    return np.stack([array, array * 1.01, array * 0.98]).astype(array.dtype)


def combinations(count: int) -> list[tuple[int, ...]]:
    """All inputs batched together, and each alone."""
    return [tuple(range(count)), *(((i,) for i in range(count)) if count > 1 else ())]


def check_batch(op: Op, sample: Sample) -> None:
    inputs = inputs_of(sample)
    tensors = [
        i for i, one in enumerate(inputs) if isinstance(one, Value) and isinstance(one.payload, np.ndarray)
    ]
    for chosen in combinations(len(tensors)):
        mapped = {tensors[k] for k in chosen}
        batches = {i: entries_of(inputs[i].payload) for i in mapped}
        batching = Batching(BATCH)
        entries = tuple(
            batching.wrap(new(batches[i]), one._names) if i in mapped else one for i, one in enumerate(inputs)
        )
        if any(hasattr(one.payload, "quantizer") for one in several(apply(op, *inputs, **sample.params))):
            return  # a quantized tensor has one scale for all of a batch
        with interpreting(batching):
            together = several(apply(op, *entries, **sample.params))
        for k in range(BATCH):
            alone = several(
                apply(
                    op,
                    *[
                        new(np.array(batches[i][k], order="C"), one._names) if i in mapped else one
                        for i, one in enumerate(inputs)
                    ],
                    **sample.params,
                )
            )
            for got, expected in zip(together, alone, strict=True):
                assert got.names == expected.names
                assert got.shape == expected.shape
                assert got.dtype == expected.dtype
                values = got.payload.value.payload
                assert values.shape == (BATCH, *expected.shape)
                if op.name in UP_TO_SIGN:
                    values, expected = np.abs(values), new(np.abs(expected.payload))
                np.testing.assert_allclose(values[k], expected.payload, rtol=1e-6, atol=1e-8)


SPARSE = {"sparse_coo", "sparse_csr"}
"""Ops whose results do not stack."""


@pytest.mark.parametrize("op", table(), ids=ids)
def test_a_batch_gives_what_its_entries_give(op: Op) -> None:
    for sample in op.samples():
        # What takes nothing is the same for all entries.
        if sample.inputs and all(isinstance(one, np.ndarray | float | int) for one in sample.inputs):
            if op.name in SPARSE:
                with pytest.raises(TypeError, match="sparse tensors have no batch dim"):
                    check_batch(op, sample)
                continue
            check_batch(op, sample)


def random_like(value: Any, seed: int) -> Any:
    generator = np.random.default_rng(seed)
    array = generator.uniform(-1, 1, value.shape)
    if value.payload.dtype.kind == "c":
        array = array + 1j * generator.uniform(-1, 1, value.shape)
    return new(np.asarray(array, value.payload.dtype))


def product(a: Any, b: Any) -> float:
    return float(np.sum((np.conj(a.payload) * b.payload).real))


@pytest.mark.parametrize("op", [op for op in table() if op.vjp], ids=ids)
def test_forward_mode_is_the_transpose_of_reverse_mode(op: Op) -> None:
    for sample in op.samples():
        inputs = inputs_of(sample, requires_grad=True)
        wanted = [i for i, one in enumerate(inputs) if isinstance(one, Value) and one._requires_grad]
        if not wanted:
            continue
        outs = several(apply(op, *inputs, **sample.params))
        differentiable = [
            k for k, out in enumerate(outs) if out._requires_grad and out.payload.dtype.kind in "fc"
        ]
        if not differentiable:
            continue
        seeds = [random_like(outs[k], 10 + k) for k in differentiable]
        gradients = grad(
            [outs[k] for k in differentiable], [inputs[i] for i in wanted], seeds, allow_unused=True
        )
        for i, gradient in zip(wanted, gradients, strict=True):
            tangent = random_like(inputs[i], i)
            level = Forward()
            moving = tuple(
                level.make(one.detach(), tangent, one._names)
                if j == i
                else one.detach()
                if isinstance(one, Value)
                else one
                for j, one in enumerate(inputs)
            )
            with interpreting(level):
                results = several(apply(op, *moving, **sample.params))
            forwards = 0.0
            for k, seed in zip(differentiable, seeds, strict=True):
                value, direction = level.parts(results[k])
                assert value.names == outs[k].names
                np.testing.assert_allclose(value.payload, outs[k].payload)
                if direction is not None:
                    assert direction.shape == value.shape
                    assert direction.dtype == value.dtype
                    forwards += product(seed, direction)
            backwards = 0.0 if gradient is None else product(gradient, tangent)
            np.testing.assert_allclose(forwards, backwards, rtol=1e-7, atol=1e-9)

"""Every op of the table with names on every input: what comes out is what its rule says, and a dim without a name is
one that the op made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import DimensionError, Tensor
from workbench.base.dims import Dims
from workbench.base.quantized_array import QuantizedArray
from workbench.base.sparse_array import SparseArray
from workbench.core import Op, Sample, table
from workbench.core.dispatch import apply
from workbench.core.op import ops
from workbench.testing.checks import inputs_of

MADE = {
    **dict.fromkeys(
        ("full", "arange", "linspace", "runs", "tri", "eye", "pad_places", "grid_points"),
        "nothing comes in that could have a name",
    ),
    # Dims that no input has.
    "view_as_real": "the dim of real and imaginary parts is new",
    "unfold": "the dim within windows is new",
    "unfold_patches": "channels and places within windows are one new dim, windows another",
    "fold": "channels and sizes of the image are put together from other dims",
    "expand": "leading dims are new",
    "repeat": "leading dims are new",
    "one_hot": "the dim of classes is new",
    "diagonal": "the diagonal runs along two dims, and has neither's name",
    "diagonal_embed": "rows and columns are new",
    "reshape": "a dim that is no longer what it was has no name",
    "flatten": "several dims become one; out_dim= names it",
    "embedding": "a number without dims has no name that says that names are wanted",
    "quantized_embedding": "a number without dims has no name that says that names are wanted",
    "quantized_embedding_bag": "bags are new where places say where they begin",
    "index": "None in a key makes a dim",
    "as_strided": "dims are stated by memory, not by what they were",
    "group_norm": "the statistics have a dim of groups",
    "histc": "bins are new",
    "histogram": "bins are new",
    "sample_at": "samples along a dim are new places",
    "sparse_coo": "places and values have no names of dims; the factory puts the names on",
    "sparse_csr": "places and values have no names of dims; the factory puts the names on",
    "sparse_values": "the dim of values is new",
    "sparse_product": "rows are those of the places; the rule of matmul puts the names on",
    # Two dims of a matrix are of one kind, and a tensor has a name once.
    "cdist": "rows and columns may both be points of one name",
    "matmul": "an operand without names has none to give",
    "quantized_matmul": "an operand without names has none to give",
    "linalg_cholesky": "one of the two dims of a square factor is new",
    "linalg_cholesky_inverse": "one of the two dims of a square matrix is new",
    "linalg_lu_factor": "pivoting mixes the rows",
    "linalg_ldl_factor": "pivoting mixes rows and columns",
    "linalg_qr": "the dim between the factors is new",
    "geqrf": "reflectors are new",
    "linalg_eigh": "eigenvalues are new",
    "linalg_eigvalsh": "eigenvalues are new",
    "linalg_eig": "eigenvalues are new",
    "linalg_eigvals": "eigenvalues are new",
    "linalg_svd": "singular values are new",
    "linalg_svdvals": "singular values are new",
    "linalg_lstsq": "the dim between the operands ends; singular values are new",
    "permutation_matrix": "positions before and after are new",
    # What gradients are made of: rules reason by position, and the engine puts names on what comes out.
    "conv1d_weight_gradient": "a gradient is given its names by the engine",
    "conv2d_weight_gradient": "a gradient is given its names by the engine",
    "conv3d_weight_gradient": "a gradient is given its names by the engine",
    "cdist_gradient": "a gradient is given its names by the engine",
    "embedding_gradient": "a gradient is given its names by the engine",
    "embedding_share": "a gradient is given its names by the engine",
    "bag_of": "a gradient is given its names by the engine",
    "bag_max": "bags are new",
    "lstm_gradient": "steps and batch together are one new dim",
    "gru_gradient": "steps and batch together are one new dim",
    "nll_loss_gradient": "a gradient is given its names by the engine",
    "ctc_loss_gradient": "a gradient is given its names by the engine",
    "sample_at_input_gradient": "a gradient is given its names by the engine",
    "sample_at_weight_gradient": "a gradient is given its names by the engine",
    "add_windows": "a gradient is given its names by the engine",
    "strided_sum": "a gradient is given its names by the engine",
    "scatter_add": "zeros that are added to; Tensor.scatter_add puts the names on",
    "pick_add": "zeros that are added to; the functions put the names on",
    "place": "zeros that are written to; the functions put the names on",
}
"""Ops of which some dims come out without a name though every dim goes in with one, and why."""


def counts(sample: Sample) -> list[int | None]:
    return [
        one.ndim if isinstance(one, np.ndarray | QuantizedArray | SparseArray) else None
        for one in sample.inputs
    ]


def namings(sample: Sample) -> Iterator[tuple[tuple[str, ...] | None, ...]]:
    """Names for every input: all different; then the same from the right; then on the first input only."""
    distinct = tuple(
        None if ndim is None else tuple(f"{chr(97 + i)}{k}" for k in range(ndim))
        for i, ndim in enumerate(counts(sample))
    )
    yield distinct
    yield tuple(
        None if ndim is None else tuple(f"d{ndim - k}" for k in range(ndim)) for ndim in counts(sample)
    )
    yield (*distinct[:1], *(None for _ in distinct[1:]))


def several(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def run(op: Op, sample: Sample) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """Return inputs and results of a call of `op` whose inputs have names, and the sample with these names."""
    refusal: Exception | None = None
    for names in namings(sample):
        inputs = inputs_of(Sample(sample.inputs, sample.params, names))
        try:
            return inputs, several(apply(op, *inputs, **sample.params)), names
        except DimensionError as error:
            refusal = error
    raise AssertionError(f"{op.name} takes no names at all: {refusal}")


@pytest.mark.parametrize("op", table(), ids=lambda op: op.name)
def test_names_of_a_call_are_those_of_the_rule_and_of_the_graph(op: Op) -> None:
    made = False
    for sample in op.samples():
        inputs, results, names = run(op, sample)
        dims = op.dims(*[_dims(one) for one in inputs], **sample.params)
        ruled = dims if op.outputs > 1 else (dims,)
        assert [one.names for one in results] == [tuple(one.names) for one in ruled]

        tensors = [one for one in inputs if isinstance(one, Tensor)]

        def call(*given: Any, inputs: tuple[Any, ...] = inputs, sample: Sample = sample) -> Any:
            rest = iter(given)
            return apply(
                op, *[next(rest) if isinstance(one, Tensor) else one for one in inputs], **sample.params
            )

        if "random" not in op.properties:
            graph = wb.graph.trace(call, *tensors)
            assert [value.type.dims.names for value in graph.outputs] == [one.names for one in results]
        for one in results:
            made = made or (
                None in one.names and all(given is None or None not in given for given in names[:1])
            )
    assert not made or op.name in MADE, f"{op.name} drops a name: if it must, say why in this file"
    assert made or op.name not in MADE, f"{op.name} drops no name any more: take its reason out of this file"


def _dims(one: Any) -> Any:
    return Dims(one.names, one.shape) if isinstance(one, Tensor) else Dims((), ())


def test_the_reasons_are_of_ops_that_there_are() -> None:
    assert [name for name in MADE if name not in ops] == []

"""Every op of the table, on every one of its promises."""

from __future__ import annotations

import math

import pytest

import workbench  # noqa: F401  fills the table
from workbench.base.dims import Dims, unnamed
from workbench.core import Op, table
from workbench.testing import check_op


@pytest.mark.parametrize("op", table(), ids=lambda op: op.name)
def test_op(op: Op) -> None:
    check_op(op)


@pytest.mark.parametrize("op", table(), ids=lambda op: op.name)
def test_record_is_complete(op: Op) -> None:
    assert op.doc.endswith(".")
    assert op.equation
    assert op.reference is None or any(letter.isdigit() for letter in op.reference), (
        "the year, section or version of a source, or none"
    )
    assert op.rule
    assert list(op.samples())
    assert callable(op.vjp) or len(op.vjp.reason) > 10
    assert op.sparse is None or callable(op.sparse) or len(op.sparse.reason) > 10


@pytest.mark.parametrize("op", table(), ids=lambda op: op.name)
def test_cost_is_a_number_whatever_the_parameters_are_called(op: Op) -> None:
    for sample in op.samples():
        dims = [unnamed(one.shape) if hasattr(one, "shape") else Dims((), ()) for one in sample.inputs]
        ruled = op.dims(*dims, **sample.params)
        cost = op.cost(dims, ruled if op.outputs == 1 else ruled[0], **sample.params)
        assert math.isfinite(cost)
        assert cost >= 0

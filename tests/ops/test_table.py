"""Every op of the table, on every one of its promises."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import workbench  # noqa: F401  fills the table
from workbench.base.dims import Dims, unnamed
from workbench.core import Op, table
from workbench.testing import check_op
from workbench.testing.values import inputs_of


@pytest.mark.parametrize("op", table(), ids=lambda op: op.name)
def test_op(op: Op) -> None:
    check_op(op)


@pytest.mark.parametrize(
    "op", [op for op in table() if op.name not in ("sparse_coo", "sparse_csr")], ids=lambda op: op.name
)
def test_a_call_computes_once(op: Op) -> None:
    # Sparse tensors are put together, of what others computed, in no time.
    computed: list[str] = []

    def counting(run: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*inputs: Any, **params: Any) -> Any:
            computed.append(op.name)
            return run(*inputs, **params)

        return counted

    forward, kernel = op.forward, op.kernel
    try:
        object.__setattr__(op, "forward", counting(forward))
        if kernel is not None:
            object.__setattr__(op, "kernel", replace(kernel, run=counting(kernel.run)))
        for sample in op.samples():
            computed.clear()
            op(*inputs_of(sample), **sample.params)
            assert len(computed) <= 1
    finally:
        object.__setattr__(op, "forward", forward)
        object.__setattr__(op, "kernel", kernel)


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

"""A result that is changed in place: its call's gradient is right all the same, or refused, as the record says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.base.errors import AutogradError
from workbench.core import Absent, Op, table
from workbench.core.tape import needs_of
from workbench.testing.values import inputs_of

SAVING = [op for op in table() if op.saves.output and not isinstance(op.vjp, Absent)]


def _outputs(op: Op, inputs: tuple[Any, ...], params: Any) -> tuple[Any, ...]:
    result = op(*inputs, **params)
    return result if isinstance(result, tuple) else (result,)


def _gradients(ends: list[Any], starts: list[Any]) -> tuple[Any, ...]:
    total = sum(((end * end.detach().cos()).sum() for end in ends), start=wb.tensor(0.0, dtype=wb.float64))
    return wb.autograd.grad(total, starts, allow_unused=True)


@pytest.mark.parametrize("op", SAVING, ids=lambda op: op.name)
def test_changed_result(op: Op) -> None:
    for sample in op.samples():
        inputs = inputs_of(sample, requires_grad=True)
        starts = [one for one in inputs if isinstance(one, wb.Tensor) and one.requires_grad]
        outs = _outputs(op, inputs, sample.params)
        for i, out in enumerate(outs):
            if out.grad_fn is None or out.payload.dtype.kind != "f" or not out.payload.size:
                continue
            again = _outputs(op, inputs, sample.params)[i]
            expected = _gradients([again.rename(None) * 3.0], starts)
            changed = _outputs(op, inputs, sample.params)[i]
            with wb.no_grad():
                same = np.array_equal(changed.payload, out.payload, equal_nan=True)
            changed.mul_(3.0)
            if op.saves.reads_output(i, needs_of(inputs)):
                with pytest.raises(AutogradError, match="modified by an inplace operation: output"):
                    _gradients([changed.rename(None)], starts)
            elif same:
                for ours, theirs in zip(_gradients([changed.rename(None)], starts), expected, strict=True):
                    if theirs is not None:
                        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-6)

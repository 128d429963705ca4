"""Every op of the table, forwards and backwards: its graph is right for other sizes, or a guard refuses them.

The samples of each op are traced, and run again with the values repeated along each dim that some size has, which other
inputs that have this size follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core.dispatch import infer_dims
from workbench.core.op import Absent, Op, Sample, ops
from workbench.graph import trace
from workbench.testing.values import inputs_of, several

FIXED = frozenset(
    {
        "as_strided", "as_strided_scatter", "conv1d_input_gradient", "conv2d_input_gradient", "conv3d_input_gradient",
        "diagonal", "diagonal_scatter", "geqrf", "gru", "index_put", "lstm", "reshape",
    }
)  # fmt: skip
"""Ops whose rules decide something by sizes: which of two dims is shorter, how many steps there are, a stretched 1."""


def grown(arrays: list[Any]) -> Iterator[list[Any]]:
    """Yield the arrays with the values twice along a dim: those of one size, then those at one place."""
    for size in sorted({size for one in arrays for size in one.shape if size > 1}):
        yield [np.tile(one, [2 if own == size else 1 for own in one.shape]) for one in arrays]
    for place in range(max(one.ndim for one in arrays)):
        yield [np.tile(one, [2 if i == place else 1 for i in range(one.ndim)]) for one in arrays]


class Calls:
    """A sample of an op as functions of its tensors."""

    def __init__(self, op: Op, sample: Sample) -> None:
        self.op = op
        self.params = sample.params
        self.inputs = inputs_of(sample)
        self.tensors = [one for one in self.inputs if isinstance(one, wb.Tensor)]
        self.usable = bool(self.tensors) and all(isinstance(one.payload, np.ndarray) for one in self.tensors)

    def given(self, arrays: list[Any], slopes: bool) -> list[Any]:
        """Return tensors of these numbers with the sample's names, which ask for gradients or do not."""
        made = [wb.from_numpy(one).rename(*own.names) for one, own in zip(arrays, self.tensors, strict=True)]
        return [one.requires_grad_() if slopes and one.payload.dtype.kind in "fc" else one for one in made]

    def all(self, tensors: Any) -> tuple[Any, ...]:
        rest = iter(tensors)
        return tuple(next(rest) if isinstance(one, wb.Tensor) else one for one in self.inputs)

    def forward(self, *tensors: Any) -> Any:
        return self.op(*self.all(tensors), **self.params)

    def backward(self, *tensors: Any) -> Any:
        outs = [one for one in several(self.forward(*tensors)) if one.requires_grad]
        parts = [wb.view_as_real(one) if one.is_complex() else one for one in outs]
        loss = sum((one * one + one).sum() for one in parts)
        starts = [one for one in tensors if one.requires_grad]
        found = wb.autograd.grad(loss, starts, allow_unused=True)
        return tuple(own * 0 if one is None else one for one, own in zip(found, starts, strict=True))

    def accepts(self, tensors: list[Any]) -> bool:
        """Say whether the op takes these, and they are what its rule says: numbers among the parameters may not be."""
        try:
            found = several(self.forward(*tensors))
        except (ValueError, IndexError, RuntimeError, TypeError, np.linalg.LinAlgError):
            return False
        dims: Any = infer_dims(self.op, self.all(tensors), dict(self.params))
        ruled = [dims] if self.op.outputs == 1 else dims
        return all(
            isinstance(one.payload, np.ndarray) and one.payload.shape == own.sizes
            for one, own in zip(found, ruled, strict=True)
        )


def outcome(function: Callable[..., Any], tensors: list[Any]) -> Any:
    with np.errstate(all="ignore"):
        return several(function(*tensors))


@pytest.mark.filterwarnings("ignore")
# A matrix that is repeated is singular: what linear algebra makes of it is no number to compare.
@pytest.mark.parametrize("name", sorted(one.name for one in ops if not one.name.startswith("linalg_")))
def test_the_graph_of_an_op_is_right_for_other_sizes_or_refuses_them(name: str) -> None:
    op = getattr(ops, name)
    refused = []
    for sample in op.samples():
        calls = Calls(op, sample)
        if not calls.usable:
            continue
        arrays = [one.payload for one in calls.tensors]
        slopes = not isinstance(op.vjp, Absent) and any(one.dtype.kind in "fc" for one in arrays)
        for function, backward in ((calls.forward, False), *(((calls.backward, True),) if slopes else ())):
            try:
                outcome(function, calls.given(arrays, backward))
            except (RuntimeError, TypeError, ValueError):
                continue  # a sample without a gradient
            graph = trace(function, *calls.given(arrays, backward))
            for other in grown(arrays):
                if not calls.accepts(calls.given(other, False)):
                    continue
                try:
                    expected = outcome(function, calls.given(other, backward))
                except (RuntimeError, TypeError, ValueError):
                    continue  # sizes that the gradient does not have
                try:
                    found = outcome(graph, calls.given(other, backward))
                except wb.DimensionError as error:
                    refused.append(str(error))
                    continue
                for one, own in zip(found, expected, strict=True):
                    np.testing.assert_array_equal(one.detach().numpy(), own.detach().numpy())
    assert all("decided something by it: the graph holds for" in one for one in refused), refused
    assert not refused or name in FIXED, refused[0]

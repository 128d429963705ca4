"""The common call of an op, in compiled code: it does what the whole dispatch does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.core import dispatch
from workbench.core.bases import eager
from workbench.core.op import ops

needs_compiled = pytest.mark.skipif(eager is None, reason="the compiled module was not built")
SHAPES = [(), (1,), (5,), (3, 5), (3, 1), (2, 3, 5), (0, 5), (40, 40)]


def arrays(draw: Any, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    values = np.random.default_rng(draw(st.integers(0, 99))).standard_normal(shape).astype(dtype)
    special = draw(st.sampled_from([None, np.nan, np.inf, -np.inf, 0.0, -0.0]))
    special = None if dtype == "int64" else special
    if special is not None and values.size:
        values.reshape(-1)[0] = special
    if values.ndim > 1 and draw(st.booleans()):
        values = np.asfortranarray(values)
    return values


@st.composite
def calls(draw: Any) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    name = draw(
        st.sampled_from(
            ["add", "sub", "mul", "div", "relu_gradient", "neg", "relu", "sum", "sum_to", "expand"]
        )
    )
    dtype = draw(st.sampled_from(["float32", "float64", "int64", "float16"]))
    if name in ("relu_gradient", "relu", "div") and dtype == "int64":
        dtype = "float32"
    shape = draw(st.sampled_from(SHAPES))
    x = arrays(draw, shape, dtype)
    if name in ("neg", "relu"):
        return name, (x,), {}
    if name == "sum":
        dims = (
            tuple(sorted(draw(st.sets(st.integers(0, max(x.ndim - 1, 0)), max_size=x.ndim))))
            if x.ndim
            else ()
        )
        return name, (x,), {"dim": dims, "keepdim": draw(st.booleans())}
    if name == "sum_to":
        start = draw(st.integers(0, x.ndim))
        return name, (x,), {"sizes": x.shape[start:]}
    if name == "expand":
        return name, (x,), {"sizes": (4, *x.shape)}
    other = draw(st.sampled_from([shape, shape[1:], (*shape[:-1], 1) if shape else (), (1,), "number"]))
    if other == "number":
        return name, (x, draw(st.sampled_from([2.5, -1, 0.0]))), {}
    return name, (x, arrays(draw, other, dtype)), {}


@needs_compiled
@settings(max_examples=400, deadline=None, derandomize=True)
@given(calls())
def test_small_calls_agree_with_numpy(call: tuple[str, tuple[Any, ...], dict[str, Any]]) -> None:
    name, inputs, params = call
    op = getattr(ops, name)
    values = [wb.tensor(one) if isinstance(one, np.ndarray) else one for one in inputs]
    for value, one in zip(values, inputs, strict=True):
        if isinstance(one, np.ndarray):
            value.payload = one  # keeps its layout
    try:
        expected = dispatch.evaluate(op, tuple(values), params)
    except Exception as error:
        with pytest.raises(type(error)):
            op(*values, **params)
        return
    got = op(*values, **params)
    assert (got.shape, got.dtype, got.names) == (expected.shape, expected.dtype, expected.names)
    np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6, equal_nan=True)


@needs_compiled
def test_the_tape_is_the_same_either_way() -> None:
    x = wb.tensor([[1.0, -2.0], [3.0, 4.0]], names=("N", "C"), requires_grad=True)
    b = wb.tensor([0.5, -0.5], names=("C",), requires_grad=True)

    def chain() -> wb.Tensor:
        return (x * x + b).relu().sum()

    quick = wb.autograd.grad(chain(), (x, b))
    y = dispatch.apply(ops.mul, x, x)
    y = dispatch.apply(ops.add, y, b)
    y = dispatch.apply(ops.relu, y)
    whole = dispatch.apply(ops.sum, y, dim=(0, 1), keepdim=False)
    for one, other in zip(quick, wb.autograd.grad(whole, (x, b)), strict=True):
        assert one.names == other.names
        assert one.tolist() == other.tolist()


@needs_compiled
def test_calls_that_nothing_common_can_serve_are_refused_in_full_sentences() -> None:
    x, y = wb.zeros(N=2, C=3), wb.zeros(N=2, chanel=3)
    with pytest.raises(wb.DimensionError, match="do not match"):
        x + y
    with pytest.raises(wb.DimensionError, match="must match the size of tensor b"):
        wb.zeros(3) + wb.zeros(4)
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "a"


def test_names_of_a_rule_are_found_again_and_not_confused() -> None:
    x = wb.zeros(2, 3, names=("N", "C"))
    for _ in range(2):
        assert x.sum("C").names == ("N",)
        assert x.sum("N").names == ("C",)
        assert x.rename(N="B").sum("C").names == ("B",)
        assert x.rename(None).sum(1).names == (None,)


def test_infinities_and_nan_make_no_warnings() -> None:
    x = wb.tensor([0.0, -1.0, float("inf")])
    assert str((x.log() - x.log()).tolist()) == "[nan, nan, nan]"
    assert (wb.ones(2000, 3) / wb.zeros(2000, 3)).isinf().all()

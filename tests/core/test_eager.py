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
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
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
            [
                "add",
                "sub",
                "mul",
                "div",
                "relu_gradient",
                "neg",
                "relu",
                "sum",
                "sum_to",
                "expand",
                *COMPARISONS,
            ]
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
        return name, (x, draw(st.sampled_from([2.5, -1, 0.0, 0, 1 << 25, 1 << 62, -(1 << 63), 1 << 63]))), {}
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
@pytest.mark.parametrize("name", ["add", "sub", "mul", "pow", *COMPARISONS])
@pytest.mark.parametrize("number", [2.5, -1, 1 << 40, (1 << 63) - 1, 1 << 63, -(1 << 64), True, float("nan")])
@pytest.mark.parametrize("dtype", ["int64", "int32", "float64"])
def test_numbers_beside_whole_ones_have_the_type_that_they_have(name: str, number: Any, dtype: str) -> None:
    op = getattr(ops, name)
    x = wb.tensor([1, 2, 3], dtype=dtype)
    for inputs in ((x, number), (number, x)) if name != "pow" or number in (2.5, True) else ((x, 2),):
        expected = dispatch.evaluate(op, inputs, {})
        got = op(*inputs)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got.numpy(), expected.numpy())


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


@needs_compiled
@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.sampled_from(
        ["add", "mul", "div", "exp", "tanh", "matmul", "where", "sum", "layer_norm", "pick", "atan2"]
    ),
    st.booleans(),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.booleans(),
    st.booleans(),
)
def test_the_tape_keeps_the_same_of_large_values(
    name: str, large: bool, asks: list[bool], computed: bool, named: bool
) -> None:
    n = 40 if large else 8
    draw = np.random.default_rng(0)

    def value(ask: bool, *shape: int) -> Any:
        one = wb.tensor(
            draw.random(shape).astype(np.float32) + 0.5, names=("A", "B")[2 - len(shape) :] if named else None
        )
        if ask:
            one.requires_grad_()
        return one * 1.0 if computed else one

    x, y = value(asks[0], n, n), value(asks[1], n, n)
    inputs: tuple[Any, ...] = (x, y)
    params: dict[str, Any] = {}
    if name in ("exp", "tanh", "sum"):
        inputs, params = (x,), {"dim": (0,), "keepdim": False} if name == "sum" else {}
    if name == "where":
        inputs = (x > 1.0, x, y)
    if name == "matmul":
        inputs = (x.rename(None), y.rename(None))
    if name == "pick":
        inputs, params = (x, wb.tensor([0, 3])), {"dims": (0,)}
    if name == "layer_norm":
        inputs, params = (x, value(asks[2], n), value(asks[3], n)), {"count": 1, "eps": 1e-5}
    op = getattr(ops, name)
    assert kept(op(*inputs, **params)) == kept(dispatch.apply(op, *inputs, **params))


def kept(result: Any) -> Any:
    """What the tape keeps of a call, with the kinds of payloads and where each is on the tape."""
    first = result[0] if isinstance(result, tuple) else result
    node = first._grad_fn
    if node is None:
        return None
    return (
        node.op,
        node.params,
        node.versions,
        [
            (type(one.payload), one.payload.shape, one.payload.dtype, one._names, one._grad_fn, one._output,
             one._requires_grad, one._labels, one._origin)
            if isinstance(one, wb.Tensor) else one
            for one in node.inputs
        ],
        None if node.saved is None else [(type(one), one.shape, one.dtype) for one in node.saved],
    )  # fmt: skip


@needs_compiled
@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.sampled_from(["cat", "stack"]),
    st.sampled_from(SHAPES),
    st.lists(
        st.sampled_from(["alike", "longer", "columns", "asks", "named", "another type"]),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(["float32", "float64", "int64", "bool", "complex64", "float16"]),
    st.integers(0, 3),
    st.sampled_from([None, None, None, "Z"]),
)
def test_what_is_joined_is_what_the_whole_dispatch_joins(
    name: str, shape: tuple[int, ...], kinds: list[str], dtype: str, dim: int, new_name: str | None
) -> None:
    values: list[Any] = []
    for i, kind in enumerate(kinds):
        sizes = tuple(size + (kind == "longer" and d == dim) for d, size in enumerate(shape))
        array = (np.arange(np.prod(sizes)).reshape(sizes) + 100 * i).astype(dtype)
        value = wb.tensor(array.real.astype("float32") if kind == "another type" else array)
        if kind == "columns":
            value.payload = np.asfortranarray(array)
        if kind == "asks" and dtype in ("float32", "float64"):
            value.requires_grad_()
        if kind == "named" and shape:
            value.names = ("A", "B", "C")[: len(shape)]
        values.append(value)
    op, params = getattr(ops, name), {"dim": dim} if name == "cat" else {"dim": dim, "name": new_name}

    def told(call: Any) -> Any:
        try:
            result = call()
        except Exception as error:
            return type(error), str(error)
        return str(result.dtype), result.shape, result.payload.tobytes(), result.names, kept(result)

    assert told(lambda: op(*values, **params)) == told(lambda: dispatch.apply(op, *values, **params))

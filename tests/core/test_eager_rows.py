"""What eager dispatch computes of small arrays along whole rows: as the op's own array code has it, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core.bases import eager
from workbench.core.op import ops

pytestmark = pytest.mark.skipif(eager is None, reason="there is no compiled dispatch")

_SHAPES = [(1,), (7,), (16,), (3, 1), (8, 8), (2, 5, 9), (4, 1, 17), (1024,), (1025,), (32, 33), ()]
_ROWS: dict[str, tuple[Callable[[int], dict[str, Any]], int]] = {
    "sigmoid": (lambda ndim: {}, 0),
    "softplus": (lambda ndim: {"beta": 1.5, "threshold": 20.0}, 0),
    "sum": (lambda ndim: {"dim": tuple(range(ndim)), "keepdim": False}, 0),
    "mean": (lambda ndim: {"dim": tuple(range(ndim)), "keepdim": True}, 0),
    "softmax": (lambda ndim: {"dim": ndim - 1}, 1),
    "log_softmax": (lambda ndim: {"dim": ndim - 1}, 1),
}
"""Op by name: its parameters for values of so many dims, and how many it needs."""


def _value(shape: tuple[int, ...], dtype: str, layout: str) -> Any:
    x = np.asarray(np.random.default_rng(len(shape)).standard_normal(shape) * 3, dtype)
    return {
        "row major": x,
        "swapped": np.ascontiguousarray(x.T).T,
        "stepped": np.repeat(x, 2, axis=-1)[..., ::2],
    }[layout if shape else "row major"]


def _agree(name: str, inputs: tuple[Any, ...], params: dict[str, Any], rtol: float | None = None) -> None:
    """Hold a call to the op's own code in double precision."""
    op = getattr(ops, name)
    values = [wb.tensor(0.0) for _ in inputs]
    for value, one in zip(values, inputs, strict=True):
        value.payload = one  # keeps its layout
    dtype = inputs[0].dtype
    with np.errstate(all="ignore"):
        wide = op.forward(*(one.astype(np.float64) for one in inputs), **params)
    found = op(*values, **params)
    several = op.outputs > 1
    near = rtol or (2e-5 if dtype == np.float32 else 1e-12)
    for one, other in zip(found if several else (found,), wide if several else (wide,), strict=True):
        assert type(one.payload) is np.ndarray and one.payload.dtype == dtype
        assert one.shape == np.shape(other)
        np.testing.assert_allclose(one.numpy(), other, rtol=near, atol=near)


@pytest.mark.parametrize("layout", ["row major", "swapped", "stepped"])
@pytest.mark.parametrize("shape", _SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", _ROWS)
def test_rows_of_every_size_and_layout(name: str, dtype: str, shape: tuple[int, ...], layout: str) -> None:
    params, least = _ROWS[name]
    if len(shape) >= least:
        _agree(name, (_value(shape, dtype, layout),), params(len(shape)))


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (2, 1), (0, 1, 2), ()], ids=str)
@pytest.mark.parametrize("name", ["sum", "mean"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_some_dims_are_reduced(name: str, dtype: str, dim: tuple[int, ...], keepdim: bool) -> None:
    _agree(name, (_value((3, 4, 5), dtype, "row major"),), {"dim": dim, "keepdim": keepdim})


@pytest.mark.parametrize("name", ["sum", "mean"])
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)], ids=str)
def test_nothing_is_reduced(name: str, shape: tuple[int, ...]) -> None:
    for dim in range(len(shape)):
        _agree(name, (np.zeros(shape),), {"dim": (dim,), "keepdim": False})


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("factors", [0, 1, 2])
@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e200, 0.0])
def test_rows_are_normalised(count: int, factors: int, scale: float) -> None:
    x = np.random.default_rng(0).standard_normal((3, 4, 5)) * scale
    for dtype in ("float64",) if scale not in (0.0, 1.0) else ("float32", "float64"):
        inputs = (x, *[np.linspace(0.5, 2.0, 5 * 4 ** (count - 1)).reshape(x.shape[3 - count :])] * factors)
        _agree("layer_norm", tuple(one.astype(dtype) for one in inputs), {"count": count, "eps": 1e-5}, 1e-4)


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (8, 8, 8), (3, 5, 7), (1, 32, 17), (32, 1, 32), (4, 0, 3), (9, 200, 5)], ids=str
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", ["row major", "swapped"])
def test_matrices_are_multiplied(sizes: tuple[int, int, int], dtype: str, layout: str) -> None:
    m, k, n = sizes
    inputs = tuple(_value(shape, dtype, layout) for shape in ((m, k), (k, n)))
    if k:
        _agree("matmul", inputs, {}, 1e-4 if dtype == "float32" else 1e-11)
    else:
        assert (ops.matmul(*map(wb.tensor, inputs)).numpy() == 0).all()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (3, 17, 5), (4, 32, 32), (4, 33, 32), (8, 8, 8), (2, 64, 16), (7, 1, 9)], ids=str
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", ["row major", "swapped"])
def test_rows_go_through_a_linear_layer(
    sizes: tuple[int, int, int], dtype: str, layout: str, bias: bool
) -> None:
    rows, k, n = sizes
    shapes = [(rows, k), (n, k), (n,)]
    inputs = tuple(_value(shape, dtype, layout) for shape in shapes[: 3 if bias else 2])
    _agree("linear", inputs, {}, 1e-4 if dtype == "float32" else 1e-11)
    _agree("linear", (inputs[0][None], *inputs[1:]), {}, 1e-4 if dtype == "float32" else 1e-11)


@pytest.mark.parametrize("name", ["sigmoid", "softplus", "softmax", "log_softmax", "sum", "mean"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_no_number_or_infinite(name: str, dtype: str) -> None:
    inf, nan = np.inf, np.nan
    for row in ([inf, 1.0], [-inf, 1.0], [nan, 1.0], [-inf, -inf], [inf, -inf], [0.0, -0.0], [800.0, -800.0]):
        _agree(name, (np.array([row], dtype),), _ROWS[name][0](2))


def test_names_and_gradients_go_along() -> None:
    x = wb.tensor(_value((3, 4), "float64", "row major"), names=("N", "C"), requires_grad=True)
    y = wb.softmax(x, "C")
    assert y.names == ("N", "C") and x.mean("C").names == ("N",) and x.sum().names == ()
    (wb.log_softmax(x, "C") * y).mean().backward()
    assert x.grad is not None and x.grad.names == ("N", "C")
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        x.detach().rename(None) @ x.detach().rename(None)


@pytest.mark.parametrize("sizes", [(4, 4, 4), (3, 7, 9), (1, 30, 20), (31, 8, 32)])
def test_a_product_has_the_same_bits_however_its_matrices_lie(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    layouts = ("row major", "swapped", "stepped")
    left = [wb.tensor(_value((m, k), "float32", one)) for one in layouts]
    right = [wb.tensor(_value((k, n), "float32", one)) for one in layouts]
    found = [wb.matmul(one, other).numpy() for one in left for other in right]
    assert all(np.array_equal(one, found[0]) for one in found)

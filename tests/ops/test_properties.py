"""Properties of ops on tensors of every shape, type and layout, with NumPy as the oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.base.dims import unify_names
from workbench.core.value import dims_of
from workbench.testing import strategies as some

few = settings(max_examples=30)


def same(mine: Any, expected: Any, rtol: float = 1e-12, atol: float = 1e-12) -> None:
    expected = np.asarray(expected)
    assert mine.shape == expected.shape
    np.testing.assert_allclose(mine.detach().numpy(), expected, rtol=rtol, atol=atol)


doubles = some.tensors(dtype=wb.float64)

# ------------------------------------------------------------------------------------------ elementwise

BINARY: list[tuple[str, Callable[..., Any], Callable[..., Any]]] = [
    ("add", wb.add, np.add),
    ("sub", wb.sub, np.subtract),
    ("mul", wb.mul, np.multiply),
    ("div", wb.div, np.divide),
    ("maximum", wb.maximum, np.maximum),
    ("minimum", wb.minimum, np.minimum),
    ("hypot", wb.hypot, np.hypot),
    ("atan2", wb.atan2, np.arctan2),
    ("fmod", wb.fmod, np.fmod),
    ("remainder", wb.remainder, np.mod),
    ("copysign", wb.copysign, np.copysign),
    ("logaddexp", wb.logaddexp, np.logaddexp),
    ("eq", wb.eq, np.equal),
    ("lt", wb.lt, np.less),
]


@few
@given(data=st.data())
@pytest.mark.parametrize(("ours", "theirs"), [case[1:] for case in BINARY], ids=[case[0] for case in BINARY])
def test_broadcasting(ours: Any, theirs: Any, data: Any) -> None:
    shapes = data.draw(some.broadcastable_shapes())
    x, y = (data.draw(some.tensors(shape, wb.float64, special=True)) for shape in shapes)
    with np.errstate(all="ignore"):
        same(ours(x, y), theirs(x.numpy(), y.numpy()))


@given(data=st.data())
def test_names_unify_from_the_right(data: Any) -> None:
    shapes = data.draw(some.broadcastable_shapes(max_side=3))
    given_names = data.draw(some.unified_names(*map(len, shapes)))
    x, y = (
        data.draw(some.tensors(shape, wb.float64)).rename(*names)
        if any(names)
        else data.draw(some.tensors(shape))
        for shape, names in zip(shapes, given_names, strict=True)
    )
    result = x + y
    assert result.names == unify_names("add", dims_of(x), dims_of(y))
    assert result.names == (y + x).names
    long, short = sorted((x, y), key=lambda one: one.ndim, reverse=True)
    for name, position in zip(long.names, range(long.ndim), strict=True):
        other = position - (long.ndim - short.ndim)
        assert result.names[position] == name or name is None
        if other >= 0 and name is None:
            assert result.names[position] == short.names[other]


@given(some.tensors(special=True), some.dtypes(), some.dtypes())
def test_promotion_is_commutative_and_what_promote_types_says(x: Any, a: Any, b: Any) -> None:
    left, right = wb.ones(3, dtype=a), wb.ones(3, dtype=b)
    assert (left + right).dtype is (right + left).dtype is wb.promote_types(a, b)
    assert wb.promote_types(a, wb.promote_types(a, b)) is wb.promote_types(a, b)


@given(data=st.data())
def test_layouts_do_not_matter(data: Any) -> None:
    array = data.draw(some.arrays(some.shapes(), np.float32))
    x, y = wb.tensor(array), wb.from_numpy(data.draw(some.layouts(array)))
    for function in (wb.exp, wb.sum, lambda v: v * 2 + v, lambda v: v.flatten().cumsum(0)):
        a, b = function(x), function(y)
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


# ------------------------------------------------------------------------------------------- reductions

REDUCTIONS: list[tuple[str, Any, Any, bool]] = [
    ("sum", wb.sum, np.sum, True),
    ("mean", wb.mean, np.mean, False),
    ("amax", wb.amax, np.max, False),
    ("amin", wb.amin, np.min, False),
    ("nansum", wb.nansum, np.nansum, True),
    (
        "logsumexp",
        wb.logsumexp,
        lambda a, axis, keepdims: np.logaddexp.reduce(a, axis=axis, keepdims=keepdims),
        False,
    ),
    ("var", lambda x, dim, keepdim: wb.var(x, dim, correction=0, keepdim=keepdim), np.var, False),
    ("std", lambda x, dim, keepdim: wb.std(x, dim, correction=0, keepdim=keepdim), np.std, False),
    ("all", wb.all, np.all, True),
    ("any", wb.any, np.any, True),
    ("count_nonzero", lambda x, dim, keepdim: wb.count_nonzero(x, dim), np.count_nonzero, True),
]


@few
@given(data=st.data())
@pytest.mark.parametrize(
    ("ours", "theirs", "empty"), [case[1:] for case in REDUCTIONS], ids=[case[0] for case in REDUCTIONS]
)
def test_reductions_over_any_dims(ours: Any, theirs: Any, empty: bool, data: Any) -> None:
    x = data.draw(some.tensors(some.shapes(min_dims=1, min_side=0 if empty else 1), wb.float64))
    dim = data.draw(some.dims_of(x.ndim, least=1))
    keep = data.draw(st.booleans()) and theirs is not np.count_nonzero
    same(ours(x, dim, keepdim=keep), theirs(x.numpy(), axis=dim, keepdims=keep), rtol=1e-10)


@given(data=st.data())
def test_reductions_keep_the_other_names(data: Any) -> None:
    x = data.draw(some.tensors(some.shapes(min_dims=1, min_side=1), wb.float64, named=True))
    dim = data.draw(some.dims_of(x.ndim, least=1))
    gone = {one % x.ndim for one in dim}
    assert x.sum(dim).names == tuple(name for i, name in enumerate(x.names) if i not in gone)
    assert x.amax(dim, keepdim=True).names == x.names


# ---------------------------------------------------------------------------------- shapes and indexing


@settings(max_examples=150)
@given(data=st.data())
def test_indexing(data: Any) -> None:
    x = data.draw(some.tensors(some.shapes(), wb.float64))
    key = data.draw(some.keys(x.shape))
    expected = x.numpy()[key]
    same(x[key], expected)
    # What is written is what was picked.
    y, array = x.clone(), x.numpy().copy()
    y[key] = 7.0
    array[key] = 7.0
    same(y, array)


@given(data=st.data())
def test_gradients_of_picks_count_how_often_each_was_picked(data: Any) -> None:
    x = data.draw(some.tensors(some.shapes(), wb.float64, requires_grad=True))
    key = data.draw(some.keys(x.shape))
    x[key].sum().backward()
    counts = np.zeros(x.shape)
    np.add.at(counts, key, 1.0)
    same(x.grad, counts)


@given(data=st.data())
def test_basic_keys_make_views(data: Any) -> None:
    x = data.draw(some.tensors(some.shapes(min_side=1), wb.float64)).clone()
    key = data.draw(some.keys(x.shape, tensors_of_indices=False))
    view = x[key]
    view.add_(1.0)
    expected = x.numpy()[key]
    same(view, expected)
    assert not view.numel() or np.shares_memory(view.numpy(), x.numpy())


@given(data=st.data())
def test_views_of_shapes(data: Any) -> None:
    x = data.draw(some.tensors(some.shapes(min_side=1), wb.float64, laid_out=False)).clone()
    array = x.numpy()
    order = data.draw(st.permutations(range(x.ndim)))
    at = data.draw(st.integers(0, x.ndim))
    stretched = (data.draw(st.integers(0, 3)), *x.shape)
    for mine, expected in [
        (x.permute(*order), array.transpose(order)),
        (x.reshape(-1), array.reshape(-1)),
        (x.unsqueeze(at), np.expand_dims(array, at)),
        (x.squeeze(), array.squeeze()),
        (x.expand(*stretched), np.broadcast_to(array, stretched)),
    ]:
        same(mine, expected)
        assert not mine.numel() or np.shares_memory(mine.payload, x.payload)
    for mine, expected in [
        (x.flip(tuple(order)), np.flip(array, order)),
        (wb.stack([x, x], at), np.stack([array, array], at)),
        (
            wb.cat([x, x], order[0]) if order else x,
            np.concatenate([array, array], order[0]) if order else array,
        ),
        (x.repeat(2, *(1,) * x.ndim), np.tile(array, (2, *(1,) * x.ndim))),
    ]:
        same(mine, expected)


@given(data=st.data())
def test_a_permutation_and_its_inverse(data: Any) -> None:
    x = data.draw(some.tensors(named=True, special=True))
    order = data.draw(st.permutations(range(x.ndim)))
    back = x.permute(*order).permute(*np.argsort(order).tolist()) if x.ndim else x
    assert back.names == x.names
    np.testing.assert_array_equal(back.numpy(), x.numpy())


# ------------------------------------------------------------------------------ order and running results


@given(data=st.data())
def test_sorting(data: Any) -> None:
    x = data.draw(some.tensors(some.shapes(min_dims=1), wb.float64))
    dim = data.draw(st.integers(-x.ndim, x.ndim - 1))
    values, indices = wb.sort(x, dim=dim, stable=True)
    same(values, np.sort(x.numpy(), dim))
    np.testing.assert_array_equal(indices.numpy(), np.argsort(x.numpy(), dim, kind="stable"))
    down, order = wb.sort(x, dim=dim, descending=True, stable=True)
    same(down, np.flip(np.sort(x.numpy(), dim), dim))
    same(x.gather(dim, order), down.numpy())
    size = x.shape[dim]
    k = data.draw(st.integers(0, size))
    same(wb.topk(x, k, dim).values, np.flip(np.sort(x.numpy(), dim), dim).take(range(k), dim))
    if size:
        k = data.draw(st.integers(1, size))
        same(wb.kthvalue(x, k, dim).values, np.sort(x.numpy(), dim).take(k - 1, dim))


@given(data=st.data())
def test_running_results(data: Any) -> None:
    x = data.draw(some.tensors(some.shapes(min_dims=1), wb.float64))
    dim = data.draw(st.integers(-x.ndim, x.ndim - 1))
    array = x.numpy()
    same(x.cumsum(dim), array.cumsum(dim))
    same(x.cumprod(dim), array.cumprod(dim))
    same(x.logcumsumexp(dim), np.logaddexp.accumulate(array, dim), rtol=1e-9)
    same(x.diff(dim=dim), np.diff(array, axis=dim))
    same(x.cummax(dim).values, np.maximum.accumulate(array, dim))
    same(x.cummin(dim).values, np.minimum.accumulate(array, dim))


@given(data=st.data())
def test_unique_and_searches(data: Any) -> None:
    x = data.draw(some.tensors(some.shapes(min_dims=1, max_dims=1), wb.float64))
    values, counts = np.unique(x.numpy(), return_counts=True)
    found = wb.unique(x, return_counts=True)
    same(found[0], values)
    np.testing.assert_array_equal(found[1].numpy(), counts)
    edges = wb.sort(x).values
    same(wb.searchsorted(edges, x), np.searchsorted(edges.numpy(), x.numpy()))


# --------------------------------------------------------------------------------------------- products


@settings(max_examples=150)
@given(data=st.data())
def test_einsum(data: Any) -> None:
    equation, shapes = data.draw(some.equations(operands=3))
    operands = [data.draw(some.tensors(shape, wb.float64)) for shape in shapes]
    same(wb.einsum(equation, *operands), np.einsum(equation, *[one.numpy() for one in operands]), rtol=1e-9)


@given(data=st.data())
def test_matmul(data: Any) -> None:
    left, right = data.draw(some.broadcastable_shapes(max_dims=2, max_side=3))
    n, k, m = (data.draw(st.integers(0, 3)) for _ in range(3))
    x = data.draw(some.tensors((*left, n, k), wb.float64))
    y = data.draw(some.tensors((*right, k, m), wb.float64))
    same(x @ y, x.numpy() @ y.numpy())
    vector = data.draw(some.tensors((k,), wb.float64))
    same(x @ vector, x.numpy() @ vector.numpy())
    same(vector @ y, vector.numpy() @ y.numpy())


# ------------------------------------------------------------------------------------------- transforms

TRANSFORMS = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]


@few
@given(data=st.data())
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str, data: Any) -> None:
    complex_input = name in ("fft", "ifft", "irfft", "hfft")
    dtype = wb.complex128 if complex_input and data.draw(st.booleans()) else wb.float64
    x = data.draw(some.tensors(some.shapes(min_dims=1, max_dims=3, min_side=2, max_side=6), dtype))
    dim = data.draw(st.integers(-x.ndim, x.ndim - 1))
    n = data.draw(st.none() | st.integers(2, 7))
    norm = data.draw(st.sampled_from([None, "backward", "forward", "ortho"]))
    same(
        getattr(wb.fft, name)(x, n=n, dim=dim, norm=norm),
        getattr(np.fft, name)(x.numpy(), n=n, axis=dim, norm=norm),
        rtol=1e-9,
        atol=1e-9,
    )


@few
@given(data=st.data())
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_transforms_along_several_dims(name: str, data: Any) -> None:
    x = data.draw(some.tensors(some.shapes(min_dims=2, max_dims=3, min_side=2, max_side=5), wb.float64))
    dim = data.draw(some.dims_of(x.ndim, least=1))
    same(getattr(wb.fft, name)(x, dim=dim), getattr(np.fft, name)(x.numpy(), axes=dim), rtol=1e-9, atol=1e-9)


@given(some.tensors(some.shapes(min_dims=1, min_side=1, max_side=6), wb.complex128))
def test_transforms_and_back(x: Any) -> None:
    same(wb.fft.ifftn(wb.fft.fftn(x)), x.numpy(), rtol=1e-9, atol=1e-9)
    # What Parseval says: the transform keeps lengths.
    length = wb.linalg.vector_norm(wb.fft.fftn(x, norm="ortho"))
    same(length, np.linalg.norm(x.numpy().ravel()), rtol=1e-9)


# -------------------------------------------------------------------------------------- linear algebra


@st.composite
def matrices(draw: Any, square: bool = False) -> Any:
    batch = draw(some.shapes(max_dims=1, max_side=2))
    n, m = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    dtype = draw(st.sampled_from([wb.float64, wb.complex128]))
    generator = np.random.default_rng(draw(st.integers(0, 1000)))
    shape = (*batch, n, n if square else m)
    values = generator.standard_normal(shape)
    if dtype is wb.complex128:
        values = values + 1j * generator.standard_normal(shape)
    return wb.tensor(values + (2 * n * np.eye(n) if square else 0.0), dtype=dtype)


def near(a: Any, b: Any) -> None:
    same(a, b.numpy() if isinstance(b, wb.Tensor) else b, rtol=1e-9, atol=1e-9)


@given(matrices())
def test_decompositions_give_the_matrix_back(a: Any) -> None:
    q, r = wb.linalg.qr(a)
    near(q @ r, a)
    near(q.mH @ q, np.broadcast_to(np.eye(q.shape[-1]), (q.mH @ q).shape))
    u, s, vh = wb.linalg.svd(a, full_matrices=False)
    near((u * s.unsqueeze(-2)) @ vh, a)
    assert bool((s.diff(dim=-1) <= 1e-12).all())
    near(wb.linalg.svdvals(a), s)
    p, lower, upper = wb.linalg.lu(a)
    near(p.to(a.dtype) @ lower @ upper, a)
    near(a @ wb.linalg.pinv(a) @ a, a)


@given(matrices(square=True), st.integers(1, 3))
def test_equations_are_solved(a: Any, columns: int) -> None:
    b = a[..., :, :1].expand(*a.shape[:-1], columns) * 0.5
    near(a @ wb.linalg.solve(a, b), b)
    near(a @ wb.linalg.inv(a), np.broadcast_to(np.eye(a.shape[-1]), a.shape))
    near(wb.linalg.det(a), np.linalg.det(a.numpy()))
    hermitian = a @ a.mH
    factor = wb.linalg.cholesky(hermitian)
    near(factor @ factor.mH, hermitian)
    values, vectors = wb.linalg.eigh(hermitian)
    same((vectors * values.unsqueeze(-2)) @ vectors.mH, hermitian.numpy(), rtol=1e-8, atol=1e-8)
    values, vectors = wb.linalg.eig(a)
    same(a.to(wb.complex128) @ vectors, (vectors * values.unsqueeze(-2)).numpy(), rtol=1e-8, atol=1e-8)

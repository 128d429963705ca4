"""Reductions, extremes, order and scans: what the loop over the table does not see."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core.dispatch import WithoutNumbers, interpreting
from workbench.core.value import Abstract, new
from workbench.testing import assert_close

NAN, INF = math.nan, math.inf


def table(*rows: list[float], names: tuple[str, ...] = ("N", "C")) -> Any:
    return wb.tensor(list(rows), names=names, requires_grad=True)


# ------------------------------------------------------------------------------------------------ names


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum("C"),
        lambda x: x.prod("C"),
        lambda x: x.nanmean("C"),
        lambda x: x.logsumexp("C"),
        lambda x: x.count_nonzero("C"),
        lambda x: x.var("C"),
        lambda x: x.std("C", unbiased=False),
        lambda x: x.norm(1, "C"),
        lambda x: x.amax("C"),
        lambda x: x.max("C").values,
        lambda x: x.max("C").indices,
        lambda x: x.median("C").values,
        lambda x: x.nanmedian("C").indices,
        lambda x: x.mode("C").values,
        lambda x: x.kthvalue(2, "C").values,
        lambda x: x.quantile(0.5, "C"),
        lambda x: x.argmax("C"),
        lambda x: x.any("C"),
    ],
)
def test_a_reduced_name_goes(function: Any) -> None:
    result = function(table([1.0, 2.0, 4.0], [3.0, 1.0, 0.0]))
    assert result.shape == (2,)
    assert result.names == ("N",)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.cumsum("C"),
        lambda x: x.cumprod("C"),
        lambda x: x.cummax("C").values,
        lambda x: x.cummin("C").indices,
        lambda x: x.logcumsumexp("C"),
        lambda x: x.sort("C").values,
        lambda x: x.argsort("C", descending=True),
        lambda x: x.topk(2, "N").indices,
        lambda x: x.softmax("C"),
        lambda x: x.diff(dim="C"),
        lambda x: x.renorm(2, "N", 1.0),
        lambda x: x.repeat_interleave(2, "C"),
        lambda x: x.max("C", keepdim=True).values,
        lambda x: x.quantile(0.5, "C", keepdim=True),
        lambda x: wb.gradient(x, dim="C")[0],
        lambda x: wb.nn.functional.normalize(x, dim="C"),
        lambda x: wb.nn.functional.softmin(x, "C"),
    ],
)
def test_other_names_stay(function: Any) -> None:
    assert function(table([1.0, 2.0, 4.0], [3.0, 1.0, 0.0])).names == ("N", "C")


def test_several_quantiles_make_a_new_first_dim() -> None:
    x = table([1.0, 2.0, 4.0], [3.0, 1.0, 0.0])
    assert x.quantile(wb.tensor([0.0, 1.0]), "C").names == (None, "N")
    assert x.quantile(wb.tensor([0.0, 1.0]), "C", keepdim=True).shape == (2, 2, 1)


# ---------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda x: x.sum("K"), IndexError, "Name 'K' not found"),
        (lambda x: x.sum((0, 0)), RuntimeError, "names a dimension twice"),
        (lambda x: x.long().mean(), TypeError, "x.float().mean()"),
        (lambda x: x.long().std(), TypeError, "x.float().std()"),
        (lambda x: x.var(unbiased=True, correction=1), TypeError, "not both"),
        (lambda x: wb.zeros(0).max(), RuntimeError, "numel() == 0"),
        (lambda x: wb.zeros(0, 2).max(0), IndexError, "non-zero size"),
        (lambda x: wb.zeros(0).argmax(), IndexError, "numel() == 0"),
        (lambda x: x.topk(3), RuntimeError, "k out of range"),
        (lambda x: x.kthvalue(0), RuntimeError, "out of range"),
        (lambda x: x.to(wb.complex64).sort(), TypeError, "does not support complex"),
        (lambda x: x.to(wb.complex64).softmax(0), TypeError, "not defined for complex"),
        (lambda x: x.quantile(1.5), RuntimeError, "in the range [0, 1]"),
        (lambda x: x.long().quantile(0.5), TypeError, "float or double"),
        (lambda x: x.norm("foo"), ValueError, "'fro', 'nuc'"),
        (lambda x: x.sum(0).norm("nuc"), RuntimeError, "of a matrix"),
        (lambda x: x[0].renorm(2, 0, 1.0), RuntimeError, "at least 2 dimensions"),
        (lambda x: x.sum_to_size(3, 2), IndexError, "not expandable"),
        (lambda x: x.diff(n=-1), RuntimeError, "non-negative"),
        (lambda x: wb.gradient(x[:, :1]), RuntimeError, "edge_order + 1"),
        (lambda x: wb.trapezoid(x, wb.ones(3)), RuntimeError, "one `x` value"),
        (lambda x: x.scatter_reduce(0, wb.tensor([[0]]), x, "max"), RuntimeError, "one of sum"),
        (lambda x: x.scatter_reduce(0, wb.tensor([[7]]), x, "amax"), IndexError, "index 7"),
        (lambda x: x.index_reduce(0, wb.tensor([0]), x, "prod"), RuntimeError, "one vector of indices"),
        (lambda x: x.repeat_interleave(wb.tensor([1, 2, 3]), 0), RuntimeError, "one count for each"),
        (lambda x: wb.cov(x.reshape(1, 2, 2)), RuntimeError, "two or fewer"),
        (lambda x: wb.searchsorted(x, wb.ones(3, 1)), RuntimeError, "must match"),
        (lambda x: wb.tensor([-1]).bincount(), RuntimeError, "non-negative"),
        (lambda x: wb.histc(x, bins=0), RuntimeError, "bins must be > 0"),
    ],
)
def test_bad_input_is_refused_in_words(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        make(wb.tensor([[1.0, 2.0], [3.0, 4.0]], names=("N", "C")))
    assert message in str(caught.value)


# ------------------------------------------------------------------------------- nothing, and no numbers


def test_what_nothing_reduces_to() -> None:
    nothing = wb.zeros(0, 3)
    assert nothing.sum(0).tolist() == [0, 0, 0]
    assert nothing.prod(0).tolist() == [1, 1, 1]
    assert np.isnan(nothing.mean(0).numpy()).all()
    assert nothing.logsumexp(0).tolist() == [-INF] * 3
    assert nothing.any(0).tolist() == [False] * 3
    assert nothing.all(0).tolist() == [True] * 3
    assert np.isnan(wb.zeros(0).median().item())
    assert nothing.cumsum(0).shape == nothing.sort(0).values.shape == (0, 3)
    assert nothing.max(1).values.shape == (0,)


def test_a_number_may_be_reduced_along_a_dim() -> None:
    x = wb.tensor(3.0, requires_grad=True)
    for dim in (0, -1):
        for value in (
            x.sum(dim), x.max(dim).values, x.median(dim).values, x.mode(dim).values, x.cumprod(dim),
            x.sort(dim).values, x.topk(1, dim).values, x.kthvalue(1, dim).values, x.cummin(dim).values,
        ):  # fmt: skip
            assert value.shape == ()
            assert wb.autograd.grad(value, x)[0].item() == 1
        assert x.softmax(dim).item() == 1
    assert x.argmax(0).item() == 0


def test_nan_spreads_and_is_sorted_last() -> None:
    x = wb.tensor([2.0, NAN, 1.0])
    for value in (x.sum(), x.max(), x.amin(), x.median(), x.quantile(0.0), x.std(), x.max(0).values):
        assert np.isnan(value.item())
    assert x.max(0).indices.item() == x.argmin().item() == x.median(0).indices.item() == 1
    assert_close(x.sort().values, [1.0, 2.0, NAN])
    assert x.argsort(descending=True).tolist() == [1, 0, 2]
    assert x.topk(2).indices.tolist() == [1, 0]
    assert (x.nansum().item(), x.nanmean().item(), x.nanmedian().item()) == (3.0, 1.5, 1.0)
    assert_close(x.nanquantile(0.5), 1.5)
    assert_close(x.cummax(0).values, [2.0, NAN, NAN])
    assert x.cummax(0).indices.tolist() == [0, 1, 1]


# ------------------------------------------------------------------------------------------------- ties


def gradient_of(function: Any, *values: float) -> list[float]:
    x = wb.tensor(list(values), requires_grad=True)
    result: list[float] = wb.autograd.grad(function(x), x)[0].tolist()
    return result


def test_ties_share_overall_and_the_first_takes_all_along_a_dim() -> None:
    for function in (wb.max, wb.amax, lambda x: x.aminmax().max):
        assert gradient_of(function, 1.0, 5.0, 5.0) == [0, 0.5, 0.5]
    assert gradient_of(lambda x: x.max(0).values, 1.0, 5.0, 5.0) == [0, 1, 0]
    assert gradient_of(wb.median, 2.0, 2.0, 5.0) == [0.5, 0.5, 0]
    assert gradient_of(wb.max, 1.0, NAN, NAN) == [0, 0.5, 0.5]


def test_equal_values_keep_their_order() -> None:
    x = wb.tensor([1, 0, 1, 0, 1])
    assert x.argsort().tolist() == [1, 3, 0, 2, 4]
    assert x.argsort(descending=True).tolist() == [0, 2, 4, 1, 3]
    assert x.topk(2).indices.tolist() == [0, 2]
    assert x.topk(4).indices.tolist() == [0, 2, 4, 1]
    assert x.topk(3, largest=False).indices.tolist() == [1, 3, 0]
    assert x.kthvalue(2).indices.item() == 3


def test_where_a_slope_is_not_defined() -> None:
    assert gradient_of(wb.std, 2.0, 2.0) == [0, 0]
    assert np.isnan(gradient_of(wb.std, 2.0)).all()
    assert gradient_of(wb.norm, 0.0, 0.0) == [0, 0]
    assert gradient_of(lambda x: x.norm(INF), 3.0, -3.0) == [0.5, -0.5]
    assert gradient_of(wb.prod, 0.0, 3.0, 2.0) == [6, 0, 0]
    assert gradient_of(lambda x: x.cumprod(0).sum(), 0.0, 3.0, 2.0) == [10, 0, 0]
    with np.errstate(invalid="ignore"):
        assert np.isnan(gradient_of(lambda x: x.logsumexp(0), -INF, -INF)).all()


# ------------------------------------------------------------------------------------------------ types


def test_types_that_come_out() -> None:
    small = wb.tensor([1, 2], dtype=wb.uint8)
    assert small.sum().dtype is small.prod().dtype is small.cumsum(0).dtype is wb.int64
    assert small.any().dtype is wb.uint8
    assert small.max().dtype is wb.uint8
    assert small.sum(dtype=wb.int32).dtype is wb.int32
    assert wb.tensor([True, True]).sum().item() == 2
    assert wb.ones(2, dtype=wb.float16).mean().dtype is wb.float16
    assert wb.ones(3, dtype=wb.float16).sort().indices.dtype is wb.int64
    assert wb.ones(2).to(wb.complex64).var().dtype is wb.float32
    assert wb.ones(2).softmax(0, dtype=wb.float64).dtype is wb.float64
    assert wb.ones(2, 2).any(()).shape == (2, 2)


def test_no_gradient_goes_through_an_index() -> None:
    x = wb.tensor([3.0, 1.0], requires_grad=True)
    for pair in (x.max(0), x.sort(), x.topk(1), x.cummax(0), x.mode()):
        assert pair.values.requires_grad
        assert not pair.indices.requires_grad


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.quantile(0.3, 1),
        lambda x: x.nanquantile(wb.tensor([0.3, 0.5]), 0),
        lambda x: x.cov(fweights=None),
        lambda x: x.corrcoef(),
        lambda x: wb.gradient(x, edge_order=2)[1],
        lambda x: x.renorm(2, 0, 1.0),
        lambda x: wb.cumulative_trapezoid(x, wb.tensor([0.0, 1.0, 3.0, 4.0])),
        lambda x: x.norm(3, 0),
        lambda x: x.logcumsumexp(1),
        lambda x: x.scatter_reduce(1, wb.tensor([[0, 2], [1, 1], [0, 0]]), wb.ones(3, 2), "mean"),
        lambda x: x.median(0).values,
    ],
)
def test_shapes_are_known_without_numbers(function: Any) -> None:
    x = wb.rand(3, 4)
    expected = function(x)
    with interpreting(WithoutNumbers()):
        result = function(new(Abstract((3, 4), x.payload.dtype)))
    assert result.shape == expected.shape
    assert result.dtype is expected.dtype


# --------------------------------------------------------------------------------------------- the others


def test_distinct_values() -> None:
    x = wb.tensor([[2, 1], [2, 1], [0, 3]])
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    assert values.tolist() == [0, 1, 2, 3]
    assert inverse.tolist() == [[2, 1], [2, 1], [0, 3]]
    assert counts.tolist() == [1, 2, 2, 1]
    assert x.unique(dim=0).tolist() == [[0, 3], [2, 1]]
    assert x.unique_consecutive(dim=0, return_counts=True)[1].tolist() == [2, 1]
    assert wb.tensor([NAN, NAN]).unique().shape == (2,)


def test_non_zeros() -> None:
    x = wb.tensor([[0, 5], [7, 0]])
    assert [one.tolist() for one in x.nonzero(as_tuple=True)] == [[0, 1], [1, 0]]
    assert wb.tensor(3).nonzero().shape == (1, 0)
    assert x.count_nonzero((0, 1)).item() == 2


def test_places_in_sorted_sequences() -> None:
    rows = wb.tensor([[1.0, 3.0], [2.0, 4.0]])
    assert wb.searchsorted(rows, wb.tensor([[3.0], [3.0]]), right=True).tolist() == [[2], [1]]
    assert wb.searchsorted(wb.tensor([5, 1, 3]), 4, sorter=wb.tensor([1, 2, 0])).item() == 2
    assert wb.bucketize(wb.tensor([3.0]), wb.tensor([1.0, 3.0]), out_int32=True).dtype is wb.int32


def test_counts() -> None:
    weights = wb.tensor([1.0, 2.0, 4.0], requires_grad=True)
    total = wb.tensor([0, 2, 2]).bincount(weights, minlength=4)
    assert total.tolist() == [1, 0, 6, 0]
    hist, edges = wb.histogram(wb.tensor([0.0, 1.0, 4.0]), 2, density=True)
    assert_close(hist, [1 / 3, 1 / 6])
    assert_close(edges, [0.0, 2.0, 4.0])


def test_a_second_derivative_through_zeros() -> None:
    """∂²(xyz)/∂x∂y = z, with x = 0 and without dividing by it."""
    x = wb.tensor([0.0, 3.0, 2.0], dtype=wb.float64, requires_grad=True)
    (first,) = wb.autograd.grad(x.prod(), x, create_graph=True)
    (second,) = wb.autograd.grad(first[0], x)
    assert second.tolist() == [0, 2, 3]


def test_larger_of_two_goes_by_the_same_word() -> None:
    a, b = wb.tensor([1.0, 4.0]), wb.tensor([3.0, 2.0])
    assert wb.max(a, b).tolist() == wb.max(a, other=b).tolist() == [3, 4]
    assert a.min(b).tolist() == [1, 2]


def test_ways_to_ask_for_a_spread() -> None:
    x = wb.tensor([[1.0, 2.0, 4.0]])
    assert_close(x.var(False), x.var(correction=0))
    assert_close(x.var(1, False), x.var(dim=1, unbiased=False))
    assert_close(x.std(1, True, True), x.std(1, correction=1, keepdim=True))
    variance, mean = wb.var_mean(x, 1)
    assert_close(variance, x.var(1))
    assert_close(mean, x.mean(1))

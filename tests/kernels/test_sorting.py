from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from workbench import kernels

Array = npt.NDArray[np.generic]
KINDS = ("plain", "ties", "special", "tiny")


def values(dtype: str, kind: str, n: int) -> Array:
    generator = np.random.default_rng([n, KINDS.index(kind)])
    if np.dtype(dtype).kind == "f":
        x = generator.standard_normal(n)
        if kind == "ties":
            x = np.round(x * 2)
            x[generator.random(n) < 0.1] = -0.0
        if kind == "special":
            for value in (np.nan, -np.nan, np.inf, -np.inf):
                x[generator.random(n) < 0.1] = value
        if kind == "tiny":
            x = x * 1e-42
        return x.astype(dtype)
    most = {"plain": 1 << 20, "ties": 5, "special": (1 << 31) - 1, "tiny": 1 << 12}[kind]
    x = generator.integers(-most, most, n).astype(dtype)
    if kind == "tiny":
        x[0], x[-1] = np.iinfo(dtype).min, np.iinfo(dtype).max
    return x


def order(x: Array, descending: bool) -> npt.NDArray[np.intp]:
    if not descending:
        return np.argsort(x, kind="stable")
    return len(x) - 1 - np.argsort(x[::-1], kind="stable")[::-1]


@pytest.fixture(params=[1, 2, 3])
def threads(request: pytest.FixtureRequest) -> object:
    before = kernels.get_num_threads()
    kernels.set_num_threads(request.param)
    yield request.param
    kernels.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "i4"])
@pytest.mark.parametrize("kind", KINDS)
def test_sort_and_topk_keep_the_order_of_equal_values(dtype: str, kind: str, threads: int) -> None:
    sort, topk = kernels.lookup("sort").run, kernels.lookup("topk").run
    for n, descending in itertools.product((1, 2, 127, 128, 1000, 9000, 70_000), (False, True)):
        x = values(dtype, kind, n)
        expected = order(x, descending)
        found, places = sort(x, dim=0, descending=descending)
        np.testing.assert_array_equal(places, expected)
        np.testing.assert_array_equal(found, x[expected])
        assert found.dtype == x.dtype
        assert np.array_equal(np.signbit(found), np.signbit(x[expected]))
        for k in {0, 1, min(n, 50), n // 9, n // 3, n}:
            found, places = topk(x, k=k, dim=0, largest=descending)
            np.testing.assert_array_equal(places, expected[:k])
            np.testing.assert_array_equal(found, x[expected[:k]])


@pytest.mark.parametrize(
    ("shape", "dim"),
    [((3, 4, 5), 1), ((50, 70), 0), ((50, 70), 1), ((2, 300, 40), 1), ((20, 0), 1), ((0, 20), 1)],
)
def test_any_dimension(shape: tuple[int, ...], dim: int, threads: int) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    expected = np.argsort(x, axis=dim, kind="stable")
    for array in (x, np.asfortranarray(x)):
        found, places = kernels.lookup("sort").run(array, dim=dim, descending=False)
        np.testing.assert_array_equal(places, expected)
        np.testing.assert_array_equal(found, np.sort(x, axis=dim))
        k = min(2, shape[dim])
        found, places = kernels.lookup("topk").run(array, k=k, dim=dim, largest=False)
        np.testing.assert_array_equal(places, np.take(expected, range(k), axis=dim))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
@pytest.mark.parametrize(
    ("shape", "dim"),
    [((1,), 0), ((10_007,), 0), ((13, 1001), 1), ((700, 37), 0), ((3, 5, 7), 1), ((0, 3), 0)],
)
def test_cumsum(dtype: str, shape: tuple[int, ...], dim: int, threads: int) -> None:
    x = (np.random.default_rng(3).standard_normal(shape) * 10).astype(dtype)
    found = kernels.lookup("cumsum").run(x, dim=dim)
    exact = np.cumsum(x.astype(np.float64), axis=dim)
    assert found.dtype == x.dtype
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-4 if dtype == "f4" else 1e-10)


def test_cumsum_loses_nothing_on_the_way() -> None:
    x = np.full(1 << 20, 0.1, np.float32)
    found = kernels.lookup("cumsum").run(x, dim=0)
    np.testing.assert_allclose(found, np.cumsum(x.astype(np.float64)), rtol=1e-6)
    x[1000] = np.nan
    found = kernels.lookup("cumsum").run(x, dim=0)
    assert np.isfinite(found[:1000]).all()
    assert np.isnan(found[1000:]).all()


def test_refusals() -> None:
    x = np.ones((3, 4), np.float32)
    with pytest.raises(ValueError, match=r"sort along dim 2 of shape \[3, 4\]"):
        kernels.lookup("sort").run(x, dim=2, descending=False)
    with pytest.raises(ValueError, match="topk of 5 along a dim of 4"):
        kernels.lookup("topk").run(x, k=5, dim=1, largest=True)
    assert not kernels.lookup("sort").accepts(np.ones(5000, np.float16), dim=0, descending=False)
    assert not kernels.lookup("cumsum").accepts(np.ones(5000, np.complex64), dim=0)

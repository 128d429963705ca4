from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from workbench import kernels
from workbench.base.errors import DimensionIndexError

Array = npt.NDArray[np.generic]


def numbers(*shape: int, dtype: str = "f4") -> Array:
    return np.random.default_rng(shape).integers(-9, 9, shape).astype(dtype)


def places(below: int, *shape: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng([below, *shape]).integers(0, below, shape)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "u1", "?", "c8"])
@pytest.mark.parametrize(
    ("shape", "many", "dim"), [((5000,), 3000, 0), ((40, 70), 50, 0), ((40, 70), 50, 1), ((3, 9, 100), 20, 1)]
)
def test_gather(dtype: str, shape: tuple[int, ...], many: int, dim: int) -> None:
    x, index = numbers(*shape, dtype=dtype), places(shape[dim], *shape[:dim], many, *shape[dim + 1 :])
    kernel = kernels.lookup("gather")
    assert kernel.accepts(x, index, dim=dim)
    found = kernel.run(x, index, dim=dim)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, np.take_along_axis(x, index, dim))
    index.flat[777] = shape[dim]
    with pytest.raises(DimensionIndexError, match=f"index {shape[dim]} is out of bounds for dimension {dim}"):
        kernel.run(x, index, dim=dim)
    index.flat[777] = -1
    with pytest.raises(DimensionIndexError, match="index -1 is out of bounds"):
        kernel.run(x, index, dim=dim)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
@pytest.mark.parametrize(
    ("shape", "size", "dim"),
    [((5000,), 6000, 0), ((5000,), 7, 0), ((50, 70), 9, 0), ((50, 70), 9, 1), ((3, 9, 100), 20, 1)],
)
def test_scatter_add(dtype: str, shape: tuple[int, ...], size: int, dim: int) -> None:
    x, index = numbers(*shape, dtype=dtype), places(size, *shape)
    sizes = (*shape[:dim], size, *shape[dim + 1 :])
    expected = np.zeros(sizes, dtype)
    grids = list(np.ogrid[tuple(slice(n) for n in shape)])
    grids[dim] = index
    np.add.at(expected, tuple(grids), x)
    kernel = kernels.lookup("scatter_add")
    assert kernel.accepts(x, index, dim=dim, sizes=sizes)
    np.testing.assert_array_equal(kernel.run(x, index, dim=dim, sizes=sizes), expected)
    base = numbers(*sizes, dtype=dtype)
    onto = kernels.lookup("scatter_add_to")
    assert onto.accepts(base, x, index, dim=dim)
    for start in (base, np.asfortranarray(base)):
        np.testing.assert_array_equal(onto.run(start, x, index, dim=dim), base + expected)
    assert not onto.accepts(base[..., None], x, index, dim=dim)
    assert not onto.accepts(base.astype("c16"), x, index, dim=dim)
    index.flat[-1] = size
    for run in (
        lambda: kernel.run(x, index, dim=dim, sizes=sizes),
        lambda: onto.run(base, x, index, dim=dim),
    ):
        with pytest.raises(DimensionIndexError, match=f"index {size} is out of bounds for dimension {dim}"):
            run()


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "u1", "c8"])
@pytest.mark.parametrize(
    ("shape", "dim", "index"),
    [((500,), 0, (2000,)), ((30, 17), 0, (8, 9)), ((30, 17), 1, (70,)), ((3, 30, 17), 1, (70,))],
)
def test_index_and_its_transpose(
    dtype: str, shape: tuple[int, ...], dim: int, index: tuple[int, ...]
) -> None:
    x = numbers(*shape, dtype=dtype)
    where = places(shape[dim], *index)
    where.flat[3] = -1
    key = (*[slice(None)] * dim, where)
    kernel, back = kernels.lookup("pick"), kernels.lookup("pick_add")
    assert kernel.accepts(x, where, dims=(dim,))
    found = kernel.run(x, where, dims=(dim,))
    np.testing.assert_array_equal(found, x[key])
    if dtype in ("f4", "f8", "i8"):
        expected = np.zeros(shape, dtype)
        np.add.at(expected, key, found)
        assert back.accepts(found, where, dims=(dim,), sizes=shape)
        np.testing.assert_array_equal(back.run(found, where, dims=(dim,), sizes=shape), expected)
    else:
        assert not back.accepts(found, where, dims=(dim,), sizes=shape)
    where.flat[5] = shape[dim]
    with pytest.raises(DimensionIndexError, match=f"index {shape[dim]} is out of bounds for dimension {dim}"):
        kernel.run(x, where, dims=(dim,))
    where.flat[5] = -shape[dim] - 1
    with pytest.raises(DimensionIndexError, match=f"index -{shape[dim] + 1} is out of bounds"):
        kernel.run(x, where, dims=(dim,))


def test_indices_that_are_left_to_numpy() -> None:
    x, where = numbers(300, 40), places(30, 100)
    accepts = kernels.lookup("pick").accepts
    assert accepts(x, where, dims=(0,))
    assert not accepts(x, where, where, dims=(0, 1))
    assert not accepts(x, where.astype(np.int32), dims=(0,))
    assert not accepts(x.T, where, dims=(0,))
    assert not accepts(x[:, ::2], where, dims=(0,))
    assert not accepts(np.ones((300, 2), np.complex128), where, dims=(0,))

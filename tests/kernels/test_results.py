"""Arrays around what kernels have computed: few values in NumPy's memory, many in the pool's, laid out alike."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from workbench.kernels.loader import native

pytestmark = pytest.mark.skipif(native is None, reason="there are no compiled kernels")


def _laid(layout: str, *shape: int) -> Any:
    x = np.random.default_rng(0).standard_normal(shape)
    return {"row major": x, "column major": np.asfortranarray(x), "swapped": x.swapaxes(0, -1)}[layout]


@pytest.mark.parametrize(
    "shape", [(0, 2, 3), (1, 2, 3), (85, 2, 3), (86, 2, 3), (5000, 2, 3), (1,), (512,), (513,)]
)
@pytest.mark.parametrize("layout", ["row major", "column major", "swapped"])
def test_a_result_is_a_plain_array_however_large(layout: str, shape: tuple[int, ...]) -> None:
    x = _laid(layout, *shape)
    found = native.cos(x)
    assert type(found) is np.ndarray and found.dtype == x.dtype and found.shape == x.shape
    assert found.flags.writeable and found.flags.aligned and not np.shares_memory(found, x)
    laid = [i for i, size in enumerate(x.shape) if size > 1 and x.size]
    assert [found.strides[i] for i in laid] == [x.strides[i] for i in laid]
    np.testing.assert_allclose(found, np.cos(x), rtol=1e-14)
    found[...] = 1.0
    assert (found == 1.0).all()


@pytest.mark.parametrize("rows", [1, 5000])
def test_memory_lives_as_long_as_what_looks_into_it(rows: int) -> None:
    x = np.random.default_rng(0).standard_normal((rows, 6))
    result = native.cos(x)
    gone = weakref.ref(result)
    view, expected = result[:, ::2], np.cos(x)[:, ::2]
    del result
    others = [native.sin(x) for _ in range(8)]  # what was given back would be written over
    gc.collect()
    np.testing.assert_allclose(view, expected, rtol=1e-14)
    assert len(others) == 8 and (gone() is None or view.base is gone())


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32"])
@pytest.mark.parametrize("size", [7, 5000])
def test_results_have_the_type_that_was_sorted(dtype: str, size: int) -> None:
    x = np.random.default_rng(0).permutation(size).astype(dtype)
    values, places = native.sort(x, dim=0, descending=False)
    assert values.dtype == x.dtype and places.dtype == np.int64
    np.testing.assert_array_equal(values, np.arange(size))
    np.testing.assert_array_equal(x[places], values)

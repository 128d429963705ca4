"""Copies between memory orders, which every kernel makes of what it does not take as it lies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from workbench import kernels

Make = Callable[..., npt.NDArray[np.float32]]


@pytest.mark.parametrize(
    "shape", [(1, 3, 150, 131), (2, 37, 9, 11), (3, 8, 8, 16), (2, 5, 7, 1), (4, 16, 3, 65)]
)
def test_copies_between_memory_orders_are_exact(shape: tuple[int, ...], floats: Make) -> None:
    rows = floats(*shape)
    last = np.moveaxis(np.ascontiguousarray(np.moveaxis(rows, 1, -1)), -1, 1)
    pool, norm = kernels.lookup("max_pool2d").run, kernels.lookup("layer_norm").run
    one = {"kernel": (1, 1), "stride": (1, 1), "padding": (0, 0), "dilation": (1, 1)}
    kept = kernels.get_num_threads()
    try:
        for threads in (1, 2):
            kernels.set_num_threads(threads)
            for x in (rows, last, rows[:, :, ::-1], rows.swapaxes(0, 1), np.broadcast_to(rows[:, :1], shape)):
                np.testing.assert_array_equal(pool(x, **one)[0], x)
                wanted = norm(np.ascontiguousarray(x), None, None, count=3, eps=1e-5)[0]
                np.testing.assert_array_equal(norm(x, None, None, count=3, eps=1e-5)[0], wanted)
    finally:
        kernels.set_num_threads(kept)

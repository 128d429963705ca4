from __future__ import annotations

import pathlib
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from workbench import kernels

HERE = pathlib.Path(__file__).parent
Floats = npt.NDArray[np.float32]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if kernels.available():
        return
    for item in items:
        if item.path.parent == HERE and item.path.name != "test_loading.py":
            item.add_marker(pytest.mark.skip(reason=f"compiled kernels: {kernels.reason()}"))


@pytest.fixture
def floats() -> Callable[..., Floats]:
    """Random float32 arrays that are the same at every run."""
    generator = np.random.default_rng(7)
    return lambda *shape: generator.standard_normal(shape).astype(np.float32)


@pytest.fixture(params=["row_major", "channels_last", "sliced", "reversed", "read_only"])
def lay(request: pytest.FixtureRequest) -> Callable[[Floats], Floats]:
    """Lay the same numbers out in memory in another way."""

    def row_major(array: Floats) -> Floats:
        return np.ascontiguousarray(array)

    def channels_last(array: Floats) -> Floats:
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)

    def sliced(array: Floats) -> Floats:
        large = np.full(tuple(2 * size for size in array.shape), 99, array.dtype)
        view = large[tuple(slice(0, 2 * size, 2) for size in array.shape)]
        view[...] = array
        return view

    def reversed_(array: Floats) -> Floats:
        return np.ascontiguousarray(array[..., ::-1])[..., ::-1]

    def read_only(array: Floats) -> Floats:
        array = array.copy()
        array.flags.writeable = False
        return array

    return {
        "row_major": row_major,
        "channels_last": channels_last,
        "sliced": sliced,
        "reversed": reversed_,
        "read_only": read_only,
    }[request.param]

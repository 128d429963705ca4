"""NaN and infinities in attention (masked, causal) and in recurrent layers, forwards and backwards, as in PyTorch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.kernels.judge import asked_of_workbench, at_any_size
from tests.kernels.recorded import FILE
from tests.kernels.special_layers import BY_LAYER, digest
from tests.kernels.special_values import with_one


@pytest.fixture(scope="module")
def recorded() -> Iterator[Any]:
    with np.load(FILE) as file:
        yield file


@pytest.mark.parametrize("kernels_at_any_size", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BY_LAYER)
def test_what_is_not_finite_spreads_as_in_pytorch(
    name: str, dtype: str, kernels_at_any_size: bool, recorded: Any
) -> None:
    case, shapes = BY_LAYER[name]
    for where, arrays in with_one(shapes):
        with at_any_size() if kernels_at_any_size else contextlib.nullcontext():
            found = asked_of_workbench(case, arrays, getattr(wb, dtype))
        ends = np.cumsum([one.size for one in found])
        kinds = np.split(recorded[f"{name}/{where}/kinds"], ends[:-1])
        sums = recorded[f"{name}/{where}/sums"]
        for i, have in enumerate(found):
            want = kinds[i].reshape(have.shape)
            what = f"{where}, {'gradient ' + str(i - 1) if i else 'result'}"
            finite = want == 0
            # Sums of infinities depend on their order: whether one is left or NaN is not asked.
            np.testing.assert_array_equal(np.isfinite(have), finite, err_msg=what)
            if "nan" in where:
                np.testing.assert_array_equal(np.isnan(have), want == 1, err_msg=what)
            size = np.abs(have[finite]).sum()
            np.testing.assert_allclose(
                digest(have, finite)[1], sums[i], rtol=0, atol=1e-5 + 2e-5 * size, err_msg=what
            )

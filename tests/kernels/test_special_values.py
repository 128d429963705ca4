"""NaN, infinities, zeros, denormals and the largest numbers, through kernels and NumPy's code, as PyTorch has them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.kernels.judge import asked_of_workbench, at_any_size, doubles
from tests.kernels.recorded import FILE
from tests.kernels.special_values import BY_ELEMENT, BY_ROW, TOLERANCE, values_in, with_one

LEAST = {"float32": 1e-36, "float64": 1e-40, "float16": 1e-6, "bfloat16": 1e-36}
"""What lies nearer to 0 may be lost: a denormal times a number. PyTorch's own tails of gelu end here in float64."""

ROUNDED = {"float32": 4e-7, "float64": 1e-15, "float16": 4e-3, "bfloat16": 4e-2}
"""A slope that is taken from the result (1 - y²) has the rounding of 1 in it."""


@pytest.fixture(scope="module")
def recorded() -> Iterator[Any]:
    with np.load(FILE) as file:
        yield file


def _alone(x: Any, case: Any, dtype: Any) -> tuple[Any, Any]:
    """Results and slopes, value by value."""
    operand = wb.tensor(x, dtype=dtype, requires_grad=True)
    result = case(wb, wb.nn.functional, operand)
    (slope,) = wb.autograd.grad(result, [operand], wb.ones_like(result))
    return doubles(result), doubles(slope)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", BY_ELEMENT)
def test_each_value_becomes_what_it_does_in_pytorch(name: str, dtype: str, recorded: Any) -> None:
    kind = getattr(wb, dtype)
    wanted = [recorded[f"{name}/{dtype}/{i}"] for i in (0, 1)]
    with np.errstate(all="ignore"):
        wanted = [one.astype(dtype).astype(np.float64) for one in wanted]
    values = values_in(dtype)
    # Vectors of 8 and 16 lanes and what is left behind them; sizes from which on kernels run, and all sizes.
    for count in (1, 23, 37, 1031, 65_543) if dtype == "float32" else (1, 37):
        places = np.arange(count if count > 1 else values.size) % values.size
        for first in range(3):
            picked = np.roll(places, first * 5)
            inputs = [values[picked]] if count > 1 else [values[i : i + 1] for i in picked]
            found = [_alone(x, BY_ELEMENT[name], kind) for x in inputs]
            if count == 37:
                with at_any_size():
                    again = _alone(inputs[0], BY_ELEMENT[name], kind)
                found = [tuple(np.concatenate(pair) for pair in zip(found[0], again, strict=True))]
                picked = np.concatenate([picked, picked])
            for i, least in enumerate((LEAST[dtype], ROUNDED[dtype])):
                np.testing.assert_allclose(
                    np.concatenate([one[i] for one in found]),
                    wanted[i][picked],
                    rtol=TOLERANCE[dtype],
                    atol=least,
                    err_msg=f"{'slope' if i else 'result'}, {count} values",
                )


@pytest.mark.parametrize("kernels_at_any_size", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BY_ROW)
def test_what_is_not_finite_spreads_as_in_pytorch(
    name: str, dtype: str, kernels_at_any_size: bool, recorded: Any
) -> None:
    case, shapes = BY_ROW[name]
    for where, arrays in with_one(shapes):
        if kernels_at_any_size:
            with at_any_size():
                found = asked_of_workbench(case, arrays, getattr(wb, dtype))
        else:
            found = asked_of_workbench(case, arrays, getattr(wb, dtype))
        for i, have in enumerate(found):
            want = recorded[f"{name}/{where}/{i}"].astype(np.float64)
            what = f"{where}, {'gradient ' + str(i - 1) if i else 'result'}"
            # Sums of infinities depend on their order: whether one is left or NaN is not asked.
            finite = np.isfinite(want)
            np.testing.assert_array_equal(np.isfinite(have), finite, err_msg=what)
            if "nan" in where:
                np.testing.assert_array_equal(np.isnan(have), np.isnan(want), err_msg=what)
            np.testing.assert_allclose(have[finite], want[finite], rtol=2e-4, atol=2e-5, err_msg=what)


NORMS = {
    "layer_norm": lambda F, x: F.layer_norm(x, (x.shape[-1],)),
    "rms_norm": lambda F, x: F.rms_norm(x, (x.shape[-1],)),
    "group_norm": lambda F, x: F.group_norm(x[:, None], 1),
    "group_norm, channels together": lambda F, x: F.group_norm(x.reshape(x.shape[0], -1, 2), 1),
    "batch_norm": lambda F, x: F.batch_norm(x.transpose(0, 1), None, None, training=True),
    "instance_norm": lambda F, x: F.instance_norm(x[:, None]),
}
LARGE_ROWS = (
    (3e38, 1.0, 2.0, 3.0),
    (3.4e38, -3.4e38, 0.0, 1.0),
    (1e30, 2e30, -3e30, 0.0),
    (2e19, 1e19, 0.0, 1.0),
)


@pytest.mark.parametrize("kernels_at_any_size", [False, True])
@pytest.mark.parametrize("name", NORMS)
def test_norms_of_the_largest_numbers_are_those_of_the_wider_type(
    name: str, kernels_at_any_size: bool
) -> None:
    """Their squares leave float32; the numbers beside them, whose squares do not, keep every digit."""
    rows = np.array([*LARGE_ROWS, (0.5, -1.0, 2.0, 1e-3)]).repeat(10, axis=1)
    slopes = np.cos(np.arange(rows.size)).reshape(rows.shape)

    def run(dtype: Any) -> list[Any]:
        x = wb.tensor(rows, dtype=dtype, requires_grad=True)
        y = NORMS[name](wb.nn.functional, x)
        (gradient,) = wb.autograd.grad(y, [x], wb.tensor(slopes, dtype=dtype).reshape(y.shape))
        return [doubles(y), doubles(gradient)]

    exact = run(wb.float64)
    with at_any_size() if kernels_at_any_size else contextlib.nullcontext():
        for have, want in zip(run(wb.float32), exact, strict=True):
            by_row = [
                one.T if name == "batch_norm" and one.shape[0] > len(rows) else one for one in (have, want)
            ]
            for mine, right in zip(*by_row, strict=True):
                # Gradients of what deviates by 1e38 are denormal, and have few digits.
                np.testing.assert_allclose(mine, right, rtol=2e-4, atol=3e-5 * np.abs(right).max() + 1e-44)

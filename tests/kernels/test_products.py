"""The ways in which a product of matrices is computed, and the choice between them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.kernels.layouts import at_the_edge
from workbench import kernels
from workbench.kernels.loader import native
from workbench.kernels.matmul import SETTING, measured_products
from workbench.lab.doctor import products

WAYS = ("gemm", "made", "packed", "own")
PROGRAM = """
import numpy as np
from workbench.kernels.loader import native
random = np.random.default_rng(0)
for m, k, n in ((512, 512, 512), (130, 700, 300), (3000, 70, 333)):
    for a_order in "CF":
        for b_order in "CF":
            a = np.asarray(random.standard_normal((m, k), np.float32), order=a_order)
            b = np.asarray(random.standard_normal((k, n), np.float32), order=b_order)
            exact = a.astype(np.float64) @ b
            assert np.abs(native.matmul(a, b) - exact).max() < 1e-5 * np.abs(exact).max()
a = random.standard_normal((9, 128, 64)).astype(np.float32)
b = random.standard_normal((9, 64, 250)).astype(np.float32)
exact = a.astype(np.float64) @ b
assert np.abs(native.matmul(a, b) - exact).max() < 1e-5 * np.abs(exact).max()
print(native.chosen_products())
"""

needs_kernels = pytest.mark.skipif(not kernels.available(), reason="the compiled kernels are not there")


def run(way: str) -> subprocess.CompletedProcess[str]:
    command = ["env", f"{SETTING}={way}", sys.executable, "-c", PROGRAM]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@needs_kernels
@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_product(way: str) -> None:
    done = run(way)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "{}", "who fixes the way has nothing measured"


@needs_kernels
def test_a_way_that_is_not_there_is_refused() -> None:
    done = run("fastest")
    assert "WORKBENCH_PRODUCTS is 'fastest'; expected measure, gemm, made, packed or own" in done.stderr


@needs_kernels
def test_what_was_chosen_stays() -> None:
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(shape).astype(np.float32) for shape in ((600, 500), (500, 400)))
    first = native.matmul(a, b)
    chosen = dict(native.chosen_products())
    assert all(way in WAYS for way in chosen.values())
    for _ in range(3):
        assert np.array_equal(native.matmul(a, b), first)
    assert dict(native.chosen_products()) == chosen


@needs_kernels
def test_doctor_says_what_was_chosen() -> None:
    chosen = measured_products()
    assert chosen["float64"] in ("own", "BLAS")
    assert any("1024×1024 @ 1024×1024" in size for size in chosen)
    (finding, other) = products({"64×64 @ 64×64, 1 thread": "made", "float64": "own"})
    assert (finding.subject, finding.text) == ("products by made", "64×64 @ 64×64, 1 thread")
    assert other.text == "float64"


def doubles(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).standard_normal(shape)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((40, 50), (50, 60)),
        ((300, 700), (700, 33)),
        ((7, 300), (300, 700)),
        ((1, 64), (64, 64)),
        ((5, 40, 30), (5, 30, 50)),
        ((2, 1, 40, 30), (3, 30, 50)),
        ((50, 0), (0, 60)),
    ],
)
def test_products_of_doubles(left: tuple[int, ...], right: tuple[int, ...], count: int) -> None:
    a, b = doubles(*left), doubles(*right)
    before = kernels.get_num_threads()
    kernels.set_num_threads(count)
    try:
        for x in (a, a.swapaxes(-1, -2).copy().swapaxes(-1, -2), np.repeat(a, 2, axis=-1)[..., ::2]):
            for y in (b, b.swapaxes(-1, -2).copy().swapaxes(-1, -2)):
                expected = np.matmul(a, b)
                for got in (
                    (wb.tensor(x) @ wb.tensor(y)).numpy(),
                    *((native.matmul(x, y),) if native else ()),
                ):
                    assert got.dtype == np.float64
                    np.testing.assert_allclose(
                        got, expected, rtol=0, atol=1e-13 * max(1, np.abs(expected).max(initial=0))
                    )
    finally:
        kernels.set_num_threads(before)


@needs_kernels
def test_threads_do_not_change_the_bits_of_doubles() -> None:
    a, b = doubles(301, 400), doubles(400, 250)
    before = kernels.get_num_threads()
    found = []
    for count in (1, 2, 3):
        kernels.set_num_threads(count)
        found.append(native.matmul(a, b))
    kernels.set_num_threads(before)
    assert all(np.array_equal(one, found[0]) for one in found)


@needs_kernels
def test_what_is_not_finite_stays_in_its_row_and_column() -> None:
    a, b = doubles(30, 40), doubles(40, 50)
    a[3, 7], b[2, 9] = np.inf, np.nan
    got, expected = native.matmul(a, b), np.matmul(a, b)
    assert np.array_equal(np.isfinite(got), np.isfinite(expected))
    assert np.array_equal(np.isnan(got), np.isnan(expected))


@needs_kernels
def test_linear_of_doubles() -> None:
    x, weight, bias = doubles(4, 30, 40), doubles(50, 40), np.arange(50.0)
    np.testing.assert_allclose(native.linear(x, weight, bias), x @ weight.T + bias, atol=1e-13)
    np.testing.assert_allclose(
        native.linear(x, weight, bias, relu=True), np.maximum(x @ weight.T + bias, 0), atol=1e-13
    )


@needs_kernels
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("shape", [(37, 29, 41), (12, 8, 17), (100, 300, 33), (5, 600, 7), (193, 257, 1025)])
def test_our_own_read_nothing_beyond_their_operands(shape: tuple[int, int, int], count: int) -> None:
    m, k, n = shape
    before = kernels.get_num_threads()
    kernels.set_num_threads(count)
    try:
        for behind in (True, False):
            for turned in (False, True):
                a, b = doubles(m, k), doubles(k, n)
                (x, _), (y, _) = (
                    at_the_edge(np.ascontiguousarray(one.T) if turned else one, behind) for one in (a, b)
                )
                got = native.matmul(x.T if turned else x, y.T if turned else y)
                np.testing.assert_allclose(got, a @ b, rtol=0, atol=1e-11)
    finally:
        kernels.set_num_threads(before)

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from workbench import kernels

Floats = npt.NDArray[np.float32]
Make = Callable[..., Floats]


def close(ours: Floats, expected: npt.NDArray[np.float64]) -> None:
    np.testing.assert_allclose(
        ours, expected, rtol=1e-5, atol=1e-5 * max(1.0, float(np.abs(expected).max(initial=0)))
    )


@pytest.mark.parametrize(
    ("m", "k", "n"), [(1, 1, 1), (64, 3136, 128), (1, 128, 10), (7, 13, 5), (5, 0, 3), (0, 4, 3)]
)
def test_matmul_and_linear(m: int, k: int, n: int, floats: Make) -> None:
    a, b, bias = floats(m, k), floats(n, k), floats(n)
    exact_a, exact_b = (array.astype(np.float64) for array in (a, b))
    close(kernels.lookup("matmul").run(a, b.T), exact_a @ exact_b.T)
    close(kernels.lookup("linear").run(a, b, bias), exact_a @ exact_b.T + bias)
    close(kernels.lookup("linear").run(a, b), exact_a @ exact_b.T)
    close(kernels.lookup("linear").run(a, b, bias, relu=True), np.maximum(exact_a @ exact_b.T + bias, 0))


@pytest.mark.parametrize("rows", [1024, 2048])
def test_columns_that_begin_at_one_place_of_their_pages(rows: int, floats: Make) -> None:
    wide, other = floats(301, rows), floats(301, 250)
    a = wide[:, :1024]
    expected = a.T.astype(np.float64) @ other
    close(kernels.lookup("matmul").run(a.T, other), expected)
    close(kernels.lookup("matmul").run(a.T, np.asfortranarray(other)), expected)
    close(kernels.lookup("matmul").run(a.T, np.pad(other, ((0, 0), (50, 0)))[:, 50:]), expected)


def test_any_layout(floats: Make, lay: Callable[[Floats], Floats]) -> None:
    a, b = floats(6, 40), floats(40, 9)
    expected = a.astype(np.float64) @ b
    run = kernels.lookup("matmul").run
    close(run(lay(a), lay(b)), expected)
    close(run(lay(a.T.copy()).T, lay(b.T.copy()).T), expected)
    close(run(np.broadcast_to(a[:1], (6, 40)), b), np.broadcast_to(a[:1], (6, 40)).astype(np.float64) @ b)
    close(
        run(a, np.broadcast_to(b[:, :1], (40, 9))), a.astype(np.float64) @ np.broadcast_to(b[:, :1], (40, 9))
    )


def test_linear_over_the_last_of_several_dimensions(floats: Make, lay: Callable[[Floats], Floats]) -> None:
    x, weight = floats(2, 3, 5, 8), floats(4, 8)
    close(kernels.lookup("linear").run(lay(x), lay(weight)), x.astype(np.float64) @ weight.T)


def test_refusals(floats: Make) -> None:
    with pytest.raises(ValueError, match=r"matmul of \[2, 3\] and \[4, 5\]: the inner sizes differ"):
        kernels.lookup("matmul").run(floats(2, 3), floats(4, 5))
    with pytest.raises(
        ValueError, match=r"linear input has shape \[2, 3\], but weight \[4, 5\] takes \[..., 5\]"
    ):
        kernels.lookup("linear").run(floats(2, 3), floats(4, 5))
    with pytest.raises(ValueError, match=r"linear bias has shape \[3\]; expected \[4\]"):
        kernels.lookup("linear").run(floats(2, 5), floats(4, 5), floats(3))


def test_small_products_stay_with_numpy(floats: Make) -> None:
    accepts = kernels.lookup("matmul").accepts
    assert accepts(floats(64, 64), floats(64, 10))
    assert not accepts(floats(3, 4), floats(4, 5))
    assert not accepts(floats(64, 64).astype(np.float64), floats(64, 10))
    assert accepts(floats(2, 64, 64), floats(64, 10))


@pytest.mark.parametrize(
    ("left", "right"),
    [((6, 5, 40), (6, 40, 9)), ((2, 3, 5, 40), (2, 3, 40, 9)), ((2, 1, 5, 40), (3, 40, 9)), ((5, 40), (4, 40, 9)),
     ((1, 7, 8, 40), (6, 1, 40, 9)), ((3, 0, 4), (3, 4, 5)), ((3, 2, 0), (3, 0, 5)), ((0, 2, 4), (0, 4, 5))],
)  # fmt: skip
def test_batches(
    left: tuple[int, ...], right: tuple[int, ...], floats: Make, lay: Callable[[Floats], Floats]
) -> None:
    a, b = floats(*left), floats(*right)
    expected = a.astype(np.float64) @ b
    run = kernels.lookup("matmul").run
    close(run(lay(a), lay(b)), expected)
    turned_a, turned_b = (np.ascontiguousarray(one.swapaxes(-1, -2)).swapaxes(-1, -2) for one in (a, b))
    close(run(turned_a, turned_b), expected)


def test_batches_that_do_not_fit(floats: Make) -> None:
    with pytest.raises(ValueError, match="the batch sizes differ"):
        kernels.lookup("matmul").run(floats(2, 3, 4), floats(3, 4, 5))
    with pytest.raises(ValueError, match="the inner sizes differ"):
        kernels.lookup("matmul").run(floats(2, 3, 4), floats(2, 3, 4))

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from workbench import kernels
from workbench.core.op import ops

Floats = npt.NDArray[np.float32]
Make = Callable[..., Floats]


@pytest.mark.parametrize(
    ("shape", "count"), [((70, 33), 1), ((3, 40, 1030), 1), ((5, 6, 7, 16), 2), ((300, 8), 1), ((4, 9), 2)]
)
@pytest.mark.parametrize("factors", [True, False])
def test_against_doubles(
    shape: tuple[int, ...], count: int, factors: bool, floats: Make, lay: Callable[[Floats], Floats]
) -> None:
    x, g = floats(*shape) * 3 + 5, floats(*shape)
    inner = shape[-count:]
    weight, bias = (floats(*inner) + 1, floats(*inner)) if factors else (None, None)
    given = [one for one in (weight, bias) if one is not None]
    wide = [one.astype(np.float64) for one in given]
    found = kernels.lookup("layer_norm").run(lay(x), *given, count=count, eps=1e-5)
    expected = ops.layer_norm.forward(x.astype(np.float64), *wide, count=count, eps=1e-5)
    for mine, exact in zip(found, expected, strict=True):
        assert mine.shape == exact.shape
        np.testing.assert_allclose(mine, exact, rtol=2e-5, atol=2e-5)
    back = kernels.lookup("layer_norm_gradient").run(
        lay(g), lay(x), found[1], found[2], *given[:1], count=count
    )
    exact_back = ops.layer_norm_gradient.forward(
        g.astype(np.float64), x.astype(np.float64), *expected[1:], *wide[:1], count=count
    )
    for mine, exact in zip(back, exact_back, strict=True):
        assert mine.shape == exact.shape
        np.testing.assert_allclose(mine, exact, rtol=1e-4, atol=1e-4)


def test_a_large_mean_does_not_drown_the_variance(floats: Make) -> None:
    x = floats(50, 1000) + 4096
    y, _, _ = kernels.lookup("layer_norm").run(x, count=1, eps=1e-5)
    exact = ops.layer_norm.forward(x.astype(np.float64), count=1, eps=1e-5)[0]
    np.testing.assert_allclose(y, exact, atol=1e-3)


@pytest.mark.parametrize(
    ("shape", "count"), [((70, 33), 1), ((3, 40, 1030), 1), ((5, 6, 7, 16), 2), ((300, 8), 1), ((4, 9), 2)]
)
@pytest.mark.parametrize("weighed", [True, False])
def test_root_mean_square_against_doubles(
    shape: tuple[int, ...], count: int, weighed: bool, floats: Make, lay: Callable[[Floats], Floats]
) -> None:
    x, g = floats(*shape) * 3 + 5, floats(*shape)
    given = [floats(*shape[-count:]) + 1] if weighed else []
    wide = [one.astype(np.float64) for one in (x, *given)]
    found = kernels.lookup("rms_norm").run(lay(x), *given, count=count, eps=1e-5)
    expected = ops.rms_norm.forward(*wide, count=count, eps=1e-5)
    back = kernels.lookup("rms_norm_gradient").run(lay(g), lay(x), found[1], *given, count=count)
    exact_back = ops.rms_norm_gradient.forward(
        g.astype(np.float64), wide[0], expected[1], *wide[1:], count=count
    )
    for mine, exact in zip((*found, *back), (*expected, *exact_back), strict=True):
        assert mine.shape == exact.shape
        np.testing.assert_allclose(mine, exact, rtol=1e-4, atol=1e-4)


def test_nan_stays_in_its_row(floats: Make) -> None:
    x = floats(4, 21)
    x[2, 20] = np.nan
    y, rstd = kernels.lookup("rms_norm").run(x, count=1, eps=1e-5)
    assert np.isnan(y).nonzero()[0].tolist() == [2] * 21
    gx, gw = kernels.lookup("rms_norm_gradient").run(floats(4, 21), x, rstd, count=1)
    assert np.isnan(gx).nonzero()[0].tolist() == [2] * 21
    assert np.isnan(gw).all()


@pytest.mark.parametrize("shape", [(3000, 40), (7, 20000)])
@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_results_are_the_same_with_any_number_of_threads(
    name: str, shape: tuple[int, int], floats: Make
) -> None:
    x, g, weight, before = floats(*shape), floats(*shape), floats(shape[1]), kernels.get_num_threads()
    found = set()
    try:
        for threads in (1, 2, 3):
            kernels.set_num_threads(threads)
            y, *statistics = kernels.lookup(name).run(x, weight, count=1, eps=1e-5)
            back = kernels.lookup(f"{name}_gradient").run(g, x, *statistics, weight, count=1)
            found.add(b"".join([one.tobytes() for one in (y, *statistics, *back)]))
    finally:
        kernels.set_num_threads(before)
    assert len(found) == 1


def test_refusals(floats: Make) -> None:
    with pytest.raises(ValueError, match=r"rms_norm weight has shape \[4\]; expected \[3\]"):
        kernels.lookup("rms_norm").run(floats(2, 3), floats(4), count=1, eps=1e-5)
    with pytest.raises(ValueError, match=r"rms_norm gradient has shape \[3, 2\]; expected \[2, 3\]"):
        kernels.lookup("rms_norm_gradient").run(floats(3, 2), floats(2, 3), floats(2, 1), count=1)
    with pytest.raises(ValueError, match=r"layer_norm statistic has shape \[3, 1\]; expected \[2, 1\]"):
        kernels.lookup("layer_norm_gradient").run(
            floats(2, 3), floats(2, 3), floats(3, 1), floats(2, 1), count=1
        )
    with pytest.raises(ValueError, match=r"layer_norm weight has shape \[4\]; expected \[3\]"):
        kernels.lookup("layer_norm").run(floats(2, 3), floats(4), count=1, eps=1e-5)
    with pytest.raises(ValueError, match=r"layer_norm over the last 3 dimensions of shape \[2, 3\]"):
        kernels.lookup("layer_norm").run(floats(2, 3), count=3, eps=1e-5)

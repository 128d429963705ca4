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


def test_refusals(floats: Make) -> None:
    with pytest.raises(ValueError, match=r"layer_norm weight has shape \[4\]; expected \[3\]"):
        kernels.lookup("layer_norm").run(floats(2, 3), floats(4), count=1, eps=1e-5)
    with pytest.raises(ValueError, match=r"layer_norm over the last 3 dimensions of shape \[2, 3\]"):
        kernels.lookup("layer_norm").run(floats(2, 3), count=3, eps=1e-5)

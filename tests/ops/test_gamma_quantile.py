"""How a gamma quantile moves with the shape: to all digits, in every region that is computed its own way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core.op import ops

# By mpmath with 60 digits, from differences of its incomplete gamma function: shape, quantile, dz/da, and the latter's
# derivative in the shape where the quantile stays.
EXACT = [
    (0.001, 9.82165964406889e-47, 1.0348231948431981e-41, -1.0348070624411942e-38),
    (0.001, 11.313671618752236, 927.0420072294115, -924128.3172914903),
    (0.5, 7.853981633974481e-17, 5.830704220685312e-15, -1.1514570055081088e-14),
    (0.5, 0.07423593091627269, 0.41662195701286825, -0.707846651405614),
    (0.5, 1.352771727047702, 2.1447640258609733, -2.9388446750487374),
    (0.5, 18.66244655325936, 4.81692567588165, -4.569817568912993),
    (3.3, 0.007303432770702151, 0.013872764373312616, -0.0036296474659300777),
    (3.3, 2.1660824211694725, 0.845302245994964, -0.15018925912104664),
    (3.3, 5.7358988332787435, 1.3689905489176493, -0.20886978615345822),
    (3.3, 27.437779451106362, 2.5185406798269416, -0.28719314799750223),
    (11.9, 1.2278827155012835, 0.2644375078724879, -0.015289677012963016),
    (11.9, 9.879331929322246, 0.9226566962357329, -0.04107145422253419),
    (11.9, 16.479351881680405, 1.1881060285253726, -0.048590912226195875),
    (11.9, 45.295478226598235, 1.8372387978802838, -0.062386961732750136),
    (12.0, 1.2544422823101862, 0.26675071834479674, -0.015273848145341695),
    (12.0, 9.971614371019339, 0.9229914111254482, -0.040728834626126316),
    (12.0, 16.59812214431409, 1.1873009498859994, -0.048151773130355686),
    (12.0, 45.47903642348005, 1.8339317892941627, -0.06179144578432474),
    (200.0, 130.50871199108872, 0.8023650542458275, -0.002151611820816609),
    (200.0, 192.349203034977, 0.9814418830533967, -0.002473656110851267),
    (200.0, 218.32449252728867, 1.0453435161213436, -0.002579511291924733),
    (200.0, 296.79673853886845, 1.2113197882725497, -0.0028344806792181625),
    (1000000.0, 994398.1600147608, 0.997194001405806, -4.990639855674002e-07),
    (1000000.0, 999475.3579172359, 0.9997377996946484, -4.999127866557787e-07),
    (1000000.0, 1001281.7654996209, 1.0006407758781388, -5.002137409063843e-07),
    (1000000.0, 1006009.469738052, 1.0029989011012885, -5.009988302195938e-07),
]


@pytest.mark.parametrize(("shape", "quantile", "slope", "curvature"), EXACT)
def test_slope_and_curvature_to_all_digits(
    shape: float, quantile: float, slope: float, curvature: float
) -> None:
    a, z = (wb.tensor(one, dtype=wb.float64) for one in (shape, quantile))
    assert ops.gamma_quantile_slope(a, z).item() == pytest.approx(slope, rel=2e-12)
    assert ops.gamma_quantile_curvature(a, z).item() == pytest.approx(curvature, rel=1e-8)


@pytest.mark.parametrize(
    ("a", "x", "expected"),
    [
        (2.0, 0.0, 0.0),
        (2.0, math.nan, math.nan),
        (math.nan, 1.0, math.nan),
        (-1.0, 1.0, math.nan),
        (2.0, -1.0, math.nan),
        (2.0, math.inf, math.nan),
    ],
)
def test_where_there_is_no_quantile(a: float, x: float, expected: float) -> None:
    found = ops.gamma_quantile_slope(wb.tensor(a), wb.tensor(x)).item()
    assert found == expected or (math.isnan(found) and math.isnan(expected))


def test_the_incomplete_gamma_function_is_differentiable_in_its_shape() -> None:
    a = wb.tensor([0.4, 2.0, 30.0], dtype=wb.float64, requires_grad=True)
    x = wb.tensor([0.5, 1.0, 33.0], dtype=wb.float64)
    step = 1e-6
    for function, sign in ((wb.igamma, 1), (wb.igammac, -1)):
        gradient = wb.autograd.grad(function(a, x).sum(), a)[0].numpy()
        plain = a.detach()
        numerical = (function(plain + step, x) - function(plain - step, x)).numpy() / (2 * step)
        np.testing.assert_allclose(gradient, numerical, rtol=1e-7)
        assert (np.sign(gradient) == -sign).all()
    ends = wb.autograd.grad(wb.igamma(a, wb.tensor([0.0, np.inf, 0.0])).sum(), a)[0]
    assert ends.tolist() == [0.0, 0.0, 0.0]


def test_a_third_derivative_is_refused_in_words() -> None:
    a: Any = wb.tensor(2.0, dtype=wb.float64, requires_grad=True)
    z = ops.gammaincinv(a, wb.tensor(0.3, dtype=wb.float64))
    first = wb.autograd.grad(z, a, create_graph=True)[0]
    second = wb.autograd.grad(first, a, create_graph=True)[0]
    with pytest.raises(wb.AutogradError, match="third derivative of a gamma quantile"):
        wb.autograd.grad(second, a)


def test_draws_by_rejection_move_as_the_quantile_does_once_and_twice() -> None:
    shape = wb.tensor([0.3, 2.0, 9.0, 40.0], dtype=wb.float64, requires_grad=True)
    drawn = ops.standard_gamma(shape, seed=5)
    even = wb.special.gammainc(shape.detach(), drawn.detach())
    weights = wb.tensor([1.0, -2.0, 0.5, 3.0], dtype=wb.float64)
    found = []
    for z in (drawn, ops.gammaincinv(shape, even)):
        (first,) = wb.autograd.grad((z * weights).sum(), [shape], create_graph=True)
        (second,) = wb.autograd.grad((first * first).sum(), [shape])
        found.append((z.detach().numpy(), first.detach().numpy(), second.numpy()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_a_draw_is_the_same_with_a_gradient_and_without() -> None:
    shape = wb.tensor([0.5, 3.0], requires_grad=True)
    wb.manual_seed(3)
    drawn = wb.distributions.Gamma(shape, wb.ones(2)).rsample((4,))
    wb.manual_seed(3)
    assert drawn.requires_grad
    assert drawn.tolist() == wb.distributions.Gamma(shape.detach(), wb.ones(2)).sample((4,)).tolist()

"""First values of parameters: deviations as in the formulas, exact forms, and what is refused."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.base.random import Generator
from workbench.nn import init


def drawn(fill: Any, *shape: int, dtype: str = "float32", **keywords: Any) -> np.ndarray[Any, Any]:
    tensor = nn.Parameter(wb.zeros(*shape, dtype=dtype), names=("a", "b", "c", "d")[: len(shape)])
    version = tensor._version
    assert fill(tensor, generator=Generator(3), **keywords) is tensor
    assert tensor._version > version and tensor.is_leaf and tensor.names == ("a", "b", "c", "d")[: len(shape)]
    values = tensor.detach().numpy()
    again = fill(wb.zeros(*shape, dtype=dtype), generator=Generator(3), **keywords)
    np.testing.assert_array_equal(again.numpy(), values)
    return values


@pytest.mark.parametrize(
    ("fill", "keywords", "deviation"),
    [
        (init.normal_, {"mean": 0, "std": 2.0}, 2.0),
        (init.uniform_, {"a": -3, "b": 3}, 3 / np.sqrt(3)),
        (init.xavier_uniform_, {"gain": 2.0}, 2 * np.sqrt(2 / 300)),
        (init.xavier_normal_, {}, np.sqrt(2 / 300)),
        (init.kaiming_uniform_, {"nonlinearity": "relu"}, np.sqrt(2 / 100)),
        (init.kaiming_normal_, {"mode": "fan_out", "a": 1}, np.sqrt(1 / 200)),
        (init.trunc_normal_, {}, 0.87963),
        (init.trunc_normal_, {"std": 10.0, "a": -1, "b": 1}, 0.577),
        (init.trunc_normal_, {"mean": 3.0, "a": 4.0, "b": 6.0}, 0.4223),
    ],
)
def test_deviations_are_those_of_the_formula(fill: Any, keywords: Any, deviation: float) -> None:
    values = drawn(fill, 200, 100, **keywords)
    assert values.std() == pytest.approx(deviation, rel=0.02)


def test_a_truncated_normal_stays_between_its_bounds() -> None:
    for dtype in ("float16", "float32", "float64"):
        values = drawn(init.trunc_normal_, 5000, dtype=dtype, std=3.0, a=-1.25, b=0.5)
        assert values.min() >= -1.25 and values.max() <= 0.5
        assert values.min() < -1.2 and values.max() > 0.45
    with pytest.warns(UserWarning, match="mean is more than 2 std"):
        init.trunc_normal_(wb.zeros(3), mean=5.0, a=0.0, b=1.0)
    with pytest.raises(ValueError, match="the bounds are a <= b"):
        init.trunc_normal_(wb.zeros(3), a=1, b=-1)


@pytest.mark.parametrize(
    ("shape", "rows"), [((3, 5), True), ((5, 3), False), ((2, 3, 2), True), ((4, 4), True)]
)
def test_an_orthogonal_matrix_has_orthonormal_rows_or_columns(shape: Any, rows: bool) -> None:
    q = drawn(init.orthogonal_, *shape, dtype="float64", gain=2.0).reshape(shape[0], -1)
    product = q @ q.T if rows else q.T @ q
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-12)


def test_a_sparse_matrix_has_as_many_zeros_in_each_column() -> None:
    values = drawn(init.sparse_, 10, 50, sparsity=0.25, std=0.5)
    np.testing.assert_array_equal((values == 0).sum(0), 3)
    assert values[values != 0].std() == pytest.approx(0.5, rel=0.1)


def test_dirac_returns_what_comes_in_group_by_group() -> None:
    weight = init.dirac_(wb.ones(4, 2, 3), groups=2).numpy()
    expected = np.zeros((4, 2, 3))
    for channel in range(4):
        expected[channel, channel % 2, 1] = 1
    np.testing.assert_array_equal(weight, expected)
    assert init.dirac_(wb.ones(2, 3, 2, 2, 2)).sum().item() == 2
    np.testing.assert_array_equal(init.eye_(wb.ones(2, 3)).numpy(), np.eye(2, 3))
    assert init.constant_(wb.zeros(2), 0.5).tolist() == [0.5, 0.5]


def test_complex_values_have_the_variance_in_all() -> None:
    values = drawn(init.normal_, 4000, dtype="complex64", std=2.0)
    assert values.std() == pytest.approx(2.0, rel=0.05)
    assert values.real.std() == pytest.approx(np.sqrt(2), rel=0.05)


@pytest.mark.parametrize(("fill", "kind"), [(init.uniform_, "uniform"), (init.normal_, "normal")])
@pytest.mark.parametrize("turned", [False, True])
def test_a_large_tensor_is_drawn_as_if_at_once(fill: Any, kind: str, turned: bool) -> None:
    tensor = wb.zeros(301, 501).t() if turned else wb.zeros(501, 301)
    stream = Generator(3)
    fill(tensor, -1.0, 2.0, generator=stream)
    alone = Generator(3).numpy
    np.testing.assert_array_equal(
        tensor.numpy(), getattr(alone, kind)(-1.0, 2.0, (501, 301)).astype(np.float32)
    )
    assert stream.numpy.random() == alone.random()


def test_a_large_tensor_is_drawn_without_a_copy_of_it() -> None:
    tensor = wb.zeros(1 << 21)
    tracemalloc.start()
    init.uniform_(tensor)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 21, "drawing took more than a quarter of the tensor's own memory"


def test_nothing_is_drawn_where_it_is_skipped() -> None:
    state = wb.get_rng_state()
    with init.skipped():
        init.normal_(wb.zeros(4))
        nn.Linear(3, 3)
    assert wb.get_rng_state() == state


def test_gains() -> None:
    assert init.calculate_gain("conv_transpose2d") == init.calculate_gain("sigmoid") == 1
    assert init.calculate_gain("leaky_relu", 0) == pytest.approx(2**0.5)
    assert init.calculate_gain("tanh") == pytest.approx(5 / 3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: init.calculate_gain("leaky_relu", True),
            ValueError,
            "negative_slope True not a valid number",
        ),
        (lambda: init.calculate_gain("gelu"), ValueError, "Unsupported nonlinearity gelu: use one of"),
        (lambda: init.eye_(wb.zeros(2)), ValueError, "Only tensors with 2 dimensions"),
        (lambda: init.sparse_(wb.zeros(2), 0.1), ValueError, "Only tensors with 2 dimensions"),
        (lambda: init.dirac_(wb.zeros(2, 2)), ValueError, "3, 4, or 5 dimensions"),
        (
            lambda: init.dirac_(wb.zeros(3, 2, 1), 2),
            ValueError,
            "must be divisible by groups, and 3 is not by 2",
        ),
        (lambda: init.orthogonal_(wb.zeros(2)), ValueError, "2 or more dimensions"),
        (lambda: init.xavier_normal_(wb.zeros(2)), wb.DimensionError, "fewer than 2 dimensions"),
        (lambda: init.kaiming_normal_(wb.zeros(2, 2), mode="in"), ValueError, "Mode in not supported"),
    ],
)
def test_what_cannot_be_filled_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


def test_older_names_work_and_warn() -> None:
    with pytest.warns(
        FutureWarning, match="`nn.init.constant` is now deprecated in favor of `nn.init.constant_`"
    ):
        assert init.constant(wb.zeros(1), 2).item() == 2
    with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
        init.kaiming_uniform_(wb.zeros(0, 3))


def test_fans_count_the_window() -> None:
    assert nn.init.calculate_fan(wb.empty(4, 3, 5, 2)) == (30, 40)
    assert nn.init.calculate_fan(wb.empty(4, 3)) == (3, 4)


def test_a_truncated_normal_far_out_falls_off_as_the_density_does() -> None:
    wb.manual_seed(0)
    with pytest.warns(UserWarning, match="more than 2 std"):
        values = nn.init.trunc_normal_(wb.empty(20000), std=1.0, a=3.0, b=9.0).numpy()
    # Mean of a normal distribution beyond 3: φ(3) / (1 - Φ(3)).
    assert abs(values.mean() - 3.2831) < 0.01


def test_a_truncated_normal_beside_the_middle_falls_off_as_the_density_does() -> None:
    wb.manual_seed(0)
    values = nn.init.trunc_normal_(wb.empty(200_000), a=0.5, b=0.9).numpy()
    assert abs(values.mean() - 0.6907) < 0.001  # (φ(0.5) - φ(0.9)) / (Φ(0.9) - Φ(0.5))


def test_an_orthogonal_matrix_is_drawn_evenly() -> None:
    wb.manual_seed(0)
    corners = np.array([nn.init.orthogonal_(wb.empty(2, 2)).numpy()[0, 0] for _ in range(400)])
    assert abs(corners.mean()) < 0.15  # with the signs of QR as they come it is always below 0
    assert (corners > 0).mean() > 0.4

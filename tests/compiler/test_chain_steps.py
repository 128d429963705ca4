"""Elementwise ops in compiled functions: one step for all that are on the way, whatever order values lie in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import kernels, nn
from workbench.compiler.chain_groups import fuse_chains
from workbench.graph import check, run, trace

pytestmark = pytest.mark.skipif(not kernels.available(), reason=f"compiled kernels: {kernels.reason()}")

F = nn.functional


def held(function: Callable[..., Any], *arrays: Any, **tolerance: float) -> Any:
    """Hold a compiled function to what it gives as it is written; return the report of it."""
    compiled = wb.compile(function, fullgraph=True)
    tensors = [wb.tensor(one) for one in arrays]
    with wb.no_grad(), np.errstate(all="ignore"):
        expected = function(*tensors)
        for _ in range(2):
            found = compiled(*tensors)
            several = (
                [(found, expected)] if isinstance(found, wb.Tensor) else zip(found, expected, strict=True)
            )
            for have, want in several:
                assert have.dtype == want.dtype
                np.testing.assert_allclose(
                    have.numpy(), want.numpy(), **{"rtol": 0.0, "atol": 0.0, **tolerance}
                )
    for one, array in zip(tensors, arrays, strict=True):
        np.testing.assert_array_equal(one.numpy(), array)
    report = wb.compiler.explain(compiled)
    assert report.calls == {"compiled": 2}
    return report


def steps_of(report: Any) -> dict[str, int]:
    """Return how often each step is there, by the first word of its name."""
    (program,) = report.programs
    found: dict[str, int] = {}
    for name, count in program.steps.items():
        found[name.partition(" ")[0]] = found.get(name.partition(" ")[0], 0) + count
    return found


def floats(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def test_what_is_elementwise_is_one_step_and_gives_the_very_bits() -> None:
    def function(x: Any, y: Any) -> Any:
        a = (x * y + 1.5).relu() - y
        return wb.where(a > 0.2, a, x).clamp(-1, 2) * a

    report = held(function, floats(70, 333), floats(333))
    assert steps_of(report) == {"chain": 1}
    assert not report.programs[0].eager


def test_one_op_that_has_no_other_step_is_a_chain_too() -> None:
    report = held(
        lambda x, y: (wb.log1p(x.abs()).sum(1), x.maximum(y)), floats(5, 40), floats(5, 40), rtol=1e-5
    )
    assert steps_of(report)["chain"] == 2


@pytest.mark.parametrize("channels", [1, 3, 8, 16, 20, 32])
def test_values_in_blocks_of_channels_stay_as_they_lie(channels: int) -> None:
    first, second = nn.Conv2d(4, channels, 3, padding=1), nn.Conv2d(channels, 5, 3)
    scale, plane, one = floats(channels, 1, 1), floats(9, 11), floats(1)

    def function(x: Any) -> Any:
        y = first(x)
        z = (y * wb.tensor(scale) + wb.tensor(plane)).tanh() * wb.tensor(one) - y
        return second(z), z.amax((2, 3))

    held(function, floats(2, 4, 9, 11), rtol=1e-4, atol=1e-5)


def test_what_a_layer_does_to_its_own_result_stays_with_it() -> None:
    layer = nn.Conv2d(4, 8, 3, padding=1)

    def function(x: Any) -> Any:
        y = layer(x)
        return (layer(y[:, :4]) + y).relu()

    report = held(function, floats(2, 4, 9, 11), rtol=1e-4, atol=1e-5)
    assert "chain" not in steps_of(report)


def test_a_result_is_written_over_what_is_read_for_the_last_time_only() -> None:
    layer = nn.Linear(24, 24)

    def function(x: Any) -> Any:
        y = layer(x)
        turned = y + y.T * 0.5  # one memory, in two orders
        later = (turned * 2 - 1).tanh()
        return later, (turned - x).abs() + later

    held(function, floats(24, 24), rtol=1e-5, atol=1e-6)


def test_what_is_not_finite_goes_through_a_chain() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3e38] * 30, np.float32)
    held(lambda x: (x * 2 - 1).maximum(x * 0.5) + x, x)


def test_several_results_come_of_one_pass() -> None:
    def function(x: Any, y: Any) -> Any:
        a = x * y
        b = a + 1
        return a * 2, b.square() if hasattr(b, "square") else b * b, b - x

    report = held(function, floats(50, 7), floats(50, 7))
    assert steps_of(report) == {"chain": 1}


def test_what_a_chain_cannot_hold_is_run_as_before() -> None:
    def wide(x: Any) -> Any:
        parts = [x * float(i) for i in range(140)]
        return sum(parts[::-1], x)

    held(wide, floats(33), rtol=1e-6)
    held(lambda x: ((x * 2 - 1) > 0, x + 1), floats(100))
    held(lambda x: (x * x.shape[0] + 1).relu(), floats(10, 3))


def test_fusing_leaves_a_legal_graph_that_computes_the_same() -> None:
    def function(x: Any, y: Any) -> Any:
        long = (x.double() * 2 + 1).exp()
        return ((x * y + 1).relu() - y).sum(), long.sum(), ((x > y) & (x > 0)).float().mean()

    tensors = [wb.tensor(floats(6, 5)), wb.tensor(floats(5))]
    graph = trace(function, *tensors)
    fused = check(fuse_chains(graph))
    assert {one.kind for one in fused.functions.values()} == {"fused_elementwise"}
    for have, want in zip(run(fused, *tensors), run(graph, *tensors), strict=True):
        np.testing.assert_array_equal(have.numpy(), want.numpy())


def test_a_result_is_not_written_over_what_another_view_still_shows() -> None:
    # The product is read for the last time, twice: as it lies and turned.
    def function(x: Any, y: Any) -> Any:
        product = x @ y
        return (product + product.mT * 2).relu() - product

    report = held(function, floats(40, 6), floats(6, 40), rtol=1e-5, atol=1e-5)
    assert steps_of(report)["chain"] == 1


@pytest.mark.parametrize(
    "widths",
    [(1, 2), (0, 1, 2, 0), (-1, 2, 1, -2), (0, 0, 3, 1, -1, 0)],
    ids=lambda one: "_".join(map(str, one)),
)
def test_a_border_of_zeros_has_a_step(widths: tuple[int, ...]) -> None:
    x = floats(2, 3, 5, 4)
    x[0, 0] = np.nan
    report = held(lambda x: F.pad(x * 2, widths) + 1, x)
    assert not report.programs[0].eager and "place" in steps_of(report)


@pytest.mark.parametrize("value", [-0.0, 0.5, float("nan")], ids=str)
def test_other_borders_are_those_of_the_op(value: float) -> None:
    report = held(lambda x: F.pad(x * 2, (1, 1), value=value) * 1.5, floats(3, 4))
    assert set(report.programs[0].eager) == {"pad"}


def test_rows_that_are_picked_pass_no_share_of_a_gradient_on() -> None:
    words = nn.Embedding(7, 4, padding_idx=2)
    compiled = wb.compile(lambda i: words(i) * 2)
    with wb.no_grad():
        i = wb.tensor([[0, 2, 6]])
        np.testing.assert_array_equal(compiled(i).numpy(), (words(i) * 2).numpy())
    (program,) = wb.compiler.explain(compiled).programs
    assert not program.eager and {one.partition(" of ")[0] for one in program.steps} == {"rows", "chain"}
    compiled(i).sum().backward()
    # Where it is trained the share stays: padding learns nothing.
    assert not words.weight.grad[2].any() and words.weight.grad[0].any()

"""Losses against targets: compiled sums against double precision, any layout, any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from workbench import kernels
from workbench.core.op import ops

Floats = npt.NDArray[np.float32]
Make = Callable[..., Floats]

CASES: list[tuple[str, dict[str, float]]] = [
    ("mse_loss", {}),
    ("l1_loss", {}),
    ("huber_loss", {"bound": 1.5, "scale": 1.0}),
    ("huber_loss", {"bound": 0.3, "scale": 0.3}),
    ("binary_cross_entropy_with_logits", {}),
    ("kl_div", {"log_target": False}),
    ("kl_div", {"log_target": True}),
]


def kernel_of(name: str) -> Any:
    return kernels.lookup(name)


@pytest.mark.parametrize(("name", "numbers"), CASES)
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 77), (3, 5, 16, 17), (2, 20_003)])
def test_losses_and_gradients(
    name: str,
    numbers: dict[str, float],
    reduction: str,
    shape: tuple[int, ...],
    floats: Make,
    lay: Callable[[Floats], Floats],
) -> None:
    x, target = floats(*shape) * 3, np.abs(floats(*shape[::-1])).T
    params = {"reduction": reduction, **numbers}
    inputs = (lay(x), target)
    kernel, op = kernel_of(name), getattr(ops, name)
    assert kernel.accepts(*inputs, **params)
    exact = op.forward(x.astype(np.float64), target.astype(np.float64), **params)
    np.testing.assert_allclose(kernel.run(*inputs, **params), exact, rtol=2e-6, atol=1e-6)

    kernel, op = kernel_of(f"{name}_gradient"), getattr(ops, f"{name}_gradient")
    gradients: list[Floats] = [np.array(1.7, np.float32)]
    if reduction == "none":
        gradients = [
            floats(*shape),
            np.broadcast_to(np.float32(1.7), shape),
            floats(*shape[:-1], 1) + np.zeros(shape, np.float32),
        ]
    for g in gradients:
        assert kernel.accepts(g, *inputs, **params)
        exact = op.forward(g.astype(np.float64), x.astype(np.float64), target.astype(np.float64), **params)
        np.testing.assert_allclose(kernel.run(g, *inputs, **params), exact, rtol=3e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "numbers"), CASES)
def test_what_is_no_number_or_beyond_all_is_as_in_numpy(name: str, numbers: dict[str, float]) -> None:
    values = [0.0, -0.0, 1.5, -1.5, 0.3, 200.0, -200.0, 1e30, -1e30, np.inf, -np.inf, np.nan]
    x, target = (
        np.ascontiguousarray(one, np.float32) for one in np.meshgrid(values, [0.0, 1.0, np.inf, np.nan])
    )
    params: dict[str, Any] = {"reduction": "none", **numbers}
    for called, inputs in ((name, (x, target)), (f"{name}_gradient", (np.full_like(x, 2), x, target))):
        with np.errstate(all="ignore"):
            plain = getattr(ops, called).forward(*inputs, **params)
        np.testing.assert_allclose(kernel_of(called).run(*inputs, **params), plain, rtol=1e-6)


@pytest.mark.parametrize(("name", "numbers"), CASES)
def test_a_sum_is_the_same_with_any_number_of_threads(
    name: str, numbers: dict[str, float], floats: Make
) -> None:
    x, target = floats(300_001) * 3, np.abs(floats(300_001))
    run, before, found = kernel_of(name).run, kernels.get_num_threads(), set()
    try:
        for count in (1, 2, 3):
            kernels.set_num_threads(count)
            found.add(float(run(x, target, reduction="sum", **numbers)))
    finally:
        kernels.set_num_threads(before)
    assert len(found) == 1


def test_what_numpy_knows_better_is_left_to_it(floats: Make) -> None:
    x = floats(3, 4)
    accepts = kernel_of("mse_loss").accepts
    assert not accepts(x, x[0], reduction="mean")
    assert not accepts(x, 1.0, reduction="mean")
    assert not accepts(x[:0], x[:0], reduction="mean")
    assert not accepts(x, x.astype(np.float64), reduction="mean")
    assert not kernel_of("huber_loss").accepts(x, x, reduction="sum", bound=1e-40, scale=1e-40)
    gradient = kernel_of("mse_loss_gradient").accepts
    assert gradient(np.array(2, np.float32), x, x, reduction="mean")
    assert not gradient(x[0], x, x, reduction="none")


def test_a_divergence_keeps_the_digits_of_every_share() -> None:
    shares = np.concatenate([np.geomspace(1e-44, 3e36, 50_000), np.linspace(0.5, 2.0, 50_000)]).astype(
        np.float32
    )
    exact = shares.astype(np.float64) * np.log(shares.astype(np.float64))
    found = kernel_of("kl_div").run(shares, np.zeros_like(shares), reduction="none", log_target=False)
    np.testing.assert_array_equal(found, np.zeros_like(shares))  # no share: nothing diverges from it
    found = kernel_of("kl_div").run(np.zeros_like(shares), shares, reduction="none", log_target=False)
    np.testing.assert_allclose(found, exact, rtol=3e-7, atol=3e-45)

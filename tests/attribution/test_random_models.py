"""Random models of views, changes in place, reuse and functions: what is promised to add up does.

Nothing is a module: what a method does with a call it can only know from the op.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.attribution import LRP, DeepLift, IntegratedGradients
from workbench.nn import functional as F

WIDTH = 8
WEIGHTS = [
    wb.from_numpy(one) for one in np.random.default_rng(11).normal(size=(3, WIDTH, WIDTH)) / np.sqrt(WIDTH)
]
Step = Callable[[Any, Any, Any], Any]
"""From a value, one that came before it, and a weight to a value, all [N, 8] but the weight."""


def _relu_in_place(x: Any, before: Any, weight: Any) -> Any:
    y = x * 1
    y.relu_()
    return y


def _add_in_place(x: Any, before: Any, weight: Any) -> Any:
    y = x.clone()
    y += before
    return y


def _write_half(x: Any, before: Any, weight: Any) -> Any:
    y = x.clone()
    y[:, :4] = before[:, 4:]
    return y


def _swapped(x: Any, before: Any, weight: Any) -> Any:
    first, second = x.chunk(2, 1)
    return wb.cat([second, first], 1)


SHARED: dict[str, Step] = {
    "linear": lambda x, before, weight: F.linear(x, weight),
    "matmul": lambda x, before, weight: x @ weight,
    "relu": lambda x, before, weight: wb.relu(x),
    "relu in place": _relu_in_place,
    "residual": lambda x, before, weight: x + before,
    "add in place": _add_in_place,
    "view and transpose": lambda x, before, weight: x.view(-1, 2, 4).transpose(1, 2).reshape(-1, WIDTH),
    "half from before": _write_half,
    "halves swapped": _swapped,
    "scaled": lambda x, before, weight: x * 0.7,
    "turned": lambda x, before, weight: x.flip(1),
    "picked": lambda x, before, weight: x[:, [3, 1, 2, 0, 7, 7, 5, 4]],
    "greater of pairs": lambda x, before, weight: x.view(-1, 4, 2).amax(2).repeat_interleave(2, 1),
}
FURTHER: dict[str, Step] = {
    "tanh": lambda x, before, weight: x.tanh(),
    "gelu": lambda x, before, weight: F.gelu(x),
    "silu in place": lambda x, before, weight: F.silu(x.clone(), inplace=True),
    "gate": lambda x, before, weight: x * before.sigmoid(),
    "product": lambda x, before, weight: x * before,
    "softmax": lambda x, before, weight: x.softmax(1),
    "layer norm": lambda x, before, weight: F.layer_norm(x, (WIDTH,)),
    "attention": lambda x, before, weight: (x.view(-1, 4, 2) @ before.view(-1, 4, 2).transpose(1, 2)).softmax(-1)
    .matmul(x.view(-1, 4, 2))
    .reshape(-1, WIDTH),
    "clamped": lambda x, before, weight: x.clamp(-0.5, 0.5),
}  # fmt: skip


def model(steps: list[str], known: dict[str, Step]) -> Callable[[Any], Any]:
    def forward(x: Any) -> Any:
        before = x
        for number, name in enumerate(steps):
            # The weights take turns, so that one is used several times.
            x, before = known[name](x, before, WEIGHTS[number % len(WEIGHTS)]), x
        return x.sum(1)

    return forward


def drawn(seed: int, known: dict[str, Step]) -> tuple[Callable[[Any], Any], Any, Any]:
    random_ = random.Random(seed)
    steps = ["linear", *random_.choices(sorted(known), k=7), "linear"]
    values = np.random.default_rng(seed)
    x, start = (wb.from_numpy(values.normal(size=(3, WIDTH))) for _ in range(2))
    return model(steps, known), x, start


@pytest.mark.filterwarnings("ignore::workbench.attribution.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(25))
def test_deep_lift_and_integrated_gradients_add_up(seed: int) -> None:
    forward, x, start = drawn(seed, {**SHARED, **FURTHER})
    change = (forward(x) - forward(start)).numpy()
    found, delta = DeepLift(forward).attribute(x, start, return_convergence_delta=True)
    np.testing.assert_allclose(found.sum(1).numpy(), change, rtol=1e-5, atol=1e-6)
    assert delta.abs().max() < 1e-5
    found = IntegratedGradients(forward).attribute(x, start, n_steps=400)
    np.testing.assert_allclose(found.sum(1).numpy(), change, rtol=5e-2, atol=5e-2)


@pytest.mark.parametrize("seed", range(25))
def test_relevance_is_conserved(seed: int) -> None:
    forward, x, _ = drawn(seed, SHARED)
    found = LRP(forward).attribute(x)
    np.testing.assert_allclose(found.sum(1).numpy(), forward(x).numpy(), rtol=1e-4, atol=1e-6)

"""Random expressions: eager, traced, batched, forwards and backwards they are the same function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import func

Expression = Callable[[Any, Any], Any]

UNARY: list[Callable[[Any], Any]] = [
    lambda v: v.sin(),
    lambda v: v.tanh(),
    lambda v: v.sigmoid(),
    lambda v: v.relu(),
    lambda v: v.abs(),
    lambda v: (v * 0.3).exp(),
    lambda v: (v * v + 0.5).log(),
    lambda v: (v * v + 0.1).sqrt(),
    lambda v: v * 1.7 - 0.3,
    lambda v: v.clamp(-1.0, 0.8),
    lambda v: v.softmax(-1),
    lambda v: v.log_softmax(0),
    lambda v: v.cumsum(0),
    lambda v: v.flip(-1),
    lambda v: v.t(),
    lambda v: v.flatten().reshape(v.shape),
    lambda v: wb.cat([v[1:], v[:1]], 0),
    lambda v: wb.cat([v[:, ::2], v[:, 1::2]], 1),
    lambda v: v[[2, 0, 1]],
    lambda v: v - v.mean(1, keepdim=True),
    lambda v: v / (v.abs().sum(0, keepdim=True) + 1.0),
    lambda v: v.amax(0, keepdim=True) + v,
    lambda v: v.logsumexp(1, keepdim=True).expand(3, 3),
    lambda v: v.sum(0) + v.sum(1).unsqueeze(1),
    lambda v: wb.linear(v, v.t() * 0.5),
    lambda v: v.sort(1).values,
    lambda v: v.var(0) * v,
    lambda v: v.detach() * v,
]
BINARY: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / (b * b + 1.0),
    lambda a, b: a @ b,
    lambda a, b: wb.maximum(a, b),
    lambda a, b: wb.where(a > b, a * 2, b),
    lambda a, b: a[:, :1] * b,
    lambda a, b: a @ b.mean(0),
    lambda a, b: (a.unsqueeze(0) * b.unsqueeze(1)).sum(2),
]


def expression(seed: int) -> Expression:
    """A random function of two 3×3 matrices with a 3×3 or smaller result."""
    draw = np.random.default_rng(seed)
    steps = [
        (
            bool(draw.random() < 0.4),
            int(draw.integers(1000)),
            int(draw.integers(1000)),
            int(draw.integers(1000)),
        )
        for _ in range(int(draw.integers(2, 7)))
    ]

    def function(x: Any, y: Any) -> Any:
        values = [x, y]
        for binary, which, first, second in steps:
            a, b = values[first % len(values)], values[second % len(values)]
            made = BINARY[which % len(BINARY)](a, b) if binary else UNARY[which % len(UNARY)](a)
            values.append(made if made.ndim == 2 and made.shape == (3, 3) else made.expand(3, 3))
        return values[-1] + 0.0 * x  # always a function of x

    return function


def close(a: Any, b: Any) -> None:
    a, b = (one.detach().numpy() if isinstance(one, wb.Tensor) else one for one in (a, b))
    np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("start", range(0, 300, 20))
def test_one_function_however_it_runs(start: int) -> None:
    for seed in range(start, start + 20):
        f = expression(seed)
        draw = np.random.default_rng(seed + 10_000)
        # Values away from each other: kinks are met with probability zero.
        x, y, t, u = (wb.tensor(draw.standard_normal((3, 3))) for _ in range(4))
        value = f(x, y)
        close(wb.graph.trace(f, x, y)(x, y), value)
        out, pull = func.vjp(f, x, y)
        close(out, value)
        by_x, by_y = pull(u)
        out, forward = func.jvp(f, (x, y), (t, t))
        close(out, value)
        close((forward * u).sum(), (by_x * t).sum() + (by_y * t).sum())
        batch = wb.stack([x, x * 0.9, x + 0.05])
        close(func.vmap(f, in_dims=(0, None))(batch, y), np.stack([f(one, y).numpy() for one in batch]))
        gradient = func.grad(lambda a, b, f=f, u=u: (f(a, b) * u).sum(), argnums=(0, 1))
        close(gradient(x, y)[0], by_x)
        together = func.vmap(gradient, in_dims=(0, None))(batch, y)
        for k, entry in enumerate(batch):
            for one, alone in zip(together, gradient(entry, y), strict=True):
                close(one[k], alone)
        graph = wb.graph.trace(lambda a, b, g=gradient: g(a, b), x, y)
        close(graph(x, y)[0], by_x)
        # Second order, both ways round.
        over = func.jvp(lambda a, g=gradient, b=y: g(a, b)[0], (x,), (t,))[1]
        _, again = func.vjp(lambda a, g=gradient, b=y: g(a, b)[0], x)
        close((over * u).sum(), (again(u)[0] * t).sum())


def test_jacobians_of_expressions() -> None:
    for seed in range(400, 430):
        f = expression(seed)
        x, y = (wb.tensor(np.random.default_rng(seed).standard_normal((3, 3))) for _ in range(2))
        reverse, forward = func.jacrev(f)(x, y), func.jacfwd(f)(x, y)
        close(reverse, forward)
        close(wb.autograd.functional.jacobian(lambda a, f=f, y=y: f(a, y), x), reverse)

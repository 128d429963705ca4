"""A thousand random expressions in float32: compiled kernels, NumPy's code, a graph and a batch compute one function.

Derivatives forwards and backwards are transposes of each other. (`tests/autograd/test_expressions.py` has the same in
double precision, to second order.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import func
from workbench.core.dispatch import compute, infer_dims, interpreting
from workbench.core.op import Op
from workbench.core.value import Value, new

Matrix = Any
Step = Callable[[Matrix, Matrix], Matrix]

STEPS: list[Step] = [
    # one value at a time
    *[
        lambda a, b, f=f: f(a)
        for f in (
            wb.sin, wb.cos, wb.tanh, wb.sigmoid, wb.relu, wb.erf, wb.neg, wb.abs, wb.atan, wb.asinh, wb.square,
            lambda v: v.clamp(-2, 2).exp(), lambda v: v.abs().log1p(), lambda v: (v * v + 0.5).sqrt(),
            lambda v: (v * v + 0.5).rsqrt(), lambda v: (v * v + 1.0).reciprocal(), lambda v: (v * v + 0.5).log(),
            wb.nn.functional.softplus, wb.nn.functional.elu, wb.nn.functional.leaky_relu, wb.nn.functional.silu,
            wb.nn.functional.gelu, wb.nn.functional.hardtanh, lambda v: v.clamp(-1, 1), lambda v: v.pow(2),
            lambda v: v.sinh().tanh(), lambda v: v.lerp(v.sin(), 0.3), lambda v: wb.where(v > 0, v, v * 0.1),
        )
    ],
    # two values
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / (b * b + 1.0),
    lambda a, b: wb.maximum(a, b),
    lambda a, b: wb.minimum(a, b),
    lambda a, b: wb.hypot(a, b + 0.5),
    lambda a, b: wb.atan2(a, b * b + 0.5),
    lambda a, b: wb.addcmul(a, a, b, value=0.5),
    lambda a, b: a.logaddexp(b),
    # along dims
    lambda a, b: a - a.mean(1, keepdim=True),
    lambda a, b: a * b.sum(0, keepdim=True).tanh(),
    lambda a, b: a + b.amax(1, keepdim=True),
    lambda a, b: a + b.amin(0),
    lambda a, b: a * b.logsumexp(1, keepdim=True).tanh(),
    lambda a, b: a / (a.var(1, keepdim=True) + 1.0),
    lambda a, b: a / (wb.linalg.vector_norm(b, dim=1, keepdim=True) + 1.0),
    lambda a, b: a.softmax(1),
    lambda a, b: a.log_softmax(0).tanh(),
    lambda a, b: a.cumsum(1).tanh(),
    lambda a, b: a.tanh().cumprod(0),
    lambda a, b: a.sort(1).values,
    lambda a, b: wb.nn.functional.layer_norm(a, (a.shape[-1],)),
    lambda a, b: a.std(0) * b,
    # shapes
    lambda a, b: a.t().reshape(a.shape),
    lambda a, b: a.flip(0).roll(1, 1),
    lambda a, b: wb.cat([a[2:], b[:2]], 0),
    lambda a, b: wb.stack([a, b], 1).reshape(2 * a.shape[0], -1)[: a.shape[0]],
    lambda a, b: wb.nn.functional.pad(a, (1, 1))[:, 1:-1],
    lambda a, b: a[[3, 0, 1, 2, *range(4, a.shape[0])]],
    lambda a, b: a.unsqueeze(0).expand(3, *a.shape).mean(0),
    lambda a, b: wb.cat(list(a.split(3, 1)), 1),
    lambda a, b: a.tril() + b.triu(1),
    lambda a, b: a.diagonal().unsqueeze(1) * b,
    lambda a, b: a.gather(1, wb.zeros(*a.shape, dtype=wb.int64)) + b,
    # products
    lambda a, b: (a @ b.t() @ b).tanh(),
    lambda a, b: wb.linear(a, b[:1].expand(a.shape[1], a.shape[1]) * 0.2).tanh(),
    lambda a, b: wb.einsum("ij,kj->ik", a, b).tanh() @ a * 0.3,
    lambda a, b: a * (b @ a[0]).tanh().unsqueeze(1),
    lambda a, b: wb.nn.functional.conv1d(a.unsqueeze(0), b[:, :3].unsqueeze(1), padding=1, groups=a.shape[0])[0].tanh(),
    lambda a, b: wb.nn.functional.avg_pool1d(a.unsqueeze(0), 3, 1, 1)[0],
    lambda a, b: wb.nn.functional.max_pool1d(a.unsqueeze(0), 3, 1, 1)[0],
]  # fmt: skip


class Uncompiled:
    """The interpreter that runs each op's own array code, and no kernel."""

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        arrays = [one.payload if isinstance(one, Value) else one for one in inputs]
        infer_dims(op, inputs, params)
        out = compute(op, arrays, params)
        if op.outputs == 1:
            return new(np.asarray(out), None)
        return tuple(new(np.asarray(one), None) for one in out)


def expression(seed: int) -> Callable[[Matrix, Matrix], Matrix]:
    """A random function of two matrices of one shape, with a result of that shape."""
    draw = np.random.default_rng(seed)
    plan = [tuple(int(n) for n in draw.integers(0, 1 << 20, 3)) for _ in range(int(draw.integers(2, 8)))]

    def function(x: Matrix, y: Matrix) -> Matrix:
        values = [x, y]
        for which, first, second in plan:
            # The last value is used more often than not: trees grow deep.
            a = values[-1] if first % 3 else values[first % len(values)]
            made = STEPS[which % len(STEPS)](a, values[second % len(values)])
            assert made.shape == x.shape
            values.append(made)
        return values[-1] + 0.1 * values[-2]

    return function


def close(mine: Any, other: Any) -> None:
    np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=2e-3, atol=2e-4)


SHAPES = ((4, 5), (6, 8), (16, 32), (5, 64))


@pytest.mark.parametrize("start", range(0, 1000, 50))
def test_one_function_however_it_is_computed(start: int) -> None:
    for seed in range(start, start + 50):
        f = expression(seed)
        draw = np.random.default_rng(seed + 10_000)
        shape = SHAPES[seed % len(SHAPES)]
        x, y, t, u = (wb.tensor(draw.uniform(-1.5, 1.5, shape).astype(np.float32)) for _ in range(4))
        value = f(x, y)
        assert value.dtype is wb.float32
        with interpreting(Uncompiled()):
            close(f(x, y), value)
        close(wb.graph.trace(f, x, y)(x, y), value)
        if seed % 4 == 0:
            batch = wb.stack([x, y])
            together = func.vmap(f, in_dims=(0, None))(batch, y)
            close(together[0], value)
            close(together[1], f(y, y))
        out, pull = func.vjp(f, x, y)
        close(out, value)
        by_x, by_y = pull(u)
        out, forward = func.jvp(f, (x, y), (t, t))
        close(out, value)
        scale = float((forward * u).abs().sum()) + 1.0
        assert abs(float((forward * u).sum() - (by_x * t).sum() - (by_y * t).sum())) < 1e-4 * scale


def test_every_step_keeps_the_shape() -> None:
    x = wb.tensor(np.random.default_rng(0).uniform(-1, 1, (4, 6)).astype(np.float32))
    for step in STEPS:
        assert step(x, x * 0.5).shape == x.shape

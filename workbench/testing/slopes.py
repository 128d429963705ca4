"""What the gradient rules of an op promise: first and second order, forward mode, and values without numbers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from workbench.autograd import grad
from workbench.autograd.forward import Forward
from workbench.core.dispatch import WithoutNumbers, apply, interpreting
from workbench.core.op import Op, Sample
from workbench.core.value import Abstract, new
from workbench.tensor import Tensor
from workbench.testing.values import PRECISE, assert_close, inputs_of, several

__all__ = [
    "check_forward_mode",
    "check_rule_without_numbers",
    "check_second_order",
    "gradcheck",
    "numerical_gradient",
]


def numerical_gradient(
    op: Op,
    inputs: Sequence[Any],
    params: Any,
    weights: Sequence[Any],
    index: int,
    step: float = 1e-6,
    positions: Collection[tuple[int, ...]] | None = None,
) -> Any:
    """Return ∂ Σ weights·op(inputs) / ∂ inputs[index] by central differences, in float64.

    With `positions` for those alone; it is 0 elsewhere.
    """
    arrays = [one.detach().numpy() if isinstance(one, Tensor) else one for one in inputs]
    base = np.array(arrays[index], dtype=np.float64, order="C")
    out = np.zeros_like(base)

    def value(array: Any) -> float:
        moved = [array if i == index else other for i, other in enumerate(arrays)]
        # Gradients of complex values are those of a real number.
        results = several(op.forward(*moved, **params))
        return float(sum(np.sum(r * w).real for r, w in zip(results, weights, strict=True) if w is not None))

    for position in np.ndindex(base.shape):
        if positions is not None and position not in positions:
            continue
        up, down = base.copy(), base.copy()
        up[position] += step
        down[position] -= step
        out[position] = (value(up) - value(down)) / (2 * step)
    return out


def gradcheck(op: Op, sample: Sample) -> None:
    """Compare the gradient rule with central differences in float64."""
    inputs = inputs_of(sample, requires_grad=True)
    outs = several(apply(op, *inputs, **sample.params))
    weights, total = _weighted(outs)
    wanted = [(i, one) for i, one in enumerate(inputs) if isinstance(one, Tensor) and one.requires_grad]
    got = grad(total, [one for _, one in wanted], allow_unused=True)
    for (i, one), gradient in zip(wanted, got, strict=True):
        positions = _some_positions(one.shape, 40)
        # Not all of a large input, for each takes two runs.
        expected = numerical_gradient(op, inputs, sample.params, weights, i, positions=positions)
        actual = np.zeros_like(expected)
        if gradient is not None:
            for position in positions:
                actual[position] = gradient.payload[position]
        if gradient is not None:
            assert gradient.names == one.names, (
                f"the gradient's names {gradient.names} are not the input's {one.names}"
            )
        assert_close(actual, expected, rtol=op.tolerance * 100, atol=op.tolerance)


def _some_positions(shape: tuple[int, ...], count: int) -> list[tuple[int, ...]]:
    """Return all positions of a shape, or `count` of them if there are more, spread evenly."""
    every = list(np.ndindex(shape))
    if len(every) <= count:
        return every
    return [every[k * len(every) // count] for k in range(count)]


def _weighted(outs: tuple[Any, ...]) -> tuple[list[Any], Any]:
    """Return random weights for the differentiable outputs, and the weighted sum of those."""
    total: Any = None
    weights: list[Any] = []
    for k, out in enumerate(outs):
        if not out._requires_grad or out.dtype.kind not in "fcV":
            weights.append(None)
            continue
        # Apart from 0 and from each other: in a plain sum gradients may cancel, and a wrong rule would pass.
        weight = np.random.default_rng(k).uniform(0.5, 1.5, out.shape)
        weights.append(weight)
        term = (out.rename(None) * new(weight)).sum() if out.ndim else out * float(weight)
        term = term.real if out.dtype.kind == "c" else term
        total = term if total is None else total + term
    return weights, total


def check_rule_without_numbers(op: Op, sample: Sample) -> None:
    """The gradient rule on values that have dims and types only: one that reaches for numbers fails here."""
    inputs = inputs_of(sample, requires_grad=True)
    with interpreting(WithoutNumbers()):
        empty: list[Any] = []
        for one in inputs:
            if isinstance(one, Tensor):
                value = new(Abstract(one.shape, one.payload.dtype), one._names)
                empty.append(value.requires_grad_() if one.requires_grad else value)
            else:
                empty.append(one)
        outs = several(apply(op, *empty, **sample.params))
        wanted = [one for one in empty if isinstance(one, Tensor) and one.requires_grad]
        # V: NumPy's letter for bfloat16.
        differentiable = [out for out in outs if out._requires_grad and out.dtype.kind in "fcV"]
        seeds = [new(Abstract(out.shape, out.payload.dtype)) for out in differentiable]
        for one, gradient in zip(wanted, grad(differentiable, wanted, seeds, allow_unused=True), strict=True):
            assert gradient is None or gradient.shape == one.shape


def check_second_order(op: Op, sample: Sample) -> None:
    """Differentiate the gradient once more, and compare with differences of the first."""
    inputs = inputs_of(sample, requires_grad=True)
    wanted = [one for one in inputs if isinstance(one, Tensor) and one.requires_grad]
    # Away from 0, so that no element of a gradient goes unseen, and unequal, so that no two wrongs cancel.
    directions = [np.random.default_rng(9 + i).uniform(0.5, 1.5, one.shape) for i, one in enumerate(wanted)]

    def first(create_graph: bool) -> tuple[Any, ...]:
        _, total = _weighted(several(apply(op, *inputs, **sample.params)))
        return grad(total, wanted, create_graph=create_graph, allow_unused=True)

    def slope() -> float:
        return float(
            sum(
                np.sum(g.detach().numpy() * d)
                for g, d in zip(first(False), directions, strict=True)
                if g is not None
            )
        )

    total: Any = None
    for gradient, direction in zip(first(True), directions, strict=True):
        if gradient is not None and gradient.requires_grad:
            # Names of dims are the gradient's; the direction has none to go with them.
            term = (
                (gradient.rename(None) * new(direction)).sum()
                if gradient.ndim
                else gradient * float(direction)
            )
            total = term if total is None else total + term
    if total is None:
        return
    second = grad(total, wanted, allow_unused=True)
    step = 1e-5
    for one, gradient in zip(wanted, second, strict=True):
        original = one.payload
        expected = np.zeros(original.shape)
        for position in _some_positions(original.shape, 8):
            values = []
            for sign in (1, -1):
                one.payload = original.copy()
                one.payload[position] += sign * step
                values.append(slope())
            expected[position] = (values[0] - values[1]) / (2 * step)
            actual = 0.0 if gradient is None else gradient.numpy()[position]
            assert_close(actual, expected[position], rtol=1e-3, atol=2e-4)
        one.payload = original


def _bare(op: Op, inputs: Sequence[Any], params: Any) -> list[Any]:
    """Return the results of the op's own array code, as arrays."""
    arrays = [one.payload if isinstance(one, Tensor) else one for one in inputs]
    with np.errstate(all="ignore"):
        return [np.asarray(one) for one in several(op.forward(*arrays, **params))]


def _random_like(array: Any, seed: int) -> Any:
    draw = np.random.default_rng(seed)
    values = draw.uniform(0.5, 1.5, array.shape)
    return np.asarray(
        values + 1j * draw.uniform(0.5, 1.5, array.shape) if array.dtype.kind == "c" else values
    )


def check_forward_mode(op: Op, sample: Sample, step: float = 1e-6) -> None:
    """The derivative along a direction, of the op's own rule or derived, against a difference along it."""
    inputs = inputs_of(sample)
    moving = [
        i for i, one in enumerate(inputs) if isinstance(one, Tensor) and str(one.payload.dtype) in PRECISE
    ]
    if not moving:
        return
    directions = {i: _random_like(inputs[i].payload, 20 + i) for i in moving}
    level = Forward()
    duals = [
        level.make(one, new(directions[i]), one._names) if i in directions else one
        for i, one in enumerate(inputs)
    ]
    with interpreting(level):
        results = several(apply(op, *duals, **sample.params))
    ahead, behind = (
        _bare(
            op,
            [
                new(one.payload + sign * step * directions[i]) if i in directions else one
                for i, one in enumerate(inputs)
            ],
            sample.params,
        )
        for sign in (1, -1)
    )
    for result, up, down in zip(results, ahead, behind, strict=True):
        if up.dtype.kind not in "fc":
            continue
        value, direction = level.parts(result)
        actual = np.zeros(up.shape, up.dtype) if direction is None else direction.payload
        assert direction is None or direction.names == value.names
        expected = (up - down) / (2 * step)
        # One of the two sides may have no value.
        known = np.isfinite(expected)
        assert_close(actual[known], expected[known], rtol=op.tolerance * 200, atol=op.tolerance * 20)

"""`check_op`: everything an op promises, checked on all of its samples by one loop.

Public, so that an op declared outside this package is checked the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.autograd import grad
from workbench.base.quantized_array import QuantizedArray
from workbench.core.dispatch import WithoutNumbers, apply, interpreting
from workbench.core.op import Op, Sample
from workbench.core.value import Abstract, new
from workbench.tensor import Tensor
from workbench.tensor.factories import tensor

__all__ = ["assert_close", "check_op", "gradcheck", "inputs_of", "numerical_gradient"]


def assert_close(actual: Any, expected: Any, rtol: float = 1.3e-6, atol: float = 1e-5) -> None:
    """Raise AssertionError unless values agree within ``atol + rtol·|expected|`` and have one shape; NaN equals NaN.

    >>> assert_close(tensor([1.0]), [1.0])
    """
    a, b = (_numbers(one) for one in (actual, expected))
    assert a.shape == b.shape, f"shapes differ: {a.shape} and {b.shape}"
    np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, equal_nan=True)


def _numbers(one: Any) -> np.ndarray[Any, Any]:
    payload = one._array if isinstance(one, Tensor) else one
    if isinstance(payload, QuantizedArray):
        return payload.dequantize()
    return np.asarray(one.detach() if isinstance(one, Tensor) else one)


def inputs_of(sample: Sample, requires_grad: bool = False) -> tuple[Any, ...]:
    """Return the inputs of a sample as named tensors; Python scalars stay."""
    result = []
    for i, one in enumerate(sample.inputs):
        if not isinstance(one, np.ndarray | QuantizedArray):
            result.append(one)
            continue
        names = sample.names[i] if sample.names is not None else None
        value = tensor(0.0)
        value._array = one
        value.names = names
        differentiable = requires_grad and one.dtype.kind == "f"
        result.append(value.requires_grad_() if differentiable else value)
    return tuple(result)


def _several(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def numerical_gradient(
    op: Op, inputs: Sequence[Any], params: Any, weights: Sequence[Any], index: int, step: float = 1e-6
) -> Any:
    """Return ∂ Σ weights·op(inputs) / ∂ inputs[index] by central differences, in float64."""
    arrays = [one.detach().numpy() if isinstance(one, Tensor) else one for one in inputs]
    base = np.array(arrays[index], dtype=np.float64, order="C")
    out = np.zeros_like(base)

    def value(array: Any) -> float:
        moved = [array if i == index else other for i, other in enumerate(arrays)]
        results = _several(op.forward(*moved, **params))
        return float(sum(np.sum(r * w) for r, w in zip(results, weights, strict=True) if w is not None))

    for position in np.ndindex(base.shape):
        up, down = base.copy(), base.copy()
        up[position] += step
        down[position] -= step
        out[position] = (value(up) - value(down)) / (2 * step)
    return out


def gradcheck(op: Op, sample: Sample) -> None:
    """Compare the gradient rule with central differences in float64."""
    inputs = inputs_of(sample, requires_grad=True)
    outs = _several(apply(op, *inputs, **sample.params))
    weights, total = _weighted(outs)
    wanted = [(i, one) for i, one in enumerate(inputs) if isinstance(one, Tensor) and one.requires_grad]
    got = grad(total, [one for _, one in wanted], allow_unused=True)
    for (i, one), gradient in zip(wanted, got, strict=True):
        expected = numerical_gradient(op, inputs, sample.params, weights, i)
        actual = np.zeros_like(expected) if gradient is None else gradient.numpy()
        if gradient is not None:
            assert gradient.names == one.names, (
                f"the gradient's names {gradient.names} are not the input's {one.names}"
            )
        assert_close(actual, expected, rtol=op.tolerance * 100, atol=op.tolerance)


def _weighted(outs: tuple[Any, ...]) -> tuple[list[Any], Any]:
    """Return random weights for the differentiable outputs, and the weighted sum of those."""
    total: Any = None
    weights: list[Any] = []
    for k, out in enumerate(outs):
        if not out._requires_grad or out.dtype.kind not in "fcV":
            weights.append(None)
            continue
        weight = np.random.default_rng(k).uniform(0.5, 1.5, out.shape)
        weights.append(weight)
        term = (out.rename(None) * new(weight)).sum() if out.ndim else out * float(weight)
        total = term if total is None else total + term
    return weights, total


def _check_values(op: Op, sample: Sample) -> None:
    """Dims rule against numbers, type rule against numbers, kernel against NumPy."""
    inputs = inputs_of(sample)
    results = _several(apply(op, *inputs, **sample.params))
    arrays = [one._array if isinstance(one, Tensor) else one for one in inputs]
    plain = _several(op.forward(*arrays, **sample.params))
    with interpreting(WithoutNumbers()):
        abstract = _several(apply(op, *inputs, **sample.params))
    for got, raw, rule in zip(results, plain, abstract, strict=True):
        assert got.shape == np.shape(raw), (
            f"{op.name}: the dims rule says {rule.shape}, the numbers {np.shape(raw)}"
        )
        assert rule.shape == got.shape
        assert rule.names == got.names
        assert rule._array.dtype == got._array.dtype, (
            f"{op.name}: type rule {rule._array.dtype}, numbers {got._array.dtype}"
        )
        assert_close(got, raw, rtol=1e-6, atol=1e-9)


def _check_kernel(op: Op, sample: Sample) -> None:
    """The compiled kernel, where there is one for float32, against the op's NumPy code."""
    arrays = [
        one.astype(np.float32) if isinstance(one, np.ndarray) and one.dtype == np.float64 else one
        for one in sample.inputs
    ]
    if op.kernel is None or not op.kernel.accepts(*arrays, **sample.params):
        return
    for got, expected in zip(
        _several(op.kernel.run(*arrays, **sample.params)),
        _several(op.forward(*arrays, **sample.params)),
        strict=True,
    ):
        assert_close(got, expected, rtol=1e-4, atol=1e-5)


def _check_rule_without_numbers(op: Op, sample: Sample) -> None:
    """The gradient rule on values that have dims and types only: one that reaches for numbers fails here."""
    inputs = inputs_of(sample, requires_grad=True)
    with interpreting(WithoutNumbers()):
        empty = []
        for one in inputs:
            if isinstance(one, Tensor):
                value = new(Abstract(one.shape, one._array.dtype), one._names)
                empty.append(value.requires_grad_() if one.requires_grad else value)
            else:
                empty.append(one)
        outs = _several(apply(op, *empty, **sample.params))
        wanted = [one for one in empty if isinstance(one, Tensor) and one.requires_grad]
        differentiable = [out for out in outs if out._requires_grad and out.dtype.kind in "fcV"]
        seeds = [new(Abstract(out.shape, out._array.dtype)) for out in differentiable]
        for one, gradient in zip(wanted, grad(differentiable, wanted, seeds, allow_unused=True), strict=True):
            assert gradient is None or gradient.shape == one.shape


def _check_second_order(op: Op, sample: Sample) -> None:
    """Differentiate the gradient once more, and compare with differences of the first."""
    inputs = inputs_of(sample, requires_grad=True)
    wanted = [one for one in inputs if isinstance(one, Tensor) and one.requires_grad]
    directions = [np.random.default_rng(9 + i).uniform(0.5, 1.5, one.shape) for i, one in enumerate(wanted)]

    def first(create_graph: bool) -> tuple[Any, ...]:
        _, total = _weighted(_several(apply(op, *inputs, **sample.params)))
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
        original = one._array
        expected = np.zeros(original.shape)
        for position in list(np.ndindex(original.shape))[:12]:
            values = []
            for sign in (1, -1):
                one._array = original.copy()
                one._array[position] += sign * step
                values.append(slope())
            expected[position] = (values[0] - values[1]) / (2 * step)
            actual = 0.0 if gradient is None else gradient.numpy()[position]
            assert_close(actual, expected[position], rtol=1e-3, atol=2e-4)
        one._array = original


def _check_bad(op: Op) -> None:
    """Every declared bad input is refused with its exception and words."""
    for bad in op.bad():
        sample = Sample(bad.inputs, bad.params, bad.names)
        try:
            apply(op, *inputs_of(sample), **bad.params)
        except bad.error as error:
            _expect(bad.message in str(error), f"{op.name}: expected {bad.message!r} in {error}")
        else:
            raise AssertionError(f"{op.name} accepted {bad}")


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def check_op(op: Op) -> None:
    """Check an op on all of its samples: values, names, types, kernel, gradients of first and second order, refusals.

    Raises AssertionError at the first promise that does not hold.
    """
    for sample in op.samples():
        _check_values(op, sample)
        _check_kernel(op, sample)
        if op.vjp and any(one.requires_grad for one in inputs_of(sample, True) if isinstance(one, Tensor)):
            if "estimate" not in op.properties:
                gradcheck(op, sample)
            _check_rule_without_numbers(op, sample)
            _check_second_order(op, sample)
    _check_bad(op)

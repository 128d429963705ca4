"""`check_op`: everything an op promises, checked on all of its samples by one loop.

Public, so that an op declared outside this package is checked the same way.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from workbench.autograd import grad
from workbench.autograd.forward import Forward
from workbench.base.errors import DTypeError
from workbench.base.quantized_array import QuantizedArray
from workbench.core.batching import Batching
from workbench.core.dispatch import WithoutNumbers, apply, interpreting
from workbench.core.op import Op, Sample
from workbench.core.value import Abstract, new
from workbench.graph import trace
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
        results = _several(op.forward(*moved, **params))
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
    outs = _several(apply(op, *inputs, **sample.params))
    weights, total = _weighted(outs)
    wanted = [(i, one) for i, one in enumerate(inputs) if isinstance(one, Tensor) and one.requires_grad]
    got = grad(total, [one for _, one in wanted], allow_unused=True)
    for (i, one), gradient in zip(wanted, got, strict=True):
        positions = _some_positions(one.shape, 40)
        expected = numerical_gradient(op, inputs, sample.params, weights, i, positions=positions)
        actual = np.zeros_like(expected)
        if gradient is not None:
            for position in positions:
                actual[position] = gradient._array[position]
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
        weight = np.random.default_rng(k).uniform(0.5, 1.5, out.shape)
        weights.append(weight)
        term = (out.rename(None) * new(weight)).sum() if out.ndim else out * float(weight)
        term = term.real if out.dtype.kind == "c" else term
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
        for position in _some_positions(original.shape, 8):
            values = []
            for sign in (1, -1):
                one._array = original.copy()
                one._array[position] += sign * step
                values.append(slope())
            expected[position] = (values[0] - values[1]) / (2 * step)
            actual = 0.0 if gradient is None else gradient.numpy()[position]
            assert_close(actual, expected[position], rtol=1e-3, atol=2e-4)
        one._array = original


def _bare(op: Op, inputs: Sequence[Any], params: Any) -> list[Any]:
    """Return the results of the op's own array code, as arrays."""
    arrays = [one._array if isinstance(one, Tensor) else one for one in inputs]
    with np.errstate(all="ignore"):
        return [np.asarray(one) for one in _several(op.forward(*arrays, **params))]


def _random_like(array: Any, seed: int) -> Any:
    draw = np.random.default_rng(seed)
    values = draw.uniform(0.5, 1.5, array.shape)
    return np.asarray(
        values + 1j * draw.uniform(0.5, 1.5, array.shape) if array.dtype.kind == "c" else values
    )


def _check_forward_mode(op: Op, sample: Sample, step: float = 1e-6) -> None:
    """The derivative along a direction, of the op's own rule or derived, against a difference along it."""
    inputs = inputs_of(sample)
    moving = [
        i for i, one in enumerate(inputs) if isinstance(one, Tensor) and str(one._array.dtype) in _PRECISE
    ]
    if not moving:
        return
    directions = {i: _random_like(inputs[i]._array, 20 + i) for i in moving}
    level = Forward()
    duals = [
        level.make(one, new(directions[i]), one._names) if i in directions else one
        for i, one in enumerate(inputs)
    ]
    with interpreting(level):
        results = _several(apply(op, *duals, **sample.params))
    ahead, behind = (
        _bare(
            op,
            [
                new(one._array + sign * step * directions[i]) if i in directions else one
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
        actual = np.zeros(up.shape, up.dtype) if direction is None else direction._array
        assert direction is None or direction.names == value.names
        expected = (up - down) / (2 * step)
        known = np.isfinite(expected)
        assert_close(actual[known], expected[known], rtol=op.tolerance * 200, atol=op.tolerance * 20)


_PRECISE = ("float64", "complex128")


def _check_batch(op: Op, sample: Sample, size: int = 2) -> None:
    """A batch gives what its entries give one by one: names, types, values."""
    inputs = inputs_of(sample)
    if any(isinstance(one, Tensor) and not isinstance(one._array, np.ndarray) for one in inputs):
        return
    batching = Batching(size)
    entries = [
        batching.wrap(new(np.stack([one._array] * size)), one._names) if isinstance(one, Tensor) else one
        for one in inputs
    ]
    alone = _several(apply(op, *inputs, **sample.params))
    if any(not isinstance(one._array, np.ndarray) for one in alone):
        return
    with interpreting(batching):
        together = _several(apply(op, *entries, **sample.params))
    for got, expected in zip(together, alone, strict=True):
        assert got.names == expected.names, f"{op.name}: names in a batch {got.names}, alone {expected.names}"
        assert got.dtype == expected.dtype, f"{op.name}: type in a batch {got.dtype}, alone {expected.dtype}"
        values = got._array.value._array if batching.owns(got) else np.stack([got._array] * size)
        for entry in values:
            assert_close(entry, expected._array, rtol=1e-6, atol=1e-8)


def _check_graph(op: Op, sample: Sample) -> None:
    """Traced into a graph and run, the op gives the names, types and values that it gives at once."""
    inputs = inputs_of(sample)
    values = [one for one in inputs if isinstance(one, Tensor)]
    if not values or any(not isinstance(one._array, np.ndarray) for one in values):
        return

    def call(*given: Any) -> Any:
        rest = iter(given)
        return apply(op, *[next(rest) if isinstance(one, Tensor) else one for one in inputs], **sample.params)

    graph = trace(call, *values)
    for got, expected in zip(_several(graph(*values)), _several(call(*values)), strict=True):
        assert got.names == expected.names, f"{op.name}: names traced {got.names}, at once {expected.names}"
        assert got.dtype == expected.dtype, f"{op.name}: type traced {got.dtype}, at once {expected.dtype}"
        assert_close(got, expected, rtol=1e-6, atol=1e-9)


_NARROW: tuple[Any, ...] = (np.float32, np.float16, ml_dtypes.bfloat16, np.complex64)


def _check_types(op: Op, sample: Sample) -> None:
    """In every floating type the results have the types that the rule says, or the call is refused for its type."""
    inputs = inputs_of(sample)
    if not any(isinstance(one, Tensor) and str(one._array.dtype) in _PRECISE for one in inputs):
        return
    for dtype in _NARROW:
        cast: list[Any] = []
        for one in inputs:
            array = one._array if isinstance(one, Tensor) else None
            if not isinstance(array, np.ndarray) or str(array.dtype) not in _PRECISE:
                cast.append(one)
            elif array.dtype.kind == "c":
                cast.append(new(array.astype(np.complex64), one._names))
            else:
                cast.append(new(array.astype(dtype), one._names))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
                results = _several(apply(op, *cast, **sample.params))
        except TypeError as error:
            # Ops that only gradient rules call are never given complex numbers, and leave their refusal to NumPy.
            _expect(
                isinstance(error, DTypeError) or dtype is np.complex64,
                f"{op.name} in {np.dtype(dtype)}: {error}",
            )
            continue
        with interpreting(WithoutNumbers()):
            rules = _several(apply(op, *cast, **sample.params))
        for got, rule in zip(results, rules, strict=True):
            assert got._array.dtype == rule._array.dtype, (
                f"{op.name} in {np.dtype(dtype)}: type rule {rule._array.dtype}, numbers {got._array.dtype}"
            )


def _check_named(op: Op, sample: Sample) -> None:
    """An op of one tensor takes names on all of its dims, and says the same of them with numbers and without."""
    if sample.names is not None or len(sample.inputs) != 1 or not isinstance(sample.inputs[0], np.ndarray):
        return
    value = new(sample.inputs[0], tuple(f"D{i}" for i in range(sample.inputs[0].ndim)) or None)
    results = _several(apply(op, value, **sample.params))
    with interpreting(WithoutNumbers()):
        rules = _several(apply(op, value, **sample.params))
    for got, rule in zip(results, rules, strict=True):
        assert got.names == rule.names
        assert len(got.names) == got.ndim


def _check_memory(op: Op, samples: Sequence[Sample]) -> None:
    """A view op's results share its input's memory where it can be, no other op's do; and no op changes its inputs."""
    shared = []
    for sample in samples:
        inputs = [
            one for one in inputs_of(sample) if isinstance(one, Tensor) and isinstance(one._array, np.ndarray)
        ]
        before = [one._array.copy() for one in inputs]
        results = _several(apply(op, *inputs_of(sample), **sample.params))
        for one, old in zip(inputs, before, strict=True):
            _expect(_same_numbers(one._array, old), f"{op.name} changed its inputs")
        arrays = [one._array for one in results if isinstance(one._array, np.ndarray) and one._array.size]
        shared += [
            np.shares_memory(out, one._array) for out in arrays for one in inputs[:1] if one._array.size
        ]
        others = inputs[1:] if op.view else inputs
        for out in arrays:
            # What is returned as it was given (the conjugate of real numbers) is no new view of it.
            aliased = [one for one in others if out is not one._array and np.shares_memory(out, one._array)]
            _expect(
                not aliased, f"{op.name} is not declared a view, but its result shares memory with an input"
            )
    _expect(
        not op.view or not shared or any(shared),
        f"{op.name} is declared a view, but none of its results is one",
    )


def _same_numbers(a: Any, b: Any) -> bool:
    return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())


def _check_bad(op: Op) -> None:
    """Every declared bad input is refused with its exception and words, and nothing has changed."""
    for bad in op.bad():
        sample = Sample(bad.inputs, bad.params, bad.names)
        inputs = inputs_of(sample)
        tensors = [one for one in inputs if isinstance(one, Tensor)]
        before = [(one._version, one._names, list(_copies(one))) for one in tensors]
        try:
            apply(op, *inputs, **bad.params)
        except bad.error as error:
            _expect(bad.message in str(error), f"{op.name}: expected {bad.message!r} in {error}")
        else:
            raise AssertionError(f"{op.name} accepted {bad}")
        for one, (version, names, arrays) in zip(tensors, before, strict=True):
            same = all(_same_numbers(new, old) for new, old in zip(_copies(one), arrays, strict=True))
            unchanged = one._version == version and one._names == names and same
            _expect(unchanged, f"{op.name} refused a call, and had changed its inputs by then")


def _copies(value: Any) -> Iterator[Any]:
    if isinstance(value._array, np.ndarray):
        yield value._array.copy()


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def check_op(op: Op) -> None:
    """Check an op on all of its samples.

    Values, names, types (float16, bfloat16 and complex64 too), kernel, memory, gradients of first and second order,
    derivatives along a direction, batches, graphs, refusals.

    Raises AssertionError at the first promise that does not hold.
    """
    samples = list(op.samples())
    for sample in samples:
        _check_values(op, sample)
        _check_kernel(op, sample)
        if "random" not in op.properties:
            if "unsettled" not in op.properties:
                _check_batch(op, sample)
            _check_graph(op, sample)
        _check_types(op, sample)
        _check_named(op, sample)
        if op.vjp and not op.properties & {"estimate", "unsettled"}:
            _check_forward_mode(op, sample)
        if op.vjp and any(one.requires_grad for one in inputs_of(sample, True) if isinstance(one, Tensor)):
            if "estimate" not in op.properties:
                gradcheck(op, sample)
            _check_rule_without_numbers(op, sample)
            _check_second_order(op, sample)
    _check_memory(op, samples)
    _check_bad(op)

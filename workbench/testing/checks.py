"""`check_op`: everything an op promises, checked on all of its samples by one loop.

Public, so that an op declared outside this package is checked the same way.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from workbench.base.errors import DTypeError
from workbench.core.batching import Batching
from workbench.core.dispatch import WithoutNumbers, apply, interpreting
from workbench.core.op import Op, Sample
from workbench.core.value import new
from workbench.graph import trace
from workbench.tensor import Tensor
from workbench.testing.slopes import (
    check_forward_mode,
    check_rule_without_numbers,
    check_second_order,
    gradcheck,
    numerical_gradient,
)
from workbench.testing.values import PRECISE, assert_close, expect, inputs_of, same_numbers, several

__all__ = ["assert_close", "check_op", "gradcheck", "inputs_of", "numerical_gradient"]


def _check_values(op: Op, sample: Sample) -> None:
    """Dims rule against numbers, type rule against numbers, kernel against NumPy."""
    inputs = inputs_of(sample)
    results = several(apply(op, *inputs, **sample.params))
    arrays = [one.payload if isinstance(one, Tensor) else one for one in inputs]
    plain = several(op.forward(*arrays, **sample.params))
    with interpreting(WithoutNumbers()):
        abstract = several(apply(op, *inputs, **sample.params))
    for got, raw, rule in zip(results, plain, abstract, strict=True):
        assert got.shape == np.shape(raw), (
            f"{op.name}: the dims rule says {rule.shape}, the numbers {np.shape(raw)}"
        )
        assert rule.shape == got.shape
        assert rule.names == got.names
        assert rule.payload.dtype == got.payload.dtype, (
            f"{op.name}: type rule {rule.payload.dtype}, numbers {got.payload.dtype}"
        )
        # Samples are in double precision, but for those of layers that quantize float32 themselves.
        single = getattr(raw, "dtype", None) == np.float32 and any(map(_has_codes, arrays))
        if single:
            # A sum that nearly cancels is as far off as the numbers in it are large, in whatever order they are added.
            largest = float(np.max(np.abs(raw), initial=0.0))
            assert_close(got, raw, rtol=1e-5, atol=1e-7 + 1e-6 * largest)
        else:
            assert_close(got, raw, rtol=1e-6, atol=1e-9)


def _has_codes(array: Any) -> bool:
    return bool(getattr(getattr(array, "dtype", None), "quantized", False))


def _check_kernel(op: Op, sample: Sample) -> None:
    """The compiled kernel, where there is one for float32, against the op's NumPy code."""
    arrays = [
        one.astype(np.float32) if isinstance(one, np.ndarray) and one.dtype == np.float64 else one
        for one in sample.inputs
    ]
    if op.kernel is None or not op.kernel.accepts(*arrays, **sample.params):
        return
    for got, expected in zip(
        several(op.kernel.run(*arrays, **sample.params)),
        several(op.forward(*arrays, **sample.params)),
        strict=True,
    ):
        # float32, and added up in another order than NumPy's.
        assert_close(got, expected, rtol=1e-4, atol=1e-5)


def _check_batch(op: Op, sample: Sample, size: int = 2) -> None:
    """A batch gives what its entries give one by one: names, types, values."""
    inputs = inputs_of(sample)
    # Codes with scales of their own do not stack.
    if any(isinstance(one, Tensor) and not isinstance(one.payload, np.ndarray) for one in inputs):
        return
    batching = Batching(size)
    entries = [
        batching.wrap(new(np.stack([one.payload] * size)), one._names) if isinstance(one, Tensor) else one
        for one in inputs
    ]
    alone = several(apply(op, *inputs, **sample.params))
    if any(not isinstance(one.payload, np.ndarray) for one in alone):
        return
    with interpreting(batching):
        together = several(apply(op, *entries, **sample.params))
    for got, expected in zip(together, alone, strict=True):
        assert got.names == expected.names, f"{op.name}: names in a batch {got.names}, alone {expected.names}"
        assert got.dtype == expected.dtype, f"{op.name}: type in a batch {got.dtype}, alone {expected.dtype}"
        values = got.payload.value.payload if batching.owns(got) else np.stack([got.payload] * size)
        for entry in values:
            assert_close(entry, expected.payload, rtol=1e-6, atol=1e-8)


def _check_graph(op: Op, sample: Sample) -> None:
    """Traced into a graph and run, the op gives the names, types and values that it gives at once."""
    inputs = inputs_of(sample)
    values = [one for one in inputs if isinstance(one, Tensor)]
    if not values or any(not isinstance(one.payload, np.ndarray) for one in values):
        return

    def call(*given: Any) -> Any:
        rest = iter(given)
        return apply(op, *[next(rest) if isinstance(one, Tensor) else one for one in inputs], **sample.params)

    graph = trace(call, *values)
    for got, expected in zip(several(graph(*values)), several(call(*values)), strict=True):
        assert got.names == expected.names, f"{op.name}: names traced {got.names}, at once {expected.names}"
        assert got.dtype == expected.dtype, f"{op.name}: type traced {got.dtype}, at once {expected.dtype}"
        assert_close(got, expected, rtol=1e-6, atol=1e-9)


_NARROW: tuple[Any, ...] = (np.float32, np.float16, ml_dtypes.bfloat16, np.complex64)


def _check_types(op: Op, sample: Sample) -> None:
    """In every floating type the results have the types that the rule says, or the call is refused for its type."""
    inputs = inputs_of(sample)
    if not any(isinstance(one, Tensor) and str(one.payload.dtype) in PRECISE for one in inputs):
        return
    for dtype in _NARROW:
        cast: list[Any] = []
        for one in inputs:
            array = one.payload if isinstance(one, Tensor) else None
            if not isinstance(array, np.ndarray) or str(array.dtype) not in PRECISE:
                cast.append(one)
            elif array.dtype.kind == "c":
                cast.append(new(array.astype(np.complex64), one._names))
            else:
                cast.append(new(array.astype(dtype), one._names))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
                results = several(apply(op, *cast, **sample.params))
        except TypeError as error:
            # Ops that only gradient rules call are never given complex numbers, and leave their refusal to NumPy.
            expect(
                isinstance(error, DTypeError) or dtype is np.complex64,
                f"{op.name} in {np.dtype(dtype)}: {error}",
            )
            continue
        with interpreting(WithoutNumbers()):
            rules = several(apply(op, *cast, **sample.params))
        for got, rule in zip(results, rules, strict=True):
            assert got.payload.dtype == rule.payload.dtype, (
                f"{op.name} in {np.dtype(dtype)}: type rule {rule.payload.dtype}, numbers {got.payload.dtype}"
            )


def _check_named(op: Op, sample: Sample) -> None:
    """An op of one tensor takes names on all of its dims, and says the same of them with numbers and without."""
    if sample.names is not None or len(sample.inputs) != 1 or not isinstance(sample.inputs[0], np.ndarray):
        return
    value = new(sample.inputs[0], tuple(f"D{i}" for i in range(sample.inputs[0].ndim)) or None)
    results = several(apply(op, value, **sample.params))
    with interpreting(WithoutNumbers()):
        rules = several(apply(op, value, **sample.params))
    for got, rule in zip(results, rules, strict=True):
        assert got.names == rule.names
        assert len(got.names) == got.ndim


def _check_memory(op: Op, samples: Sequence[Sample]) -> None:
    """A view op's results share its input's memory where it can be, no other op's do; and no op changes its inputs."""
    shared = []
    for sample in samples:
        inputs = [
            one
            for one in inputs_of(sample)
            if isinstance(one, Tensor) and isinstance(one.payload, np.ndarray)
        ]
        before = [one.payload.copy() for one in inputs]
        results = several(apply(op, *inputs_of(sample), **sample.params))
        for one, old in zip(inputs, before, strict=True):
            expect(same_numbers(one.payload, old), f"{op.name} changed its inputs")
        arrays = [one.payload for one in results if isinstance(one.payload, np.ndarray) and one.payload.size]
        # A view is one of the first input.
        shared += [
            np.shares_memory(out, one.payload) for out in arrays for one in inputs[:1] if one.payload.size
        ]
        others = inputs[1:] if op.view else inputs
        for out in arrays:
            aliased = [one for one in others if np.shares_memory(out, one.payload)]
            expect(
                not aliased or "passes" in op.properties,
                f"{op.name} is not declared a view, but its result shares memory with an input",
            )
    expect(
        not op.view or not shared or any(shared),
        f"{op.name} is declared a view, but none of its results is one",
    )


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
            expect(bad.message in str(error), f"{op.name}: expected {bad.message!r} in {error}")
        else:
            raise AssertionError(f"{op.name} accepted {bad}")
        # Refused before anything was touched: who catches the error goes on with what there was.
        for one, (version, names, arrays) in zip(tensors, before, strict=True):
            same = all(same_numbers(new, old) for new, old in zip(_copies(one), arrays, strict=True))
            unchanged = one._version == version and one._names == names and same
            expect(unchanged, f"{op.name} refused a call, and had changed its inputs by then")


def _copies(value: Any) -> Iterator[Any]:
    if isinstance(value.payload, np.ndarray):
        yield value.payload.copy()


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
        # Both compare two runs, and random values come out otherwise the second time.
        if "random" not in op.properties:
            if "unsettled" not in op.properties:
                _check_batch(op, sample)
            _check_graph(op, sample)
        _check_types(op, sample)
        _check_named(op, sample)
        if op.vjp and not op.properties & {"estimate", "unsettled"}:
            check_forward_mode(op, sample)
        if op.vjp and any(one.requires_grad for one in inputs_of(sample, True) if isinstance(one, Tensor)):
            if "estimate" not in op.properties:
                gradcheck(op, sample)
            check_rule_without_numbers(op, sample)
            # What stands in for a derivative does so again where the rule reads the output: no difference shows it.
            if not ("estimate" in op.properties and op.saves.output):
                check_second_order(op, sample)
    _check_memory(op, samples)
    _check_bad(op)

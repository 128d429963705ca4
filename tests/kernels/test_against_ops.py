"""Each kernel against the plain forward of its op, on the op's own samples in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench.ops  # noqa: F401  declares the ops
from workbench import kernels
from workbench.core.op import Op, table


def takes_floats(op: Op) -> bool:
    return any(
        getattr(value, "dtype", None) == np.float64 for sample in op.samples() for value in sample.inputs
    )


# What takes an array of indices or of conditions, too, and only where it pays, is in test_index and test_shaped,
# and so is what takes few exponents.
WITH_INDICES = {"gather", "scatter_add", "scatter_add_to", "index", "index_add", "where", "pow"}
# Ops that wrap a kernel in a record of their own, because their values are codes with a scale, have their own tests.
WITH_KERNEL = [
    op
    for op in table()
    if op.kernel is not None
    and op.kernel is kernels.lookup(op.name)
    and takes_floats(op)
    and op.name not in WITH_INDICES
]


def single(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        return value.astype(np.float32)
    return value


@pytest.mark.parametrize("op", WITH_KERNEL, ids=lambda op: op.name)
def test_kernel_agrees_with_the_plain_forward(op: Op) -> None:
    kernel = op.kernel
    assert kernel is not None
    ran = 0
    for sample in op.samples():
        inputs = [single(value) for value in sample.inputs]
        if not any(isinstance(value, np.ndarray) and value.dtype == np.float32 for value in inputs):
            continue
        try:
            ours = kernel.run(*inputs, **sample.params)
        except (ValueError, TypeError):
            # Outside what the kernel is for: then it must not accept it either.
            assert not kernel.accepts(*inputs, **sample.params)
            continue
        plain = op.forward(*inputs, **sample.params)
        several = isinstance(ours, tuple)
        for mine, expected in zip(ours if several else (ours,), plain if several else (plain,), strict=True):
            assert mine.shape == np.shape(expected)
            np.testing.assert_allclose(mine, expected, rtol=2e-5, atol=2e-5)
        ran += 1
    assert ran


def test_the_main_ops_have_kernels() -> None:
    named = {op.name for op in WITH_KERNEL}
    main = {"conv2d", "conv2d_input_gradient", "conv2d_weight_gradient", "max_pool2d", "max_pool2d_gradient"}
    main |= {
        "batch_norm",
        "batch_norm_gradient",
        "batch_norm_inference",
        "linear",
        "matmul",
        "relu",
        "relu_gradient",
        "sum",
    }
    assert main <= named

"""Mixed precision: which op is computed in which type, and what gradients come of it."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
import workbench.nn.functional as F
from workbench.base.errors import DTypeError


def test_products_are_narrow_and_what_needs_digits_is_wide() -> None:
    x, w = wb.randn(N=4, C=8), wb.randn(3, 8, requires_grad=True)
    with wb.autocast(dtype="bfloat16"):
        assert wb.is_autocast_enabled()
        scores = F.linear(x, w)
        assert scores.dtype is wb.bfloat16 and scores.names[0] == "N"
        assert (scores * 2).dtype is wb.bfloat16
        assert (scores + x[:, :3]).dtype is wb.float32
        assert F.log_softmax(scores, -1).dtype is wb.float32
        assert scores.exp().dtype is wb.float32
        assert F.conv2d(wb.randn(1, 2, 5, 5), wb.randn(3, 2, 3, 3)).dtype is wb.bfloat16
        loss = F.cross_entropy(scores, wb.tensor([0, 1, 2, 0]))
    assert not wb.is_autocast_enabled()
    assert loss.dtype is wb.float32
    loss.backward()
    assert w.grad is not None and w.grad.dtype is wb.float32


def test_numbers_and_gradients_are_those_of_rounded_operands() -> None:
    x, w = wb.randn(4, 8), wb.randn(8, 3, requires_grad=True)
    v = w.detach().bfloat16().float().requires_grad_()
    with wb.autocast():
        y = x @ w
    z = x.bfloat16().float() @ v
    np.testing.assert_array_equal(y.float().detach().numpy(), z.bfloat16().float().detach().numpy())
    g = wb.randn(4, 3).bfloat16()
    y.backward(g)
    z.backward(g.float())
    assert w.grad is not None and v.grad is not None
    np.testing.assert_array_equal(w.grad.numpy(), v.grad.bfloat16().float().numpy())


def test_blocks_nest_and_switch_off() -> None:
    x = wb.ones(2, 2)
    with wb.autocast(dtype=wb.float16):
        assert (x @ x).dtype is wb.float16
        with wb.autocast(dtype=wb.bfloat16):
            assert (x @ x).dtype is wb.bfloat16
        with wb.autocast(enabled=False):
            assert (x @ x).dtype is wb.float32
        assert (x @ x).dtype is wb.float16
    assert (x @ x).dtype is wb.float32


def test_other_types_are_left_alone() -> None:
    with wb.autocast():
        assert (wb.ones(2, 2, dtype=wb.float64) @ wb.ones(2, 2, dtype=wb.float64)).dtype is wb.float64
        assert (wb.ones(2, dtype=wb.int64) + 1).dtype is wb.int64


def test_as_a_decorator_under_vmap_and_while_tracing() -> None:
    @wb.autocast(dtype=wb.bfloat16)
    def product(x: wb.Tensor) -> wb.Tensor:
        return x @ x

    x = wb.randn(3, 4, 4)
    assert product(x).dtype is wb.bfloat16
    mapped = wb.func.vmap(product)(x)
    np.testing.assert_array_equal(mapped.float().numpy(), product(x).float().numpy())
    gradient = wb.func.grad(lambda a: product(a).float().sum())(x[0])
    assert gradient.dtype is wb.float32


def test_refusals() -> None:
    with pytest.raises(
        DTypeError, match="autocast computes in a 16-bit type, bfloat16 or float16, got float32"
    ):
        wb.autocast(dtype="float32")
    with pytest.raises(TypeError, match=r"autocast takes the device first: autocast\(dtype="):
        wb.autocast(wb.bfloat16)


def test_what_is_too_large_for_16_bits_is_infinite_without_a_warning() -> None:
    x = wb.full((2, 2), 300.0)
    with wb.autocast(dtype=wb.float16):
        assert bool((x @ x).isinf().all())


def test_a_block_that_is_switched_off_may_say_any_type() -> None:
    with wb.autocast(dtype=wb.float32, enabled=False):
        assert not wb.is_autocast_enabled()

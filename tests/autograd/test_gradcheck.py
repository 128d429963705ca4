"""gradcheck finds what is wrong, and only that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.autograd import Function, GradcheckError, gradcheck, gradgradcheck

EVERYTHING = {
    "check_forward_ad": True,
    "check_batched_grad": True,
    "check_batched_forward_grad": True,
    "check_grad_dtypes": True,
}


def leaf(*shape: int, dtype: str = "float64") -> wb.Tensor:
    draw = np.random.default_rng(len(shape) + sum(shape))
    array = draw.standard_normal(shape)
    if dtype.startswith("complex"):
        array = array + 1j * draw.standard_normal(shape)
    return wb.tensor(array, dtype=dtype, requires_grad=True)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_right_gradients_pass(fast_mode: bool) -> None:
    x, y = leaf(2, 3), leaf(3)
    functions = [
        lambda x, y: x * y,
        lambda x, y: ((x * y).sum(1), x.exp(), (x > 0).sum()),
        lambda x, y: {"a": wb.linear(x, x, None), "b": [y.softmax(0)]},
    ]
    for function in functions:
        assert gradcheck(function, (x, y), fast_mode=fast_mode, **EVERYTHING)
        assert gradgradcheck(function, (x, y), fast_mode=fast_mode, check_fwd_over_rev=True)
    assert gradcheck(lambda x: x.detach() * 0, x)
    assert gradcheck(lambda x, k: x * k, (x, 3.0))


@pytest.mark.parametrize(
    "function",
    [
        lambda z: z * z,
        lambda z: z.abs(),
        lambda z: z.real * z,
        lambda z: z.exp().imag,
        lambda z: z.conj() @ z,
    ],
)
def test_complex(function: Any) -> None:
    z = leaf(3, dtype="complex128")
    assert gradcheck(function, z, **EVERYTHING)
    assert gradgradcheck(function, z)


def test_real_in_complex_out() -> None:
    assert gradcheck(lambda x: (x * (1 + 2j)).exp(), leaf(3), **EVERYTHING)


def wrong(backward: Any, forward: Any = None) -> Any:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:  # type: ignore[override]
            ctx.save_for_backward(x)
            return x * x if forward is None else forward(x)

    Wrong.backward = staticmethod(backward)  # type: ignore[method-assign,assignment]
    return Wrong.apply


def test_wrong_gradients_are_shown() -> None:
    x = wb.tensor([1.0, 2.0], dtype="float64", requires_grad=True)
    bad = wrong(lambda ctx, g: g * ctx.saved_tensors[0])
    with pytest.raises(
        GradcheckError, match=r"Jacobian mismatch for output 0 with respect to input 0,\nnumerical:"
    ) as info:
        gradcheck(bad, x)
    assert "analytical:[[1." in str(info.value)
    assert not gradcheck(bad, x, raise_exception=False)
    with pytest.raises(GradcheckError, match="one random combination"):
        gradcheck(bad, x, fast_mode=True)
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, x)


def test_second_order_of_a_rule_that_cuts_the_tape() -> None:
    x = leaf(2)
    cut = wrong(lambda ctx, g: g * 2 * ctx.saved_tensors[0].detach())
    assert gradcheck(cut, x)
    with pytest.raises(GradcheckError):
        gradgradcheck(cut, x)


def test_unsteady_gradients() -> None:
    calls: list[int] = []

    def unsteady(ctx: Any, g: Any) -> Any:
        calls.append(1)
        return g * 2 * ctx.saved_tensors[0] * (1 + 1e-7 * len(calls))

    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(wrong(unsteady), leaf(2))
    assert gradcheck(wrong(unsteady), leaf(2), nondet_tol=1e-3)


def test_missing_gradients_count_as_zero() -> None:
    class Two(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:  # type: ignore[override]
            ctx.set_materialize_grads(False)
            return x * 1.0, x * 2.0

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:  # type: ignore[override]
            return (0 if a is None else a) + (7.0 if b is None else b * 2)

    with pytest.raises(GradcheckError, match=r"undefined output grads|mismatch"):
        gradcheck(Two.apply, leaf(2))


def test_what_cannot_be_checked() -> None:
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x: x, wb.ones(2))
    with pytest.raises(ValueError, match="Expected at least one of check_forward_ad or check_backward_ad"):
        gradcheck(lambda x: x, leaf(2), check_backward_ad=False)
    with pytest.warns(UserWarning, match="not a double precision"):
        gradcheck(lambda x: x * 1, wb.ones(2, requires_grad=True), atol=1.0)

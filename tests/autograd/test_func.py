"""Functions of functions, on each other: the same values however a derivative is put together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import func
from workbench.autograd import forward_ad as fwd

X = wb.tensor([0.3, -1.2, 2.0], dtype="float64", names=("C",))


def f(x: Any) -> Any:
    return (x * x.sin()).sum() * x.exp()


def scalar(x: Any) -> Any:
    return (f(x) * x).sum()


def close(a: Any, b: Any, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=1e-12)


def test_gradients_and_values() -> None:
    gradient, value = func.grad_and_value(scalar)(X)
    assert gradient.names == ("C",)
    assert not gradient.requires_grad
    close(value, scalar(X))
    leaf = X.clone().requires_grad_()
    scalar(leaf).backward()
    close(gradient, leaf.grad)
    assert X.grad is None


def test_arguments_auxiliaries_and_nests() -> None:
    function = lambda p, x, k: (p["w"] * x * k + p["b"][0]).sum()
    params = {"w": X, "b": (X * 2,)}
    by_params, by_x = func.grad(function, argnums=(0, 1))(params, X, 3.0)
    close(by_params["w"], X * 3)
    assert by_params["b"][0].tolist() == [1, 1, 1]
    close(by_x, X * 3)
    gradient, (value, aux) = func.grad_and_value(lambda x: (scalar(x), {"seen": x * 2}), has_aux=True)(X)
    assert not aux["seen"].requires_grad
    close(aux["seen"], X * 2)
    close(value, scalar(X))
    close(gradient, func.grad(scalar)(X))
    assert func.grad(lambda x, y: y.sum(), argnums=0)(X, X).tolist() == [0, 0, 0]
    assert func.grad(lambda x: x.sum(), argnums=-1)(X).tolist() == [1, 1, 1]


def test_jacobians_agree() -> None:
    reverse, forward = func.jacrev(f)(X), func.jacfwd(f)(X)
    close(reverse, forward)
    assert reverse.names == forward.names == ("C", None)
    close(func.jacrev(f, chunk_size=2)(X), reverse)
    close(func.jacfwd(f, chunk_size=2)(X), reverse)
    _, pull = func.vjp(f, X)
    close(func.vmap(lambda row: pull(row)[0])(wb.eye(3, dtype="float64")), reverse.rename(None))
    _, push = func.linearize(f, X)
    close(func.vmap(push, out_dims=1)(wb.eye(3, dtype="float64")), reverse.rename(None))


def test_every_order_of_second_derivatives_agrees() -> None:
    expected = func.hessian(scalar)(X)
    assert expected.names == ("C", None)
    np.testing.assert_allclose(expected.numpy(), expected.numpy().T, rtol=1e-10)
    for outer in (func.jacrev, func.jacfwd):
        for inner in (func.jacrev, func.jacfwd, func.grad):
            close(outer(inner(scalar))(X), expected)
    third = func.jacfwd(func.hessian(scalar))(X)
    close(third, func.jacrev(func.jacrev(func.grad(scalar)))(X))


def test_nests_of_outputs() -> None:
    function = lambda x, y: {"a": x * y, "b": (x.sum(),)}
    found = func.jacrev(function, argnums=(0, 1))(X, X * 2)
    close(found["a"][0], func.jacfwd(function, argnums=(0, 1))(X, X * 2)["a"][0])
    assert found["b"][0][1].tolist() == [0, 0, 0]
    jacobian, aux = func.jacfwd(lambda x: (x * 2, "note"), has_aux=True)(X)
    assert aux == "note"
    assert jacobian.tolist() == [[2, 0, 0], [0, 2, 0], [0, 0, 2]]


def test_directions() -> None:
    t = wb.tensor([1.0, 2.0, -1.0], dtype="float64")
    value, forward = func.jvp(f, (X,), (t,))
    close(value, f(X))
    close(forward, func.jacrev(f)(X).rename(None) @ t)
    assert forward.names == ("C",)
    _, zero = func.jvp(lambda x: wb.ones(2), (X,), (t,))
    assert zero.tolist() == [0, 0]
    with pytest.raises(wb.AutogradError, match="is independent of the primals"):
        func.jvp(lambda x: wb.ones(2), (X,), (t,), strict=True)
    value, forward, aux = func.jvp(lambda x: (x * 2, x.sum()), (X,), (t,), has_aux=True)
    assert forward.tolist() == [2, 4, -2]
    assert aux.item() == X.sum().item()


def test_levels_do_not_mix() -> None:
    """The classic trap: an inner derivative must not see the outer one's direction."""
    one = wb.tensor(1.0)
    inner = lambda x: func.jvp(lambda y: x + y, (one,), (one,))[1]
    assert func.jvp(lambda x: x * inner(x), (one,), (one,))[1].item() == 1
    assert func.grad(lambda x: x * func.grad(lambda y: x + y)(x))(one).item() == 1
    assert func.jvp(lambda x: x * func.grad(lambda y: x + y)(x), (one,), (one,))[1].item() == 1
    assert func.grad(lambda x: x * inner(x))(one).item() == 1


def test_the_tape_outside_goes_on() -> None:
    w = wb.tensor([2.0, 3.0], requires_grad=True)
    gradient = func.grad(lambda x: (w * x * x).sum())(wb.tensor([1.0, 1.0]))
    assert gradient.requires_grad
    assert wb.autograd.grad(gradient.sum(), w)[0].tolist() == [2, 2]  # type: ignore[union-attr]
    gradient = func.grad(lambda x: (x * x * x).sum())(w)
    assert wb.autograd.grad(gradient.sum(), w)[0].tolist() == [12, 18]  # type: ignore[union-attr]
    with wb.no_grad():
        assert not func.grad(lambda x: (w * x).sum())(w).requires_grad
    assert not func.grad(lambda x: (x * x).sum())(w.detach()).requires_grad


def test_traced() -> None:
    gradient = func.grad(scalar)
    for function in (gradient, func.hessian(scalar), lambda x: func.jvp(f, (x,), (x,))[1], func.jacrev(f)):
        graph = wb.graph.trace(function, X)
        close(graph(X * 2), function(X * 2))


def test_forward_levels_by_hand() -> None:
    t = wb.ones(3, dtype="float64", names=("C",))
    with fwd.dual_level():
        x = fwd.make_dual(X, t)
        y = f(x)
        assert y.shape == (3,)
        np.testing.assert_allclose(y.numpy(), f(X).numpy())
        assert float(x.sum()) == pytest.approx(float(X.sum()))
        value, tangent = fwd.unpack_dual(y)
        close(tangent, func.jvp(f, (X,), (t,))[1])
        assert fwd.unpack_dual(X) == (X, None)
        assert fwd.unpack_dual(y.detach()).tangent is None
        assert fwd.unpack_dual((x > 0).double()).tangent is None
        with fwd.dual_level():
            inner = fwd.unpack_dual(f(fwd.make_dual(x, t)))
        outer = fwd.unpack_dual(inner.tangent)
    close(outer.primal, tangent)
    close(outer.tangent, func.jvp(lambda x: func.jvp(f, (x,), (t,))[1], (X,), (t,))[1])
    close(y + 1.0, value + 1.0)  # the level is over: what is left is the value


def test_forward_over_reverse_and_reverse_over_forward_by_hand() -> None:
    x = X.clone().requires_grad_()
    t = wb.tensor([1.0, 0.0, 2.0], dtype="float64", requires_grad=True)
    expected = func.hessian(scalar)(X).rename(None) @ t.detach()
    with fwd.dual_level():
        (gradient,) = wb.autograd.grad(scalar(fwd.make_dual(x, t)), x, create_graph=True)
        close(fwd.unpack_dual(gradient).tangent, expected)
    with fwd.dual_level():
        slope = fwd.unpack_dual(scalar(fwd.make_dual(x, t))).tangent
    by_x, by_t = wb.autograd.grad(slope, (x, t))
    close(by_x, expected)
    close(by_t, func.grad(scalar)(X).rename(None))


def test_levels_are_entered_and_left() -> None:
    level = fwd.enter_dual_level()
    x = fwd.make_dual(X, X, level=level)
    assert fwd.unpack_dual(x * 2, level=level).tangent.tolist() == (X * 2).tolist()
    fwd.exit_dual_level()
    with pytest.raises(wb.AutogradError, match="no level was entered"):
        fwd.exit_dual_level()


@pytest.mark.parametrize("z", [3 + 4j, -0.5 + 0.2j])
@pytest.mark.parametrize(
    "function",
    [
        lambda z: z * z * z,
        lambda z: z.abs(),
        lambda z: z.exp().real,
        lambda z: z.conj() * z,
        lambda z: z.real * z,
    ],
)
def test_complex_forward_and_reverse_are_transposes(z: complex, function: Any) -> None:
    x = wb.tensor(z, dtype="complex128")
    t, seed = wb.tensor(0.3 - 1.1j, dtype="complex128"), 0.7 + 0.2j
    value, forward = func.jvp(function, (x,), (t,))
    step = 1e-6
    numerical = (function(x + t * step) - function(x - t * step)) / (2 * step)
    close(forward, numerical, 1e-6)
    cotangent = wb.tensor(seed if value.dtype.is_complex else 0.7, dtype=value.dtype)
    (gradient,) = func.vjp(function, x)[1](cotangent)
    left = (np.conj(cotangent.item()) * forward.item()).real
    right = (np.conj(gradient.item()) * t.item()).real
    assert left == pytest.approx(right)


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda: func.grad(f)(X), RuntimeError, "return a scalar Tensor, got tensor with 1 dims"),
        (lambda: func.grad(lambda x: 3)(X), RuntimeError, "to return a Tensor, got <class 'int'>"),
        (lambda: func.grad(scalar, argnums=2)(X), RuntimeError, "Got argnum=2, but only 1 positional inputs"),
        (lambda: func.grad(scalar, has_aux=True)(X), RuntimeError, "should be a tuple: \\(output, aux\\)"),
        (lambda: func.grad(scalar)(wb.arange(3)), RuntimeError, "floating point"),
        (lambda: func.jvp(f, X, X), RuntimeError, "Expected primals to be a tuple"),
        (
            lambda: func.jvp(f, (X,), (wb.ones(2),)),
            RuntimeError,
            "different size than that of the original Tensor",
        ),
        (lambda: func.jvp(f, (X,), (X, X)), RuntimeError, "same python structure"),
        (lambda: func.vjp(lambda x: 3, X), RuntimeError, "to return only tensors"),
        (lambda: func.vjp(f, X)[1](wb.ones(2)), RuntimeError, "Mismatch in shape"),
        (lambda: func.vjp(f, X)[1]((X, X)), RuntimeError, "pytree structure of cotangents"),
        (lambda: fwd.make_dual(X, X), RuntimeError, "no level exists"),
    ],
)
def test_refusals(act: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        act()

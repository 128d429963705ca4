"""Derivatives of a function at a point: shapes, nests, strictness, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

X = wb.tensor([1.0, 2.0, 3.0], dtype="float64", names=("C",))
Y = wb.tensor([[0.5, -1.0]], dtype="float64")


def two(x: Any, y: Any) -> Any:
    return (x * x).sum() * y, x.exp()


def scalar(x: Any) -> Any:
    return (x.exp() * x).sum()


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9)


@pytest.mark.parametrize(
    "how",
    [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}, {"strategy": "forward-mode"}],
)
def test_jacobians_of_several_outputs_and_inputs(how: dict[str, Any]) -> None:
    found = jacobian(two, (X, Y), **how)
    assert [[block.shape for block in line] for line in found] == [
        [(1, 2, 3), (1, 2, 1, 2)],
        [(3, 3), (3, 1, 2)],
    ]
    assert found[0][0].tolist() == [[[1.0, 2.0, 3.0], [-2.0, -4.0, -6.0]]]
    assert found[1][1].tolist() == np.zeros((3, 1, 2)).tolist()
    assert found[0][0].names == (None, None, "C")
    assert found[1][0].names == ("C", None)
    assert not any(block.requires_grad for line in found for block in line)
    close(found[1][0], wb.diag(X.rename(None).exp()))
    assert isinstance(jacobian(lambda x: x, (X,), **how), tuple)
    assert isinstance(jacobian(lambda x: (x,), X, **how)[0], wb.Tensor)


@pytest.mark.parametrize(
    "how", [{}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}]
)
def test_hessians(how: dict[str, Any]) -> None:
    found = hessian(scalar, X, **how)
    close(found, wb.diag((X.exp() * (X + 2)).rename(None)))
    assert found.names == ("C", None)
    blocks = hessian(lambda x, y: (x.sum() * y * y).sum(), (X, Y), **how)
    assert [[block.shape for block in line] for line in blocks] == [
        [(3, 3), (3, 1, 2)],
        [(1, 2, 3), (1, 2, 1, 2)],
    ]
    close(blocks[0][1], wb.ones(3, 1, 1, dtype="float64") * 2 * Y)
    assert blocks[0][0].tolist() == np.zeros((3, 3)).tolist()


def test_products() -> None:
    v = wb.tensor([1.0, -1.0, 0.5], dtype="float64")
    whole = hessian(scalar, X).rename(None)
    for function in (vhp, hvp):
        value, product = function(scalar, X, v)
        close(value, scalar(X))
        close(product, whole @ v)
        assert product.names == ("C",)
        value, products = function(lambda x, y: scalar(x) * y.sum(), (X, Y), (v, Y))
        assert isinstance(products, tuple)
        assert products[1].shape == Y.shape
    one = jacobian(two, (X, Y))
    seeds = (wb.tensor([[1.0, 3.0]], dtype="float64"), v)
    (out, _), (by_x, by_y) = vjp(two, (X, Y), seeds)
    close(out, two(X, Y)[0])
    close(by_x, (seeds[0].flatten() @ one[0][0][0] + seeds[1] @ one[1][0]).rename(None))
    assert by_y.shape == Y.shape
    _, (a, b) = jvp(two, (X, Y), (v, Y))
    close(b, one[1][0].rename(None) @ v)
    close(a, (one[0][0] @ v).rename(None) + (X * X).sum() * Y)
    assert vjp(lambda x: x.sum() * 2, wb.tensor(3.0))[1].item() == 2
    assert jvp(lambda x: x * 2, wb.tensor(3.0))[1].item() == 2


def test_results_on_the_tape() -> None:
    x = X.clone().requires_grad_()
    for found in (
        jacobian(lambda x: x * x, x, create_graph=True),
        jacobian(lambda x: x * x, x, create_graph=True, vectorize=True),
        jacobian(lambda x: x * x, x, create_graph=True, vectorize=True, strategy="forward-mode"),
    ):
        assert wb.autograd.grad(found.sum(), x)[0].tolist() == [2, 2, 2]  # type: ignore[union-attr]
    v = wb.ones(3, dtype="float64", requires_grad=True)
    for function in (vhp, hvp):
        _, product = function(lambda x: (x * x * x).sum(), x, v, create_graph=True)
        by_x, by_v = wb.autograd.grad(product.sum(), (x, v))
        assert by_x.tolist() == [6, 6, 6]  # type: ignore[union-attr]
        assert by_v.tolist() == [6, 12, 18]  # type: ignore[union-attr]
    _, product = jvp(lambda x: x * x, x, v, create_graph=True)
    assert wb.autograd.grad(product.sum(), x)[0].tolist() == [2, 2, 2]  # type: ignore[union-attr]
    third = jacobian(lambda x: hessian(lambda x: (x * x * x).sum(), x, create_graph=True).sum(), x)
    assert third.tolist() == [6, 6, 6]
    assert x.grad is None


constant = lambda x: wb.ones(2, dtype="float64")


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (
            lambda: jacobian(constant, X, strict=True),
            RuntimeError,
            "Output 0 of the user-provided function does not",
        ),
        (
            lambda: jacobian(lambda x, y: x * 2, (X, Y), strict=True),
            RuntimeError,
            "is independent of input 1",
        ),
        (
            lambda: jacobian(lambda x: x * 2, X.clone().requires_grad_(), strict=True, create_graph=True),
            RuntimeError,
            "The jacobian of the user-provided function is independent of input 0.*create_graph=True",
        ),
        (
            lambda: jacobian(lambda x: x, X, strict=True, vectorize=True),
            RuntimeError,
            "not supported together",
        ),
        (
            lambda: jacobian(lambda x: 3, X),
            TypeError,
            "given outputs of the user-provided function has type <class 'int'>",
        ),
        (lambda: jacobian(lambda x: x, 3), TypeError, "the given inputs has type <class 'int'>"),
        (lambda: jacobian(lambda x: x, X, strategy="foo"), AssertionError, "Expected strategy to be either"),
        (lambda: hessian(lambda x: x, X), RuntimeError, "given to hessian should contain a single element"),
        (lambda: hessian(lambda x: (x.sum(), x.sum()), X), RuntimeError, "should return a single Tensor"),
        (
            lambda: hessian(lambda x: x.sum(), X, strict=True),
            RuntimeError,
            "found that the jacobian .* is independent",
        ),
        (
            lambda: vjp(lambda x: x, X),
            RuntimeError,
            "user-provided function returns a single Tensor with a single",
        ),
        (
            lambda: vjp(lambda x: x, X, wb.ones(2)),
            RuntimeError,
            r"v has invalid size: should be \[3\] but got \[2\]",
        ),
        (lambda: vjp(lambda x: x, X, (X, X)), RuntimeError, "The given v should contain a single Tensor"),
        (lambda: vjp(constant, X, wb.ones(2), strict=True), RuntimeError, "does not require gradients"),
        (
            lambda: jvp(lambda x: x, X),
            RuntimeError,
            "input to the user-provided function is a single Tensor with",
        ),
        (lambda: jvp(lambda x: x, X, wb.ones(2)), RuntimeError, "v has invalid size"),
        (lambda: jvp(constant, X, X, strict=True), RuntimeError, "does not require gradients"),
        (lambda: vhp(lambda x: x, X, X), RuntimeError, "given to vhp should contain a single element"),
        (lambda: vhp(lambda x: x.sum(), X, X, strict=True), RuntimeError, "found that the jacobian"),
        (lambda: hvp(lambda x: x.sum(), X, X, strict=True), RuntimeError, "found that the jacobian"),
        (lambda: hvp(lambda x: x.sum(), X), RuntimeError, "The vector v can only be None"),
    ],
)
def test_refusals(act: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        act()


def test_what_does_not_depend_is_zero() -> None:
    assert jacobian(constant, X).tolist() == [[0, 0, 0]] * 2
    assert jvp(constant, X, X)[1].tolist() == [0, 0]
    assert vjp(constant, X, wb.ones(2, dtype="float64"))[1].tolist() == [0, 0, 0]
    assert vhp(lambda x: x.sum(), X, X)[1].tolist() == [0, 0, 0]
    assert hvp(lambda x: x.sum(), X, X)[1].tolist() == [0, 0, 0]

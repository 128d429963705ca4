"""Derivatives against PyTorch: transforms, functional, custom functions, checkpoints, on the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import func
from workbench.autograd import functional
from workbench.autograd.checkpoint import checkpoint

torch = pytest.importorskip("torch")
F = torch.nn.functional
pytestmark = pytest.mark.filterwarnings("ignore")

draw = np.random.default_rng(0)
W1, W2, B1 = draw.standard_normal((6, 4)), draw.standard_normal((3, 6)), draw.standard_normal(6)
KERNEL = draw.standard_normal((2, 1, 3, 3))
IMAGE = draw.standard_normal((2, 1, 5, 5))
X, T = draw.standard_normal(4), draw.standard_normal(4)
BATCH = draw.standard_normal((5, 4))
CLASSES = np.array([0, 2, 1, 1, 0])


def t(array: Any, lib: Any, **kwargs: Any) -> Any:
    return lib.tensor(array, **kwargs)


def network(lib: Any, nn: Any) -> Callable[[Any], Any]:
    w1, w2, b1 = (t(one, lib) for one in (W1, W2, B1))
    return lambda x: nn.linear(lib.tanh(nn.linear(x, w1, b1)), w2)


def loss(lib: Any, nn: Any) -> Callable[[Any], Any]:
    f = network(lib, nn)
    return lambda x: (f(x) ** 3).sum() + lib.logsumexp(f(x), -1).sum()


def image_loss(lib: Any, nn: Any) -> Callable[[Any], Any]:
    kernel = t(KERNEL, lib)
    return lambda x: (nn.conv2d(x, kernel, padding=1).relu() ** 2).sum()


OURS, THEIRS = (wb, wb.nn.functional, func), (torch, F, torch.func)

CASES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "jacrev": lambda lib, nn, fn: fn.jacrev(network(lib, nn))(t(X, lib)),
    "jacfwd": lambda lib, nn, fn: fn.jacfwd(network(lib, nn))(t(X, lib)),
    "hessian": lambda lib, nn, fn: fn.hessian(loss(lib, nn))(t(X, lib)),
    "jacrev of jacrev": lambda lib, nn, fn: fn.jacrev(fn.jacrev(loss(lib, nn)))(t(X, lib)),
    "vmap of grad": lambda lib, nn, fn: fn.vmap(fn.grad(loss(lib, nn)))(t(BATCH, lib)),
    "vmap of hessian": lambda lib, nn, fn: fn.vmap(fn.hessian(loss(lib, nn)))(t(BATCH, lib)),
    "vmap of jvp": lambda lib, nn, fn: fn.vmap(lambda x: fn.jvp(network(lib, nn), (x,), (t(T, lib),))[1])(
        t(BATCH, lib)
    ),
    "jvp of grad": lambda lib, nn, fn: fn.jvp(fn.grad(loss(lib, nn)), (t(X, lib),), (t(T, lib),))[1],
    "grad of jvp": lambda lib, nn, fn: fn.grad(lambda x: fn.jvp(loss(lib, nn), (x,), (t(T, lib),))[1])(
        t(X, lib)
    ),
    "convolution": lambda lib, nn, fn: fn.hessian(image_loss(lib, nn))(t(IMAGE[0], lib)),
    "examples": lambda lib, nn, fn: fn.vmap(
        fn.grad(lambda w, x: (nn.conv2d(x, w) ** 2).sum()), in_dims=(None, 0)
    )(t(KERNEL, lib), t(IMAGE, lib)[:, None]),
    "classes": lambda lib, nn, fn: fn.vmap(
        fn.grad(lambda w, x, y: nn.cross_entropy((x @ w)[None], y[None])), in_dims=(None, 0, 0)
    )(t(W1.T[:, :3], lib), t(BATCH, lib), t(CLASSES, lib)),
    "complex": lambda lib, nn, fn: fn.vjp(lambda z: z * z.abs(), t(X + 1j * T, lib))[1](t(T + 3j * X, lib))[
        0
    ],
    "complex forwards": lambda lib, nn, fn: fn.jvp(
        lambda z: z.exp() * z.conj(), (t(X + 1j * T, lib),), (t(T - 2j * X, lib),)
    )[1],
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_transforms(case: Callable[[Any, Any, Any], Any]) -> None:
    ours, theirs = case(*OURS), case(*THEIRS)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-8, atol=1e-10)


def both(lib: Any) -> tuple[Any, Any]:
    return t(X, lib), t(BATCH[0], lib)


FUNCTIONAL: dict[str, Callable[[Any, Any, Any], Any]] = {
    "jacobian": lambda lib, nn, fn: fn.jacobian(lambda x, y: (x.outer(y), x * y.sum()), both(lib)),
    "jacobian vectorized": lambda lib, nn, fn: fn.jacobian(
        lambda x, y: (x.outer(y), x * y.sum()), both(lib), vectorize=True
    ),
    "jacobian forwards": lambda lib, nn, fn: fn.jacobian(
        lambda x, y: (x.outer(y), x * y.sum()), both(lib), vectorize=True, strategy="forward-mode"
    ),
    "hessian": lambda lib, nn, fn: fn.hessian(lambda x, y: (x * y * y.exp()).sum(), both(lib)),
    "hessian vectorized": lambda lib, nn, fn: fn.hessian(loss(lib, nn), t(X, lib), vectorize=True),
    "vjp": lambda lib, nn, fn: fn.vjp(network(lib, nn), t(X, lib), t(T[:3], lib)),
    "jvp": lambda lib, nn, fn: fn.jvp(network(lib, nn), t(X, lib), t(T, lib)),
    "vhp": lambda lib, nn, fn: fn.vhp(loss(lib, nn), t(X, lib), t(T, lib)),
    "hvp": lambda lib, nn, fn: fn.hvp(loss(lib, nn), t(X, lib), t(T, lib)),
    "complex": lambda lib, nn, fn: fn.vjp(lambda z: z * z * z.conj(), t(X + 1j * T, lib), t(T - 2j * X, lib)),
}


def flat(tree: Any) -> list[Any]:
    return [leaf for one in tree for leaf in flat(one)] if isinstance(tree, tuple | list) else [tree]


@pytest.mark.parametrize("case", FUNCTIONAL.values(), ids=FUNCTIONAL.keys())
def test_functional(case: Callable[[Any, Any, Any], Any]) -> None:
    ours = case(wb, wb.nn.functional, functional)
    theirs = case(torch, F, torch.autograd.functional)
    for one, other in zip(flat(ours), flat(theirs), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-8, atol=1e-10)
        assert one.requires_grad == other.requires_grad


def test_checkpoints() -> None:
    results = []
    for lib, keep in (
        (wb, checkpoint),
        (torch, lambda f, *a: torch.utils.checkpoint.checkpoint(f, *a, use_reentrant=False)),
    ):
        x, w = t(X, lib, requires_grad=True), t(W1, lib, requires_grad=True)
        y = keep(lambda x, w=w, lib=lib: lib.tanh(w @ x), x)
        (first,) = lib.autograd.grad((y * y).sum(), x, create_graph=True)
        (first * first).sum().backward()
        results.append((x.grad.numpy(), w.grad.numpy()))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8)

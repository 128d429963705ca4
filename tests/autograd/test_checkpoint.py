"""Checkpointing: the same gradients, less memory."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import func, nn
from workbench.autograd.checkpoint import CheckpointError, checkpoint, checkpoint_sequential
from workbench.autograd.gradcheck import gradcheck, gradgradcheck


def leaf(*shape: int) -> wb.Tensor:
    return wb.randn(*shape, dtype="float64", requires_grad=True)


def test_gradients_of_arguments_and_of_what_is_closed_over() -> None:
    x, w = leaf(3, 4), leaf(4, 4)
    v = (w * 2.0).tanh()

    def block(x: Any) -> Any:
        return ((x @ w).tanh() @ v).exp()

    plain = wb.autograd.grad(block(x).sum(), [x, w], retain_graph=True)
    kept = wb.autograd.grad(checkpoint(block, x).sum(), [x, w], retain_graph=True)
    for a, b in zip(plain, kept, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy())  # type: ignore[union-attr]
    checkpoint(block, x).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), plain[1].numpy())  # type: ignore[union-attr]


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_higher_orders(use_reentrant: bool) -> None:
    x, w = leaf(3), leaf(3)

    def block(x: Any, w: Any) -> Any:
        return checkpoint(lambda x: (x * w).sin() * x, x * 2.0, use_reentrant=use_reentrant)

    assert gradcheck(block, (x, w))
    assert gradgradcheck(block, (x, w))


def test_several_outputs_and_other_things() -> None:
    x = leaf(3)

    def block(x: Any, *, scale: float) -> Any:
        return {"a": x * scale, "rest": (x.detach(), "text", x.exp())}

    found = checkpoint(block, x, scale=3.0)
    assert found["rest"][1] == "text"
    assert not found["rest"][0].requires_grad
    (gradient,) = wb.autograd.grad(found["a"].sum(), x)
    assert gradient.tolist() == [3, 3, 3]  # type: ignore[union-attr]


def test_nested() -> None:
    x = leaf(3)
    block = lambda x: checkpoint(lambda y: checkpoint(wb.sin, y * 2.0).exp(), x)
    assert gradcheck(block, x)


def test_random_numbers_are_the_same_and_the_stream_goes_on() -> None:
    x = leaf(1000)
    block = lambda x: x * wb.rand(1000, dtype="float64")
    wb.manual_seed(3)
    y = checkpoint(block, x)
    after = wb.rand(2).tolist()
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), (y.detach() / x.detach()).numpy())  # type: ignore[union-attr]
    later = wb.rand(2).tolist()
    wb.manual_seed(3)
    wb.rand(1000, dtype="float64")
    assert [wb.rand(2).tolist(), wb.rand(2).tolist()] == [after, later]


def test_what_is_inside_is_not_kept() -> None:
    x = wb.ones(10_000, requires_grad=True)
    inside: list[Any] = []

    def block(x: Any) -> Any:
        y = x.exp()
        inside.append(weakref.ref(y.payload))
        return y.tanh()

    out = checkpoint(block, x)
    gc.collect()
    assert inside[0]() is None
    out.sum().backward()
    assert x.grad is not None


def test_sequential() -> None:
    model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(5)])
    x = wb.randn(2, 4, requires_grad=True)
    expected = model(x)
    for segments in (1, 2, 3, 5):
        found = checkpoint_sequential(model, segments, x)
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-6)
        weight = next(model.parameters())
        a, b = (wb.autograd.grad(one.sum(), weight, retain_graph=True)[0] for one in (expected, found))
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)  # type: ignore[union-attr]


def test_another_result_is_refused() -> None:
    x = leaf(3)
    calls: list[int] = []

    def block(x: Any) -> Any:
        calls.append(1)
        return (x * 2.0)[: len(calls)]

    with pytest.raises(CheckpointError, match="different metadata than during the forward"):
        checkpoint(block, x).sum().backward()


def test_without_gradients_it_only_runs() -> None:
    with wb.no_grad():
        assert checkpoint(wb.exp, leaf(3)).grad_fn is None
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(wb.exp, leaf(3), determinism_check="loud")


def test_inside_vmap_and_jvp() -> None:
    x = wb.tensor([[1.0, 2.0], [3.0, 4.0]])
    f = lambda x: (x * x).exp().sum()
    kept = lambda x: checkpoint(f, x)
    for one, other in (
        (func.vmap(func.grad(f)), func.vmap(func.grad(kept))),
        (func.hessian(f), func.hessian(kept)),
    ):
        np.testing.assert_allclose(one(x).numpy(), other(x).numpy(), rtol=1e-6)

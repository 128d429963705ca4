"""Gradients of what is asked for alone: the compiled walk over the tape and Python's are one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.autograd import engine
from workbench.base.errors import AutogradError
from workbench.core.bases import eager


def _found(create_graph: bool) -> list[Any]:
    """Gradients of leaves and of what was computed, with hooks, changes in place, and what leads nowhere."""
    wb.manual_seed(0)
    a, b, c = (wb.randn(3, 3, dtype=wb.float64).requires_grad_() for _ in range(3))
    seen: list[Any] = []
    middle = (a @ b).tanh()
    middle.register_hook(lambda g: seen.append(g.detach().numpy().copy()) or 2 * g)
    later = middle * c
    later.register_hook(lambda g: seen.append(g.detach().numpy().copy()))
    first, _ = later.chunk(2, 1)
    changed = first.clone()
    changed[0] *= 3.0
    end = (changed.sum() + (middle**2).sum()) * wb.ones((), dtype=wb.float64)
    for asked in ((a,), (middle,), (a, middle, later), (c, first), (b, c, a)):
        seen += wb.autograd.grad(end, asked, retain_graph=True, create_graph=create_graph)
    if create_graph:
        (slope,) = wb.autograd.grad(end, a, create_graph=True)
        seen += wb.autograd.grad(slope.square().sum(), (b, middle), retain_graph=True)
    end.backward(inputs=[b, middle], retain_graph=True)
    assert a.grad is None and c.grad is None
    return [*seen, b.grad, middle.grad]


@pytest.mark.parametrize("create_graph", [False, True])
def test_both_walks_find_the_same(create_graph: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if eager is None:
        pytest.skip("there is no compiled walk")
    compiled = _found(create_graph)
    monkeypatch.setattr(engine, "eager", None)
    python = _found(create_graph)
    assert len(compiled) == len(python)
    for one, other in zip(compiled, python, strict=True):
        np.testing.assert_allclose(
            np.asarray(one.detach() if isinstance(one, wb.Tensor) else one),
            np.asarray(other.detach() if isinstance(other, wb.Tensor) else other),
            rtol=1e-12,
        )


def test_a_way_to_what_is_asked_for_that_was_freed_is_refused() -> None:
    x = wb.ones(3).requires_grad_()
    y = x.exp()
    (y * y).sum().backward()
    with pytest.raises(AutogradError, match="second time"):
        wb.autograd.grad((y * 2).sum(), x)


def test_calls_that_lead_nowhere_are_not_run() -> None:
    run: list[str] = []

    class Watched(wb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            run.append("run")
            return g * 2

    a, b = wb.ones(2).requires_grad_(), wb.ones(2).requires_grad_()
    end = (Watched.apply(b) * a).sum()
    (found,) = wb.autograd.grad(end, a, retain_graph=True)
    assert found.tolist() == [2.0, 2.0] and not run
    wb.autograd.grad(end, b)
    assert run == ["run"]

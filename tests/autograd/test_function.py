"""Functions with a gradient of their own: styles, contexts, refusals, and every interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import func
from workbench.autograd.function import Context, Function, once_differentiable
from workbench.autograd.gradcheck import gradcheck, gradgradcheck


class Cube(Function):
    """x³, with the older style of context."""

    @staticmethod
    def forward(ctx: Context, x: Any) -> Any:  # type: ignore[override]
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Context, gradient: Any) -> Any:  # type: ignore[override]
        (x,) = ctx.saved_tensors
        return gradient * x * x * 3.0


class Straight(Function):
    """A step whose gradient goes straight through: not what its forward would give."""

    @staticmethod
    def forward(x: Any) -> Any:  # type: ignore[override]
        return wb.where(x > 0, wb.ones(()), wb.zeros(())).to(x.dtype)

    @staticmethod
    def setup_context(ctx: Context, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Context, gradient: Any) -> Any:  # type: ignore[override]
        return gradient * 5.0


class Product(Function):
    """a·b and a constant; with jvp."""

    @staticmethod
    def forward(a: Any, b: Any, scale: float) -> Any:  # type: ignore[override]
        return a * b * scale, a.argmax()

    @staticmethod
    def setup_context(ctx: Context, inputs: tuple[Any, ...], output: Any) -> None:
        a, b, ctx.scale = inputs  # type: ignore[attr-defined]
        ctx.save_for_backward(a, b)
        ctx.save_for_forward(a, b)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx: Any, gradient: Any, _: Any) -> Any:  # type: ignore[override]
        a, b = ctx.saved_tensors
        return (
            gradient * b * ctx.scale if ctx.needs_input_grad[0] else None,
            gradient * a * ctx.scale if ctx.needs_input_grad[1] else None,
            None,
        )

    @staticmethod
    def jvp(ctx: Any, ta: Any, tb: Any, _: Any) -> Any:  # type: ignore[override]
        a, b = ctx.saved_tensors
        return (ta * b + a * tb) * ctx.scale, None


def leaf(*values: float, names: tuple[str, ...] | None = None) -> wb.Tensor:
    return wb.tensor(list(values), dtype="float64", names=names, requires_grad=True)


def test_backward_and_higher_orders() -> None:
    x = leaf(1, 2, names=("C",))
    y = Cube.apply(x)
    assert y.names == ("C",)
    assert y.grad_fn.name == "CubeBackward"
    (first,) = wb.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = wb.autograd.grad(first.sum(), x)
    assert first.tolist() == [3, 12]
    assert first.names == ("C",)
    assert second.tolist() == [6, 12]
    assert gradcheck(Cube.apply, (x,))
    assert gradgradcheck(Cube.apply, (x,))


def test_arguments_and_outputs_of_all_kinds() -> None:
    a, b = leaf(1, 2), leaf(3, 5)
    y, index = Product.apply(a, b, 2.0)
    assert (y.tolist(), index.item(), index.requires_grad) == ([6, 20], 1, False)
    y.sum().backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([6, 10], [2, 4])  # type: ignore[union-attr]
    only = Product.apply(a.detach(), b, 2.0)[0].sum()
    assert wb.autograd.grad(only, b)[0].tolist() == [2, 4]  # type: ignore[union-attr]


@pytest.mark.parametrize("function", [Cube.apply, Straight.apply, lambda x: Product.apply(x, x, 1.0)[0]])
def test_interpreters_agree(function: Any) -> None:
    x = wb.tensor([[1.0, -2.0, 3.0], [0.5, 2.5, -1.5]], dtype="float64")
    rows = [function(row) for row in x]
    together = func.vmap(function)(x)
    np.testing.assert_allclose(together.numpy(), np.stack([row.numpy() for row in rows]))
    gradient = func.grad(lambda row: function(row).sum())
    alone = np.stack([gradient(row).numpy() for row in x])
    np.testing.assert_allclose(func.vmap(gradient)(x).numpy(), alone)
    outside = wb.tensor(x.numpy(), requires_grad=True)
    func.vmap(lambda row: function(row).sum())(outside).sum().backward()
    np.testing.assert_allclose(outside.grad.numpy(), alone)  # type: ignore[union-attr]
    _, forwards = func.jvp(function, (x,), (wb.ones_like(x),))
    np.testing.assert_allclose(forwards.numpy(), alone)
    _, batched = func.vmap(lambda row, t: func.jvp(function, (row,), (t,)))(x, wb.ones_like(x))
    np.testing.assert_allclose(batched.numpy(), alone)
    np.testing.assert_allclose(func.jacfwd(function)(x[0]).numpy(), func.jacrev(function)(x[0]).numpy())
    second = func.hessian(lambda row: function(row).sum())(x[0])
    np.testing.assert_allclose(second.numpy(), func.jacrev(gradient)(x[0]).numpy())
    graph = wb.graph.trace(function, x)
    np.testing.assert_allclose(graph(x).numpy(), function(x).numpy())


def test_reverse_over_forward_and_gradients_of_both_sides_of_vmap() -> None:
    x = leaf(1, 2, 3)
    _, direction = func.jvp(Cube.apply, (x,), (wb.ones(3, dtype="float64"),))
    assert wb.autograd.grad(direction.sum(), x)[0].tolist() == [6, 12, 18]  # type: ignore[union-attr]
    gradients = func.vmap(func.grad(Cube.apply))(x)
    assert gradients.tolist() == [3, 12, 27]
    assert wb.autograd.grad(gradients.sum(), x)[0].tolist() == [6, 12, 18]  # type: ignore[union-attr]


def test_a_weight_that_all_entries_share_gets_one_gradient() -> None:
    class Scale(Function):
        @staticmethod
        def forward(ctx: Context, x: Any, w: Any) -> Any:  # type: ignore[override]
            ctx.save_for_backward(x, w)
            return x * w

        @staticmethod
        def backward(ctx: Context, gradient: Any) -> Any:  # type: ignore[override]
            x, w = ctx.saved_tensors
            return gradient * w, (gradient * x).sum()

    w = wb.tensor(2.0, dtype="float64", requires_grad=True)
    x = wb.tensor([[1.0, 2.0], [3.0, 4.0]], dtype="float64", requires_grad=True)
    func.vmap(lambda row: Scale.apply(row, w))(x).sum().backward()
    assert w.grad.item() == 10  # type: ignore[union-attr]
    assert x.grad.tolist() == [[2, 2], [2, 2]]  # type: ignore[union-attr]


def test_what_is_kept_besides_arguments_moves_too() -> None:
    class Square(Function):
        @staticmethod
        def forward(ctx: Context, x: Any) -> Any:  # type: ignore[override]
            twice = x * 2.0
            ctx.save_for_backward(twice)
            return x * x

        @staticmethod
        def backward(ctx: Context, gradient: Any) -> Any:  # type: ignore[override]
            return gradient * ctx.saved_tensors[0]

    x = wb.tensor([1.0, 3.0], dtype="float64")
    gradient = func.grad(lambda x: Square.apply(x).sum())
    assert func.jvp(gradient, (x,), (wb.ones_like(x),))[1].tolist() == [2, 2]


def test_unused_outputs_arrive_as_zeros_or_none() -> None:
    seen: list[Any] = []

    def make(materialize: bool) -> type[Function]:
        class Two(Function):
            @staticmethod
            def forward(ctx: Context, x: Any) -> Any:  # type: ignore[override]
                ctx.set_materialize_grads(materialize)
                return x * 1.0, x * 2.0

            @staticmethod
            def backward(ctx: Context, a: Any, b: Any) -> Any:  # type: ignore[override]
                seen.append(b)
                return a

        return Two

    for materialize in (True, False):
        x = leaf(1, 2)
        make(materialize).apply(x)[0].sum().backward()
    assert seen[0].tolist() == [0, 0]
    assert seen[1] is None


def test_marked_dirty() -> None:
    class Double(Function):
        @staticmethod
        def forward(ctx: Context, x: Any) -> Any:  # type: ignore[override]
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx: Context, gradient: Any) -> Any:  # type: ignore[override]
            return gradient * 2.0

    x = leaf(1, 2)
    y = x * 3.0
    z = Double.apply(y)
    assert z is y
    assert z.detach().tolist() == [6, 12]
    z.sum().backward()
    assert x.grad.tolist() == [6, 6]  # type: ignore[union-attr]
    with pytest.raises(wb.AutogradError, match="leaf Variable that requires grad"):
        Double.apply(x)


def test_once_differentiable() -> None:
    class Once(Function):
        @staticmethod
        def forward(ctx: Context, x: Any) -> Any:  # type: ignore[override]
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx: Context, gradient: Any) -> Any:  # type: ignore[override]
            return gradient * ctx.saved_tensors[0] * 2.0

    x = leaf(1, 2)
    assert wb.autograd.grad(Once.apply(x).sum(), x)[0].tolist() == [2, 4]  # type: ignore[union-attr]
    (first,) = wb.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
    with pytest.raises(wb.AutogradError, match="marked with @once_differentiable"):
        first.sum().backward()  # type: ignore[union-attr]


def test_own_vmap() -> None:
    class Sum(Function):
        @staticmethod
        def forward(x: Any) -> Any:  # type: ignore[override]
            return x.sum()

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.shape = inputs[0].shape

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:  # type: ignore[override]
            return gradient.expand(ctx.shape)

        @staticmethod
        def vmap(info: Any, in_dims: tuple[Any, ...], x: Any) -> Any:  # type: ignore[override]
            assert info.batch_size == 2
            assert in_dims == (0,)
            return x.sum(1), 0

    x = wb.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert func.vmap(Sum.apply)(x).tolist() == [3, 7]
    assert func.vmap(func.grad(Sum.apply))(x).tolist() == [[1, 1], [1, 1]]


def bad(result: Any) -> Any:
    class Bad(Function):
        @staticmethod
        def forward(ctx: Context, x: Any) -> Any:  # type: ignore[override]
            return x * 1.0

        @staticmethod
        def backward(ctx: Context, gradient: Any) -> Any:  # type: ignore[override]
            return result(gradient)

    return Bad.apply


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda g: (g, g), r"incorrect number of gradients \(expected 1, got 2\)"),
        (
            lambda g: g[:1].expand(3),
            r"invalid gradient at index 0 - got \[3\] but expected shape compatible with \[2\]",
        ),
    ],
)
def test_refusals(result: Any, message: str) -> None:
    with pytest.raises(wb.AutogradError, match=message):
        bad(result)(leaf(1, 2)).sum().backward()


def test_a_function_without_backward_says_so() -> None:
    class Nothing(Function):
        @staticmethod
        def forward(ctx: Context, x: Any) -> Any:  # type: ignore[override]
            return x * 1.0

    with pytest.raises(wb.AutogradError, match="must implement either the backward"):
        Nothing.apply(leaf(1)).backward()


def test_nothing_is_recorded_without_need() -> None:
    assert not Cube.apply(wb.ones(2)).requires_grad
    with wb.no_grad():
        assert not Cube.apply(leaf(1)).requires_grad


def test_what_is_set_on_the_context_is_on_the_node() -> None:
    class Scale(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float) -> Any:
            ctx.factor = factor
            ctx.save_for_backward(x)
            return x * factor

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * ctx.factor, None

    x = wb.tensor([1.0, 2.0], requires_grad=True)
    y = Scale.apply(x, 3.0)
    assert y.grad_fn.factor == 3.0
    assert y.grad_fn.saved_tensors[0].tolist() == [1.0, 2.0]
    with pytest.raises(AttributeError, match="has no attribute 'facter'"):
        _ = y.grad_fn.facter
    y.sum().backward()
    assert y.grad_fn.factor == 3.0
    with pytest.raises(wb.AutogradError, match="a second time"):
        _ = y.grad_fn.saved_tensors


class Spread(Function):
    """More outputs than a thousand."""

    COUNT = 1030

    @staticmethod
    def forward(ctx: Context, x: Any) -> Any:  # type: ignore[override]
        return tuple(x * 1.0 for _ in range(Spread.COUNT))

    @staticmethod
    def backward(ctx: Context, *gradients: Any) -> Any:  # type: ignore[override]
        return sum(gradients[1:], start=gradients[0])


def test_gradients_of_many_outputs_are_told_from_those_of_the_calls_after() -> None:
    x = wb.tensor(2.0, requires_grad=True)
    several = Spread.apply(x)
    after = [x * 2.0 for _ in range(4)]
    asked = [*several[1020:], *after]
    total = asked[0] * 1.0
    for k, one in enumerate(asked[1:], start=2):
        total = total + one * float(k)
    found = [one.item() for one in wb.autograd.grad(total, asked)]
    assert found == [float(k) for k in range(1, len(asked) + 1)]

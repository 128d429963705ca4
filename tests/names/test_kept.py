"""Where names used to be lost: gradients, indexing, copies, other processes, modules, graphs."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import DimensionError, Tensor


def leaf(**dims: int) -> Tensor:
    return wb.randn(**dims).requires_grad_()


# -------------------------------------------------------------------------------------------------- gradients


def test_gradients_carry_the_names_of_their_leaves() -> None:
    x, weight = leaf(N=2, C=3), leaf(K=4, C=3)
    ((x @ weight.t()).softmax("K") ** 2).sum().backward()
    assert x.grad is not None and weight.grad is not None
    assert (x.grad.names, weight.grad.names) == (("N", "C"), ("K", "C"))
    ((x @ weight.t()) ** 2).sum().backward()  # a second one is added to the first
    assert x.grad.names == ("N", "C")


def test_gradients_of_values_in_between_carry_theirs() -> None:
    x = leaf(N=2, C=3)
    y = x.exp().sum("N")
    (gradient,) = wb.autograd.grad((y * y).sum(), y)
    assert gradient is not None and gradient.names == ("C",)
    y = x.exp().sum("N")
    y.retain_grad()
    (y * y).sum().backward()
    assert y.grad is not None and y.grad.names == ("C",)


def test_gradients_of_gradients_carry_names() -> None:
    x = leaf(N=2, C=3)
    (first,) = wb.autograd.grad((x**3).sum(), x, create_graph=True)
    assert first is not None and first.names == ("N", "C")
    (second,) = wb.autograd.grad((first * first).sum("C").sum(), x)
    assert second is not None and second.names == ("N", "C")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("N", "K"), "dim 'C' and dim 'K' are at the same position"),
        (("C", "N"), "The names are the same in another order"),
        (("N", "c"), "Is 'c' a misspelling of 'C'?"),
    ],
)
def test_an_upstream_gradient_under_other_names_is_refused(names: tuple[str, ...], message: str) -> None:
    x = leaf(N=3, C=3)
    wrong = wb.ones(3, 3, names=names)
    with pytest.raises(DimensionError) as caught:
        (x * 2).backward(wrong)
    assert message in str(caught.value)
    with pytest.raises(DimensionError):
        wb.autograd.grad(x * 2, x, wrong)
    assert x.grad is None
    (x * 2).backward(wb.ones(3, 3))
    (x * 2).backward(wb.ones(N=3, C=3))
    assert x.grad is not None and x.grad.names == ("N", "C")


def test_an_assigned_gradient_must_fit() -> None:
    x = leaf(N=2, C=3)
    for wrong, error, message in (
        (wb.ones(K=2, C=3), DimensionError, "'N' and dim 'K'"),
        (wb.ones(N=2, C=4), DimensionError, "assigned grad has data of a different size"),
        (wb.ones(N=2, C=3, dtype=wb.float64), wb.DTypeError, "assigned grad has data of a different type"),
        (3.0, TypeError, "expected to be a Tensor or None but got grad of type float"),
    ):
        with pytest.raises(error, match=message):
            x.grad = wrong  # type: ignore[assignment]
        assert x.grad is None
    gradient = wb.ones(2, 3)
    x.grad = gradient
    assert x.grad is gradient
    (x * 2).sum().backward()
    assert x.grad.names == ("N", "C")
    assert x.grad[0].tolist() == [3.0, 3.0, 3.0]
    x.grad = None
    assert x.grad is None


def test_hooks_see_names_and_answer_under_them() -> None:
    x = leaf(N=2, C=3)
    seen: list[Any] = []
    x.register_hook(lambda gradient: seen.append(gradient.names))
    y = (x * 2).sum("N")
    y.register_hook(lambda gradient: seen.append(gradient.names))
    (y * y).sum().backward()
    assert seen == [("C",), ("N", "C")]
    for value in (leaf(N=2, C=3), leaf(N=2, C=3) * 2):
        loss = (value * value).sum()
        handle = value.register_hook(lambda gradient: gradient.rename(C="K"))
        with pytest.raises(DimensionError, match="'C' and dim 'K'"):
            loss.backward()
        handle.remove()


def test_functions_of_ones_own_see_names_and_are_held_to_them() -> None:
    seen: list[Any] = []

    class Square(wb.autograd.Function):
        answer: Any = None

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return (x * x).sum("N")

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            (x,) = ctx.saved_tensors
            seen.append((gradient.names, x.names))
            result = gradient * 2 * x
            return result if Square.answer is None else result.rename(*Square.answer)

    x = leaf(N=2, C=3)
    Square.apply(x).sum().backward()
    assert seen == [(("C",), ("N", "C"))]
    assert x.grad is not None and x.grad.names == ("N", "C")
    (first,) = wb.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
    (second,) = wb.autograd.grad(first.sum(), x)
    assert second.tolist() == wb.full((2, 3), 2.0).tolist()
    Square.answer = ("N", "K")
    with pytest.raises(DimensionError, match="'C' and dim 'K'"):
        Square.apply(x).sum().backward()
    Square.answer = (None, None)
    Square.apply(x).sum().backward()
    assert x.grad.names == ("N", "C")


def test_functional_derivatives_carry_names() -> None:
    x = wb.randn(N=2, C=3)
    gradient = wb.func.grad(lambda one: (one**2).sum())(x)
    assert gradient.names == ("N", "C")
    _, tangent = wb.func.jvp(lambda one: one.sin(), (x,), (wb.ones(N=2, C=3),))
    assert tangent.names == ("N", "C")
    rows = wb.func.vmap(lambda row: row.sum("C"))(x)
    assert rows.shape == (2,)


# --------------------------------------------------------------------------------------------------- indexing


@pytest.mark.parametrize(
    ("key", "names"),
    [
        (0, ("C", "H")),
        (slice(1), ("N", "C", "H")),
        ((..., 0), ("N", "C")),
        ((slice(None), None), ("N", None, "C", "H")),
        (([0, 1],), ("N", "C", "H")),
        ((slice(None), [0, 1]), ("N", "C", "H")),
        ((np.array([0, 1]), slice(None), 0), ("N", "C")),
        ((Ellipsis, slice(None, None, 2)), ("N", "C", "H")),
    ],
    ids=str,
)
def test_indexing_keeps_the_names_of_what_stays(key: Any, names: tuple[str | None, ...]) -> None:
    x = wb.randn(N=2, C=3, H=4)
    assert x[key].names == names
    y = leaf(N=2, C=3, H=4)
    y[key].sum().backward()
    assert y.grad is not None and y.grad.names == ("N", "C", "H")


def test_indexing_by_tensors_keeps_names() -> None:
    x = wb.randn(N=2, C=3)
    assert x[wb.tensor([0, 1, 1])].names == ("N", "C")
    assert x[wb.tensor([0, 1], names=("picked",))].names == ("picked", "C")
    assert x[x > 0].names == (None,)
    with pytest.raises(DimensionError, match="do not match"):
        x[wb.ones(K=2, C=3) > 0]


def test_what_is_assigned_must_fit_by_name() -> None:
    x = wb.randn(N=2, C=3)
    for key, value in ((slice(None), wb.ones(K=2, C=3)), (0, wb.ones(K=3)), ((slice(None), 0), wb.ones(C=2))):
        before = x.clone()
        with pytest.raises(DimensionError, match="do not match"):
            x[key] = value
        assert wb.equal(x, before)
    x[0] = wb.zeros(C=3)
    x[1] = wb.zeros(3)
    assert x.names == ("N", "C")
    assert x.sum().item() == 0


# --------------------------------------------------------------------------------------- copies and processes


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_names_survive_pickle(protocol: int) -> None:
    x = wb.randn(N=2, C=3).requires_grad_()
    again = pickle.loads(pickle.dumps(x, protocol))
    assert again.names == ("N", "C")
    assert again.requires_grad
    assert wb.equal(again.detach(), x.detach())
    quantized = wb.quantize_per_tensor(x.detach(), 0.1, 0, wb.qint8)
    assert pickle.loads(pickle.dumps(quantized, protocol)).names == ("N", "C")


def test_names_survive_copies() -> None:
    x = wb.randn(2, 3, names=("N", None))
    for other in (
        copy.copy(x),
        copy.deepcopy(x),
        x.clone(),
        x.detach(),
        x.data,
        wb.tensor(x),
        wb.as_tensor(x),
        x.cpu(),
    ):
        assert other.names == ("N", None)
    assert copy.deepcopy({"a": [x]})["a"][0].names == ("N", None)


def _doubled(x: Tensor) -> tuple[Tensor, tuple[str | None, ...]]:
    return x * 2, x.names


def test_names_survive_another_process() -> None:
    x = wb.ones(N=2, C=3)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        doubled, seen = pool.apply(_doubled, (x,))
    assert doubled.names == seen == ("N", "C")


# ------------------------------------------------------------------------------------------ modules and graphs


class Net(wb.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = wb.nn.Linear(3, 4)
        self.scale = wb.nn.Parameter(wb.ones(4), names=("out_features",))
        self.register_buffer("mean", wb.zeros(out_features=4))

    def forward(self, x: Any) -> Any:
        return self.layer(x) * self.scale + self.mean


def test_names_survive_the_state_of_a_module() -> None:
    net = Net()
    state = net.state_dict()
    assert {name: one.names for name, one in state.items()} == {
        "scale": ("out_features",),
        "mean": ("out_features",),
        "layer.weight": net.layer.weight.names,
        "layer.bias": net.layer.bias.names,
    }
    other = Net()
    other.load_state_dict(pickle.loads(pickle.dumps(state)))
    assert {name: one.names for name, one in other.state_dict().items()} == {
        name: one.names for name, one in state.items()
    }
    for again in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert again.scale.names == ("out_features",)
        assert again.mean.names == ("out_features",)


def test_optimizers_keep_the_names_of_parameters() -> None:
    net = Net()
    before = [one.names for one in net.parameters()]
    optimizer = wb.optim.Adam(net.parameters(), lr=0.1)
    (net(wb.randn(5, 3)) ** 2).sum().backward()
    optimizer.step()
    assert [one.names for one in net.parameters()] == before
    assert [one.grad.names for one in net.parameters() if one.grad is not None] == before


def test_names_survive_graphs() -> None:
    graph = wb.graph.trace(lambda x: (x * 2).sum("C").unsqueeze(0, "one"), wb.ones(N=2, C=3))
    again = wb.graph.parse(wb.graph.text(graph))
    x = wb.ones(N=5, C=3)
    for one in (graph, again, graph.copy(), wb.graph.parse(wb.graph.python_text(graph))):
        assert one(x).names == ("one", "N")
        with pytest.raises((wb.graph.GraphError, DimensionError)):
            one(wb.ones(C=3, N=5))


def test_the_repr_tells_names() -> None:
    assert repr(wb.zeros(N=1)) == "tensor([0.], names=('N',))"
    assert "names=" not in repr(wb.zeros(1))
    assert "names=('N', 'C')" in repr(wb.zeros(N=100, C=200))

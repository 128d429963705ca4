"""What is trained, compiled: values, gradients, buffers and draws of eager, and the tape that eager has."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import kernels, nn
from workbench.base.errors import AutogradError

F = nn.functional
pytestmark = pytest.mark.skipif(not kernels.available(), reason="programs are made of compiled kernels")


def numbers(one: Any) -> Any:
    return one.detach().numpy() if isinstance(one, wb.Tensor) else one


def close(given: Any, expected: Any, bound: float = 1e-5) -> None:
    """Within `bound` of the largest number; NaN and infinities at the same places."""
    if expected is None or given is None:
        assert given is expected
        return
    ours, theirs = numbers(given), numbers(expected)
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    finite = np.isfinite(theirs)
    assert np.array_equal(ours[~finite], theirs[~finite], equal_nan=True)
    if finite.any():
        assert np.abs(ours[finite] - theirs[finite]).max() <= bound * np.abs(theirs[finite]).max() + 1e-30


def calls(compiled: Any) -> dict[str, int]:
    return wb.compiler.explain(compiled).calls


def leaves(arguments: tuple[Any, ...]) -> list[Any]:
    return [
        one.detach().clone().requires_grad_(one.requires_grad) if isinstance(one, wb.Tensor) else one
        for one in arguments
    ]


def total(result: Any) -> Any:
    several = result if isinstance(result, tuple | list) else (result,)
    return sum((one * one * 0.5 + one).sum() for one in several if one.requires_grad)


def judged(function: Callable[..., Any], *arguments: Any, loss: Callable[[Any], Any] = total) -> None:
    """Run a function as it is written, and compiled twice: results, gradients, and where the generator is."""
    compiled = wb.compile(function)
    found = []
    for one in (function, compiled, compiled):
        given = leaves(arguments)
        wb.manual_seed(1)
        result = one(*given)
        loss(result).backward()
        several = result if isinstance(result, tuple | list) else (result,)
        found.append((several, [x.grad for x in given if isinstance(x, wb.Tensor)], wb.rand(1).item()))
    (results, gradients, drawn), *others = found
    for ours, ours_gradients, ours_drawn in others:
        for a, b in zip(ours, results, strict=True):
            close(a, b)
            assert a.requires_grad == b.requires_grad and a.names == b.names
        for a, b in zip(ours_gradients, gradients, strict=True):
            close(a, b)
        assert ours_drawn == drawn
    assert calls(compiled) == {"compiled": 2}


def x(*sizes: int) -> Any:
    return wb.tensor(
        np.random.default_rng(sum(sizes)).standard_normal(sizes, dtype=np.float32)
    ).requires_grad_()


def partly_unrecorded(a: Any) -> Any:
    b = a.exp() * 2
    with wb.no_grad():
        c = b * 3
    return b + c


def in_place(a: Any) -> Any:
    b = a * 2
    b.add_(1)
    return b.relu_() * 3


def with_gradient_inside(a: Any) -> Any:
    return wb.autograd.grad((a**3).sum(), a, create_graph=True)[0]


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "nothing saved": (lambda a: a + 1, (x(3, 4),)),
    "the result saved": (lambda a: a.relu(), (x(3, 4),)),
    "one asks": (lambda a, b: a @ b, (x(3, 4).detach(), x(4, 5))),
    "both ask": (lambda a, b: a @ b, (x(3, 4), x(4, 5))),
    "one result detached": (lambda a: (a.exp(), a.detach() * 2), (x(3),)),
    "indices beside": (lambda a: (a.sin(), a.argmax(0)), (x(3, 4),)),
    "parts": (lambda a: a[1:] * a[:-1], (x(5, 3),)),
    "stretched": (lambda a, b: (a * b).sum(0) + b.mean(), (x(3, 4), x(4))),
    "drawn": (lambda a: F.dropout(a, 0.5, True).tanh() + wb.rand(3) + wb.randn(a.shape[0]), (x(3),)),
    "other types": (lambda a: a.double().exp().float() + (a * 1j).real, (x(3, 4),)),
    "sorted": (lambda a: a.cumsum(0).sort(0)[0], (x(5, 2),)),
    "solved": (lambda a: wb.linalg.inv(a @ a.t() + wb.eye(3)), (x(3, 3),)),
    "classes": (lambda a, i: F.cross_entropy(a, i), (x(4, 3), wb.tensor([0, 1, 2, 0]))),
    "words": (lambda w, i: F.embedding(i, w).sum(1), (x(7, 4), wb.tensor([[0, 1], [2, 2]]))),
    "attention": (lambda a: F.scaled_dot_product_attention(a, a, a, dropout_p=0.2), (x(2, 2, 5, 8),)),
    "pooled": (lambda a: F.avg_pool2d(F.max_pool2d(a, 2), 3, 1, 1), (x(2, 3, 6, 6),)),
    "turned": (lambda a, w: F.conv_transpose2d(a, w, stride=2), (x(2, 3, 5, 5), x(3, 4, 3, 3))),
    "partly unrecorded": (partly_unrecorded, (x(3),)),
    "in place": (in_place, (x(3),)),
    "a gradient inside": (with_gradient_inside, (x(3),)),
    "gelu and silu": (lambda a: F.gelu(a) * F.silu(a), (x(30, 4),)),
    "named": (lambda a: (a.softmax("C") * 2).sum("N"), (x(3, 4).detach().rename("N", "C").requires_grad_(),)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_the_gradients_of_eager(name: str) -> None:
    function, arguments = FUNCTIONS[name]
    judged(function, *arguments)


def test_numbers_that_are_not_finite_are_those_of_eager() -> None:
    nan, infinite = float("nan"), float("inf")
    judged(
        lambda a, w: F.relu(F.linear(a, w)),
        wb.tensor([[nan, 1.0], [infinite, 2.0]]).requires_grad_(),
        x(3, 2),
    )
    judged(lambda a: F.max_pool2d(a.relu(), 2), wb.tensor([[[[nan, 1.0], [2.0, 3.0]]]]).requires_grad_())
    # A gradient that is not finite, as where a loss was scaled too far.
    judged(lambda a, w: F.relu(F.linear(a, w)).exp(), x(3, 2), x(3, 2), loss=lambda y: (y * infinite).sum())


def convolutional() -> Any:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Dropout(0.3),
        nn.Conv2d(8, 6, 3, groups=2), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 5),
    )  # fmt: skip


def attending() -> Any:
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.second.weight = self.first.weight

    def forward(self, a: Any) -> Any:
        return self.second(self.first(a).tanh())


MODELS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "convolutional": (convolutional, (4, 3, 12, 12)),
    "attending": (attending, (2, 5, 16)),
    "recurrent": (lambda: nn.LSTM(4, 5, 2, dropout=0.3), (6, 2, 4)),
    "tied": (Tied, (3, 4)),
    "spectral": (lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 5)), (3, 4)),
    "averages of all": (lambda: nn.BatchNorm1d(3, momentum=None), (5, 3)),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_are_trained_as_by_eager(name: str) -> None:
    make, sizes = MODELS[name]
    wb.manual_seed(0)
    model = make()
    twin = copy.deepcopy(model)
    compiled = wb.compile(twin)
    optimizers = [wb.optim.SGD(one.parameters(), lr=0.05, momentum=0.9) for one in (model, twin)]
    for number in range(3):
        found = []
        # The last batch is of other sizes.
        batch = x(*(sizes if number < 2 else (sizes[0] + 1, *sizes[1:]))).detach()
        for one, optimizer in zip((model, compiled), optimizers, strict=True):
            wb.manual_seed(number)
            optimizer.zero_grad()
            result = one(batch)
            loss = (result[0] if isinstance(result, tuple) else result).square().mean()
            loss.backward()
            found.append((loss, [p.grad.clone() for p in one.parameters()], wb.rand(1).item()))
            optimizer.step()
        (expected, theirs, drawn), (given, ours, ours_drawn) = found
        close(given, expected)
        assert ours_drawn == drawn
        largest = max(np.abs(numbers(one)).max() for one in theirs)
        for a, b in zip(ours, theirs, strict=True):
            # Against the largest of all: the gradient of a shift before a norm is nothing but rounding.
            assert np.abs(numbers(a) - numbers(b)).max() <= 1e-5 * largest
        for a, b in zip(twin.buffers(), model.buffers(), strict=True):
            close(a, b)
    assert calls(compiled) == {"compiled": 3} and not wb.compiler.explain(compiled).made_anew


def test_runs_are_equal_to_the_bit() -> None:
    model = convolutional()
    compiled = wb.compile(model)
    found = []
    for _ in range(2):
        wb.manual_seed(3)
        result = compiled(x(4, 3, 12, 12))
        found.append([result, *wb.autograd.grad(result.square().sum(), list(model.parameters()))])
    for a, b in zip(*found, strict=True):
        assert np.array_equal(numbers(a), numbers(b))


def test_a_whole_loss_is_compiled() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    labels = wb.tensor([0, 1, 2])

    def loss(batch: Any) -> Any:
        scores = model(batch)
        return F.cross_entropy(scores, labels), scores

    compiled, batch = wb.compile(loss), x(3, 4).detach()
    for function in (loss, compiled):
        value, scores = function(batch)
        assert scores.requires_grad
        value.backward()
    for one in model.parameters():
        half = numbers(one.grad) / 2
        model.zero_grad()
        loss(batch)[0].backward()
        close(half, numbers(one.grad))
        break
    assert calls(compiled) == {"compiled": 1}


def test_gradients_may_arrive_for_some_results() -> None:
    def several(a: Any, b: Any) -> Any:
        return (a * b).exp(), (a / b.abs()).sqrt(), a.sum()

    compiled = wb.compile(several)
    for picked in ((0,), (1,), (2,), (0, 2), (0, 1, 2)):
        found = []
        for function in (several, compiled):
            # The gradient of a root is infinite at 0: zeros in the place of what does not arrive would show as NaN.
            a, b = wb.zeros(3).requires_grad_(), wb.tensor([0.5, 1.0, 2.0]).requires_grad_()
            results = function(a, b)
            sum(results[i].sum() for i in picked).backward()
            found.append((a.grad, b.grad))
        for ours, theirs in zip(*found[::-1], strict=True):
            close(ours, theirs)
    assert calls(compiled) == {"compiled": 5}


def scaled(a: Any, w: Any) -> Any:
    return (a * w).tanh()


def test_the_tape_is_that_of_eager() -> None:
    compiled = wb.compile(scaled)
    a, w = x(3), x(3).detach().clone().requires_grad_()
    result = compiled(a, w)
    result.sum().backward(retain_graph=True)
    once = a.grad.clone()
    result.sum().backward()
    close(a.grad, once * 2)
    with pytest.raises(AutogradError, match="backward through the graph a second time"):
        result.sum().backward()
    assert result.grad_fn.inputs is None  # let go

    result = compiled(a, w)
    with wb.no_grad():
        w.mul_(2)
    with pytest.raises(AutogradError, match="modified by an inplace operation: input 1 of 'compiled'"):
        result.sum().backward()
    result = compiled(a, w)
    with wb.no_grad():
        result.mul_(2)
    with pytest.raises(AutogradError, match="modified by an inplace operation: output 0 of 'compiled'"):
        result.sum().backward()

    # What the gradient does not read may change.
    plus = wb.compile(lambda one, other: one + other)
    before = a * 1
    result = plus(before, w)
    before.add_(1)
    result.sum().backward()

    seen: list[Any] = []
    a.register_hook(seen.append)
    compiled(a, w).sum().backward()
    assert len(seen) == 1
    with wb.no_grad():
        assert not compiled(a, w).requires_grad
    assert not compiled(a.detach(), w.detach()).requires_grad


def test_gradients_of_gradients_are_those_of_eager_or_refused() -> None:
    compiled, found = wb.compile(scaled), []
    for function in (scaled, compiled):
        a, w = x(3), x(4)[:3].detach().requires_grad_()
        (first,) = wb.autograd.grad(function(a, w).sum(), a, create_graph=True)
        found.append(wb.autograd.grad((first * first).sum(), (a, w)))
        (first,) = wb.autograd.grad(function(a, a).sum(), a, create_graph=True)
        found[-1] += wb.autograd.grad((first * first).sum(), a)
    for ours, theirs in zip(found[1], found[0], strict=True):
        close(ours, theirs)
    a = wb.randn(5000).requires_grad_()
    result = wb.compile(lambda one: one.relu())(a * 2).sum()
    with pytest.raises(
        AutogradError, match=r"asked for with create_graph=True, and .* was let go. Call the function"
    ):
        wb.autograd.grad(result, a, create_graph=True)


def test_frozen_parameters_get_none_and_are_noticed() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    compiled = wb.compile(model)
    model[0].weight.requires_grad_(False)
    compiled(wb.ones(2, 3)).sum().backward()
    assert model[0].weight.grad is None and model[2].weight.grad is not None
    model[0].weight.requires_grad_(True)
    compiled(wb.ones(2, 3)).sum().backward()
    assert model[0].weight.grad is not None
    assert calls(compiled) == {"compiled": 2}


class Listed(nn.Module):
    """Layers where a module does not look for them, and a tensor that is no buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = [nn.Linear(4, 4)]
        self.table = {"scale": wb.ones(4)}
        self.mask = wb.ones(4)

    def forward(self, a: Any) -> Any:
        return self.layers[0](a) * self.table["scale"] * self.mask


def test_what_lies_in_containers_is_trained_and_never_stale() -> None:
    model = Listed()
    compiled, batch = wb.compile(model), x(2, 4).detach()
    compiled(batch).sum().backward()
    assert model.layers[0].weight.grad is not None
    for change in (model.layers[0].weight, model.table["scale"], model.mask):
        with wb.no_grad():
            compiled(batch)
            change.add_(1)
            close(compiled(batch), model(batch))
        close(compiled(batch), model(batch))
    assert set(calls(compiled)) == {"compiled"}


layers = [3.0]


def test_a_global_that_is_called_as_an_attribute_hides_nothing() -> None:
    model = Listed().eval()
    compiled, batch = wb.compile(model), x(2, 4).detach()
    assert layers == [3.0]
    with wb.no_grad():
        compiled(batch)
        model.layers[0].weight.add_(1)
        close(compiled(batch), model(batch))


def test_several_threads_train_one_module() -> None:
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 64, 5))
    compiled = wb.compile(model)
    batches = [wb.randn(4, 3, 8, 8) for _ in range(8)]

    def gradients(module: Any, batch: Any) -> Any:
        return wb.autograd.grad(module(batch).square().sum(), list(model.parameters()))

    expected = [gradients(compiled, one) for one in batches]
    found: dict[int, Any] = {}

    def work(number: int) -> None:
        for _ in range(4):
            found[number] = gradients(compiled, batches[number])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for number in range(8):
        for ours, theirs, plain in zip(
            found[number], expected[number], gradients(model, batches[number]), strict=True
        ):
            assert np.array_equal(numbers(ours), numbers(theirs))
            close(ours, plain)


def test_explain_tells_of_the_gradient() -> None:
    compiled = wb.compile(lambda a: ((a * 2).exp() + 1).sin().sum())
    compiled(x(3, 4)).backward()
    forward, backward = wb.compiler.explain(compiled).programs
    assert (forward.half, backward.half) == ("forward", "backward")
    assert backward.saved == ("exp",) and backward.saved_bytes == 48 and backward.again == ("add",)
    text = str(wb.compiler.explain(compiled))
    assert "backward for 3x4: " in text and "reads 1 saved values, 48 bytes" in text
    assert "computes again: add" in text

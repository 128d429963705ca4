"""Steps of what is trained: each against the eager op, in values and gradients, and that it is the step that runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compiler.test_training import close
from workbench import kernels, nn

F = nn.functional
pytestmark = pytest.mark.skipif(not kernels.available(), reason="programs are made of compiled kernels")


def drawn(*sizes: int, last: bool = False) -> Any:
    one = wb.tensor(np.random.default_rng(sum(sizes)).standard_normal(sizes, dtype=np.float32))
    return one.contiguous(memory_format=wb.channels_last) if last else one


def judged(function: Callable[..., Any], *given: Any, steps: tuple[str, ...]) -> None:
    """Results and gradients of the compiled function are eager's, and these steps, by their first words, made them."""
    compiled = wb.compile(function)
    found = []
    for one in (function, compiled, compiled):
        leaves = [x.detach().requires_grad_() for x in given]
        y = one(*leaves)
        (y * (drawn(*y.shape) * 3).cos()).sum().backward()
        found.append([y, *[x.grad for x in leaves]])
    expected, *others = found
    for several in others:
        for ours, theirs in zip(several, expected, strict=True):
            close(ours, theirs)
    report = wb.compiler.explain(compiled)
    assert report.calls == {"compiled": 2}
    assert not [one.eager for one in report.programs if one.eager]
    named = [name for one in report.programs for name in one.steps]
    for step in steps:
        assert any(name.startswith(step) for name in named), (step, named)


CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "plain": ((2, 3, 9, 7), (5, 3, 3, 3), {}),
    "padded": ((2, 16, 8, 8), (32, 16, 3, 3), {"padding": 1}),
    "strides": ((3, 5, 11, 9), (7, 5, 3, 2), {"stride": (2, 3), "padding": (1, 0)}),
    "dilated": ((2, 8, 13, 12), (16, 8, 3, 3), {"dilation": 2, "padding": 2}),
    "points": ((2, 16, 5, 5), (24, 16, 1, 1), {}),
    "rest": ((1, 4, 6, 6), (8, 4, 3, 3), {"stride": 2}),
    # Windows of which the outer taps meet nothing but padding.
    "taps": ((2, 4, 1, 2), (8, 4, 3, 3), {"padding": 1}),
}


@pytest.mark.parametrize("last", [False, True], ids=["rows", "last"])
@pytest.mark.parametrize("name", list(CONVOLUTIONS))
def test_convolutions(name: str, last: bool) -> None:
    x, weight, params = CONVOLUTIONS[name]
    steps = ("convolution ", "convolution's input gradient", "convolution's weight gradient")
    judged(
        lambda a, w, b: F.conv2d(a, w, b, **params),
        drawn(*x, last=last),
        drawn(*weight),
        drawn(weight[0]),
        steps=steps,
    )
    judged(lambda a, w: F.conv2d(a, w, **params), drawn(*x, last=last), drawn(*weight), steps=steps)


def test_convolutions_hand_on_what_they_left() -> None:
    def both(a: Any, w: Any, v: Any) -> Any:
        return F.conv2d(F.conv2d(a, w, padding=1).relu(), v, padding=1).relu()

    judged(both, drawn(2, 16, 9, 9), drawn(32, 16, 3, 3), drawn(8, 32, 3, 3), steps=("convolution",))


@pytest.mark.parametrize("groups", [2, 16])
def test_groups(groups: int) -> None:
    # With few channels a group the eager kernels are faster: such a half is run op by op.
    compiled = wb.compile(lambda a, w: F.conv2d(a, w, groups=groups))
    a, w = drawn(2, 16, 6, 5).requires_grad_(), drawn(16, 16 // groups, 3, 3).requires_grad_()
    compiled(a, w).sum().backward()
    ours = a.grad, w.grad
    a.grad = w.grad = None
    F.conv2d(a, w, groups=groups).sum().backward()
    close(ours[0], a.grad)
    close(ours[1], w.grad)
    assert wb.compiler.explain(compiled).calls == {"compiled": 1}


def test_batch_norm_of_planes_of_one_place() -> None:
    # In blocks of channels, as a convolution leaves them, and row by row.
    def norm(a: Any, w: Any, g: Any, b: Any) -> Any:
        return F.batch_norm(F.conv2d(a, w, padding=1), None, None, g, b, training=True)

    for count in (5, 12):
        given = drawn(count, 32, 1, 1), drawn(48, 32, 3, 3), drawn(48), drawn(48)
        judged(norm, *given, steps=("batch norm own", "batch norm's gradient", "zeros"))


@pytest.mark.parametrize("last", [False, True], ids=["rows", "last"])
@pytest.mark.parametrize("sizes", [(4, 3, 5, 7), (3, 32, 4, 4), (9, 6), (5, 17, 1, 1)], ids=str)
def test_batch_norm(sizes: tuple[int, ...], last: bool) -> None:
    x = drawn(*sizes, last=last and len(sizes) == 4) * 3 + 2
    steps = ("batch norm own", "batch norm's gradient")
    judged(
        lambda a, w, b: F.batch_norm(a, None, None, w, b, training=True), x, drawn(sizes[1]), drawn(sizes[1]),
        steps=steps,
    )  # fmt: skip


def test_a_norm_or_a_layer_rectifies_at_once() -> None:
    """A relu that alone reads what such a step gives is done in it; NaN goes through, and what is read twice stays."""

    def rectified(a: Any, w: Any, b: Any, v: Any) -> Any:
        return F.linear(F.batch_norm(a, None, None, w, b, training=True).relu(), v).relu()

    def twice(a: Any, w: Any, b: Any, v: Any) -> Any:
        y = F.batch_norm(a, None, None, w, b, training=True)
        z = F.linear(y.relu() + y, v)
        return z.relu() + z

    x = drawn(9, 6)
    given = x, drawn(6), drawn(6), drawn(5, 6)
    for function, chains in ((rectified, 0), (twice, 2)):
        judged(function, *given, steps=("batch norm own", "product own"))
        compiled = wb.compile(function)
        compiled(x.detach().requires_grad_(), *given[1:]).sum().backward()
        forward = wb.compiler.explain(compiled).programs[0]
        assert sum(count for name, count in forward.steps.items() if name.startswith("chain")) == chains
    layer = wb.tensor([[np.nan, 1.0], [2.0, 3.0]])
    judged(lambda a, v: F.linear(a, v).relu(), layer, drawn(3, 2), steps=("product own",))


def test_running_statistics() -> None:
    layers = [nn.BatchNorm2d(5), nn.BatchNorm2d(5)]
    compiled = wb.compile(layers[1])
    for number in range(3):
        x = drawn(4, 5, 3, 6) * (number + 1) + number
        for one in (layers[0], compiled):
            one(x).sum().backward()
    for ours, theirs in zip(layers[1].buffers(), layers[0].buffers(), strict=True):
        close(ours, theirs)
    programs = wb.compiler.explain(compiled).programs
    assert not programs[0].eager and "running statistics own" in programs[0].steps


def test_batch_norm_out_of_range() -> None:
    # A channel whose variance is beyond float32, and one that does not deviate at all: as the op has it.
    x = drawn(4, 3, 5, 5).detach()
    x[:, 1] *= 1e25
    x[:, 2] = 1.0
    found = []
    for one in (nn.BatchNorm2d(3, eps=0.0), wb.compile(nn.BatchNorm2d(3, eps=0.0))):
        a = x.detach().requires_grad_()
        y = one(a)
        (y * y.detach()).sum().backward()
        found.append((y, a.grad))
    close(found[1][0], found[0][0])
    close(found[1][1], found[0][1])


POOLINGS: dict[str, dict[str, Any]] = {
    "tiles": {"kernel_size": 2},
    "overlapping": {"kernel_size": 3, "stride": 2, "padding": 1},
    "odd": {"kernel_size": (3, 2), "stride": (1, 3), "padding": (1, 0)},
    "dilated": {"kernel_size": 2, "stride": 1, "dilation": 3},
    "rest": {"kernel_size": 3, "stride": 3},
}


@pytest.mark.parametrize("last", [False, True], ids=["rows", "last"])
@pytest.mark.parametrize("sizes", [(2, 5, 9, 11), (2, 16, 8, 8), (1, 1, 7, 7)], ids=str)
@pytest.mark.parametrize("name", list(POOLINGS))
def test_max_pool(name: str, sizes: tuple[int, ...], last: bool) -> None:
    # Of what is equal the first is the largest.
    x = (drawn(*sizes, last=last) * 2).round()
    steps = ("largest of windows own", "largest of windows' gradient")
    judged(lambda a: F.max_pool2d(a, **POOLINGS[name]), x, steps=steps)


def test_max_pool_behind_a_convolution() -> None:
    # In blocks of channels, as oneDNN leaves them.
    steps = ("largest of windows own", "largest of windows' gradient")
    judged(
        lambda a, w: F.max_pool2d(F.conv2d(a, w).relu(), 3, 2, 1), drawn(2, 3, 12, 11), drawn(32, 3, 3, 3),
        steps=steps,
    )  # fmt: skip


@pytest.mark.parametrize("worst", [np.nan, -np.inf, np.inf], ids=str)
def test_max_pool_of_what_is_not_finite(worst: float) -> None:
    x = drawn(2, 3, 8, 8)
    x[0, 1, 2:5, 3:6] = worst
    judged(lambda a: F.max_pool2d(a, 3, 2, 1), x, steps=("largest of windows",))


def test_places_are_whole_numbers() -> None:
    def both(a: Any) -> Any:
        values, places = F.max_pool2d(a, 2, return_indices=True)
        return values, places

    compiled = wb.compile(both)
    for channels in (3, 16):
        a = drawn(2, channels, 6, 6).requires_grad_()
        (values, places), (expected, theirs) = compiled(a), both(a)
        close(values, expected)
        assert places.dtype == theirs.dtype and places.tolist() == theirs.tolist()
        values.sum().backward()
        ours, a.grad = a.grad, None
        expected.sum().backward()
        close(ours, a.grad)


AVERAGES: dict[str, dict[str, Any]] = {
    "tiles": {"kernel_size": 2},
    "padded": {"kernel_size": 3, "stride": 2, "padding": 1},
    "edges": {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False},
    "overlapping": {"kernel_size": (3, 2), "stride": 1},
    "rest": {"kernel_size": 2, "stride": 3},
    "plane": {"kernel_size": (7, 6)},
}


@pytest.mark.parametrize("last", [False, True], ids=["rows", "last"])
@pytest.mark.parametrize("sizes", [(2, 16, 7, 6), (1, 5, 9, 7)], ids=str)
@pytest.mark.parametrize("name", list(AVERAGES))
def test_average_pool(name: str, sizes: tuple[int, ...], last: bool) -> None:
    judged(
        lambda a: F.avg_pool2d(a, **AVERAGES[name]), drawn(*sizes, last=last),
        steps=("pooling", "averages' gradient own"),
    )  # fmt: skip


def test_average_pool_behind_a_convolution() -> None:
    # In blocks of channels, or channels last: whatever oneDNN leaves.
    judged(
        lambda a, w: F.avg_pool2d(F.conv2d(a, w).relu(), 3, 2, 1), drawn(2, 3, 12, 11), drawn(32, 3, 3, 3),
        steps=("pooling", "averages' gradient own"),
    )  # fmt: skip


@pytest.mark.parametrize("last", [False, True], ids=["rows", "last"])
@pytest.mark.parametrize("sizes", [(4, 5, 6, 8), (1, 16, 1, 1), (3, 32, 7, 5)], ids=str)
def test_global_average(sizes: tuple[int, ...], last: bool) -> None:
    x = drawn(*sizes, last=last)
    judged(lambda a: F.adaptive_avg_pool2d(a, 1).flatten(1), x, steps=("pooling", "averages' gradient own"))


def test_adaptive_average() -> None:
    steps = ("pooling", "averages' gradient own")
    judged(lambda a: F.adaptive_avg_pool2d(a, (2, 3)), drawn(2, 5, 6, 9), steps=steps)


@pytest.mark.parametrize("sizes", [(5, 7), (2, 3, 7), (1, 7), (7,)], ids=str)
def test_layers(sizes: tuple[int, ...]) -> None:
    judged(
        lambda a, w, b: F.linear(a, w, b),
        drawn(*sizes),
        drawn(4, 7),
        drawn(4),
        steps=("layer own", "product own"),
    )
    judged(lambda a, w: F.linear(a, w), drawn(*sizes), drawn(4, 7), steps=("product own",))


@pytest.mark.parametrize("turned", [False, True], ids=["rows", "turned"])
def test_products(turned: bool) -> None:
    def product(a: Any, b: Any) -> Any:
        return a @ (b.t() if turned else b)

    judged(product, drawn(6, 5), drawn(*((4, 5) if turned else (5, 4))), steps=("product own",))


@pytest.mark.parametrize("last", [False, True], ids=["rows", "last"])
@pytest.mark.parametrize("dim", [(0,), (1,), (0, 2, 3), (1, 3), (-1,), None], ids=str)
@pytest.mark.parametrize("keepdim", [False, True], ids=["less", "kept"])
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin"])
def test_reductions(name: str, keepdim: bool, dim: tuple[int, ...] | None, last: bool) -> None:
    def reduced(a: Any) -> Any:
        every = tuple(range(a.ndim)) if dim is None else dim
        return getattr((a * 2).exp(), name)(every, keepdim)

    compiled = wb.compile(reduced)
    for sizes in ((2, 3, 4, 5), (1, 16, 3, 2)):
        x = drawn(*sizes, last=last)
        ours, theirs = x.detach().requires_grad_(), x.detach().requires_grad_()
        a, b = compiled(ours), reduced(theirs)
        close(a, b)
        a.sum().backward()
        b.sum().backward()
        close(ours.grad, theirs.grad)
    assert any(f"{name} own" in one.steps for one in wb.compiler.explain(compiled).programs)


@pytest.mark.parametrize("dim", [(1, 3), (1,), (0, 2), (1, 2, 3), (2, 3), (0, 2, 3)], ids=str)
@pytest.mark.parametrize("name", ["sum", "amax"])
def test_reductions_behind_a_convolution(name: str, dim: tuple[int, ...]) -> None:
    # In blocks of channels, as oneDNN leaves them: one dim is two.
    def reduced(a: Any, w: Any) -> Any:
        return getattr(F.conv2d(a, w).relu(), name)(dim)

    compiled = wb.compile(reduced)
    a, w = drawn(2, 3, 12, 11), drawn(32, 3, 3, 3).requires_grad_()
    close(compiled(a, w), reduced(a, w))
    forward, *_ = wb.compiler.explain(compiled).programs
    assert f"{name} own" in forward.steps


def network() -> Any:
    wb.manual_seed(3)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(288, 5),
    )  # fmt: skip


@pytest.mark.parametrize("names", [(), ("N", "C", "H", "W")], ids=["plain", "named"])
def test_a_network_is_two_programs(names: tuple[str, ...]) -> None:
    """Values go from half to half as they lie; five steps of training are eager's."""
    models = [network(), network()]
    compiled = wb.compile(models[1])
    optimisers = [wb.optim.SGD(one.parameters(), lr=0.05, momentum=0.9) for one in models]
    x, targets = drawn(6, 1, 16, 16), wb.tensor([0, 1, 2, 3, 4, 0])
    x = x.rename(*names) if names else x
    for _ in range(5):
        losses = []
        for call, optimiser in zip((models[0], compiled), optimisers, strict=True):
            optimiser.zero_grad()
            losses.append(F.cross_entropy(call(x), targets))
            losses[-1].backward()
            optimiser.step()
        close(losses[1], losses[0], 1e-4)
    for ours, theirs in zip(models[1].state_dict().values(), models[0].state_dict().values(), strict=True):
        close(ours, theirs, 1e-3)
    forward, backward = wb.compiler.explain(compiled).programs
    assert not forward.eager and not backward.eager
    # Places stay in four bytes: they go from half to half as they lie.
    assert "widen" not in forward.steps and "narrow" not in backward.steps


def test_what_lies_as_it_does_is_turned_for_the_ops() -> None:
    """A gradient with NaN is run op by op where some step would hide it, and reads what was saved as arrays."""
    models = [network(), network()]
    compiled = wb.compile(models[1])
    x = drawn(6, 1, 16, 16)
    gradient = wb.ones(6, 5)
    gradient[2, 1] = np.nan
    for arriving in (wb.ones(6, 5), gradient):
        for call, model in ((models[0], models[0]), (compiled, models[1])):
            model.zero_grad()
            call(x).backward(arriving)
        for ours, theirs in zip(models[1].parameters(), models[0].parameters(), strict=True):
            close(ours.grad, theirs.grad, 1e-3)


def test_parts_of_the_results_read_what_lies() -> None:
    def both(a: Any, w: Any, v: Any) -> Any:
        y = F.max_pool2d(F.conv2d(a, w).relu(), 2)
        return y.sum((2, 3)), F.conv2d(y, v)

    given = drawn(2, 3, 10, 10), drawn(16, 3, 3, 3), drawn(4, 16, 2, 2)
    for which in (0, 1):
        found = []
        for one in (both, wb.compile(both)):
            leaves = [x.detach().requires_grad_() for x in given]
            one(*leaves)[which].sum().backward()
            found.append([x.grad for x in leaves])
        for ours, theirs in zip(found[1], found[0], strict=True):
            close(ours, theirs)


def test_numbers_that_are_not_finite_go_by_the_ops() -> None:
    x = drawn(6, 1, 16, 16)
    x[0, 0, 3, 3] = np.nan
    models = [network(), network()]
    for call in (models[0], wb.compile(models[1])):
        call(x).sum().backward()
    for ours, theirs in zip(models[1].parameters(), models[0].parameters(), strict=True):
        close(ours.grad, theirs.grad)

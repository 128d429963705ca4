"""Training graphs: forward, loss and gradients in training mode; seeds are inputs, buffers that change are updates.

Eager code and the graph agree to the bit: results, buffers, and where the default generator is afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.core.op import ops
from workbench.graph import Graph, GraphError, check, parse, passes, python_text, run, run_apart, text, trace
from workbench.graph.passes.differentiate import joined
from workbench.models import DigitsNet, LeNet


class Step(nn.Module):
    """A module, a loss of what it gives, and the gradients of its parameters."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: wb.Tensor) -> Any:
        y = self.model(x)
        loss = (y * y * 0.5 + y).mean()
        return loss, *wb.autograd.grad(loss, list(self.model.parameters()))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(8, 2, dropout=0.3)

    def forward(self, x: wb.Tensor) -> Any:
        return self.attend(x, x, x, need_weights=False)[0]


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.LSTM(8, 8, 2, dropout=0.3)

    def forward(self, x: wb.Tensor) -> Any:
        return self.layers(x)[0]


class Checkpointed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))

    def forward(self, x: wb.Tensor) -> Any:
        return wb.autograd.checkpoint.checkpoint(self.inner, x, use_reentrant=False)


MODELS: dict[str, tuple[Callable[[], Any], Any]] = {
    "dense": (
        lambda: nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2)),
        (16, 4),
    ),
    "plain mean of statistics": (lambda: nn.BatchNorm1d(4, momentum=None), (16, 4)),
    "statistics without a count": (lambda: nn.BatchNorm1d(4, track_running_stats=False), (16, 4)),
    "one layer twice": (lambda: (lambda one: nn.Sequential(one, nn.ReLU(), one))(nn.BatchNorm1d(4)), (16, 4)),
    "instances": (lambda: nn.InstanceNorm1d(4, affine=True, track_running_stats=True), (16, 4, 5)),
    "channels dropped": (
        lambda: nn.Sequential(nn.Conv2d(1, 3, 3), nn.Dropout2d(0.5), nn.AlphaDropout(0.2)), (4, 1, 6, 6)
    ),
    "slopes drawn": (lambda: nn.Sequential(nn.Linear(4, 4), nn.RReLU()), (16, 4)),
    "digits": (DigitsNet, (8, 1, 28, 28)),
    "attention": (Attention, (5, 3, 8)),
    "recurrent": (Recurrent, (5, 3, 8)),
    "transformer": (lambda: nn.TransformerEncoderLayer(8, 2, 16), (5, 3, 8)),
    "checkpointed": (Checkpointed, (16, 4)),
}  # fmt: skip


def made(name: str) -> tuple[Any, Any, Any]:
    """Two equal models, and an input."""
    make, sizes = MODELS[name]
    wb.manual_seed(0)
    first = Step(make())
    wb.manual_seed(0)
    return first, Step(make()), wb.randn(*sizes)


def same(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one.detach().numpy(), other.detach().numpy())


def held(graph: Graph) -> dict[str, Any]:
    return {value.name: tensor for value, tensor in graph.held().items()}


@pytest.mark.parametrize("name", MODELS)
def test_a_training_graph_is_eager_training_to_the_bit(name: str) -> None:
    eager, traced, x = made(name)
    before = {key: (one.detach().numpy().copy(), one._version) for key, one in traced.state_dict().items()}
    state = wb.get_rng_state()
    graph = check(trace(traced, x))
    assert wb.get_rng_state() == state
    for key, one in traced.state_dict().items():
        np.testing.assert_array_equal(one.detach().numpy(), before[key][0])
        assert one._version == before[key][1]
    wb.manual_seed(5)
    expected = [eager(x) for _ in range(3)]
    after = wb.get_rng_state()
    wb.manual_seed(5)
    found = [graph(x) for _ in range(3)]
    assert wb.get_rng_state() == after
    for one, other in zip(expected, found, strict=True):
        for a, b in zip(one, other, strict=True):
            same(a, b)
    for (key, one), (_, other) in zip(eager.named_buffers(), traced.named_buffers(), strict=True):
        same(one, other)
        # A run writes once into what several calls have changed.
        assert (one._version > before[key][1]) == (other._version > before[key][1]), key


@pytest.mark.parametrize("name", ["dense", "attention", "instances"])
def test_a_training_graph_is_printed_and_read_back(name: str) -> None:
    _, traced, x = made(name)
    graph = trace(traced, x)
    for write in (text, python_text):
        again = parse(write(graph), held(graph))
        assert text(again) == text(graph)
        wb.manual_seed(2)
        expected = run_apart(graph, x)
        wb.manual_seed(2)
        given = run_apart(again, x)
        for a, b in zip(expected[0], given[0], strict=True):
            same(a, b)
        assert list(expected[1]) == list(given[1])
        for key, one in expected[1].items():
            same(one, given[1][key])


def test_the_python_form_draws_and_updates() -> None:
    eager, traced, x = made("dense")
    graph = trace(traced, x)
    made_by: dict[str, Any] = {}
    exec(compile(python_text(graph), "graph", "exec"), made_by)
    wb.manual_seed(5)
    expected = eager(x)
    wb.manual_seed(5)
    for a, b in zip(expected, made_by["Step"](held(graph), held(graph), x), strict=True):
        same(a, b)
    for one, other in zip(eager.buffers(), traced.buffers(), strict=True):
        same(one, other)


def test_seeds_can_be_given_and_then_nothing_is_drawn() -> None:
    graph = trace(nn.Sequential(nn.Dropout(0.5), nn.Dropout(0.5)), wb.ones(100))
    assert [one.name for one in graph.seeds] == ["seed", "seed_1"]
    state = wb.get_rng_state()
    first, second = (run(graph, wb.ones(100), seeds={"seed": 3, "seed_1": 2**40}) for _ in range(2))
    assert wb.get_rng_state() == state
    same(first, second)
    assert not np.array_equal(
        first.numpy(), run(graph, wb.ones(100), seeds={"seed": 4, "seed_1": 2**40}).numpy()
    )
    with pytest.raises(GraphError, match=r"has the seeds \['seed', 'seed_1'\], and \['sed'\] were given"):
        run(graph, wb.ones(100), seeds={"sed": 1})


def test_what_is_drawn_for_a_constant_is_drawn_at_every_run() -> None:
    ones = wb.ones(100)
    graph = check(trace(lambda x: x + nn.functional.dropout(ones), wb.ones(100)))
    assert not np.array_equal(graph(ones).numpy(), graph(ones).numpy())


def test_running_apart_changes_nothing() -> None:
    layer = nn.BatchNorm1d(4)
    x = wb.randn(8, 4)
    graph = trace(layer, x)
    _, after = run_apart(graph, x)
    same(layer.running_mean, wb.zeros(4))
    layer(x)
    assert sorted(after) == ["num_batches_tracked", "running_mean", "running_var"]
    for name, numbers in after.items():
        same(numbers, getattr(layer, name))


class Averaging(nn.Module):
    """A buffer that a user's own ops change, is read again afterwards, and is changed twice."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("average", wb.zeros(3))
        self.weight = nn.Parameter(wb.ones(3))

    def forward(self, x: wb.Tensor) -> wb.Tensor:
        with wb.no_grad():
            self.average.mul_(0.5).add_(x.mean(0))
            self.average.clamp_(max=2.0)
        return (x - self.average) * self.weight


def test_buffers_that_ones_own_ops_change_are_updates() -> None:
    eager, traced = Averaging(), Averaging()
    graph = check(trace(traced, wb.ones(2, 3)))
    assert [one.name for one in graph.updates] == ["average"]
    for _ in range(3):
        x = wb.randn(4, 3)
        same(graph(x), eager(x))
        same(traced.average, eager.average)


def test_a_step_of_an_optimizer_is_a_graph() -> None:
    class Descent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 1)

        def forward(self, x: wb.Tensor, y: wb.Tensor) -> wb.Tensor:
            loss = nn.functional.mse_loss(self.layer(x), y)
            own = list(self.layer.parameters())
            slopes = wb.autograd.grad(loss, own)
            with wb.no_grad():
                for one, slope in zip(own, slopes, strict=True):
                    one.sub_(slope * 0.1)
            return loss

    wb.manual_seed(1)
    eager = Descent()
    wb.manual_seed(1)
    traced = Descent()
    x, y = wb.randn(8, 3), wb.randn(8, 1)
    graph = check(trace(traced, x, y))
    for _ in range(3):
        same(graph(x, y), eager(x, y))
    for one, other in zip(eager.parameters(), traced.parameters(), strict=True):
        same(one, other)
        assert other.requires_grad
        assert other.is_leaf


def test_passes_keep_seeds_and_updates() -> None:
    eager, traced, x = made("dense")
    steps = passes.run_passes(
        trace(traced, x), [passes.constant_fold, passes.common_subexpressions, passes.dead_code]
    )
    final = steps[-1].after
    assert len(final.seeds) == 1
    assert len(final.updates) == 3
    wb.manual_seed(5)
    expected = eager(x)
    wb.manual_seed(5)
    for a, b in zip(expected, final(x), strict=True):
        same(a, b)
    for one, other in zip(eager.buffers(), traced.buffers(), strict=True):
        same(one, other)


def test_a_seed_that_nothing_reads_is_drawn_all_the_same() -> None:
    graph = trace(lambda x: (nn.functional.dropout(x), nn.functional.dropout(x))[1], wb.ones(50))
    cleared = passes.dead_code(graph)
    assert len(cleared.nodes) == 1
    wb.manual_seed(4)
    expected = graph(wb.ones(50))
    wb.manual_seed(4)
    same(cleared(wb.ones(50)), expected)


def test_folding_leaves_what_a_run_changes() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", wb.zeros(()))

        def forward(self, x: wb.Tensor) -> wb.Tensor:
            self.count.add_(1)
            return x * self.count

    graph = passes.constant_fold(trace(Counting(), wb.ones(1)))
    assert [graph(wb.ones(1)).item() for _ in range(3)] == [1.0, 2.0, 3.0]


def test_a_trace_that_fails_leaves_the_module_alone() -> None:
    class Failing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", wb.zeros(()))

        def forward(self, x: wb.Tensor) -> wb.Tensor:
            self.count.add_(x.sum())
            return x if x.sum() > 0 else -x

    model = Failing()
    with pytest.raises(wb.NoNumbersError):
        trace(model, wb.ones(2))
    assert model.count.item() == 0.0
    assert model.count._version == 0


def test_a_view_of_a_buffer_is_not_changed_while_tracing() -> None:
    class Viewing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("rows", wb.zeros(2, 2))

        def forward(self, x: wb.Tensor) -> wb.Tensor:
            self.rows[0].add_(x)
            return x * 2

    model = Viewing()
    with pytest.raises(wb.NoNumbersError, match="instead of changing a view in place"):
        trace(model, wb.ones(2))
    same(model.rows, wb.zeros(2, 2))


def test_the_op_of_running_statistics_moves_what_the_layer_moves() -> None:
    layer, x = nn.BatchNorm1d(3), wb.randn(6, 3)
    mean, var = layer.running_mean, layer.running_var
    _, batch_mean, rstd = ops.batch_norm(x, wb.ones(3), wb.zeros(3), eps=layer.eps)
    settings = {"count": 6, "eps": layer.eps, "momentum": 0.1, "by_sample": False}
    after = ops.running_statistics(mean, var, batch_mean, rstd, **settings)
    layer(x)
    same(after[0], layer.running_mean)
    same(after[1], layer.running_var)


def test_what_is_differentiated_twice_drops_the_same_in_every_part() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attend = Attention()

        def forward(self, x: wb.Tensor) -> Any:
            own = list(self.attend.parameters())
            slopes = wb.autograd.grad((self.attend(x) ** 2).mean(), own, create_graph=True)
            return wb.autograd.grad(sum((one * one).sum() for one in slopes), own[:1])

    wb.manual_seed(0)
    eager = Twice()
    wb.manual_seed(0)
    traced = Twice()
    x = wb.randn(4, 3, 8)
    graph = check(trace(traced, x))
    for seed in (1, 2):
        wb.manual_seed(seed)
        expected = eager(x)
        wb.manual_seed(seed)
        for a, b in zip(expected, graph(x), strict=True):
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-7)


def test_what_is_detached_asks_for_nothing_where_a_graph_runs() -> None:
    graph = trace(lambda x: (x.exp(), x.detach() * 2), wb.ones(3))
    kept, cut = run(graph, wb.ones(3).requires_grad_())
    assert kept.requires_grad and not cut.requires_grad
    found = joined(graph, ["x"])
    assert found.asks == (True, False) and len(found.graph.inputs) == 3
    with pytest.raises(GraphError, match="nothing that g gives has gradients: it is detached"):
        passes.differentiate(parse("g(%x : f32[·:3]):\n  %y : f32[·:3] = detach(%x)\n  return %y", {}), ["x"])


def test_the_gradient_of_a_layer_stands_in_the_scope_of_that_layer() -> None:
    graph = passes.differentiate(trace(LeNet(), wb.rand(N=2, C=1, H=28, W=28)))
    there = {node.scope for node in graph.nodes}
    layers = {("conv1",), ("conv2",), ("fc1",), ("fc2",), ("fc3",), ("relu",), ("pool",)}
    assert layers <= there and {("gradients", *layer) for layer in layers} <= there
    of_convolutions = [node.scope for node in graph.nodes if "conv2d_weight_gradient" in node.name]
    assert of_convolutions == [("gradients", "conv2"), ("gradients", "conv1")]
    lines = {node.scope[1:]: node.source for node in graph.nodes if node.scope[:1] == ("gradients",)}
    assert lines["conv1",] == next(node.source for node in graph.nodes if node.scope == ("conv1",))

"""Steps of what is trained on sequences and classes: eager's values, gradients and draws, and that the steps run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compiler.test_training import close
from tests.compiler.test_training_steps import drawn
from workbench import kernels, nn

F = nn.functional
pytestmark = pytest.mark.skipif(not kernels.available(), reason="programs are made of compiled kernels")


def judged(function: Callable[..., Any], *given: Any, steps: tuple[str, ...], bound: float = 1e-5) -> None:
    """Results, gradients and draws of the compiled function are eager's, and these steps made them, and no ops."""
    compiled = wb.compile(function)
    found = []
    for one in (function, compiled, compiled):
        leaves = [x.detach().requires_grad_() if x.dtype.is_floating_point else x for x in given]
        wb.manual_seed(7)
        y = one(*leaves)
        (y * (drawn(*y.shape) * 3).cos()).sum().backward()
        found.append(([y, *[x.grad for x in leaves]], wb.rand(1).item()))
    (expected, after), *others = found
    for several, ours_after in others:
        for ours, theirs in zip(several, expected, strict=True):
            close(ours, theirs, bound)
        assert ours_after == after
    for ours, again in zip(others[0][0], others[1][0], strict=True):
        assert ours is again or np.array_equal(ours.detach().numpy(), again.detach().numpy(), equal_nan=True)
    report = wb.compiler.explain(compiled)
    assert report.calls == {"compiled": 2}
    assert not [one.eager for one in report.programs if one.eager]
    named = [name for one in report.programs for name in one.steps]
    for step in steps:
        assert any(name.startswith(step) for name in named), (step, named)


NORMS: dict[str, tuple[tuple[int, ...], int]] = {
    "rows": ((6, 9), 1), "sequences": ((3, 5, 64), 1), "two dims": ((4, 3, 7), 2), "one row": ((1, 300), 1),
    "many": ((700, 33), 1),
}  # fmt: skip


@pytest.mark.parametrize("factors", ["both", "weight", "none"])
@pytest.mark.parametrize("name", list(NORMS))
def test_layer_norm(name: str, factors: str) -> None:
    sizes, count = NORMS[name]
    last = sizes[len(sizes) - count :]
    steps = ("layer norm kept own", "layer norm's gradient own")
    x = drawn(*sizes) * 2 + 1
    if factors == "both":
        judged(lambda a, w, b: F.layer_norm(a, last, w, b), x, drawn(*last), drawn(*last) + 1, steps=steps)
    elif factors == "weight":
        judged(lambda a, w: F.layer_norm(a, last, w), x, drawn(*last), steps=steps)
    else:
        judged(lambda a: F.layer_norm(a, last), x, steps=steps)


def test_layer_norm_out_of_range() -> None:
    x = drawn(5, 8)
    x[2] *= 1e25
    judged(lambda a: F.layer_norm(a, (8,)), x, steps=("layer norm kept own",))


ATTENTIONS: dict[str, dict[str, Any]] = {
    "plain": {}, "causal": {"is_causal": True}, "dropped": {"dropout_p": 0.3}, "scaled": {"scale": 0.7},
    "causal and dropped": {"is_causal": True, "dropout_p": 0.2},
}  # fmt: skip


@pytest.mark.parametrize("turned", [False, True], ids=["heads first", "heads beside"])
@pytest.mark.parametrize("name", list(ATTENTIONS))
def test_attention(name: str, turned: bool) -> None:
    def attend(q: Any, k: Any, v: Any) -> Any:
        several = (one.transpose(1, 2) if turned else one for one in (q, k, v))
        return F.scaled_dot_product_attention(*several, **ATTENTIONS[name])

    steps = ("attention kept own", "attention's gradient own")
    for lengths in ((5, 5), (4, 9), (300, 300)):
        queries, keys = ((2, n, 3, 16) if turned else (2, 3, n, 16) for n in lengths)
        judged(attend, drawn(*queries), drawn(*keys), drawn(*keys) * 2, steps=steps)


@pytest.mark.parametrize("sizes", [(4, 6), (2, 1, 4, 6), (1, 3, 1, 6)], ids=str)
@pytest.mark.parametrize("dropped", [0.0, 0.25])
def test_attention_with_a_mask(sizes: tuple[int, ...], dropped: float) -> None:
    mask = drawn(*sizes)
    mask[..., 0, 2] = -np.inf
    judged(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, mask, dropped),
        drawn(2, 3, 4, 8), drawn(2, 3, 6, 8), drawn(2, 3, 6, 5), steps=("attention kept own",),
    )  # fmt: skip


DROPPED: dict[str, tuple[Callable[[Any], Any], tuple[int, ...], str]] = {
    "values": (lambda a: F.dropout(a, 0.4), (7, 130), "dropout own"),
    "in a chain": (lambda a: F.dropout((a * 2).relu(), 0.1) + a, (3, 5, 67), "chain"),
    "twice": (lambda a: F.dropout(F.dropout(a, 0.5).tanh(), 0.3), (2, 300), "chain"),
    "all": (lambda a: F.dropout(a, 1.0) + a, (4, 5), "chain"),
    "rows added": (lambda a: F.dropout(a + a[0], 0.2), (40, 50), "chain"),
    "turned": (lambda a: F.dropout(a.t().exp(), 0.5).t() * 2, (33, 9), "chain"),
    "channels": (lambda a: F.dropout2d(a, 0.5), (4, 6, 3, 3), "dropout own"),
    "to the floor": (lambda a: F.alpha_dropout(a, 0.3, True), (50, 4), "dropout own"),
    "one value": (lambda a: F.dropout(a.sum(), 0.1) * a, (3,), ""),
}


@pytest.mark.parametrize("name", list(DROPPED))
def test_dropout(name: str) -> None:
    function, sizes, step = DROPPED[name]
    judged(function, drawn(*sizes), steps=(step,))


def test_dropout_by_several_threads() -> None:
    before = wb.get_num_threads()
    try:
        for count in (1, 3):
            wb.set_num_threads(count)
            judged(lambda a: F.dropout((a * 3).relu(), 0.3) + a, drawn(400, 501), steps=("chain",))
    finally:
        wb.set_num_threads(before)


@pytest.mark.parametrize("sizes", [(5, 7), (2, 3, 40), (4, 5, 2, 3)], ids=str)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name: str, sizes: tuple[int, ...]) -> None:
    for dim in (-1, 1, 0):
        step = "softmax's gradient" if name == "softmax" else "log softmax's gradient"
        judged(lambda a, dim=dim: getattr(F, name)(a * 3, dim), drawn(*sizes), steps=(step,))  # type: ignore[misc]


LOSSES: dict[str, dict[str, Any]] = {
    "mean": {}, "sum": {"reduction": "sum"}, "each": {"reduction": "none"}, "ignored": {"ignore_index": 1},
    "smooth": {"label_smoothing": 0.1},
}  # fmt: skip


@pytest.mark.parametrize("sizes", [(6, 4), (3, 5, 7)], ids=str)
@pytest.mark.parametrize("name", list(LOSSES))
def test_cross_entropy(name: str, sizes: tuple[int, ...]) -> None:
    target = wb.tensor(np.random.default_rng(0).integers(0, sizes[1], (sizes[0], *sizes[2:])))
    steps = ("cross entropy own", "cross entropy's gradient own")
    judged(lambda a, t: F.cross_entropy(a, t, **LOSSES[name]), drawn(*sizes), target, steps=steps)
    if "label_smoothing" in LOSSES[name]:
        return
    steps = ("likelihood own", "likelihood's gradient own")
    judged(
        lambda a, t: F.nll_loss(F.log_softmax(a, 1), t, **LOSSES[name]), drawn(*sizes), target, steps=steps
    )
    weight = drawn(sizes[1]).abs()
    judged(lambda a, t: F.nll_loss(a, t, weight, **LOSSES[name]), drawn(*sizes), target, steps=steps)


def test_a_class_that_there_is_not_is_refused_in_the_words_of_the_op() -> None:
    compiled = wb.compile(lambda a, t: F.cross_entropy(a, t))
    x = drawn(3, 4).requires_grad_()
    compiled(x, wb.tensor([0, 1, 2])).backward()
    with pytest.raises(IndexError, match="Target 4 is out of bounds"):
        compiled(x, wb.tensor([0, 4, 2]))


@pytest.mark.parametrize("sizes", [(5,), (3, 4), (400, 9)], ids=str)
def test_embeddings(sizes: tuple[int, ...]) -> None:
    words = wb.tensor(np.random.default_rng(1).integers(0, 11, sizes))
    steps = ("rows of a table", "rows added to a table")
    judged(lambda i, w: F.embedding(i, w).tanh() * 2, words, drawn(11, 33), steps=steps)


def test_a_word_that_there_is_not_is_refused_in_the_words_of_the_op() -> None:
    compiled = wb.compile(lambda i, w: F.embedding(i, w) * 2)
    table = drawn(4, 3).requires_grad_()
    compiled(wb.tensor([0, 3]), table).sum().backward()
    for wrong in (4, -1):
        with pytest.raises(IndexError, match="index out of range in self"):
            compiled(wb.tensor([0, wrong]), table)


PARTS: dict[str, Callable[[Any], Any]] = {
    "slices": lambda a: a[1:3] * 2 + a[:2],
    "of the last": lambda a: (a[..., :2] * a[..., -2:]).exp(),
    "one": lambda a: a[:, 0].tanh() * 3,
    "new dims": lambda a: (a[None, :, 1:] * 2).sum(0),
    "several": lambda a: a[1:, 0, 1:3] * 2,
}


@pytest.mark.parametrize("name", list(PARTS))
def test_parts(name: str) -> None:
    judged(lambda a: PARTS[name](a * 1.5), drawn(4, 3, 5), steps=("chain", "place"))


@pytest.mark.parametrize("sizes", [(96, 1024, 40), (7, 2048, 3), (5, 1024, 1024)], ids=str)
def test_layers_that_widen(sizes: tuple[int, ...]) -> None:
    """The gradient of their weight is computed as that of the transposes."""
    rows, wide, inner = sizes
    judged(lambda a, w: F.linear(a, w), drawn(rows, inner), drawn(wide, inner), steps=("product own",))


def encoder(dropped: float = 0.1, **settings: Any) -> Any:
    wb.manual_seed(3)
    settings = {"batch_first": True, **settings}
    layer = nn.TransformerEncoderLayer(32, 4, 48, dropout=dropped, **settings)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


ENCODERS: dict[str, dict[str, Any]] = {
    "relu": {}, "gelu": {"activation": "gelu"}, "norms first": {"norm_first": True},
    "nothing dropped": {"dropped": 0.0}, "time first": {"batch_first": False}, "without biases": {"bias": False},
}  # fmt: skip


@pytest.mark.parametrize("masked", [False, True], ids=["all", "masked"])
@pytest.mark.parametrize("name", list(ENCODERS))
def test_an_encoder_is_two_programs(name: str, masked: bool) -> None:
    """Four steps of training are eager's, and so is the generator behind them."""
    models = [encoder(**ENCODERS[name]) for _ in range(2)]
    compiled = wb.compile(models[1])
    given: dict[str, Any] = {}
    if masked:
        hidden = wb.zeros(3, 6, dtype=wb.bool)
        hidden[1, 4:] = True
        look = wb.zeros(6, 6)
        look[0, 1:] = -np.inf
        given = {"mask": look, "src_key_padding_mask": hidden if name != "time first" else None}
    x = drawn(3, 6, 32).transpose(0, 1).contiguous() if name == "time first" else drawn(3, 6, 32)
    ends = []
    for call, model in ((models[0], models[0]), (compiled, models[1])):
        optimiser = wb.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
        wb.manual_seed(5)
        for _ in range(4):
            optimiser.zero_grad()
            y = call(x, **given)
            (y * y).mean().backward()
            optimiser.step()
        ends.append((y, wb.rand(1).item()))
    close(ends[1][0], ends[0][0], 1e-4)
    assert ends[0][1] == ends[1][1]
    for ours, theirs in zip(models[1].parameters(), models[0].parameters(), strict=True):
        close(ours, theirs, 1e-3)
    report = wb.compiler.explain(compiled)
    assert report.calls == {"compiled": 4}
    assert not [one.eager for one in report.programs if one.eager]


def test_first_gradients_of_an_encoder() -> None:
    models = [encoder(), encoder()]
    x = drawn(5, 7, 32)
    for call in (models[0], wb.compile(models[1])):
        wb.manual_seed(5)
        (call(x) * drawn(5, 7, 32)).sum().backward()
    for ours, theirs in zip(models[1].parameters(), models[0].parameters(), strict=True):
        close(ours.grad, theirs.grad)


@pytest.mark.parametrize("worst", [np.nan, np.inf], ids=str)
def test_numbers_that_are_not_finite(worst: float) -> None:
    models = [encoder(), encoder()]
    x = drawn(3, 6, 32)
    x[1, 2, 3] = worst
    for call in (models[0], wb.compile(models[1])):
        wb.manual_seed(5)
        call(x).sum().backward()
    for ours, theirs in zip(models[1].parameters(), models[0].parameters(), strict=True):
        close(ours.grad, theirs.grad)


def test_gradients_that_are_not_finite() -> None:
    models = [encoder(), encoder()]
    x, gradient = drawn(3, 6, 32), wb.ones(3, 6, 32)
    gradient[0, 1, 2], gradient[2, 0, 0] = np.inf, np.nan
    for call in (models[0], wb.compile(models[1])):
        wb.manual_seed(5)
        call(x).backward(gradient)
    for ours, theirs in zip(models[1].parameters(), models[0].parameters(), strict=True):
        close(ours.grad, theirs.grad)


def test_eight_threads_train_one_encoder() -> None:
    """Each gets what one alone gets: nothing of a run is seen by another."""
    compiled = wb.compile(encoder(dropped=0.0))
    inputs = [drawn(2, 4 + i % 3, 32) + i for i in range(8)]
    alone = []
    for x in inputs:
        given = x.detach().requires_grad_()
        compiled(given).square().sum().backward()
        alone.append(given.grad.numpy().copy())
    found: list[Any] = [None] * 8

    def work(i: int) -> None:
        given = inputs[i].detach().requires_grad_()
        for _ in range(5):
            (found[i],) = wb.autograd.grad(compiled(given).square().sum(), [given])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for ours, theirs in zip(found, alone, strict=True):
        assert np.array_equal(ours.numpy(), theirs)

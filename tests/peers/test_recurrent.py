"""Recurrent layers, cells and packed sequences against torch: outputs, last states, gradients, state keys, refusals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")

theirs_rnn: Any = torch.nn.utils.rnn
ours_rnn: Any = wb.nn.utils.rnn


def floats(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def pair(name: str, *arguments: Any, **options: Any) -> tuple[Any, Any]:
    """A module of ours and one of torch's, with the same parameters."""
    torch.manual_seed(0)
    other = getattr(torch.nn, name)(*arguments, **options)
    mine = getattr(wb.nn, name)(*arguments, **options)
    assert list(mine.state_dict()) == list(other.state_dict())
    mine.load_state_dict({key: value.numpy() for key, value in other.state_dict().items()})
    return mine, other


def flat(value: Any) -> list[Any]:
    if hasattr(value, "batch_sizes"):
        return [value.data]
    return [one for part in value for one in flat(part)] if isinstance(value, tuple) else [value]


def agree(got: Any, expected: Any, mine: list[Any], theirs: list[Any]) -> None:
    total: Any = 0
    other: Any = 0
    for one, reference in zip(flat(got), flat(expected), strict=True):
        assert tuple(one.shape) == tuple(reference.shape)
        np.testing.assert_allclose(one.detach().numpy(), reference.detach().numpy(), rtol=1e-4, atol=1e-5)
        weight = floats(*reference.shape, seed=9)
        total = total + (one.rename(None) * wb.tensor(weight)).sum()
        other = other + (reference * torch.tensor(weight)).sum()
    found = wb.autograd.grad(total, mine, allow_unused=True)
    wanted = torch.autograd.grad(other, theirs, allow_unused=True)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-3, atol=2e-5)


LAYERS = [
    ("RNN", {}),
    ("RNN", {"nonlinearity": "relu"}),
    ("LSTM", {}),
    ("LSTM", {"proj_size": 3}),
    ("GRU", {}),
]
SETTINGS = [
    dict(zip(("num_layers", "bidirectional", "batch_first", "bias"), values, strict=True))
    for values in itertools.product((1, 2), (False, True), (False, True), (False, True))
]


def states(name: str, options: dict[str, Any], batch: int | None, layers: int, width: int) -> list[Any]:
    sizes = (layers,) if batch is None else (layers, batch)
    found = [floats(*sizes, options.get("proj_size", width), seed=3)]
    return [*found, floats(*sizes, width, seed=4)] if name == "LSTM" else found


@pytest.mark.parametrize("case", range(len(SETTINGS)))
@pytest.mark.parametrize(("name", "options"), LAYERS, ids=[f"{n}{''.join(o)}" for n, o in LAYERS])
@pytest.mark.parametrize("given", [False, True])
def test_layers(name: str, options: dict[str, Any], case: int, given: bool) -> None:
    settings = SETTINGS[case] | options
    mine, other = pair(name, 4, 5, **settings)
    layers = settings["num_layers"] * (2 if settings["bidirectional"] else 1)
    x = floats(3, 2, 4)
    hidden = states(name, options, 3 if settings["batch_first"] else 2, layers, 5) if given else []
    run(mine, other, x, hidden)


def run(mine: Any, other: Any, x: Any, hidden: list[Any]) -> None:
    leaves, their_leaves = (
        [make(one, requires_grad=True) for one in (x, *hidden)] for make in (wb.tensor, torch.tensor)
    )

    def call(module: Any, values: list[Any]) -> Any:
        first = values[1:]
        return module(values[0], *([tuple(first) if len(first) == 2 else first[0]] if first else []))

    agree(
        call(mine, leaves), call(other, their_leaves),
        [*leaves, *mine.parameters()], [*their_leaves, *other.parameters()],
    )  # fmt: skip


@pytest.mark.parametrize(("name", "options"), LAYERS, ids=[f"{n}{''.join(o)}" for n, o in LAYERS])
def test_sequences_without_a_batch(name: str, options: dict[str, Any]) -> None:
    mine, other = pair(name, 4, 5, bidirectional=True, **options)
    run(mine, other, floats(3, 4), states(name, options, None, 2, 5))


@pytest.mark.parametrize("shape", [(40, 16, 24), (17, 33, 24)])
@pytest.mark.parametrize(("name", "options"), LAYERS, ids=[f"{n}{''.join(o)}" for n, o in LAYERS])
def test_layers_of_a_size_worth_a_kernel(
    name: str, options: dict[str, Any], shape: tuple[int, int, int]
) -> None:
    mine, other = pair(name, 24, 40, num_layers=2, bidirectional=True, **options)
    run(mine, other, floats(*shape), states(name, options, shape[1], 4, 40))


@pytest.mark.parametrize("width", [5, 40])
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(("name", "options"), LAYERS, ids=[f"{n}{''.join(o)}" for n, o in LAYERS])
def test_packed_sequences(name: str, options: dict[str, Any], ordered: bool, given: bool, width: int) -> None:
    mine, other = pair(name, 4, width, num_layers=2, bidirectional=True, **options)
    lengths = [6, 4, 4, 1] if ordered else [4, 1, 6, 4]
    x = floats(6, 4, 4)
    leaves = [wb.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)]
    hidden = states(name, options, 4, 4, width) if given else []

    def call(module: Any, rnn: Any, make: Any, value: Any) -> Any:
        packed = rnn.pack_padded_sequence(value, lengths, enforce_sorted=ordered)
        first = [make(one) for one in hidden]
        output, last = module(packed, *([tuple(first) if len(first) == 2 else first[0]] if first else []))
        padded, found = rnn.pad_packed_sequence(output, padding_value=0.5, total_length=7)
        assert found.tolist() == lengths
        return padded, last

    agree(
        call(mine, ours_rnn, wb.tensor, leaves[0]), call(other, theirs_rnn, torch.tensor, leaves[1]),
        [leaves[0], *mine.parameters()], [leaves[1], *other.parameters()],
    )  # fmt: skip


@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize(
    ("name", "options"),
    [("RNNCell", {}), ("RNNCell", {"nonlinearity": "relu"}), ("LSTMCell", {}), ("GRUCell", {})],
)
def test_cells(name: str, options: dict[str, Any], given: bool, bias: bool, batched: bool) -> None:
    mine, other = pair(name, 4, 5, bias=bias, **options)
    lead = (3,) if batched else ()
    hidden = [floats(*lead, 5, seed=k) for k in range(2 if name == "LSTMCell" else 1)] if given else []
    run(mine, other, floats(*lead, 4), hidden)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_gradients_of_gradients(name: str) -> None:
    torch.manual_seed(0)
    other = getattr(torch.nn, name)(3, 4, bidirectional=True).double()
    mine = getattr(wb.nn, name)(3, 4, bidirectional=True).double()
    mine.load_state_dict({key: value.numpy() for key, value in other.state_dict().items()})
    x = floats(3, 2, 3).astype(np.float64)
    a, b = wb.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    weights, their_weights = list(mine.parameters()), list(other.parameters())
    first = wb.autograd.grad((mine(a)[0] ** 2).sum(), [a, *weights], create_graph=True)
    wanted = torch.autograd.grad((other(b)[0] ** 2).sum(), [b, *their_weights], create_graph=True)
    second = wb.autograd.grad(sum((one**2).sum() for one in first), [a, *weights])
    expected = torch.autograd.grad(sum((one**2).sum() for one in wanted), [b, *their_weights])
    for one, reference in zip(second, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), reference.numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding(batch_first: bool, side: str) -> None:
    arrays = [floats(length, 2, seed=length) for length in (3, 5, 1)]
    got = ours_rnn.pad_sequence([wb.tensor(one) for one in arrays], batch_first, 0.5, side)
    expected = theirs_rnn.pad_sequence([torch.tensor(one) for one in arrays], batch_first, 0.5, side)
    np.testing.assert_array_equal(got.numpy(), expected.numpy())
    if side == "right":
        parts = ours_rnn.unpad_sequence(got, wb.tensor([3, 5, 1]), batch_first)
        for part, one in zip(parts, arrays, strict=True):
            np.testing.assert_array_equal(part.numpy(), one)


def test_packing_packs_as_torch_does() -> None:
    arrays = [floats(length, 2, seed=length) for length in (3, 5, 5, 1)]
    got = ours_rnn.pack_sequence([wb.tensor(one) for one in arrays], enforce_sorted=False)
    expected = theirs_rnn.pack_sequence([torch.tensor(one) for one in arrays], enforce_sorted=False)
    for one, reference in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one.numpy(), reference.numpy())
    for part, one in zip(ours_rnn.unpack_sequence(got), arrays, strict=True):
        np.testing.assert_array_equal(part.numpy(), one)
    assert ours_rnn.invert_permutation(None) is None
    permutation = ours_rnn.invert_permutation(wb.tensor([2, 0, 1]))
    assert permutation.tolist() == theirs_rnn.invert_permutation(torch.tensor([2, 0, 1])).tolist()


REFUSED: list[tuple[str, Any]] = [
    ("input of four dims", lambda t, nn: nn.LSTM(3, 4)(t.zeros(1, 2, 3, 3))),
    ("another width", lambda t, nn: nn.LSTM(3, 4)(t.zeros(2, 2, 4))),
    ("state of another batch", lambda t, nn: nn.GRU(3, 4)(t.zeros(2, 2, 3), t.zeros(1, 3, 4))),
    ("state of two dims", lambda t, nn: nn.GRU(3, 4)(t.zeros(2, 2, 3), t.zeros(2, 4))),
    ("state of three dims", lambda t, nn: nn.GRU(3, 4)(t.zeros(2, 3), t.zeros(1, 2, 4))),
    ("no steps", lambda t, nn: nn.RNN(3, 4)(t.zeros(0, 2, 3))),
    ("float64", lambda t, nn: nn.RNN(3, 4)(t.zeros(2, 2, 3).double())),
    ("nonlinearity", lambda t, nn: nn.RNN(3, 4, nonlinearity="selu")),
    ("proj_size", lambda t, nn: nn.GRU(3, 4, proj_size=2)),
    ("large proj_size", lambda t, nn: nn.LSTM(3, 4, proj_size=4)),
    ("dropout", lambda t, nn: nn.LSTM(3, 4, dropout=1.5)),
    ("bias", lambda t, nn: nn.LSTM(3, 4, bias=1)),
    ("hidden size", lambda t, nn: nn.LSTM(3, 0)),
    ("mode", lambda t, nn: nn.RNNBase("ELMAN", 3, 4)),
    ("cell of three dims", lambda t, nn: nn.LSTMCell(3, 4)(t.zeros(2, 2, 3))),
    ("cell of another width", lambda t, nn: nn.GRUCell(3, 4)(t.zeros(2, 4))),
    ("cell's state", lambda t, nn: nn.RNNCell(3, 4)(t.zeros(2, 3), t.zeros(2, 5))),
    ("cell's nonlinearity", lambda t, nn: nn.RNNCell(3, 4, nonlinearity="selu")(t.zeros(2, 3))),
    ("lengths", lambda t, nn: nn.utils.rnn.pack_padded_sequence(t.zeros(3, 2, 1), [3])),
    ("length 0", lambda t, nn: nn.utils.rnn.pack_padded_sequence(t.zeros(3, 2, 1), [3, 0])),
    ("order", lambda t, nn: nn.utils.rnn.pack_padded_sequence(t.zeros(3, 2, 1), [2, 3])),
    ("side", lambda t, nn: nn.utils.rnn.pad_sequence([t.zeros(3)], padding_side="up")),
    ("no sequences", lambda t, nn: nn.utils.rnn.pad_sequence(3)),
]


@pytest.mark.parametrize(("what", "call"), REFUSED, ids=[what for what, _ in REFUSED])
def test_what_torch_refuses_is_refused_with_its_class(what: str, call: Any) -> None:
    with pytest.raises(Exception) as theirs:
        call(torch, torch.nn)
    with pytest.raises(type(theirs.value)):
        call(wb, wb.nn)

"""Recurrent layers and cells as functions of their weights, against PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch")


def _pair(*shape: int) -> tuple[wb.Tensor, Any]:
    array = np.random.default_rng(sum(shape)).standard_normal(shape)
    return wb.tensor(array), torch.from_numpy(array.copy())


def _both(values: Any) -> tuple[list[Any], list[Any]]:
    return [one for one, _ in values], [one for _, one in values]


def _equal(found: Any, expected: Any) -> None:
    found, expected = (one if isinstance(one, tuple) else (one,) for one in (found, expected))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-9, atol=1e-12)


GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def _weights(word: str, layers: int, directions: int, biases: bool) -> tuple[list[Any], list[Any]]:
    rows = GATES[word] * 5
    made = []
    for layer in range(layers):
        for _ in range(directions):
            made += [_pair(rows, 3 if layer == 0 else 5 * directions), _pair(rows, 5)]
            made += [_pair(rows), _pair(rows)] if biases else []
    return _both(made)


@pytest.mark.parametrize("word", GATES)
@pytest.mark.parametrize(
    ("layers", "both", "biases", "first"),
    [(1, False, True, False), (2, True, True, True), (2, False, False, False)],
)
def test_layers(word: str, layers: int, both: bool, biases: bool, first: bool) -> None:
    ours, theirs = _weights(word, layers, 1 + both, biases)
    x = _pair(2, 4, 3) if first else _pair(4, 2, 3)
    start = [_pair(layers * (1 + both), 2, 5) for _ in range(1 + (word == "lstm"))]
    hx, other = _both(start) if word == "lstm" else start[0]
    rest = (biases, layers, 0.0, False, both, first)
    _equal(getattr(wb, word)(x[0], hx, ours, *rest), getattr(torch, word)(x[1], other, theirs, *rest))


@pytest.mark.parametrize("word", GATES)
def test_packed_rows(word: str) -> None:
    ours, theirs = _weights(word, 2, 2, True)
    x, sizes = _pair(7, 3), [3, 2, 1, 1]
    start = [_pair(4, 3, 5) for _ in range(1 + (word == "lstm"))]
    hx, other = _both(start) if word == "lstm" else start[0]
    rest = (True, 2, 0.0, False, True)
    _equal(
        getattr(wb, word)(x[0], wb.tensor(sizes), hx, ours, *rest),
        getattr(torch, word)(x[1], torch.tensor(sizes), other, theirs, *rest),
    )


@pytest.mark.parametrize("word", GATES)
@pytest.mark.parametrize("biases", [False, True])
def test_cells(word: str, biases: bool) -> None:
    ours, theirs = _weights(word, 1, 1, biases)
    x, start = _pair(2, 3), [_pair(2, 5) for _ in range(1 + (word == "lstm"))]
    hx, other = _both(start) if word == "lstm" else start[0]
    _equal(getattr(wb, f"{word}_cell")(x[0], hx, *ours), getattr(torch, f"{word}_cell")(x[1], other, *theirs))


def test_weights_that_are_not_those_of_the_layers_are_refused() -> None:
    ours, _ = _weights("gru", 2, 1, True)
    with pytest.raises(ValueError, match="gru: 8 weights are not those of 3 layers in 1 directions"):
        wb.gru(wb.ones(4, 2, 3), wb.zeros(3, 2, 5), ours, True, 3, 0.0, False, False, False)
    with pytest.raises(TypeError, match="gru takes input, hx, params, has_biases"):
        wb.gru(wb.ones(4, 2, 3), wb.zeros(2, 2, 5), ours, True)

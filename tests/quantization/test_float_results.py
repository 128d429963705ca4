"""What layers give in floating point is computed once where there is memory for it, and is the same elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench import quantization as q
from workbench.quantization.batches import batches_of
from workbench.quantization.tuning import float_results
from workbench.quantization.tuning.float_results import FloatResults

BYTES = {"first": 4 * 8 * 4, "second": 4 * 2 * 4, "third": 4 * 4 * 4, "fourth": 4 * 1 * 4}
"""Of the results of a layer for both batches."""


class Counted(nn.Module):
    """Four layers, of which the third is called twice and the first is written into behind."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(2, 2)
        self.fourth = nn.Linear(2, 1)
        self.runs = 0

    def forward(self, x: Any) -> Any:
        self.runs += 1
        return self.fourth(self.third(self.third(self.second(self.first(x).relu_()))))


@pytest.fixture
def counted() -> tuple[Counted, list[Any], dict[str, list[list[Any]]]]:
    """The model, two batches, and what its layers give for each, by call."""
    wb.manual_seed(0)
    model, data = Counted().eval(), [wb.randn(1, 4), wb.randn(3, 4)]
    found: dict[str, list[list[Any]]] = {name: [] for name in BYTES}
    for x in data:
        first = model.first(x)
        second = model.second(first.relu())
        third = model.third(second)
        again = model.third(third)
        calls = [first], [second], [third, again], [model.fourth(again)]
        for name, values in zip(found, calls, strict=True):
            found[name].append([one.detach().numpy().copy() for one in values])
    return model, batches_of(data), found


@pytest.mark.parametrize(
    ("most", "runs"),
    [
        (2**29, 2),  # all of one run over both batches
        (sum(BYTES.values()) - BYTES["first"], 2),  # what is asked for first needs no place
        (
            BYTES["second"] + BYTES["fourth"],
            4,
        ),  # the largest of those that wait goes, and has a run of its own
        (0, 8),  # a run for each layer
    ],
)
def test_layers_that_fit_are_computed_in_one_run(
    most: int, runs: int, counted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, batches, wanted = counted
    monkeypatch.setattr(float_results, "MOST", most)
    results = FloatResults(model, batches, [getattr(model, name) for name in BYTES])
    for name in BYTES:
        given = list(results.of(getattr(model, name)))
        assert [len(calls) for calls in given] == [len(calls) for calls in wanted[name]]
        for calls, right in zip(given, wanted[name], strict=True):
            for one, other in zip(calls, right, strict=True):
                np.testing.assert_array_equal(one, other)
    assert model.runs == runs


@pytest.mark.parametrize("most", [2**29, 200, 0])
def test_biases_are_the_same_bit_by_bit_however_much_is_kept(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wb.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3),
        nn.ReLU(),
        nn.Conv2d(4, 3, 3),
        nn.Flatten(),
        nn.Linear(12, 5),
        nn.ReLU(),
        nn.Linear(5, 2),
    ).eval()
    data = [wb.randn(5, 2, 6, 6), wb.randn(3, 2, 6, 6)]
    integer = q.quantize(model, data, qconfig=q.bits_qconfig(8, 4))
    usual = [one.bias.numpy() for one in q.correct_bias(integer, model, data).module if hasattr(one, "bias")]
    monkeypatch.setattr(float_results, "MOST", most)
    made = [one.bias.numpy() for one in q.correct_bias(integer, model, data).module if hasattr(one, "bias")]
    assert len(made) == 4
    for one, other in zip(made, usual, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_float_model_is_called_once_a_batch_to_correct_biases() -> None:
    wb.manual_seed(0)
    model, data = Counted().eval(), [wb.randn(4, 4), wb.randn(3, 4)]
    prepared = q.prepare(model)
    for x in data:
        prepared(x)
    integer = q.convert(prepared)
    before = model.runs
    q.correct_bias(integer, model, data)
    # And once or twice to see what can be joined, with the first batch.
    assert model.runs - before <= len(data) + 2

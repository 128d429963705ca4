"""What quantization costs models that were trained: digits told apart, and words foretold."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

import workbench as wb
from workbench import quantization as q
from workbench.models import DigitsNet, Vocabulary, WordLanguageModel, words_of
from workbench.nn import functional as F

# --------------------------------------------------------------------------------------------- digits


def _train(model: Any, train: Any, rate: float, epochs: int) -> None:
    """Train on all digits, in an order that is mixed anew by each epoch."""
    optimizer = wb.optim.Adam(model.parameters(), lr=rate)
    loader = wb.data.DataLoader(train, batch_size=100, shuffle=True)
    schedule = wb.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=rate, total_steps=epochs * len(loader))
    for _ in range(epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(images), labels).backward()
            optimizer.step()
            schedule.step()


@pytest.fixture(scope="module")
def digits() -> tuple[Any, Any, list[Any]]:
    """A trained network, what it was trained with, and batches of all digits.

    Of 2,000 digits it is chance whether a few more or fewer are told, and each processor trains another network. So
    those that it was trained with are asked, too: what is judged is what codes change of its answers, not the network.
    """
    wb.manual_seed(0)
    train, test = wb.data.digits()
    model = DigitsNet()
    _train(model, train, rate=4e-3, epochs=2)
    batches = [part[start : start + 500] for part in (test, train) for start in range(0, len(part), 500)]
    return model.eval(), train, batches


def _lost(model: Any, integer: Any, batches: list[Any]) -> int:
    """Return how many of 10,000 digits fewer the integer model tells: ten are a tenth of a point of accuracy."""
    exact = q.accuracy(model, batches)
    assert exact > 0.97
    return round(10_000 * (exact - q.accuracy(integer, batches)))


def test_static_quantization_loses_no_tenth_of_a_point(digits: tuple[Any, Any, list[Any]]) -> None:
    model, train, batches = digits
    integer = q.quantize(model, [train[start : start + 64] for start in range(0, 512, 64)])
    assert _lost(model, integer, batches) <= 10
    assert q.model_size(integer) < 0.27 * q.model_size(model)


def test_a_graph_loses_no_tenth_of_a_point(digits: tuple[Any, Any, list[Any]]) -> None:
    model, train, batches = digits
    images = train[:512][0]
    prepared = q.prepare_fx(model, q.get_default_qconfig_mapping(), (images[:2],))
    with wb.no_grad():
        prepared(images)
    assert _lost(model, q.convert_fx(prepared), batches) <= 10


def test_training_with_fake_quantization_loses_no_twentieth(digits: tuple[Any, Any, list[Any]]) -> None:
    model, train, batches = digits
    wb.manual_seed(1)
    aware = q.prepare_qat_fx(
        copy.deepcopy(model).train(), q.get_default_qat_qconfig_mapping(), (train[:2][0],)
    )
    _train(aware, train, rate=2e-4, epochs=1)
    assert _lost(model, q.convert_fx(aware.eval()), batches) <= 5


# ---------------------------------------------------------------------------------------------- words

COLUMNS, LENGTH = 20, 35


def _stretches(text: Any) -> Any:
    """Yield words [T, N] and the words after them, along parts of a text side by side."""
    rows = (text.shape[0] - 1) // COLUMNS
    before, after = (text[start : start + rows * COLUMNS].reshape(COLUMNS, rows).t() for start in (0, 1))
    for start in range(0, rows, LENGTH):
        yield before[start : start + LENGTH], after[start : start + LENGTH]


def _perplexity(model: Any, text: Any) -> float:
    total, count, state = 0.0, 0, None
    with wb.no_grad():
        for words, after in _stretches(text):
            scores, state = model(words, state)
            total += float(F.cross_entropy(scores.flatten(0, 1), after.flatten(), reduction="sum"))
            count += after.numel()
    return math.exp(total / count)


def test_dynamic_quantization_keeps_the_perplexity_of_a_language_model() -> None:
    wb.manual_seed(0)
    book = wb.data.moby_dick()
    read = words_of(book.train)[:60_000]
    vocabulary = Vocabulary(read, most=2000)
    train, test = vocabulary.numbers(read), vocabulary.numbers(words_of(book.test)[:8_000])
    model = WordLanguageModel(len(vocabulary), features=128, hidden=128, layers=2, dropout=0.1)
    optimizer = wb.optim.AdamW(model.parameters(), lr=4e-3)
    state: Any = None
    for words, after in _stretches(train):
        optimizer.zero_grad()
        scores, state = model(words, state)
        F.cross_entropy(scores.flatten(0, 1), after.flatten()).backward()
        wb.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        state = model.cut(state)
    small = q.quantize_dynamic(model.eval())
    exact = _perplexity(model, test)
    # It has learnt something: the words alone, by their number, say 400.
    assert exact < 250
    assert _perplexity(small, test) / exact - 1 < 0.01
    assert type(small.lstm).__module__.startswith("workbench.quantization")

"""Real training, seeds fixed: ``python -m tests.bench.training_runs [digits] [fashion] [words]``.

Without names, all of them are run; what each reaches, and how long it takes, is written into the README.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

import workbench as wb
import workbench.nn.functional as F
from workbench.models import DigitsNet, Vocabulary, WordLanguageModel, words_of

README = Path(__file__).resolve().parents[2] / "README.md"
BEGIN, END = "<!-- runs:begin -->", "<!-- runs:end -->"


class Result(NamedTuple):
    """One row of the table."""

    what: str
    aim: str
    reached: str
    seconds: float


def moved(images: wb.Tensor, draw: np.random.Generator) -> wb.Tensor:
    """Return images [N, C, H, W], each turned, scaled and shifted a little at random."""
    count = images.shape[0]
    angle = draw.uniform(-0.2, 0.2, count)
    scale = draw.uniform(0.9, 1.1, count)
    shift = draw.uniform(-0.15, 0.15, (count, 2))
    turn = np.stack(
        [
            np.stack([scale * np.cos(angle), -scale * np.sin(angle), shift[:, 0]], axis=1),
            np.stack([scale * np.sin(angle), scale * np.cos(angle), shift[:, 1]], axis=1),
        ],
        axis=1,
    )
    grid = F.affine_grid(wb.tensor(turn.astype(np.float32)), images.shape, align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)


def accuracy(model: wb.nn.Module, data: Any) -> float:
    """Return the share of a data set that a model gets right."""
    model.eval()
    right = 0
    with wb.no_grad():
        for images, labels in wb.data.DataLoader(data, batch_size=500):
            right += int((model(images).argmax("out_features") == labels).sum())
    return right / len(data)


def classify(train: Any, test: Any, epochs: int, augment: Callable[..., Any] | None, rate: float) -> float:
    """Train `DigitsNet` with AdamW and a cycle of rates; return its accuracy on the test."""
    wb.manual_seed(0)
    draw = np.random.default_rng(0)
    model = DigitsNet()
    loader = wb.data.DataLoader(train, batch_size=64, shuffle=True)
    optimizer = wb.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.02)
    steps = epochs * len(loader)
    schedule = wb.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=rate, total_steps=steps)
    bar = tqdm(total=steps, mininterval=10, unit="step")
    for _ in range(epochs):
        model.train()
        for images, labels in loader:
            optimizer.zero_grad()
            scores = model(images if augment is None else augment(images, draw))
            F.cross_entropy(scores, labels, label_smoothing=0.05).backward()
            optimizer.step()
            schedule.step()
            bar.update()
    bar.close()
    return accuracy(model, test)


def digits() -> Result:
    """The digits that come with the workbench."""
    start = time.perf_counter()
    found = classify(*wb.data.digits(), epochs=30, augment=moved, rate=4e-3)
    seconds = time.perf_counter() - start
    return Result(
        "digits, 8,000 to train with, a CNN of 421,834 parameters", "≥ 99 %", f"{100 * found:.2f} %", seconds
    )


def fashion() -> Result:
    """Fashion-MNIST, where it is installed."""
    start = time.perf_counter()
    found = classify(*wb.data.fashion_mnist(), epochs=3, augment=None, rate=3e-3)
    return Result(
        "Fashion-MNIST, 3 epochs, the same CNN", "≥ 89 %", f"{100 * found:.2f} %", time.perf_counter() - start
    )


def stretches(text: wb.Tensor, columns: int, length: int) -> Iterator[tuple[wb.Tensor, wb.Tensor]]:
    """Yield words [T, N] and the words after them, along `columns` parts of a text side by side."""
    rows = (text.shape[0] - 1) // columns
    before = text[: rows * columns].reshape(columns, rows).t().rename("T", "N")
    after = text[1 : rows * columns + 1].reshape(columns, rows).t().rename("T", "N")
    for start in range(0, rows, length):
        yield before[start : start + length], after[start : start + length]


def perplexity(model: Any, text: wb.Tensor) -> float:
    """Return e to the mean surprise at each word of a text."""
    model.eval()
    total, count, state = 0.0, 0, None
    with wb.no_grad():
        for words, after in stretches(text, 8, 128):
            scores, state = model(words, state)
            total += float(F.cross_entropy(scores.flatten(0, 1), after.flatten(0, 1), reduction="sum"))
            count += after.numel()
    return math.exp(total / count)


def words() -> Result:
    """Moby Dick, word by word."""
    start = time.perf_counter()
    wb.manual_seed(0)
    book = wb.data.moby_dick()
    vocabulary = Vocabulary(words_of(book.train), least=3)
    train, test = (vocabulary.numbers(words_of(text)) for text in book)
    model = WordLanguageModel(len(vocabulary), features=200, hidden=200, layers=1, dropout=0.5)
    epochs, columns, length = 12, 20, 35
    optimizer = wb.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    count = math.ceil((train.shape[0] - 1) // columns / length)
    schedule = wb.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=epochs * count)
    bar = tqdm(total=epochs * count, mininterval=10, unit="step")
    for _ in range(epochs):
        model.train()
        state = None
        for before, after in stretches(train, columns, length):
            optimizer.zero_grad()
            scores, state = model(before, None if state is None else model.cut(state))
            F.cross_entropy(scores.flatten(0, 1), after.flatten(0, 1)).backward()
            wb.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            bar.update()
        bar.set_postfix(perplexity=f"{perplexity(model, test):.0f}")
    bar.close()
    return Result(
        f"Moby Dick, {len(vocabulary):,} words, an LSTM of 200",
        "perplexity ≤ 130",
        f"perplexity {perplexity(model, test):.1f}",
        time.perf_counter() - start,
    )


RUNS = {"digits": digits, "fashion": fashion, "words": words}


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, print, and write the README's table if all were run."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.training_runs", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *RUNS])
    names = parser.parse_args(arguments).names or list(RUNS)
    lines = ["| training | aim | reached | time |", "|---|---|---|---|"]
    for name in names:
        row = RUNS[name]()
        lines.append(f"| {row.what} | {row.aim} | {row.reached} | {row.seconds:.0f} s |")
        print(lines[-1], flush=True)
    if names == list(RUNS):
        before, rest = README.read_text(encoding="utf-8").split(BEGIN)
        text = "\n".join([*lines, "", f"Seeds fixed, {wb.get_num_threads()} threads."])
        README.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()

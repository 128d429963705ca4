"""Single calls on few values, against PyTorch: what they cost is the way to the numbers and back.

``python -m tests.bench.small_calls`` lists every call; the table has a row for each family, the median of its calls.
"""

from __future__ import annotations

import statistics
import sys
import timeit
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import workbench as wb
from tests.bench.measure import Case, Timing, Work

__all__ = ["FAMILIES", "small_call_cases", "timed"]

FAMILIES: dict[str, dict[str, str]] = {
    "indexing": {
        "a row": "x[0]",
        "the last row": "x[-1]",
        "a slice": "x[1:3]",
        "a column": "x[:, 0]",
        "a value": "x[1, 2]",
        "a new dim": "x[None]",
        "an ellipsis": "x[..., 1]",
        "a tensor of indices": "x[i]",
    },
    "views": {
        "shape": "x.shape",
        "one size": "x.shape[0]",
        "size": "x.size(0)",
        "transpose": "x.transpose(0, 1)",
        "T": "x.T",
        "t": "x.t()",
        "permute": "x.permute(1, 0)",
        "reshape": "x.reshape(-1)",
        "view": "x.view(-1, 1)",
        "flatten": "x.flatten()",
        "unsqueeze": "x.unsqueeze(0)",
        "squeeze": "u.squeeze(0)",
        "expand": "u.expand(3, 8, 8)",
        "chunk": "x.chunk(2)",
        "split": "x.split(2)",
        "unbind": "x.unbind()",
        "rows in a loop": "list(x)",
        "detach": "x.detach()",
        "data": "x.data",
    },
    "views with gradients": {
        "a row": "p[0]",
        "a slice": "p[1:3]",
        "transpose": "p.transpose(0, 1)",
        "view": "p.view(-1, 1)",
        "unsqueeze": "p.unsqueeze(0)",
        "chunk": "p.chunk(2)",
    },
    "changes in place": {
        "zero_": "y.zero_()",
        "fill_": "y.fill_(1.0)",
        "copy_": "y.copy_(x)",
        "add_": "y.add_(1.0)",
        "add_ of a tensor": "y.add_(x)",
        "add_ with alpha": "y.add_(z, alpha=-0.01)",
        "mul_": "y.mul_(1.0)",
        "a row is set": "y.__setitem__(0, 1.0)",
        "a row is set to a tensor": "y.__setitem__(0, r)",
        "data": "y.data.__iadd__(z)",
    },
    "factories": {
        "zeros": "l.zeros(8)",
        "ones": "l.ones(8, 8)",
        "empty": "l.empty(3)",
        "full": "l.full((3,), 1.0)",
        "arange": "l.arange(10)",
        "zeros_like": "l.zeros_like(x)",
        "ones_like": "l.ones_like(x)",
        "randn": "l.randn(8)",
        "rand": "l.rand(8)",
        "randint": "l.randint(0, 10, (32,))",
        "tensor of a number": "l.tensor(1.0)",
        "tensor of a list": "l.tensor([1.0, 2.0, 3.0])",
        "tensor of an array": "l.tensor(a)",
        "from_numpy": "l.from_numpy(a)",
    },
    "int64": {
        "add": "k + k",
        "add a number": "k + 1",
        "sub": "k - k",
        "mul": "k * 2",
        "floor division": "k // 2",
        "remainder": "k % 2",
        "equal": "k == k",
        "less": "k < 5",
        "sum": "k.sum()",
        "argmax": "k.argmax()",
        "to float": "k.float()",
    },
    "float64": {
        "add": "d + d",
        "mul": "d * 2.0",
        "relu": "d.relu()",
        "sigmoid": "d.sigmoid()",
        "tanh": "d.tanh()",
        "exp": "d.exp()",
        "softmax": "l.softmax(d, -1)",
        "log_softmax": "l.log_softmax(d, -1)",
        "layer_norm": "F.layer_norm(d, (8,))",
        "softplus": "F.softplus(d)",
        "sum": "d.sum()",
        "mean": "d.mean()",
        "matmul": "d @ d",
    },
    "other": {
        "topk": "v.topk(2)",
        "sort": "v.sort()",
        "max along a dim": "x.max(-1)",
        "item": "s.item()",
        "Categorical": "D.Categorical(q)",
        "Categorical.sample": "C.sample()",
        "Categorical.log_prob": "C.log_prob(j)",
        "cat": "l.cat([x, x])",
        "stack": "l.stack([x, x])",
    },
}
"""Calls by family, of few values: float32 where nothing else is said, with the same words in both libraries."""


def _given(lib: Any) -> dict[str, Any]:
    """Return what the calls are made on."""
    draw = np.random.default_rng(0)
    matrix = (draw.random((8, 8)) + 0.1).astype(np.float32)
    chances = lib.tensor([0.2, 0.3, 0.5])
    return {
        "l": lib,
        "F": lib.nn.functional,
        "D": lib.distributions,
        "x": lib.tensor(matrix),
        "y": lib.tensor(matrix),
        "z": lib.tensor(matrix * 0),
        "r": lib.tensor(matrix[0]),
        "u": lib.tensor(matrix[None]),
        "p": lib.tensor(matrix).requires_grad_(),
        "d": lib.tensor(matrix.astype(np.float64)),
        "k": lib.tensor(draw.integers(1, 100, (8, 8))),
        "i": lib.tensor([0, 3, 2]),
        "j": lib.tensor(1),
        "s": lib.tensor(3.0),
        "v": lib.tensor(matrix[0]),
        "a": matrix[0],
        "q": chances,
        "C": lib.distributions.Categorical(chances),
    }


def timed(words: str, rounds: int = 15) -> Timing:
    """Return what a call takes in each library: in turn, the least of many rounds."""
    loops = [timeit.Timer(words, globals=_given(lib)) for lib in (wb, torch)]
    counts = [max(1, int(0.001 / max(loop.timeit(20) / 20, 1e-8))) for loop in loops]
    least = [float("inf"), float("inf")]
    for _ in range(rounds):
        for at, (loop, count) in enumerate(zip(loops, counts, strict=True)):
            least[at] = min(least[at], loop.timeit(count) / count)
    return Timing(*least)


@dataclass(frozen=True)
class Family(Case):
    """A row for several calls: it shows that one of them than which half of the others have a larger ratio."""

    def run(self) -> Timing:
        """Measure all of them."""
        timings = sorted((timed(words) for words in FAMILIES[self.name.split(", ")[1]].values()), key=_ratio)
        return timings[len(timings) // 2]


def _ratio(timing: Timing) -> float:
    return timing.ratio


def _nothing() -> tuple[Work, Work]:
    raise TypeError("a family is several calls: run it")


def small_call_cases() -> Iterator[Case]:
    """A row for each family."""
    for family in FAMILIES:
        yield Family(f"small calls, {family}", "torch", 1.0, _nothing)


def main(chosen: str = "") -> None:
    """List every call whose family contains `chosen`, with one thread."""
    torch.set_num_threads(1)
    wb.set_num_threads(1)
    for family, calls in FAMILIES.items():
        if chosen not in family:
            continue
        ratios = []
        for name, words in calls.items():
            timing = timed(words)
            ratios.append(timing.ratio)
            print(
                f"{family:22s} {name:26s} {timing.ours * 1e9:7.0f} {timing.theirs * 1e9:7.0f} ns {timing.ratio:6.2f}"
            )
        print(f"{family:22s} {'median':26s} {statistics.median(ratios):24.2f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

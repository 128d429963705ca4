# ruff: noqa: PERF401  as people write scripts
"""Scripts whose control flow only a run decides, and what they are called with: what is written is their first case."""

from __future__ import annotations

from typing import Any

import numpy as np

import workbench as torch
from workbench import Tensor, nn


def rows(x: Tensor) -> Tensor:
    parts: list[Tensor] = []
    h = torch.zeros(x.shape[1])
    for i in range(x.shape[0]):
        if x[i].sum() > 0:
            h = torch.relu(x[i] + h)
        else:
            h = h - 1
        parts.append(h * i)
    return torch.stack(parts) + h


def until(x: Tensor) -> Tensor:
    h = x.abs() + 1
    while h.sum() < 1000:
        h = h * 2
    return h


def grows(x: Tensor, n: int) -> Tensor:
    out = x
    for i in range(n):
        out = torch.cat([out, out[-1:] * 2 + i])
    return out


def breaks(x: Tensor) -> Tensor:
    total = torch.zeros(())
    count = 0
    for i in range(x.size(0)):
        if x[i] < 0:
            continue
        total = total + x[i]
        count += 1
        if total > 2:
            break
    return total * count


def raises(x: Tensor) -> Tensor:
    assert x.shape[0] > 1, "small"
    if x.sum() > 1e9:
        raise ValueError(f"{int(x.sum())} of {x.shape} is huge: " + str(x.shape[0]))
    return x * 2


def early(x: Tensor) -> Tensor:
    if x.shape[0] > 3:
        return x.sum()
    if x.max() > 1:
        return x.max()
    return x.mean()


def lists(x: Tensor, n: int) -> tuple[Tensor, Tensor, int]:
    xs: list[Tensor] = [x]
    for i in range(n):
        if i % 2 == 0:
            xs.append(xs[-1] + 1)
        else:
            xs.insert(0, xs[i] * 2)
    last = xs.pop()
    xs[0] = last
    return torch.cat(xs), last, len(xs)


def two_names(x: Tensor, n: int) -> Tensor:
    xs: list[Tensor] = []
    ys = xs
    for i in range(n):
        xs.append(x * i)
    ys.append(x)
    return torch.stack(xs, dim=1).sum(0)


def sequences(x: Tensor) -> list[Tensor]:
    out: list[Tensor] = []
    for i in range(x.shape[0]):
        out.append(x[: i + 1])
    return out


def numbers_in_lists(x: Tensor, n: int) -> Tensor:
    found: list[int] = []
    for i in range(n):
        if x[i % 2] > i:
            found.append(i * 3)
    total = 0
    for one in found:
        total += one
    return x * total + len(found)


def in_place(x: Tensor) -> Tensor:
    out = torch.zeros(x.shape[0], 2)
    for i in range(x.shape[0]):
        out[i, 0] = x[i] * i
        if x[i] > 0:
            out[i, 1] = 1.0
            out += 0.5
    return out


def windows(x: Tensor, n: int) -> Tensor:
    out = torch.zeros_like(x)
    for i in range(n):
        out[i : i + 2] = x[i : i + 2] * 3 + out[i : i + 2]
    return out


def numbers(x: Tensor) -> tuple[float, int]:
    n = int(x.sum() * 10)
    m = float(x.mean())
    k = 0
    while n > 0 and k < 20:
        n = n // 2
        k += 1
        m = m / 2 + min(n, k) % 3
    return m, k


def dicts(x: Tensor, k: int) -> Tensor:
    d: dict[str, Tensor] = {"a": x, "b": x * 2}
    for i in range(k):
        if x.sum() > i:
            d["a"] = d["a"] + d["b"]
    return d["a"]


def optional(x: Tensor, m: Tensor | None = None) -> Tensor:
    if m is not None:
        x = x * m
    y: Tensor | None = None
    if x.shape[0] > 100:
        y = x
    return x if y is None else y


def collatz(n: Tensor) -> Tensor:
    k = 0
    v = int(n.item())
    while v != 1:
        if v % 2 == 0:
            v = v // 2
        else:
            v = 3 * v + 1
        k += 1
    return torch.tensor(k)


def sized(x: Tensor) -> Tensor:
    n = int(x[0])
    return torch.ones(n, 3) * x[1] + torch.arange(n).view(n, 1)


def nested(x: Tensor) -> Tensor:
    out = torch.zeros(())
    for i in range(x.shape[0]):
        for j in range(i, x.shape[1]):
            if x[i, j] > 0 and i != j:
                out = out + x[i, j] * (j - i)
            elif x[i, j] < -1:
                break
    return out


def tuples(x: Tensor) -> Tensor:
    state = (x, torch.zeros(3))
    for i in range(x.shape[0]):
        a, b = state
        state = (a + 1, b + a[i])
    return state[0].sum() + state[1]


def helper(x: Tensor, turn: int) -> Tensor:
    if x.sum() > turn:
        return x - 1
    return x + turn


def calls(x: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = helper(x, i)
    return x


class Decoder(nn.Module):
    """Greedy decoding: tokens grow, scores are a list, and a run says when it is over."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(3)
            self.cell = nn.GRUCell(4, 4)
            self.out = nn.Linear(4, 7)
            self.embedding = nn.Embedding(7, 4)
            self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

    def forward(self, x: Tensor, steps: int) -> tuple[Tensor, list[Tensor]]:
        h = torch.zeros(x.size(0), 4)
        tokens = x.unsqueeze(1)
        scores: list[Tensor] = []
        for _ in range(steps):
            h = self.cell(self.embedding(tokens[:, -1]), h)
            for layer in self.layers:
                h = torch.tanh(layer(h))
            best, token = torch.log_softmax(self.out(h), -1).max(dim=1)
            scores.append(best)
            tokens = torch.cat([tokens, token.unsqueeze(1)], 1)
            if bool((token == 0).all()):
                break
        return tokens, scores


def _random(*sizes: int, seed: int = 0) -> Any:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed))


T = torch.tensor

CASES: dict[str, list[tuple[Any, ...]]] = {
    "rows": [(_random(3, 4),), (_random(6, 4),)],
    "until": [(_random(3),), (_random(5),)],
    "grows": [(_random(3, 2), T(40)), (_random(2, 2), T(3)), (_random(2, 2), T(0))],
    "breaks": [(_random(9),), (_random(3, seed=1),)],
    "raises": [(_random(9),), (_random(3),)],
    "early": [(_random(9),), (_random(3),), (torch.zeros(2),)],
    "lists": [(_random(3), T(3)), (_random(3), T(6)), (_random(3), T(1))],
    "two_names": [(_random(3), T(3)), (_random(3), T(0))],
    "sequences": [(_random(3),), (_random(5),)],
    "numbers_in_lists": [(_random(2).abs() * 3, T(3)), (_random(2), T(0)), (_random(2).abs() * 9, T(50))],
    "in_place": [(_random(3),), (_random(5),)],
    "windows": [(_random(6), T(3)), (_random(5), T(4))],
    "numbers": [(_random(3).abs(),), (_random(5).abs() * 7,)],
    "dicts": [(_random(3).abs(), T(3)), (_random(3).abs(), T(50))],
    "optional": [(_random(3), _random(3))],
    "collatz": [(T(7),), (T(27),), (T(1),)],
    "sized": [(T([3.0, 2.0]),), (T([5.0, 2.0]),)],
    "nested": [(_random(3, 4),), (_random(4, 6),)],
    "tuples": [(_random(3),), (_random(40),)],
    "calls": [(_random(3), T(40)), (_random(3) * 9, T(3))],
    "Decoder": [(T([1, 2, 3]), T(4)), (T([1, 2]), T(40)), (T([1, 2]), T(0))],
}


def script_of(name: str) -> Any:
    """Return a program as `jit.script` makes it."""
    found = globals()[name]
    return torch.jit.script(found().eval() if isinstance(found, type) else found)


def arrays(value: Any) -> list[Any]:
    """Return results as arrays: of a list a list of them."""
    if isinstance(value, tuple):
        return [each for one in value for each in arrays(one)]
    if isinstance(value, list):
        return [[arrays(one)[0] for one in value]]
    return [value.detach().numpy() if isinstance(value, Tensor) else np.array(value)]

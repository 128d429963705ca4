"""Random programs to be quantized as graphs; ``python -m tests.quantization.random_graphs FROM TO`` judges some.

Names of checks behind the two numbers judge by these alone.
"""

from __future__ import annotations

import importlib
import linecache
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import workbench as wb
from tests.quantization.random_graph_steps import STEPS, Draw, Sizes
from workbench import nn
from workbench.nn import functional

__all__ = ["Program", "draw_program"]

BATCHES = (6, 4)
"""Of how many samples the batches are on which a program is grown: what fits both fits any."""

REFUSALS = (RuntimeError, ValueError, IndexError, TypeError)
"""What the library raises where a line does not fit its values: that line is not taken."""


@dataclass
class Program:
    """A random program: its text, an instance of it, and what it is called with."""

    seed: int
    text: str
    model: Any
    inputs: tuple[Any, ...]
    lines: list[str] = field(default_factory=list)

    def batch(self, count: int) -> tuple[Any, ...]:
        """Return the first samples of the inputs; from the first on again where there are not so many."""
        places = wb.tensor([i % BATCHES[0] for i in range(count)])
        return tuple(one.index_select(0, places) for one in self.inputs)


@dataclass
class Grown:
    """A value of a program that is growing: what it is for two batches."""

    name: str
    both: tuple[Any, Any]

    @property
    def sizes(self) -> Sizes:
        """The sizes, for the first batch."""
        return tuple(int(one) for one in self.both[0].shape)


class Growing:
    """Grows a program line by line, each tried as soon as it is drawn."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.draw = Draw(self.random)
        self.holder = nn.Module().eval()
        self.layers: list[str] = []
        self.lines: list[str] = []
        self.values: list[Grown] = []
        self.inputs: list[Any] = []

    def enter(self, count: int) -> None:
        """Draw the inputs."""
        sizes: Sizes = self.draw.one([(3, 6, 6), (4, 8), (2, 4, 4, 4), (6,), (3, 5, 7), (4, 6), (4, 4, 4)])
        for place in range(count):
            own = sizes if place == 0 or self.draw.often(0.6) else self.draw.one([(3, 6, 6), (4, 8), (6,)])
            if place and self.draw.often(0.15):
                self._tokens(f"x{place}")
                continue
            values = self.random.standard_normal((BATCHES[0], *own)).astype(np.float32)
            x = wb.from_numpy(values * np.float32(self.draw.one([0.5, 1.0, 1.0, 2.0])))
            self.inputs.append(x)
            self.values.append(Grown(f"x{place}", (x, x[: BATCHES[1]])))

    def _tokens(self, name: str) -> None:
        x = wb.from_numpy(self.random.integers(0, 9, (BATCHES[0], 5)))
        self.inputs.append(x)
        layer = self.draw.layer("nn.Embedding(9, 4)")
        self.grow(f"{layer}({name})", {name: (x, x[: BATCHES[1]])})

    def step(self) -> None:
        """Draw a line; take it where it fits."""
        weights = np.array([weight for _, weight in STEPS], float)
        step = STEPS[int(self.random.choice(len(STEPS), p=weights / weights.sum()))][0]
        # Rather the last values than the first: a program is to be deep.
        back = min(len(self.values), 1 + int(self.random.geometric(0.5)))
        taken = self.values[-back]
        made = step(self.draw, taken.name, taken.sizes, [(one.name, one.sizes) for one in self.values])
        if made is not None:
            self.grow(made)

    def grow(self, made: str, more: dict[str, tuple[Any, Any]] | None = None) -> None:
        """Take a step's lines, where they give values that are worth going on with."""
        layers, self.draw.made = self.draw.made, []
        *before, last = made.split("\n")
        name = f"v{len(self.values)}"
        lines = [*before, f"{name} = {last.removeprefix('= ')}"]
        try:
            for one in layers:
                exec(one, {**NAMESPACE, "self": self.holder})
            self.holder.eval()
            both = tuple(self._run(lines, name, i, more or {}) for i in range(2))
        except REFUSALS:
            return
        if not _fits(both):
            return
        self.layers += layers
        self.lines += lines
        self.values.append(Grown(name, (both[0], both[1])))

    def _run(self, lines: list[str], name: str, which: int, more: dict[str, tuple[Any, Any]]) -> Any:
        known = {one.name: one.both[which] for one in self.values}
        known |= {key: both[which] for key, both in more.items()}
        with wb.no_grad(), np.errstate(all="ignore"):
            scope = {**NAMESPACE, "self": self.holder, **known}
            exec("\n".join(lines), scope)
        return scope[name]

    def end(self) -> str:
        """Return the line that returns."""
        ends = [one.name for one in self.values if one.name.startswith("v") and not self._reads(one.name)][
            -4:
        ]
        form = self.draw.one(["one", "tuple", "dict", "list", "nested", "place"])
        if form == "one" or not ends:
            return f"return {(ends or [self.values[-1].name])[-1]}"
        if form == "dict":
            return f"return {{{', '.join(f'{name!r}: {name}' for name in ends)}}}"
        if form == "list":
            return f"return [{', '.join(ends)}]"
        if form == "nested":
            return f"return {{'all': ({ends[0]}, [{', '.join(ends)}])}}"
        if form == "place":
            return f"return {ends[0]}, {ends[-1]}.flatten(1).argmax(1){self.draw.one(['', f', {ends[0]}.shape[0]'])}"
        return f"return {', '.join(ends)},"

    def _reads(self, word: str) -> bool:
        return any(re.search(rf"\b{word}\b", line.partition("=")[2] or line) for line in self.lines)

    def kept(self) -> list[str]:
        """Return the lines of the layers that are used."""
        used = set(re.findall(r"self\.(\w+)", "\n".join(self.lines)))
        return [
            one for one in self.layers if used & set(re.findall(r"\w+", one.partition("=")[0] + one[:40]))
        ]


NAMESPACE = {"wb": wb, "nn": nn, "F": functional}


def _fits(both: tuple[Any, ...]) -> bool:
    """Say whether a value goes on: of its batch's size, neither too large nor all alike, as codes stand for it."""
    first, second = both
    if not all(isinstance(one, wb.Tensor) and one.dtype is wb.float32 and one.ndim > 1 for one in both):
        return False
    if tuple(first.shape[1:]) != tuple(second.shape[1:]) or (first.shape[0], second.shape[0]) != BATCHES:
        return False
    numbers = first.detach().numpy()
    if not 2 * BATCHES[0] <= numbers.size < 3000 or numbers.ndim > 5 or not np.isfinite(numbers).all():
        return False
    largest, spread = float(np.abs(numbers).max()), float(numbers.std())
    return largest < 60 and spread > 0.02 and spread > largest / 20


def draw_program(seed: int) -> Program:
    """Return the program of a seed, with its parameters and inputs."""
    wb.manual_seed(seed)
    growing = Growing(seed)
    growing.enter(1 + int(growing.random.choice([0, 0, 0, 1, 1, 2, 3])))
    wanted = int(growing.random.integers(3, 12))
    for _ in range(4 * wanted):
        if len(growing.values) - len(growing.inputs) >= wanted:
            break
        growing.step()
    returns = growing.end()
    arguments = ", ".join(f"x{i}" for i in range(len(growing.inputs)))
    body = "\n        ".join([*growing.lines, returns])
    layers = "\n        ".join(["super().__init__()", *growing.kept()])
    text = (
        f"class Program{seed}(nn.Module):\n    def __init__(self):\n        {layers}\n\n"
        f"    def forward(self, {arguments}):\n        {body}\n"
    )
    model = compiled(text, f"Program{seed}")()
    tried = growing.holder.state_dict()
    model.load_state_dict({key: tried[key] for key in model.state_dict()})
    for name, one in model.named_buffers():
        if name.endswith(("running_mean", "running_var")):
            one.copy_(wb.from_numpy(growing.random.uniform(0.4, 1.2, tuple(one.shape)).astype(np.float32)))
    return Program(seed, text, model.eval(), tuple(growing.inputs), growing.lines)


def compiled(text: str, name: str) -> Any:
    """Return the class that a text defines; tracebacks show its lines."""
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {**NAMESPACE, "__name__": __name__}
    exec(compile(text, file, "exec"), scope)
    return scope[name]


if __name__ == "__main__":
    # What judges programs is written with them.
    importlib.import_module("tests.quantization.random_graphs_judged").main()

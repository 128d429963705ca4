"""A program while it grows: what there is by now, and what a step can draw of it.

All chance comes from ``choose(n)``, a number below n: hypothesis draws it, and shrinks a program by drawing less.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tests.random_programs.program import Machine, Step

__all__ = ["Choose", "Grower", "Plan"]

Choose = Callable[[int], int]
Plan = tuple[tuple[int, ...], tuple[Any, ...]]
"""The tensors that a step takes, by their places, and its parameters."""
LARGEST = 64
"""Values of more entries than this are not used further."""


class Grower:
    """A program that grows, and the run of it so far."""

    def __init__(self, choose: Choose) -> None:
        self.choose = choose
        self.machine = Machine(torch)
        self.steps: list[Step] = []
        self.turned: set[int] = set()
        """Places of tensors whose own dims were changed in place."""
        self.hooked: set[int] = set()
        """Places of results with a hook."""

    def pick(self, suits: Callable[[torch.Tensor], bool] = lambda x: True) -> int | None:
        """Return the place of one of the tensors that suit, the latest first; None where there is none."""
        values = self.machine.values
        found = [
            i
            for i in reversed(range(len(values)))
            if values[i].numel() <= LARGEST and self.holds(values[i], suits)
        ]
        return found[self.choose(len(found))] if found else None

    def holds(self, value: torch.Tensor, suits: Callable[[torch.Tensor], bool]) -> bool:
        """Say whether a tensor that can still be used suits."""
        return self.machine.facts(value) != "lost" and suits(value)

    def of(self, *kinds: Any) -> Any:
        """Return one of several."""
        return kinds[self.choose(len(kinds))]

    def often(self, chances: int) -> bool:
        """Return False, but for one of `chances` times."""
        return self.choose(chances) == chances - 1

    def add(
        self, word: str, operands: tuple[int, ...], params: tuple[Any, ...] = (), no_grad: bool = False
    ) -> None:
        """Take a step."""
        step = Step(word, operands, params, no_grad)
        self.steps.append(step)
        self.machine.do(step)

    def dim(self, x: torch.Tensor, more: int = 0) -> int:
        """Return a dim of a tensor."""
        return self.choose(max(x.ndim + more, 1))

    def sizes(self, count: int) -> list[int]:
        """Return sizes that hold `count` entries."""
        sizes: list[int] = []
        while count > 1 and len(sizes) < 3 and not self.often(3):
            found = [n for n in range(1, count + 1) if count % n == 0]
            sizes.append(self.of(*found))
            count //= sizes[-1]
        return [*sizes, count] if count != 1 or self.often(2) else sizes

    def stretched(self, x: torch.Tensor) -> list[int]:
        """Return sizes that `x` can be expanded to."""
        sizes = [self.of(1, 2, 3) if size == 1 else size for size in x.shape]
        return [2, *sizes] if self.often(4) else sizes

    def places(self, size: int, count: int) -> list[int]:
        """Return places in a dim, of which some may come twice."""
        return [self.choose(max(size, 1)) for _ in range(count)]

    def index(self, x: torch.Tensor) -> list[Any]:
        """Return an index, see `words.key`."""
        if x.ndim == 0:
            return [self.of("...", None)]
        parts: list[Any] = []
        advanced = False
        for size in x.shape:
            kind = self.choose(9)
            if kind <= 2 or size == 0:
                start = self.choose(size + 1)
                parts.append(
                    ["slice", start, start + self.choose(size - start + 1) if self.often(3) else None, None]
                )
            elif kind == 3:
                parts.append(self.choose(size))
            elif kind == 4:
                parts.append(["slice", None, None, self.of(1, 2)])
            elif kind == 5:
                parts += [None, ["slice", None, None, None]]
            elif kind == 6:
                parts.append(-1)
            elif kind == 7 and not advanced:
                advanced = True
                parts.append(["list", self.places(size, self.of(1, 2, 3))])
            elif kind == 8 and not advanced:
                advanced = True
                parts.append(["mask", [bool(self.choose(2)) for _ in range(size)]])
            else:
                break
            if self.often(3):
                break
        if self.often(8) and len(parts) < x.ndim:
            parts.append("...")
        return parts or ["..."]

    def leaf(self) -> None:
        """A new leaf."""
        kind = self.choose(8)
        sizes = [[2], [2, 2], [3], [2, 3], [], [1, 2], [2, 1, 2], [0], [4]][self.choose(9)]
        dtype = "float64" if kind < 5 else "complex128" if kind < 6 else "float32" if kind < 7 else "int64"
        self.add("leaf", (), (sizes, dtype, dtype != "int64" and self.choose(4) != 3, self.choose(100)))

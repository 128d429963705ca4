"""The code of a chain: its steps with slots, as the interpreter in C++ takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.compiler.chain_steps import Builder, NotAChain, Step
from workbench.kernels.loader import native

__all__ = ["ChainCode", "slotted"]

MOST_SLOTS = 128
"""As `most_slots` in the interpreter."""


@dataclass(frozen=True)
class ChainCode:
    """What a chain does, in plain numbers: types, constants, and instructions with the slots that they read or write.

    Slots are counted through inputs, outputs, constants and temporaries.
    """

    dtype: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    constants: tuple[float, ...]
    temporaries: int
    instructions: tuple[tuple[str, tuple[int, ...]], ...]

    def built(self) -> Any:
        """Return the interpreter's object: called with arrays, it gives a list of the results."""
        known = native.compiled.chain_operations
        code = [(known[name][0], *slots, *(0,) * (4 - len(slots))) for name, slots in self.instructions]
        return native.compiled.Chain(
            self.dtype, self.inputs, self.outputs, self.constants, self.temporaries, code
        )

    def __str__(self) -> str:
        kinds = (
            ("x", len(self.inputs)),
            ("y", len(self.outputs)),
            ("c", len(self.constants)),
            ("t", self.temporaries),
        )
        names = [f"{letter}{i}" for letter, count in kinds for i in range(count)]
        return "\n".join(
            " ".join((name, *(names[slot] for slot in slots))) for name, slots in self.instructions
        )


_SWAPPED = {
    "add": "add", "mul": "mul", "eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le",
    "sub": "reversed_sub", "div": "reversed_div", "maximum": "maximum", "minimum": "minimum",
}  # fmt: skip
"""What does the same where the second operand is in the accumulator."""
_CHOOSING = ("choose", "keep_where", "replace_where")
"""`where` with its condition, its first or its second operand in the accumulator."""


def _placed(step: Step, place: int) -> tuple[str, tuple[int, ...]] | None:
    """Return what finds operand `place` in the accumulator, and its other operands; None where nothing does."""
    others = (*step.of[:place], *step.of[place + 1 :])
    if step.does == "where":
        return _CHOOSING[place], others
    if place == 0:
        return step.does, others
    if place == 1 and step.does in _SWAPPED:
        return _SWAPPED[step.does], others
    return None


class _Emission:
    """Gives steps their slots: what the next one reads stays in the accumulator, the rest goes to temporaries."""

    def __init__(self, do: Builder, inputs: int, outputs: list[int]) -> None:
        self.steps, self.outputs, self.dtype = do.steps, outputs, do.dtype
        self.uses = self._counted()
        self.order = [i for i, step in enumerate(self.steps) if self.uses[i] and not self._stands(step)]
        constants = [i for i, step in enumerate(self.steps) if self.uses[i] and step.does == "constant"]
        self.constants = tuple(self.steps[i].number for i in constants)
        first = inputs + len(outputs)
        self.slots = {i: step.of[0] for i, step in enumerate(self.steps) if step.does == "input"}
        self.slots |= {i: first + number for number, i in enumerate(constants)}
        self.result = inputs
        self.base = first + len(constants)
        self.free: list[int] = []
        self.temporaries = 0
        self.code: list[tuple[str, tuple[int, ...]]] = []
        self.held = -1  # the step whose value is in the accumulator
        for at, i in enumerate(self.order):
            self._emit(i, self.order[at + 1] if at + 1 < len(self.order) else None)
        for number, i in enumerate(outputs):
            if self._stands(self.steps[i]):
                self.code += [("load", (self.slots[i],)), ("store", (self.result + number,))]

    def finished(self, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> ChainCode:
        if self.base + self.temporaries > MOST_SLOTS:
            raise NotAChain(f"it needs {self.base + self.temporaries} slots; there are {MOST_SLOTS}")
        return ChainCode(self.dtype, inputs, outputs, self.constants, self.temporaries, tuple(self.code))

    @staticmethod
    def _stands(step: Step) -> bool:
        return step.does in ("input", "constant")

    def _counted(self) -> list[int]:
        """Count how often each step is read, by steps that are read themselves."""
        uses = [0] * len(self.steps)
        for i in self.outputs:
            uses[i] += 1
        for i in reversed(range(len(self.steps))):
            # An input's operand is its number.
            if uses[i] and self.steps[i].does != "input":
                for one in self.steps[i].of:
                    uses[one] += 1
        return uses

    def _chosen(self, i: int, held: int) -> int:
        """Return which operand of a step is read from the accumulator, if that holds the value of the step `held`."""
        step = self.steps[i]
        for place, one in enumerate(step.of):
            if one == held and _placed(step, place) is not None:
                return place
        return 0

    def _emit(self, i: int, following: int | None) -> None:
        step = self.steps[i]
        place = self._chosen(i, self.held)
        if step.of[place] != self.held:
            self.code.append(("load", (self.slots[step.of[place]],)))
        placed = _placed(step, place)
        assert placed is not None
        name, others = placed
        slots = tuple(self.slots[one] for one in others)
        if name == "add" and self.code[-1][0] == "mul" and self.dtype.startswith("float"):
            # One instruction for two where nothing was stored between them; it rounds twice, as they do.
            self.code[-1] = ("multiply_add", (*self.code[-1][1], *slots))
        else:
            self.code.append((name, slots))
        self._release(step)
        self.held = i
        left = self.uses[i] - self.outputs.count(i)
        for number, one in enumerate(self.outputs):
            if one == i:
                self.code.append(("store", (self.result + number,)))
        if left and not (left == 1 and following is not None and self._continues(i, following)):
            self.slots[i] = self._temporary()
            self.code.append(("store", (self.slots[i],)))
        self.uses[i] = left

    def _continues(self, i: int, following: int) -> bool:
        """Say whether the step `following` reads the step `i` from the accumulator."""
        return self.steps[following].of[self._chosen(following, i)] == i

    def _release(self, step: Step) -> None:
        """Count the reads of a step's operands; a temporary that nobody reads any more is free."""
        for one in step.of:
            self.uses[one] -= 1
            if not self.uses[one] and self.slots.get(one, -1) >= self.base:
                self.free.append(self.slots.pop(one))

    def _temporary(self) -> int:
        if self.free:
            return self.free.pop()
        self.temporaries += 1
        return self.base + self.temporaries - 1


def slotted(do: Builder, results: list[int], inputs: tuple[str, ...], outputs: tuple[str, ...]) -> ChainCode:
    """Return the code for steps: `results` are stored, inputs and outputs are of these types."""
    return _Emission(do, len(inputs), results).finished(inputs, outputs)

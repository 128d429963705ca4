"""Programs as data, and the machine that runs them with one library.

A program is a list of steps: a word, which values it is used on, parameters. The machine keeps every tensor that a
step gives, counted through, and what became of each step; where a step is refused nothing comes of it, and the
program goes on.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.random_programs.words import WORDS, leaf, total

__all__ = ["Machine", "Step", "describe", "run"]

REFUSALS = (RuntimeError, ValueError, IndexError, TypeError)
"""What a library raises where it refuses; anything else is a defect."""

DEFECTS = ("INTERNAL ASSERT", "Autograd not support dtype", "Could this error message be improved")


@dataclass(frozen=True)
class Step:
    """One step: a word of `words.WORDS`, or "leaf", "hook", "backward", "grad"."""

    word: str
    operands: tuple[int, ...] = ()
    params: tuple[Any, ...] = ()
    no_grad: bool = False

    def as_list(self) -> list[Any]:
        """Return what JSON can hold."""
        return [self.word, list(self.operands), list(self.params), int(self.no_grad)]

    @classmethod
    def from_list(cls, given: list[Any]) -> Step:
        """Return the step that `as_list` gave."""
        word, operands, params, no_grad = given
        return cls(word, tuple(operands), tuple(params), bool(no_grad))


@dataclass
class Machine:
    """One run of a program with a library."""

    lib: Any
    values: list[Any] = field(default_factory=list)
    outcomes: list[Any] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    layouts: list[list[bool]] = field(default_factory=list)
    """Of what each step made: whether it lies in row-major order."""
    hooks: dict[int, list[Any]] = field(default_factory=dict)
    ended: bool = False
    """A refused backward ends a program: how far it came before it was refused is nobody's business."""

    broken: bool = False
    """True where the library says of itself that it failed: nothing can be learned from what comes then."""

    def do(self, step: Step) -> Any:
        """Run one step; return and note what became of it."""
        operands = [self.values[i] for i in step.operands]
        reason = ""
        made: list[Any] = []
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if step.no_grad:
                    with self.lib.no_grad():
                        result = self._run(step, operands)
                else:
                    result = self._run(step, operands)
                made = self._made(result, operands)
        except REFUSALS as error:
            outcome: Any = "refused"
            reason = f"{type(error).__name__}: {error}"
            self.broken |= any(words in reason for words in DEFECTS)
            self.ended = step.word in ("backward", "grad")
        except Exception as error:  # a defect, which the comparison shows
            outcome = f"{type(error).__name__}: {error}"
        else:
            self.values += made
            outcome = [self.facts(value) for value in made]
        self.layouts.append(
            [bool(value.is_contiguous()) for value in made] if isinstance(outcome, list) else []
        )
        self.outcomes.append(outcome)
        self.reasons.append(reason)
        return outcome

    def _run(self, step: Step, operands: list[Any]) -> Any:
        special = getattr(self, f"_{step.word}", None) if step.word in _SPECIAL else None
        if special is not None:
            return special(operands, *step.params)
        return WORDS[step.word].run(self.lib, *operands, *step.params)

    def _made(self, result: Any, operands: list[Any]) -> list[Any]:
        several = result if isinstance(result, tuple | list) else (result,)
        return [
            one
            for one in several
            if isinstance(one, self.lib.Tensor) and not any(one is given for given in operands)
        ]

    def _leaf(self, operands: list[Any], *params: Any) -> Any:
        return leaf(self.lib, *params)

    def _hook(self, operands: list[Any], factor: float | None) -> None:
        seen = self.hooks.setdefault(len(self.hooks), [])

        def hook(gradient: Any) -> Any:
            seen.append(numbers(gradient))
            return None if factor is None else gradient * factor

        operands[0].register_hook(hook)

    def _gathered_hook(self, operands: list[Any]) -> None:
        seen = self.hooks.setdefault(len(self.hooks), [])
        operands[0].register_post_accumulate_grad_hook(lambda value: seen.append(numbers(value.grad)))

    def _backward(self, operands: list[Any], retain: bool, create: bool) -> None:
        self._loss(operands).backward(retain_graph=retain, create_graph=create)

    def _grad(self, operands: list[Any], ends: int, retain: bool, create: bool) -> Any:
        found = self.lib.autograd.grad(
            self._loss(operands[:ends]),
            operands[ends:],
            retain_graph=retain,
            create_graph=create,
            allow_unused=True,
        )
        # Which of several gradients share memory is nobody's business.
        return [one.clone() for one in found if one is not None]

    def _seeded_grad(self, operands: list[Any], ends: int, retain: bool, create: bool) -> Any:
        seeds = [self.lib.ones_like(one) for one in operands[:ends]]
        found = self.lib.autograd.grad(
            operands[:ends],
            operands[ends:],
            seeds,
            retain_graph=retain,
            create_graph=create,
            allow_unused=True,
        )
        # Which of several gradients share memory is nobody's business.
        return [one.clone() for one in found if one is not None]

    def _loss(self, operands: list[Any]) -> Any:
        loss = total(self.lib, operands[0])
        for one in operands[1:]:
            loss = loss + total(self.lib, one)
        return loss

    def facts(self, value: Any) -> Any:
        """Return what can be said of a tensor besides its numbers; "lost" where the library refuses to say."""
        try:
            grad = [bool(value.requires_grad), bool(value.is_leaf)]
        except RuntimeError as error:
            self.broken |= any(words in str(error) for words in DEFECTS)
            return "lost"
        return [list(value.shape), str(value.dtype).rpartition(".")[2], *grad]

    def _gradient(self, value: Any) -> Any:
        try:
            return None if value.grad is None else numbers(value.grad)
        except RuntimeError:
            return None

    def end(self) -> dict[str, Any]:
        """Return what a program leaves behind: all values, gradients, and what the hooks saw."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {
                "values": [numbers(value) for value in self.values],
                "facts": [self.facts(value) for value in self.values],
                "gradients": [self._gradient(value) for value in self.values],
                "hooks": [self.hooks[i] for i in sorted(self.hooks)],
            }


_SPECIAL = ("leaf", "hook", "gathered_hook", "backward", "grad", "seeded_grad")


def numbers(value: Any) -> np.ndarray[Any, Any]:
    """Return a copy of the numbers of a tensor."""
    return np.array(value.detach().resolve_conj().resolve_neg().numpy())


def run(lib: Any, steps: list[Step]) -> Machine:
    """Run a program."""
    machine = Machine(lib)
    for step in steps:
        machine.do(step)
        if machine.ended:
            break
    return machine


def describe(steps: list[Step], outcomes: list[Any]) -> str:
    """Return a program as Python that can be read and, with `words` at hand, run; and what became of its steps."""
    lines, count = [], 0
    for step, outcome in zip(steps, outcomes, strict=False):
        operands = [f"v{i}" for i in step.operands]
        if step.word in WORDS:
            text = WORDS[step.word].says(operands, list(step.params))
        else:
            text = f"{step.word}({', '.join([*operands, *map(repr, step.params)])})"
        made = len(outcome) if isinstance(outcome, list) else 0
        if made:
            text = ", ".join(f"v{count + i}" for i in range(made)) + " = " + text
        count += made
        lines.append(
            ("with no_grad(): " if step.no_grad else "")
            + text
            + ("" if isinstance(outcome, list) else f"  # {outcome}")
        )
    return "\n".join(lines)

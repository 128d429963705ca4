"""What became of a compiled function, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.compiler.backends import BackendPlan
from workbench.compiler.lowering import NativePart, Plan
from workbench.compiler.precision import no_bfloat16
from workbench.compiler.training import TrainedPlan
from workbench.graph.blocks import SubGraph, called
from workbench.graph.ir import Graph

__all__ = ["Program", "Report"]


@dataclass(frozen=True)
class Program:
    """A program for one set of sizes."""

    inputs: tuple[tuple[int, ...], ...]
    """Sizes of the tensors that it is given."""
    threads: int
    steps: dict[str, int]
    """How often each kind of step is in it."""
    eager: dict[str, str]
    """Ops that are run by their own kernels, and why."""
    planned_bytes: int
    """What its steps work in."""
    unshared_bytes: int
    """What that would take if no two values lay in the same place."""
    gives: dict[str, int] = field(default_factory=dict)
    """How many steps give values of which type."""
    half: str = ""
    """Of what is trained: ``"forward"``, or ``"backward"``, the gradient."""
    saved: tuple[str, ...] = ()
    """Of a backward half: what the forward half saves for it."""
    saved_bytes: int = 0
    again: tuple[str, ...] = ()
    """Of a backward half: what is not saved but computed again."""

    @classmethod
    def of(cls, sizes: Any, plan: Plan | BackendPlan, **half: Any) -> Program:
        """Return what a plan is."""
        if isinstance(plan, BackendPlan):
            return cls(tuple(sizes[1:]), sizes[0], {f"program of {plan.backend}": 1}, {}, 0, 0)
        native = [one.program for one in plan.parts if isinstance(one, NativePart)]
        steps = Counter(name for program in native for name, _ in program.steps)
        return cls(
            tuple(sizes[1:]), sizes[0], dict(steps), {called(one.node.callee): one.reason for one in plan.eager},
            sum(one.arena_bytes for one in native), sum(one.unshared_bytes for one in native),
            dict(Counter(one for program in native for one in program.types)), **half,
        )  # fmt: skip

    @classmethod
    def of_trained(cls, sizes: Any, plan: TrainedPlan) -> Iterator[Program]:
        """Yield both halves of what is trained; the second once for each choice of results that gradients came to."""
        yield cls.of(sizes, plan.forward, half="forward")
        for one in plan.backwards:
            yield cls.of(
                sizes, one.plan, half="backward", saved=one.backward.names, saved_bytes=plan.saved_bytes,
                again=one.backward.again,
            )  # fmt: skip

    def __str__(self) -> str:
        shapes = ", ".join("x".join(map(str, one)) or "()" for one in self.inputs)
        half = f"{self.half} " if self.half else ""
        lines = [
            f"{half}for {shapes}: {_counted(sum(self.steps.values()), 'step')} and "
            f"{_counted(len(self.eager), 'op')} of Python's, "
            f"{self.planned_bytes:,} bytes planned in place of {self.unshared_bytes:,}"
        ]
        lines += [f"  {count} × {name}" for name, count in self.steps.items()]
        if set(self.gives) - {"float32"}:
            lines.append(
                "  gives "
                + ", ".join(f"{name} in {_counted(count, 'step')}" for name, count in self.gives.items())
            )
        if self.half == "backward":
            lines.append(f"  reads {len(self.saved)} saved values, {self.saved_bytes:,} bytes")
            lines += [f"  computes again: {', '.join(self.again)}"] if self.again else []
        lines += [f"  by its own kernel: {name}, since {reason}" for name, reason in self.eager.items()]
        return "\n".join(lines)


def _fused(graph: Graph) -> list[str]:
    """Return what each call of something that was put together does."""
    functions = [node.callee for node in graph.nodes if isinstance(node.callee, SubGraph)]
    return [", ".join(called(node.callee) for node in one.nodes) for one in functions if one.kind]


@dataclass(frozen=True)
class Report:
    """What became of a compiled function; its text says all of it."""

    name: str
    programs: tuple[Program, ...]
    weight_bytes: int
    """Weights, packed for the programs."""
    calls: dict[str, int]
    """How many calls ran ``"compiled"``, and how many as the function is written, by the reason."""
    made_anew: dict[str, int]
    """How often programs were thrown away, by what had changed."""
    precision: str
    """In which type programs compute what they may choose the type of, and why it is not what was asked for."""
    fused: dict[str, int]
    """Which ops the passes put together, and how often: each time one step does them all."""
    graphs: tuple[Graph, ...] = field(default=(), repr=False)
    """What was compiled, after all passes: ``wb.widgets.graph(report.graphs[0])`` draws it."""

    def working_bytes(self, shapes: Sequence[tuple[int, ...]]) -> int:
        """Return what programs whose first arguments have these shapes work in, which is kept between calls."""
        asked = tuple(shapes)
        return max(
            (one.planned_bytes for one in self.programs if one.inputs[: len(asked)] == asked), default=0
        )

    @classmethod
    def of(cls, compiled: Any) -> Report:
        """Return what became of a compiled function."""
        versions = list(compiled.versions.values())
        both = [*compiled.trained.values(), *compiled.fixed.values()]
        trained = [one.trained for one in both if one.trained is not None]
        programs = [Program.of(sizes, plan) for one in versions for sizes, plan in list(one.plans.items())]
        for one in trained:
            for sizes, plan in list(one.plans.items()):
                programs += Program.of_trained(sizes, plan)
        return cls(
            compiled.name,
            tuple(programs),
            sum(one.store.bytes for one in versions if one.store is not None),
            dict(compiled.ran),
            dict(compiled.made_anew),
            _precision(compiled),
            dict(Counter(together for one in versions if one.graph for together in _fused(one.graph))),
            tuple(one.graph for one in versions if one.graph is not None),
        )

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {_counted(len(self.programs), 'program')}, {self.weight_bytes:,} bytes of packed weights; "
            f"{_counted(self.calls.get('compiled', 0), 'call')} ran compiled"
        ]
        lines += [f"  {line}" for one in self.programs for line in str(one).split("\n")]
        lines += [f"  computes in {self.precision}{self._trained}"] if self.precision != "float32" else []
        lines += [f"  {count} × fused into one step: {ops}" for ops, count in self.fused.items()]
        lines += [
            f"  {_counted(count, 'call')} ran as written: {why}"
            for why, count in self.calls.items()
            if why != "compiled"
        ]
        lines += [f"  made anew {_counted(count, 'time')}: {why}" for why, count in self.made_anew.items()]
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def _trained(self) -> str:
        trains = any(one.half for one in self.programs)
        return "; what records gradients in the types of its parameters" if trains else ""


def _precision(compiled: Any) -> str:
    found = str(compiled.computes_in)
    return found if found == compiled.precision else f"{found}, not in {compiled.precision}: {no_bfloat16()}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"

"""From a graph, with numbers for its sizes, to parts that run in order: programs of steps, and ops of Python's.

What `rules.rule_of` has a rule for becomes steps of a program in C++; every other node is a part of its own, run by its
op's own kernel, and `Plan.eager` names it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.base.quantized_array import QuantizedArray
from workbench.base.size_expressions import Symbol, evaluate
from workbench.compiler.chain_groups import chain_of
from workbench.compiler.chains import STORED, type_name
from workbench.compiler.codings import Coding, coding_of, is_coded
from workbench.compiler.groups import MOVES, NARROW, Group, group_of, in_stretches
from workbench.core.op import ops
from workbench.core.value import new
from workbench.graph.arguments import tensors_in
from workbench.graph.blocks import Node, Value, called, filled, values_in
from workbench.graph.ir import Graph
from workbench.graph.types import TensorType
from workbench.kernels.casts import BFLOAT16
from workbench.kernels.loader import native
from workbench.kernels.processor import multiplies_bfloat16

__all__ = ["EagerPart", "Lowering", "NativePart", "NotLowered", "Plan", "as_ops", "lowered"]

Rule = Callable[["Lowering", Group], int | Sequence[int]]
"""Adds the steps of a group; returns the slot of its result, or those of the first results of its last node."""

KEPT = (*STORED, "quint8", "qint8")
"""Types of what lies in slots."""

DRAWING = (ops.dropout, ops.attention, ops.attention_gradient)
"""Ops whose steps draw by a seed that a run is given."""
_LOSSES = (ops.cross_entropy, ops.cross_entropy_gradient, ops.nll_loss, ops.nll_loss_gradient)
_PLACES = (ops.max_pool2d_gradient, ops.embedding, ops.embedding_gradient, *_LOSSES)
"""Ops of floats that read whole numbers as well."""
_ANY_DIMS = (ops.rename, ops.detach, ops.dropout, ops.reshape, ops.expand, *_LOSSES)
"""Ops whose steps read values without dims, too."""
_WITHOUT_DIMS = ("sum", "mean", "amax", "amin", "sum_to")
"""Ops whose step may give a value without dims."""

_NARROWER = {"int64": ("int32",)}
"""Types in which steps keep values of another one: places in planes."""


class NotLowered(Exception):
    """A node that has no step here, and why."""


@dataclass
class NativePart:
    """A program of steps: which values it is given, and which it gives."""

    program: Any
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    coded: dict[Value, Coding] = field(default_factory=dict)
    """What the codes stand for that it gives."""

    def run(self, known: dict[Value, Any]) -> bool:
        """Add what it gives to what is known; False where only the ops themselves say what that is."""
        given = [known[one] for one in self.inputs]
        found = self.program.run([one.codes if isinstance(one, QuantizedArray) else one for one in given])
        if found is None:
            return False
        known.update(zip(self.outputs, found, strict=True))
        known.update({one: coding.array(known[one]) for one, coding in self.coded.items()})
        return True


@dataclass
class EagerPart:
    """A node that is run by its op's own kernel."""

    node: Node
    reason: str


@dataclass
class Plan:
    """A graph for given sizes, as parts in order."""

    parts: list[NativePart | EagerPart]
    takes: list[Value]
    """Inputs, then parameters, then seeds."""
    gives: Any
    single: bool
    held: dict[Value, Any]
    names: dict[Value, Any]
    sizes: Mapping[Symbol, int]
    ends: list[list[Value]] = field(default_factory=list)
    """For each part, the values that nothing reads behind it."""

    lying: dict[Value, Any] = field(default_factory=dict)
    """Results that are given as they lie in their program, for another one: how each does."""

    whole: Any = None
    """Where the plan is one program for all that is given, with one result: it, and the names of the result's dims."""

    alone: Any = None
    """Where the plan is one program: it, which of what is given it takes, and which of its results are given."""

    parameters: Collection[Value] = ()
    """Those of what it takes that are tensors of a module."""

    seen: bool = False
    """True once numbers of parameters were such as the program takes."""

    def __post_init__(self) -> None:
        part = self.parts[0] if len(self.parts) == 1 else None
        if not isinstance(part, NativePart) or part.coded:
            return
        given, taken = list(values_in(self.gives)), {value: i for i, value in enumerate(self.takes)}
        made = {value: i for i, value in enumerate(part.outputs)}
        if all(one in made for one in given) and all(one in taken for one in part.inputs):
            self.alone = part.program, [taken[one] for one in part.inputs], [made[one] for one in given]
            self._fixed = [i for i, one in enumerate(part.inputs) if one in self.parameters]
        if part.inputs == self.takes and self.single and tuple(self.gives) == tuple(part.outputs):
            self.whole = part.program, self.names.get(part.outputs[0])

    @property
    def eager(self) -> list[EagerPart]:
        """The parts that are ops of Python's."""
        return [one for one in self.parts if isinstance(one, EagerPart)]

    def share_arena(self, other: Plan) -> None:
        """Work in the memory that another plan works in, which runs before or behind this one."""
        theirs, ours = (
            [part.program for part in plan.parts if isinstance(part, NativePart)] for plan in (other, self)
        )
        for one in ours if theirs else ():
            one.share_arena(theirs[0])

    def run(self, arrays: list[Any]) -> Any:
        """Return what the graph gives for these arrays; None where only the ops themselves say what it is."""
        if self.whole is not None:
            program, names = self.whole
            found = program.run(arrays)
            return None if found is None else new(found[0], names)
        if self.alone is not None:
            found = self.values(arrays)
            if found is None:
                return None
            each = iter(found)
            outputs = filled(self.gives, lambda value: new(next(each), self.names.get(value)))
            return outputs[0] if self.single else outputs
        known = dict(zip(self.takes, arrays, strict=True))
        for part, ends in zip(self.parts, self.ends, strict=True):
            if isinstance(part, NativePart):
                if not part.run(known):
                    return None
            else:
                self._run_op(part.node, known)
            for value in ends:
                known.pop(value, None)
        # What is the same in each call is a copy all the same, as a call gives what nobody else has.
        outputs = filled(
            self.gives,
            lambda value: self.held[value].clone() if value in self.held else self._tensor(value, known),
        )
        return outputs[0] if self.single else outputs

    def values(self, arrays: list[Any], fixed: bool = False) -> list[Any] | None:
        """Return the arrays of what the graph gives, one after another, as `run` puts them together.

        Numbers of parameters are looked at in each run, or only in the first where they are `fixed` for all.
        """
        if self.alone is not None:
            # The way of what is trained, whose small steps take no longer than this does.
            program, taken, given = self.alone
            found = program.run([arrays[i] for i in taken], self._fixed if fixed and self.seen else [])
            self.seen = self.seen or found is not None
            return None if found is None else [found[i] for i in given]
        result = self.run(arrays)
        return None if result is None else [one.payload for one in tensors_in((result,))]

    def _tensor(self, value: Value, known: dict[Value, Any]) -> Any:
        if value in self.held:
            return self.held[value]
        found = known[value]
        # Seeds are numbers.
        return new(found, self.names.get(value)) if type(found) is not int else found

    def _run_op(self, node: Node, known: dict[Value, Any]) -> None:
        def size(one: Any) -> Any:
            return evaluate(one, self.sizes)

        def tensor(value: Value) -> Any:
            return self._tensor(value, known)

        inputs, params = filled(node.inputs, tensor, size), filled(node.params, tensor, size)
        result = node.callee(*inputs, **params)
        several = (result,) if len(node.outputs) == 1 else result
        for value, one in zip(node.outputs, several, strict=True):
            known[value] = one.payload


def as_ops(graph: Graph, sizes: Mapping[Symbol, int]) -> Plan:
    """Return a plan in which every node is run by its op's own kernel, whatever the numbers are."""
    parts: list[NativePart | EagerPart] = [EagerPart(node, "every op runs by itself") for node in graph.nodes]
    return _plan(graph, parts, sizes)


def _plan(graph: Graph, parts: list[NativePart | EagerPart], sizes: Mapping[Symbol, int]) -> Plan:
    names = {value: value.tensor.dims.names for value in graph.values() if isinstance(value.type, TensorType)}
    return Plan(
        parts, [*graph.inputs, *graph.parameters, *graph.seeds], graph.outputs, graph.single, dict(graph.constants),
        {value: one for value, one in names.items() if any(one)}, sizes, _ends(graph, parts),
        parameters=frozenset(graph.parameters),
    )  # fmt: skip


def _ends(graph: Graph, parts: list[NativePart | EagerPart]) -> list[list[Value]]:
    """For each part, the values that are read by none behind it."""
    kept = set(values_in(graph.outputs))
    ends: list[list[Value]] = []
    for part in reversed(parts):
        read = list(part.inputs) if isinstance(part, NativePart) else list(part.node.values)
        ends.append([one for one in dict.fromkeys(read) if one not in kept])
        kept.update(read)
    return ends[::-1]


class Lowering:
    """What is known while a graph is lowered: the program that is being written, and where each value is in it."""

    def __init__(
        self,
        graph: Graph,
        sizes: Mapping[Symbol, int],
        store: Any,
        rules: Callable[[Node], Rule | None],
        held: Collection[Value] = (),
        lying: Mapping[Value, Any] | None = None,
    ) -> None:
        self.graph, self.sizes, self.rule = graph, sizes, rules
        self.held = frozenset(held)
        self.lying: dict[Value, Any] = dict(lying or {})
        """How values lie that come from another program as they lay there."""
        self.given_lying: dict[Value, Any] = {}
        """How those of `held` lie that a program gives."""
        self.store = store
        self.constants = {value: tensor.payload for value, tensor in graph.constants.items()}
        self.codings: dict[Value, Coding] = {}
        """What the codes of values stand for, as far as it is known."""
        self.keys = {value: number for number, value in enumerate(self.constants)}
        """Numbers by which the store knows constants: the graph is the same for all sizes."""
        self.chains: dict[Node, Any] = {}
        """Nodes that are chains: the interpreter's, and what it reads."""
        found = list(map(group_of, graph.nodes))
        for group in found:
            for node in group.nodes:
                coding = coding_of(node, self.codings)
                if coding is not None:
                    self.codings[node.outputs[0]] = coding
        self.groups = in_stretches(found, set(graph.given()), lambda one: not self._refusal(one))
        self.last: dict[Value, int] = {}
        """The number of the last group that reads a value."""
        self.readers: dict[Value, list[Node]] = {}
        for number, group in enumerate(self.groups):
            for node in group.nodes:
                for value in node.values:
                    self.last[value] = number
                    self.readers.setdefault(value, []).append(node)
        for value in values_in(graph.outputs):
            self.last[value] = len(self.groups)
        self.together: dict[Value, list[Value]] = {}
        """Values that share memory."""
        self.all_made: set[Value] = set()
        """What a step, or an op, made already."""
        self.now = 0
        self.parts: list[NativePart | EagerPart] = []
        self._begin()

    def _begin(self) -> None:
        self.program = native.compiled.Program(self.store)
        self.part = NativePart(self.program)
        self.slots: dict[Value, int] = {}
        self.wide: dict[Value, int] = {}
        """Places of planes as the whole numbers that all others read."""
        self.made: list[Value] = []

    # ------------------------------------------------------------------------------------- what rules ask

    def shape(self, value: Value) -> tuple[int, ...]:
        """Return the sizes of a value; a seed has none."""
        if not isinstance(value.type, TensorType):
            return ()
        return tuple(evaluate(one, self.sizes) for one in value.tensor.sizes)

    def params(self, node: Node) -> dict[str, Any]:
        """Return the parameters of a node, with numbers for sizes."""
        return filled(node.params, lambda value: value, lambda one: evaluate(one, self.sizes))  # type: ignore[no-any-return]

    def constant(self, operand: Any) -> np.ndarray[Any, Any] | None:
        """Return the numbers of a constant of floats, lying row by row; None of anything else."""
        array = self.constants.get(operand) if isinstance(operand, Value) else None
        if array is None or array.dtype not in (np.float32, BFLOAT16):
            return None
        return np.ascontiguousarray(array)

    def needed(self, operand: Any) -> np.ndarray[Any, Any]:
        """Return the numbers of what must be a constant."""
        array = self.constant(operand)
        if array is None:
            raise NotLowered("its weights are no constants of float32 or bfloat16")
        return array

    def coded(self, value: Any) -> Coding:
        """Return what the codes of a value stand for."""
        if value not in self.codings:
            raise NotLowered("nobody says what the codes stand for that it reads, or gives")
        return self.codings[value]

    def slot(self, value: Any) -> int:
        """Return where a value is in the program; what comes from elsewhere becomes an input of it."""
        if not isinstance(value, Value):
            raise NotLowered(f"an operand is {value!r}, and no tensor")
        found = self.places(value)
        if type_name(value) != "int64" or self.program.type(found) == "int64":
            return found
        if value not in self.wide:
            self.wide[value] = self.program.widened(found)
        return self.wide[value]

    def places(self, value: Value) -> int:
        """Return where a value is, as `slot` does, for steps that read places of planes in four bytes too."""
        if value in self.slots:
            return self.slots[value]
        name = type_name(value)
        if name not in KEPT:
            raise NotLowered(f"it reads {name}; steps read {', '.join(KEPT)}")
        if value in self.constants:
            array = self.constants[value]
            if type(array) is not np.ndarray:
                raise NotLowered("a constant has no plain array")
            self.slots[value] = self.program.constant(self.keys[value], np.ascontiguousarray(array), name)
        elif value in self.lying:
            self.slots[value] = self.program.input_lying(self.lying[value])
            self.part.inputs.append(value)
        else:
            # What a kernel made of planes lies channels-last, what is given mostly row by row.
            last = value.node is not None and len(self.shape(value)) == 4
            self.slots[value] = self.program.input(self.shape(value), name, last)
            self.part.inputs.append(value)
        return self.slots[value]

    def give(self, value: Value, slot: int) -> None:
        """Note where a value is, if anything reads it; a rule may do so for what another node would give."""
        if value in self.last:
            self.slots[value] = slot
            self.made.append(value)
            self.all_made.add(value)

    def is_free(self, value: Value) -> bool:
        """Say whether a step may write over a value: nothing reads it, or what shares its memory, behind this group."""
        alike = self.together.get(value, [value])
        return all(
            self.last.get(one, -1) <= self.now and one not in self.part.inputs and one not in self.constants
            for one in alike
        )

    def rectified(self, value: Value) -> Value | None:
        """Return what a relu gives of a value that nothing else reads: a step may do both at once."""
        readers = self.readers.get(value, [])
        if len(readers) != 1 or readers[0].op is not ops.relu or self.last[value] == len(self.groups):
            return None
        return readers[0].outputs[0]

    def is_seen(self, value: Value, node: Node) -> bool:
        """Say whether a node reads a value, or what shares its memory."""
        alike = self.together.get(value, [value])
        return any(one in alike for one in node.values)

    def views(self, of: Value, value: Value) -> None:
        """Note that two values share memory."""
        together = self.together.setdefault(of, [of])
        together.append(value)
        self.together[value] = together

    # ------------------------------------------------------------------------------------------ all of it

    def all(self) -> Plan:
        """Lower every group, and return the plan."""
        for number, group in enumerate(self.groups):
            self.now = number
            refusal = self._lower(group)
            if refusal:
                self._end()
                self._expect_none_lying(group)
                self.parts += [EagerPart(node, refusal) for node in group.nodes]
                self.all_made.update(value for node in group.nodes for value in node.outputs)
                self._begin()
        self.now = len(self.groups)
        self._end()
        plan = _plan(self.graph, self.parts, self.sizes)
        plan.lying = self.given_lying
        # As they lie, values have one dim.
        plan.names = {value: one for value, one in plan.names.items() if value not in self.given_lying}
        return plan

    def _expect_none_lying(self, group: Group) -> None:
        lying = [value.name for node in group.nodes for value in node.values if value in self.lying]
        if lying:
            raise NotLowered(f"{', '.join(lying)} is given as it lies, and read by an op without a step")

    def _lower(self, group: Group) -> str:
        """Add the steps of a group to the program; return why there are none, or nothing."""
        node = group.nodes[0]
        refusal = self._refusal(group)
        if refusal:
            return refusal
        outputs = group.nodes[-1].outputs
        if all(one in self.all_made for one in outputs):
            return ""  # by the step of another node
        if node in self.chains:
            self._lower_chain(node)
            return ""
        try:
            rule = self.rule(node)
            assert rule is not None  # else `_refusal` says so
            found = rule(self, group)
        except NotLowered as refusal:
            return str(refusal)
        # oneDNN has not every step on every processor.
        except RuntimeError as refusal:
            return f"there is no such step here: {refusal}"
        slots = [found] if isinstance(found, int) else found
        # Results that are only there for gradients.
        if any(one in self.last for one in outputs[len(slots) :]):
            return f"more than the first result of {called(node.callee)} is read"
        # Bytes alone would be numbers to whoever is given them.
        if any(is_coded(one) and one not in self.codings for one in outputs):
            return "nobody says what the codes stand for that it gives"
        for value, slot in zip(outputs, slots, strict=False):
            # Windows that begin in the padding, and whatever else a rule did not think of.
            if tuple(self.program.shape(slot)) != self.shape(value):
                return f"its step would give {list(self.program.shape(slot))}"
            # Operands of several types, of which the op makes one.
            if self.program.type(slot) not in (type_name(value), *_NARROWER.get(type_name(value), ())):
                return f"its step would give {self.program.type(slot)}"
        for value, slot in zip(outputs, slots, strict=False):
            self.give(value, slot)
        return ""

    def _refusal(self, group: Group) -> str:
        """Return why a group can have no steps, as far as that shows beforehand."""
        node = group.nodes[0]
        if any(map(is_coded, (*node.values, *node.outputs))):
            return "" if self.rule(node) else f"{called(node.callee)} has no step on codes"
        if node.op is None or self.rule(node) is None or not _is_cast(node):
            found = chain_of(node, lambda one: evaluate(one, self.sizes))
            if found is None:
                return f"{called(node.callee)} has no step"
            self.chains[node] = found
            return ""
        values = [one for one in node.values if isinstance(one.type, TensorType)]
        if len(values) < len(node.values) and node.op not in DRAWING:
            return "it draws by a seed"
        known: tuple[str, ...] = STORED if node.op in MOVES else ("float32",)
        if node.op is ops.to or (node.op in NARROW and multiplies_bfloat16()):
            known = ("float32", "bfloat16")
        # Whole numbers among the operands of these are places, or classes.
        known = (*known, "int64") if node.op in _PLACES else known
        for one in (group.output, *values):
            if type_name(one) not in known:
                return f"it has no step in {type_name(one)}"
        read = values if node.op.name in _WITHOUT_DIMS else (group.output, *values)
        if node.op not in _ANY_DIMS and any(not self.shape(one) for one in read):
            return "it computes with a value without dims"
        if node.op not in MOVES and not all(
            math.prod(self.shape(one)) for one in (group.output, *node.values)
        ):
            return "it computes with an empty value"
        return ""

    def _lower_chain(self, node: Node) -> None:
        """Add elementwise ops as one step."""
        chain, values = self.chains[node]
        sizes = self.shape(node.outputs[0])
        # Over what is read for the last time here, where it lies as the result does.
        over = next((i for i, one in enumerate(values) if self.shape(one) == sizes and self.is_free(one)), -1)
        slots = self.program.chain(chain, [self.slot(one) for one in values], list(sizes), over)
        for value, slot in zip(node.outputs, slots, strict=True):
            self.give(value, slot)

    def _end(self) -> None:
        """Close the program: it gives what is read behind it."""
        self.part.outputs = [one for one in self.made if self.last.get(one, -1) >= self.now]
        self.part.coded = {one: self.codings[one] for one in self.part.outputs if one in self.codings}
        if self.part.outputs:
            held = [one in self.held and one in self.slots for one in self.part.outputs]
            slots = [
                self.program.gathered(self.slots[one]) if lies else self.slot(one)
                for one, lies in zip(self.part.outputs, held, strict=True)
            ]
            self.given_lying |= {
                value: self.program.lies(slot)
                for value, slot, lies in zip(self.part.outputs, slots, held, strict=True)
                if lies
            }
            self.program.finish(slots, held)
            self.parts.append(self.part)


def _is_cast(node: Node) -> bool:
    """Say whether a node makes bfloat16 of float32, or the other way round, if it makes one type of another at all."""
    names = {type_name(node.values[0]), type_name(node.outputs[0])} if node.op is ops.to else set()
    return node.op is not ops.to or names == {"float32", "bfloat16"}


def lowered(
    graph: Graph,
    sizes: Mapping[Symbol, int],
    store: Any,
    rules: Callable[[Node], Rule | None],
    held: Collection[Value] = (),
    lying: Mapping[Value, Any] | None = None,
) -> Plan:
    """Return the plan of a graph for these sizes.

    Results among `held` are for another plan only, and are given as they lie: `Plan.lying` says how. That plan is made
    with it as `lying`, by its own values. Raises `NotLowered` where an op that has no step reads one of these.
    """
    return Lowering(graph, sizes, store, rules, held, lying).all()

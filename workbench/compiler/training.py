"""A compiled function that is trained: a program for the call, another for its gradient, and one call on the tape.

What a call computes and what its gradient does are made of one graph (`halves.py`). Parameters are inputs of both, read
anew each time. On the tape a call is one node: its inputs are the arguments, the parameters, and what was saved, so
that versions are watched, hooks called and memory let go as for any op.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.autograd import grad
from workbench.autograd.custom_function_calls import recorded_op
from workbench.base.errors import AutogradError, DimensionError
from workbench.base.size_expressions import Symbol, evaluate
from workbench.compiler.chain_groups import fuse_chains
from workbench.compiler.groups import fuse_layers
from workbench.compiler.halves import Halves, bytes_of, halved
from workbench.compiler.lowering import NotLowered, Plan, as_ops, lowered
from workbench.compiler.masks import with_masks
from workbench.compiler.rules import rule_of
from workbench.core.dispatch import enable_grad, grad_enabled
from workbench.core.inplace import overwrite
from workbench.core.op import Saves, ops
from workbench.core.tape import Call, record
from workbench.core.value import Abstract, new
from workbench.graph.arguments import tensors_in
from workbench.graph.binding import Binding
from workbench.graph.blocks import GraphError, Value, filled, values_in
from workbench.graph.interpreter import run_apart
from workbench.graph.ir import Graph
from workbench.graph.passes import common_subexpressions, dead_code, peephole
from workbench.graph.passes.differentiate import Joined, joined
from workbench.graph.types import TensorType
from workbench.kernels.loader import native
from workbench.ops.random.counter_based import seed_from

__all__ = ["Trained", "TrainedPlan"]

MOST_PLANS = 16
"""Sets of sizes that are kept: of more, the one that was not used for longest goes."""


@dataclass
class _Backward:
    """What a gradient does where gradients arrive for some of the results."""

    graph: Graph
    """Before ops are put together, for numbers that steps do not take."""
    fused: Graph
    joint: Graph
    names: tuple[str, ...]
    """Of what is saved, in the order in which the graph takes it."""
    again: tuple[str, ...]
    zeros: bool = False
    """True where gradients that do not arrive are given as zeros."""


class Trained:
    """What was made of a function for one kind of arguments: both halves, for all sizes."""

    def __init__(self, graph: Graph, wanted: Sequence[str], fixed: bool = False) -> None:
        self.graph = graph
        self.wanted = tuple(wanted)
        made = joined(graph, self.wanted)
        self.asks = made.asks
        """For each tensor of the result that can have a gradient, whether one goes on from it."""
        self.fixed = fixed
        """Whether parameters are what they are: the gradients are those of arguments alone. Whoever calls has looked
        that no number has changed since it was made."""
        self.joint, masks = self._with_masks(made)
        halves = halved(self.joint, early=masks)
        self.saved = halves.saved
        self.forward = halves.forward
        # Where weights do not learn, what follows a convolution is done in its step: nothing else reads its result.
        layers = fuse_layers(halves.forward, given=True) if fixed else halves.forward
        self.fused = fuse_chains(layers)
        self.updated = [value.name for value in self.joint.updates]
        self.tensors = {
            value.name: tensor
            for value, tensor in (*graph.parameters.items(), *self.joint.parameters.items())
        }
        """Parameters and buffers that are read or changed, by their names in the graph."""
        self.store = native.compiled.Store()
        self.backwards: dict[tuple[bool, ...], _Backward] = {}
        every = tuple(True for one in self.asks if one)
        self.backwards[every] = self._backward(self.joint, halves)
        self.plans: OrderedDict[Any, TrainedPlan] = OrderedDict()
        self.lock = threading.RLock()
        self._name_places()

    def _backward(self, joint: Graph, halves: Halves, zeros: bool = False) -> _Backward:
        return _Backward(
            halves.backward, fuse_chains(halves.backward), joint, halves.saved, halves.again, zeros
        )

    def _with_masks(self, made: Joined) -> tuple[Graph, tuple[str, ...]]:
        joint = _simplified(made)
        # Where weights learn most of what is rectified is kept for their gradients.
        return with_masks(joint) if self.fixed else (joint, ())

    def _name_places(self) -> None:
        """Say where what is recorded lies: arguments, parameters, what is saved; and which of it the gradient reads."""
        results = list(values_in(self.forward.outputs[0]))
        ends = [one for one in results if isinstance(one.type, TensorType) and one.type.dtype.kind in "fcV"]
        asking = [one.name for one, asks in zip(ends, self.asks, strict=True) if asks]
        self.recorded = [i for i, one in enumerate(results) if one.name in asking]
        """Which tensors of the result are on the tape."""
        self.returned = [one.name for one in results]
        self.single = isinstance(self.forward.outputs[0], Value)
        self.names = [names if any(names) else None for names in (one.tensor.dims.names for one in results)]
        """Names of the dims of each tensor of the result."""
        self.out_of = {name: i for i, name in enumerate(asking)}
        """Results on the tape that the gradient may read, by name."""
        inputs = [value.name for value in self.graph.inputs]
        every = next(iter(self.backwards.values()))
        read = {value for node in every.graph.nodes for value in node.values}
        self.stale = [
            value.name for value in every.graph.parameters if value in read and value.name in self.updated
        ]
        """Buffers that the call changes and of which the gradient reads what they were."""
        self.shown = {i: self.returned.index(one) for i, one in enumerate(self.saved) if one in self.returned}
        """Where what is saved is returned too: its place among the results, by that among what is saved."""
        self.beside = [i for i, one in enumerate(self.saved) if one not in self.out_of]
        """Positions of what is saved and is no result on the tape."""
        held = [name for name in self.tensors if name not in self.updated or name in self.wanted]
        kept = [name for name in self.saved if name not in self.out_of]
        self.places = {
            name: i
            for i, name in enumerate([*inputs, *held, *(f"saved {one}" for one in (*kept, *self.stale))])
        }
        """Positions among the inputs of the recorded call, by name."""
        self.held, self.kept = held, kept
        names = [
            value.name for value in read if value in set(every.graph.inputs) | set(every.graph.parameters)
        ]
        reads = [self.places[name] for name in names if name in self.places and name not in self.stale]
        reads += [self.places[f"saved {one}"] for one in (*kept, *self.stale)]
        outs = tuple(self.out_of[name] for name in self.saved if name in self.out_of)
        self.op = recorded_op(
            "compiled", self._gradient, len(asking),
            Saves(tuple(sorted(set(reads))), output=bool(outs), outputs=outs), None,
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------------- a call

    def call(self, tensors: Sequence[Any], threads: int, records: bool = True) -> Any:
        """Return what the function gives, on the tape if it `records`.

        Raises `DimensionError` where it was made for other sizes.
        """
        payloads = [one.payload for one in tensors]
        plan = self._plan((threads, *[one.shape for one in payloads]), tensors)
        seeds = {value.name: self._drawn(value, plan.sizes) for value in self.joint.seeds}
        held = [self.tensors[value.name].payload for value in self.fused.parameters]
        given = [*payloads, *[None] * (len(self.fused.inputs) - len(payloads)), *held, *seeds.values()]
        # Finite or not, what comes of it is the same for the tape.
        found = plan.forward.values(given, self.fixed)
        plain = found is None
        if found is None:
            found = plan.forward_by_ops(self).values(given)
            assert found is not None
        count = len(self.returned)
        saved = found[count + len(self.updated) :]
        several = found[:count]
        if plain or plan.forward.alone is None:
            hidden = [one for i, one in enumerate(saved) if i not in self.shown]
            several = _owned(several, [*payloads, *held, *hidden])
        results = [new(one, names) for one, names in zip(several, self.names, strict=True)]
        stale = [new(self.tensors[name].payload.copy()) for name in self.stale]
        for name, numbers in zip(self.updated, found[count:], strict=False):
            overwrite(self.tensors[name], "update", numbers)
        if self.recorded and records:
            # What is returned and has no gradient is still watched by the version that its owner sees.
            extra = [results[self.shown[i]] if i in self.shown else new(saved[i]) for i in self.beside]
            inputs = (*tensors, *[self.tensors[name] for name in self.held], *extra, *stale)
            record(
                self.op, inputs, {"plan": plan, "seeds": seeds, "lying": {} if plain else plan.lying},
                tuple([results[i] for i in self.recorded]),
            )  # fmt: skip
        if self.single:
            return results[0]
        each = iter(results)
        return filled(self.forward.outputs[0], lambda value: next(each))

    def _drawn(self, value: Value, sizes: Any) -> Any:
        drawn = self.joint.noise.get(value)
        return seed_from() if drawn is None else drawn.drawn(lambda one: evaluate(one, sizes)).payload

    # --------------------------------------------------------------------------------------------- its gradient

    def _gradient(self, call: Call, *gradients: Any) -> tuple[Any, ...]:
        """Return gradients for what the call was given."""
        if grad_enabled():
            return self._gradient_on_tape(call, gradients)
        plan: TrainedPlan = call.params["plan"]
        arriving = tuple([one is not None for one in gradients])
        lowered_one = plan.backward(self, arriving)
        given = self._given(call, gradients, lowered_one)
        found = lowered_one.values(given, call.params["lying"], self.fixed)
        made: list[Any] = [None] * len(call.inputs)
        needs = call.needs
        for name, one in zip(lowered_one.given, found, strict=True):
            place = self.places[name]
            made[place] = new(one) if needs[place] else None
        return tuple(made)

    def _given(self, call: Call, gradients: Sequence[Any], lowered_one: LoweredBackward) -> list[Any]:
        """Return what a backward program takes."""
        backward, arriving = lowered_one.backward, iter(gradients)
        given: list[Any] = []
        count = len(self.graph.inputs)
        given += [one.payload for one in call.inputs[:count]]
        for asks, shape in zip(self.asks, lowered_one.gradient_sizes, strict=True):
            one = next(arriving) if asks else None
            if one is None and backward.zeros:
                given.append(np.zeros(shape[0], shape[1]))
            else:
                given.append(None if one is None else one.payload)
        for name in backward.names:
            if name in self.out_of:
                given.append(call.outs[self.out_of[name]].payload)
            else:
                given.append(call.inputs[self.places[f"saved {name}"]].payload)
        for value in backward.fused.parameters:
            key = f"saved {value.name}" if value.name in self.stale else value.name
            given.append(call.inputs[self.places[key]].payload)
        given += [call.params["seeds"][value.name] for value in backward.fused.seeds]
        return given

    def _gradient_on_tape(self, call: Call, gradients: Sequence[Any]) -> tuple[Any, ...]:
        """Return gradients that can be differentiated again: the function is run once more, op by op."""
        numbers: dict[str, Any] = {}
        for name, place in self.places.items():
            one = call.inputs[place]
            if name.startswith("saved "):
                continue
            if isinstance(one.payload, Abstract):
                raise AutogradError(
                    f"the gradient of a compiled function was asked for with create_graph=True, and {name}, which its "
                    "first gradient does not read, was let go. Call the function as it is written (without "
                    "wb.compile) where gradients of gradients are wanted."
                )
            # Each on a place of its own: the same tensor may have been given twice.
            numbers[name] = ops.clone(one) if name in self.wanted else one
        numbers |= {name: call.inputs[self.places[f"saved {name}"]] for name in self.stale}
        graph = self.graph.copy()
        graph.takes = ()
        graph.parameters = {
            value: numbers.get(value.name, tensor) for value, tensor in graph.parameters.items()
        }
        drawn = call.params["seeds"].values()
        seeds = {
            value.name: one if type(one) is int else new(one)
            for value, one in zip(graph.seeds, drawn, strict=True)
        }
        result, _ = run_apart(graph, *[numbers[value.name] for value in graph.inputs], seeds=seeds)
        results = list(tensors_in((result,)))
        pairs = [
            (results[i], one) for i, one in zip(self.recorded, gradients, strict=True) if one is not None
        ]
        asked = [name for name in self.wanted if call.needs[self.places[name]]]
        found = grad(
            [one for one, _ in pairs], [numbers[name] for name in asked], [one for _, one in pairs],
            create_graph=True, allow_unused=True,
        )  # fmt: skip
        made: list[Any] = [None] * len(call.inputs)
        for name, gradient in zip(asked, found, strict=True):
            made[self.places[name]] = gradient
        return tuple(made)

    # -------------------------------------------------------------------------------------------------- plans

    def _plan(self, sizes: Any, tensors: Sequence[Any]) -> TrainedPlan:
        plan = self.plans.get(sizes)
        if plan is not None:
            return plan
        with self.lock:
            plan = self.plans.get(sizes)
            if plan is None:
                plan = self.plans[sizes] = TrainedPlan(self, tensors)
                while len(self.plans) > MOST_PLANS:
                    self.plans.popitem(last=False)
            return plan

    def backward_for(self, arriving: tuple[bool, ...]) -> _Backward:
        """Return what the gradient does where gradients arrive so."""
        with self.lock:
            found = self.backwards.get(arriving)
            if found is None:
                found = self.backwards[arriving] = self._made_for(arriving)
            return found

    def _made_for(self, arriving: tuple[bool, ...]) -> _Backward:
        several = iter(arriving)
        goes_on = [asks and next(several) for asks in self.asks]
        try:
            # A gradient runs with nothing recorded.
            with enable_grad():
                joint, masks = self._with_masks(joined(self.graph, self.wanted, goes_on))
            return self._backward(joint, halved(joint, self.saved, masks))
        except GraphError:
            # More would have to be kept than is: zeros in the place of what does not arrive.
            every = next(iter(self.backwards.values()))
            return _Backward(every.graph, every.fused, every.joint, every.names, every.again, zeros=True)


class TrainedPlan:
    """Both halves for given sizes."""

    def __init__(self, trained: Trained, tensors: Sequence[Any]) -> None:
        binding = Binding(trained.graph, {})
        binding.begin(tensors)
        ends = [value for value in values_in(trained.graph.outputs) if _has_gradient(value)]
        self.gradient_sizes = [
            (tuple(evaluate(one, binding.sizes) for one in value.tensor.sizes), value.tensor.dtype)
            for value in ends
        ]
        self.tensors = [new(Abstract(one.payload.shape, one.payload.dtype)) for one in tensors]
        self.sizes = self.bound(trained.joint)
        self._forward_by_ops: Plan | None = None
        self._backwards: dict[tuple[bool, ...], LoweredBackward] = {}
        self.lying: dict[str, Any] = {}
        """How what is saved lies, by name, where it goes to the second half as it lies."""
        self._forward_made: Plan | None = None
        self.forward = self._forward_made = self._forward(trained)
        # For whatever sizes, calls of one thread come one after another.
        for other in list(trained.plans.values())[:1]:
            self.forward.share_arena(other.forward)
        for one in self.backwards:
            one.plan.share_arena(self.forward)
        kept = zip(trained.saved, values_in(trained.forward.outputs[2]), strict=True)
        self.saved_bytes = sum(one.bytes for one in self.lying.values()) + bytes_of(
            [value for name, value in kept if name not in self.lying], lambda one: evaluate(one, self.sizes)
        )

    def _forward(self, trained: Trained) -> Plan:
        """Return the first half; what it saves is given as it lies where the second half is a program too."""
        fused = trained.fused
        result, updates, saved = fused.outputs
        seen = {*values_in(result), *values_in(updates)}
        names = {value: name for name, value in zip(trained.saved, saved, strict=True) if value not in seen}
        held = _fitting(trained.forward, fused, self.sizes, trained.store, names)
        self.lying = {names[value]: lies for value, lies in held.lying.items()}
        every = next(iter(trained.backwards))
        if not self.lying or self.backward(trained, every).takes_lying:
            return held
        # It is run op by op, and reads arrays.
        self._backwards.clear()
        self.lying = {}
        return _fitting(trained.forward, fused, self.sizes, trained.store)

    def bound(self, joint: Graph) -> dict[Symbol, Any]:
        """Return what the sizes of a joint graph are for these arguments."""
        binding = Binding(joint, {})
        gradients = [new(Abstract(*one)) for one in self.gradient_sizes]
        binding.begin([*self.tensors, *gradients])
        return binding.sizes

    def forward_by_ops(self, trained: Trained) -> Plan:
        """Return the first half op by op, for numbers that are not finite."""
        if self._forward_by_ops is None:
            self._forward_by_ops = as_ops(trained.forward, self.sizes)
        return self._forward_by_ops

    def backward(self, trained: Trained, arriving: tuple[bool, ...]) -> LoweredBackward:
        """Return the second half for the gradients that arrive."""
        found = self._backwards.get(arriving)
        if found is None:
            with trained.lock:
                found = self._backwards.get(arriving)
                if found is None:
                    found = self._backwards[arriving] = LoweredBackward(trained, self, arriving)
                    if self._forward_made is not None:
                        found.plan.share_arena(self._forward_made)
        return found

    @property
    def backwards(self) -> list[LoweredBackward]:
        """The second halves that were made."""
        return list(self._backwards.values())


class LoweredBackward:
    """The second half for given sizes and given results that gradients arrive at."""

    def __init__(self, trained: Trained, plan: TrainedPlan, arriving: tuple[bool, ...]) -> None:
        self.backward = trained.backward_for(arriving)
        try:
            self.sizes = plan.bound(self.backward.joint)
        except DimensionError:
            raise AssertionError("the gradient of a part decides more by sizes than that of all") from None
        self.gradient_sizes = plan.gradient_sizes
        fused, lying = self.backward.fused, plan.lying
        # Saved values stand behind the other inputs.
        saved = fused.inputs[len(fused.inputs) - len(self.backward.names) :]
        self.saved = dict(zip(self.backward.names, saved, strict=True))
        given = {value: lying[name] for name, value in self.saved.items() if name in lying}
        try:
            # A store knows constants by their numbers in one graph.
            store = native.compiled.Store()
            self.plan = _fitting(self.backward.graph, fused, self.sizes, store, lying=given)
        except NotLowered:
            self.plan = as_ops(self.backward.graph, self.sizes)
        self.takes_lying = not self.plan.eager and bool(lying)
        wanted = zip(trained.wanted, fused.outputs, strict=True)
        self.given = [name for name, value in wanted if value is not None]
        """Names of what gets a gradient; nothing goes on to the others."""
        self._by_ops: Plan | None = None

    def values(self, given: list[Any], lying: Mapping[str, Any], fixed: bool = False) -> Any:
        """Return the gradients, where what was saved lies so; the plan takes all of it as it lies, or nothing."""
        found = self.plan.values(given, fixed) if self.takes_lying == bool(lying) else None
        if found is not None:
            return found
        first = len(self.backward.fused.inputs) - len(self.saved)
        given = list(given)
        for i, name in enumerate(self.backward.names, first):
            if name in lying:
                given[i] = lying[name].unpacked(given[i])
        return self.by_ops().values(given)

    def by_ops(self) -> Plan:
        """Return it op by op, for numbers that are not finite."""
        if self._by_ops is None:
            self._by_ops = as_ops(self.backward.graph, self.sizes)
        return self._by_ops


def _simplified(made: Joined) -> Graph:
    graph = made.graph
    for one in (peephole, common_subexpressions, dead_code):
        graph = one(graph)
    return graph


def _has_gradient(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype.kind in "fcV"


def _owned(arrays: list[Any], others: list[Any]) -> list[Any]:
    """Return results with memory of their own, where an op gave a view or what it was given; a program's have it."""
    seen = {id(one) for one in others}
    owned: list[Any] = []
    for one in arrays:
        array = one
        if type(one) is np.ndarray and (id(one) in seen or isinstance(one.base, np.ndarray)):
            array = one.copy()
        owned.append(array)
        seen.add(id(array))
    return owned


def _fitting(
    graph: Graph,
    fused: Graph,
    sizes: Mapping[Symbol, Any],
    store: Any,
    held: Collection[Value] = (),
    lying: Mapping[Value, Any] | None = None,
) -> Plan:
    """Return a half as one program, where all of it has steps; else op by op."""
    plan = lowered(fused, sizes, store, rule_of, held, lying)
    # Between programs and ops values are turned to rows and back, which takes longer than the steps save.
    return as_ops(graph, sizes) if plan.eager else plan

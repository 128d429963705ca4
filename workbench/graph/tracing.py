"""Tracing: run a function once on values that have dims and types but no numbers, and note every op."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from typing import Any

import numpy as np

from workbench.base import events
from workbench.base.collector import collector_at_rest
from workbench.base.dims import Names
from workbench.base.errors import NoNumbersError
from workbench.base.size_guards import SizeScope
from workbench.base.source_location import calling_frame, place
from workbench.base.symbolic_size import SymbolicNumber
from workbench.core import scope
from workbench.core.dispatch import apply, find, grad_enabled, interpreting, without_numbers
from workbench.core.op import Op, ops
from workbench.core.tape import leaf_of
from workbench.core.value import Abstract, dims_of, labelled, new
from workbench.graph.arguments import input_names, stand_in, structure, tensors_in
from workbench.graph.blocks import GraphError, Node, Value, filled
from workbench.graph.draws import Noise
from workbench.graph.ir import Graph
from workbench.graph.repeating import check_repeats
from workbench.graph.sizes import kept, meets, shown, today
from workbench.graph.state import Attributes, Draws, Held, Surroundings
from workbench.graph.types import symbolic, type_of
from workbench.tensor import Tensor

__all__ = ["Traced", "prepared", "trace"]

Example = Tensor | Mapping[str, int] | Sequence[Any] | Mapping[Any, Any]


class Traced(Abstract):
    """The payload of a traced tensor: a shape, a type, and its value in the graph of its tracer."""

    __slots__ = ("tracer", "value")

    called = "a value of a graph, without numbers"

    def replaces(self, target: Any) -> bool:
        """Say whether `target` is a tensor of the traced module, of which the graph keeps what it becomes."""
        return self.tracer.active and self.tracer.module.has(target)

    def __init__(self, value: Value, tracer: Tracer) -> None:
        super().__init__(shown(value.tensor.sizes, tracer.sizes), value.tensor.dtype)
        # The shape is that of the trace: sizes that meet Python's code note what it decides by them.
        self.value = value
        self.tracer = tracer


class Tracer:
    """The interpreter that writes a graph: of ops on traced values, and on the tensors of the traced module.

    All other ops are run by the interpreter below, and what comes of them is a constant where a traced op reads it.
    """

    def __init__(self, graph: Graph, function: Any, module: Any) -> None:
        self.graph = graph
        self.active = True
        # A trace inside a trace: its sizes are numbers to the outer one, and must not be mistaken for its own.
        around = find(Tracer)
        self.sizes: SizeScope = SizeScope(depth=0 if around is None else around.sizes.depth + 1)
        """What the function decides by sizes."""
        self.records_gradients = grad_enabled()
        self.held = _held(module)
        """Tensors of the module by the identity of their payload, with their dotted names."""
        buffers = {name for name, _ in module.named_buffers()} if module is not None else set()
        self.module = Held(self.held, buffers)
        self.around = Surroundings(function)
        self.attributes = Attributes(module)
        self.given: dict[Value, Tensor] = {}
        """What the function is given for each input."""
        self.stand_ins: dict[Value, Traced] = {}
        """The payloads of those, to see which of them the function changes."""
        self.draws = Draws(graph)
        self.constants: dict[int, tuple[Value, Any]] = {}
        """By the identity of a payload: its value, and the payload, so that the identity stays taken."""
        self.renamed: dict[tuple[Value, Names], Value] = {}
        self.ends: dict[Value, Value] = {}
        """For values that were computed without recording gradients: the node that says so, once one is needed."""
        self.unrecorded: set[Value] = set()
        self.gradients: dict[int, tuple[Tensor, Tensor | None]] = {}
        """Leaves that the function met, and the gradients they had before."""
        self.reads_learning = False
        """Whether a constant of the graph is a copy of what asks for gradients, which then end there."""
        self.watches = False
        """Whether somebody asks which call it was that an error came from; else nothing holds the error."""
        self.refused: tuple[Exception, Node] | None = None
        """The last call that its op refused, as a node without results."""
        self.alive = [tensor.payload for _, tensor in self.held.values()]
        """The payloads of the module, so that their identities stay taken whatever the function puts in their place."""
        for tensor in chain(
            (one for _, one in self.held.values()), (one for _, one, _ in self.around.tensors)
        ):
            self._meet(tensor)

    @property
    def writes_down(self) -> bool:
        """True where gradients are not recorded below a function that records them: nothing there is differentiated."""
        return self.records_gradients

    def __enter__(self) -> Tracer:
        return self

    def __exit__(self, *error: object) -> None:
        """Let go of what belongs to the trace alone: a value that is left over from it keeps nothing else alive."""
        for cache in (
            self.held, self.constants, self.renamed, self.ends, self.gradients, self.given, self.stand_ins, self.around,
        ):  # fmt: skip
            cache.clear()
        self.unrecorded.clear()
        self.alive.clear()

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Add a node for the call; its results have dims and types."""
        # An op on other tensors is no part of the graph: its result becomes a constant where it is read.
        mine = any(map(self._is_mine, inputs)) or meets(params, self.sizes)
        if not mine and not self.draws.among(params):
            return apply(op, *inputs, **params)
        operands = tuple(
            self.value_of(one) if isinstance(one, Tensor) else kept(one, self.sizes) for one in inputs
        )
        # The rules follow the operands as the caller names them. A size among them is a number like others.
        abstract = tuple(
            self._without_numbers(one, value) if isinstance(one, Tensor) else today(value)
            for one, value in zip(inputs, operands, strict=True)
        )
        # The rules get the parameters with sizes that keep guards, the node gets expressions.
        try:
            results = without_numbers(op, abstract, params)
        except Exception as error:
            if self.watches:
                self.refused = (
                    error,
                    Node(op, operands, kept(params, self.sizes), (), scope.current(), _place()),
                )
            raise
        params = {key: self.draws.value_of(one) for key, one in kept(params, self.sizes).items()}
        self._record(op, operands, params, results)
        return results

    def drew(self, seed: int, generator: Any) -> None:
        """Make an input of the graph of a seed that the function draws."""
        self.draws.drew(seed, generator)

    def noise(self, kind: str, sizes: Any, dtype: Any, arguments: Any, keywords: Any, generator: Any) -> Any:
        """Make an input of the graph of numbers that the function draws."""
        parts = kept((tuple(sizes), arguments, keywords), self.sizes)
        value = self.draws.noise(Noise(kind, parts[0], dtype, parts[1], parts[2]), generator)
        return new(Traced(value, self))

    def result(self, result: Any, inside: bool = False) -> Any:
        """Return what the function returns with values of the graph in the place of tensors."""
        if isinstance(result, Tensor):
            return self.value_of(result)
        # Named tuples come out as plain ones: the text of a graph knows no classes.
        if isinstance(result, tuple | list):
            made = [self.result(one, inside=True) for one in result]
            return made if isinstance(result, list) else tuple(made)
        if isinstance(result, dict):
            return {key: self.result(one, inside=True) for key, one in result.items()}
        # Beside tensors, as in a dict of results. Alone it would make a graph that computes nothing.
        if inside and (result is None or isinstance(result, str | bool)):
            return result
        raise GraphError(
            "a traced function returns tensors, or tuples, lists and dicts of them; "
            f"this one returned {type(result).__name__}"
        )

    def writes(self, target: Any, name: str) -> None:
        """Refuse a change of numbers that are there before the function runs: the graph would leave it out."""
        array = target.payload
        if not isinstance(array, np.ndarray):
            return
        # What buffers of the module become otherwise than by values of the graph is taken back at the end.
        if self.module.restores(target):
            return
        held = ((path, one) for path, one in self.held.values())
        for path, tensor in chain(held, ((path, one) for path, one, _ in self.around.tensors)):
            there = tensor.payload
            if isinstance(there, np.ndarray) and np.shares_memory(there, array):
                raise GraphError(f"{_before(_place())}{name} changes {path} in place, {_LEFT_OUT}")

    def note_updates(self) -> None:
        """Let the graph say what tensors of the module, and those that it was given, become."""
        for payload, tensor in self.module.changed():
            self.graph.updates[self._parameter(id(payload))] = self.value_of(tensor)
        for value, tensor in self.given.items():
            payload = tensor.payload
            if payload is not self.stand_ins[value] or tensor.names != value.tensor.dims.names:
                self.graph.updates[value] = self._after(value, tensor)

    def _after(self, value: Value, tensor: Any) -> Value:
        """Return what an input becomes; refuse one that another tensor was put in the place of."""
        now = self.value_of(tensor)
        if not value.type.accepts(now.type):
            raise GraphError(
                f"{_before(now.node.source if now.node is not None else '')}the traced function changes its input "
                f"{value.name} in place from {value.type} to {now.type}, and a graph changes numbers alone: write ops "
                "that return new tensors, as rename() for rename_()"
            )
        return now

    def _without_numbers(self, operand: Tensor, value: Value) -> Any:
        sizes, kind = shown(value.tensor.sizes, self.sizes), value.tensor.dtype
        return labelled(new(Abstract(sizes, kind), operand._names), operand._labels)

    def _record(self, op: Op, operands: tuple[Any, ...], params: dict[str, Any], results: Any) -> None:
        """Add a node; `results` become the values that it makes."""
        node = Node(op, operands, params, (), scope.current(), _place())
        several = results if isinstance(results, tuple) else (results,)
        for result in several:
            value = Value(self.graph.fresh(op.name), type_of(result, self.sizes), node)
            node.outputs += (value,)
            result.payload = Traced(value, self)
        # Noted and not written down: the node that cuts is added when somebody reads it with gradients on.
        if self.records_gradients and not grad_enabled():
            self.unrecorded.update(node.outputs)
        self.graph.nodes.append(node)

    def _is_mine(self, operand: Any) -> bool:
        """Say whether an operand is a value of this trace, a tensor of the module, or a size of this trace."""
        if not isinstance(operand, Tensor):
            return isinstance(operand, SymbolicNumber) and operand.scope is self.sizes
        payload = operand.payload
        # By the payload: a view or an alias of a parameter is another tensor.
        return payload.tracer is self if isinstance(payload, Traced) else id(payload) in self.held

    def value_of(self, tensor: Tensor) -> Value:
        """Return the value of a tensor under its names, and with its gradients ending where they do."""
        payload = tensor.payload
        if isinstance(payload, Traced) and payload.tracer is self:
            value = payload.value
            if value in self.unrecorded and grad_enabled():
                value = self._once(self.ends, value, value, ops.detach, {})
        elif id(payload) in self.held:
            value = self._parameter(id(payload))
        else:
            value = self._constant(tensor)
        names = tensor.names
        # The value keeps the names that it was made with; the rename is a node, made once.
        if names != value.tensor.dims.names:
            # Another name for the same payload, such as the unnamed values that gradient rules work on.
            value = self._once(self.renamed, (value, names), value, ops.rename, {"names": tensor._names})
        return value

    def _once(self, made: dict[Any, Value], key: Any, value: Value, op: Op, params: dict[str, Any]) -> Value:
        """Return what `op` makes of `value`, by a node that is added the first time."""
        if key not in made:
            result = without_numbers(op, (value.tensor.stand_in(self.sizes),), params)
            self._record(op, (value,), params, result)
            made[key] = result.payload.value
        return made[key]

    def _parameter(self, key: int) -> Value:
        if key not in self.constants:
            name, tensor = self.held[key]
            value = Value(name, type_of(tensor))
            self.graph.parameters[value] = tensor
            # Together with the constants: a parameter that is read often is one value.
            self.constants[key] = value, tensor.payload
        return self.constants[key][0]

    def _constant(self, tensor: Tensor) -> Value:
        """Return the value of a tensor from outside: a copy, as the function may change it afterwards."""
        payload = tensor.payload
        if isinstance(payload, Abstract):
            if not (isinstance(payload, Traced) and payload.tracer.active):
                raise GraphError(
                    f"a value without numbers {dims_of(tensor)} met the trace: it is left over from another trace, "
                    "or was dropped from the tape"
                )
        else:
            self._meet(tensor)
            self.reads_learning |= tensor._requires_grad and grad_enabled()
        known = self.constants.get(id(payload))
        # Changed in place since it was copied, it is another constant.
        if known is not None and _same(self.graph.constants[known[0]].payload, payload):
            return known[0]
        # Codes, and values of a trace around this one, are not changed in place: nothing need be copied.
        plain = isinstance(payload, np.ndarray)
        copy = labelled(new(payload.copy(), tensor._names), tensor._labels) if plain else tensor
        value = self.graph.hold(copy)
        self.constants[id(payload)] = value, payload
        return value

    def _meet(self, tensor: Tensor) -> None:
        leaf = leaf_of(tensor)
        # The leaf is kept with it, so that its identity stays taken.
        self.gradients.setdefault(id(leaf), (leaf, leaf.grad))

    def take_back_gradients(self) -> bool:
        """Restore the gradients of the leaves, and say whether the function had changed any."""
        changed = [(leaf, before) for leaf, before in self.gradients.values() if leaf.grad is not before]
        for leaf, before in changed:
            leaf.grad = before
        return bool(changed)


def trace(function: Callable[..., Any], *examples: Example) -> Graph:
    """Return the graph of `function` (a function of tensors, or a module) for inputs like `examples`.

    An example is a tensor, of which only dims and type are used, or the sizes by name, which means float32:
    ``trace(model, {"N": 64, "C": 1, "H": 28, "W": 28})``. It may be a tuple, list or dict of tensors: these are inputs,
    and a run is given what is put together the same way. Parameters and buffers of a module keep their dotted names;
    every other tensor that the function meets becomes a constant, a copy. What the function changes in its module is in
    `Graph.updates`, and what it draws at random is in `Graph.seeds`; neither happens while it is traced.

    A graph runs for other sizes than those of the trace: a size is an expression over those of the inputs, and what is
    computed with it, as in ``x.reshape(x.shape[0], -1)``, follows. Where the function decides something by a size, as
    ``if x.shape[0] > 4`` does, or needs it as a number, the graph keeps a guard, and refuses sizes for which it does
    not hold. Python's control flow is followed as it goes: a loop over the entries of a dim is unrolled, for so many.

    Raises:
        GraphError: the function does what a graph cannot repeat: it draws from a generator of its own, or otherwise
            than by `workbench.rand` and its like, changes numbers of its module otherwise than by ops, leaves gradients
            with ``backward()``, or returns something else than tensors.
        NoNumbersError: the function asks a traced tensor for numbers, as ``if x.sum() > 0`` does.

    >>> import workbench as wb
    >>> graph = trace(lambda x: (x * 2).sum("C"), wb.ones(N=2, C=3))
    >>> print(graph)
    graph(%x : f32[N:2, C:3]):
      %mul : f32[N:2, C:3] = mul(%x, 2)  # ...
      %sum : f32[N:2] = sum(%mul, dim=(1,), keepdim=False)  # ...
      return %sum
    """
    graph = followed(function, examples).graph
    events.publish(graph)
    return graph


def followed(function: Callable[..., Any], examples: Sequence[Any]) -> Tracer:
    """Return the tracer that a function ran under; it runs twice where it may be told something else each time."""
    tracer, follow = prepared(function, examples)
    doubtful = tracer.around.doubtful
    with collector_at_rest():
        follow()
        if doubtful:
            again, follow = prepared(function, examples)
            follow()
            check_repeats(tracer.graph, again.graph)
    return tracer


def prepared(function: Callable[..., Any], examples: Sequence[Any]) -> tuple[Tracer, Callable[[], None]]:
    """Return a tracer with the inputs of its graph, and what runs the function under it once."""
    module = function if hasattr(function, "named_modules") else None
    name = type(function).__name__ if module is not None else getattr(function, "__name__", "graph")
    graph = Graph(name=name)
    # A lambda is called `<lambda>`, which no text can have as a name.
    if not graph.name.isidentifier():
        graph.name = "graph"
    tracer = Tracer(graph, function, module)
    for name, _ in tracer.held.values():
        # Parameters first: their names are those of the module, and inputs give way.
        graph.fresh(name)
    stand_ins = _stand_ins(tracer, input_names(function, module, len(examples)), tuple(examples))

    def follow() -> None:
        # By it each node knows the module that made its call.
        tracking = scope.tracking(module) if module is not None else nullcontext()
        with tracer, tracer.sizes, _unchanged(tracer), tracking:
            with interpreting(tracer):
                result = function(*stand_ins)
            graph.single = not isinstance(result, tuple)
            # Still inside: what is returned may need a node that renames it or ends its gradient.
            graph.outputs = tuple(tracer.result(one) for one in ((result,) if graph.single else result))
            tracer.note_updates()
            # After everything, as a guard that came last may fix a size that was noted first.
            graph.settle(tracer.sizes)

    return tracer, follow


def _place() -> str:
    """Return the line of the innermost frame that is not the workbench's own."""
    frame = calling_frame()
    return place(frame.f_code.co_filename, frame.f_lineno) if frame is not None else ""


@contextmanager
def _unchanged(tracer: Tracer) -> Iterator[None]:
    """Refuse what a graph could not repeat, leave things as they were, and say which line asked for numbers."""
    refusal = ""
    try:
        yield
    except NoNumbersError as error:
        line = _line_of(error)
        raise NoNumbersError(f"{line}: {error}" if line else str(error)) from error
    finally:
        # First of all: what follows works on the module, and must not be traced.
        tracer.active = False
        # All is taken back before anything is refused, so that a refusal leaves no trace either.
        if tracer.take_back_gradients():
            refusal = (
                "the traced function calls backward() or sets .grad, which leaves gradients at tensors outside the "
                "graph. Return wb.autograd.grad(loss, inputs) instead"
            )
        carried = tracer.attributes.take_back(lambda one: id(one.payload) in tracer.constants)
        if carried:
            refusal = (
                f"the traced function puts another tensor in the place of {carried}, which it has read: a run of the "
                "graph would leave that out. Make it a buffer of the module, and write into it with copy_()"
            )
        changed = tracer.module.take_back()
        if changed:
            refusal = (
                f"the traced function changes the buffer {changed} of the module otherwise than by ops on values of "
                "the graph, so that no graph could do it again: call model.eval() first"
            )
        beside = tracer.around.changed()
        if beside and not changed:
            refusal = f"the traced function changes {beside} in place, {_LEFT_OUT}"
        drawn = tracer.around.take_back_draws()
        if drawn:
            refusal = (
                f"the traced function draws numbers by {drawn}, which would be the same at every run of the graph. "
                "Draw by wb.rand and its like, which a graph does anew, or pass them as an input"
            )
        if tracer.draws.take_back():
            refusal = (
                "the traced function draws random numbers, which would be the same at every run of the graph. Call "
                "model.eval() first, or draw them outside and pass them as an input"
            )
    if refusal:
        raise GraphError(f"{refusal}.")


_LEFT_OUT = (
    "which it reaches and is not given: a run of the graph would leave that out. Pass it as an argument, or make it a "
    "buffer of the module and write values of the graph into it"
)


def _before(line: str) -> str:
    """Return a line of code as it stands before what is said of it."""
    return f"{line}: " if line else ""


def _line_of(error: BaseException) -> str:
    """Return the line of the user's code that led to `error`, the innermost one."""
    line = ""
    step = error.__traceback__
    while step is not None:
        # The last frame outside the workbench is the innermost line that the user wrote.
        if not step.tb_frame.f_globals.get("__name__", "").startswith("workbench."):
            line = place(step.tb_frame.f_code.co_filename, step.tb_lineno)
        step = step.tb_next
    return line


def _stand_ins(tracer: Tracer, names: list[str], examples: tuple[Any, ...]) -> list[Any]:
    """Return what the function is called with, and make inputs of the tensors in it."""
    graph = tracer.graph

    def value_of(example: Any, name: str) -> Value:
        name = graph.fresh(name)
        graph.inputs.append(Value(name, symbolic(name, type_of(example))))
        return graph.inputs[-1]

    made: list[Any] = []
    takes: list[Any] = []
    for number, (example, name) in enumerate(zip(examples, names, strict=True)):
        whole = isinstance(example, tuple | list | dict) and any(True for _ in tensors_in(example))
        if not whole:
            example = stand_in(example, number)
        tensors: list[Any] = [stand_in(one, number) for one in tensors_in(example)] if whole else [example]
        takes.append(structure(example, name, value_of))
        for one, value in zip(tensors, graph.inputs[-len(tensors) :], strict=True):
            one.payload = Traced(value, tracer)
            tracer.given[value], tracer.stand_ins[value] = one, one.payload
            tracer._meet(one)
        made.append(structure(example, name, _next_of(iter(tensors))))
    if any(not isinstance(one, Value) for one in takes):
        graph.takes = filled(tuple(takes), lambda value: value)
    return made


def _next_of(tensors: Iterator[Tensor]) -> Callable[[Any, str], Tensor]:
    return lambda example, name: next(tensors)


def _same(copy: Any, payload: Any) -> bool:
    """Say whether a constant still has the values that it had when it was copied."""
    if not isinstance(payload, np.ndarray) or not isinstance(copy, np.ndarray):
        return copy is payload
    return np.array_equal(copy, payload, equal_nan=payload.dtype.kind in "fc")


def _held(module: Any) -> dict[int, tuple[str, Tensor]]:
    if module is None:
        return {}
    named = [*module.named_parameters(), *module.named_buffers()]
    # Values of a trace around this one are traced there.
    return {id(one.payload): (name, one) for name, one in named if not isinstance(one.payload, Abstract)}

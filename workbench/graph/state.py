"""What a traced function does besides returning values, and a graph can do again: it draws, and changes its module.

A seed that the function draws becomes an input of the graph, which a run draws anew. A tensor of the module that is
changed in place stands for a value of the graph as long as the trace lasts; then it has its numbers back, and the graph
says in `Graph.updates` what a run makes of it.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from workbench.base.random import default_generator
from workbench.base.size_expressions import hint_of
from workbench.core.value import Abstract
from workbench.core.value import Value as Tensor
from workbench.graph.blocks import GraphError, Value
from workbench.graph.draws import Noise
from workbench.graph.ir import Graph
from workbench.graph.operand_text import written
from workbench.graph.reaching import reached, tells_otherwise
from workbench.graph.types import INT
from workbench.ops.random.counter_based import seed_from
from workbench.ops.random.noise import numbers_drawn

__all__ = ["Attributes", "Draws", "Held", "Surroundings"]


OWN_GENERATOR = (
    "the traced function draws from a generator of its own, which a graph does not hold: let it draw from the default "
    "one, or draw outside and pass the numbers as an input"
)


class Draws:
    """The seeds and numbers that a function draws while it is traced."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._start = default_generator.get_state()
        self._values: dict[int, Value] = {}
        """By the number that was drawn: the same number is the same seed, as where a checkpoint draws it again."""
        self._noise: dict[Any, Value] = {}
        """By where in the stream it begins, and what it is."""
        self._again: list[Callable[[], Any]] = []
        """Draws everything once more, in order."""

    def drew(self, seed: int, generator: Any) -> None:
        """Take a seed in; refuse one that does not come from the default generator."""
        if generator is not default_generator:
            raise GraphError(OWN_GENERATOR)
        # Of 53 bits: that a number is drawn twice by chance need not be feared.
        if seed not in self._values:
            self._values[seed] = Value(self._graph.fresh("seed"), INT)
            self._graph.seeds.append(self._values[seed])
            self._again.append(seed_from)

    def noise(self, drawn: Noise, generator: Any) -> Value:
        """Return the value that stands for numbers; the generator goes on as if they were drawn."""
        if generator is not default_generator:
            raise GraphError(OWN_GENERATOR)
        now = drawn.over(hint_of)
        key = repr(generator.get_state()), written(drawn.operands, str), repr(drawn.keywords)

        def draw() -> None:
            numbers_drawn(default_generator, now.kind, now.sizes, now.dtype, now.arguments, now.keywords)

        draw()
        if key not in self._noise:
            value = self._noise[key] = Value(self._graph.fresh(drawn.kind.strip("_")), drawn.type)
            self._graph.seeds.append(value)
            self._graph.noise[value] = drawn
            self._again.append(draw)
        return self._noise[key]

    def value_of(self, parameter: Any) -> Any:
        """Return the seed that a parameter of a call is, as a value of the graph; any other parameter as it is."""
        return self._values.get(parameter, parameter) if type(parameter) is int else parameter

    def among(self, params: dict[str, Any]) -> bool:
        """Say whether a call is given one of the seeds."""
        return bool(self._values) and any(type(one) is int and one in self._values for one in params.values())

    def take_back(self) -> bool:
        """Give the generator its state back, and say whether more was drawn than the graph knows."""
        after = default_generator.get_state()
        default_generator.set_state(self._start)
        for draw in self._again:
            draw()
        more = default_generator.get_state() != after
        # Tracing draws nothing, as far as anybody can see.
        default_generator.set_state(self._start)
        return more


class _Before(NamedTuple):
    """A tensor of the module, and how it was before the trace."""

    name: str
    tensor: Any
    payload: Any
    names: Any
    requires_grad: bool
    grad_fn: Any
    changes: int
    numbers: Any
    """A copy, for what may be changed in other ways than by ops."""


class Held:
    """The tensors of a module while it is traced."""

    def __init__(self, named: dict[int, tuple[str, Any]], buffers: set[str]) -> None:
        self._before = {
            id(tensor): _Before(
                name, tensor, tensor.payload, tensor._names, tensor._requires_grad, tensor._grad_fn, tensor._version,
                tensor.payload.copy() if name in buffers and isinstance(tensor.payload, np.ndarray) else None,
            )
            for name, tensor in named.values()
        }  # fmt: skip

    def has(self, tensor: Any) -> bool:
        """Say whether a tensor is one of the module's, with memory of its own: a change of it can be kept."""
        # A view shares memory with others of the module, which would not follow.
        return id(tensor) in self._before and tensor._view is None

    def restores(self, target: Any) -> bool:
        """Say whether a tensor is one whose numbers are put back, whoever changes them."""
        found = self._before.get(id(target))
        return found is not None and found.numbers is not None

    def changed(self) -> list[tuple[Any, Any]]:
        """Return the payloads from before the trace and the tensors that stand for values of the graph now."""
        return [
            (one.payload, one.tensor)
            for one in self._before.values()
            if isinstance(one.tensor.payload, Abstract) and one.tensor.payload is not one.payload
        ]

    def take_back(self) -> str:
        """Give all tensors back what they were, and name one whose numbers were changed in another way than by ops."""
        found = ""
        for one in self._before.values():
            tensor = one.tensor
            if tensor.payload is not one.payload:
                tensor.payload, tensor._names = one.payload, one.names
                tensor._requires_grad, tensor._grad_fn = one.requires_grad, one.grad_fn
                # A view has no count of its own.
                if tensor._owner is None:
                    tensor._changes = one.changes
            elif one.numbers is not None and tensor._version != one.changes:
                # In place: others may share the memory.
                tensor.payload[...] = one.numbers
                found = one.name
        return found


class Attributes:
    """The attributes of a module and of all modules in it, as they are before it is traced.

    A trace leaves nothing of it behind: what the function notes there (its last input, say) are values of a graph.
    """

    def __init__(self, module: Any) -> None:
        modules = [one for _, one in module.named_modules()] if module is not None else []
        self._before = [(one, type(one), dict(vars(one))) for one in modules]

    def take_back(self, read: Callable[[Any], bool]) -> str:
        """Put back what was there, and name a tensor that was read and had another put in its place."""
        found = ""
        for module, kind, before in self._before:
            now = vars(module)
            # What has become of another class was not whole before: its first call gave it its parameters.
            if type(module) is not kind or (
                before.keys() == now.keys() and all(map(_is, before.values(), now.values()))
            ):
                continue
            kept = getattr(module, "_remembered", ())
            for name in {**before, **now}:
                old, new = before.get(name, _ABSENT), now.get(name, _ABSENT)
                if old is new or name in kept:
                    continue
                if isinstance(old, Tensor) and isinstance(new, Tensor) and read(old):
                    found = f"{type(module).__name__}.{name}"
                if old is _ABSENT:
                    del now[name]
                else:
                    now[name] = old
        return found


class Surroundings:
    """What a function reaches without being given it, before it is traced."""

    def __init__(self, function: Any) -> None:
        self.tensors: list[tuple[str, Any, int]] = []
        """Tensors: the way to each, and how often it had been changed."""
        self.doubtful = False
        """Whether it names what may tell something else in each run, such as the time."""
        generators: list[tuple[str, Any]] = [("Python's random", random), ("NumPy's random", np.random)]
        for path, one in reached(function):
            if isinstance(one, Tensor):
                self.tensors.append((path, one, one._version))
            elif isinstance(one, _GENERATORS):
                generators.append((path, one))
            elif tells_otherwise(one):
                self.doubtful = True
        self._generators = [(path, one, _state(one)) for path, one in generators]

    def changed(self) -> str:
        """Name a tensor that was changed in place otherwise than by values of the graph; empty where there is none."""
        return next((path for path, one, version in self.tensors if one._version != version), "")

    def clear(self) -> None:
        """Keep none of it any longer."""
        self.tensors.clear()
        self._generators.clear()

    def take_back_draws(self) -> str:
        """Put generators back to where they were, and name one that was drawn from; empty where none was."""
        found = ""
        for path, one, state in self._generators:
            if _frozen(_state(one)) != _frozen(state):
                _set_state(one, state)
                found = path
        return found


_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState)


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return copy.deepcopy(generator.bit_generator.state)
    return generator.getstate() if hasattr(generator, "getstate") else generator.get_state()


def _frozen(state: Any) -> Any:
    """Return a state as what can be compared: arrays by their bytes."""
    if isinstance(state, dict):
        return {key: _frozen(one) for key, one in state.items()}
    if isinstance(state, tuple):
        return tuple(map(_frozen, state)) if len(state) < 16 else state
    return state.tobytes() if isinstance(state, np.ndarray) else state


def _set_state(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif hasattr(generator, "setstate"):
        generator.setstate(state)
    else:
        generator.set_state(state)


_ABSENT = object()


def _is(one: Any, other: Any) -> bool:
    return one is other

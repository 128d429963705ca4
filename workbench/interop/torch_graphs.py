"""What a module of PyTorch's does to tensors, as ``torch.fx`` traces it, run on functions of ours."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from workbench.base.devices import Device
from workbench.base.dtypes import as_dtype, is_dtype
from workbench.interop.torch_tensors import TORCH
from workbench.nn import Module, functional
from workbench.ops import FFT, FUNCTIONS, LINALG, SPECIAL
from workbench.tensor import Tensor, factories, facts
from workbench.tensor import random as drawing

__all__ = ["Graph", "Traced", "function_of", "graph_of"]


@dataclass(frozen=True)
class Ref:
    """The result of a step, in the arguments of a later one."""

    index: int


@dataclass(frozen=True)
class Step:
    """One step of a graph: a call of a function, a method or a module, or a look at an attribute of the module."""

    kind: str
    target: Any
    args: Any
    kwargs: Any
    last: tuple[int, ...]
    """Steps whose results nobody needs afterwards."""


@dataclass
class Graph:
    """What `forward` does: its arguments, steps one after the other, and which results it returns."""

    arguments: list[str]
    defaults: dict[str, Any]
    fixed: frozenset[str] = frozenset()
    """Arguments that had their default while tracing: the graph holds for nothing else."""
    steps: list[Step] = field(default_factory=list)
    output: Any = None
    constants: dict[str, Tensor] = field(default_factory=dict)
    """Tensors that stand in the program, by the name under which a step looks at them."""

    def run(self, module: Module, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return what `forward` returns for these inputs."""
        values: list[Any] = self._bind(module, inputs, keywords)
        for step in self.steps:
            args, kwargs = _filled(step.args, values), _filled(step.kwargs, values)
            if step.kind == "call_module":
                result = operator.attrgetter(step.target)(module)(*args, **kwargs)
            elif step.kind == "call_function":
                result = step.target(*args, **kwargs)
            elif step.kind == "call_method":
                result = getattr(args[0], step.target)(*args[1:], **kwargs)
            elif step.target in self.constants:
                result = self.constants[step.target]
            else:
                result = operator.attrgetter(step.target)(module)
            values.append(result)
            for index in step.last:
                values[index] = None
        return _filled(self.output, values)

    def _bind(self, module: Module, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> list[Any]:
        """Return the values of the arguments, in order."""
        called = f"{module._get_name()}.forward()"
        if len(inputs) > len(self.arguments):
            raise TypeError(f"{called} takes {len(self.arguments)} arguments but {len(inputs)} were given")
        given = dict(zip(self.arguments, inputs, strict=False))
        for name, value in keywords.items():
            if name not in self.arguments or name in given:
                raise TypeError(f"{called} got an unexpected or second argument {name!r}")
            given[name] = value
        for name, value in given.items():
            if name in self.fixed and not _plainly_equal(value, self.defaults[name]):
                raise TypeError(
                    f"{called} was traced with {name}={self.defaults[name]!r}, and gives results for nothing else"
                )
        missing = [name for name in self.arguments if name not in given and name not in self.defaults]
        if missing:
            raise TypeError(f"{called} is missing the argument {missing[0]!r}")
        return [given.get(name, self.defaults.get(name)) for name in self.arguments]


def _plainly_equal(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, bool | int | float | str) and bool(value == default))


class Traced(Module):
    """A module that runs a graph of PyTorch's on our functions, one while training and one otherwise."""

    def __init__(self, name: str, graphs: dict[bool, Graph]) -> None:
        super().__init__()
        self._name = name
        self._graphs = graphs

    def forward(self, *inputs: Any, **keywords: Any) -> Any:
        """Run the steps of the traced `forward`."""
        return self._graphs[self.training].run(self, inputs, keywords)

    def _get_name(self) -> str:
        return self._name


def _filled(value: Any, values: list[Any]) -> Any:
    """Return `value` with results in the place of references."""
    if isinstance(value, Ref):
        return values[value.index]
    if isinstance(value, list | tuple):
        return type(value)([_filled(one, values) for one in value])
    if isinstance(value, dict):
        return {key: _filled(one, values) for key, one in value.items()}
    if isinstance(value, slice):
        return slice(*(_filled(one, values) for one in (value.start, value.stop, value.step)))
    return value


# ------------------------------------------------------------------------------------------------ traced


def graph_of(theirs: Any, training: bool, tensor: Callable[[Any], Tensor]) -> Graph:
    """Return the graph of a module's `forward` in a mode; modules that it holds are single calls.

    `tensor` makes ours of the tensors that stand in the program. Raises TypeError, which says why, where there is none.
    """
    parameters = list(inspect.signature(theirs.forward).parameters.values())
    if any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters):
        raise TypeError("its forward takes any number of arguments: write them out")
    defaults = {one.name: one.default for one in parameters if one.default is not one.empty}
    graph = Graph([one.name for one in parameters], defaults)
    # What is None, True or a word decides which way a program goes; a number mostly is one more operand.
    graph.fixed = frozenset(
        name for name, one in defaults.items() if one is None or isinstance(one, bool | str)
    )
    try:
        nodes = _trace(theirs, training, graph, tensor)
    except TypeError:
        if len(graph.fixed) == len(defaults):
            raise
        graph.fixed = frozenset(defaults)
        nodes = _trace(theirs, training, graph, tensor)
    places: dict[Any, int] = {}
    used = {
        node: max((nodes.index(user) for user in node.users if user in nodes), default=-1) for node in nodes
    }
    count = 0
    for i, node in enumerate(nodes):
        if node.op == "placeholder":
            places[node] = count
            count += 1
            continue
        args, kwargs = _own(node.args, places, tensor), _own(node.kwargs, places, tensor)
        if node.op == "output":
            graph.output = args[0]
            continue
        last = tuple(places[one] for one in nodes[:i] if used[one] == i)
        graph.steps.append(Step(node.op, _target(node), args, kwargs, last))
        places[node] = count
        count += 1
    return graph


def _trace(theirs: Any, training: bool, graph: Graph, tensor: Callable[[Any], Tensor]) -> list[Any]:
    """Return the nodes that ``torch.fx`` finds; leave the module as it was."""
    fx = TORCH.fx

    class Tracer(fx.Tracer):  # type: ignore[misc,name-defined]
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return True

    modes = {module: module.training for module in theirs.modules()}
    before = set(theirs.__dict__)
    try:
        for module in modes:
            module.training = training
        found = Tracer().trace(theirs, {name: graph.defaults[name] for name in graph.fixed} or None)
        for node in found.nodes:
            if node.op == "get_attr":
                value = operator.attrgetter(node.target)(theirs)
                if isinstance(value, TORCH.Tensor) and not _registered(theirs, node.target):
                    graph.constants[node.target] = tensor(value)
    except (TypeError, ValueError, RuntimeError, AttributeError, LookupError, AssertionError) as error:
        raise TypeError(
            f"torch.fx cannot trace its forward, and there is no such layer here: {type(error).__name__}: {error}"
        ) from error
    finally:
        for module, mode in modes.items():
            module.training = mode
        for name in set(theirs.__dict__) - before:
            del theirs.__dict__[name]
    checks = [node for node in found.nodes if node.op == "call_function" and _is_check(node.target)]
    dropped = {*checks, *(one for node in checks for one in node.all_input_nodes if len(one.users) == 1)}
    return [node for node in found.nodes if node not in dropped or node.op == "placeholder"]


def _is_check(target: Any) -> bool:
    """Say whether a call only checks that an argument is what it was while tracing."""
    return target is TORCH._assert or getattr(target, "__name__", "") == "_assert_is_none"


def _registered(theirs: Any, path: str) -> bool:
    """Say whether a path leads to a parameter or a buffer."""
    place, _, name = path.rpartition(".")
    owner = theirs.get_submodule(place)
    return name in owner._parameters or name in owner._buffers


def _own(value: Any, places: dict[Any, int], tensor: Callable[[Any], Tensor]) -> Any:
    """Return arguments of a node with references to steps, and values of ours, in the place of PyTorch's."""
    if isinstance(value, TORCH.fx.Node):
        return Ref(places[value])
    if isinstance(value, list | tuple):
        made = [_own(one, places, tensor) for one in value]
        return made if isinstance(value, list) else tuple(made)
    if isinstance(value, dict):
        return {key: _own(one, places, tensor) for key, one in value.items()}
    if isinstance(value, slice):
        return slice(*(_own(one, places, tensor) for one in (value.start, value.stop, value.step)))
    if isinstance(value, TORCH.Tensor):
        return tensor(value)
    if isinstance(value, TORCH.device):
        return Device(str(value))
    if isinstance(value, TORCH.dtype):
        name = str(value).removeprefix("torch.")
        if not is_dtype(name):
            raise TypeError(f"its forward names {value}, a type there is none of here")
        return as_dtype(name)
    if value is None or isinstance(value, bool | int | float | complex | str | type(Ellipsis)):
        return value
    raise TypeError(f"its forward passes {value!r}, for which there is nothing here")


def _target(node: Any) -> Any:
    """Return what a node calls, as ours."""
    if node.op == "call_function":
        found = function_of(node.target)
        if found is None:
            raise TypeError(f"its forward calls {_called(node.target)}, for which there is no function here")
        return found
    if node.op == "call_method" and not hasattr(Tensor, node.target):
        raise TypeError(f"its forward calls Tensor.{node.target}, which our tensors do not have")
    return node.target


def _called(function: Any) -> str:
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__name__', repr(function))}"


@lru_cache(maxsize=1)
def _functions() -> dict[int, Any]:
    """Return our functions by the identity of PyTorch's."""
    makers = {
        name: getattr(room, name)
        for room in (factories, drawing, facts)
        for name in room.__all__
        if name.islower()
    }
    rooms = (
        (TORCH.nn.functional, vars(functional)),
        (TORCH, {**makers, **FUNCTIONS}),
        (TORCH.linalg, LINALG),
        (TORCH.special, SPECIAL),
        (TORCH.fft, FFT),
    )
    found: dict[int, Any] = {}
    for theirs, ours in rooms:
        for name, function in ours.items():
            other = getattr(theirs, name, None)
            if callable(function) and callable(other):
                found.setdefault(id(other), function)
    return found


def function_of(function: Any) -> Any:
    """Return our function for one of PyTorch's; Python's own stay; None where there is none."""
    if function is getattr or getattr(function, "__module__", None) in ("_operator", "math"):
        return function
    return _functions().get(id(function))

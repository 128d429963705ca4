"""What a module of PyTorch's does to tensors, as ``torch.fx`` traces it, written as a graph of ours.

Its functions and methods become calls by name, its parts calls of modules kept whole; types of values are not known
there, so nothing is checked before it runs. The graph prints, is read back and is worked on like any other.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from workbench.base.devices import Device
from workbench.base.dtypes import as_dtype, is_dtype
from workbench.graph import Graph, GraphError, LeafModule, NamedFunction, Value, check, named, run
from workbench.graph.effects import written_by
from workbench.graph.types import ANY, type_of
from workbench.graph.vocabulary import MAKERS, named_for
from workbench.interop.torch_tensors import TORCH
from workbench.nn import Module, functional
from workbench.ops import FFT, FUNCTIONS, LINALG, SPECIAL
from workbench.tensor import Tensor

__all__ = ["Forward", "Traced", "forward_of", "function_of"]


@dataclass
class Forward:
    """What a `forward` does in a mode: a graph, and how it is called."""

    graph: Graph
    defaults: dict[str, Any]
    fixed: frozenset[str] = frozenset()
    """Arguments that had their default while tracing: the graph holds for nothing else."""

    def run(self, module: Module, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return what `forward` returns for these inputs."""
        return run(self.graph, *self._bind(module, inputs, keywords), owner=module, typed=False)

    def _bind(self, module: Module, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> list[Any]:
        """Return the values of the arguments, in order."""
        called, arguments = f"{module._get_name()}.forward()", [one.name for one in self.graph.inputs]
        if len(inputs) > len(arguments):
            raise TypeError(f"{called} takes {len(arguments)} arguments but {len(inputs)} were given")
        given = dict(zip(arguments, inputs, strict=False))
        for name, value in keywords.items():
            if name not in arguments or name in given:
                raise TypeError(f"{called} got an unexpected or second argument {name!r}")
            given[name] = value
        for name, value in given.items():
            if name in self.fixed and not _plainly_equal(value, self.defaults[name]):
                raise TypeError(
                    f"{called} was traced with {name}={self.defaults[name]!r}, and gives results for nothing else"
                )
        # None is a value that may be given: what is missing is told by its name.
        missing = [name for name in arguments if name not in given and name not in self.defaults]
        if missing:
            raise TypeError(f"{called} is missing the argument {missing[0]!r}")
        return [given.get(name, self.defaults.get(name)) for name in arguments]


def _plainly_equal(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, bool | int | float | str) and bool(value == default))


class Traced(Module):
    """A module that runs a graph of what PyTorch's does, one while training and one otherwise."""

    def __init__(self, name: str, forwards: dict[bool, Forward]) -> None:
        super().__init__()
        self._name = name
        self._forwards = forwards

    @property
    def graph(self) -> Graph:
        """The graph of the mode that the module is in."""
        return self._forwards[self.training].graph

    def hold(self) -> None:
        """Let the graphs hold the modules that they call: those that stand here under their paths."""
        for one in self._forwards.values():
            one.graph.modules = {path: operator.attrgetter(path)(self) for path in one.graph.modules}
            check(one.graph)

    def forward(self, *inputs: Any, **keywords: Any) -> Any:
        """Run the graph of the traced `forward`."""
        return self._forwards[self.training].run(self, inputs, keywords)

    def _get_name(self) -> str:
        return self._name


# ------------------------------------------------------------------------------------------------ traced


def forward_of(theirs: Any, training: bool, tensor: Callable[[Any], Tensor]) -> Forward:
    """Return what a module's `forward` does in a mode; modules that it holds are called whole.

    `tensor` makes ours of the tensors that it reads. Raises TypeError, which says why, where there is no such graph.
    """
    parameters = list(inspect.signature(theirs.forward).parameters.values())
    if any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters):
        raise TypeError("its forward takes any number of arguments: write them out")
    defaults = {one.name: one.default for one in parameters if one.default is not one.empty}
    # What is None, True or a word decides which way a program goes; a number mostly is one more operand.
    fixed = frozenset(name for name, one in defaults.items() if one is None or isinstance(one, bool | str))
    try:
        nodes = _trace(theirs, training, {name: defaults[name] for name in fixed})
    # A number may decide the way, too; then all defaults are fixed.
    except TypeError:
        if len(fixed) == len(defaults):
            raise
        fixed = frozenset(defaults)
        nodes = _trace(theirs, training, defaults)
    return Forward(_Writer(theirs, tensor).graph_of(nodes, [one.name for one in parameters]), defaults, fixed)


def _trace(theirs: Any, training: bool, fixed: dict[str, Any]) -> list[Any]:
    """Return the nodes that ``torch.fx`` finds; leave the module as it was, but for the constants it notes there."""
    fx = TORCH.fx

    class Tracer(fx.Tracer):  # type: ignore[misc,name-defined]
        # Each module within is converted by itself, and called whole here.
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return True

    modes = {module: module.training for module in theirs.modules()}
    before = set(theirs.__dict__)
    try:
        for module in modes:
            module.training = training
        found = Tracer().trace(theirs, fixed or None)
        # Tensors that stand in the program are put on the module by torch.fx; they are read here, and taken
        # off below.
        for node in found.nodes:
            if node.op == "get_attr":
                node.meta["value"] = operator.attrgetter(node.target)(theirs)
    # Whatever the module's own code raises when it is given no numbers.
    except (TypeError, ValueError, RuntimeError, AttributeError, LookupError, AssertionError) as error:
        raise TypeError(
            f"torch.fx cannot trace its forward, and there is no such layer here: {type(error).__name__}: {error}"
        ) from error
    finally:
        for module, mode in modes.items():
            module.training = mode
        for name in set(theirs.__dict__) - before:
            del theirs.__dict__[name]
    # They check what `fixed` checks at each call.
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


class _Writer:
    """Writes the graph of one `forward`."""

    def __init__(self, theirs: Any, tensor: Callable[[Any], Tensor]) -> None:
        self._theirs = theirs
        self._tensor = tensor
        self._graph = Graph()
        self._values: dict[Any, Value] = {}

    def graph_of(self, nodes: list[Any], arguments: list[str]) -> Graph:
        """Return the graph of these nodes; `arguments` are those of `forward`."""
        graph = self._graph
        name = type(self._theirs).__name__
        graph.name = name if name.isidentifier() else "graph"
        inputs = iter([Value(graph.fresh(one), ANY) for one in arguments])
        for node in nodes:
            match node.op:
                case "placeholder":
                    self._values[node] = next(inputs)
                    graph.inputs.append(self._values[node])
                case "get_attr":
                    self._values[node] = self._read(node.target, node.meta["value"])
                case "output":
                    result = self._own(node.args[0])
                    graph.single = not isinstance(result, tuple)
                    graph.outputs = (result,) if graph.single else result
                case _:
                    self._values[node] = self._call(node)
        return graph

    def _read(self, path: str, value: Any) -> Value:
        """Return the value of a tensor that the module reads: one of its own, or one that stands in the program."""
        if not isinstance(value, TORCH.Tensor):
            raise TypeError(f"its forward reads {path}, which is a {type(value).__name__} and no tensor")
        ours = self._tensor(value)
        held = self._graph.parameters if _registered(self._theirs, path) else self._graph.constants
        known = next((one for one in held if one.name == path), None)
        if known is None:
            known = Value(self._graph.fresh(path), type_of(ours))
            held[known] = ours
        return known

    def _call(self, node: Any) -> Value:
        inputs, params = self._own(tuple(node.args)), self._own(dict(node.kwargs))
        callee = _callee(node)
        writes = list(written_by(callee, inputs, params))
        if isinstance(callee, LeafModule):
            whole = self._theirs.get_submodule(callee.path)
            self._graph.modules[callee.path] = whole  # until ours is there
            if getattr(whole, "inplace", False):
                writes += [one for one in inputs[:1] if isinstance(one, Value)]
        made = self._graph.insert(callee, *inputs, types=(ANY,), writes=tuple(writes), **params)
        return made.outputs[0]

    def _own(self, value: Any) -> Any:
        """Return operands with values of the graph, and values of ours, in the place of PyTorch's."""
        if isinstance(value, TORCH.fx.Node):
            return self._values[value]
        if isinstance(value, list | tuple):
            made = [self._own(one) for one in value]
            return made if isinstance(value, list) else tuple(made)
        if isinstance(value, dict):
            return {key: self._own(one) for key, one in value.items()}
        if isinstance(value, slice):
            return slice(*(self._own(one) for one in (value.start, value.stop, value.step)))
        if isinstance(value, TORCH.Tensor):
            return self._graph.hold(self._tensor(value))
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


def _callee(node: Any) -> LeafModule | NamedFunction:
    """Return what a node calls, as a callee of ours."""
    if node.op == "call_module":
        return LeafModule(node.target)
    if node.op == "call_function":
        found = function_of(node.target)
        callee = None if found is None else named_for(found)
        if callee is None:
            raise TypeError(f"its forward calls {_called(node.target)}, for which there is no function here")
        return callee
    try:
        return named(f"Tensor.{node.target}")
    except GraphError:
        raise TypeError(f"its forward calls Tensor.{node.target}, which our tensors do not have") from None


def _called(function: Any) -> str:
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__name__', repr(function))}"


# Once: it needs PyTorch, and goes over all there is.
@lru_cache(maxsize=1)
def _functions() -> dict[int, Any]:
    """Return our functions by the identity of PyTorch's."""
    rooms = (
        (TORCH.nn.functional, vars(functional)),
        (TORCH, {**MAKERS, **FUNCTIONS}),
        (TORCH.linalg, LINALG),
        (TORCH.special, SPECIAL),
        (TORCH.fft, FFT),
    )
    found: dict[int, Any] = {}
    for theirs, ours in rooms:
        for name, function in ours.items():
            other = getattr(theirs, name, None)
            if callable(function) and callable(other):
                # What stands in several rooms is that of the first.
                found.setdefault(id(other), function)
    return found


def function_of(function: Any) -> Any:
    """Return our function for one of PyTorch's; Python's own stay; None where there is none."""
    if function is getattr or getattr(function, "__module__", None) in ("_operator", "math"):
        return function
    return _functions().get(id(function))

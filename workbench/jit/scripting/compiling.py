"""`script`: functions and modules become what runs a graph."""

from __future__ import annotations

import inspect
from typing import Any

from workbench.graph import Graph, check
from workbench.graph.types import Type
from workbench.jit import guards
from workbench.jit.boundary import Boundary
from workbench.jit.kinds import OPAQUE
from workbench.jit.script_modules import COMPILE, ScriptFunction, ScriptModule, mirrored
from workbench.jit.scripting.annotations import kind_of_class
from workbench.jit.scripting.errors import ScriptError
from workbench.jit.scripting.part_attributes import Assigned, copied
from workbench.jit.scripting.parts import Parts
from workbench.jit.scripting.signatures import Signature
from workbench.jit.scripting.tidy import tidy
from workbench.nn import Module

__all__ = ["script"]


def script(
    obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None
) -> Any:
    """Compile a function, a class, or a module with its `forward` and what it calls, to a graph with blocks.

    What is written is read, and nothing of it is run: names get types from annotations and from what is computed, and
    what has none is a Tensor. A module shares its parameters and buffers with the original and has lists, dicts and
    numbers of its own. A class is returned as it is: scripts may make objects of it. As in PyTorch, the environment's
    ``PYTORCH_JIT=0`` has what is given handed back. The other arguments are PyTorch's; they change nothing.

    Raises `ScriptError` for what cannot be scripted: with its line, why, and what to write instead.

    >>> import workbench as wb
    >>> made = wb.jit.script(wb.nn.Sequential(wb.nn.Linear(2, 3), wb.nn.ReLU()))
    >>> made(wb.ones(1, 2)).shape, [str(node.callee.name) for node in made.graph.nodes]
    ((1, 3), ['nn.functional.linear', 'nn.functional.relu'])
    """
    if guards.switched_off() or isinstance(obj, ScriptModule | ScriptFunction):
        return obj
    if isinstance(obj, Module):
        return _module(obj)
    if isinstance(obj, type):
        return _class(obj)
    if inspect.ismethod(obj):
        obj = obj.__func__
    if not inspect.isfunction(obj):
        raise ScriptError(
            f"jit.script takes a function, a class or a module, and got {type(obj).__name__}: pass what is written "
            "with def, or an nn.Module"
        )
    return _function(obj)


def _function(function: Any) -> ScriptFunction:
    graph = Graph(name=function.__name__)
    writer = Parts(graph)
    signature, kind = writer.function_graph(function)
    made = ScriptFunction(_finished(graph), list(signature.names), _boundary(signature, kind, False))
    made.scripted = function
    made.__doc__, made.__module__ = function.__doc__, function.__module__
    return made


def _finished(graph: Graph) -> Graph:
    for function in (*graph.functions.values(), graph):
        tidy(function)
    return check(graph)


def _boundary(signature: Signature, result: Type, stateful: bool) -> Boundary:
    kinds = tuple(signature.kind(name) for name in signature.names)
    return Boundary(kinds, dict(signature.defaults), result, stateful)


def _class(cls: type) -> type:
    if issubclass(cls, Module):
        raise ScriptError(
            f"Type '{cls.__name__}' cannot be compiled since it inherits from nn.Module: pass an instance of it"
        )
    if kind_of_class(cls) in (None, OPAQUE):
        cls.__torch_script_class__ = True  # type: ignore[attr-defined]
    return cls


# ------------------------------------------------------------------------------------------------- modules


def _module(module: Module, names: list[str] | None = None) -> ScriptModule:
    """Compile `forward`, and each method that is exported; or those that are named."""
    changing: set[str] = set()
    while True:
        try:
            return _compiled(module, changing, _methods(module) if names is None else names)
        except Assigned as found:
            # From the start: what was written already took the tensor for one that stays.
            changing.add(found.path)


def _compiled(module: Module, changing: set[str], names: list[str]) -> ScriptModule:
    graphs: dict[str, Graph] = {}
    arguments: dict[str, list[str]] = {}
    boundaries: dict[str, Boundary] = {}
    whole: set[str] = set()
    attributes: dict[str, Type] = {}
    if not names:
        raise ScriptError(
            f"{type(module).__name__} has no forward, and no method with @jit.export: there is nothing to compile"
        )
    for name in names:
        graphs[name] = Graph(name=name)
        for path in (*dict(module.named_parameters()), *dict(module.named_buffers())):
            # Taken first: the names of tensors are those of the module.
            graphs[name].fresh(path)
        writer = Parts(graphs[name], module, changing)
        signature, kind = writer.method_graph(name)
        boundaries[name] = _boundary(signature, kind, writer.state is not None)
        _finished(graphs[name])
        arguments[name] = list(signature.names)
        whole |= writer.whole
        attributes |= writer.attributes
    made = ScriptModule(graphs, arguments, module._get_name(), boundaries)
    mirrored(module, made, whole)
    _give_attributes(module, made, attributes)
    return made


def _compile_methods(module: ScriptModule, names: list[str]) -> None:
    """Compile methods of a module that runs them itself: what programs write as a class made from `ScriptModule`."""
    made = _module(module, names)
    module._graphs, module._arguments = made._graphs, made._arguments
    module._boundaries, module._attributes = made._boundaries, made._attributes


COMPILE.give(_compile_methods)


def _methods(module: Module) -> list[str]:
    found = []
    forward = inspect.getattr_static(type(module), "forward", None)
    own = inspect.isfunction(forward) and forward is not Module.forward
    if own and getattr(forward, guards.MODIFIER, None) not in ("ignore", "unused"):
        found.append("forward")
    for cls in type(module).__mro__:
        for name, one in vars(cls).items():
            if getattr(one, guards.MODIFIER, None) == "export" and name not in found:
                found.append(name)
    return found


def _give_attributes(module: Module, made: ScriptModule, attributes: dict[str, Type]) -> None:
    """Give the modules of a script the attributes that runs read."""
    made._attributes = dict(attributes)
    for path in attributes:
        owner, other = module, made
        *parts, name = path.split(".")
        for part in parts:
            owner, other = owner._modules[part], other._modules[part]
        if name != "training" and name not in owner._buffers:
            setattr(other, name, copied(getattr(owner, name)))

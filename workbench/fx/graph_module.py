"""`GraphModule`: a module whose `forward` is the code of a graph."""

from __future__ import annotations

import copy
import linecache
import os
import types
import weakref
from collections import deque
from collections.abc import Mapping
from itertools import count
from typing import Any, NoReturn

from workbench.base.public import words
from workbench.fx.checks import at
from workbench.fx.codegen import PythonCode
from workbench.fx.folders import write_folder
from workbench.fx.graph import Graph
from workbench.nn import Module, Parameter
from workbench.tensor import Tensor

__all__ = ["GraphModule"]

_numbers = count()
_gone: deque[str] = deque()
"""Names of functions that nobody can call any more, whose lines are still kept."""
_OWN = frozenset({"_graph", "_code", "_lineno_map"})
"""What a graph module has beside what it holds."""


class _Forward:
    """The `forward` of a class: compiled when somebody asks for it, as most steps of a run of passes never run."""

    def __init__(self, code: PythonCode) -> None:
        self.code = code

    def __get__(self, module: Any, kind: type) -> Any:
        function = _compiled(self.code)
        # From now on it is found as any method is.
        kind.forward = function  # type: ignore[attr-defined]
        return function if module is None else types.MethodType(function, module)


def _compiled(code: PythonCode) -> types.FunctionType:
    """Return the function of a code; tracebacks show its lines."""
    while _gone:
        linecache.cache.pop(_gone.popleft(), None)
    name = f"<fx graph {next(_numbers)}>"
    lines = code.src.splitlines(keepends=True)
    linecache.cache[name] = (len(code.src), None, lines, name)
    room = dict(code.globals)
    # Not with this file's way of annotations: they are as the program wrote them.
    exec(compile(code.src, name, "exec", dont_inherit=True), room)
    function: types.FunctionType = room["forward"]
    # Its lines go when the next one comes, and not with it, whenever garbage is collected: Python walks through
    # the lines that it keeps, and fails where some are gone meanwhile.
    weakref.finalize(function, _gone.append, name)
    return function


class GraphModule(Module):
    """A module that does what a graph says, with the modules, parameters and buffers that the graph names.

    `root` is the module that was traced, or a dict from paths to what stands there; what the graph does not name is
    left out. Assigning `graph` writes the code anew, and so does `recompile` after the graph was changed.

    >>> import workbench as wb
    >>> module = wb.fx.symbolic_trace(wb.nn.Sequential(wb.nn.Linear(2, 2), wb.nn.ReLU()))
    >>> print(module.code.strip())
    def forward(self, input):
        input_1 = input
        _0 = getattr(self, "0")(input_1);  input_1 = None
        _1 = getattr(self, "1")(_0);  _0 = None
        return _1
    """

    def __new__(cls, *arguments: Any, **keywords: Any) -> GraphModule:
        """Make a class for each: its `forward` is that of one graph."""
        base = next(one for one in cls.__mro__ if "_of_one_graph" not in vars(one))
        kind = type(base.__name__, (base,), {"_of_one_graph": True, "__module__": base.__module__})
        return object.__new__(kind)

    def __init__(
        self, root: Module | Mapping[str, Any], graph: Graph, class_name: str = "GraphModule"
    ) -> None:
        super().__init__()
        type(self).__name__ = type(self).__qualname__ = class_name
        self.meta: dict[str, Any] = {}
        if isinstance(root, Module):
            self.training = root.training
            if isinstance(root, GraphModule):
                self.meta = dict(root.meta)
        elif not isinstance(root, Mapping):
            raise RuntimeError(
                f"Unsupported type {type(root).__name__} passed for root: a module, or a dict by paths"
            )
        named = {one.target: one for one in graph.nodes if one.op in ("call_module", "get_attr")}
        # Outer ones first: what stands in a module comes with it.
        for path in sorted(named, key=lambda one: one.count(".")):
            _take(self, root, path, named[path])
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph; assigning one writes the code anew."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        self._graph = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of `forward`."""
        return self._code

    def recompile(self) -> PythonCode:
        """Write the code of the graph anew, and let `forward` be it; needed after the graph was changed."""
        made = self._graph.python_code()
        self._code = made.src
        self._lineno_map = made._lineno_map
        type(self).forward = _Forward(made)  # type: ignore[method-assign,assignment]
        return made

    # -------------------------------------------------------------------------------------- submodules

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path, with empty modules on the way there; False where something else is on it."""
        place = self
        *path, name = target.split(".")
        for part in path:
            inner = getattr(place, part, None)
            if inner is None:
                inner = Module()
                setattr(place, part, inner)
            if not isinstance(inner, Module):
                return False
            place = inner  # type: ignore[assignment]
        place.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take the module at a path away; False where there is none."""
        place, _, name = target.rpartition(".")
        owner = at(self, place) if place else self
        if not isinstance(owner, Module) or not isinstance(getattr(owner, name, None), Module):
            return False
        delattr(owner, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take away the modules that the graph neither calls nor reads from."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[:i]) for i in range(1, len(parts) + 1))
                found = at(self, node.target)
                if isinstance(found, Module):
                    # What is called whole uses all that it has.
                    used.update(f"{node.target}.{name}" for name, _ in found.named_modules())
        for name, _ in list(self.named_modules()):
            if name and name not in used:
                self.delete_submodule(name)

    # -------------------------------------------------------------------------------------- what it is

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Write a Python package: ``from folder import FxModule`` gives a class whose objects are modules like this.

        Its tensors lie beside the code, which can be read and edited, and nothing is pickled: layers are written as the
        calls that make them. Raises TypeError for a module or function that cannot be written so; then no file is.

        >>> import tempfile
        >>> from pathlib import Path
        >>> import workbench as wb
        >>> module = wb.fx.symbolic_trace(wb.nn.Sequential(wb.nn.Linear(2, 2), wb.nn.ReLU()))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     module.to_folder(folder, "Small")
        ...     sorted(one.name for one in Path(folder).iterdir())
        ['__init__.py', 'module.py', 'state_dict.npz']
        """
        write_folder(self, folder, module_name)

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
    ) -> str:
        """Return the code as a class, each part below the line of the program that it came from, and print it."""
        code = self._graph.python_code(verbose=True).src.strip("\n").rstrip()
        body = "\n".join(f"    {line}" if line.strip() else "" for line in code.split("\n"))
        text = f"class {type(self).__name__}(workbench.nn.Module):\n{body}\n"
        if print_output:
            print(text)
        return text

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        root = Module()
        held = {key: one for key, one in vars(self).items() if key not in _OWN}
        vars(root).update(copy.deepcopy(held, memo))
        other = GraphModule(root, copy.deepcopy(self._graph, memo), type(self).__name__)
        # What the graph does not name is there all the same: a copy has all that there was.
        for key, one in vars(root).items():
            vars(other)[key] = one
        memo[id(self)] = other
        return other

    def __copy__(self) -> GraphModule:
        return GraphModule(self, copy.deepcopy(self._graph), type(self).__name__)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a GraphModule is not pickled, as its class is made of its graph: write state_dict(), "
            "and trace again"
        )

    def __str__(self) -> str:
        more = "# To see more debug info, please use `graph_module.print_readable()`"
        return f"{super().__repr__()}\n{self._code}\n{more}"


def _take(module: Module, root: Module | Mapping[str, Any], path: str, node: Any) -> None:
    """Take over what stands at a path of `root`."""
    if isinstance(root, Mapping):
        if path not in root:
            raise RuntimeError(
                f"Node {node} referenced target {path} but that target was not provided in root! "
                f"GraphModule({{{path!r}: …}}, graph) gives it"
            )
        _put(module, path, root[path])
        return
    place, _, name = path.rpartition(".")
    owner = at(root, place) if place else root
    if not hasattr(owner, name):
        raise RuntimeError(f"Node {node} referenced nonexistent target {path} of {type(root).__name__}")
    # A module that was taken over brought all that is in it.
    if at(module, path) is None:
        kept = owner._buffer_names.get(name, True) if isinstance(owner, Module) else True
        _put(module, path, getattr(owner, name), persistent=kept)


def _put(root: Module, path: str, value: Any, persistent: bool = True) -> None:
    """Put something at a path of a module, with empty modules on the way there."""
    place = root
    *parts, name = path.split(".")
    for part in parts:
        if not isinstance(getattr(place, part, None), Module):
            setattr(place, part, Module())
        place = getattr(place, part)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        # A tensor that the program made is a buffer: it goes into the state, and to a device, with the module.
        place.register_buffer(name, value, persistent)
    else:
        setattr(place, name, value)


__getattr__, __dir__ = words(__name__, __all__)

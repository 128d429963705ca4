"""Modules and functions that run a graph; nothing of the Python that they were made from runs again."""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from workbench.base.seams import Seam
from workbench.graph import Graph, passes, python_text, run
from workbench.graph.types import Type
from workbench.jit.boundary import Boundary, State, handed
from workbench.jit.boundary import given as taken
from workbench.jit.frozen_attributes import decided, paths_in
from workbench.jit.guards import MODIFIER
from workbench.jit.writing import save
from workbench.nn import Module
from workbench.tensor import Tensor

__all__ = [
    "COMPILE",
    "Part",
    "ScriptFunction",
    "ScriptModule",
    "freeze",
    "mirrored",
    "optimize_for_inference",
]

COMPILE = Seam("compiling the methods of a module", "workbench.jit.scripting.compiling")


class _Runs:
    """What runs graphs, one for each of its methods, and shows them."""

    _graphs: dict[str, Graph]
    _arguments: dict[str, list[str]]
    _boundaries: dict[str, Boundary]
    """Of methods that were scripted: what they take and give."""

    @property
    def graph(self) -> Graph:
        """The graph of the call: of ``forward``, or of the function."""
        return next(iter(self._graphs.values()))

    @property
    def inlined_graph(self) -> Graph:
        """The graph with what its functions do in the place of their calls."""
        return passes.inline(self.graph)

    @property
    def code(self) -> str:
        """The graph as Python."""
        return python_text(self.graph)

    def graph_for(self, *inputs: Any) -> Graph:
        """Return the graph that these inputs run through: there is one for all."""
        return self.graph

    def _run(self, method: str, owner: Any, inputs: Sequence[Any], keywords: dict[str, Any]) -> Any:
        names = self._arguments[method]
        given = dict(zip(names, inputs, strict=False))
        for name, value in keywords.items():
            if name not in names or name in given:
                raise TypeError(
                    f"{method}() got an unexpected or second argument {name!r}; it takes {', '.join(names)}"
                )
            given[name] = value
        boundary = self._boundaries.get(method)
        if boundary is not None:
            given = {**{name: one for name, one in boundary.defaults.items() if name in names}, **given}
        if len(inputs) > len(names) or len(given) < len(names):
            missing = [name for name in names if name not in given]
            traced = ", as it was traced" if boundary is None else ""
            raise TypeError(
                f"{method}() takes {len(names)} arguments{traced} ({', '.join(names)}), got {len(inputs)}"
                + (f"; missing is {missing[0]}" if missing else "")
            )
        # Other types than the trace's are taken, as PyTorch's programs expect of TorchScript.
        if boundary is None:
            return run(self._graphs[method], *(given[name] for name in names), owner=owner, typed=False)
        operands = [taken(kind, given[name]) for kind, name in zip(boundary.kinds, names, strict=True)]
        if boundary.stateful:
            operands.append(State(owner))
        return handed(boundary.result, run(self._graphs[method], *operands, owner=owner, typed=False))


class ScriptFunction(_Runs):
    """A function that runs its graph."""

    scripted: Any = None
    """The function that was scripted: scripts that call this one compile it."""

    def __init__(self, graph: Graph, arguments: list[str], boundary: Boundary | None = None) -> None:
        self._graphs = {"forward": graph}
        self._arguments = {"forward": arguments}
        self._boundaries = {} if boundary is None else {"forward": boundary}
        self.name = self.__name__ = graph.name

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        return self._run("forward", None, inputs, keywords)

    def __repr__(self) -> str:
        return f"<ScriptFunction {self.name}: {len(self.graph.nodes)} nodes>"

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
        """Write it; see `workbench.jit.save`."""
        save(self, f, _extra_files)


class Part(Module):
    """A module within one that runs a graph: it has the parameters, and no graph of its own."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.original_name = name

    def forward(self, *inputs: Any, **keywords: Any) -> Any:
        """Refuse: the graph is that of the whole."""
        raise RuntimeError(
            f"this {self.original_name} is part of a module that was traced as a whole, and has no graph of its own: "
            "call the whole, or trace the part"
        )

    def _get_name(self) -> str:
        return self.original_name

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"


class ScriptModule(_Runs, Part):
    """A module that runs its graph, with parameters, buffers and parts under their names.

    ``train()`` and ``eval()`` say what the module is in, and leave the graph as it was made.
    """

    def __init__(
        self,
        graphs: dict[str, Graph] | None = None,
        arguments: dict[str, list[str]] | None = None,
        name: str = "",
        boundaries: dict[str, Boundary] | None = None,
    ) -> None:
        super().__init__(name or type(self).__name__)
        self._graphs = graphs or {}
        self._arguments = arguments or {}
        self._boundaries = boundaries or {}
        self._attributes: dict[str, Type] = {}

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Have objects of a program's own class compile its methods that say `script_method`."""
        super().__init_subclass__(**keywords)
        names = {
            name
            for one in cls.__mro__
            for name, method in vars(one).items()
            if getattr(method, MODIFIER, None) == "script_method"
        }
        if not names:
            return
        for name in names & vars(cls).keys():
            setattr(cls, name, _running(name, vars(cls)[name]))
        made = cls.__init__

        @functools.wraps(made)
        def __init__(self: ScriptModule, *inputs: Any, **keywords: Any) -> None:
            made(self, *inputs, **keywords)
            # Once, when all of it is there: the class may be another's base.
            if type(self) is cls:
                COMPILE(self, sorted(names))

        cls.__init__ = __init__  # type: ignore[method-assign]

    def forward(self, *inputs: Any, **keywords: Any) -> Any:
        """Run the graph."""
        return self._run("forward", self, inputs, keywords)

    def __getattr__(self, name: str) -> Any:
        graphs = self.__dict__.get("_graphs", {})
        if name in graphs and name != "forward":
            return lambda *inputs, **keywords: self._run(name, self, inputs, keywords)
        if name == "forward" and name not in graphs:
            raise AttributeError("this script has no forward: its methods are " + ", ".join(graphs))
        return object.__getattribute__(self, name)

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
        """Write it; see `workbench.jit.save`."""
        save(self, f, _extra_files)


def _running(name: str, method: Any) -> Any:
    """Return what runs the graph of a method in the place of the method, of which a compiler reads the source."""

    @functools.wraps(method)
    def run_graph(self: ScriptModule, *inputs: Any, **keywords: Any) -> Any:
        return self._run(name, self, inputs, keywords)

    return run_graph


def mirrored(original: Module, made: Part, whole: Collection[str] = ()) -> Part:
    """Give `made` the parameters, buffers and parts of a module: the same tensors, in modules that run no Python.

    Those at the paths in `whole`, which the graph calls, are the modules themselves.
    """
    known: dict[int, Part] = {id(original): made}

    def fill(one: Module, other: Part, path: str) -> None:
        other.training = one.training
        for name, parameter in one._parameters.items():
            other.register_parameter(name, parameter)
        for name, buffer in one._buffers.items():
            other.register_buffer(name, buffer, persistent=one._buffer_names[name])
        for name, module in one._modules.items():
            if module is not None and path + name in whole:
                other.add_module(name, module)
                continue
            if module is not None and id(module) not in known:
                known[id(module)] = Part(module._get_name())
                fill(module, known[id(module)], f"{path}{name}.")
            # One that stands in two places is one again.
            other.add_module(name, None if module is None else known[id(module)])

    fill(original, made, "")
    return made


def freeze(
    mod: Any, preserved_attrs: Sequence[str] | None = None, optimize_numerics: bool = True
) -> ScriptModule:
    """Return a module whose parameters are constants of its graph, with what follows from them worked out.

    Batch normalisation is folded into convolutions where `optimize_numerics` allows that numbers change in their last
    bits.

    Attributes that are numbers, text or bools and that no method assigns are constants, too.

    Raises RuntimeError for what is no module of `trace` or `script`, and for one in training mode.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Conv2d(1, 2, 3), wb.nn.BatchNorm2d(2)).eval()
    >>> [node.op.name for node in freeze(wb.jit.trace(model, wb.rand(1, 1, 5, 5))).graph.nodes]
    ['conv2d']
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            f"Freezing expects a ScriptModule as input, got {type(mod).__name__}: jit.trace and jit.script make "
            "one of a module"
        )
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() before it is traced, "
            "and here."
        )
    graphs = {}
    for name, graph in decided(mod).items():
        folded = passes.fuse_conv_batch_norm(graph) if optimize_numerics else graph
        graphs[name] = passes.common_subexpressions(passes.peephole(passes.freeze(folded)))
    made = ScriptModule(graphs, mod._arguments, mod.original_name, mod._boundaries)
    made._attributes = keep_attributes(mod, made, graphs)
    for name in preserved_attrs or ():
        if name not in mod._graphs:
            setattr(made, name, getattr(mod, name))
    return made.eval()


def optimize_for_inference(mod: Any, other_methods: Sequence[str] | None = None) -> ScriptModule:
    """Return the module frozen; see `freeze`."""
    return freeze(mod.eval() if isinstance(mod, ScriptModule) else mod)


def keep_attributes(mod: ScriptModule, made: ScriptModule, graphs: Mapping[str, Graph]) -> dict[str, Type]:
    """Give a frozen module the attributes that its graphs still read; return their types."""
    kept = {path for graph in graphs.values() for path in paths_in(graph)}
    for path in sorted(kept):
        owner: Module = made
        *parts, name = path.split(".")
        for part in parts:
            if part not in owner._modules:
                owner.add_module(part, Part("Module"))
            owner = owner._modules[part]
        value = operator.attrgetter(path)(mod)
        if isinstance(value, Tensor):
            owner.register_buffer(name, value)
        else:
            setattr(owner, name, value)
    return {path: kind for path, kind in mod._attributes.items() if path in kept}

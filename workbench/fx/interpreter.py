"""`Interpreter` runs a graph node by node, each kind by a method to override; `Transformer` makes a new graph so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workbench.base.public import words
from workbench.fx.checks import at
from workbench.fx.codegen import _last_uses
from workbench.fx.graph import Graph
from workbench.fx.graph_module import GraphModule
from workbench.fx.interception import intercepted
from workbench.fx.node import Node, map_aggregate, map_arg
from workbench.fx.proxies import Proxy
from workbench.fx.tracer import Tracer
from workbench.nn import Module

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the graph of a module; a class of one's own overrides what happens at a kind of node.

    With `garbage_collect_values` each value is let go behind its last use.

    >>> import workbench as wb
    >>> class Shapes(wb.fx.Interpreter):
    ...     def run_node(self, n):
    ...         result = super().run_node(n)
    ...         print(n.op, n.name, tuple(result.shape))
    ...         return result
    >>> module = wb.fx.symbolic_trace(lambda x: x.sum(0))
    >>> Shapes(module).run(wb.ones(2, 3)).tolist()
    placeholder x (2, 3)
    call_method sum_1 (3,)
    output output (3,)
    [2.0, 2.0, 2.0]
    """

    def __init__(
        self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module = module
        held: Any = module
        self.graph: Graph = held.graph if graph is None else graph
        self.submodules = dict(module.named_modules())
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.args_iter: Iterator[Any] = iter(())
        self.user_to_last_uses = _last_uses(self.graph) if garbage_collect_values else {}

    def run(
        self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True
    ) -> Any:
        """Run the graph on `args`, and return its result; `initial_env` has values of nodes that need not be run."""
        self.env = {} if initial_env is None else dict(initial_env)
        self.args_iter = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                # Said once, at the node itself, and not again by an interpreter around this one.
                if self.extra_traceback and not getattr(error, "__notes__", None):
                    error.add_note(f"While executing {node.format_node()}" + _where(node))
                raise
            for one in self.user_to_last_uses.get(node, ()):
                self.env.pop(one, None)
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run the graph on the items of a list, which is emptied so that nobody else holds them."""
        args = tuple(args_list)
        args_list.clear()
        return self.run(*args)

    def run_node(self, n: Node) -> Any:
        """Run one node, by the method that is called as its kind."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the next argument of the run, its default where there is none left."""
        if target.startswith("*"):
            return list(self.args_iter) if not target.startswith("**") else {}
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!")

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what the module holds at a path."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a method of the first operand."""
        value, *rest = args
        return getattr(value, target)(*rest, **kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the module at a path."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """Return what the module holds at a path. Raises RuntimeError where there is nothing."""
        place, _, name = target.rpartition(".")
        owner = at(self.module, place) if place else self.module
        if not hasattr(owner, name):
            raise RuntimeError(f"Node referenced nonexistent target {target} of {type(self.module).__name__}")
        return getattr(owner, name)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the operands of a node in this run."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Return operands with the values of this run in the place of nodes."""

        def value(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[node]

        return map_arg(args, value)


def _where(node: Node) -> str:
    return "" if node.place is None else f"\nOriginal line: {node.place[0]}:{node.place[1]}"


class Transformer(Interpreter):
    """Makes a new graph of a module's: each method returns what stands in the place of a node.

    >>> import workbench as wb
    >>> class Sigmoid(wb.fx.Transformer):
    ...     def call_method(self, target, args, kwargs):
    ...         return super().call_method("sigmoid" if target == "relu" else target, args, kwargs)
    >>> print(Sigmoid(wb.fx.symbolic_trace(lambda x: x.relu())).transform().code.strip())
    def forward(self, x):
        sigmoid = x.sigmoid();  x = None
        return sigmoid
    """

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.new_graph = Graph(tracer_cls=self.graph._tracer_cls)
        self.tracer = _Transforming(self.new_graph, module)
        self._module = module

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        """Return the input of the new graph."""
        node = self.new_graph.placeholder(target, default_value=args[0] if args else ...)
        return Proxy(node, self.tracer)

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        """Return what is held, as a value of the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return a call of the module at a path."""
        return self.tracer.call_module(self.fetch_attr(target), None, args, kwargs)  # type: ignore[arg-type]

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return a call of a function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return a call of a method."""
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def transform(self) -> GraphModule:
        """Return a module of the new graph, with what the old one holds."""
        with intercepted():
            result = super().run()
        if result is not None or any(node.op == "output" for node in self.graph.nodes):
            self.new_graph.output(map_proxies(result))
        for old in self.graph.nodes:
            for new in self.new_graph.nodes:
                if old.op == new.op == "placeholder" and old.name == new.name:
                    new.type = old.type
        return GraphModule(self.module, self.new_graph, type(self.module).__name__)


def map_proxies(operand: Any) -> Any:
    """Return an operand with nodes in the place of proxies."""
    return map_aggregate(operand, lambda one: one.node if isinstance(one, Proxy) else one)


class _Transforming(Tracer):
    """Records in the new graph; every module that is called stays a leaf."""

    def __init__(self, graph: Graph, root: Module) -> None:
        super().__init__()
        self.root = root
        self._begin()
        self.graph = graph

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return True


__getattr__, __dir__ = words(__name__, __all__)

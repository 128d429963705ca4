"""`Graph`: nodes in the order in which they run, and every change of them, under PyTorch's words.

It keeps the order, as a list in which a place is found at once, and the names. The calls themselves are nodes of the
house's own graph: `Graph.ir` is that graph.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from workbench.base.public import words
from workbench.core.op import Op
from workbench.fx import checks
from workbench.fx.codegen import CodeGen, PythonCode, python_code
from workbench.fx.ir import graph_of
from workbench.fx.naming import Names, qualified_name, snake_case
from workbench.fx.node import OPCODES, Node, map_arg
from workbench.graph import Graph as HouseGraph

__all__ = ["CodeGen", "Graph", "PythonCode"]


class _NodeList:
    """The nodes of a graph, in order; going over them a node may be taken out, and others put in."""

    def __init__(self, graph: Graph, backward: bool = False) -> None:
        self.graph = graph
        self.backward = backward

    def __len__(self) -> int:
        return self.graph._count

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        one = root._prev if self.backward else root._next
        while one is not root:
            if not one._erased:
                yield one
            # A node that was taken out still knows where it stood.
            one = one._prev if self.backward else one._next

    def __reversed__(self) -> _NodeList:
        return _NodeList(self.graph, not self.backward)


class _InsertPoint:
    """Where new nodes go; with ``with`` for as long as the block lasts."""

    def __init__(self, graph: Graph, put: Callable[[Node], None]) -> None:
        self.graph = graph
        self.before, graph._put = graph._put, put

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self.graph._put = self.before


class Graph:
    """Calls in the order in which they run, to be built by hand, changed, printed, and run as a `GraphModule`.

    >>> import workbench as wb
    >>> graph = wb.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> total = graph.call_function(wb.add, (x, graph.call_method("relu", (x,))))
    >>> out = graph.output(total)
    >>> print(graph)
    graph():
        %x : [num_users=2] = placeholder[target=x]
        %relu : [num_users=1] = call_method[target=relu](args = (%x,), kwargs = {})
        %add : [num_users=1] = call_function[target=workbench.add](args = (%x, %relu), kwargs = {})
        return add
    >>> wb.fx.GraphModule({}, graph)(wb.tensor([1.0, -1.0]))
    tensor([ 2., -1.])
    """

    def __init__(
        self,
        owning_module: Any = None,
        tracer_cls: type | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._names = Names()
        self._codegen = CodeGen()
        self._root = Node(self, "", "root", "", (), {})
        self._count = 0
        self._put: Callable[[Node], None] = self._root.prepend
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self.owning_module = owning_module
        """The module whose graph it is: what it calls and holds is found there."""

    @property
    def nodes(self) -> _NodeList:
        """The nodes, in order; ``reversed`` goes backwards."""
        return _NodeList(self)

    @property
    def ir(self) -> HouseGraph:
        """The same calls as a graph of the house: to be checked, printed, run, drawn, and worked on by its passes.

        >>> import workbench as wb
        >>> print(wb.fx.symbolic_trace(lambda x: x.relu() + 1).graph.ir)
        graph(%x : any):
          %relu : any = Tensor.relu(%x)...
          %add : any = operator.add(%relu, 1)...
          return %add
        """
        return graph_of(self)

    def _owned(self, path: Any) -> Any:
        """Return what the owning module has at a path; None where it has nothing there."""
        return checks.at(self.owning_module, path) if isinstance(path, str) else None

    # ------------------------------------------------------------------------------------------- new nodes

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Make a node at the insertion point, and return it; its name is one that nobody has.

        Raises ValueError for an unknown `op`, TypeError for operands that are no tuple and dict.
        """
        if op not in OPCODES or op == "root":
            raise ValueError(f"{op!r} is no kind of node: there are {', '.join(sorted(OPCODES - {'root'}))}")
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise TypeError(f"args must be a tuple, not {type(args).__name__}: write ({args!r},)")
        if not isinstance(kwargs, dict):
            raise TypeError(f"kwargs must be a dict, not {type(kwargs).__name__}")
        checks.check_target(op, target)
        if name is None:
            name = _candidate(target)
        node = Node(self, self._names.take(name), op, target, args, kwargs, type_expr)
        self._put(node)
        self._count += 1
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """Add an input; ``"*args"`` and ``"**kwargs"`` take what is left over. Without a default it must be given."""
        # Whether something was given cannot be told by None, which is a default that programs have.
        args = () if default_value is ... or default_value is _EMPTY else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add what the module holds at a path: a parameter, a buffer."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a call of the module at a path."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a call of a method of the first operand."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """Add a call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """Add what is returned; a graph has one output, and `lint` says so of a second."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda one: one) -> Node:
        """Copy a node, of another graph mostly; `arg_transform` says what its operands are here."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        name = node.name
        made = self.create_node(node.op, node.target, args, dict(kwargs), name, node.type)
        made.meta, made.place = copy.copy(node.meta), node.place
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Any], return_output_node: bool = False) -> Any:
        """Copy all nodes of `g` but its output to the insertion point; return what that would return.

        `val_map` says which nodes stand for some of them already, and has all of them afterwards.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                found = map_arg(node.args[0], val_map.__getitem__)
                return (found, node) if return_output_node else found
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    # ------------------------------------------------------------------------------------------- places

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """Put new nodes in front of `n`; without one, in front of all."""
        if n is None:
            return self.inserting_after(self._root)
        checks.check_own(self, n)
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """Put new nodes behind `n`, in the order in which they are made; without one, at the end."""
        if n is None:
            return self.inserting_before(self._root)
        checks.check_own(self, n)
        last = [n]

        def put(node: Node) -> None:
            last[0].append(node)
            last[0] = node

        return _InsertPoint(self, put)

    # ------------------------------------------------------------------------------------------- changes

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out. Raises RuntimeError while others read it."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}! Call node.replace_all_uses_with(other) first, or erase them before it"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            raise RuntimeError(f"{to_erase} was erased before")
        to_erase._unlink()
        to_erase._erased = True
        self._count -= 1
        to_erase._write((), {})

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Take out the nodes that nobody reads and that do nothing else; say whether there were some."""
        self.lint()
        before = self._count
        impure = is_impure_node or Node.is_impure
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
        return self._count < before

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """Return the nodes of a kind, in order; where a target is given, those that call or hold it."""
        if op == "call_function" and target is None:
            return [node for node in self.nodes if node.op == op]
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def output_node(self) -> Node:
        """Return the output. Raises RuntimeError where there is none."""
        for node in reversed(self.nodes):
            if node.op == "output":
                return node
        raise RuntimeError("the graph has no output yet: graph.output(result) adds it")

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let `codegen` say how the function of this graph begins and ends, from the next `recompile` on."""
        if not isinstance(codegen, CodeGen):
            raise TypeError(f"set_codegen takes an fx.CodeGen, got {type(codegen).__name__}")
        self._codegen = codegen

    def process_inputs(self, *args: Any) -> Any:
        """Return the inputs of the graph, of what its function is given."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """Return what the function of the graph returns, of what its output is."""
        return self._codegen.process_outputs(out)

    def on_generate_code(
        self,
        make_transformer: Callable[
            [Callable[[list[str]], list[str]] | None], Callable[[list[str]], list[str]] | None
        ],
    ) -> AbstractContextManager[None]:
        r"""Let the lines of the code be changed when it is written; with ``with`` for as long as the block lasts.

        `make_transformer` is given what changes them now, or None, and returns what does from now on: a function from
        the lines of the body to others.

        >>> import workbench as wb
        >>> module = wb.fx.symbolic_trace(lambda x: x + 1)
        >>> with module.graph.on_generate_code(lambda _: lambda body: ["print('called')\n", *body]):
        ...     _ = module.recompile()
        >>> module(wb.tensor(1.0))
        called
        tensor(2.)
        """
        codegen, before = self._codegen, self._codegen._body_transformer
        codegen._body_transformer = make_transformer(before)

        @contextmanager
        def until_the_end() -> Iterator[None]:
            try:
                yield
            finally:
                codegen._body_transformer = before

        return until_the_end()

    # -------------------------------------------------------------------------------------- what it is

    def lint(self) -> None:
        """Check that the graph can run: operands stand above who reads them, names are there once, targets exist.

        Raises RuntimeError, which names the node.
        """
        checks.lint(self)

    def python_code(self, root_module: str = "self", *, verbose: bool = False) -> PythonCode:
        """Return the graph as a Python function, with the names that it needs."""
        return python_code(self, root_module, verbose)

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        head = ("opcode", "name", "target", "args", "kwargs")
        rows = [head, *((n.op, n.name, str(n.target), str(n.args), str(n.kwargs)) for n in self.nodes)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        rows.insert(1, tuple("-" * width for width in widths))  # type: ignore[arg-type]
        for row in rows:
            print("  ".join(one.ljust(width) for one, width in zip(row, widths, strict=True)).rstrip())

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        other = Graph(tracer_cls=self._tracer_cls)
        other._codegen = copy.deepcopy(self._codegen, memo)
        known: dict[Node, Any] = {}
        found = other.graph_copy(self, known, return_output_node=True)
        if found is not None:
            result, output = found
            made = other.create_node("output", "output", (result,), name=output.name, type_expr=output.type)
            made.meta = copy.copy(output.meta)
        memo[id(self)] = other
        return other

    def __str__(self) -> str:
        names: list[str] = []
        returns = [""]
        lines = [node.format_node(names, returns) for node in self.nodes]
        return "\n    ".join([f"graph():{''.join(returns)}" if returns[0] else "graph():", *map(str, lines)])

    def __repr__(self) -> str:
        return f"<fx graph: {self._count} nodes>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self.ir._repr_mimebundle_(include, exclude)


_EMPTY = inspect.Parameter.empty


def _candidate(target: Any) -> str:
    """Return what to call a node by what it calls or holds."""
    if not isinstance(target, str):
        target = (
            target.name
            if isinstance(target, Op)
            else getattr(target, "__name__", None) or qualified_name(target)
        )
    if target.startswith("__") and target.endswith("__"):
        target = target[2:-2]
    return snake_case(target)


__getattr__, __dir__ = words(__name__, __all__)

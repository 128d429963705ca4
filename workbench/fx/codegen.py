"""The code of a graph: a Python function that runs it, which lets every value go behind its last use."""

from __future__ import annotations

import builtins
import enum
import keyword
import math
import operator
import sys
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.base.devices import Device
from workbench.base.dtypes import DType
from workbench.fx.naming import qualified_name, type_name
from workbench.fx.node import Node

if TYPE_CHECKING:
    from workbench.fx.graph import Graph

__all__ = ["CodeGen", "PythonCode", "python_code"]

_INFIX = {
    "add": "+", "and_": "&", "eq": "==", "floordiv": "//", "ge": ">=", "gt": ">", "le": "<=", "lshift": "<<", "lt": "<",
    "matmul": "@", "mod": "%", "mul": "*", "ne": "!=", "or_": "|", "pow": "**", "rshift": ">>", "sub": "-",
    "truediv": "/", "xor": "^",
}  # fmt: skip
_PREFIX = {"invert": "~", "neg": "-", "pos": "+"}
_ASSIGNING = {f"i{name.rstrip('_')}": f"{sign}=" for name, sign in _INFIX.items()}


@dataclass
class PythonCode:
    """Source of a function, and what its names stand for."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int] = field(default_factory=dict)
    """For each line of the source, which node it is of."""


class CodeGen:
    r"""How the function of a graph begins and ends: a class of one's own takes its arguments in another form.

    `Graph.set_codegen` gives a graph one, and `recompile` writes its code by it.

    >>> import workbench as wb
    >>> class Listed(wb.fx.CodeGen):
    ...     def gen_fn_def(self, free_vars, maybe_return_annotation):
    ...         return f"def forward(self, inputs){maybe_return_annotation}:\n    {', '.join(free_vars)} = inputs"
    ...     def process_inputs(self, *inputs):
    ...         return inputs[0]
    >>> module = wb.fx.symbolic_trace(lambda x, y: x - y)
    >>> module.graph.set_codegen(Listed())
    >>> _ = module.recompile()
    >>> module([wb.tensor(3.0), wb.tensor(1.0)])
    tensor(2.)
    """

    __slots__ = ("__weakref__", "_body_transformer", "_func_name")

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """Return the lines with which the function begins; `free_vars` are its arguments, as they are written."""
        arguments = ", ".join(free_vars if free_vars[:1] == ["self"] else ["self", *free_vars])
        return f"def {self._func_name}({arguments}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any) -> str:
        """Return the line that returns; nodes in `output_args` print as their names."""
        return f"return {output_args!r}"

    def process_inputs(self, *args: Any) -> Any:
        """Return what the inputs of the graph are, of what the function is given: an interpreter asks."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """Return what the function returns, of what the graph gives."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Return names that the code needs besides, and what they stand for."""
        return []


def python_code(graph: Graph, root: str = "self", verbose: bool = False) -> PythonCode:
    """Return the code of a graph; with `verbose`, each line says which line of the program it came from."""
    return _Writer(graph, root, verbose).code()


class _Writer:
    def __init__(self, graph: Graph, root: str, verbose: bool) -> None:
        self.graph = graph
        self.root = root
        self.verbose = verbose
        self.globals: dict[str, Any] = {}
        self.names = graph._names.copy()
        """Names of nodes are taken: what the code needs besides gets others."""
        self.arguments: list[str] = []
        self.lines: list[str] = []
        self.numbers: list[int] = []
        self.returns = ""

    def code(self) -> PythonCode:
        """Write all nodes."""
        ends = _last_uses(self.graph)
        where = None
        for i, node in enumerate(self.graph.nodes):
            if self.verbose and node.op not in ("placeholder", "output") and node.place != where:
                where = node.place
                self._line(i, "" if where is None else f"\n    # File: {where[0]}:{where[1]}")
            self._line(i, self._node(node) + _released(ends.get(node, [])))
        codegen = self.graph._codegen
        lines = [f"{line}\n" for line in self.lines] or ["pass\n"]
        numbers = self.numbers
        if codegen._body_transformer is not None:
            lines = codegen._body_transformer(lines)
            numbers = []  # what lines belong to nodes nobody knows any more
        body = "".join(
            f"    {line}" if line.strip() else line for line in "".join(lines).splitlines(keepends=True)
        )
        head = codegen.gen_fn_def(_ordered(self.arguments), self.returns).strip("\n")
        if self.root != "self":
            head = head.replace("(self", f"({self.root}", 1)
        self.globals |= dict(codegen.additional_globals())
        # The function begins at line 4, and its first statement stands below what it begins with.
        first = 5 + head.count("\n")
        source = f"\n\n\n{head}\n{body}    "
        return PythonCode(source, self.globals, {line + first: node for line, node in enumerate(numbers)})

    def _line(self, number: int, text: str) -> None:
        if text:
            self.lines.append(text)
            self.numbers += [number] * (text.count("\n") + 1)

    def _node(self, node: Node) -> str:
        kind = "" if node.type is None else f" : {self._type(node.type)}"
        match node.op:
            case "placeholder":
                return self._placeholder(node, kind)
            case "output":
                if node.type is not None:
                    self.returns = f" -> {self._type(node.type)}"
                result = node.args[0] if node.args else None
                codegen = self.graph._codegen
                # By names and tables where it is our own; by what nodes print as where somebody else writes it.
                if type(codegen).generate_output is CodeGen.generate_output:
                    return f"return {self._operand(result)}"
                return codegen.generate_output(result).strip("\n")
            case "get_attr":
                return f"{node.name}{kind} = {_path(self.root, node.target)}"
            case "call_module":
                return f"{node.name}{kind} = {_path(self.root, node.target)}({self._arguments(node.args, node.kwargs)})"
            case "call_method":
                return f"{node.name}{kind} = {self._method(node)}"
        return self._function(node, kind)

    def _placeholder(self, node: Node, kind: str) -> str:
        stars = "*" * (len(node.target) - len(node.target.lstrip("*")))
        word = node.target.lstrip("*")
        if not word.isidentifier() or keyword.iskeyword(word):
            raise RuntimeError(
                f"Node '{node.name}' is an input called {node.target!r}, which no argument can be called"
            )
        default = f" = {self._operand(node.args[0])}" if node.args else ""
        self.arguments.append(f"{stars}{word}{kind}{default}")
        return "" if word == node.name else f"{node.name} = {word}"

    def _method(self, node: Node) -> str:
        if not node.args:
            raise RuntimeError(
                f"Node '{node.name}' calls the method {node.target!r} of nothing: args[0] is whose it is"
            )
        first = self._operand(node.args[0])
        # A number before a dot would be read as part of it.
        first = first if isinstance(node.args[0], Node) else f"({first})"
        return f"{_path(first, node.target)}({self._arguments(node.args[1:], node.kwargs)})"

    def _function(self, node: Node, kind: str) -> str:
        target, args = node.target, node.args
        name = getattr(target, "__name__", "")
        own = getattr(operator, name, None) is target
        if own and not node.kwargs:
            operands = [self._operand(one) for one in args]
            if name in _INFIX and len(args) == 2:
                # -1 ** x is -(1 ** x).
                low = isinstance(args[0], int | float | complex) and operands[0].startswith("-")
                left = f"({operands[0]})" if low else operands[0]
                return f"{node.name}{kind} = {left} {_INFIX[name]} {operands[1]}"
            if name in _PREFIX and len(args) == 1:
                return f"{node.name}{kind} = {_PREFIX[name]}{operands[0]}"
            if name == "getitem" and len(args) == 2 and isinstance(args[0], Node):
                return f"{node.name}{kind} = {operands[0]}[{operands[1]}]"
            if name in _ASSIGNING and len(args) == 2 and isinstance(args[0], Node):
                return f"{operands[0]} {_ASSIGNING[name]} {operands[1]};  {node.name}{kind} = {operands[0]}"
            if name == "setitem" and len(args) == 3 and isinstance(args[0], Node):
                return f"{operands[0]}[{operands[1]}] = {operands[2]};  {node.name}{kind} = {operands[0]}"
        if target is getattr and len(args) == 2 and not node.kwargs and _is_word(args[1]):
            return f"{node.name}{kind} = {self._operand(args[0])}.{args[1]}"
        function = self._global(qualified_name(target), target)
        return f"{node.name}{kind} = {function}({self._arguments(args, node.kwargs)})"

    # ---------------------------------------------------------------------------------------- operands

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        found = [self._operand(one) for one in args]
        named = [f"{key} = {self._operand(one)}" for key, one in kwargs.items() if _is_word(key)]
        # A keyword that is no word can be given in a dict only.
        other = {key: one for key, one in kwargs.items() if not _is_word(key)}
        return ", ".join([*found, *named, *([f"**{self._operand(other)}"] if other else [])])

    def _operand(self, operand: Any) -> str:
        match operand:
            case Node():
                return operand.name
            case tuple() if hasattr(operand, "_fields"):
                parts = ", ".join(map(self._operand, operand))
                return f"{self._global(type_name(type(operand)), type(operand))}({parts})"
            case tuple():
                inner = ", ".join(map(self._operand, operand))
                return f"({inner},)" if len(operand) == 1 else f"({inner})"
            case list():
                return f"[{', '.join(map(self._operand, operand))}]"
            case dict():
                pairs = (f"{self._operand(key)}: {self._operand(one)}" for key, one in operand.items())
                return f"{{{', '.join(pairs)}}}"
            case slice():
                return f"slice({', '.join(map(self._operand, (operand.start, operand.stop, operand.step)))})"
            case bool() | int() | str() | bytes() | None if type(operand) in _PLAIN:
                return repr(operand)
            case float() | complex() if type(operand) in _PLAIN:
                return self._number(operand)
            case DType():
                return self._global(f"workbench.{operand.name.rpartition('.')[2]}", operand)
            case Device():
                self.globals["device"] = Device
                place = repr(operand.type) if operand.index is None else f"{operand.type!r}, {operand.index}"
                return f"device({place})"
        if operand is Ellipsis:
            return "Ellipsis"
        if isinstance(operand, type):
            name = type_name(operand)
            return self._global(name if "." in name else f"builtins.{name}", operand)
        if callable(operand):
            return self._global(qualified_name(operand), operand)
        # Whatever else the program gave is kept as it is, under a name of its own.
        word = operand.name if isinstance(operand, enum.Enum) else type(operand).__name__
        return self._global(f"value.{word}", operand)

    def _number(self, number: float | complex) -> str:
        # These two are names in the code, and a complex number with one of them in it has no form that is read back.
        if isinstance(number, complex):
            return (
                repr(number)
                if math.isfinite(number.real) and math.isfinite(number.imag)
                else self._global("value.complex", number)
            )
        for word in ("inf", "nan"):
            if word in repr(number):
                self.globals[word] = float(word)
        return repr(number)

    def _type(self, kind: Any) -> str:
        for one in (kind, *_parts(kind)):
            if isinstance(one, type) and one.__module__ not in ("builtins", "types"):
                root, _, rest = type_name(one).partition(".")
                if root == "workbench":
                    self._own(rest, one)
                else:
                    self.globals.setdefault(root, sys.modules[root])
        if "typing." in type_name(kind):
            self.globals["typing"] = typing
        return type_name(kind)

    def _own(self, path: str, value: Any) -> bool:
        """Put what the code calls ``workbench.…`` there; False where something else stands there already.

        That name has what the code needs and nothing else: to import the package from within would be to go upwards.
        """
        place = self.globals.setdefault("workbench", types.SimpleNamespace())
        *rooms, last = path.split(".")
        for room in rooms:
            place = vars(place).setdefault(room, types.SimpleNamespace())
        return _is_word(last) and vars(place).setdefault(last, value) is value

    def _global(self, name: str, value: Any) -> str:
        """Return what the code calls something from outside, and note what that is."""
        root, _, rest = name.partition(".")
        if root == "builtins" and getattr(builtins, rest, None) is value:
            return rest
        if root == "workbench" and self._own(rest, value):
            return name
        known = next((word for word, one in self.globals.items() if one is value), None)
        if known is None:
            # As PyTorch has it: the C module that the operators are written in.
            word = name.replace("operator.", "_operator.", 1) if name.startswith("operator.") else name
            known = self.names.take(word.replace(".", "_"))
            self.globals[known] = value
        return known


_PLAIN = (bool, int, float, complex, str, bytes, type(None))
"""Exactly these: a member of an enumeration may be a number, and is more than that."""


def _ordered(arguments: list[str]) -> list[str]:
    """Return arguments in an order that Python takes: one without a default behind one that has some is a keyword's."""
    plain = [one for one in arguments if not one.startswith("*")]
    defaults = [" = " in one for one in plain]
    first = defaults.index(True) if True in defaults else len(plain)
    needed = next((i for i in range(first, len(plain)) if not defaults[i]), len(plain))
    rest = [one for one in arguments if one.startswith("*") and not one.startswith("**")]
    more = [one for one in arguments if one.startswith("**")]
    star = rest or (["*"] if needed < len(plain) else [])
    return [*plain[:needed], *star, *plain[needed:], *more]


def _parts(kind: Any) -> tuple[Any, ...]:
    inner = typing.get_args(kind)
    return (*inner, *(part for one in inner for part in _parts(one)))


def _is_word(text: Any) -> bool:
    return isinstance(text, str) and text.isidentifier() and not keyword.iskeyword(text)


def _path(base: str, path: str) -> str:
    """Return what stands at a dotted path: ``self.layer``, ``getattr(self.layers, "0")``."""
    for part in path.split("."):
        base = f"{base}.{part}" if _is_word(part) else f'getattr({base}, "{_quoted(part)}")'
    return base


def _quoted(part: str) -> str:
    return repr(part)[1:-1].replace('"', '\\"')


def _last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """Return for each node those that nobody reads behind it."""
    known: set[Node] = set()
    ends: dict[Node, list[Node]] = {}
    for node in reversed(graph.nodes):
        inputs = node.all_input_nodes
        if node.op == "output":
            # The frame ends here, and all that it has with it.
            known.update(inputs)
            continue
        for one in inputs:
            if one not in known:
                known.add(one)
                ends.setdefault(node, []).append(one)
        if not node.users and node.op != "placeholder":
            ends.setdefault(node, []).append(node)
    return ends


def _released(nodes: list[Node]) -> str:
    return f";  {' = '.join(one.name for one in nodes)} = None" if nodes else ""

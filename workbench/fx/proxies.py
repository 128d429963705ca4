"""`Proxy`: what a function is given while it is traced. What is done with it becomes a node; it has no numbers."""

from __future__ import annotations

import dis
import linecache
import operator
import sys
import warnings
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from workbench.base.public import words
from workbench.base.seams import Seam
from workbench.base.source_location import place
from workbench.fx.node import Node

if TYPE_CHECKING:
    from workbench.fx.proxy import TracerBase

__all__ = ["Attribute", "ParameterProxy", "Proxy", "TraceError", "proxy_in"]


APPENDING = Seam("making nodes of a graph by proxies", "workbench.fx.proxy")


class TraceError(ValueError):
    """A function that cannot be traced: it asks for numbers, which there are none of."""


class TraceTypeError(TraceError, TypeError):
    """As PyTorch has it, where Python asks for a whole number."""


class TraceRuntimeError(TraceError, RuntimeError):
    """As PyTorch has it, where Python asks for a length."""


_UNPACKING = dis.opmap["UNPACK_SEQUENCE"]


def program_frame() -> FrameType | None:
    """Return the nearest frame of the program: a model of `wb.models` is one, though it is in this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("workbench.models.") or not name.startswith(("workbench.", "numpy.")):
            return frame
        frame = frame.f_back
    return None


def told(words: str) -> str:
    """Return words with the line of the program that asked, as it is written."""
    frame = program_frame()
    if frame is None:
        return words
    file, line = frame.f_code.co_filename, frame.f_lineno
    source = linecache.getline(file, line, frame.f_globals).strip()
    return f"{place(file, line)}: {source}\n{words}" if source else f"{place(file, line)}: {words}"


class Proxy:
    """Stands for a value of a run: calls, operators, methods and attributes become nodes of the graph.

    >>> import workbench as wb
    >>> graph = wb.fx.Graph()
    >>> x = wb.fx.Proxy(graph.placeholder("x"))
    >>> (x.relu() + 1).node.format_node()
    '%add : [num_users=0] = call_function[target=operator.add](args = (%relu, 1), kwargs = {})'
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = APPENDING(node.graph) if tracer is None else tracer
        """Who makes the nodes."""
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __format__(self, form: str) -> str:
        warnings.warn(
            told(
                f"a text with {self!r} in it is made while tracing, once and for all: it has the name "
                "and not the value. "
                "A function that fx.wrap keeps whole is given the value in each run"
            ),
            stacklevel=2,
        )
        return format(repr(self), form)

    def __getattr__(self, name: str) -> Attribute:
        # What Python and notebooks look for is no attribute of the value.
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"'Proxy' object has no attribute {name!r}", name=name, obj=self)
        return Attribute(self, name)

    _names = None
    """What is traced has no names of dims: those are checked by the ops when it runs."""

    def has_names(self) -> bool:
        """Say whether a value has names of dims: what the tracer says of it."""
        return self.tracer.has_names(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __iter__(self) -> Iterator[Proxy]:
        count = _unpacked(sys._getframe(1))
        if count is not None:
            return (operator.getitem(self, i) for i in range(count))
        return self.tracer.iter(self)

    def __len__(self) -> int:
        raise TraceRuntimeError(
            told(
                "'len' is not supported in symbolic tracing by default: a length is known when it runs. "
                f"Write {self.node.name}.shape[0], which stays a value of the graph, or "
                "wb.fx.wrap('len') at the top of "
                "the module"
            )
        )

    def __index__(self) -> int:
        raise TraceTypeError(
            told(
                "'Proxy' object cannot be interpreted as an integer: it is known when it runs. For `range` over a size "
                "give the number itself (concrete_args), or keep the loop in a function that wb.fx.wrap keeps whole"
            )
        )

    def __int__(self) -> int:
        raise TraceTypeError(told(_NUMBER.format("int()", "a real number", "int")))

    def __float__(self) -> float:
        raise TraceTypeError(told(_NUMBER.format("float()", "a real number", "float")))

    def __complex__(self) -> complex:
        raise TraceTypeError(told(_NUMBER.format("complex()", "a number", "complex")))

    def __contains__(self, item: Any) -> bool:
        raise TraceError(
            told(
                "Proxy object cannot be iterated, and `in` looks at each item: (x == item).any() is "
                "a value of the graph, "
                "and torch.where chooses by it"
            )
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TraceTypeError(
            told(
                "'Proxy' object does not support item assignment: write what gives a new tensor, "
                "x = x.index_fill(…), x.masked_fill(…), x.slice_scatter(…) or torch.where(mask, value, x)"
            )
        )

    def keys(self) -> Any:
        """Return the keys of a dict: what the tracer says of it."""
        return self.tracer.keys(self)


_NUMBER = (
    "{0} argument must be a string or {1}, not 'Proxy': the number is known when it runs. Leave it a tensor (x.to(…), "
    "x.item() stays a value of the graph), or wb.fx.wrap(function) keeps a function that needs {2} whole"
)


class Attribute(Proxy):
    """An attribute of what a proxy stands for: read, or called as a method."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads it: made when it is needed, as most are called."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter whose shape is known while tracing."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        self.name = name
        self.param = param

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The sizes of the parameter, as numbers."""
        return self.param.shape

    @property
    def ndim(self) -> int:
        """How many dims the parameter has."""
        return int(self.param.ndim)

    def size(self, *dim: Any) -> Any:
        """Return the sizes of the parameter, or one of them, as numbers."""
        return self.param.size(*dim)

    def dim(self) -> int:
        """Return how many dims the parameter has."""
        return int(self.param.ndim)

    def numel(self) -> int:
        """Return how many numbers the parameter has."""
        return int(self.param.numel())

    def nelement(self) -> int:
        """Return how many numbers the parameter has."""
        return int(self.param.numel())


def _unpacked(frame: FrameType) -> int | None:
    """Return into how many names a statement unpacks, as ``a, b = x`` does; None where it is something else."""
    code = frame.f_code.co_code
    at = frame.f_lasti
    return code[at + 1] if at >= 0 and code[at] == _UNPACKING else None


def _forward(function: Callable[..., Any]) -> Callable[..., Any]:
    def operator(self: Proxy, *operands: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", function, (self, *operands), {})

    return operator


def _backward(function: Callable[..., Any]) -> Callable[..., Any]:
    def operator(self: Proxy, other: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", function, (other, self), {})

    return operator


for _name in (
    "abs", "add", "and_", "eq", "floordiv", "ge", "getitem", "gt", "invert", "le", "lshift", "lt", "matmul", "mod",
    "mul", "ne", "neg", "or_", "pos", "pow", "rshift", "sub", "truediv", "xor",
):  # fmt: skip
    setattr(Proxy, f"__{_name.rstrip('_')}__", _forward(getattr(operator, _name)))
for _name in (
    "add",
    "and_",
    "floordiv",
    "lshift",
    "matmul",
    "mod",
    "mul",
    "or_",
    "pow",
    "rshift",
    "sub",
    "truediv",
    "xor",
):
    setattr(Proxy, f"__r{_name.rstrip('_')}__", _backward(getattr(operator, _name)))
del _name


def proxy_in(operands: Any) -> Proxy | None:
    """Return the first proxy among operands, also inside tuples, lists, dicts and slices; None where there is none."""
    for one in operands:
        if isinstance(one, Proxy):
            return one
        if isinstance(one, tuple | list):
            found = proxy_in(one)
        elif isinstance(one, dict):
            found = proxy_in(one.values())
        elif isinstance(one, slice):
            found = proxy_in((one.start, one.stop, one.step))
        else:
            continue
        if found is not None:
            return found
    return None


def refuse_bool(proxy: Proxy) -> NoReturn:
    """Say that no branch can be taken by a value, and what to write."""
    raise TraceError(
        told(
            "symbolically traced variables cannot be used as inputs to control flow. Write "
            "torch.where(condition, a, b) "
            "where both branches give tensors; what is known before it runs is given in "
            "concrete_args={'name': value}; a "
            "function that wb.fx.wrap keeps whole, or a module that is a leaf, may branch"
        )
    )


__getattr__, __dir__ = words(__name__, __all__)

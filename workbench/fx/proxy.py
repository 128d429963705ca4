"""What makes nodes of what is done with proxies: operands are brought into the graph, results are proxies."""

from __future__ import annotations

import dataclasses
import enum
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from workbench.base.devices import Device
from workbench.base.dtypes import DType
from workbench.base.public import words
from workbench.base.symbolic_size import SymbolicNumber
from workbench.fx.graph import Graph
from workbench.fx.interception import intercept_for
from workbench.fx.node import Node
from workbench.fx.proxies import (
    APPENDING,
    Attribute,
    ParameterProxy,
    Proxy,
    TraceError,
    program_frame,
    refuse_bool,
    told,
)

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "TraceError", "TracerBase"]

_PLAIN = frozenset({int, float, bool, complex, str, bytes, type(None), type(...)})
_LITERALS = (
    int, float, complex, str, bytes, type(None), type(...), DType, Device, enum.Enum, np.dtype, np.generic, type,
    types.FunctionType, types.BuiltinFunctionType, types.MethodType,
)  # fmt: skip


class TracerBase:
    """Makes nodes of calls that have proxies among their operands."""

    graph: Graph
    record_stack_traces: bool = False
    """Whether nodes keep the whole stack of the program that made them, in `Node.stack_trace`."""
    trace_asserts: bool = False
    """Kept for programs that say it: an assertion on a value is refused like any other branch."""
    proxy_buffer_attributes: bool = False
    """Whether buffers that a module reads are proxies, as its parameters are."""
    traced_func_name: str = "forward"
    """The method that is traced."""

    def create_node(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Make a node of operands that are the graph's; say at which line of the program that was."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        frame = program_frame()
        if frame is not None:
            node.place = frame.f_code.co_filename, frame.f_lineno
            if self.record_stack_traces:
                node.stack_trace = "".join(traceback.format_stack(frame)).strip()
        return node

    def proxy(self, node: Node) -> Proxy:
        """Return what stands for a node in the program."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Make a node of operands of the program, and return what stands for it there."""
        arg = self.create_arg
        inputs = tuple([one if type(one) in _PLAIN else arg(one) for one in args])
        params = {key: arg(one) for key, one in kwargs.items()} if kwargs else {}
        node = self.create_node(kind, target, inputs, params, name, type_expr)
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def create_arg(self, a: Any) -> Any:
        """Return an operand as the graph has it: nodes in the place of proxies. Raises `TraceError` for others."""
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, tuple):
            parts = [self.create_arg(one) for one in a]
            return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
        if isinstance(a, list):
            return [self.create_arg(one) for one in a]
        if isinstance(a, dict):
            for key in a:
                if isinstance(key, Proxy):
                    raise TraceError(
                        told(f"{key!r} cannot be a key of a dict: a graph's keys are known before it runs")
                    )
            return {key: self.create_arg(one) for key, one in a.items()}
        if isinstance(a, slice):
            return slice(*[self.create_arg(one) for one in (a.start, a.stop, a.step)])
        if isinstance(a, range):
            return range(a.start, a.stop, a.step)
        if dataclasses.is_dataclass(a) and not isinstance(a, type) and not isinstance(a, DType | Device):
            fields = {one.name: self.create_arg(getattr(a, one.name)) for one in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), fields)
        if isinstance(a, (Node, SymbolicNumber, *_LITERALS)):
            return a
        raise TraceError(
            told(
                f"argument of type: {type(a)} cannot stand in a graph: pass tensors, numbers, text, "
                "or tuples, lists and "
                "dicts of them; wb.fx.wrap keeps a function whole that needs another"
            )
        )

    # ------------------------------------------------------------------ what programs override for values

    def to_bool(self, obj: Proxy) -> bool:
        """Say what a branch by a value does: it is refused."""
        refuse_bool(obj)

    def iter(self, obj: Proxy) -> Iterator[Proxy]:
        """Say what a loop over a value does: it is refused."""
        raise TraceError(
            told(
                "Proxy object cannot be iterated: how many items there are is known when it runs. "
                "`a, b = x` takes as many "
                "as there are names; for more, x.unbind(dim) by an index, or give the number in concrete_args"
            )
        )

    def has_names(self, obj: Proxy) -> bool:
        """Say whether a value has names of dims: it has none while it is traced."""
        return False

    def keys(self, obj: Proxy) -> Any:
        """Return the keys of a dict among the inputs, as a value of the graph."""
        return self.create_proxy("call_method", "keys", (obj,), {})


class GraphAppendingTracer(TracerBase):
    """Adds to a graph what is done with proxies of its nodes: operators, methods, and calls of functions.

    >>> import workbench as wb
    >>> graph = wb.fx.Graph()
    >>> x = wb.fx.Proxy(graph.placeholder("x"), wb.fx.GraphAppendingTracer(graph))
    >>> wb.sigmoid(x).node.format_node()
    '%sigmoid : [num_users=0] = call_function[target=workbench.sigmoid](args = (%x,), kwargs = {})'
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        # As long as anybody has a proxy of it, functions may be called with one.
        intercept_for(self)


APPENDING.give(GraphAppendingTracer)

__getattr__, __dir__ = words(__name__, __all__)

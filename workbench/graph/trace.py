"""Tracing: run a function once on values that have dims and types but no numbers, and note every op."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from workbench.base.errors import DTypeError
from workbench.base.places import calling_frame, place
from workbench.core import scope
from workbench.core.dispatch import apply, interpreting, without_numbers
from workbench.core.op import Op
from workbench.core.value import Abstract, dims_of, new
from workbench.graph.ir import Graph, GraphError, Node, Type, Value
from workbench.tensor import Tensor

__all__ = ["Traced", "trace"]


class Traced(Abstract):
    """The payload of a traced tensor: a shape, a type, and its value in the graph."""

    __slots__ = ("value",)

    def __init__(self, shape: tuple[int, ...], dtype: Any, value: Value) -> None:
        super().__init__(shape, dtype)
        self.value = value


class Tracer:
    """The interpreter that writes a graph. Ops without a traced input are computed by the interpreter below."""

    def __init__(self, graph: Graph, held: dict[int, tuple[str, Tensor]]) -> None:
        self.graph = graph
        self.held = held
        self.met: dict[int, tuple[Value, Any]] = {}

    def process(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Add a node for the call; its results have dims and types."""
        if not any(isinstance(one, Tensor) and isinstance(one._array, Traced) for one in inputs):
            return apply(op, *inputs, **params)
        results = without_numbers(op, inputs, params)
        several = results if isinstance(results, tuple) else (results,)
        frame = calling_frame()
        node = Node(
            op,
            tuple(self.value_of(one) if isinstance(one, Tensor) else one for one in inputs),
            dict(params),
            (),
            scope.current(),
            place(frame.f_code.co_filename, frame.f_lineno) if frame is not None else "",
        )
        outputs = []
        for result in several:
            payload = result._array
            value = Value(self.graph.fresh(op.name), Type(np.dtype(payload.dtype), dims_of(result)), node)
            result._array = Traced(payload.shape, payload.dtype, value)
            outputs.append(value)
        node.outputs = tuple(outputs)
        self.graph.nodes.append(node)
        return results

    def value_of(self, tensor: Tensor) -> Value:
        """Return the value of a tensor: its own while traced, else a parameter or a constant of the graph."""
        payload = tensor._array
        if isinstance(payload, Traced):
            return payload.value
        if isinstance(payload, Abstract):
            raise GraphError(
                "a value without numbers from outside met the trace: it cannot become a constant"
            )
        key = id(payload)
        if key not in self.met:
            kind = Type(np.dtype(payload.dtype), dims_of(tensor))
            named = self.held.get(key)
            if named is not None:
                value = Value(named[0], kind)
                self.graph.parameters[value] = named[1]
            else:
                value = Value(self.graph.fresh("constant"), kind)
                self.graph.constants[value] = tensor.detach()
            # The payload is kept, so that its identity stays taken while the trace goes on.
            self.met[key] = (value, payload)
        return self.met[key][0]


def trace(function: Callable[..., Any], *examples: Tensor) -> Graph:
    """Return the graph of `function` (a function of tensors, or a module) for inputs like `examples`.

    Only dims and types of the examples are used. Ops keep positions and names rather than sizes wherever they can, so
    a graph traced for one batch size runs for others. Python's control flow is followed as it goes.

    Raises:
        GraphError: a module whose layers behave otherwise in training is still training, or the function returns
            something else than tensors.
        NoNumbersError: the function asks a traced tensor for numbers, as ``if x.sum() > 0`` does.

    >>> import workbench as wb
    >>> graph = trace(lambda x: (x * 2).sum("C"), wb.ones(N=2, C=3))
    >>> print(graph)
    graph(%x : f32[N:2, C:3]):
      %mul : f32[N:2, C:3] = mul(%x, 2)  # ...
      %sum : f32[N:2] = sum(%mul, dim=(1,), keepdim=False)  # ...
      return %sum
    """
    for i, example in enumerate(examples):
        if not isinstance(example, Tensor):
            raise DTypeError(f"trace takes tensors as examples; number {i} is {type(example).__name__}")
    module = function if hasattr(function, "named_modules") else None
    if module is not None:
        _check_mode(module)
    graph = Graph(type(function).__name__ if module is not None else getattr(function, "__name__", "graph"))
    if not graph.name.isidentifier():
        graph.name = "graph"
    tracer = Tracer(graph, _held(module))
    inputs = []
    for example, name in zip(examples, _input_names(function, module, len(examples)), strict=True):
        value = Value(graph.fresh(name), Type(np.dtype(example._array.dtype), dims_of(example)))
        graph.inputs.append(value)
        tensor = new(Traced(example.shape, example._array.dtype, value), example._names)
        if example.requires_grad:
            tensor.requires_grad_()
        inputs.append(tensor)
    with interpreting(tracer), scope.tracking(module) if module is not None else nullcontext():
        result = function(*inputs)
    graph.single = not isinstance(result, tuple | list)
    results = (result,) if graph.single else tuple(result)
    for one in results:
        if not isinstance(one, Tensor):
            raise GraphError(
                "a traced function returns tensors, or a tuple of them; "
                f"this one returned {type(one).__name__}"
            )
    graph.outputs = tuple(tracer.value_of(one) for one in results)
    return graph


def _check_mode(module: Any) -> None:
    for name, one in module.named_modules():
        if one.training and type(one).__name__ in ("BatchNorm1d", "BatchNorm2d", "Dropout"):
            raise GraphError(
                f"{name or 'the module'} ({type(one).__name__}) is in training mode: it would change its "
                "statistics, or draw random numbers, while it is traced. Call model.eval() first."
            )


def _held(module: Any) -> dict[int, tuple[str, Tensor]]:
    """Tensors of a module by the identity of their payload, with their dotted names."""
    if module is None:
        return {}
    named = [*module.named_parameters(), *module.named_buffers()]
    return {id(tensor._array): (name, tensor) for name, tensor in named}


def _input_names(function: Any, module: Any, count: int) -> list[str]:
    code = getattr(module.forward if module is not None else function, "__code__", None)
    if code is None:
        return ["x" if i == 0 else f"x_{i}" for i in range(count)]
    names = [name for name in code.co_varnames[: code.co_argcount] if name != "self"]
    return [names[i] if i < len(names) else f"x_{i}" for i in range(count)]

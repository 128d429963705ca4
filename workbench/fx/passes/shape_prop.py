"""`ShapeProp`: runs a module once and notes at every node what came out: sizes and type, and the type for the house."""

from __future__ import annotations

from typing import Any, NamedTuple

from workbench.base.memory_formats import MemoryFormat, channels_last, channels_last_3d, contiguous_format
from workbench.base.public import words
from workbench.core.size import Size
from workbench.fx.interpreter import Interpreter
from workbench.fx.node import Node, map_aggregate
from workbench.graph.rules import results
from workbench.graph.types import type_of_value
from workbench.tensor import Tensor

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is noted of a tensor."""

    shape: Size
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: MemoryFormat | None
    is_quantized: bool
    qparams: dict[str, Any]


def _described(tensor: Any) -> TensorMetadata:
    quantized = bool(tensor.is_quantized)
    formats = [contiguous_format, *{4: [channels_last], 5: [channels_last_3d]}.get(tensor.ndim, [])]
    laid_out = (
        None if quantized else next((one for one in formats if tensor.is_contiguous(memory_format=one)), None)
    )
    found: dict[str, Any] = {"qscheme": tensor.qscheme()} if quantized else {}
    stride = () if quantized else tuple(tensor.stride())
    return TensorMetadata(
        tensor.shape, tensor.dtype, bool(tensor.requires_grad), stride, laid_out, quantized, found
    )


class ShapeProp(Interpreter):
    """Runs a module, and notes in ``node.meta["tensor_meta"]`` what each node gives, a tuple of it for several.

    The house's graph knows the types from then on: sizes are symbols of any run, as in a trace.

    >>> import workbench as wb
    >>> module = wb.fx.symbolic_trace(wb.nn.Linear(2, 3))
    >>> wb.fx.passes.shape_prop.ShapeProp(module).propagate(wb.ones(4, 2)).shape
    (4, 3)
    >>> [tuple(node.meta["tensor_meta"].shape) for node in module.graph.nodes if "tensor_meta" in node.meta][-1]
    (4, 3)
    """

    def run_node(self, n: Node) -> Any:
        """Run a node and note what came out."""
        result = super().run_node(n)
        seen = [False]

        def described(one: Any) -> Any:
            seen[0] = seen[0] or isinstance(one, Tensor)
            return _described(one) if isinstance(one, Tensor) else one

        noted = map_aggregate(result, described)
        if seen[0]:
            n.meta["tensor_meta"] = noted
        n.meta["type"] = type(result)
        if n.op != "output":
            _type(n, result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the module on `args` and return its result."""
        return super().run(*args)


def _type(node: Node, result: Any) -> None:
    node.value.type = type_of_value(result)
    if node.call is not None:
        # Of an item of a list the rules know less than was seen: they have the last word.
        ruled = results(node.call)
        if ruled is not None and not node.value.type.accepts(ruled[0]):
            node.value.type = ruled[0]


__getattr__, __dir__ = words(__name__, __all__)

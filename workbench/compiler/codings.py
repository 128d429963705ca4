"""What the codes of a graph's values stand for: scale and zero point of each, which are the same in every run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.base.dtypes import DType, quint8
from workbench.base.quantized_array import QuantizedArray
from workbench.core.quantization import Quantization
from workbench.core.quantized_rules import computed
from workbench.graph.blocks import Node, Value
from workbench.graph.passes.fuse_codes import table_of
from workbench.graph.types import TensorType

__all__ = ["Coding", "coding_of", "is_coded"]


@dataclass(frozen=True)
class Coding:
    """What codes stand for: real = (code - zero_point) · scale."""

    scale: float
    zero_point: int
    dtype: DType

    def array(self, codes: Any) -> QuantizedArray:
        """Return the codes as a payload."""
        return QuantizedArray.own(codes, self.scale, self.zero_point, self.dtype)


def is_coded(value: Value) -> bool:
    """Say whether a value has codes."""
    kind = value.type
    return isinstance(kind, TensorType) and isinstance(kind.dtype, DType) and kind.dtype.is_quantized


def coding_of(node: Node, known: dict[Value, Coding]) -> Coding | None:
    """Return what the codes of a node's result stand for, given that of its operands; None where nobody has said it.

    >>> import workbench as wb
    >>> graph = wb.graph.trace(lambda x: wb.quantize_per_tensor(x, 0.5, 3, wb.quint8).flatten(), wb.ones(2, 2))
    >>> known = {}
    >>> for node in graph.nodes:
    ...     known[node.outputs[0]] = coding_of(node, known)
    >>> [(one.scale, one.zero_point) for one in known.values()]
    [(0.5, 3), (0.5, 3)]
    """
    if node.op is None or not is_coded(node.outputs[0]):
        return None
    dtype: DType = node.outputs[0].tensor.dtype  # type: ignore[assignment]  # of codes, see above
    scale, zero = node.params.get("scale"), node.params.get("zero_point")
    if isinstance(scale, float) and isinstance(zero, int):
        return Coding(scale, zero, dtype)
    rule = node.op.quantized
    if not isinstance(rule, Quantization):
        return None
    if len(node.values) == 1 and node.values[0] in known and dtype is quint8:
        own = known[node.values[0]]
        found = table_of(node, node.params, own.scale, own.zero_point) if own.dtype is quint8 else None
        if found is not None:
            return Coding(found.scale, found.zero_point, dtype)
    if rule.fixed is not None:
        return Coding(*rule.fixed(dtype), dtype)
    # What needs a scale of its own, and is told none, rounds to the codes of its first operand.
    if rule.travels not in ("same", "joined") and rule.codes is not computed:
        return None
    return next((known[one] for one in node.values if one in known and known[one].dtype is dtype), None)

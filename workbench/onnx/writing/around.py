"""Ops on codes: what the table says of them, as operators of real numbers between DequantizeLinear and QuantizeLinear.

Runtimes find such pairs and compute with the codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.base.dtypes import DType, dtype_of, float32
from workbench.base.quantized_array import QuantizedArray, code_range
from workbench.core import quantized_rules as rules
from workbench.core.quantization import Quantization
from workbench.graph.types import TensorType
from workbench.onnx.errors import OnnxError
from workbench.onnx.writing.calls import Call
from workbench.onnx.writing.codes import Codes
from workbench.onnx.writing.table import WriteRule

__all__ = ["Real", "on_codes"]

_IN_PLACE = (rules.moved, rules.seen)
"""What codes do as values do: the operators take them as the whole numbers that they are."""


class Real(Call):
    """A call on codes as the op on real numbers sees it: operands are dequantized when they are read."""

    def __init__(
        self, call: Call, op: Any, params: Mapping[str, Any], names: Mapping[int, str] | None = None
    ) -> None:
        super().__init__(call.body, call.node)
        self.op, self.params = op, params
        self._names = dict(names or {})
        """What is read in the place of operands."""

    def _name(self, i: int) -> str:
        if i not in self._names:
            codes, name = self.codes(i), super()._name(i)
            self._names[i] = name if codes is None else codes.dequantized(self, name)
        return self._names[i]

    def _plain(self, kind: TensorType) -> TensorType:
        return replace(kind, dtype=float32.numpy) if dtype_of(kind).is_quantized else kind


def on_codes(call: Call, rule: WriteRule) -> Any:
    """Write an op that is given codes by its rule for real numbers, as its statement says what becomes of codes.

    Raises `OnnxError` where it has none.
    """
    said = call.op.quantized
    if not isinstance(said, Quantization) or not callable(said.codes):
        raise OnnxError("it is given codes, and takes none: call dequantize() before it")
    first = next(one for one in map(call.codes, range(len(call.inputs))) if one is not None)
    kind = dtype_of(call.node.outputs[0].tensor)
    if said.codes is rules.moved and first.axis is not None:
        raise OnnxError(
            "codes with a scale for each entry of a dim are not moved: call dequantize() before it"
        )
    if said.codes in _IN_PLACE:
        found = rule(call)
        call.stands_for(first)
        return found
    ends = _ends(call, first)
    if ends is not None:
        call.stands_for(first)
        return first.cut(call, call.raw(0), *ends)
    found = rule(Real(call, call.op, call.params))
    if not kind.is_quantized:
        return found
    codes = first if said.fixed is None else _fixed(said, kind)
    call.stands_for(codes)
    several = (found,) if isinstance(found, str) else tuple(found)
    return codes.quantized(call, several[0], *code_range(kind)), *several[1:]


def _fixed(said: Quantization, kind: DType) -> Codes:
    assert said.fixed is not None
    return Codes(*said.fixed(kind), kind)


def _ends(call: Call, codes: Codes) -> tuple[int, int] | None:
    """Return the ends between which an op cuts codes off; None for one that does anything else.

    A rectifier does that and keeps their scale, so that no number need be computed.
    """
    said: Any = call.op.quantized
    plain = len(call.inputs) == 1 and "elementwise" in call.op.properties and said.travels == "same"
    if (
        not plain
        or codes.axis is not None
        or codes.dtype.bits != 8
        or not dtype_of(call.node.outputs[0].tensor).is_quantized
    ):
        return None
    low, high = code_range(codes.dtype)
    each = np.arange(low, high + 1).astype(codes.dtype.numpy)
    made = said.codes(
        call.op, QuantizedArray(each, codes.scale, codes.zero_point, codes.dtype), **call.params
    )
    least, most = int(made.codes.min()), int(made.codes.max())
    return (least, most) if np.array_equal(made.codes, np.clip(each, least, most)) else None

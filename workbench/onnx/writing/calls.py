"""A call of the graph while it is written: what rules ask of it, and how they write nodes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from workbench.base.dtypes import DType, as_dtype, bfloat16, bool_, dtype_of, float32, float64, int64
from workbench.base.size_expressions import Symbolic
from workbench.core.dtype_rules import common_dtype
from workbench.graph import Node, Value
from workbench.graph.sizes import mapped
from workbench.graph.types import BOOL, FLOAT, INT, TensorType
from workbench.onnx.errors import OnnxError
from workbench.onnx.values import type_code
from workbench.onnx.writing.bodies import Body
from workbench.onnx.writing.codes import Codes, storage

__all__ = ["NUMBERS", "Call"]


NUMBERS: dict[Any, DType] = {INT: int64, FLOAT: float64, BOOL: bool_}
"""What numbers of a graph are in a file: tensors without dims."""

_EXAMPLES: dict[Any, Any] = {INT: 0, FLOAT: 0.0, BOOL: False}


_MOVES = frozenset(
    {
        "cat", "clone", "copy", "detach", "embedding", "flatten", "gather", "index", "lay_out", "pass_share",
        "permute", "pick", "rename", "reshape", "squeeze", "stack", "unflatten", "unsqueeze",
    }
)  # fmt: skip
"""Ops that only move values, whatever their type."""


class Call:
    """One node of the graph. Called with an operator of the format, it writes a node and returns what that gives."""

    def __init__(self, body: Body, node: Node) -> None:
        self.body = body
        self.node = node
        self.shared = body.shared
        self.op: Any = node.op
        self.params = mapped(node.params, self.shared.settled)
        self.inputs = tuple(mapped(one, self.shared.settled) for one in node.inputs)
        self._base = node.outputs[0].name if node.outputs else "value"
        self._scope = "/".join(part for one in node.scope for part in one.split("."))
        self._casts: dict[tuple[str, int], str] = {}
        kinds = [one.type for one in self.inputs if isinstance(one, Value)]
        self.wide = (
            self.op is not None and self.op.name not in _MOVES
            and any(isinstance(one, TensorType) and dtype_of(one) == bfloat16 for one in kinds)
        )  # fmt: skip
        """True where bfloat16 numbers are computed with: in float32, rounded once, as the house does. Runtimes for
        processors have no operators of that type, and many of the format's came late."""

    # ---------------------------------------------------------------------------------- what is asked

    def has(self, version: int) -> bool:
        """Say whether the file is written for this version of the operators, or a later one."""
        return self.shared.opset >= version

    def given(self, i: int) -> bool:
        """Say whether there is such an operand."""
        return i < len(self.inputs) and self.inputs[i] is not None

    def kind(self, i: int) -> DType:
        """Return the data type of an operand that is a tensor."""
        return self._computed(dtype_of(self._tensor(i)))

    def _computed(self, kind: DType) -> DType:
        return float32 if self.wide and kind == bfloat16 else kind

    def sizes(self, i: int) -> tuple[Any, ...]:
        """Return the sizes of an operand: numbers, and expressions where they differ from run to run."""
        return tuple(map(self.shared.settled, self._tensor(i).sizes))

    def rank(self, i: int) -> int:
        """Return how many dims an operand has; a number has none."""
        return len(self._tensor(i).sizes) if isinstance(self.inputs[i], Value) else 0

    @property
    def out(self) -> DType:
        """The data type of the result."""
        return self._computed(dtype_of(self._plain(self.node.outputs[0].tensor)))

    def out_sizes(self, i: int = 0) -> tuple[Any, ...]:
        """Return the sizes of a result."""
        return tuple(map(self.shared.settled, self.node.outputs[i].tensor.sizes))

    @property
    def common(self) -> DType:
        """The type in which the op computes: that which its operands are cast to."""
        arrays: list[Any] = []
        for i, one in enumerate(self.inputs):
            if isinstance(one, Value) and one.type in _EXAMPLES:
                arrays.append(_EXAMPLES[one.type])
            elif isinstance(one, Value):
                kind = self._tensor(i)
                arrays.append(SimpleNamespace(dtype=kind.dtype, ndim=len(kind.sizes)))
            else:
                arrays.append(one.hint if isinstance(one, Symbolic) else one)
        return self._computed(as_dtype(common_dtype(self.op, arrays)))

    def codes(self, i: int) -> Codes | None:
        """Return what an operand stands for where it is codes."""
        return self.shared.codes.get(self.inputs[i]) if isinstance(self.inputs[i], Value) else None

    def has_codes(self) -> bool:
        """Say whether any operand is codes."""
        return any(self.codes(i) is not None for i in range(len(self.inputs)))

    def stands_for(self, codes: Codes | None) -> None:
        """Say what the result stands for: it is codes."""
        if codes is not None:
            self.shared.codes[self.node.outputs[0]] = codes

    def rounded(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return results in the types that the graph has for them."""
        if not self.wide:
            return names
        kinds = [dtype_of(one.tensor) for one in self.node.outputs]
        return tuple(
            self.cast(name, self._computed(kind), kind) for name, kind in zip(names, kinds, strict=True)
        )

    def reads(self, place: int) -> bool:
        """Say whether anything reads one of the results."""
        return place < len(self.node.outputs) and self.node.outputs[place] in self.shared.needed

    def _tensor(self, i: int) -> TensorType:
        one = self.inputs[i]
        if not isinstance(one, Value):
            raise OnnxError(f"operand {i} is {one!r}, where a tensor is needed")
        return self._plain(one.tensor)

    def _plain(self, kind: TensorType) -> TensorType:
        """Return a type of codes as that of the numbers that they are."""
        dtype = dtype_of(kind)
        return replace(kind, dtype=storage(dtype).numpy) if dtype.is_quantized else kind

    # ---------------------------------------------------------------------------------------- operands

    def x(self, i: int, kind: DType | None = None) -> str:
        """Return the name of an operand in the type in which the op computes, or in `kind`."""
        kind = self.common if kind is None else kind
        one = self.inputs[i]
        if not isinstance(one, Value):
            return self.number(one, kind)
        own = NUMBERS[one.type] if one.type in NUMBERS else dtype_of(self._tensor(i))
        return self.cast(self._name(i), own, kind)

    def raw(self, i: int) -> str:
        """Return the name of an operand as it is."""
        one = self.inputs[i]
        if not isinstance(one, Value):
            raise OnnxError(f"operand {i} is {one!r}, where a tensor is needed")
        own = dtype_of(self._tensor(i))
        return self.cast(self._name(i), own, self._computed(own))

    def _name(self, i: int) -> str:
        return self.body.name_of(self.inputs[i])

    def number(self, value: Any, kind: DType) -> str:
        """Return the name of one number, without dims."""
        if not isinstance(value, Symbolic):
            return self.shared.constant(value, kind)
        whole = value.hint.__class__ is int
        found = self.body.once("Squeeze", self.body.size(value), base="number")
        return self.cast(found, int64 if whole else float64, kind)

    def constant(self, values: Any, kind: Any = int64) -> str:
        """Return the name of a tensor of values."""
        return self.shared.constant(values, kind)

    def row(self, sizes: Any) -> str:
        """Return the name of a row of sizes, int64."""
        return self.body.sizes(sizes)

    def cast(self, name: str, own: DType, kind: DType) -> str:
        """Return the name of a value in another type."""
        if own == kind:
            return name
        key = (name, type_code(kind))
        if key not in self._casts:
            self._casts[key] = self("Cast", name, to=type_code(kind))
        return self._casts[key]

    # ------------------------------------------------------------------------------------------- nodes

    def __call__(
        self, operator: str, *inputs: str | None, outputs: int = 1, domain: str = "", **attributes: Any
    ) -> Any:
        """Write a node; return the name of its result, or a tuple of them."""
        names = [self.shared.fresh(f"{self._base}/{operator}") for _ in range(outputs)]
        scope = f"{self._scope}/{operator}" if self._scope else operator
        self.body.add(operator, inputs, names, scope, self.node.source, domain, attributes)
        return names[0] if outputs == 1 else tuple(names)

    def reshape(self, name: str, sizes: Any, kept: bool = False) -> str:
        """Return a value with other sizes; 0 is no size but the one that is there where it is `kept`."""
        settled = [self.shared.settled(one) for one in sizes]
        # A size that a run works out may be 0, and is meant so.
        none = any(isinstance(one, Symbolic) or one == 0 for one in settled) and -1 not in settled
        return str(
            self(
                "Reshape",
                name,
                self.row(settled),
                allowzero=1 if none and not kept and self.has(14) else None,
            )
        )

    def axes(self, operator: str, name: str, axes: Any, since: int = 13, **attributes: Any) -> str:
        """Write a node with axes, which are an attribute before a version and an input from it on."""
        if self.has(since):
            return str(self(operator, name, self.constant(list(axes)), **attributes))
        return str(self(operator, name, axes=list(axes), **attributes))

    def transpose(self, name: str, order: Any) -> str:
        """Return a value with its dims in another order."""
        return name if list(order) == sorted(order) else str(self("Transpose", name, perm=list(order)))

    def number_like(self, value: Any) -> str:
        """Return the name of a number in the type in which the op computes."""
        return self.number(value, self.common)

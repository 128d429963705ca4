"""A graph of the file while it is written: its nodes, the names of its values, and the sizes that it has worked out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from workbench.base.dtypes import as_dtype, dtype_of, float64, int64
from workbench.base.size_expressions import Expression, Symbol, evaluate
from workbench.core.dispatch import numbers
from workbench.graph import Value
from workbench.onnx.errors import OnnxError
from workbench.onnx.messages import Message
from workbench.onnx.values import type_code, wb
from workbench.onnx.writing.attributes import attribute
from workbench.onnx.writing.codes import Codes
from workbench.tensor import Tensor

__all__ = ["Body", "Shared", "nibbles_message", "tensor_message"]

UINT4 = 21
"""The format's code of whole numbers of 4 bits."""


def tensor_message(tensor: Tensor, name: str = "") -> Message:
    """Return a tensor as the format has it: its values are the memory of the tensor, where that is in order."""
    # Not `numpy()`, which gives the memory into other hands for good: it is only read here.
    array = numbers(tensor)
    values = np.ascontiguousarray(array)
    if values.dtype.byteorder == ">":
        values = values.astype(values.dtype.newbyteorder("<"))
    # Bytes without a shape: an array of 16-bit floats knows no buffer protocol of its own.
    raw: Any = values.reshape(-1).view(np.uint8)
    data = memoryview(raw) if values.size else b""
    made = Message("Tensor", dims=list(array.shape), data_type=type_code(dtype_of(tensor)), raw_data=data)
    if name:
        made.name = name
    return made


def nibbles_message(codes: Any, name: str = "") -> Message:
    """Return codes of 4 bits as the format has them: the first of two in the lower half of a byte."""
    flat = np.append(codes.reshape(-1), np.zeros(codes.size % 2, np.uint8))
    packed = flat[0::2] | flat[1::2] << 4
    made = Message(
        "Tensor", dims=list(codes.shape), data_type=UINT4, raw_data=packed.astype(np.uint8).tobytes()
    )
    if name:
        made.name = name
    return made


class Shared:
    """What all graphs of a file have in common: the names that are taken, and the tensors."""

    def __init__(self, opset: int, fixed: Mapping[Symbol, Any]) -> None:
        self.opset = opset
        self.fixed = fixed
        """Symbols that are numbers in this file."""
        self.initializers: dict[str, Message] = {}
        self.constants: dict[str, Message] = {}
        """Nodes that give numbers with a point."""
        self.shown: dict[Symbol, tuple[Value, int]] = {}
        """Where each symbol is read: a value, and its dim."""
        self.needed: set[Value] = set()
        """What the outputs need: nothing else is written."""
        self.readers: dict[Value, list[Any]] = {}
        """Which nodes read each value."""
        self.results: frozenset[Value] = frozenset()
        """What the graph gives."""
        self.held: dict[Value, Tensor] = {}
        """The tensors that the graph holds."""
        self.codes: dict[Value, Codes] = {}
        """What values stand for that are codes."""
        self.training = False
        self._names: dict[str, int] = {}
        self._constants: dict[tuple[Any, ...], str] = {}

    def fresh(self, base: str) -> str:
        """Return a name that is not taken."""
        count = self._names.get(base, 0)
        self._names[base] = count + 1
        return base if count == 0 else self.fresh(f"{base}_{count}")

    def constant(self, values: Any, dtype: Any) -> str:
        """Return the name of a tensor of these values, of which there is one in the file however often it is asked."""
        kind = as_dtype(dtype)
        tensor = values if isinstance(values, Tensor) else wb.tensor(_plain(values), dtype=kind)
        message = tensor_message(tensor.to(kind) if dtype_of(tensor) != kind else tensor)
        key = (message.data_type, tuple(message.dims), bytes(message.raw_data))
        if key not in self._constants:
            name = self._constants[key] = self.fresh("constant")
            if kind.is_floating_point:
                # As an initializer it would be taken for a weight.
                value = attribute("value", message)
                self.constants[name] = Message("Node", output=[name], op_type="Constant", attribute=[value])
            else:
                message.name = name
                self.initializers[name] = message
        return self._constants[key]

    def nibbles(self, codes: Any) -> str:
        """Return the name of codes of 4 bits, of which the format has two in a byte."""
        message = nibbles_message(codes)
        key = (message.data_type, tuple(message.dims), bytes(message.raw_data))
        if key not in self._constants:
            message.name = self._constants[key] = self.fresh("constant")
            self.initializers[message.name] = message
        return self._constants[key]

    def settled(self, size: Any) -> Any:
        """Return a size with the symbols that are numbers in this file as those."""
        if isinstance(size, Expression):
            return size.evaluate(_Settled(self.fixed))
        return size.over(self.settled) if hasattr(size, "over") else size


class _Settled(dict[Symbol, Any]):
    def __missing__(self, key: Symbol) -> Any:
        return Expression.of(key)


def _plain(values: Any) -> Any:
    return values.tolist() if isinstance(values, np.ndarray) else values


class Body:
    """The nodes of one graph: of the file's own, or of a block inside a node."""

    def __init__(self, shared: Shared, outer: Body | None = None) -> None:
        self.shared = shared
        self.outer = outer
        self.nodes: list[Message] = []
        self.names: dict[Value, str] = {}
        self._known: dict[tuple[Any, ...], str] = {}

    def name_of(self, value: Value) -> str:
        """Return what a value is called in the file."""
        body: Body | None = self
        while body is not None:
            if value in body.names:
                return body.names[value]
            body = body.outer
        raise OnnxError(f"{value.name} is read and made by nothing that is written")

    def add(
        self, operator: str, inputs: Iterable[str | None], outputs: list[str], name: str = "", source: str = "",
        domain: str = "", attributes: Mapping[str, Any] | None = None,
    ) -> Message:  # fmt: skip
        """Write a node."""
        named = [one or "" for one in inputs]
        while named and not named[-1]:
            named.pop()
        node = Message("Node", input=named, output=outputs, op_type=operator)
        if name:
            node.name = self.shared.fresh(name)
        if domain:
            node.domain = domain
        found = [attribute(key, one) for key, one in (attributes or {}).items() if one is not None]
        if found:
            node.attribute = found
        if source:
            node.doc_string = source
        self.nodes.append(node)
        return node

    # ------------------------------------------------------------------------------------------- sizes

    def once(self, operator: str, *inputs: str, base: str = "size", **attributes: Any) -> str:
        """Return what an operator gives of sizes: the same is computed once, here or around here."""
        key = (operator, inputs, tuple(sorted((name, str(one)) for name, one in attributes.items())))
        body: Body | None = self
        while body is not None:
            if key in body._known:
                return body._known[key]
            body = body.outer
        made = self._known[key] = self.shared.fresh(base)
        self.add(operator, inputs, [made], name=f"{base}/{operator}", attributes=attributes)
        return made

    def size(self, size: Any) -> str:
        """Return the name of a row of one number: a size, as int64, or a formula of sizes, as float64."""
        size = self.shared.settled(size)
        if not hasattr(size, "evaluate"):
            whole = type(size) is int
            return self.shared.constant([size], int64 if whole else float64)
        symbols: Any = _Symbols(self)
        found = evaluate(size, symbols)
        return found.name if isinstance(found, _Number) else self.size(found)

    def sizes(self, sizes: Iterable[Any]) -> str:
        """Return the name of a row of sizes."""
        parts: list[Any] = []
        for one in map(self.shared.settled, sizes):
            if type(one) is int and parts and isinstance(parts[-1], list):
                parts[-1].append(one)
            else:
                parts.append([one] if type(one) is int else self.size(one))
        names = [self.shared.constant(one, int64) if isinstance(one, list) else one for one in parts]
        if not names:
            return self.shared.constant(wb.zeros([0], dtype=int64), int64)
        return names[0] if len(names) == 1 else self.once("Concat", *names, base="sizes", axis=0)

    def symbol(self, symbol: Symbol) -> str:
        """Return the name of a row of one number: a size of a value."""
        if symbol not in self.shared.shown:
            raise OnnxError(f"the size {symbol} is shown by no value that is written")
        value, dim = self.shared.shown[symbol]
        name = self.name_of(value)
        if self.shared.opset >= 15:
            return self.once("Shape", name, start=dim, end=dim + 1)
        return self.once("Gather", self.once("Shape", name, base="shape"), self.shared.constant([dim], int64))


class _Symbols:
    """What symbols are while an expression is written: numbers whose arithmetic writes nodes."""

    def __init__(self, body: Body) -> None:
        self.body = body

    def __getitem__(self, symbol: Symbol) -> _Number:
        return _Number(self.body, self.body.symbol(symbol), True)


class _Number:
    """A number that a file computes: arithmetic with it writes nodes."""

    def __init__(self, body: Body, name: str, whole: bool) -> None:
        self.body = body
        self.name = name
        self.whole = whole

    def _made(self, operator: str, left: Any, right: Any, floating: bool = False) -> _Number:
        whole = not floating and all(
            one.whole if isinstance(one, _Number) else type(one) is int for one in (left, right)
        )
        names = [self._operand(one, whole) for one in (left, right)]
        return _Number(self.body, self.body.once(operator, *names), whole)

    def _operand(self, one: Any, whole: bool) -> str:
        kind = int64 if whole else float64
        if not isinstance(one, _Number):
            return self.body.shared.constant([one], kind)
        if one.whole and not whole:
            return self.body.once("Cast", one.name, to=type_code(kind))
        return one.name

    def __add__(self, other: Any) -> Any:
        return self if type(other) is int and other == 0 else self._made("Add", self, other)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        return self if type(other) is int and other == 1 else self._made("Mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self if type(other) is int and other == 1 else self._made("Mul", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._made("Sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._made("Sub", other, self)

    def _quotient(self, left: Any, right: Any) -> Any:
        # The format cuts towards zero: what is left of the remainder, which has the divisor's sign, divides evenly.
        rest = self._made("Mod", left, right)
        if not rest.whole:
            raise OnnxError("a quotient of numbers with a point, rounded down, has no form in the format")
        return self._made("Div", self._made("Sub", left, rest), right)

    def __floordiv__(self, other: Any) -> Any:
        return self._quotient(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._quotient(other, self)

    def __mod__(self, other: Any) -> Any:
        return self._made("Mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._made("Mod", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._made("Div", self, other, floating=True)

    def __rtruediv__(self, other: Any) -> Any:
        return self._made("Div", other, self, floating=True)

    def __pow__(self, other: Any) -> Any:
        return self._made("Pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._made("Pow", other, self)

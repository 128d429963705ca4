"""Where a graph is being written while a script is followed: its blocks, and how values and nodes come into them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.dims import Dims
from workbench.base.dtypes import DType, bool_, dtype_of, float64, get_default_dtype, int64
from workbench.base.size_expressions import Expression, Size, hint_of
from workbench.base.symbolic_size import SymbolicNumber, sized
from workbench.core.value import Abstract, new
from workbench.graph import Block, Node, Value, named, symbols
from workbench.graph.sizes import expression
from workbench.graph.tracing import Traced, Tracer
from workbench.graph.types import TENSOR, ListType, TensorType
from workbench.onnx.errors import OnnxError
from workbench.onnx.values import wb
from workbench.tensor import Tensor

__all__ = ["AtLine", "Kind", "Room", "number_type"]


_SEQUENCE = ListType(TENSOR)


class AtLine(OnnxError):
    """A refusal that names the line of the script."""


@dataclass(frozen=True)
class Kind:
    """What is known of a tensor that comes out of a block, or that a sequence holds: None for a size that differs."""

    dtype: DType
    sizes: tuple[Size | None, ...]
    names: tuple[str | None, ...]
    hints: tuple[int, ...]

    def joined(self, other: Kind, what: str) -> Kind:
        """Return what both are; raise `OnnxError` where a file has no type for it."""
        if self.dtype != other.dtype:
            raise OnnxError(
                f"{what} is {self.dtype} one way and {other.dtype} another: call x.to(...) in one"
            )
        if len(self.sizes) != len(other.sizes):
            raise OnnxError(f"{what} has {len(self.sizes)} dims one way and {len(other.sizes)} another")
        sizes = tuple(a if a == b else None for a, b in zip(self.sizes, other.sizes, strict=True))
        names = tuple(a if a == b else None for a, b in zip(self.names, other.names, strict=True))
        return Kind(self.dtype, sizes, names, self.hints)

    @property
    def type(self) -> TensorType:
        """The type of such a tensor, of today's sizes."""
        dtype = self.dtype if self.dtype.is_quantized else np.dtype(self.dtype.numpy)
        return TensorType(dtype, Dims(self.names, self.hints))


def number_type(value: Any) -> DType:
    """Return the type of a number as a tensor."""
    return bool_ if isinstance(value, bool) else float64 if isinstance(value, float) else int64


class Room:
    """The graph that is being written, and the block of it in which what comes next stands."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.open: list[Block] = []
        """The blocks in which what is written now stands, the outermost first."""
        self._born: dict[Any, Block | None] = {}
        """In which block each size is shown that only a run knows."""
        self.said: list[str] = []
        """What the script would raise, and a file does not."""
        self.questions: dict[int, tuple[Any, Any]] = {}
        """What asks for sizes alone, by the identity of the answer's payload: the payload, and how to ask Python."""

    # ------------------------------------------------------------------------------------------ blocks

    @contextmanager
    def block(self, made: Block) -> Iterator[None]:
        """Write into a block: what the tracer knows by nodes inside is forgotten behind it."""
        tracer = self.tracer
        nodes, renamed, ends = tracer.graph.nodes, dict(tracer.renamed), dict(tracer.ends)
        tracer.graph.nodes = made.nodes
        self.open.append(made)
        try:
            yield
        finally:
            self.open.pop()
            made.nodes = tracer.graph.nodes
            tracer.graph.nodes, tracer.renamed, tracer.ends = nodes, renamed, ends

    @property
    def inside(self) -> bool:
        """True in a block of control flow that a run decides."""
        return bool(self.open)

    # ------------------------------------------------------------------------------------------- nodes

    def insert(
        self,
        callee: Any,
        inputs: Sequence[Any],
        kinds: Sequence[Any],
        base: str,
        blocks: Any = (),
        **params: Any,
    ) -> list[Any]:
        """Write a call, and return what it gives: tensors, and where a kind is None the values of sequences."""
        operands = tuple(self.operand(one) for one in inputs)
        node = Node(callee, operands, params, (), blocks=tuple(blocks))
        made = [self._value(base, kind, node) for kind in kinds]
        node.outputs = tuple(made)
        self.tracer.graph.nodes.append(node)
        return [self.standing(one) for one in made]

    def call(self, name: str, inputs: Sequence[Any], kind: Any, **params: Any) -> Any:
        """Write a call of a function by its name, and return its result."""
        return self.insert(named(name), inputs, [kind], name.rpartition(".")[2].lower(), **params)[0]

    def given(self, base: str, kind: Any) -> Any:
        """Return what a block is given."""
        return self.standing(self._value(base, kind, None))

    def _value(self, base: str, kind: Any, node: Node | None) -> Value:
        name = self.tracer.graph.fresh(base)
        if not isinstance(kind, Kind):
            return Value(name, _SEQUENCE, node)
        made = Value(name, symbols.own(name, kind.type, kind.sizes), node)
        assert isinstance(made.type, TensorType)
        for size in made.type.sizes:
            symbol = symbols.bare(size)
            if symbol is not None and symbol.later:
                # A block that is given a value is open already; what a node gives is known around it.
                self._born.setdefault(symbol, self.open[-1] if self.open else None)
        return made

    def standing(self, value: Value) -> Any:
        """Return a tensor that stands for a value; what is no tensor is the value itself."""
        if not isinstance(value.type, TensorType):
            return value
        names = value.type.dims.names
        return new(Traced(value, self.tracer), names if any(names) else None)

    def operand(self, value: Any) -> Any:
        """Return a value, or a size of the file, for what stands for it."""
        if isinstance(value, Tensor):
            return self.tracer.value_of(value)
        if isinstance(value, SymbolicNumber):
            return expression(value, self.tracer.sizes)
        return value

    # ------------------------------------------------------------------------------------------ values

    def kind(self, tensor: Any) -> Kind:
        """Return what is known of a tensor, as it is seen from here: sizes shown in a block that is left are not."""
        value = self.tracer.value_of(tensor)
        kind = value.tensor
        sizes = tuple(self.tracer.sizes.settle(one) for one in kind.sizes)
        return Kind(
            dtype_of(kind),
            tuple(one if self._seen(one) else None for one in sizes),
            kind.dims.names,
            tuple(map(hint_of, sizes)),
        )

    def seen(self, kind: Kind) -> Kind:
        """Return a kind as it is known from here."""
        sizes = tuple(one if self._seen(one) else None for one in kind.sizes)
        return Kind(kind.dtype, sizes, kind.names, kind.hints)

    def _seen(self, size: Any) -> bool:
        if not isinstance(size, Expression):
            return size is not None
        return all(self._born.get(one) in (None, *self.open) for one in size.symbols())

    def number(self, value: Any, dtype: DType | None = None) -> Any:
        """Return a number as a tensor without dims: a plain one, a size, or one that is such a tensor already."""
        if isinstance(value, Tensor):
            found = value if not value.dim() else value.reshape(())
        elif isinstance(value, SymbolicNumber):
            kind = int64 if type(value.hint) is int else float64
            word = "builtins.int" if kind == int64 else "builtins.float"
            found = self.call(word, [value], Kind(kind, (), (), ()))
        else:
            found = wb.tensor(value, dtype=number_type(value))
        return found if dtype is None or dtype_of(found) == dtype else found.to(dtype)

    def size(self, number: Any) -> Any:
        """Return a number that a run computes as a size: that of a row of so many numbers."""
        row = self.call(
            "onnx.Range",
            [self.number(0), self.number(number, int64), self.number(1)],
            Kind(int64, (None,), (None,), (2,)),
        )
        return sized(self.tracer.value_of(row).tensor.sizes[0], self.tracer.sizes)

    def made(self, data: Any) -> Any:
        """Return the tensor of numbers, in lists or alone, some of which only a run knows."""
        if isinstance(data, list | tuple):
            return wb.stack([self.made(one) for one in data])
        found = self.number(data)
        # Numbers with a point are float64 among themselves, and of the usual type in a tensor.
        return found.to(get_default_dtype()) if dtype_of(found) == float64 else found

    def fixes(self, start: int) -> str:
        """Return what has been asked since about a size that only a run knows, as the number that it is; or nothing."""
        found = (one for one in self.tracer.sizes.guards[start:] if one.number and one.later)
        return str(next(found, ""))

    def forget(self, start: int) -> None:
        """Forget what was asked since about sizes that only a run knows: what asked is followed once more."""
        guards = self.tracer.sizes.guards
        guards[start:] = [one for one in guards[start:] if not one.later]

    def traced(self, value: Any) -> Any:
        """Return a tensor that a script has made as a value of the graph: nothing can write into its numbers then."""
        if (
            isinstance(value, Tensor)
            and not isinstance(value.payload, Abstract)
            and id(value.payload) not in self.tracer.held
        ):
            names = value._names
            return new(Traced(self.tracer.value_of(value), self.tracer), names)
        return value

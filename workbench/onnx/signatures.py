"""What a model takes and gives: names, types and sizes, which are asked before anything runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.base.dims import MAXIMUM_DIMS, Dims
from workbench.base.dtypes import DType, dtype_of
from workbench.base.errors import DimensionError, DTypeError, short
from workbench.core.value import dims_of
from workbench.graph.types import ANY, TENSOR, TensorType, Type, symbolic
from workbench.onnx.errors import OnnxError
from workbench.onnx.values import data_type
from workbench.tensor import Tensor

__all__ = ["Port", "Signature", "signature"]

_HINT = 2
"""The size that a symbol is written with where the file says none."""


@dataclass(frozen=True)
class Port:
    """One input or output: a tensor of a type and of sizes that are numbers, names, or not known."""

    name: str
    kind: str
    """What it is: ``tensor``, ``sequence``, ``optional``."""
    dtype: DType | None
    sizes: tuple[int | str | None, ...] | None
    """A name for a size that is one wherever it stands; None, for all, where the file says nothing."""
    said: Any = field(default=None, compare=False, repr=False)
    """The type as the file writes it."""

    @property
    def names(self) -> tuple[str | None, ...]:
        """What the dims are called: the names of sizes that can be names of dims, each once."""
        words = [one if isinstance(one, str) and one.isidentifier() else None for one in self.sizes or ()]
        count = Counter(words)
        return tuple(one if count[one] == 1 else None for one in words)

    def type(self, name: str) -> Type:
        """Return its type in a graph that calls it `name`: every size is a symbol."""
        if self.kind != "tensor" or self.dtype is None or self.sizes is None:
            return TENSOR if self.kind == "tensor" else ANY
        sizes = tuple(one if isinstance(one, int) else _HINT for one in self.sizes)
        return symbolic(name, TensorType(self.dtype.numpy, Dims(self.names, sizes)))

    def __str__(self) -> str:
        if self.kind != "tensor":
            return f"{self.name} : {self.kind}"
        sizes = (
            "…" if self.sizes is None else ", ".join("?" if one is None else str(one) for one in self.sizes)
        )
        return f"{self.name} : {self.dtype.short if self.dtype else 'tensor'}[{sizes}]"

    def check(self, given: Any, known: dict[str, int]) -> None:
        """Raise where what is `given` is of another type or of other sizes; `known` has those that have a name."""
        if self.kind != "tensor":
            return
        if not isinstance(given, Tensor):
            raise DTypeError(f"the input {self} is a tensor, got {type(given).__name__}")
        if self.dtype is not None and dtype_of(given) != self.dtype:
            raise DTypeError(
                f"the input {self} is {self.dtype}, got {dtype_of(given)}: call x.to({self.dtype})"
            )
        if self.sizes is None:
            return
        dims = dims_of(given)
        if len(dims.sizes) != len(self.sizes):
            raise DimensionError(
                f"the input {self} has {len(self.sizes)} dims, got {len(dims.sizes)}.",
                op="onnx",
                operands=(dims.operand(self.name),),
            )
        for i, (wanted, size) in enumerate(zip(self.sizes, dims.sizes, strict=True)):
            if isinstance(wanted, str):
                wanted = known.setdefault(wanted, size)
            if wanted is not None and size != wanted:
                raise DimensionError(
                    f"dim {i} of the input {self} is {wanted}, got {size}.",
                    op="onnx",
                    operands=(dims.operand(self.name, [i]),),
                )


@dataclass(frozen=True)
class Signature:
    """What a model takes and gives, in order."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.inputs))}) → ({', '.join(map(str, self.outputs))})"

    def bound(self, inputs: Sequence[Any], keywords: dict[str, Any]) -> list[Any]:
        """Return what is given for each input, in order; raise before anything runs where it does not fit."""
        names = [one.name for one in self.inputs]
        if len(inputs) > len(names):
            raise TypeError(f"the model takes {len(names)} inputs, {self}, got {len(inputs)}")
        given = dict(zip(names, inputs, strict=False))
        for name, value in keywords.items():
            if name in given:
                raise TypeError(f"the input {name!r} is given twice")
            if name not in names:
                raise TypeError(f"the model has no input {name!r}: it takes {', '.join(map(repr, names))}")
            given[name] = value
        known: dict[str, int] = {}
        for one in self.inputs:
            if one.name not in given and one.kind != "optional":
                raise TypeError(f"the model is missing the input {one}")
            if one.name in given:
                one.check(given[one.name], known)
        return [given.get(name) for name in names]


def signature(proto: Any) -> Signature:
    """Return what the graph of a file takes and gives; inputs that have a value in the file are none."""
    own = {one.name for one in proto.initializer}
    inputs = tuple(_port(one) for one in proto.input if one.name not in own)
    names = [one.name for one in inputs]
    if len(set(names)) != len(names):
        raise OnnxError("two inputs have one name")
    if not proto.output:
        raise OnnxError("the model gives nothing")
    return Signature(inputs, tuple(_port(one) for one in proto.output))


def _port(info: Any) -> Port:
    kind = info.type.WhichOneof("value") or "tensor_type"
    if kind != "tensor_type":
        return Port(info.name, kind.removesuffix("_type"), None, None, info.type)
    tensor = info.type.tensor_type
    dtype = data_type(tensor.elem_type) if tensor.elem_type else None
    if not tensor.HasField("shape"):
        return Port(info.name, "tensor", dtype, None, info.type)
    if len(tensor.shape.dim) > MAXIMUM_DIMS:
        raise OnnxError(f"{short(info.name)} claims {len(tensor.shape.dim)} dims, and no tensor has so many")
    return Port(info.name, "tensor", dtype, tuple(map(_size, tensor.shape.dim)), info.type)


def _size(dim: Any) -> int | str | None:
    which = dim.WhichOneof("value")
    if which == "dim_value":
        # Some exporters write 0 or -1 for a size that they do not know.
        return int(dim.dim_value) if dim.dim_value > 0 else None
    # A name without a letter, as "?" is, names nothing.
    named = which == "dim_param" and any(one.isalnum() for one in dim.dim_param)
    return str(dim.dim_param) if named else None

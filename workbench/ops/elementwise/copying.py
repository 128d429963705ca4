"""Copies and casts; and the records of elementwise ops that other rooms name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, overload

import numpy as np

from workbench.base.dtypes import TYPE_WORDS, converted, plain_dtype
from workbench.base.errors import DeviceError
from workbench.base.memory_formats import MemoryFormat
from workbench.core import sparse_indexing
from workbench.core.backend import device_of
from workbench.core.dtype_rules import PROMOTE
from workbench.core.families import grid, unary
from workbench.core.op import Absent, DTypeRule, Op, Sample, Saves, ops
from workbench.core.quantization import Quantization
from workbench.core.tape import Call
from workbench.core.typing import DTypeLike, Tensor
from workbench.ops.elementwise.arithmetic import (
    ABS,
    ADD,
    DIV,
    DIV_FLOOR,
    MUL,
    NEG,
    RECIPROCAL,
    REMAINDER,
    SUB,
)
from workbench.ops.elementwise.comparison import (
    EQ,
    GE,
    GT,
    LE,
    LOGICAL_AND,
    LOGICAL_NOT,
    LOGICAL_OR,
    LOGICAL_XOR,
    LT,
    MAXIMUM,
    MINIMUM,
    NE,
)
from workbench.ops.elementwise.exponential import SIGMOID
from workbench.ops.elementwise.filling import CLAMP, WHERE, clamp, where
from workbench.ops.elementwise.integer import (
    BITWISE_AND,
    BITWISE_LEFT_SHIFT,
    BITWISE_NOT,
    BITWISE_OR,
    BITWISE_RIGHT_SHIFT,
    BITWISE_XOR,
)
from workbench.ops.elementwise.powers import POW
from workbench.ops.elementwise.trigonometry import TANH
from workbench.ops.nn.activation.pointwise import RELU
from workbench.ops.offer import offered
from workbench.ops.shape.memory_format import in_format

__all__ = [
    "ABS", "ADD", "BITWISE_AND", "BITWISE_LEFT_SHIFT", "BITWISE_NOT", "BITWISE_OR", "BITWISE_RIGHT_SHIFT",
    "BITWISE_XOR", "CLAMP", "CLONE", "COPY", "DIV", "DIV_FLOOR", "EQ", "GE", "GT", "LE", "LOGICAL_AND", "LOGICAL_NOT",
    "LOGICAL_OR", "LOGICAL_XOR", "LT", "MAXIMUM", "MINIMUM", "MUL", "NE", "NEG", "POW", "RECIPROCAL", "RELU",
    "REMAINDER", "SIGMOID", "SUB", "TANH", "TO", "WHERE", "clamp", "clone", "to", "where",
]  # fmt: skip

NOTHING = Saves((), output=False)


def _to_vjp(c: Call, g: Any) -> tuple[Any, ...]:
    target = c.inputs[0].payload.dtype
    if target.kind not in "fcV":
        return (None,)
    # Of a real value only the real part of a gradient counts.
    if target.kind != "c" and g.payload.dtype.kind == "c":
        g = ops.real(g)
    return (ops.to(g, dtype=target),)


TO = Op(
    name="to",
    doc="Cast to another data type.",
    equation="y = cast(x)",
    dims=lambda x, dtype: x,
    rule="names and sizes pass through",
    dtype=DTypeRule("as asked", None, lambda dtype, params: np.dtype(params["dtype"])),
    forward=lambda x, dtype: converted(x, np.dtype(dtype)),
    vjp=_to_vjp,
    saves=NOTHING,
    quantized=Absent("a quantized tensor is cast through dequantize()"),
    samples=lambda: [Sample((grid(3, 4),), {"dtype": np.dtype("f8")}, names=(("N", "C"),))],
    properties=frozenset({"linear", "moves", "elementwise"}),
)

CLONE = unary(
    "clone",
    "Copy.",
    "y = x",
    lambda x: x.copy(),
    lambda c, g: g,
    saves=NOTHING,
    dtype=PROMOTE,
    quantized=Quantization("same", lambda op, q: q.copy()),
    properties=["linear", "moves"],
)

COPY = Op(
    name="copy",
    doc="What a tensor becomes when another of its sizes is copied into it: the other.",
    equation="z = y",
    dims=lambda x, y: x,
    rule="those of the first",
    dtype=DTypeRule("as the second", None, lambda dtype, params: dtype),
    forward=lambda x, y: y,
    vjp=lambda c, g: (ops.fill(g, value=0) if c.needs[0] else None, g),
    saves=NOTHING,
    quantized=Absent("copy_ writes codes"),
    samples=lambda: [Sample((grid(3, 4), grid(3, 4, seed=1)), names=(("N", "C"), ("N", "C")))],
    properties=frozenset({"linear", "moves", "passes"}),
    sparse=sparse_indexing.copy,
)

# ---------------------------------------------------------------------------------- the words people use


@offered()
def clone(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """Copy: y = x, in memory of its own. Names and sizes pass through, and gradients go back to the original.

    `memory_format` says how the copy lies in memory: ``channels_last``, or row by row.

    >>> import workbench as wb
    >>> wb.clone(wb.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    return CLONE(input) if memory_format is None else in_format("clone", input, memory_format, copy=True)


def to(input: Any, dtype: Any) -> Tensor:
    """Cast to another data type; a tensor that has it already is returned as it is. Names and sizes pass through."""
    target = plain_dtype(dtype).numpy
    return input if input.payload.dtype == target else TO(input, dtype=target)


@overload
def type(input: Tensor) -> str: ...
@overload
def type(input: Tensor, dtype: DTypeLike, non_blocking: bool = False) -> Tensor: ...
@offered("Tensor")
def type(input: Tensor, dtype: DTypeLike | None = None, non_blocking: bool = False) -> Tensor | str:
    """Cast to another data type; without one, say which it is, in the words that programs compare with.

    >>> import workbench as wb
    >>> type(wb.tensor([1.0]))
    'torch.FloatTensor'
    """
    if dtype is None:
        where = "cuda." if device_of(input.payload).type == "cuda" else ""
        return f"torch.{where}{TYPE_WORDS[input.dtype.name]}Tensor"
    if isinstance(dtype, str) and dtype.endswith("Tensor"):
        dtype = _named(dtype)
    # An older type of tensors says which data type is meant; a type of Python's, or of NumPy's, is one itself.
    return to(input, dtype=vars(dtype).get("dtype", dtype) if inspect.isclass(dtype) else dtype)


def _named(word: str) -> str:
    """Return the data type that an older name such as ``torch.FloatTensor`` says, on the CPU."""
    room, _, short = word.rpartition(".")
    known = {f"{one}Tensor": name for name, one in TYPE_WORDS.items()}
    if room in ("torch.cuda", "workbench.cuda"):
        raise DeviceError(
            f"type(): {word!r} is a type of values on a GPU: bring them there with x.to('cuda')"
        )
    if room not in ("torch", "workbench") or short not in known:
        raise ValueError(f"invalid type: {word!r}; there are torch.FloatTensor, torch.LongTensor, …")
    return known[short]


@offered("Tensor")
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """Cast to the data type of another tensor.

    >>> import workbench as wb
    >>> wb.tensor([1, 2]).type_as(wb.tensor([0.5]))
    tensor([1., 2.])
    """
    return to(input, other.payload.dtype)


def _cast(word: str, name: str) -> Callable[..., Any]:
    def method(self: Tensor, memory_format: MemoryFormat | None = None) -> Tensor:
        cast = to(self, dtype=name)
        return cast if memory_format is None else in_format(word, cast, memory_format)

    method.__name__ = word
    method.__qualname__ = f"Tensor.{word}"
    method.__module__ = "workbench"
    method.__doc__ = (
        f"Cast to {name}; a tensor of that type is returned as it is. Names and sizes pass through."
    )
    return method


for _word, _name in {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "cfloat": "complex64",
    "cdouble": "complex128", "long": "int64", "int": "int32", "short": "int16", "char": "int8",
    "byte": "uint8", "bool": "bool",
}.items():  # fmt: skip
    offered("Tensor")(_cast(_word, _name))


@offered("workbench")
def detach(input: Tensor) -> Tensor:
    """The same values off the tape: memory is shared.

    >>> import workbench as wb
    >>> wb.detach(wb.ones(1, requires_grad=True) * 2).requires_grad
    False
    """
    return input.detach()

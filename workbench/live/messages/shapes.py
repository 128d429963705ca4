"""The shapes view: a tensor, dims flowing through ops, or operands that do not fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from workbench.live.messages.common import Dim, Head

__all__ = [
    "ClashDim", "ClashOperand", "ClashState", "FlowOperand", "FlowRow", "FlowState", "Picture",
    "SliceEvent", "Slider", "Statistics", "TensorState",
]  # fmt: skip


@dataclass(frozen=True)
class Statistics:
    """Summary of a tensor's values; of the finite ones where a figure needs finite values."""

    minimum: float | None
    maximum: float | None
    mean: float | None
    std: float | None
    zeros: float
    """Fraction of the values that are exactly zero, 0 to 1."""
    nan: int
    inf: int
    counts: list[int]
    """Histogram of the finite values in equal bins over [minimum, maximum]; without the zeros where `apart`."""
    sampled: bool = False
    """True if only a part of the values was looked at, to keep to the time allowed."""
    apart: bool = False
    """True if most values are zeros: beside their bin all others would be flat, so `zeros` alone says how many."""


@dataclass(frozen=True)
class Slider:
    """A dimension that the picture does not draw, and which of its entries is shown."""

    dim: Dim
    axis: int
    index: int


@dataclass(frozen=True)
class Picture:
    """A small picture of a tensor, drawn from `values_buffer` (float32)."""

    kind: Literal["images", "heatmap", "line", "scalar"]
    tiles: int
    """How many images lie in the buffer (1 for the other kinds)."""
    height: int
    width: int
    channels: int
    """Buffer shape: [tiles, height, width, channels]."""
    low: float
    """The value drawn as the lower end of the colour map."""
    high: float
    signed: bool
    """True if zero means something: the map is then the signed one with zero fixed at its middle."""
    values_buffer: int
    row_dim: Dim | None
    column_dim: Dim | None
    tile_dim: Dim | None
    sliders: list[Slider]


@dataclass(frozen=True)
class TensorState:
    """One tensor: its dims by name, type, statistics and a small picture."""

    kind: Literal["tensor"]
    head: Head
    dtype: str
    device: str
    dims: list[Dim]
    count: int
    nbytes: int
    requires_grad: bool
    leaf: bool
    statistics: Statistics | None
    picture: Picture | None


@dataclass(frozen=True)
class FlowOperand:
    """One tensor that enters or leaves an op in the flow picture."""

    label: str
    dtype: str
    dims: list[Dim]
    contracted: list[int]
    """Indices of dims that end in the op (hatched)."""
    reduced: list[int]
    """Indices of dims that are reduced away (faded)."""
    broadcast: list[int]
    """Indices of dims that are stretched (dashed outline)."""
    becomes: list[int | None] = field(default_factory=list)
    """For each dim the index of the output's dim that it lives on as, None if it ends; empty if only names tell."""


@dataclass(frozen=True)
class FlowRow:
    """One op of the flow picture."""

    node: str
    """Identity of the graph's node: the selection shared with the graph view."""
    op: str
    scope: str
    source: str
    inputs: list[FlowOperand]
    output: FlowOperand


@dataclass(frozen=True)
class FlowState:
    """Dims flowing through ops, one row an op, time downward."""

    kind: Literal["flow"]
    head: Head
    rows: list[FlowRow]
    selected: str | None


@dataclass(frozen=True)
class ClashDim:
    """One dimension of an operand in an error picture, and the line that gave it its size."""

    name: str | None
    size: int
    origin: str
    clash: bool


@dataclass(frozen=True)
class ClashOperand:
    """One operand of the op that was refused."""

    label: str
    dims: list[ClashDim]


@dataclass(frozen=True)
class ClashState:
    """A name or shape error: the operands aligned from the right, the offending dims ringed and joined."""

    kind: Literal["clash"]
    head: Head
    op: str
    message: str
    operands: list[ClashOperand]
    fix: str
    """Code that would work; empty if none is known."""


@dataclass(frozen=True)
class SliceEvent:
    """A person moved a slider of a tensor's picture."""

    type: Literal["slice"]
    axis: int
    index: int

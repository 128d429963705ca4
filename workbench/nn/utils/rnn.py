"""Sequences of different lengths: padded to one tensor, or packed without the padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from workbench.base.dtypes import as_places
from workbench.base.errors import DimensionError, DTypeError
from workbench.base.public import words
from workbench.core.dispatch import numbers
from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.core.value import Value, dims_of, new

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip

Names = tuple[str | None, str | None]


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


Own = TypeVar("Own", bound="PackedSequence")


class PackedSequence(_Fields):
    """Sequences of different lengths without padding, step after step: what `pack_padded_sequence` makes.

    `data` [rows, …] has all first steps, then all second ones; `batch_sizes` [T] says how many each step has, longest
    sequence first; `sorted_indices` is the order in which the sequences stand, `unsorted_indices` its inverse. `dims`
    keeps the names of steps and batch for `pad_packed_sequence`.
    """

    dims: Names

    def __new__(
        cls: type[Own],
        data: Any,
        batch_sizes: Any = None,
        sorted_indices: Any = None,
        unsorted_indices: Any = None,
        *,
        dims: Names = (None, None),
    ) -> Own:
        """Make one of its parts, or of the pair (data, batch_sizes)."""
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, list | tuple) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2: (data, batch_sizes)")
            data, batch_sizes = data
        made = super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)
        made.dims = dims
        return made

    def with_data(self: Own, data: Any) -> Own:
        """Return the same arrangement of other rows."""
        return type(self)(data, self.batch_sizes, self.sorted_indices, self.unsorted_indices, dims=self.dims)

    def to(self: Own, *arguments: Any, **keywords: Any) -> Own:
        """Bring the data to a type or a device, as `Tensor.to`."""
        data = self.data.to(*arguments, **keywords)
        return self if data is self.data else self.with_data(data)

    def double(self: Own) -> Own:
        """Bring the data to float64."""
        return self.to("float64")

    def float(self: Own) -> Own:
        """Bring the data to float32."""
        return self.to("float32")

    def half(self: Own) -> Own:
        """Bring the data to float16."""
        return self.to("float16")

    def cpu(self: Own) -> Own:
        """Bring the data to the CPU."""
        return self.to("cpu")

    @property
    def is_cuda(self) -> bool:
        """Whether the data lies on a GPU."""
        return bool(self.data.is_cuda)


def invert_permutation(permutation: Any) -> Any:
    """Return the permutation that undoes one; None for None.

    >>> import workbench as wb
    >>> invert_permutation(wb.tensor([2, 0, 1])).tolist()
    [1, 2, 0]
    """
    return None if permutation is None else new(np.argsort(numbers(permutation), kind="stable"))


def _refuse(op: str, why: str, *operands: Any, fix: str = "") -> DimensionError:
    return DimensionError(
        why, op=op, operands=tuple(dims_of(one).operand("input") for one in operands), fix=fix
    )


def _lengths(lengths: Any) -> np.ndarray[Any, Any]:
    if isinstance(lengths, Value) and getattr(lengths.payload.dtype, "quantized", False):
        raise DTypeError(
            f"lengths are whole numbers, got {lengths.payload.dtype}. Cast them: "
            f"{as_places('lengths', lengths.payload.dtype)}"
        )
    found = numbers(lengths) if isinstance(lengths, Value) else np.asarray(lengths)
    return found.astype(np.int64)


def _rest(value: Any) -> tuple[str | None, ...]:
    names = dims_of(value).names
    return tuple(names[2:])


def _named(value: Any, names: tuple[str | None, ...]) -> Any:
    """Give names, where there are any that do not stand twice."""
    given = [name for name in names if name]
    if not given or len(set(given)) != len(given):
        return value
    return ops.rename(value, names=names)


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a padded batch [T, N, …] (or [N, T, …] with `batch_first`) of sequences of the given lengths.

    With `enforce_sorted` the sequences stand longest first already; else they are sorted, and come back in their own
    order from `pad_packed_sequence`. Raises RuntimeError for lengths that do not fit.

    >>> import workbench as wb
    >>> packed = pack_padded_sequence(wb.tensor([[1, 4], [2, 5], [3, 0]]), [3, 2])
    >>> packed.data.tolist(), packed.batch_sizes.tolist()
    ([1, 4, 2, 5, 3], [2, 2, 1])
    """
    sizes = dims_of(input).sizes
    count = _lengths(lengths)
    if not all(sizes):
        raise _refuse("pack_padded_sequence", "Cannot pack empty tensors.", input)
    if len(sizes) < 2:
        raise _refuse("pack_padded_sequence", f"input must have dims [T, N, …], it has {len(sizes)}.", input)
    batch, steps = (sizes[0], sizes[1]) if batch_first else (sizes[1], sizes[0])
    if count.shape != (batch,):
        raise _refuse(
            "pack_padded_sequence",
            f"Expected `len(lengths)` to be equal to batch_size, but got {count.size} (batch_size={batch})",
            input,
        )
    if count.min() <= 0:
        raise _refuse(
            "pack_padded_sequence",
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0",
        )
    if count.max() > steps:
        raise _refuse(
            "pack_padded_sequence",
            f"a length is {count.max()}, and the padded input has {steps} steps.",
            input,
        )
    order = None
    if not enforce_sorted:
        # Stable, so that sequences of one length stay in the order in which they came.
        order = np.argsort(-count, kind="stable")
        count = count[order]
    elif (np.diff(count) > 0).any():
        raise _refuse(
            "pack_padded_sequence",
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability.",
            fix="pack_padded_sequence(..., enforce_sorted=False)",
        )
    # Step by step over all sequences that are that long: the order in which rows are packed.
    step, place = np.nonzero(np.arange(count[0])[:, None] < count)
    batch_sizes = np.bincount(step)
    place = place if order is None else order[place]
    names = dims_of(input).names
    bare = ops.rename(input, names=None) if input._names is not None else input
    first, second = (place, step) if batch_first else (step, place)
    data = _named(ops.pick(bare, new(first), new(second), dims=(0, 1)), (None, *_rest(input)))
    dims = (names[1], names[0]) if batch_first else (names[0], names[1])
    return PackedSequence(data, new(batch_sizes), None if order is None else new(order), None, dims=dims)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return a packed batch padded to [T, N, …] (or [N, T, …]) in the order before packing, and the lengths [N].

    >>> import workbench as wb
    >>> packed = pack_padded_sequence(wb.tensor([[1, 4], [2, 5], [3, 0]]), [3, 2])
    >>> padded, lengths = pad_packed_sequence(packed, padding_value=-1)
    >>> padded.tolist(), lengths.tolist()
    ([[1, 4], [2, 5], [3, -1]], [3, 2])
    """
    sizes = numbers(sequence.batch_sizes)
    steps = len(sizes)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    batch = int(sizes[0])
    lengths = (sizes[:, None] > np.arange(batch)).sum(0)
    rows = np.full((steps, batch), int(sizes.sum()), np.int64)  # the row of padding, after all others
    starts = np.cumsum(sizes) - sizes
    for step, (start, count) in enumerate(zip(starts, sizes, strict=True)):
        rows[step, :count] = np.arange(start, start + count)
    if sequence.unsorted_indices is not None:
        order = numbers(sequence.unsorted_indices)
        rows, lengths = rows[:, order], lengths[order]
    rows = rows.T if batch_first else rows
    data = sequence.data
    # Names would have to be found twice, in the rows and in the indices; they are put back at the end.
    bare = ops.rename(data, names=None) if data._names is not None else data
    padding = np.full((1, *data.payload.shape[1:]), padding_value, data.payload.dtype)
    out = ops.pick(ops.cat(bare, new(padding), dim=0), new(np.ascontiguousarray(rows)), dims=(0,))
    leading = sequence.dims[::-1] if batch_first else sequence.dims
    return _named(out, (*leading, *dims_of(data).names[1:])), new(lengths)


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Pad sequences [L, …] to the longest and stack them: [T, N, …], or [N, T, …] with `batch_first`.

    >>> import workbench as wb
    >>> pad_sequence([wb.tensor([1, 2]), wb.tensor([3])], batch_first=True).tolist()
    [[1, 2], [3, 0]]
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    several = list(sequences)
    if not several:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"pad_sequence: Expected padding_side to be one of left or right, but got {padding_side}."
        )
    rest = dims_of(several[0]).sizes[1:]
    for one in several:
        if not dims_of(one).sizes or dims_of(one).sizes[1:] != rest:
            raise _refuse(
                "pad_sequence",
                f"all sequences must have sizes [L, {', '.join(map(str, rest))}]",
                several[0],
                one,
            )
    longest = max(dims_of(one).sizes[0] for one in several)
    padded = []
    for one in several:
        missing = longest - dims_of(one).sizes[0]
        width = (missing, 0) if padding_side == "left" else (0, missing)
        if missing:
            one = ops.pad(one, padding=(width, *((0, 0),) * len(rest)), value=padding_value)
        padded.append(ops.unsqueeze(one, dim=0 if batch_first else 1, name=None))
    return ops.cat(*padded, dim=0 if batch_first else 1)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """Return the sequences [L, …] of a padded batch [T, N, …] (or [N, T, …]), without the padding.

    >>> import workbench as wb
    >>> [one.tolist() for one in unpad_sequence(wb.tensor([[1, 3], [2, 0]]), [2, 1])]
    [[1, 2], [3]]
    """
    found = []
    count = _lengths(lengths)
    batch = dims_of(padded_sequences).sizes[0 if batch_first else 1]
    if count.shape != (batch,):
        raise _refuse(
            "unpad_sequence", f"there are {count.size} lengths for {batch} sequences.", padded_sequences
        )
    for i, length in enumerate(count.tolist()):
        kept = slice(0, length)
        found.append(ops.index(padded_sequences, key=(i, kept) if batch_first else (kept, i)))
    return found


def pack_sequence(sequences: Sequence[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences [L, …]; see `pack_padded_sequence`.

    >>> import workbench as wb
    >>> pack_sequence([wb.tensor([1, 2, 3]), wb.tensor([4])]).data.tolist()
    [1, 4, 2, 3]
    """
    lengths = [dims_of(one).sizes[0] for one in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """Return the sequences that were packed, in the order in which they were given.

    >>> import workbench as wb
    >>> [one.tolist() for one in unpack_sequence(pack_sequence([wb.tensor([1, 2]), wb.tensor([3])]))]
    [[1, 2], [3]]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


__getattr__, __dir__ = words(__name__, __all__)

"""Quantized payloads: integer codes, and the affine map from codes to real numbers.

real = (code - zero_point) · scale, with one scale and zero point for all values, one for each entry of an axis, or
one for each group of neighbours along the last dim.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.base.codes import QScheme, code_range, entries, groups, to_codes
from workbench.base.dtypes import DType
from workbench.base.errors import QuantizationError
from workbench.base.kept_of_codes import Kept, changed

__all__ = ["PackedArray", "QScheme", "QuantizedArray", "code_range", "to_codes"]

Array = np.ndarray[Any, Any]


class QuantizedArray:
    """Codes with scale and zero point; a payload of a tensor, as a NumPy array is.

    `scale` and `zero_point` are a float and an int, or arrays with one entry for each entry of `axis`; zero points of
    floating type stay such. With `group` they have the shape of the codes, but for one entry a group along the last
    dim. Codes are read-only to who looks at them; `write` changes them, for all that share their memory.

    >>> from workbench.base.dtypes import quint8
    >>> q = QuantizedArray(np.array([0, 12], np.uint8), 0.5, 10, quint8)
    >>> q.dequantize()
    array([-5.,  1.], dtype=float32)
    """

    __slots__ = (
        "__weakref__", "_kept", "axis", "codes", "dtype", "group", "scale", "shape", "zero_point"
    )  # fmt: skip
    # NumPy's arithmetic is refused: entry by entry it would make an array of objects.
    __array_ufunc__ = None
    """NumPy leaves arithmetic on it alone."""

    codes: Array
    """The codes, one an entry."""
    scale: Any
    zero_point: Any
    axis: int | None
    """The dim that scales go along; None where there is one scale."""
    group: int | None
    """How many neighbours along `axis`, the last dim, share a scale; None where there are no groups."""
    dtype: DType
    shape: tuple[int, ...]

    def __new__(
        cls,
        codes: Array,
        scale: Any,
        zero_point: Any,
        dtype: DType,
        axis: int | None = None,
        group: int | None = None,
    ) -> QuantizedArray:
        """Make an array of codes; of several in a byte where the type has such."""
        return object.__new__(PackedArray if dtype.bits < 8 else cls)

    def __init__(
        self,
        codes: Array,
        scale: Any,
        zero_point: Any,
        dtype: DType,
        axis: int | None = None,
        group: int | None = None,
    ) -> None:
        if codes.dtype != dtype.numpy or not dtype.is_quantized:
            raise QuantizationError(f"codes of NumPy's type {codes.dtype} cannot be {dtype.name}")
        self.dtype = dtype
        self.axis = axis
        self.group = group
        self.shape = codes.shape
        self._hold(codes)
        self._kept: Kept | None = None
        if group is not None:
            self.axis = len(self.shape) - 1
            self.scale, self.zero_point = groups(scale, zero_point, group, codes.shape)
        elif axis is None:
            self.scale, self.zero_point = float(scale), int(zero_point)
        else:
            self.scale, self.zero_point = entries(scale, zero_point, axis, codes.shape)

    @classmethod
    def own(cls, codes: Array, scale: float, zero_point: int, dtype: DType) -> QuantizedArray:
        """Return a payload, quantized per tensor, of codes that nobody else holds: nothing is checked or copied."""
        made = object.__new__(cls)
        made.codes, made.shape, made.dtype, made.axis, made.group = codes, codes.shape, dtype, None, None
        made.scale, made.zero_point, made._kept = scale, zero_point, None
        return made

    @classmethod
    def quantized(cls, values: Array, scale: float, zero_point: int, dtype: DType) -> QuantizedArray:
        """Return values rounded to codes under one scale and zero point."""
        numbers = np.asarray(values, np.float32)
        return cls(to_codes(numbers, scale, zero_point, *code_range(dtype), dtype), scale, zero_point, dtype)

    def _hold(self, codes: Array) -> None:
        # The caller's array stays as writable as it was.
        view = codes.view()
        view.flags.writeable = False
        self.codes = view

    @property
    def cache(self) -> dict[Any, Any]:
        """What integer layers have packed of it; empty again once codes were changed in place."""
        kept = self._kept
        if kept is None or kept.stale:
            # Another, so that who packs them this moment writes into the old one.
            kept = self._kept = Kept(self._memory())
        return kept

    def _memory(self) -> Array:
        return self.codes

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes that codes, scales and zero points take: a scale counts 4 bytes, a zero point 4."""
        pairs = 1 if isinstance(self.scale, float) else self.scale.size
        return -(-self.size * self.dtype.bits // 8) + 8 * int(pairs)

    @property
    def per_tensor(self) -> bool:
        """True where one scale and zero point hold for all values."""
        return self.axis is None

    @property
    def qscheme(self) -> QScheme:
        """How codes stand for numbers: by one scale, by one a channel, or by one a group."""
        if self.group is not None:
            return QScheme.PER_GROUP_AFFINE
        if self.axis is None:
            return QScheme.PER_TENSOR_AFFINE
        if self.zero_point.dtype.kind == "f":
            return QScheme.PER_CHANNEL_AFFINE_FLOAT_QPARAMS
        return QScheme.PER_CHANNEL_AFFINE

    def along_axis(self, values: Any) -> Any:
        """Return scales or zero points shaped so that they broadcast against the codes."""
        if self.group is not None:
            return np.repeat(values, self.group, axis=-1)[..., : self.shape[-1]]
        if self.axis is None:
            return values
        return np.asarray(values).reshape([-1 if i == self.axis else 1 for i in range(self.ndim)])

    def dequantize(self) -> Array:
        """Return the float32 numbers that the codes stand for: (code - zero_point) · scale."""
        scale, zero = self.along_axis(self.scale), self.along_axis(self.zero_point)
        with np.errstate(invalid="ignore", over="ignore"):
            if self.dtype.itemsize > 1:
                # Whole numbers first: float32 does not hold every 32-bit code.
                steps = (self.codes.astype(np.int64) - zero).astype(np.float32)
            else:
                steps = self.codes.astype(np.float32) - np.asarray(zero, np.float32)
            # One scale is float32, those of channels are what they are, as in PyTorch.
            out = steps * (np.float32(scale) if self.axis is None else scale)
        return np.asarray(out, np.float32)  # NumPy makes numbers of what has no dims

    def no_moves(self) -> QuantizationError:
        """Return the refusal to move values that have scales of their own."""
        if self.group is not None:
            return QuantizationError(
                f"values quantized in groups of {self.group} along the last dim cannot be moved: each would get "
                "another group's scale. Call .dequantize() first."
            )
        return QuantizationError(
            f"values quantized per channel (along dim {self.axis}) cannot be moved: each would get another "
            "channel's scale. Call .dequantize() first."
        )

    def with_codes(self, codes: Array, *, same_places: bool = False) -> QuantizedArray:
        """Return other codes with this scale and zero point.

        `same_places` says that each value stayed where it was. Where each channel has its own scale, values that
        moved would get the scale of another channel, so that is refused.
        """
        if not self.per_tensor and not same_places and codes is not self.codes:
            raise self.no_moves()
        return QuantizedArray(codes, self.scale, self.zero_point, self.dtype, self.axis, self.group)

    def rounded(self, values: Any) -> QuantizedArray:
        """Return other values rounded to the codes of this scale and zero point.

        >>> from workbench.base.dtypes import quint8
        >>> QuantizedArray(np.zeros(1, np.uint8), 0.5, 10, quint8).rounded(np.array([0.3, 2.0])).codes
        array([11, 14], dtype=uint8)
        """
        numbers = np.asarray(values, np.float32)
        if not self.per_tensor and numbers.shape != self.shape:
            raise self.no_moves()
        codes = to_codes(
            numbers,
            self.along_axis(self.scale),
            self.along_axis(self.zero_point),
            *code_range(self.dtype),
            self.dtype,
        )
        return self.with_codes(codes, same_places=True)

    def same_map(self, other: QuantizedArray) -> bool:
        """Say whether a code stands for the same number in both."""
        return (
            self.dtype is other.dtype
            and (self.axis, self.group) == (other.axis, other.group)
            and bool(np.array_equal(self.scale, other.scale))
            and bool(np.array_equal(self.zero_point, other.zero_point))
        )

    def write(self, codes: Any) -> None:
        """Change the codes in place: whoever shares their memory sees it."""
        _written_into(self.codes, codes)

    @property
    def whole(self) -> bool:
        """True where no other array owns more of the memory of these codes."""
        owner: Any = self.codes
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        return bool(owner.size == self.size)

    def mapped_as(self, other: QuantizedArray) -> QuantizedArray:
        """Return these codes, in this memory, with scale and zero point of `other`; this where they are the same."""
        if self.same_map(other):
            return self
        made = object.__new__(type(self))
        made.dtype, made.shape, made.axis, made.group = self.dtype, self.shape, other.axis, other.group
        made.scale, made.zero_point, made._kept = other.scale, other.zero_point, None
        self._lend(made)
        return made

    def _lend(self, other: QuantizedArray) -> None:
        other.codes = self.codes

    def zero_point_like_codes(self) -> Any:
        """Return the code of zero, shaped and typed to compare with the codes."""
        return np.asarray(self.along_axis(self.zero_point), self.dtype.numpy)

    def quantizer(self) -> list[str]:
        """Return how this is quantized, as the printed form of a tensor says it."""
        parts = [f"size={self.shape}", f"quantization_scheme={self.qscheme!r}"]
        if self.per_tensor:
            return [*parts, f"scale={self.scale}", f"zero_point={self.zero_point}"]
        where = f"axis={self.axis}" if self.group is None else f"group_size={self.group}"
        return [*parts, f"scale={_short(self.scale)}", f"zero_point={_short(self.zero_point)}", where]

    @property
    def places(self) -> Array | None:
        """The array whose strides say where each code lies; None where several lie in a byte."""
        return self.codes

    def copy(self) -> QuantizedArray:
        """Return the same codes in memory of their own."""
        return self.with_codes(self.codes.copy(), same_places=True)

    def __deepcopy__(self, memo: dict[int, Any]) -> QuantizedArray:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        codes = np.array(self.codes)
        return QuantizedArray, (codes, self.scale, self.zero_point, self.dtype, self.axis, self.group)

    def __repr__(self) -> str:
        return f"QuantizedArray({self.dtype.name}, {', '.join(self.quantizer())})"


class PackedArray(QuantizedArray):
    """Codes of less than 8 bits, several in a byte, the first in the lowest bits, as in PyTorch.

    >>> from workbench.base.dtypes import quint4x2
    >>> q = QuantizedArray(np.array([1, 2, 3], np.uint8), 0.5, 0, quint4x2)
    >>> q.packed, q.codes
    (array([33,  3], dtype=uint8), array([1, 2, 3], dtype=uint8))
    """

    __slots__ = ("_bytes", "_lies")

    _bytes: Array
    """The bytes, without dims: of this array, or of that of which it is a view."""
    _lies: tuple[int, tuple[int, ...]] | None
    """Where a view begins among the codes in these bytes, and its strides; None where they are its own, in order."""

    @property
    def packed(self) -> Array:
        """The bytes, without dims."""
        return self._bytes if self._lies is None else _packed(self.codes, self.dtype.bits)

    def _lend(self, other: Any) -> None:
        other._bytes, other._lies = self._bytes, self._lies

    @property
    def whole(self) -> bool:
        """True but for views."""
        return self._lies is None

    @property
    def places(self) -> None:
        """None: several codes lie in a byte."""
        return None

    def _hold(self, codes: Array) -> None:
        self._bytes, self._lies = _packed(codes, self.dtype.bits), None

    @property
    def codes(self) -> Array:  # type: ignore[override]  # what is a field there is worked out here
        """The codes, one an entry, unpacked."""
        found = self._placed(_unpacked(self._bytes, self.dtype.bits))
        found.flags.writeable = False
        return found

    def _placed(self, every: Array) -> Array:
        if self._lies is None:
            return every[: self.size].reshape(self.shape)
        begin, strides = self._lies
        return np.ndarray(self.shape, np.uint8, every, begin, strides)

    def seen_as(self, own: Array, codes: Array, made: Any) -> Any:
        """Return `made` of `codes` as a view of this, where they are a view of `own`, which are the codes of this."""
        if not codes.size or not np.may_share_memory(own, codes):
            return made
        begin = 0 if self._lies is None else self._lies[0]
        moved = codes.__array_interface__["data"][0] - own.__array_interface__["data"][0]
        made._bytes, made._lies = self._bytes, (begin + moved, codes.strides)
        return made

    def _memory(self) -> Array:
        return self._bytes

    def write(self, codes: Any) -> None:
        """Change the codes in place."""
        if self._lies is None:
            every = np.broadcast_to(codes, self.shape)
        else:
            every = _unpacked(self._bytes, self.dtype.bits)
            self._placed(every)[...] = codes
        _written_into(self._bytes, _packed(every, self.dtype.bits))


def _unpacked(packed: Array, bits: int) -> Array:
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return ((packed[:, None] >> shifts) & np.uint8(2**bits - 1)).reshape(-1)


def _packed(codes: Array, bits: int) -> Array:
    each = 8 // bits
    if codes.size and int(codes.max()) >= 2**bits:
        raise QuantizationError(f"the code {int(codes.max())} does not fit into {bits} bits")
    rows = np.zeros((-(-codes.size // each), each), np.uint8)
    rows.reshape(-1)[: codes.size] = codes.reshape(-1)
    return np.asarray(np.bitwise_or.reduce(rows << np.arange(0, 8, bits, dtype=np.uint8), axis=1))


def _written_into(held: Array, codes: Any) -> None:
    memory = held.view()
    try:
        memory.flags.writeable = True
    except ValueError as error:
        raise ValueError("the memory of these codes is read-only: clone() the tensor first") from error
    np.copyto(memory, codes, casting="same_kind")
    changed(memory)


def _short(values: Array) -> str:
    flat = values.reshape(-1)
    shown = ", ".join(f"{one:.4g}" for one in flat[:3].tolist())
    return f"[{shown}, … {flat.size} in all]" if flat.size > 3 else f"[{shown}]"

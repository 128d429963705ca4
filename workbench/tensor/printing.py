"""How a tensor prints: as PyTorch's do, with names, and in bounded time and text whatever the size.

Only the values that are shown are read: those at the edges of every dim and, of a tensor with so many dims that even
these are many, fewer of the leading dims.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workbench.base.dtypes import number_dtype
from workbench.base.sparse_array import SparseArray
from workbench.base.symbolic_size import hint
from workbench.core.backend import backend_of, device_of
from workbench.core.value import Abstract

__all__ = ["Options", "Shown", "options", "set_printoptions", "shown_of", "tensor_repr"]

Array = np.ndarray[Any, Any]

MOST = 1296
"""Most values of a tensor above the threshold: six of each of four dims."""

MOST_DEEP = 256
"""Most values of one with more dims than `DEEP`, whose lines are long."""
DEEP = 12

MOST_FETCHED = 1 << 20
"""Most values copied from a device whose arrays cannot be cut there."""


@dataclass(frozen=True)
class Options:
    """How numbers and rows are written, see `set_printoptions`."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PROFILES = {"default": Options(), "short": Options(precision=2), "full": Options(threshold=math.inf)}

_options = Options()


def options() -> Options:
    """Return the options in force."""
    return _options


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Say how tensors print from now on; what is not given stays, but for `sci_mode`, which is then found by itself.

    `precision` is the number of digits behind the point. A tensor of more than `threshold` values is summarised with
    `edgeitems` at both ends of every dim (fewer of leading dims where these are many). Rows are broken at `linewidth`
    characters. `sci_mode` writes exponents always (True) or never (False). `profile` sets all: "default", "short" (two
    digits) or "full" (no summary). Raises ValueError for values that are none, and changes nothing then.

    >>> import workbench as wb
    >>> wb.set_printoptions(precision=2)
    >>> wb.tensor([1 / 3])
    tensor([0.33])
    >>> wb.set_printoptions(profile="default")
    """
    global _options
    if profile is not None and profile.lower() not in PROFILES:
        raise ValueError(
            f"set_printoptions: there is no profile {profile!r}; there are {', '.join(PROFILES)}"
        )
    wanted = _options if profile is None else PROFILES[profile.lower()]
    least = {"precision": 0, "edgeitems": 1, "linewidth": 1}
    given: dict[str, Any] = {"precision": precision, "edgeitems": edgeitems, "linewidth": linewidth}
    for word, value in given.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not least[word] <= value <= 10_000:
            raise ValueError(
                f"set_printoptions: {word} is a whole number from {least[word]} to 10000, got {value!r}"
            )
    limit: Any = threshold
    if limit is not None and (not isinstance(limit, int | float) or not limit >= 0):
        raise ValueError(f"set_printoptions: threshold is a number of values, 0 or more, got {threshold!r}")
    if sci_mode not in (None, True, False):
        raise ValueError(f"set_printoptions: sci_mode is True, False or None, got {sci_mode!r}")
    changes: dict[str, Any] = {word: value for word, value in given.items() if value is not None}
    if threshold is not None:
        changes["threshold"] = threshold
    _options = replace(wanted, **changes, sci_mode=sci_mode)


# ------------------------------------------------------------------------------------------------ the whole


def tensor_repr(tensor: Any) -> str:
    """Return ``tensor([[1., 2.]], names=('N', 'C'), requires_grad=True)``."""
    array = tensor.payload
    suffix = _suffix(tensor)
    body = ""
    if isinstance(array, Abstract):
        found = array.numbers(tensor)
        if found is None or isinstance(found, Abstract):
            body, suffix = array.called, [f"size={tuple(map(hint, array.shape))}", *suffix]
        else:
            array, suffix = found, [*suffix, array.called]
    if hasattr(array, "quantizer"):
        suffix = [*array.quantizer(), *suffix]
    if isinstance(array, SparseArray):
        return _sparse_repr(array, suffix)
    if not body:
        if math.prod(array.shape) == 0:
            # Of no values nothing can be told: sizes and type are said unless they are the usual ones.
            size = [f"size={tuple(map(hint, array.shape))}"] if len(array.shape) != 1 else []
            body, suffix = "[]", [*size, *suffix]
        else:
            shown = shown_of(array)
            if shown is None:
                body = f"its values stay on {str(device_of(array))!r}"
                suffix = [f"size={tuple(map(hint, array.shape))}", *suffix]
            else:
                body = _text(shown, len(_BEGIN))
    return _with_suffixes(_BEGIN + body, suffix)


_BEGIN = "tensor("


def _with_suffixes(text: str, suffixes: Sequence[str], on_new_line: bool = False) -> str:
    """Put what is said behind the values into lines that are not too long."""
    long = len(text) - text.rfind("\n") + 1
    for i, suffix in enumerate(suffixes):
        if (on_new_line and i == 0) or long + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * len(_BEGIN) + suffix
            long = len(_BEGIN) + len(suffix)
        else:
            text += ", " + suffix
            long += len(suffix) + 2
    return text + ")"


def _sparse_repr(array: SparseArray, suffix: list[str]) -> str:
    """Return places, values and sizes, each as a tensor of its own prints."""
    by_rows = array.starts is not None
    parts: dict[str, Any] = {"indices": array.index}
    if by_rows:
        parts = {"crow_indices": array.starts, "col_indices": array.index[1]}
    lines = []
    for name, one in {**parts, "values": array.values}.items():
        head = f"{name}=tensor("
        size = f", size={one.shape}" if not one.size else ""
        body = "[]" if not one.size else _text(_cut(one), len(_BEGIN) + len(head))
        lines.append(f"{head}{body}{size})")
    text = (",\n" + " " * len(_BEGIN)).join(lines)
    # In PyTorch's order: the layout stands behind the type, and before what is said of gradients.
    kind = [one for one in suffix if one.startswith("dtype=")]
    rest = [one for one in suffix if one not in kind]
    facts = [f"size={array.shape}", f"nnz={array.count}", *kind, f"layout={array.layout}", *rest]
    return _with_suffixes(_BEGIN + text, facts, on_new_line=not by_rows)


def _cut(array: Array) -> Shown:
    shown = shown_of(array)
    assert shown is not None  # it is the CPU's
    return shown


def _suffix(tensor: Any) -> list[str]:
    parts = []
    if backend_of(tensor.payload) is not None:
        parts.append(f"device={str(device_of(tensor.payload))!r}")
    # The types that a literal would give are left out, as in PyTorch.
    literal = (float,) if hint(math.prod(tensor.payload.shape)) == 0 else (float, complex, int, bool)
    if tensor.dtype not in map(number_dtype, literal):
        parts.append(f"dtype=workbench.{tensor.dtype.name}")
    if tensor._names is not None:
        parts.append(f"names={tensor._names}")
    elif tensor._labels is not None:
        parts.append(f"dim_labels={tensor.dim_labels}")
    if tensor._grad_fn is not None:
        parts.append(f"grad_fn={tensor._grad_fn!r}")
    elif tensor._requires_grad:
        # With a `grad_fn` it says nothing new.
        parts.append("requires_grad=True")
    return parts


# ------------------------------------------------------------------------------------- which values are shown


@dataclass(frozen=True)
class Shown:
    """The values that are shown, with the place along each dim before which others were left out (None for none)."""

    values: Array
    cuts: tuple[int | None, ...]


def shown_of(array: Any) -> Shown | None:
    """Return what is shown of a payload, without reading more; None where its device does not give a part of it."""
    counts = _counts(array.shape)
    ends = backend_of(array) is None
    places = [_places(size, count, ends) for size, count in zip(array.shape, counts, strict=True)]
    cuts = tuple(
        None if count == size else (count + 1) // 2 if ends else count
        for size, count in zip(array.shape, counts, strict=True)
    )
    if hasattr(array, "quantizer"):
        return Shown(_dequantized(array, places), cuts)
    if not ends:
        read = backend_of(array)
        assert read is not None
        if any(cut is not None for cut in cuts) and hasattr(type(array), "__getitem__"):
            # Cut on the device: only what is shown is fetched.
            part = read.to_numpy(array[tuple(slice(0, count) for count in counts)])
            return Shown(np.asarray(part), cuts)
        if math.prod(array.shape) > MOST_FETCHED:
            return None
        array = read.to_numpy(array)
    return Shown(_pick(array, places), cuts)


def _counts(shape: Sequence[int]) -> list[int]:
    """Return how many entries of each dim are shown."""
    if math.prod(shape) <= _options.threshold:
        return list(shape)
    edge = _options.edgeitems
    counts = [min(size, 2 * edge) for size in shape]
    # The threshold may be infinite.
    most = max(MOST if len(shape) <= DEEP else MOST_DEEP, int(min(_options.threshold, 1 << 30)) - 1)
    if len(shape) > DEEP:
        most = MOST_DEEP
    # Dims are cut from the left, as far as needed: with many of them two entries each are still thousands.
    for fewer in (2, 1):
        for axis in range(len(shape)):
            if math.prod(counts) > most:
                counts[axis] = min(counts[axis], fewer)
    return [min(count, most) for count in counts]


def _places(size: int, count: int, ends: bool) -> Array:
    """Return which `count` entries of a dim are shown: those at both ends, or the first."""
    if count == size or not ends:
        return np.arange(count)
    before = (count + 1) // 2
    return np.concatenate([np.arange(before), np.arange(size - (count - before), size)])


def _pick(array: Array, places: Sequence[Array]) -> Array:
    """Return the values at all combinations of `places`, copied."""
    sizes = [len(one) for one in places]
    # Dims with one entry go first: NumPy takes few index arrays at once, and a view costs nothing.
    part = array[tuple(int(one[0]) if len(one) == 1 else slice(None) for one in places)]
    several = [one for one in places if len(one) != 1]
    return np.asarray(part[np.ix_(*several)] if several else part).reshape(sizes)


def _dequantized(array: Any, places: Sequence[Array]) -> Array:
    # Only what is shown becomes numbers.
    codes = _pick(array.codes, places).astype(np.float64)
    if array.axis is None:
        return np.asarray((codes - array.zero_point) * array.scale)
    if array.group is not None:
        where = np.ix_(*places[:-1], places[-1] // array.group)
        return np.asarray((codes - array.zero_point[where]) * array.scale[where])
    along = tuple(-1 if axis == array.axis else 1 for axis in range(codes.ndim))
    at = places[array.axis]
    scales, zeros = array.scale[at].reshape(along), array.zero_point[at].reshape(along)
    return np.asarray((codes - zeros) * scales)


# ------------------------------------------------------------------------------------------------ numbers


def _text(shown: Shown, indent: int) -> str:
    values = shown.values
    if values.dtype.kind == "c":
        real, imag = _format_of(values.real), _format_of(values.imag)
        width = real.width + imag.width + 1
        written = [_complex(real.text(one.real), imag.text(one.imag)) for one in values.ravel().tolist()]
    else:
        if values.dtype.kind == "V":  # its own scalars are no Python numbers
            values = values.astype(np.float32)
        form = _format_of(values)
        width = form.width
        written = list(map(form.text, values.ravel().tolist()))
    if not values.ndim:
        return written[0]
    texts = np.array(written, object).reshape(values.shape)
    across = (_options.linewidth - indent - values.ndim + 1) // (width + 2)
    return _rows(texts, shown.cuts, indent, max(1, across))


def _complex(real: str, imag: str) -> str:
    imag = imag.lstrip() + "j"
    # By the text: -0.0 and numbers that round to it have a sign.
    return real + imag if imag.startswith("-") else f"{real}+{imag}"


def _rows(texts: Array, cuts: Sequence[int | None], indent: int, across: int) -> str:
    """Return nested rows; `across` values stand in a line."""
    if texts.ndim == 1:
        items = [str(one) for one in texts]
    else:
        items = [_rows(one, cuts[1:], indent + 1, across) for one in texts]
    if cuts[0] is not None:
        items.insert(cuts[0], " ..." if texts.ndim == 1 else "...")
    begin = " " * (indent + 1)
    if texts.ndim > 1:
        return "[" + ("," + "\n" * (texts.ndim - 1) + begin).join(items) + "]"
    lines = [", ".join(items[at : at + across]) for at in range(0, len(items), across)]
    return "[" + (",\n" + begin).join(lines) + "]"


@dataclass(frozen=True)
class _Format:
    """How the values of one tensor are written: all with the same digits, to the right of as many places."""

    pattern: str
    width: int
    point: str = ""
    """What stands behind a whole number that is a float."""

    def text(self, value: Any) -> str:
        text = self.pattern.format(value)
        if self.point and math.isfinite(value):
            text += self.point
        return text.rjust(self.width)


def _format_of(values: Array) -> _Format:
    """Return how values are written: whole numbers, with digits behind the point, or with exponents where the values
    span too far for that. Zeros, infinities and NaN have no say.
    """
    if values.dtype.kind not in "fV":
        return _Format("{}", max(len(str(one)) for one in values.ravel().tolist()))
    wide = values.astype(np.float64).ravel()
    some = wide[np.isfinite(wide) & (wide != 0)]
    if not some.size:
        return _Format("{:.0f}", 1, ".")
    low, high = float(np.abs(some).min()), float(np.abs(some).max())
    whole = bool((some == np.ceil(some)).all())
    far = _options.sci_mode
    if far is None:
        # Else the small ones would print as zeros, or the large ones as rows of digits.
        far = high > 1e8 or low < 1e-4 or high > low * 1000
    pattern = f"{{:.{_options.precision}e}}" if far else "{:.0f}" if whole else f"{{:.{_options.precision}f}}"
    point = "." if whole and not far else ""
    return _Format(pattern, max(len(pattern.format(one)) for one in some.tolist()) + len(point), point)

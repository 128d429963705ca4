"""A border around a tensor: a constant, or values of the tensor itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.base.dims import Dims, unnamed
from workbench.base.errors import DimensionError
from workbench.base.sizes import check_memory
from workbench.base.symbolic_size import whole
from workbench.core.families import grid
from workbench.core.op import Op, Sample, ops
from workbench.core.quantization import COMPUTED
from workbench.core.quantized_rules import computed
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.offer import offered
from workbench.ops.shape import batching
from workbench.ops.shape.creation import made, record
from workbench.ops.shape.movement import move


def _pad_dims(x: Dims, padding: tuple[tuple[int, int], ...], value: float) -> Dims:
    sizes = tuple(size + before + after for size, (before, after) in zip(x.sizes, padding, strict=True))
    if any(size < 0 for size in sizes):
        raise DimensionError(
            f"The input size {list(x.sizes)}, plus negative padding {list(padding)}, resulted in a negative output "
            "size, which is invalid.",
            op="pad",
            operands=(x.operand("input", [i for i, size in enumerate(sizes) if size < 0]),),
        )
    return Dims(x.names, sizes)


def _pad(x: Any, padding: tuple[tuple[int, int], ...], value: float) -> Any:
    cut = tuple(
        # Negative widths cut first: NumPy's pad knows none.
        slice(max(-before, 0), x.shape[i] - max(-after, 0))
        for i, (before, after) in enumerate(padding)
    )
    grow = tuple((max(before, 0), max(after, 0)) for before, after in padding)
    # Lying as the input does, so that images with their channels last stay such.
    out: Any = np.full_like(
        x, value, shape=[size + sum(width) for size, width in zip(x[cut].shape, grow, strict=True)]
    )
    out[tuple(slice(before, size - after) for size, (before, after) in zip(out.shape, grow, strict=True))] = (
        x[cut]
    )
    return out


def _pad_codes(op: Op, q: Any, padding: tuple[tuple[int, int], ...], value: float) -> Any:
    if not q.per_tensor:
        return computed(op, q, padding=padding, value=value)
    (code,) = q.rounded(np.full(1, value, np.float32)).codes
    return q.with_codes(_pad(q.codes, padding, code))


PAD = move(
    "pad",
    "A constant border around; negative widths cut.",
    "y = x inside, value in the border",
    dims=_pad_dims,
    rule="names pass through, sizes grow by the border",
    forward=_pad,
    # The transpose cuts where the op added and adds zeros where it cut, whatever `value` is.
    vjp=lambda c, g: (ops.pad(g, padding=tuple((-a, -b) for a, b in c.params["padding"]), value=0.0),),
    samples=lambda: [
        Sample((grid(2, 3),), {"padding": ((0, 0), (1, 2)), "value": 0.5}, names=(("N", "C"),)),
        Sample((grid(2, 3),), {"padding": ((1, 0), (-1, 2)), "value": 0.0}),
    ],
    properties=frozenset({"moves"}),
    batch=batching.pad,
    quantized=replace(COMPUTED, codes=_pad_codes),
)

# ---------------------------------------------------------------------------------- the words people use


def _pairs(input: Any, pad: Sequence[int], op: str) -> tuple[tuple[int, int], ...]:
    """Return (before, after) for each dim from a list that starts with the last dim."""
    dims = dims_of(input)
    if len(pad) % 2 or len(pad) > 2 * len(dims.sizes):
        raise DimensionError(
            "Padding length should be even and at most twice the number of dims: got "
            f"{len(pad)} for {len(dims.sizes)} dims.",
            op=op,
            operands=(dims.operand(),),
        )
    pairs = [(whole(pad[i]), whole(pad[i + 1])) for i in range(0, len(pad), 2)]
    padding = ((0, 0),) * (len(dims.sizes) - len(pairs)) + tuple(reversed(pairs))
    # Negative sizes are refused by the op's own rule.
    check_memory(op, [max(size + sum(pair), 0) for size, pair in zip(dims.sizes, padding, strict=True)])
    return padding


def _reflected(size: int, before: int, after: int) -> Any:
    places = np.abs(np.arange(-before, size + after))
    # Once at each end: wider borders are refused beforehand.
    return np.where(places >= size, 2 * (size - 1) - places, places)


def _replicated(size: int, before: int, after: int) -> Any:
    return np.clip(np.arange(-before, size + after), 0, size - 1)


def _wrapped(size: int, before: int, after: int) -> Any:
    # What is cut goes first, and only what is left is wrapped.
    inside = np.arange(max(-before, 0), size - max(-after, 0))
    places = np.arange(-max(before, 0), len(inside) + max(after, 0))
    return inside[places % max(len(inside), 1)] if len(inside) else inside


_PLACES = {"reflect": _reflected, "replicate": _replicated, "circular": _wrapped}
"""By mode: the places of the input that stand in a padded dim, one after another."""

PLACES = record(
    "pad_places",
    "Which entries of a dim stand in it, one after another, once it is padded with its own.",
    "y[i] = the entry of the dim that is seen at i - before",
    lambda mode, size, before, after, dtype: unnamed((size + before + after,)),
    lambda mode, size, before, after, dtype: _PLACES[mode](size, before, after).astype(dtype, copy=False),
    *(
        {"mode": mode, "size": 4, "before": 2, "after": 1, "dtype": np.dtype(np.int64)}
        for mode in ("reflect", "replicate", "circular")
    ),
)


@offered("workbench", "nn.functional")
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Pad: `pad` lists (before, after) from the last dim backwards; negative widths cut. Names pass through.

    `mode` is ``constant`` (with `value`, 0 by default), ``reflect``, ``replicate`` or ``circular``; the last three pad
    the last one, two or three dims of a tensor that has one or two dims more.

    Raises `DimensionError` where the border is wider than what is reflected or wrapped into it.

    >>> import workbench as wb
    >>> wb.pad(wb.tensor([[1, 2, 3]]), (1, 2), mode="reflect").tolist()
    [[2, 1, 2, 3, 2, 1]]
    """
    padding = _pairs(input, pad, "pad")
    if mode == "constant":
        return ops.pad(input, padding=padding, value=0.0 if value is None else value)
    if mode not in _PLACES:
        raise ValueError(f"Unrecognised padding mode {mode}: there are constant, {', '.join(_PLACES)}")
    if value is not None and value != 0:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    dims = dims_of(input)
    if not 1 <= len(pad) // 2 <= 3 or len(dims.sizes) - len(pad) // 2 not in (1, 2):
        raise DimensionError(
            f"Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: {mode} pads the last k of "
            f"k+1 or k+2 dims, k = 1, 2 or 3; got {len(pad)} widths for {len(dims.sizes)} dims",
            op="pad",
            operands=(dims.operand(),),
        )
    result = input
    for dim, (before, after) in enumerate(padding):
        if before or after:
            _check_border(dims, dim, before, after, mode)
            size = dims.sizes[dim]
            way = {"mode": mode, "size": size, "before": before, "after": after, "dtype": np.dtype(np.int64)}
            # A choice of entries: its gradient adds what comes from each copy. An op, as in a graph the size may be
            # another.
            result = ops.pick(result, made(PLACES, size, before, after, **way), dims=(dim,))
    # As with a constant: who writes into the result does not write into the input.
    return ops.clone(input) if result is input else result


def _check_border(dims: Dims, dim: int, before: int, after: int, mode: str) -> None:
    size = dims.sizes[dim]
    widest = max(before, after)
    # PyTorch lets only "circular" leave a dim without entries.
    if size + before + after < 0 or (mode != "circular" and (not size or size + before + after < 1)):
        why = f"a dim of size {size} with borders {before} and {after} leaves nothing"
    elif mode == "reflect" and widest >= size:
        why = f"Padding size should be less than the corresponding input dimension: got {widest} for size {size}"
    elif mode == "circular" and widest > size:
        why = "Padding value causes wrapping around more than once"
    else:
        return
    raise DimensionError(
        f"{why} (dim {dim}, mode {mode}).", op="pad", operands=(dims.operand("input", [dim]),)
    )


@offered("workbench")
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """Pad with a constant: `pad` with its default mode, by another name."""
    return ops.pad(input, padding=_pairs(input, pad, "constant_pad_nd"), value=value)

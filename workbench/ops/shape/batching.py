"""Batching rules of ops that show values under other dims: the batch dim stays in front."""

from __future__ import annotations

from typing import Any

from workbench.core.batching import Batch, shifted
from workbench.core.op import ops


def same_value(b: Batch) -> Any:
    """For ops that change what is known of a value and not the value."""
    return b.inputs[0]


def resized(b: Batch) -> Any:
    """For ops whose result has the values of the input in their order."""
    return b.sized(b.inputs[0])


def reshape(b: Batch) -> Any:
    """Sizes behind the batch dim; a size to be found out is known from the rule."""
    sizes = b.params["sizes"]
    # With an empty batch, -1 could be any size.
    return b.sized(b.inputs[0]) if -1 in sizes else ops.reshape(b.inputs[0], sizes=(b.size, *sizes))


def permute(b: Batch) -> Any:
    """Positions behind the batch dim."""
    return ops.permute(b.inputs[0], dim=(0, *shifted(b.params["dim"])))


def unsqueeze(b: Batch) -> Any:
    """The new dim stands one further right."""
    # Inside a batch values have no names: `Batch` works those of the result out. The same below.
    return ops.unsqueeze(b.inputs[0], dim=b.params["dim"] + 1, name=None)


def expand(b: Batch) -> Any:
    """A new dim in front stands between the batch dim and those that there are."""
    shape, sizes = b.shape(0), b.params["sizes"]
    aligned = (b.size, *(1,) * (len(sizes) - len(shape)), *shape)
    value = b.inputs[0]
    # A reshape that changes nothing would be one more node on the tape.
    if value.payload.shape != aligned:
        value = ops.reshape(value, sizes=aligned)
    return ops.expand(value, sizes=(b.size, *sizes))


def sum_to(b: Batch) -> Any:
    """Sum what an entry was stretched along."""
    shape, sizes = b.shape(0), b.out.sizes
    extra = len(shape) - len(sizes)
    axes = [*range(extra), *(i + extra for i, size in enumerate(sizes) if size == 1 != shape[i + extra])]
    value = b.inputs[0]
    return b.sized(ops.sum(value, dim=shifted(tuple(axes)), keepdim=False) if axes else value)


def pad(b: Batch) -> Any:
    """The batch dim has no border."""
    return ops.pad(b.inputs[0], padding=((0, 0), *b.params["padding"]), value=b.params["value"])


def pair_of_dims(b: Batch) -> Any:
    """For ops with two dims ``dim1`` and ``dim2``."""
    params = {**b.params, "dim1": b.params["dim1"] + 1, "dim2": b.params["dim2"] + 1}
    if "name" in params:
        params["name"] = None
    if "sizes" in params:
        params["sizes"] = (b.size, *params["sizes"])
    return b.run(b.inputs[0], **params)


def diagonal_scatter(b: Batch) -> Any:
    """The value has as many dims as the diagonal, or fewer."""
    rank, shape = len(b.shape(0)) - 1, b.shape(1)
    value = ops.reshape(b.whole(1), sizes=(b.size, *(1,) * (rank - len(shape)), *shape))
    params = {**b.params, "dim1": b.params["dim1"] + 1, "dim2": b.params["dim2"] + 1}
    return b.run(b.whole(0), value, **params)


def stack(b: Batch) -> Any:
    """Each input gets a batch dim, the new dim stands one further right."""
    return b.run(*[b.whole(i) for i in range(len(b.inputs))], dim=b.params["dim"] + 1, name=None)


def roll(b: Batch) -> Any:
    """Positions behind the batch dim."""
    return b.run(b.inputs[0], shifts=b.params["shifts"], dim=shifted(b.params["dim"]))


def repeat(b: Batch) -> Any:
    """New dims in front stand between the batch dim and those that there are."""
    shape, counts = b.shape(0), b.params["counts"]
    aligned = (b.size, *(1,) * (len(counts) - len(shape)), *shape)
    return b.run(ops.reshape(b.inputs[0], sizes=aligned), counts=(1, *counts))


def windows(b: Batch) -> Any:
    """The batch dim is one more that is kept."""
    sizes = (b.size, *b.params["sizes"])
    return b.run(b.inputs[0], **{**b.params, "sizes": sizes, "dim": b.params["dim"] + 1})

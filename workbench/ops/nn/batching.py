"""Batching rules of layers on [N, C, …]: entries become more samples where samples do not meet, else more channels."""

from __future__ import annotations

from typing import Any

from workbench.core.batching import Batch, folded, shifted
from workbench.core.op import ops


def _samples(value: Any) -> Any:
    """Lay a hidden value [B, N, …] out as more samples [B·N, …]."""
    return folded(value, 2)


def _channels(value: Any) -> Any:
    """Lay a hidden value [B, N, C, …] out as more channels [N, B·C, …]."""
    ndim = len(value.payload.shape)
    swapped = ops.permute(value, dim=(1, 0, *range(2, ndim)))
    n, b, c, *rest = swapped.payload.shape
    return ops.reshape(swapped, sizes=(n, b * c, *rest))


def _unchanneled(b: Batch, value: Any) -> Any:
    """Undo `_channels`."""
    n, wide, *rest = value.payload.shape
    split = ops.reshape(value, sizes=(n, b.size, wide // b.size, *rest))
    return ops.permute(split, dim=(1, 0, *range(2, len(rest) + 3)))


def as_samples(b: Batch) -> Any:
    """For an op on inputs [N, …] whose samples do not meet: N of each entry, one after another."""
    results = b.run(*[_samples(b.whole(i)) for i in range(len(b.inputs))], **b.params)
    if b.op.outputs == 1:
        return b.sized(results)
    return tuple(
        ops.reshape(one, sizes=(b.size, *dims.sizes)) for one, dims in zip(results, b.out, strict=True)
    )


def as_samples_into(b: Batch) -> Any:
    """As `as_samples`, for gradients of such ops, which are told the shape of the input."""
    n, *rest = b.params["input_shape"]
    values = [_samples(b.whole(i)) for i in range(len(b.inputs))]
    return b.sized(b.run(*values, **{**b.params, "input_shape": (b.size * n, *rest)}))


def convolution(b: Batch) -> Any:
    """Entries with one weight are more samples; with a weight each they are groups of channels."""
    # A bias of its own for each entry is added afterwards: the op takes one for all samples.
    if any(b.batched[2:]):
        bias = b.inputs[2]
        rank = len(b.shape(0))
        without = Batch(b.op, b.entries[:2], b.inputs[:2], b.batched[:2], b.params, b.size)
        column = ops.reshape(bias, sizes=(b.size, 1, *b.shape(2), *(1,) * (rank - 2)))
        return ops.add(
            convolution(without) if any(b.batched[:2]) else b.run(*b.inputs[:2], **b.params), column
        )
    if not b.batched[1]:
        return b.sized(b.run(_samples(b.inputs[0]), *b.inputs[1:], **b.params))
    groups = {**b.params, "groups": b.params["groups"] * b.size}
    out = _unchanneled(b, b.run(_channels(b.whole(0)), folded(b.inputs[1], 2), **groups))
    if len(b.inputs) > 2:
        bias = b.inputs[2]
        out = ops.add(out, ops.reshape(bias, sizes=(*b.shape(2), *(1,) * (len(b.shape(0)) - 2))))
    return out


def convolution_input_gradient(b: Batch) -> Any:
    """As `convolution`."""
    n, c, *rest = b.params["input_shape"]
    if not b.batched[1]:
        params = {**b.params, "input_shape": (b.size * n, c, *rest)}
        return b.sized(b.run(_samples(b.inputs[0]), b.inputs[1], **params))
    params = {**b.params, "input_shape": (n, b.size * c, *rest), "groups": b.params["groups"] * b.size}
    return _unchanneled(b, b.run(_channels(b.whole(0)), folded(b.inputs[1], 2), **params))


def convolution_weight_gradient(b: Batch) -> Any:
    """Entries are groups of channels: each has a gradient of its own."""
    o, *rest = b.params["weight_shape"]
    params = {**b.params, "weight_shape": (b.size * o, *rest), "groups": b.params["groups"] * b.size}
    return b.sized(b.run(_channels(b.whole(0)), _channels(b.whole(1)), **params))


def as_channels(b: Batch) -> Any:
    """Entries become channels, and groups: each is normalised for itself."""
    values = [
        _channels(b.whole(i)) if len(b.shape(i)) > 1 else folded(b.whole(i), 2) for i in range(len(b.inputs))
    ]
    params = {**b.params}
    if "groups" in params:
        params["groups"] *= b.size
    results = b.run(*values, **params)
    several = results if isinstance(results, tuple) else (results,)
    found = tuple(
        [
            _unchanneled(b, one) if len(one.payload.shape) > 1 else ops.reshape(one, sizes=(b.size, -1))
            for one in several
        ]
    )
    return found if isinstance(results, tuple) else found[0]


def last_dims(b: Batch) -> Any:
    """For a normalisation of the last dims: those before them are free."""
    # Factors of their own for each entry are applied afterwards: the op takes one for all samples.
    if any(b.batched[1:]):
        plain = b.run(b.inputs[0] if b.batched[0] else b.whole(0), **b.params)
        y = plain[0]
        for i, combine in zip(range(1, len(b.inputs)), (ops.mul, ops.add), strict=False):
            y = combine(y, _before_last(b, i))
        return (y, *plain[1:])
    return b.run(*b.inputs, **b.params)


def _before_last(b: Batch, i: int) -> Any:
    """Lay a factor of the last dims out against the dims of the input."""
    shape = b.shape(i)
    if not b.batched[i]:
        return b.inputs[i]
    return ops.reshape(b.inputs[i], sizes=(b.size, *(1,) * (len(b.shape(0)) - len(shape)), *shape))


def last_dims_gradient(b: Batch) -> Any:
    """Gradients of a normalisation of the last dims: what is summed over the dims before them is so for each entry."""
    count = b.params["count"]
    centred = len(b.out) == 3
    statistics = 2 if centred else 1
    g, x = b.whole(0), b.whole(1)
    *means, rstd = [b.whole(2 + i) for i in range(statistics)]
    normal = ops.mul(ops.sub(x, means[0]) if centred else x, rstd)
    axes = tuple(range(1, 1 + len(b.shape(1)) - count))

    def summed(value: Any) -> Any:
        return ops.sum(value, dim=axes, keepdim=False) if axes else value

    weighted = ops.mul(g, _before_last(b, 2 + statistics)) if len(b.inputs) > 2 + statistics else g
    gx = b.run(weighted, x, *means, rstd, **b.params)[0]
    found = (gx, summed(ops.mul(g, normal)))
    return (*found, summed(g)) if centred else found


def along_both(b: Batch) -> Any:
    """For an op along one dim of two values of one shape."""
    values = [b.whole(0), b.whole(1)]
    params = {**b.params, "dim": shifted(b.params["dim"])}
    if b.shape(1):
        return b.run(*values, **params)
    # An entry without dims takes dim 0 as if it had one.
    return b.sized(b.run(*[ops.reshape(one, sizes=(b.size, 1)) for one in values], **params))

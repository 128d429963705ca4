"""Ops that take values by their places, and put them there."""

from __future__ import annotations

from typing import Any

from workbench.base.dtypes import bool_, int32, int64
from workbench.onnx.errors import OnnxError
from workbench.onnx.writing.families.shapes import looked_up
from workbench.onnx.writing.table import written

__all__: list[str] = []


@written("embedding")
def _embedding(call: Any) -> Any:
    return call("Gather", call.raw(1), _places(call, 0), axis=0)


def _places(call: Any, i: int) -> Any:
    kind = call.kind(i)
    return call.x(i, kind if kind in (int32, int64) else int64)


@written("pick")
def _pick(call: Any) -> Any:
    dims, rank = call.params["dims"], call.rank(0)
    if len(dims) == 1:
        return call("Gather", call.raw(0), _places(call, 1), axis=dims[0])
    width = max(call.rank(i) for i in range(1, len(dims) + 1))
    rest = [i for i in range(rank) if i not in dims]
    indices = _together(call, len(dims), width)
    x = call.transpose(call.raw(0), [*dims, *rest])
    found = call("GatherND", x, indices)
    # Where the dims stand side by side what is picked stands in their place, else in front.
    beside = list(dims) == list(range(dims[0], dims[0] + len(dims)))
    at = sum(1 for one in rest if one < dims[0]) if beside else 0
    order = [*range(width, width + at), *range(width), *range(width + at, width + len(rest))]
    return call.transpose(found, order)


def _together(call: Any, count: int, width: int, first: int = 1) -> Any:
    """Return the indices of several dims as one tensor, one beside the other in its last dim."""
    names = [call.x(first + i, int64) for i in range(count)]
    shapes = [call.sizes(first + i) for i in range(count)]
    if len(set(shapes)) > 1:
        total = names[0]
        for one in names[1:]:
            total = call("Add", total, one)
        shape = call("Shape", total)
        names = [call("Expand", one, shape) for one in names]
    rows = [call.axes("Unsqueeze", one, [width]) for one in names]
    return call("Concat", *rows, axis=width)


@written("gather")
def _gather(call: Any) -> Any:
    if call.rank(0) == 0:
        return call("Identity", call.raw(0))
    if call.rank(0) != call.rank(1):
        raise OnnxError("values and places have as many dims in the format")
    axis = call.params["dim"]
    x, index = call.sizes(0), call.sizes(1)
    name = call.raw(0)
    for i, (own, other) in enumerate(zip(x, index, strict=True)):
        # The format wants the same sizes beside the axis: what is not looked at is cut off.
        if i != axis and own != other:
            name = call("Slice", name, call.row([0]), call.row([other]), call.row([i]))
    return call("GatherElements", name, _places(call, 1), axis=axis)


@written("scatter", "scatter_add_to")
def _scatter(call: Any) -> Any:
    kind, axis = call.kind(0), call.params["dim"]
    if call.rank(0) == 0:
        raise OnnxError("a number without dims has no places")
    index, value = call.sizes(2), call.sizes(1) if call.rank(1) else ()
    updates = call.x(1, kind)
    if call.rank(1) == 0:
        updates = call("Expand", updates, call.row(index))
    else:
        for i, (own, other) in enumerate(zip(value, index, strict=True)):
            if own != other:
                updates = call("Slice", updates, call.row([0]), call.row([other]), call.row([i]))
    if call.op.name == "scatter":
        return call("ScatterElements", call.raw(0), _places(call, 2), updates, axis=axis)
    return _added(call, call.raw(0), _places(call, 2), updates, axis, "add")


def _added(call: Any, x: str, places: str, updates: str, axis: int, how: str) -> Any:
    if not call.has(18 if how in ("max", "min") else 16):
        raise OnnxError(
            "values that meet are combined from version 16 of the operators on, the greatest from 18 on"
        )
    return call("ScatterElements", x, places, updates, axis=axis, reduction=how)


@written("scatter_add")
def _scatter_add(call: Any) -> Any:
    zeros = call("Expand", call.number(0, call.kind(0)), call.row(call.params["sizes"]))
    x, own, index = call.raw(0), call.sizes(0), call.sizes(1)
    for i, (size, other) in enumerate(zip(own, index, strict=True)):
        if size != other:
            x = call("Slice", x, call.row([0]), call.row([other]), call.row([i]))
    return _added(call, zeros, _places(call, 1), x, call.params["dim"], "add")


@written("scatter_reduce")
def _scatter_reduce(call: Any) -> Any:
    params = call.params
    how = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}.get(params["reduce"])
    if how is None or not params["include_self"]:
        raise OnnxError("the operator combines with what is there, by sum, product, greatest or least")
    updates, own, index = call.x(1, call.kind(0)), call.sizes(1), call.sizes(2)
    for i, (size, other) in enumerate(zip(own, index, strict=True)):
        if size != other:
            updates = call("Slice", updates, call.row([0]), call.row([other]), call.row([i]))
    return _added(call, call.raw(0), _places(call, 2), updates, params["dim"], how)


@written("index_put", "pick_add")
def _index_put(call: Any) -> Any:
    params, add = call.params, call.op.name == "pick_add"
    dims, first = params["dims"], 1 if add else 2
    sizes = params["sizes"] if add else call.sizes(0)
    rank, kind = len(sizes), call.kind(0)
    if list(dims) != list(range(len(dims))):
        raise OnnxError("values are put by places along the first dims alone")
    width = max(call.rank(first + i) for i in range(len(dims)))
    indices = _together(call, len(dims), width, first)
    shape = [*_wide(call, first, len(dims)), *sizes[len(dims) : rank]]
    if add:
        if not call.has(16):
            raise OnnxError("values that meet are added from version 16 of the operators on")
        zeros = call("Expand", call.number(0, kind), call.row(sizes))
        return call("ScatterND", zeros, indices, call.raw(0), reduction="add")
    value = call("Expand", call.x(1, kind), call.row(shape))
    return call("ScatterND", call.raw(0), indices, value)


def _wide(call: Any, first: int, count: int) -> list[Any]:
    """Return the sizes that indices have together."""
    width = max(call.rank(first + i) for i in range(count))
    found: list[Any] = [1] * width
    for i in range(count):
        sizes = call.sizes(first + i)
        for j, one in enumerate(reversed(sizes)):
            if type(one) is not int or one != 1:
                found[width - 1 - j] = one
    return found


@written("index_set")
def _index_set(call: Any) -> Any:
    """Put values where slices of each dim lead: by the places that they have."""
    sizes, key = call.sizes(0), list(call.params["key"])
    if any(type(one) is not int for one in sizes) or any(one is None or one is Ellipsis for one in key):
        return _set_by_counting(call, sizes, key)
    rows: list[list[int]] = []
    for axis, size in enumerate(sizes):
        one = key[axis] if axis < len(key) else slice(None)
        if isinstance(one, slice):
            rows.append(list(range(*one.indices(size))))
        else:
            rows.append([one % size])
    places: list[list[int]] = [[]]
    for row in rows:
        places = [[*before, at] for before in places for at in row]
    if len(places) > 1 << 20:
        raise OnnxError(f"it puts {len(places)} values, each by its place: that is more than is written")
    shape = [len(row) for axis, row in enumerate(rows) if axis >= len(key) or isinstance(key[axis], slice)]
    value = call.reshape(call("Expand", call.x(1, call.kind(0)), call.row(shape)), [len(places)])
    return call("ScatterND", call.raw(0), call.constant(places), value)


def _set_by_counting(call: Any, sizes: tuple[Any, ...], key: list[Any]) -> Any:
    """Put values where a key leads, of sizes that only a run knows: what the key finds of the numbers of all places."""
    x = call.raw(0)
    shape = call("Shape", x)
    flat = call.reshape(x, [-1])
    count = call("Squeeze", call("Shape", flat))
    numbers = call("Range", call.constant(0), count, call.constant(1))
    places = looked_up(call, call("Reshape", numbers, shape), sizes, key)
    values = call("Expand", call.x(1, call.kind(0)), call("Shape", places))
    put = call("ScatterElements", flat, call.reshape(places, [-1]), call.reshape(values, [-1]), axis=0)
    return call("Reshape", put, shape)


@written("isin")
def _isin(call: Any) -> Any:
    kind = call.kind(0)
    x = call.axes("Unsqueeze", call.x(0, kind), [call.rank(0)])
    same = call("Equal", x, call.reshape(call.x(1, kind), [-1]))
    found = call.axes("ReduceMax", call.cast(same, bool_, int32), [call.rank(0)], 18, keepdims=0)
    found = call.cast(found, int32, bool_)
    return call("Not", found) if call.params["invert"] else found


@written("searchsorted")
def _searchsorted(call: Any) -> Any:
    if call.rank(0) != 1:
        raise OnnxError("several sequences at once have no form")
    kind = call.kind(0)
    values = call.axes("Unsqueeze", call.x(1, kind), [call.rank(1)])
    below = call("LessOrEqual" if call.params["right"] else "Less", call.x(0, kind), values)
    found = call.axes("ReduceSum", call.cast(below, bool_, int64), [call.rank(1)], 13, keepdims=0)
    return call.cast(found, int64, call.out)


@written("embedding_gradient")
def _embedding_gradient(call: Any) -> Any:
    """Rows that are added up by their places: what bags of embeddings are made with."""
    if not call.has(16):
        raise OnnxError("values that meet are added up from version 16 of the operators on")
    kind, width = call.kind(1), call.sizes(1)[-1]
    zeros = call("Expand", call.number(0, kind), call.row([call.params["count"], width]))
    places = call("Reshape", _places(call, 0), call.row([-1, 1]))
    rows = call("Reshape", call.x(1, kind), call.row([-1, width]))
    return call("ScatterND", zeros, places, rows, reduction="add")

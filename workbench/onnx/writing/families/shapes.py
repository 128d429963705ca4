"""Ops that put values into other shapes and orders."""

from __future__ import annotations

from typing import Any

from workbench.base.dtypes import bool_, int32, int64
from workbench.base.size_expressions import Expression, Symbolic
from workbench.onnx.errors import OnnxError
from workbench.onnx.writing.around import on_codes
from workbench.onnx.writing.borders import is_border
from workbench.onnx.writing.table import written

__all__: list[str] = []

_END = 1 << 62


@written("reshape")
def _reshape(call: Any) -> Any:
    return call.reshape(call.raw(0), call.params["sizes"])


@written("flatten", "unflatten")
def _flatten(call: Any) -> Any:
    own, sizes = call.sizes(0), call.out_sizes()
    if (
        call.op.name == "flatten"
        and call.params["start"] == 1
        and call.params["end"] == len(own) - 1
        and len(own) > 1
    ):
        return call("Flatten", call.raw(0), axis=1)
    return call.reshape(call.raw(0), *_with_open(own, sizes))


def _with_open(own: tuple[Any, ...], sizes: tuple[Any, ...]) -> tuple[list[Any], bool]:
    """Return sizes to reshape to, and whether 0 is the size that is there: as little as can be is worked out."""
    unknown = [i for i, one in enumerate(sizes) if isinstance(one, Symbolic)]
    if any(type(one) is int and one == 0 for one in (*sizes, *own)):
        return list(sizes), False
    if len(unknown) == 1:
        return [-1 if i == unknown[0] else one for i, one in enumerate(sizes)], False
    kept = {i for i in unknown if i < len(own) and own[i] == sizes[i]}
    left = [i for i in unknown if i not in kept]
    if len(left) > 1:
        return list(sizes), False
    return [0 if i in kept else -1 if i in left else one for i, one in enumerate(sizes)], bool(kept)


@written("squeeze")
def _squeeze(call: Any) -> Any:
    axes = call.params["dim"]
    return call.axes("Squeeze", call.raw(0), axes) if axes else call("Identity", call.raw(0))


@written("unsqueeze")
def _unsqueeze(call: Any) -> Any:
    return call.axes("Unsqueeze", call.raw(0), [call.params["dim"]])


@written("permute")
def _permute(call: Any) -> Any:
    return call.transpose(call.raw(0), call.params["dim"])


@written("expand")
def _expand(call: Any) -> Any:
    # A dim that is kept is -1 here, and 1 there.
    sizes = [1 if type(one) is int and one == -1 else one for one in call.params["sizes"]]
    return call("Expand", call.raw(0), call.row(sizes))


@written("repeat")
def _repeat(call: Any) -> Any:
    x, counts = call.raw(0), call.params["counts"]
    extra = len(counts) - call.rank(0)
    if extra:
        x = call.axes("Unsqueeze", x, range(extra))
    return call("Tile", x, call.row(counts))


@written("flip")
def _flip(call: Any) -> Any:
    axes = list(call.params["dim"])
    if not axes:
        return call("Identity", call.raw(0))
    return _part(call, call.raw(0), [-1] * len(axes), [-_END] * len(axes), axes, [-1] * len(axes))


def _part(call: Any, x: str, starts: Any, ends: Any, axes: Any, steps: Any = None) -> Any:
    row = call.row
    return call("Slice", x, row(starts), row(ends), row(axes), None if steps is None else row(steps))


@written("roll")
def _roll(call: Any) -> Any:
    x, sizes = call.raw(0), call.sizes(0)
    for shift, axis in zip(call.params["shifts"], call.params["dim"], strict=True):
        size = sizes[axis]
        if type(size) is int and type(shift) is int:
            cut = -(shift % size) if size else 0
            if cut:
                # What is beyond the end comes in at the front.
                x = str(
                    call(
                        "Concat",
                        _part(call, x, [cut], [_END], [axis]),
                        _part(call, x, [0], [cut], [axis]),
                        axis=axis,
                    )
                )
            continue
        number = call.number
        places = call("Range", number(0, int64), number(size, int64), number(1, int64))
        # Of nothing there are no places, and runtimes refuse to divide by it all the same.
        count = call("Max", number(size, int64), number(1, int64))
        places = call("Mod", call("Sub", places, number(shift, int64)), count)
        x = str(call("Gather", x, places, axis=axis))
    return x


@written("cat")
def _cat(call: Any) -> Any:
    count = len(call.inputs)
    axis, rank = call.params["dim"], len(call.out_sizes())
    # Of another rank is only an empty row, which adds nothing.
    names = [call.x(i) for i in range(count) if call.rank(i) == rank]
    return call("Concat", *names, axis=axis)


@written("stack")
def _stack(call: Any) -> Any:
    axis = call.params["dim"]
    rows = [call.axes("Unsqueeze", call.x(i), [axis]) for i in range(len(call.inputs))]
    return call("Concat", *rows, axis=axis)


@written("index")
def _index(call: Any) -> Any:
    return looked_up(call, call.raw(0), call.sizes(0), list(call.params["key"]))


def looked_up(call: Any, x: str, sizes: tuple[Any, ...], key: list[Any]) -> str:
    """Write what a key finds: slices first, then single places, then new dims, each by one operator for all dims."""
    if Ellipsis in key:
        at = key.index(Ellipsis)
        used = sum(1 for one in key if one is not None and one is not Ellipsis)
        key[at : at + 1] = [slice(None)] * (len(sizes) - used)
    starts, ends, axes, steps = [], [], [], []
    gone, new, place, axis = [], [], 0, 0
    for one in key:
        if one is None:
            new.append(place)
            place += 1
            continue
        if isinstance(one, slice):
            place += 1
            if one != slice(None):
                starts.append(0 if one.start is None else one.start)
                ends.append(_END if one.stop is None else one.stop)
                steps.append(1 if one.step is None else one.step)
                axes.append(axis)
        elif type(one) is int or isinstance(one, Expression):
            starts.append(one)
            # The last place ends where there is no number for it.
            ends.append(_END if type(one) is int and one == -1 else one + 1)
            steps.append(1)
            axes.append(axis)
            gone.append(axis)
        else:
            raise OnnxError(f"the key {one!r} is none that is written")
        axis += 1
    if len(axes) == 1 and gone == axes:
        x = str(call("Gather", x, call.number(starts[0], int64), axis=axes[0]))
    elif axes:
        x = _part(
            call,
            x,
            starts,
            ends,
            axes,
            steps if any(type(one) is not int or one != 1 for one in steps) else None,
        )
        x = call.axes("Squeeze", x, gone) if gone else x
    if new:
        x = call.axes("Unsqueeze", x, new)
    return x


@written("diagonal")
def _diagonal(call: Any) -> Any:
    """Pick the places of a flattened pair of dims."""
    params, sizes = call.params, call.sizes(0)
    first, second, offset = params["dim1"], params["dim2"], params["offset"]
    rows, columns = sizes[first], sizes[second]
    if not (type(rows) is int and type(columns) is int):
        raise OnnxError("the sizes of the two dims are not known, and the places are written as numbers")
    rest = [i for i in range(len(sizes)) if i not in (first, second)]
    x = call.transpose(call.raw(0), [*rest, first, second])
    x = call.reshape(x, [*(sizes[i] for i in rest), rows * columns])
    count = call.out_sizes()[-1]
    start = offset if offset >= 0 else -offset * columns
    places = [start + i * (columns + 1) for i in range(count)]
    return call("Gather", x, call.constant(places), axis=len(rest))


@written("tril", "triu")
def _triangle(call: Any) -> Any:
    if not call.has(14):
        raise OnnxError("the operator Trilu came with version 14")
    diagonal = call.number(call.params["diagonal"], int64)
    kind = call.kind(0)
    wide = int32 if kind == bool_ else kind
    return call.cast(call("Trilu", call.x(0, wide), diagonal, upper=int(call.op.name == "triu")), wide, kind)


@written("pad", codes=True)
def _pad(call: Any) -> Any:
    if is_border(call.shared, call.node):
        call.stands_for(call.codes(0))
        return call.raw(0)
    return on_codes(call, _padded) if call.has_codes() else _padded(call)


def _padded(call: Any) -> Any:
    kind = call.kind(0)
    wide = int32 if kind == bool_ else kind
    x, widths = call.x(0, wide), call.params["padding"]
    if not widths:
        return call("Identity", call.raw(0))
    row = call.row([one[0] for one in widths] + [one[1] for one in widths])
    return call.cast(call("Pad", x, row, call.number(call.params["value"], wide)), wide, kind)


@written("unfold")
def _unfold(call: Any) -> Any:
    params, sizes = call.params, call.sizes(0)
    axis, size, step = params["dim"], params["size"], params["step"]
    count = call.out_sizes()[axis]
    if not (type(sizes[axis]) is int and type(count) is int):
        raise OnnxError("the size of the dim is not known, and the places are written as numbers")
    places = [[i * step + j for j in range(size)] for i in range(count)]
    found = call("Gather", call.raw(0), call.constant(places), axis=axis)
    order = [*range(axis + 1), *range(axis + 2, len(sizes) + 1), axis + 1]
    return call.transpose(found, order)


@written("as_strided")
def _as_strided(call: Any) -> Any:
    params, sizes = call.params, call.sizes(0)
    if any(type(one) is not int for one in (*sizes, *params["size"], *params["stride"], params["offset"])):
        raise OnnxError("sizes and strides that are not known have no form")
    own, place = params["own"], []
    for i, _ in enumerate(sizes):
        place.append(own[i])
    wanted = 1
    for one, size in zip(reversed(own), reversed(sizes), strict=True):
        if one != wanted and size != 1:
            raise OnnxError("only what lies in order in memory is seen with other strides")
        wanted *= size
    places: list[Any] = [params["offset"]]
    for size, stride in zip(params["size"], params["stride"], strict=True):
        places = [one + i * stride for one in places for i in range(size)]
    found = call("Gather", call.reshape(call.raw(0), [-1]), call.constant(places), axis=0)
    return call.reshape(found, params["size"])

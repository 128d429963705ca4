"""Samples become a batch: stacked along a new first dim, which has a name where one is asked for."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from functools import reduce
from typing import Any

import numpy as np

from workbench.base.dtypes import as_dtype, promote_types
from workbench.base.errors import DimensionError
from workbench.core.tape import alias
from workbench.core.value import dims_of, new
from workbench.data.dataset import Empty
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy, tensor

__all__ = ["batch_named", "collated", "default_collate", "default_convert"]

TEXT_AND_OBJECTS = "SaUO"
"""Kinds of arrays that no tensor can have."""


def default_collate(batch: Sequence[Any], *, batch_dim: str | None = None) -> Any:
    """Stack samples along a new first dim: tensors, arrays, numbers, and tuples, lists or dicts of them.

    Tuples and lists become lists, named tuples and dicts stay what they are, text stays a list. Python's floats become
    float64, integers int64. Dims keep the names that the samples have, and the new one is called `batch_dim`; without
    that it has no name. Raises `DimensionError` where samples differ in size or in the names of their dims; it says
    which sample, and both shapes. Raises TypeError for what cannot be stacked.

    >>> import workbench as wb
    >>> samples = [(wb.zeros(C=3), 0), (wb.ones(C=3), 1)]
    >>> images, labels = default_collate(samples, batch_dim="N")
    >>> images.names, labels.names, default_collate(samples)[0].names
    (('N', 'C'), ('N',), (None, 'C'))
    """
    return batch_named(collated(batch, np.empty), batch_dim)


def batch_named(batch: Any, name: str | None) -> Any:
    """Call the first dim of all tensors in a batch `name`; None leaves them as they are.

    Raises `DimensionError` where the data set calls it otherwise, or calls another dim so.
    """
    if name is None:
        return batch
    if isinstance(batch, Tensor):
        return _first_named(batch, name) if batch.payload.shape else batch
    if isinstance(batch, Mapping):
        return _alike(batch, {key: batch_named(value, name) for key, value in batch.items()})
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[batch_named(one, name) for one in batch])
    if isinstance(batch, list | tuple):
        return type(batch)([batch_named(one, name) for one in batch])
    return batch


def _first_named(value: Tensor, name: str) -> Tensor:
    first, *rest = value.names
    if first == name:
        return value
    if first is not None or name in rest:
        raise DimensionError(
            f"batch_dim={name!r} names the dim of samples, which is called {first!r} already."
            if first is not None
            else f"batch_dim={name!r} names the dim of samples, and the samples have a dim of that name.",
            op="DataLoader",
            operands=(
                dims_of(value).operand("batch", [0 if first is not None else value.names.index(name)]),
            ),
            fix="leave batch_dim out" if first is not None else "choose another batch_dim",
        )
    called: Tensor = alias(value, (name, *rest))
    called._origin = value._origin or "batch_dim of the DataLoader"
    return called


def collated(batch: Sequence[Any], empty: Empty) -> Any:
    """Do what `default_collate` does without a name for the batch, in arrays that `empty` gives."""
    first = batch[0]
    if isinstance(first, Tensor | np.ndarray):
        return _stacked(batch, empty)
    # PyTorch makes float64 of these, whatever the default type is.
    if isinstance(first, float):
        return new(np.array(batch, np.float64))
    if isinstance(first, int | complex | np.generic) and not isinstance(first, np.str_ | np.bytes_):
        return _numbers(batch)
    # Text is a sequence too, of text: asked later it would be taken apart without end.
    if isinstance(first, str | bytes):
        return list(batch)
    if isinstance(first, Mapping):
        return _alike(first, {key: _part(_values(batch, key), empty, key) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        parts = zip(_columns(batch), first._fields, strict=True)
        return type(first)(*[_part(column, empty, name) for column, name in parts])
    if isinstance(first, Sequence):
        columns = [_part(column, empty, i) for i, column in enumerate(_columns(batch))]
        return columns if type(first) in (tuple, list) else _alike_sequence(first, columns)
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
        f"{type(first).__name__}. {_advice(first)}"
    )


def _part(column: Sequence[Any], empty: Empty, key: Any) -> Any:
    """Stack one part of every sample; an error says which part it is about."""
    try:
        return collated(column, empty)
    except (TypeError, ValueError, DimensionError) as error:
        _say_part(error, f"[{key!r}]")
        raise


def _say_part(error: Exception, key: str) -> None:
    """Note in an error in which part of a sample it arose, from the outermost on."""
    # What an inner part has noted goes into the longer path.
    inner = error.__dict__.pop("part", "")
    notes = [one for one in getattr(error, "__notes__", []) if not one.startswith("in part sample")]
    error.part = key + inner  # type: ignore[attr-defined]
    error.__notes__ = [f"in part sample{key}{inner}", *notes]


def _advice(sample: Any) -> str:
    """Say what may be done about a sample that cannot be stacked."""
    if sample is None:
        return "Give every sample a value, or pass a collate_fn that leaves out those that have none."
    if dataclasses.is_dataclass(sample):
        return "Have the data set return dataclasses.asdict(sample), or pass a collate_fn that knows it."
    return "Pass a collate_fn that knows it."


def _numbers(batch: Sequence[Any]) -> Tensor:
    array = np.array(batch)
    # What NumPy makes of values that are not all numbers.
    if array.dtype.kind in "OUSMm":
        found = sorted({type(one).__name__ for one in batch})
        if found == ["int"]:
            raise ValueError(f"default_collate: {max(batch, key=abs)} is too large for int64")
        raise TypeError(
            f"default_collate: the samples of a batch must all be numbers, found {', '.join(found)}"
        )
    if not isinstance(batch[0], np.generic):
        return tensor(list(batch))  # integers, and maybe floats among them, which get the default type
    as_dtype(array.dtype)
    return new(array)


def _values(batch: Sequence[Any], key: Any) -> list[Any]:
    for i, sample in enumerate(batch):
        if key not in sample:
            raise _at(KeyError(f"sample {i} of the batch has no {key!r}, which sample 0 has"), i)
    return [sample[key] for sample in batch]


def _columns(batch: Sequence[Any]) -> list[tuple[Any, ...]]:
    size = len(batch[0])
    for i, sample in enumerate(batch):
        if len(sample) != size:
            message = (
                f"each element in list of batch should be of equal size: sample {i} has {len(sample)} parts, sample 0 "
                f"has {size}"
            )
            raise _at(DimensionError(message, op="default_collate"), i)
    return list(zip(*batch, strict=True))


def _stacked(batch: Sequence[Any], empty: Empty) -> Tensor:
    kinds = set(map(type, batch))
    names = None
    if kinds == {np.ndarray}:
        arrays = list(batch)
    else:
        arrays = [_array(batch, i) for i in range(len(batch))]
        given = {one._names for one in batch if isinstance(one, Tensor)} - {None}
        names = given.pop() if len(given) == 1 else _common(batch) if given else None
    shape, dtype = arrays[0].shape, arrays[0].dtype
    if dtype.kind in TEXT_AND_OBJECTS:
        raise TypeError(
            "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found an array of "
            f"{dtype}"
        )
    if len({array.shape for array in arrays}) > 1:
        raise _unequal(batch, next(i for i, array in enumerate(arrays) if array.shape != shape))
    types = {array.dtype for array in arrays}
    if len(types) > 1:
        dtype = reduce(promote_types, [as_dtype(one) for one in types]).numpy
    else:
        as_dtype(dtype)
    out = empty((len(arrays), *shape), dtype)
    if shape:
        # Joining along a dim that is there costs half of what np.stack takes, which views every array anew.
        np.concatenate(arrays, 0, out.reshape(len(arrays) * shape[0], *shape[1:]), casting="unsafe")
    else:
        out[...] = arrays
    if names is None:
        return new(out)
    made: Tensor = new(out, (None, *names))
    made._origin = next(
        (one._origin for one in batch if isinstance(one, Tensor) and one._names is not None), None
    )
    return made


def _array(batch: Sequence[Any], i: int) -> Any:
    one = batch[i]
    if isinstance(one, Tensor):
        array = one.payload
        # Other payloads (a device's, quantized ones) come as plain arrays.
        return array if type(array) is np.ndarray else one.detach().cpu().numpy()
    if isinstance(one, np.ndarray):
        return one
    raise TypeError(
        f"default_collate: sample 0 of the batch is {type(batch[0]).__name__}, sample {i} is {type(one).__name__}"
    )


def _common(batch: Sequence[Any]) -> Any:
    """Return the names that all samples agree on."""
    names: Any = None
    for i, sample in enumerate(batch):
        given = sample._names if isinstance(sample, Tensor) else None
        if given is None:
            continue
        if names is None:
            names = given
        elif len(given) == len(names) and all(
            a is None or b is None or a == b for a, b in zip(given, names, strict=True)
        ):
            names = tuple(a or b for a, b in zip(names, given, strict=True))
        else:
            raise _unequal(batch, i)
    return names


def _unequal(batch: Sequence[Any], i: int) -> Any:
    both = [one if isinstance(one, Tensor) else from_numpy(one) for one in (batch[0], batch[i])]
    what = "size" if both[0].shape != both[1].shape else "names"
    error = DimensionError(
        f"stack expects each tensor to be equal {what}: sample {i} of the batch differs from the first.",
        op="default_collate",
        operands=(dims_of(both[0]).operand("sample 0"), dims_of(both[1]).operand(f"sample {i}")),
        fix="pass a collate_fn that pads the samples, or give all of them one size in the data set",
    )
    return _at(error, i)


def _at(error: Any, position: int) -> Any:
    """Note in an error which sample of the batch it is about; the loader then says which of the data set that is."""
    error.position = position
    return error


def _alike(first: Any, values: dict[Any, Any]) -> Any:
    """Return a mapping of the kind of `first`, where one can be made."""
    if type(first) is dict:
        return values
    return _made(
        lambda: _updated(first, values) if isinstance(first, MutableMapping) else type(first)(values), values
    )


def _alike_sequence(first: Any, values: list[Any]) -> Any:
    """Return a sequence of the kind of `first`, where one can be made."""
    return _made(
        lambda: _replaced(first, values) if isinstance(first, MutableSequence) else type(first)(values),
        values,
    )


def _made(make: Callable[[], Any], otherwise: Any) -> Any:
    try:
        return make()
    except TypeError:  # its constructor wants something else
        return otherwise


def _updated(first: Any, values: dict[Any, Any]) -> Any:
    clone = copy.copy(first)
    # A copy of the sample, so that a class of somebody's own keeps what else it has.
    clone.update(values)
    return clone


def _replaced(first: Any, values: list[Any]) -> Any:
    clone = copy.copy(first)
    for i, value in enumerate(values):
        clone[i] = value
    return clone


def default_convert(data: Any) -> Any:
    """Make tensors of the arrays in a sample, which stays as it is otherwise: no dim is added.

    >>> import numpy as np
    >>> default_convert({"x": np.arange(2), "name": "first"})
    {'x': tensor([0, 1]), 'name': 'first'}
    """
    if isinstance(data, np.generic) and not isinstance(data, np.str_ | np.bytes_):
        return from_numpy(np.array(data))
    if isinstance(data, np.ndarray):
        return data if data.dtype.kind in TEXT_AND_OBJECTS else from_numpy(data)
    if isinstance(data, str | bytes | Tensor):
        return data
    if isinstance(data, Mapping):
        return _alike(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*[default_convert(one) for one in data])
    if isinstance(data, tuple):
        return [default_convert(one) for one in data]
    if isinstance(data, Sequence):
        return _alike_sequence(data, [default_convert(one) for one in data])
    return data

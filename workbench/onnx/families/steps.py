"""What control flow needs beside the operators: counts, conditions, rows that grow, and the refusal of the unknown."""

from __future__ import annotations

from typing import Any, NoReturn

from workbench.graph import NamedFunction
from workbench.onnx.errors import OnnxError, UnknownOperatorError
from workbench.onnx.table import put
from workbench.onnx.values import Integers, as_tensor, data_type, numbers_in, wb
from workbench.tensor import Tensor

__all__: list[str] = []


def _unknown(*inputs: Any, operator: str, node: str, reason: str) -> NoReturn:
    raise UnknownOperatorError(
        f"the run came to node {node}, whose operator {operator} is not known: {reason}. `unknown` of the module "
        "counts such nodes, and run_until gives what is computed before them"
    )


def _truth(value: Any) -> bool:
    """Return a condition as Python has it; in a trace the error names the line that asks."""
    if isinstance(value, Tensor) and value.numel() != 1:
        raise OnnxError(f"a condition is one value, not {value.numel()}")
    return bool(value[0] if isinstance(value, list) else value)


def _count(value: Any) -> int:
    found = numbers_in(Integers(value) if isinstance(value, list) else value)
    return int(found[0] if isinstance(found, list) else found)


def _gathered(rows: Any, row: Any) -> Any:
    # A pair, and not a longer tuple: a thousand turns would copy half a million of them.
    return (rows, as_tensor(Integers(row) if type(row) in (int, list) else row))


def _in_order(rows: Any) -> list[Any]:
    found = []
    while rows:
        rows, row = rows
        found.append(row)
    return found[::-1]


def _stacked(rows: Any, *, axis: int, dtype: int, sizes: list[int], reverse: bool = False) -> Any:
    found = _in_order(rows)
    if not found:
        shape = list(sizes)
        shape.insert(axis if axis >= 0 else len(shape) + 1 + axis, 0)
        return wb.zeros(shape, dtype=data_type(dtype))
    return wb.stack(found[::-1] if reverse else found, dim=axis)


def _length_of(value: Any, *, axis: int) -> int:
    return int(as_tensor(Integers(value) if isinstance(value, list) else value).shape[axis])


def _slice_of(value: Any, turn: int, *, axis: int, reverse: bool) -> Any:
    tensor = as_tensor(Integers(value) if isinstance(value, list) else value)
    return tensor.select(axis, tensor.shape[axis] - 1 - turn if reverse else turn)


def _item_or_all(items: Any, place: int) -> Any:
    return items[place] if isinstance(items, tuple) else items


for _call, _pure in (
    (_unknown, False), (_truth, True), (_count, True), (_gathered, True), (_stacked, True),
    (_length_of, True), (_slice_of, True), (_item_or_all, True),
):  # fmt: skip
    put(NamedFunction(f"onnx.{_call.__name__[1:]}", _call, pure=_pure))

"""The dims that come out of a call; a refusal names the operands as the caller calls them, and where they came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.base.dims import MAXIMUM_DIMS, Dims, LabelledDims, Names, check_names
from workbench.base.errors import DimensionError, Operand
from workbench.core.op import Op
from workbench.core.origins import labels_of, origins_of
from workbench.core.value import UNNAMED, Value, dims_of

__all__ = ["infer_dims", "names_in", "names_of", "seen_dims"]


def infer_dims(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Dims | tuple[Dims, ...]:
    """Return the dims that come out; a refusal names the operands as the caller calls them."""
    try:
        return op.dims(*seen_dims(inputs), **params)
    except DimensionError as error:
        error.op = error.op or op.name
        known = _whose(error.operands, inputs, seen_dims(inputs))
        error.label(labels_of(known), tuple(origins_of(value) for value in known))
        raise


def seen_dims(inputs: Sequence[Any]) -> list[Dims]:
    """Return the dims of the inputs as the rule of an op sees them.

    What a parameter's dims are called counts where another input has names: somebody named that, and is told what does
    not fit. Between values that nobody named there is nothing to refuse.
    """
    dims = [dims_of(value) for value in inputs]
    if any(type(one) is LabelledDims for one in dims) and any(
        isinstance(value, Value) and value._names is not None for value in inputs
    ):
        dims = [one.by_label() for one in dims]
    return dims


def names_of(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> tuple[Names | None, ...]:
    """Return the names of each output of a call that the dims rule of `op` allows."""
    dims: Any = infer_dims(op, inputs, params)
    return (names_in(dims),) if op.outputs == 1 else tuple([names_in(one) for one in dims])


def names_in(dims: Any) -> Names | None:
    """Return the names of an output's dims as a value keeps them: None where no dim has one."""
    names: Names = dims[0]
    if len(names) > MAXIMUM_DIMS:
        raise DimensionError(f"tensors only support up to {MAXIMUM_DIMS} dims, this would have {len(names)}.")
    if names == UNNAMED[len(names)]:
        return None
    given = [name for name in names if name is not None]
    if len(set(given)) != len(given):  # whatever a rule says: a name stands for one dim
        check_names(names, len(names))
    return names


def _whose(operands: tuple[Operand, ...], inputs: tuple[Any, ...], dims: list[Dims]) -> tuple[Any, ...]:
    """Return the input that each operand of a refusal is: by position, or by its dims where not all inputs are told."""
    if len(operands) == len(inputs):
        return inputs
    left = list(zip(inputs, dims, strict=True))
    found: list[Any] = []
    for operand in operands:
        same = [i for i, (_, one) in enumerate(left) if one == (operand.names, operand.sizes)]
        found.append(left.pop(same[0])[0] if same else None)
    return tuple(found)

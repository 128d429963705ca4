"""Jacobians and Hessians: all their rows, or all their columns, at once."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.autograd.differentiable_inputs import (
    Starts,
    fresh,
    others_ask,
    settled,
    settled_all,
    split,
    tensors_of,
)
from workbench.autograd.forward import Forward
from workbench.autograd.pytree import Rebuild
from workbench.autograd.standard_basis import basis, together
from workbench.autograd.transforms import Function, primals_of, pulled
from workbench.base.dims import Names
from workbench.base.errors import AutogradError, DTypeError
from workbench.core.batching import Batching
from workbench.core.dispatch import enable_grad, grad_enabled, interpreting
from workbench.core.op import ops
from workbench.core.tape import alias
from workbench.core.value import new

__all__ = [
    "blocks_of",
    "column_blocks",
    "forward_columns",
    "hessian",
    "jacfwd",
    "jacrev",
    "reverse_rows",
]


def joint_names(first: Names, second: Names) -> Names | None:
    """Return the names of a Jacobian: the dims of the input come second and lose a name that is taken."""
    names = (*first, *(None if name in first else name for name in second))
    return names if any(name is not None for name in names) else None


def chunks(size: int, chunk_size: int | None) -> list[tuple[int, int]]:
    """Return the bounds of pieces of at most `chunk_size` of `size` rows."""
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"jacobian: chunk_size should be None or greater than 0. (got {chunk_size})")
    step = size if chunk_size is None else chunk_size
    return [(start, min(start + step, size)) for start in range(0, size, max(step, 1))]


def stacked(pieces: Sequence[Any]) -> Any:
    """Return pieces of rows as one."""
    return pieces[0] if len(pieces) == 1 else ops.cat(*pieces, dim=0)


def rows_of(rows: Any, start: int, end: int, sizes: tuple[int, ...], names: Names | None) -> Any:
    """Return the rows from `start` to `end` laid out in `sizes`, under `names`."""
    part = rows if start == 0 and end == rows.payload.shape[0] else ops.index(rows, key=(slice(start, end),))
    part = part if part.payload.shape == sizes else ops.reshape(part, sizes=sizes)
    return part if names is None else alias(part, names)


def reverse_rows(
    outputs: Sequence[Any],
    starts: Sequence[Any],
    create: bool,
    chunk_size: int | None = None,
    batched: bool = True,
) -> list[Any]:
    """Return, for each start, all rows of the Jacobian [values of the outputs, *sizes of the start]; None for zero.

    Rows are computed `chunk_size` at a time; unless `batched`, one by one.
    """
    seeds = basis(outputs)
    rows = sum(int(np.prod(one.shape)) for one in outputs)
    pieces: list[Sequence[Any]] = []
    if rows == 0:
        return [None] * len(starts)
    # One row needs no batch; and a function that vmap cannot run has rows all the same.
    if rows == 1 or not batched:
        for row in range(rows):
            # A row for an output without dims is a number of NumPy's, where an array is needed.
            found = pulled(outputs, starts, [new(np.asarray(seed[row])) for seed in seeds], create)
            pieces.append(
                [
                    None if one is None else ops.reshape(alias(one, None), sizes=(1, *one.payload.shape))
                    for one in found
                ]
            )
        return _joined(pieces, starts)
    for start, end in chunks(rows, chunk_size):

        def pull(batching: Batching, start: int = start, end: int = end) -> Sequence[Any]:
            wrapped = [batching.wrap(new(seed[start:end])) for seed in seeds]
            return pulled(outputs, starts, wrapped, create)

        pieces.append(together(end - start, pull))
    return _joined(pieces, starts)


def _joined(pieces: Sequence[Sequence[Any]], starts: Sequence[Any]) -> list[Any]:
    """Put pieces of rows together for each start; a row that is None is zero where others are not."""
    result: list[Any] = []
    for start, parts in zip(starts, zip(*pieces, strict=True), strict=True):
        if all(one is None for one in parts):
            result.append(None)
            continue
        zeros = new(np.zeros((1, *start.payload.shape), start.payload.dtype))
        result.append(stacked([zeros if one is None else one for one in parts]))
    return result


def blocks_of(outputs: Sequence[Any], starts: Sequence[Any], rows: Sequence[Any]) -> list[list[Any]]:
    """Return, for each output, the Jacobian with respect to each start."""
    found, at = [], 0
    for output in outputs:
        count = int(np.prod(output.shape))
        line = []
        for start, block in zip(starts, rows, strict=True):
            sizes = (*output.shape, *start.shape)
            names = joint_names(output.names, start.names)
            if block is None:
                line.append(new(np.zeros(sizes, start.payload.dtype), names))
            else:
                line.append(rows_of(block, at, at + count, sizes, names))
        found.append(line)
        at += count
    return found


def jacrev(
    func: Function,
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function:
    """Return a function that gives the Jacobian of `func` by reverse mode, all rows at once.

    The result has the dims of the output, then those of the input: J[i, j] = ∂f_i/∂x_j. For nests of outputs and
    inputs it is a nest of outputs' nests of inputs. At most `chunk_size` rows are computed together.

    >>> import workbench as wb
    >>> from workbench.autograd.jacobians import jacrev
    >>> jacrev(lambda x: x * x)(wb.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    # With `updated=()` a module given as the function keeps its attributes to itself.
    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        outside = grad_enabled()
        starts = Starts(args, argnums, fresh)
        with enable_grad():
            result, aux = split("jacrev(f)(*args)", func(*starts.args, **kwargs), has_aux)
            outputs, rebuild = tensors_of("vjp(f, *primals)", result)
            keep = outside and others_ask(outputs, starts.values)
            rows = reverse_rows(outputs, starts.values, keep, chunk_size)
        blocks = blocks_of(outputs, starts.values, [settled(one, keep) for one in rows])
        jacobian = rebuild([starts.shaped(line) for line in blocks])
        return (jacobian, settled_all(aux, keep)) if has_aux else jacobian

    return wrapper


def jacfwd(
    func: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    randomness: str = "error",
) -> Function:
    """Return a function that gives the Jacobian of `func` by forward mode, all columns at once; see `jacrev`.

    It is the better one where there are fewer inputs than outputs. The function itself runs once, so that random
    numbers drawn in it are the same for all columns, whatever `randomness` says.

    >>> import workbench as wb
    >>> from workbench.autograd.jacobians import jacfwd
    >>> jacfwd(lambda x: wb.stack([x.sum(), x.sum() * 2]))(wb.tensor([1.0, 2.0]))
    tensor([[1., 1.],
            [2., 2.]])
    """
    if randomness not in ("error", "different", "same"):
        raise AutogradError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )

    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        starts = Starts(args, argnums, lambda value: value)
        columns, outputs, rebuild, aux = forward_columns(func, starts, kwargs, has_aux, chunk_size)
        lines = column_blocks(columns, outputs, starts.values)
        jacobian = rebuild([starts.shaped(line) for line in lines])
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def forward_columns(
    func: Function, starts: Starts, kwargs: dict[str, Any], has_aux: bool, chunk_size: int | None
) -> tuple[list[Any], list[Any], Rebuild, Any]:
    """Return all columns [values of the starts, *sizes of the output] for each output (None: zero), and the outputs."""
    for value in starts.values:
        if value.payload.dtype.kind not in "fcV":
            raise DTypeError("only Tensors of floating point and complex dtype have derivatives")
    directions = basis(starts.values)
    pieces = []
    outputs: list[Any] = []
    rebuild: Rebuild = tuple
    aux: Any = None
    total = sum(int(np.prod(value.shape)) for value in starts.values)
    for start, end in chunks(total, chunk_size):

        def push(batching: Batching, start: int = start, end: int = end) -> Sequence[Any]:
            # The values are the same in every chunk.
            nonlocal outputs, rebuild, aux
            level = Forward()
            moved = iter(
                [
                    level.make(value, batching.wrap(new(one[start:end])), value._names)
                    for value, one in zip(starts.values, directions, strict=True)
                ]
            )
            args = list(starts.args)
            for position, count, again in zip(starts.positions, starts.counts, starts.rebuilds, strict=True):
                args[position] = again([next(moved) for _ in range(count)])
            with interpreting(level):
                result = func(*args, **kwargs)
            result, aux = split("jacfwd(f)(*args)", result, has_aux)
            duals, rebuild = tensors_of("jvp(f, primals, tangents)", result)
            parts = [level.parts(one) for one in duals]
            outputs = [value for value, _ in parts]
            aux = primals_of(level, aux)
            return [tangent for _, tangent in parts]

        pieces.append(together(end - start, push))
    return (
        [None if one[0] is None else stacked(one) for one in zip(*pieces, strict=True)],
        outputs,
        rebuild,
        aux,
    )


def column_blocks(columns: Sequence[Any], outputs: Sequence[Any], starts: Sequence[Any]) -> list[list[Any]]:
    """Return, for each output, the Jacobian with respect to each start, from columns."""
    found = []
    for output, column in zip(outputs, columns, strict=True):
        line, at = [], 0
        for start in starts:
            count = int(np.prod(start.shape))
            names = joint_names(output.names, start.names)
            line.append(_column_block(column, at, count, output, start, names))
            at += count
        found.append(line)
    return found


def _column_block(column: Any, at: int, count: int, output: Any, start: Any, names: Names | None) -> Any:
    """Return the Jacobian of one output with respect to one start, from its columns."""
    sizes = (*output.shape, *start.shape)
    if column is None:
        return new(np.zeros(sizes, output.payload.dtype), names)
    part = rows_of(column, at, at + count, (count, *output.shape), None)
    # Columns came first: the dims of the output go before them, as in a Jacobian.
    order = (*range(1, output.ndim + 1), 0)
    part = ops.permute(part, dim=order) if output.ndim else part
    part = part if part.payload.shape == sizes else ops.reshape(part, sizes=sizes)
    return alias(part, names)


def hessian(func: Function, argnums: int | Sequence[int] = 0) -> Function:
    """Return a function that gives the Hessian of `func`: H[i, j] = ∂²f/∂x_i∂x_j, forward over reverse.

    >>> import workbench as wb
    >>> from workbench.autograd.jacobians import hessian
    >>> hessian(lambda x: (x * x * x).sum())(wb.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)

"""Products of many matrices, in the order that needs the fewest multiplications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.base.errors import DimensionError
from workbench.core.op import ops
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.contract.products import check_rank
from workbench.ops.linalg.matrices import column, row, shape
from workbench.ops.offer import offered


def _best_order(sizes: list[int]) -> list[list[int]]:
    """Return, for every run of matrices, where to split it for the fewest multiplications.

    Matrix i has ``sizes[i]`` rows and ``sizes[i + 1]`` columns.
    """
    count = len(sizes) - 1
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    # Shorter runs first: longer ones are made of them.
    for length in range(1, count):
        for start in range(count - length):
            stop = start + length
            best = None
            for middle in range(start, stop):
                work = (
                    cost[start][middle]
                    + cost[middle + 1][stop]
                    + sizes[start] * sizes[middle + 1] * sizes[stop + 1]
                )
                if best is None or work < best:
                    best, split[start][stop] = work, middle
            cost[start][stop] = best or 0
    return split


@offered("linalg")
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """Product of several matrices, in the order that needs the fewest multiplications.

    The first may be a vector, taken as a row, and the last one, taken as a column.

    >>> import workbench as wb
    >>> wb.linalg.multi_dot([wb.ones(N=2, C=3), wb.ones(C=3, K=4), wb.ones(K=4)]).names
    ('N',)
    """
    given = list(tensors)
    if len(given) < 2:
        raise DimensionError(f"multi_dot(): expected at least 2 tensors but got {len(given)}")
    ranks = [len(shape(one)) for one in given]
    for position, rank in enumerate(ranks):
        allowed = (1, 2) if position in (0, len(given) - 1) else (2,)
        if rank not in allowed:
            raise DimensionError(
                f"multi_dot(): tensor {position} must be {'1D or 2D' if 1 in allowed else '2D'} but got {rank}D",
                operands=(dims_of(given[position]).operand(f"tensors[{position}]"),),
            )
    first, last = ranks[0] == 1, ranks[-1] == 1
    if first:
        given[0] = row(given[0])
    if last:
        given[-1] = column(given[-1])
    for position in range(len(given) - 1):
        a, b = dims_of(given[position]), dims_of(given[position + 1])
        if a.sizes[1] != b.sizes[0]:
            raise DimensionError(
                f"multi_dot(): tensors {position} and {position + 1} with shapes {list(a.sizes)} and {list(b.sizes)} "
                "cannot be multiplied",
                operands=(
                    a.operand(f"tensors[{position}]", [1]),
                    b.operand(f"tensors[{position + 1}]", [0]),
                ),
            )
    split = _best_order([shape(one)[0] for one in given] + [shape(given[-1])[1]])

    def product(start: int, stop: int) -> Any:
        if start == stop:
            return given[start]
        middle = split[start][stop]
        return ops.matmul(product(start, middle), product(middle + 1, stop))

    result = product(0, len(given) - 1)
    if last:
        result = ops.squeeze(result, dim=(1,))
    return ops.squeeze(result, dim=(0,)) if first else result


@offered("workbench", out="exact")
def chain_matmul(*matrices: Tensor | Sequence[Tensor]) -> Tensor:
    """Product of matrices, in the order that needs the fewest multiplications; see `linalg.multi_dot`.

    >>> import workbench as wb
    >>> wb.chain_matmul(wb.ones(N=2, C=3), wb.ones(C=3, K=4)).names
    ('N', 'K')
    """
    given: list[Any] = (
        list(matrices[0]) if len(matrices) == 1 and isinstance(matrices[0], list | tuple) else list(matrices)
    )
    if not given:
        raise DimensionError("chain_matmul(): Expected one or more matrices")
    check_rank(
        "chain_matmul", 2, "Tensor dimension is not 2", **{f"matrix{i}": one for i, one in enumerate(given)}
    )
    return given[0] if len(given) == 1 else multi_dot(given)

"""Tensors brought to the same dims by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.base.errors import DimensionError
from workbench.core.typing import Tensor
from workbench.core.value import dims_of
from workbench.ops.offer import offered

__all__ = ["align_tensors"]


@offered("workbench")
def align_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Give all tensors the dims of the longest, of size 1 where they lack one: views.

    The names of each must be a subsequence of the longest's; a dim without a name keeps its place from the right.

    Raises `DimensionError` where the names are none: `Tensor.align_to` reorders dims.

    >>> import workbench as wb
    >>> [one.shape for one in wb.align_tensors(wb.ones(N=2, C=3, H=4), wb.ones(N=2, H=4))]
    [(2, 3, 4), (2, 1, 4)]
    """
    if len(tensors) == 1 and isinstance(tensors[0], tuple | list):
        tensors = tuple(tensors[0])
    if not tensors:
        return ()
    # Of several equally long ones the first, as in PyTorch.
    longest = max(tensors, key=lambda one: len(dims_of(one).sizes))
    return tuple(_aligned(one, longest) for one in tensors)


def _aligned(tensor: Any, longest: Any) -> Any:
    own, wanted = dims_of(tensor).names, dims_of(longest).names
    missing = []
    at = len(own) - 1
    # From the right, where dims without a name have their places.
    for i in range(len(wanted) - 1, -1, -1):
        if at < 0 or own[at] != wanted[i]:
            missing.append(i)
            continue
        # A dim without a name is known by its place alone: it must not move.
        if own[at] is None and len(own) - at != len(wanted) - i:
            raise DimensionError(
                f"Aligning Tensor{list(own)} to names {list(wanted)} would change the absolute position from the right "
                "of an unnamed dimension.",
                op="align_tensors",
                operands=(dims_of(tensor).operand("input", [at]), dims_of(longest).operand("other", [i])),
                fix="input.refine_names(...)",
            )
        at -= 1
    if at >= 0:
        # `align_as` is advised only where it would work: all names are there, in another order.
        reorders = None not in own and set(own) <= set(wanted)
        raise DimensionError(
            f"Could not align Tensor{list(own)} to Tensor{list(wanted)} because Tensor{list(own)} is not a subsequence "
            f"of Tensor{list(wanted)}.",
            op="align_tensors",
            operands=(dims_of(tensor).operand("input", [at]), dims_of(longest).operand("other")),
            fix="input.align_as(other)" if reorders else "",
        )
    # From the left: each position counts the dims put in before it.
    for i in reversed(missing):
        tensor = tensor.unsqueeze(i) if wanted[i] is None else tensor.unsqueeze(i, wanted[i])
    return tensor

"""einops on tensors: ``rearrange``, ``reduce``, ``repeat``, ``einsum``, ``pack`` and ``unpack``, with gradients.

einops asks the subclasses of its `AbstractBackend` for one that knows a tensor; the package registers ours when einops
has been imported. Of named tensors a dim that stands alone in a pattern, on both sides, keeps its name; what is put
together or split has none. While a function is traced, sizes stay open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.base.public import words
from workbench.ops import FUNCTIONS
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy
from workbench.tensor.ranges import arange

__all__ = ["Operations", "register"]


class Operations:
    """What einops does with tensors of the workbench."""

    framework_name = "workbench"

    def is_appropriate_type(self, tensor: Any) -> bool:
        """Say whether a value is a tensor."""
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: np.ndarray[Any, Any]) -> Tensor:
        """Return a tensor on the memory of an array."""
        return from_numpy(x)

    def to_numpy(self, x: Tensor) -> np.ndarray[Any, Any]:
        """Return the values as an array."""
        return x.detach().cpu().numpy()

    def arange(self, start: int, stop: int) -> Tensor:
        """Return the whole numbers from `start` to below `stop`."""
        return arange(start, stop)

    def shape(self, x: Tensor) -> Sequence[Any]:
        """Return the sizes; of a traced value as a list, of which einops then asks nothing beforehand."""
        sizes = x.shape
        # It looks tuples up in a table, which compares them: that would fix every size.
        return sizes if all(type(one) is int for one in sizes) else list(sizes)

    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """Put the dims in another order."""
        return x.permute(*axes)

    def reduce(self, x: Tensor, operation: str, axes: Sequence[int]) -> Tensor:
        """Reduce dims: by ``min``, ``max``, ``sum``, ``mean``, ``prod``, ``any`` or ``all``."""
        if operation in ("prod", "any", "all"):
            for axis in sorted(axes, reverse=True):  # these take one dim
                x = getattr(x, operation)(axis)
            return x
        name = {"min": "amin", "max": "amax"}.get(operation, operation)
        return getattr(x, name)(tuple(axes))  # type: ignore[no-any-return]

    def stack_on_zeroth_dimension(self, tensors: Sequence[Tensor]) -> Tensor:
        """Put tensors side by side along a new first dim."""
        return FUNCTIONS["stack"](list(tensors))  # type: ignore[no-any-return]

    def add_axis(self, x: Tensor, new_position: int) -> Tensor:
        """Add a dim of size 1."""
        return x.unsqueeze(new_position)

    def add_axes(self, x: Tensor, n_axes: int, pos2len: Mapping[int, int]) -> Tensor:
        """Add dims in which the values repeat; no memory is taken for it."""
        sizes: list[Any] = [-1] * n_axes
        for position, size in pos2len.items():
            x = x.unsqueeze(position)
            sizes[position] = size
        return x.expand(*sizes)

    def tile(self, x: Tensor, repeats: Sequence[int]) -> Tensor:
        """Repeat the values."""
        return x.repeat(*repeats)

    def concat(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        """Put tensors one behind the other along a dim, which keeps its name where all call it the same."""
        if len({one.names[axis] for one in tensors}) > 1:
            # What ``pack`` gives along it is no longer what any one of them had.
            tensors = [one.rename(*_without(one.names, axis)) for one in tensors]
        return FUNCTIONS["cat"](list(tensors), axis)  # type: ignore[no-any-return]

    def is_float_type(self, x: Tensor) -> bool:
        """Say whether a mean can be taken."""
        return x.is_floating_point()

    def einsum(self, pattern: str, *x: Tensor) -> Tensor:
        """Sum products over the letters that the result does not have."""
        return FUNCTIONS["einsum"](pattern, *x)  # type: ignore[no-any-return]


def register() -> None:
    """Let einops find our tensors: its backends are the subclasses that there are."""
    # Only here, for few have it.
    from einops._backends import AbstractBackend

    # It is kept by its base, which holds subclasses weakly, until the first tensor comes: so we hold it, too.
    _registered.append(type("WorkbenchBackend", (Operations, AbstractBackend), {}))


_registered: list[type] = []


def _without(names: Sequence[str | None], axis: int) -> list[str | None]:
    return [None if i == axis else name for i, name in enumerate(names)]


__getattr__, __dir__ = words(__name__, __all__)

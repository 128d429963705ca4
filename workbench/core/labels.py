"""What the dims of a view are called: found when a picture asks, so that no op has to carry it along."""

from __future__ import annotations

from typing import Any

from workbench.base.dims import Dims, Names
from workbench.base.errors import DimensionError
from workbench.core.value import dims_of

__all__ = ["labels_of_view"]


def labels_of_view(value: Any) -> Names:
    """Return the names or labels of a value; of a view that has neither, what the dims of what it views become.

    They are for who looks: an op that gets the view beside named values sees a value without names or labels.

    >>> import workbench as wb
    >>> labels_of_view(wb.nn.Conv2d(3, 8, 5).weight[0].transpose(0, 2))
    ('kernel_width', 'kernel_height', 'in_channels')
    """
    own = dims_of(value)
    if any(own.labels) or value._view is None:
        return own.labels
    viewed, op, params, _ = value._view
    if viewed._turned > value._seen:
        return own.labels  # a base whose dims were turned later tells nothing of an older view
    above = labels_of_view(viewed)
    if not any(above):
        return own.labels
    try:
        dims = op.dims(Dims(above, tuple(viewed.payload.shape)), **params)
    except DimensionError:
        return own.labels  # the rule of the op refuses these names: nobody gave them, so there are none
    return dims.names if isinstance(dims, Dims) and dims.sizes == own.sizes else own.labels

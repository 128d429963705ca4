"""The tensor people hold: thin, with its methods and operators bound from the table."""

from __future__ import annotations

from workbench.ops import METHODS, offers
from workbench.tensor import memory_words, new_like, random, storages  # noqa: F401  what they offer is bound below
from workbench.tensor.operators import OPERATORS
from workbench.tensor.tensor import Tensor

__all__ = ["METHODS", "Tensor"]

for _one in offers():
    # The table has been read already; what this room's own files offer comes to it here.
    if _one.place == "Tensor":
        METHODS.setdefault(_one.name, _one.function)
for _name, _method in {**METHODS, **OPERATORS}.items():
    setattr(Tensor, _name, _method)

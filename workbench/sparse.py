"""Sparse tensors: PyTorch's `torch.sparse`, on named tensors and differentiable. `sparse_coo_tensor` makes them."""

from __future__ import annotations

from workbench.base.dtypes import TYPE_WORDS
from workbench.base.public import words
from workbench.ops import SPARSE as _FUNCTIONS

__all__ = sorted(_FUNCTIONS)

globals().update(_FUNCTIONS)

_OLDER = {
    f"{word}Tensor": f"wb.sparse_coo_tensor(indices, values, size, dtype=wb.{name}) makes one"
    for name, word in TYPE_WORDS.items()
    if not name.startswith("q")
}
__getattr__, __dir__ = words(__name__, __all__, elsewhere=_OLDER)

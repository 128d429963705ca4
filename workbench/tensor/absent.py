"""Words of PyTorch's that tensors have not, and what stands for each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from workbench.base.dims import near_miss
from workbench.base.errors import AbsentWordError

__all__ = ["ELSEWHERE", "RAGGED", "absent_attribute"]

RAGGED = (
    "tensors of rows of different lengths are not here: nn.utils.rnn.pad_sequence(rows, batch_first=True) pads them, "
    "and nn.utils.rnn.pack_sequence(rows, enforce_sorted=False) packs them for recurrent layers"
)
_LAYOUTS = "sparse tensors are kept as coordinates or as compressed rows: x.to_sparse() and x.to_sparse_csr() make them"
_SIZES = (
    "a sparse tensor keeps its size: wb.sparse_coo_tensor(indices, values, size) makes one of another size"
)
_DEVICES = "x.device says where a tensor lies, and x.to(device) moves it"
_VENDORS = "kernels take tensors as they lie: leave it out"
_GONE = "PyTorch has it no more either: "

ELSEWHERE: Mapping[str, str] = MappingProxyType({
    "to_padded_tensor": RAGGED,
    **dict.fromkeys(("ccol_indices", "row_indices", "to_sparse_bsc", "to_sparse_bsr", "to_sparse_csc"), _LAYOUTS),
    **dict.fromkeys(("resize_as_sparse_", "sparse_resize_", "sparse_resize_and_clear_"), _SIZES),
    "smm": "wb.sparse.mm(x, y) multiplies a sparse matrix with another",
    "sspaddmm": "wb.sparse.addmm(x, y, z) adds a product with a sparse matrix",
    **dict.fromkeys(("ipu", "mtia", "xpu"), _DEVICES),
    **dict.fromkeys(
        ("is_ipu", "is_maia", "is_meta", "is_mps", "is_mtia", "is_vulkan", "is_xla", "is_xpu"), _DEVICES
    ),
    **dict.fromkeys(("is_mkldnn", "to_mkldnn"), _VENDORS),
    "eig": _GONE + "wb.linalg.eig(x) gives eigenvalues and vectors",
    "lstsq": _GONE + "wb.linalg.lstsq(a, b) solves it",
    "solve": _GONE + "wb.linalg.solve(a, b) solves it",
    "symeig": _GONE + "wb.linalg.eigh(x) gives eigenvalues and vectors",
    "volatile": _GONE + "wb.no_grad() is what it did",
    "nonzero_static": "x.nonzero() has as many rows as there are values other than 0",
})  # fmt: skip
"""Word of a tensor in PyTorch, and what is said of it here."""


def absent_attribute(name: str, owner: type, instance: object) -> AttributeError:
    """Return the error for a word that a tensor has not: what stands for it, or the nearest word.

    >>> print(absent_attribute("smm", dict, {}))
    'dict' object has no attribute 'smm': wb.sparse.mm(x, y) multiplies a sparse matrix with another
    """
    text = f"{owner.__name__!r} object has no attribute {name!r}"
    if name in ELSEWHERE:
        return AbsentWordError(f"{text}: {ELSEWHERE[name]}", name=name, module="workbench.Tensor")
    # Words that begin with an underscore are what libraries look for; nobody is sent to one.
    words = [] if name.startswith("_") else [word for word in dir(owner) if not word.startswith("_")]
    near = near_miss(name, words)
    return AttributeError(text + (f": did you mean {near!r}?" if near else ""), name=name, obj=instance)

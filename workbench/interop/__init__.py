"""Doors to other libraries, a file each; a library is imported when its door is used.

`interop.pandas`, `interop.xarray`, `interop.scipy` and `interop.torch` turn their values into tensors and back;
`interop.safetensors` and `interop.pytorch_files` read and write files of weights, `interop.weights` whichever of them,
`interop.serialization` whole checkpoints; `interop.cupy` is the device ``cuda``. `interop.einops` and `interop.einx`
let those libraries take our tensors: the package calls them when somebody imports one (`base.imported`).
"""

from __future__ import annotations

from workbench.base.public import words
from workbench.interop import (
    cupy,
    pandas,
    pytorch_files,
    safetensors,
    scipy,
    serialization,
    torch,
    weights,
    xarray,
)

__all__ = [
    "cupy", "pandas", "pytorch_files", "safetensors", "scipy", "serialization", "torch", "weights", "xarray"
]  # fmt: skip

__getattr__, __dir__ = words(__name__, __all__)

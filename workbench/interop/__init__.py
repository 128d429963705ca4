"""Doors to other libraries, a file each; a library is imported when its door is used.

`interop.pandas`, `interop.xarray` and `interop.torch` turn their values into tensors and back; `interop.safetensors`
reads and writes files of weights; `interop.cupy` is the device ``cuda``.
"""

from __future__ import annotations

from workbench.interop import cupy, pandas, safetensors, torch, xarray

__all__ = ["cupy", "pandas", "safetensors", "torch", "xarray"]

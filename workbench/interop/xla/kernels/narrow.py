"""Floats of 8 bits, which NumPy has not and XLA has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.interop.xla.libraries import jnp

__all__ = ["KERNELS"]


def _fake_float8(x: Any, *, scale: float, dtype: str) -> Any:
    kind = getattr(jnp, dtype)
    largest, step = float(jnp.finfo(kind).max), jnp.asarray(scale, x.dtype)
    shown = jnp.clip(x / step, -largest, largest).astype(jnp.float32)
    return shown.astype(kind).astype(x.dtype) * step


KERNELS: dict[str, Callable[..., Any]] = {"fake_float8": _fake_float8}

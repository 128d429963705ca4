"""What `workbench doctor` says about the kernels."""

from __future__ import annotations

from workbench.kernels.loader import available, native, reason
from workbench.kernels.registry import names
from workbench.kernels.threads import blas_library, get_num_threads

__all__ = ["info"]


def info() -> dict[str, object]:
    """Describe the kernels of this process.

    Keys: ``available``, ``reason``, ``threads``, ``blas``, ``ops`` (names with a kernel), and, when
    available, ``onednn`` (version), ``isa`` (instruction set that oneDNN uses), ``bfloat16_products`` (`processor`)
    and ``compiler``.
    """
    found: dict[str, object] = {
        "available": available(),
        "reason": reason(),
        "threads": get_num_threads(),
        "blas": blas_library(),
        "ops": names(),
    }
    if native is not None:
        found.update(native.info())
    return found

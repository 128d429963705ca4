"""The CPU: what its instructions allow."""

from __future__ import annotations

from workbench import kernels
from workbench.base.public import words

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """Return the widest instructions that the compiled kernels use; ``DEFAULT`` where there are none."""
    return str(kernels.info().get("isa", "DEFAULT"))


__getattr__, __dir__ = words(__name__, __all__)

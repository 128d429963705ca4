"""XLA by way of JAX: the device ``xla``, and graphs as programs of StableHLO, the road to TPUs.

JAX traces the ops' own array code, which NumPy's protocols send to it; the ops of `kernels` are written in its
functions; `ABSENT` says which ops there are not, and why. JAX is imported when the device is first asked for.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from workbench.base.public import words
from workbench.core.backend import Backend
from workbench.core.op import Op
from workbench.interop.xla.absent import ABSENT
from workbench.interop.xla.arrays import XlaArray, wide_types
from workbench.interop.xla.kernels import KERNELS
from workbench.interop.xla.libraries import jnp
from workbench.interop.xla.lowering import XlaProgram

__all__ = ["ABSENT", "XlaProgram", "backend"]


def backend() -> Backend:
    """Return the backend of the device ``xla``. Raises ImportError without JAX, which is not imported yet."""
    # JAX starts threads when it is imported: not before something is computed.
    if find_spec("jax") is None:
        raise ImportError("JAX is not installed: pip install tensor-workbench[xla]")
    return Backend(
        name="xla",
        array=XlaArray,
        from_numpy=_to_device,
        to_numpy=lambda array: np.asarray(array.value),
        kernels=KERNELS,
        generic=_computed,
        compile=XlaProgram,
    )


def _computed(op: Op) -> bool:
    return op.name not in ABSENT


def _to_device(array: np.ndarray[Any, Any], device: Any) -> Any:
    with wide_types():
        return XlaArray(jnp.asarray(array))


__getattr__, __dir__ = words(__name__, __all__)

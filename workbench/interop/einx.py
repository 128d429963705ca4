"""einx on tensors: all of its operations, with gradients.

einx keeps a registry of backends, each of functions under a library's names. Ours are PyTorch's, so that its adapter
for PyTorch serves with our package in PyTorch's place; the package registers it when einx has been imported. einx asks
a value for its sizes as numbers: a function that is traced is fixed to them.
"""

from __future__ import annotations

from typing import Any

from workbench.base.public import words
from workbench.tensor import Tensor

__all__ = ["backend", "register"]

NAME = "workbench"


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def _sizes(value: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in value.shape)


def backend() -> Any:
    """Return the operations of einx for our tensors."""
    # Only here, for few have it.
    from einx._src import adapter, tracer
    from einx._src.frontend.backend import Backend

    package = tracer.signature.python.import_(NAME)
    optimizer = tracer.optimizer
    named = tracer.signature.torch(package)
    devices = adapter.TorchDeviceStack()
    classical = adapter.classical_from_torch.ops(named, get_device=devices.get_device)
    einsum = adapter.einsum_from_torch(named, get_device=devices.get_device)
    made = adapter.decomposednamedtensor_from_classical
    kinds = adapter.ops
    operations = {name: made.elementwise(getattr(classical, name), classical) for name in kinds.elementwise}
    operations |= {name: made.reduce(getattr(classical, name)) for name in kinds.reduce}
    operations |= {name: made.preserve_shape(getattr(classical, name)) for name in kinds.preserve_shape}
    operations |= {name: made.argfind(getattr(classical, name), classical) for name in kinds.argfind}
    operations |= {
        name: made.update_at_ravelled(getattr(classical, name), classical) for name in kinds.update_at
    }
    operations |= {
        "get_at": made.get_at_ravelled(classical),
        "dot": adapter.decomposednamedtensor_from_einsum.dot(einsum),
    }
    operations = adapter.namedtensor_from_decomposednamedtensor.ops(operations, classical)
    operations = devices.namedtensor.ops(operations)
    operations = adapter.namedtensor_calltensorfactory.ops(operations, expected_type=named.Tensor)
    return Backend(
        ops=adapter.einx_from_namedtensor.ops(operations),
        name=NAME,
        # Above its backend for PyTorch, which takes our tensors too where ``torch`` is this package.
        priority=1,
        optimizations=[
            optimizer.classical.SkipReshape(package.reshape),
            optimizer.classical.SkipTranspose(package.permute),
            optimizer.classical.SkipBroadcastTo(package.broadcast_to),
            optimizer.classical.SkipConcatenate(package.cat),
            optimizer.InlineGraph(),
            optimizer.SkipCast(),
        ],
        compiler=tracer.compiler.python,
        is_supported_tensor=_is_tensor,
        get_shape=_sizes,
    )


def register() -> None:
    """Let einx find our tensors. What fails in making the backend, einx tells when it is asked for one."""
    from einx._src.frontend.backend import registry

    registry.register_on_import(NAME, NAME, backend)


__getattr__, __dir__ = words(__name__, __all__)

"""Moving values between devices."""

from __future__ import annotations

from workbench.base.devices import Device
from workbench.base.dtypes import as_dtype, is_dtype, plain_dtype
from workbench.base.memory_formats import MemoryFormat
from workbench.core.backend import device_of, move
from workbench.core.batch_rules import as_it_is
from workbench.core.dtype_rules import KEEP
from workbench.core.families import grid
from workbench.core.op import Absent, Op, Sample, Saves, ops
from workbench.core.typing import DeviceLike, DTypeLike, Tensor
from workbench.core.value import Value
from workbench.ops.offer import offered
from workbench.ops.shape.memory_format import in_format

TO_DEVICE = Op(
    name="to_device",
    doc="Move to another device.",
    equation="y = x",
    dims=lambda x, device: x,
    rule="names and sizes pass through",
    dtype=KEEP,
    forward=lambda x, device: move(x, device),
    vjp=lambda c, g: (ops.to_device(g, device=device_of(c.inputs[0].payload)),),
    saves=Saves((0,), output=False),
    quantized=Absent("integer kernels are for the CPU"),
    cost=lambda dims, out, **params: 0.0,
    samples=lambda: [Sample((grid(3, 4),), {"device": "cpu"}, names=(("N", "C"),))],
    properties=frozenset({"linear", "moves", "crossing", "passes"}),
    batch=as_it_is,
)


@offered("Tensor")
def cpu(input: Tensor, memory_format: MemoryFormat | None = None) -> Tensor:
    """Return the tensor on the CPU; itself if it is there.

    >>> import workbench as wb
    >>> wb.ones(2).cpu().device
    device(type='cpu')
    """
    result = input if device_of(input.payload) == "cpu" else TO_DEVICE(input, device="cpu")
    return result if memory_format is None else in_format("cpu", result, memory_format)


@offered("Tensor")
def cuda(
    input: Tensor,
    device: DeviceLike | int | None = None,
    non_blocking: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Return the tensor on an NVIDIA GPU, as ``x.to("cuda")`` does. Raises `DeviceError` where there is none.

    >>> import workbench as wb
    >>> wb.ones(2).cuda("cpu")
    Traceback (most recent call last):
    ...
    RuntimeError: Invalid device, must be cuda device: got 'cpu'
    """
    asked = Device("cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device)
    if asked.type != "cuda":
        raise RuntimeError(f"Invalid device, must be cuda device: got {str(asked)!r}")
    return to(input, asked, memory_format=memory_format)


@offered("Tensor")
def to(
    input: Tensor,
    *targets: DTypeLike | DeviceLike | Tensor | bool | None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
    other: Tensor | None = None,
) -> Tensor:
    """Return the tensor in another type, on another device, or both; itself if it is so already, unless `copy`.

    Targets are a type (``x.to(wb.float64)``), a device (``x.to("cuda:0")``), both, or a tensor to be like; behind
    them may stand `non_blocking`, which changes nothing here, and `copy`. Names stay. `memory_format` says how the
    values are to lie in memory. Raises `DeviceError` for a device that is not there.

    >>> import workbench as wb
    >>> wb.ones(2).to(wb.int64), wb.ones(2).to("cpu", wb.float64).dtype
    (tensor([1, 1]), workbench.float64)
    """
    if other is not None:
        targets = (other, *targets)
    # By position `copy` stands behind `non_blocking`.
    if len(targets) > 2 and isinstance(targets[-2], bool) and isinstance(targets[-1], bool):
        copy = targets[-1]
    for target in targets:
        if isinstance(target, Value):
            dtype, device = target.payload.dtype, device_of(target.payload)
        elif isinstance(target, Device) or (isinstance(target, str) and not is_dtype(target)):
            device = target
        elif target is not None and not isinstance(target, bool):
            dtype = target
    result = input
    if dtype is not None and as_dtype(dtype) is not as_dtype(input.payload.dtype):
        result = ops.to(result, dtype=plain_dtype(dtype).numpy)
    if device is not None and move(result.payload, device) is not result.payload:
        result = TO_DEVICE(result, device=Device(device))
    alone = copy and result is input
    if memory_format is not None:
        return in_format("to", result, memory_format, copy=alone)
    return ops.clone(input) if alone else result


@offered()
def get_device(input: Tensor) -> int:
    """Return the number of the device that the values are on, -1 for the CPU.

    >>> import workbench as wb
    >>> wb.ones(2).get_device()
    -1
    """
    where = device_of(input.payload)
    return -1 if where.type == "cpu" else where.index or 0

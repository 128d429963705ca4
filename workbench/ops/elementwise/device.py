"""Moving values between devices."""

from __future__ import annotations

from workbench.base.devices import Device
from workbench.base.dtypes import as_dtype, is_dtype
from workbench.core.backend import device_of, move
from workbench.core.batch_rules import as_it_is
from workbench.core.dtype_rules import KEEP
from workbench.core.families import grid
from workbench.core.op import Absent, Op, Sample, Saves, ops
from workbench.core.typing import DeviceLike, DTypeLike, Tensor
from workbench.core.value import Value
from workbench.ops.offer import offered

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
def cpu(input: Tensor) -> Tensor:
    """Return the tensor on the CPU; itself if it is there.

    >>> import workbench as wb
    >>> wb.ones(2).cpu().device
    device(type='cpu')
    """
    return input if device_of(input.payload) == "cpu" else TO_DEVICE(input, device="cpu")


@offered("Tensor")
def to(
    input: Tensor,
    *targets: DTypeLike | DeviceLike | Tensor,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    copy: bool = False,
) -> Tensor:
    """Return the tensor in another type, on another device, or both; itself if it is so already, unless `copy`.

    Targets are a type (``x.to(wb.float64)``), a device (``x.to("cuda:0")``), both, or a tensor to be like. Names stay.
    Raises `DeviceError` for a device that is not there.

    >>> import workbench as wb
    >>> wb.ones(2).to(wb.int64), wb.ones(2).to("cpu", wb.float64).dtype
    (tensor([1, 1]), workbench.float64)
    """
    for target in targets:
        if isinstance(target, Value):
            dtype, device = target.payload.dtype, device_of(target.payload)
        elif isinstance(target, Device) or (isinstance(target, str) and not is_dtype(target)):
            device = target
        else:
            dtype = target
    result = input
    if dtype is not None and as_dtype(dtype).numpy != result.payload.dtype:
        result = ops.to(result, dtype=as_dtype(dtype).numpy)
    if device is not None and move(result.payload, device) is not result.payload:
        result = TO_DEVICE(result, device=Device(device))
    return ops.clone(input) if copy and result is input else result

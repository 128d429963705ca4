"""Backends: devices from outside this package. A backend names a device and gives kernels by the names of ops.

The payload of a tensor on a device is the backend's own array. Dispatch sends such calls here: the dims rule, the type
rule, names, the tape and graphs are the table's, so that a backend gets them all; it only computes. An op it has no
kernel for is computed on the CPU, with one warning an op, unless the backend forbids that.

A package offers its backend by the entry point ``workbench.backends``; it is imported when a device of an unknown
name is first asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.base.annotations import annotations_of
from workbench.base.devices import CPU, Device
from workbench.base.errors import DeviceError
from workbench.base.lazy import metadata
from workbench.core.op import Op

__all__ = [
    "Backend",
    "backend_of",
    "backends",
    "device_of",
    "find",
    "is_available",
    "move",
    "register_backend",
    "run",
]

GROUP = "workbench.backends"


@dataclass(frozen=True, eq=False)
class Backend:
    """A device and what it can compute.

    Arrays have ``shape``, ``dtype`` (a NumPy type), ``ndim`` and ``nbytes``. A kernel is called as the op's own array
    code is, ``kernel(*arrays, **parameters)``, with arrays of the backend (and Python scalars), brought to one type.
    """

    name: str
    """What its devices are called, e.g. ``toy``: a tensor goes there by ``x.to("toy")``."""
    array: type
    """The type of its arrays."""
    from_numpy: Callable[[np.ndarray[Any, Any], Device], Any]
    """Copy a NumPy array to a device."""
    to_numpy: Callable[[Any], np.ndarray[Any, Any]]
    """Copy an array back."""
    kernels: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """What it computes itself, by the names of ops."""
    generic: Callable[[Op], bool] = lambda op: False
    """Says whether the op's own array code works on its arrays, as through NumPy's protocols."""
    fallback: bool = True
    """Whether an op without a kernel may be computed on the CPU."""
    device_of: Callable[[Any], Device] | None = None
    """Which of its devices an array is on; None if it has only one."""
    write: Callable[[Any, Any], None] | None = None
    """``write(array, source)`` overwrites an array; None if its arrays do not change, and a view owns its numbers."""
    shares: Callable[[Any, Any], bool] | None = None
    """Says whether two of its arrays share memory. Where it is given, views are those that do."""
    from_dlpack: Callable[[Any], Any] | None = None
    """Take over the memory of another library's array on this device; None if it cannot."""
    compile: Callable[[Any], Callable[..., Any]] | None = None
    """Make a graph of the workbench a function that the device computes as one program, which is given and gives
    tensors of the CPU; None if graphs run on it op by op."""


_by_name: dict[str, Backend] = {}
_by_array: dict[type, Backend] = {}
_unavailable: dict[str, str] = {}
"""Backends offered by packages that could not be imported, and why."""
_asked: list[bool] = []
_warned: set[tuple[str, str]] = set()


def register_backend(backend: Backend) -> Backend:
    """Make a backend's device known. Raises `DeviceError` if its name or its array type is taken or unusable.

    >>> import workbench as wb
    >>> wb.register_backend(wb.Backend("cpu", list, list, list))
    Traceback (most recent call last):
        ...
    workbench.base.errors.DeviceError: there is a device called 'cpu' already: give the backend another name
    """
    device = Device(backend.name)
    if device.index is not None:
        raise DeviceError(f"a backend's name has no index, got {backend.name!r}")
    if backend.name == "cpu" or backend.name in _by_name:
        raise DeviceError(f"there is a device called {backend.name!r} already: give the backend another name")
    if backend.array is np.ndarray or backend.array in _by_array:
        raise DeviceError(f"arrays of type {backend.array.__name__} belong to another backend already")
    # What __init__ sets is on no class: such fields are known by their annotations.
    missing = [word for word in ("shape", "dtype", "ndim", "nbytes") if not hasattr(backend.array, word)]
    known = annotations_of(backend.array)
    missing = [word for word in missing if word not in known]
    if missing:
        raise DeviceError(
            f"arrays of the backend {backend.name!r} must have shape, dtype, ndim and nbytes; "
            f"{backend.array.__name__} has no {', '.join(missing)} (a property, an attribute of the class, or an "
            "annotation)"
        )
    _by_name[backend.name] = backend
    _by_array[backend.array] = backend
    return backend


def backends() -> Mapping[str, str]:
    """Return the devices besides the CPU, found or offered by installed packages, each with a word on its state."""
    _ask()
    return {**dict.fromkeys(_by_name, "available"), **_unavailable}


def is_available(device_type: str) -> bool:
    """Say whether there is a device of this type: ``cpu``, or one of a backend that can be used.

    >>> is_available("cpu"), is_available("tpu")
    (True, False)
    """
    if device_type == "cpu" or device_type in _by_name:
        return True
    _ask()
    return device_type in _by_name


def _ask() -> None:
    """Import the backends that installed packages offer, once."""
    if _asked:
        return
    # Noted first: a package that is being imported may ask for devices itself.
    _asked.append(True)
    for entry in metadata.entry_points(group=GROUP):
        if entry.name in _by_name:
            continue
        try:
            found = entry.load()
            if entry.name not in _by_name:  # importing it may have registered it
                register_backend(found if isinstance(found, Backend) else found())
        except ImportError as error:
            _unavailable[entry.name] = f"cannot be imported: {error}"
        except DeviceError as error:
            _unavailable[entry.name] = str(error)


def find(device: Any) -> tuple[Device, Backend | None]:
    """Return a device by its name, and its backend (None for the CPU). Raises `DeviceError` if there is none."""
    device = Device(device)
    if device.type == "cpu":
        return CPU, None
    if device.type not in _by_name:
        _ask()
    found = _by_name.get(device.type)
    if found is None:
        reason = f" ({_unavailable[device.type]})" if device.type in _unavailable else ""
        raise DeviceError(
            f"there is no device {str(device)!r} here{reason}. There are: {', '.join(['cpu', *_by_name])}. A package "
            f"adds one by the entry point {GROUP!r}."
        )
    return device, found


def backend_of(array: Any) -> Backend | None:
    """Return the backend whose array this is; None for anything else."""
    return _by_array.get(type(array))


def device_of(array: Any) -> Device:
    """Return where the numbers of a payload are."""
    backend = _by_array.get(type(array))
    if backend is None:
        return CPU
    return Device(backend.name) if backend.device_of is None else backend.device_of(array)


def move(array: Any, device: Any) -> Any:
    """Return a payload's numbers on another device; the payload itself if they are there."""
    if device is CPU and type(array) is np.ndarray:
        return array
    device, backend = find(device)
    here = device_of(array)
    # A device without an index means any of its kind: what is on one of them stays there.
    if here == device or (backend is not None and device.index is None and here.type == device.type):
        return array
    source = backend_of(array)
    plain = array if source is None else source.to_numpy(array)
    return plain if backend is None else backend.from_numpy(plain, device)


def together(op: Op, arrays: list[Any]) -> tuple[Backend, Device]:
    """Return the one device that the arrays are on. Raises `DeviceError` if there are several.

    CPU tensors without dims, and index tensors, go with every device.
    """
    found: Device | None = None
    for array in arrays:
        if backend_of(array) is not None:
            device = device_of(array)
            if found is not None and device != found:
                raise _apart(op, found, device)
            found = device
    assert found is not None  # dispatch has seen one
    for array in arrays[op.dtype.skip :]:
        if isinstance(array, np.ndarray) and array.ndim and array.dtype.kind in "fcV":
            raise _apart(op, found, CPU)
    backend = _by_name[found.type]
    return backend, found


def _apart(op: Op, a: Device, b: Device) -> DeviceError:
    return DeviceError(
        f"{op.name}: Expected all tensors to be on the same device, but found at least two devices, {a} and {b}. "
        f"Move one of them, e.g. x.to({str(a)!r})."
    )


def run(
    op: Op,
    arrays: list[Any],
    params: dict[str, Any],
    cast: Callable[[Op, list[Any]], Any],
    compute: Callable[[Op, list[Any], dict[str, Any]], Any],
) -> Any:
    """Compute `op` on arrays of a backend: by its kernel, by the op's own array code, or on the CPU by `compute`."""
    backend, device = together(op, arrays)
    kernel = backend.kernels.get(op.name)
    if kernel is None and backend.generic(op):
        kernel = op.forward
    if kernel is not None:
        own = [move(array, device) if isinstance(array, np.ndarray) else array for array in arrays]
        own, half = _cast(op, own, backend, device, cast)
        out = kernel(*own, **params)
        if half is None:
            return out
        dtypes = op.dtype.results(half, params)
        if not isinstance(out, tuple):
            return _to(out, dtypes, backend, device)
        dtypes = dtypes if isinstance(dtypes, tuple) else (dtypes,) * len(out)
        return tuple([_to(one, dtype, backend, device) for one, dtype in zip(out, dtypes, strict=True)])
    if not backend.fallback:
        raise DeviceError(
            f"the backend {backend.name!r} has no kernel for op {op.name!r} and does not allow the CPU to stand in. "
            f'Register one under kernels["{op.name}"], or compute on the CPU: x.to("cpu").'
        )
    # Said once for an op, since a training loop would say it at every step.
    if (backend.name, op.name) not in _warned:
        _warned.add((backend.name, op.name))
        warnings.warn(
            f"the backend {backend.name!r} has no kernel for op {op.name!r}: it is computed on the CPU, which copies "
            "the values there and back.",
            UserWarning,
            stacklevel=2,
        )
    out = compute(op, [move(array, CPU) if backend_of(array) else array for array in arrays], params)
    several = out if isinstance(out, tuple) else (out,)
    several = tuple(backend.from_numpy(np.asarray(one), device) for one in several)
    return several if isinstance(out, tuple) else several[0]


def _cast(
    op: Op, arrays: list[Any], backend: Backend, device: Device, cast: Callable[[Op, list[Any]], Any]
) -> tuple[list[Any], np.dtype[Any] | None]:
    """Bring arrays to the type that the op's rule asks for, on their device where the backend can.

    Returns the 16-bit type to go back to where the op is computed in float32 in its stead, else None.
    """
    # Stand-ins of the same types and numbers of dims: the type rule reads no more, and nothing leaves the device.
    kinds = [np.empty((0,) * array.ndim, array.dtype) if backend_of(array) else array for array in arrays]
    wanted, half = cast(op, kinds)
    return [
        array if backend_of(array) is None else _to(array, kind.dtype, backend, device)
        for array, kind in zip(arrays, wanted, strict=True)
    ], half


def _to(array: Any, dtype: np.dtype[Any], backend: Backend, device: Device) -> Any:
    if array.dtype == dtype:
        return array
    convert = backend.kernels.get("to")
    if convert is not None:
        return convert(array, dtype=dtype)
    return backend.from_numpy(backend.to_numpy(array).astype(dtype), device)


def is_view(backend: Backend, op: Op, array: Any, viewed: Any) -> bool:
    """Say whether the output of a view op counts as a view of `viewed`: what is written there is written here."""
    if backend.shares is None:
        return True
    if backend.kernels.get(op.name) is None and not backend.generic(op):
        return True  # a copy by way of the CPU, which refuses to be written to
    return backend.shares(array, viewed)

"""The one device beside the CPU that a program would compute on, in PyTorch's words: a GPU by CuPy, or none."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from workbench import cpu, cuda
from workbench.base.devices import Device
from workbench.base.errors import DeviceError, UnavailableError
from workbench.base.public import words

__all__ = [
    "current_accelerator", "current_device_index", "device_count", "empty_cache", "is_available",
    "max_memory_allocated", "memory_allocated", "set_device_index", "synchronize",
]  # fmt: skip


_MODULES: dict[str, ModuleType] = {"cpu": cpu, "cuda": cuda}


def is_available() -> bool:
    """Say whether there is one.

    >>> import workbench as wb
    >>> device = wb.accelerator.current_accelerator() if wb.accelerator.is_available() else wb.device("cpu")
    """
    return cuda.is_available()


def current_accelerator(check_available: bool = False) -> Device | None:
    """Return the device, or None where there is none."""
    return Device("cuda") if cuda.is_available() else None


def device_count() -> int:
    """Return how many there are."""
    return cuda.device_count()


def _need() -> None:
    if not cuda.is_available():
        raise UnavailableError(
            "Cannot access accelerator device when none is available: ask accelerator.is_available() first"
        )


def current_device_index() -> int:
    """Return the number of the one in use. Raises UnavailableError where there is none."""
    _need()
    return cuda.current_device()


def set_device_index(device: Any) -> None:
    """Use another one from now on. Raises UnavailableError where there is none."""
    _need()
    cuda.set_device(device)


def synchronize(device: Any = None) -> None:
    """Wait until it has done all that it was told. Raises UnavailableError where there is none."""
    _need()
    cuda.synchronize(device)


def empty_cache() -> None:
    """Give memory that nobody uses back. Raises UnavailableError where there is none."""
    _need()
    cuda.empty_cache()


def get_device_module(device: Any = None) -> ModuleType:
    """Return what `wb` has for a device, ``wb.cpu`` or ``wb.cuda``. Raises DeviceError for any other."""
    kind = Device("cpu" if device is None else device).type
    if kind not in _MODULES:
        raise DeviceError(
            f"get_device_module: there is no module for the device {kind!r}; ask for 'cpu' or 'cuda'"
        )
    return _MODULES[kind]


def memory_allocated(device: Any = None) -> int:
    """Return the bytes that arrays have there. Raises UnavailableError where there is none."""
    _need()
    return cuda.memory_allocated(device)


def max_memory_allocated(device: Any = None) -> int:
    """Return the bytes that arrays have there: nobody counts the most. Raises UnavailableError where there is none."""
    _need()
    return cuda.max_memory_allocated(device)


__getattr__, __dir__ = words(__name__, __all__)

"""Settings of the whole library in PyTorch's words: kept, and told again to who asks."""

from __future__ import annotations

from typing import Any

from workbench.base.devices import CPU, Device
from workbench.base.errors import DeviceError
from workbench.core.backend import find
from workbench.kernels.matmul import fix_products

__all__ = [
    "are_deterministic_algorithms_enabled", "get_default_device", "get_deterministic_debug_mode",
    "get_float32_matmul_precision", "get_num_interop_threads", "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled", "set_default_device", "set_deterministic_debug_mode", "set_float32_matmul_precision",
    "set_num_interop_threads", "set_warn_always", "use_deterministic_algorithms",
]  # fmt: skip

_PRECISIONS = ("highest", "high", "medium")
_MODES = ("default", "warn", "error")

_kept: dict[str, Any] = {
    "precision": "highest",
    "deterministic": 0,
    "warn_always": False,
    "interop_threads": 1,
}


def set_float32_matmul_precision(precision: str) -> None:
    """Allow products of float32 with fewer digits: ``highest``, ``high`` or ``medium``. All have 24 bits here.

    Raises ValueError for another word.
    """
    if precision not in _PRECISIONS:
        raise ValueError(f"precision is one of {', '.join(map(repr, _PRECISIONS))}, got {precision!r}")
    _kept["precision"] = precision


def get_float32_matmul_precision() -> str:
    """Return what `set_float32_matmul_precision` has set."""
    return str(_kept["precision"])


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Allow only what repeats its results in every process on the same machine.

    Every op does. What changes is how larger products of matrices are computed: in a way that no measurement decides.
    Else it is the one that was the fastest when that was measured here; it is kept in a file, so that later processes
    choose alike, until the file is removed or a library is another.
    """
    _set_deterministic((1 if warn_only else 2) if mode else 0)


def _set_deterministic(mode: int) -> None:
    _kept["deterministic"] = mode
    fix_products(mode > 0)


def are_deterministic_algorithms_enabled() -> bool:
    """Say whether only what repeats its results was asked for."""
    return bool(_kept["deterministic"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Say whether what does not repeat its results would warn only."""
    return bool(_kept["deterministic"] == 1)


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Say what happens to what does not repeat its results: ``default`` (0), ``warn`` (1) or ``error`` (2)."""
    if debug_mode not in (0, 1, 2, *_MODES):
        raise ValueError(f"debug_mode is one of {', '.join(_MODES)}, or 0, 1, 2; got {debug_mode!r}")
    _set_deterministic(_MODES.index(debug_mode) if isinstance(debug_mode, str) else debug_mode)


def get_deterministic_debug_mode() -> int:
    """Return what `set_deterministic_debug_mode` has set, as a number."""
    return int(_kept["deterministic"])


def set_num_interop_threads(num: int) -> None:
    """Say how many ops may run at once: here it is one after the other, each on `set_num_threads` threads."""
    if num < 1:
        raise RuntimeError(f"expected a positive number of threads, got {num}")
    _kept["interop_threads"] = num


def get_num_interop_threads() -> int:
    """Return what `set_num_interop_threads` has set."""
    return int(_kept["interop_threads"])


def set_warn_always(b: bool) -> None:
    """Say whether warnings that come once should come each time: Python's `warnings` decides here."""
    _kept["warn_always"] = b


def is_warn_always_enabled() -> bool:
    """Return what `set_warn_always` has set."""
    return bool(_kept["warn_always"])


def set_default_device(device: Any) -> None:
    """Have tensors made on the CPU where no device is named, as always. Raises DeviceError for another device."""
    if device is not None and find(device)[0] != CPU:
        raise DeviceError(
            f"set_default_device: tensors are made on the CPU where no device is named: say device={str(device)!r} "
            "where they are made"
        )


def get_default_device() -> Device:
    """Return where tensors are made if no device is named: the CPU."""
    return CPU

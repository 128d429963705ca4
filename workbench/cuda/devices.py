"""Which GPUs there are, and which is meant where none is named."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from workbench.base.devices import Device
from workbench.base.errors import UnavailableError
from workbench.base.lazy import Lazy
from workbench.core import backend

__all__ = [
    "CUPY", "current_device", "device", "device_count", "device_of", "get_arch_list", "get_device_capability",
    "get_device_name", "get_device_properties", "index_of", "init", "is_available", "is_bf16_supported",
    "is_initialized", "is_tf32_supported", "need", "set_device", "synchronize",
]  # fmt: skip

CUPY = Lazy("cupy")


def is_available() -> bool:
    """Say whether there is a GPU to compute on: one of NVIDIA's that CuPy can use.

    >>> import workbench as wb
    >>> device = "cuda" if wb.cuda.is_available() else "cpu"
    """
    return backend.is_available("cuda")


def need(word: str) -> None:
    """Refuse `word` where there is no GPU. Raises UnavailableError.

    RuntimeError is among its bases, which is what programs catch.
    """
    if not is_available():
        raise UnavailableError(
            f"cuda.{word} needs a GPU, and there is none that CuPy can use here: ask cuda.is_available() first, and "
            "compute on 'cpu'"
        )


def device_count() -> int:
    """Return how many GPUs there are."""
    return int(CUPY.cuda.runtime.getDeviceCount()) if is_available() else 0


def is_initialized() -> bool:
    """Say whether a GPU has been made ready: CuPy does so when it is asked for one."""
    return is_available()


def init() -> None:
    """Make the GPUs ready. Raises UnavailableError without one."""
    need("init")


def index_of(given: Any) -> int:
    """Return the number of a GPU: of ``"cuda:1"``, of 1, of a tensor's device, or of the current one for None."""
    if isinstance(given, int):
        return given
    index = None if given is None else Device(given).index
    return current_device() if index is None else index


def current_device() -> int:
    """Return the number of the GPU that ``"cuda"`` means. Raises UnavailableError without one."""
    need("current_device")
    return int(CUPY.cuda.runtime.getDevice())


def set_device(device: Any) -> None:
    """Have ``"cuda"`` mean this GPU from now on. Raises UnavailableError without one."""
    need("set_device")
    CUPY.cuda.runtime.setDevice(index_of(device))


def get_device_name(device: Any = None) -> str:
    """Return what a GPU calls itself. Raises UnavailableError without one."""
    need("get_device_name")
    return str(get_device_properties(device)["name"].decode())


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return the version of a GPU's instructions, (major, minor). Raises UnavailableError without one."""
    need("get_device_capability")
    found = get_device_properties(device)
    return int(found["major"]), int(found["minor"])


def get_device_properties(device: Any = None) -> Any:
    """Return what CuPy's runtime says of a GPU. Raises UnavailableError without one."""
    need("get_device_properties")
    return CUPY.cuda.runtime.getDeviceProperties(index_of(device))


def get_arch_list() -> list[str]:
    """Return for which GPUs there is compiled code: CuPy compiles its own when it needs it."""
    return []


def is_tf32_supported() -> bool:
    """Say whether products on a GPU can be computed in 19 bits: not asked for here."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Say whether GPUs compute in bfloat16: CuPy has no such type."""
    return False


def synchronize(device: Any = None) -> None:
    """Wait until a GPU has done all that it was told. Raises UnavailableError without one."""
    need("synchronize")
    CUPY.cuda.Device(index_of(device)).synchronize()


class device:
    """Have ``"cuda"`` mean this GPU within a block; None, or a number below 0, changes nothing."""

    def __init__(self, device: Any) -> None:
        given = -1 if device is None else device
        self.idx = given if isinstance(given, int) else index_of(given)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.idx >= 0:
            set_device(self.prev_idx)


class device_of(device):
    """Have ``"cuda"`` mean the GPU that a tensor is on within a block; a tensor of the CPU changes nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device if obj.device.type == "cuda" else None)

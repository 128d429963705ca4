"""Random numbers: generators with seeds, a secure one without, and the default one.

All draws are made by one thread in one order, so that a seed gives the same stream whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from workbench.base.devices import CPU, Device
from workbench.base.secure import SecureStream

__all__ = [
    "Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
    "set_rng_state",
]  # fmt: skip


class Generator:
    """A stream of random numbers; the same seed gives the same stream.

    With ``secure=True`` the numbers come from the operating system's cryptographically secure source instead: nobody
    can predict or repeat them, and there is no seed and no state (asking for one raises RuntimeError).

    >>> a, b = Generator(7), Generator(7)
    >>> bool((a.numpy.random(3) == b.numpy.random(3)).all())
    True
    """

    numpy: Any
    """The stream, in the words of NumPy's generator."""

    device: Any = CPU
    """All streams are drawn on the CPU, for whatever device."""

    def __init__(self, seed: Any = None, *, secure: bool = False, device: Any = None) -> None:
        # By position PyTorch has the device here, which says nothing of the stream.
        if isinstance(seed, str) and seed.partition(":")[0] in ("cpu", "cuda", "mps", "xpu"):
            device, seed = seed, None
        if device is not None:
            _check_cpu(Device(device))
        self.secure = secure
        if secure:
            if seed is not None:
                raise RuntimeError("a secure generator has no seed: its numbers cannot be repeated")
            self.numpy = SecureStream()
            return
        self._seed = None if seed is None else _checked(seed)

    def __getattr__(self, name: str) -> Any:
        # The stream is made when it is first drawn from: importing NumPy's takes time.
        if name != "numpy":
            raise AttributeError(f"'Generator' object has no attribute {name!r}")
        self._seed = _fresh_seed() if self._seed is None else self._seed
        self.numpy = _stream(self._seed)
        return self.numpy

    def _refuse(self) -> None:
        if self.secure:
            raise RuntimeError(
                "a secure generator has neither seed nor state: its numbers cannot be repeated"
            )

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of `seed`."""
        self._refuse()
        self._seed = _checked(seed)
        self.numpy = _stream(self._seed)
        return self

    def seed(self) -> int:
        """Start a stream that chance chooses, and return its seed."""
        return self.manual_seed(_fresh_seed()).initial_seed()

    def initial_seed(self) -> int:
        """Return the seed that started the stream."""
        self._refuse()
        self._seed = _fresh_seed() if self._seed is None else self._seed
        return self._seed

    def get_state(self) -> dict[str, Any]:
        """Return where the stream is, for `set_state`."""
        self._refuse()
        return {"seed": self.initial_seed(), **self.numpy.bit_generator.state}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a place that `get_state` returned."""
        self._refuse()
        rest = dict(state)
        seed = rest.pop("seed", None)
        self.numpy.bit_generator.state = rest
        self._seed = self.initial_seed() if seed is None else seed

    def __reduce__(self) -> tuple[Any, ...]:
        return (_secure, ()) if self.secure else (_restored, (self.get_state(),))

    def __repr__(self) -> str:
        return "Generator(secure=True)" if self.secure else f"Generator(seed={self.initial_seed()})"


def _check_cpu(device: Device) -> None:
    if device.type != "cpu":
        raise RuntimeError(
            f"a generator draws on the CPU, and what it draws is moved to a device: got device={str(device)!r}"
        )


def _checked(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(f"a seed is a whole number, got {seed!r}")
    return int(seed)


def _fresh_seed() -> int:
    # An int64 holds it.
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)


def _stream(seed: int) -> Any:
    # NumPy takes no seed below 0. A list starts another stream than any number does.
    return np.random.default_rng(seed if seed >= 0 else [-seed, 1])


def _secure() -> Generator:
    return Generator(secure=True)


def _restored(state: dict[str, Any]) -> Generator:
    generator = Generator(0)
    generator.set_state(state)
    return generator


default_generator = Generator()
"""What random factories and layers draw from when no generator is given."""


def manual_seed(seed: int) -> Generator:
    """Start the default generator on the stream of `seed` and return it."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start the default generator on a stream that chance chooses, and return its seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """Return the seed that started the default generator's stream."""
    return default_generator.initial_seed()


def get_rng_state() -> dict[str, Any]:
    """Return where the default generator's stream is."""
    return default_generator.get_state()


def set_rng_state(new_state: dict[str, Any]) -> None:
    """Let the default generator go on from a place that `get_rng_state` returned."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cpu",
) -> Iterator[None]:
    """Give the default generator its present state back at the end of this block, if `enabled`.

    It is the only one: `devices` and `device_type` say nothing more.
    """
    if not enabled:
        yield
        return
    state = default_generator.get_state()
    try:
        yield
    finally:
        default_generator.set_state(state)

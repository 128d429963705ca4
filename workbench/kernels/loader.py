"""Finds the compiled module, or the reason why there is none."""

from __future__ import annotations

import ctypes
import importlib
import os
import pathlib
import sys
from typing import Any

from workbench.base.lazy import metadata

__all__ = ["available", "native", "reason"]

SETTING = "WORKBENCH_KERNELS"
"""Environment variable: ``off`` keeps the compiled kernels unused: NumPy's code runs in their place."""

INTERFACE = 39
"""What this Python code expects of the compiled module; `source/module.cpp` has the same number. It rises with every
change of a name or an argument that Python uses, so that two halves of different ages are never put together."""

_ONEDNN_DISTRIBUTION = "onednn-cpu-gomp"
_ONEDNN_LIBRARY = "libdnnl.so.3"


def _load() -> tuple[Any, str]:
    if os.environ.get(SETTING, "").strip().lower() == "off":
        return None, f"they are switched off by {SETTING}=off"
    _shorten_spinning()
    name = f"{__name__.partition('.')[0]}._kernels"
    try:
        return _matching(importlib.import_module(name))
    except ModuleNotFoundError as error:
        # Something that the module itself imports is missing: no reason to go on quietly without it.
        if error.name != name:
            raise
        return None, "the compiled module workbench._kernels has not been built for this Python"
    except ImportError as error:
        first = error
    # A module that was built in place does not lie relative to oneDNN's wheel: open the library first.
    if not _open_onednn():
        return None, f"the compiled module cannot be loaded: {first}"
    try:
        return _matching(importlib.import_module(name))
    except ImportError as error:
        return None, f"the compiled module cannot be loaded: {error}"


def _matching(module: Any) -> tuple[Any, str]:
    """Return the module if it is of the age of this code, else None and why."""
    # Modules from before there was a number have none.
    found = getattr(module, "interface", 0)
    if found == INTERFACE:
        return module, ""
    age = "older" if found < INTERFACE else "newer"
    return None, (
        f"the compiled module is {age} than the Python code beside it (interface {found}, expected {INTERFACE}): "
        "build both anew with `make` or `pip install`"
    )


def _shorten_spinning() -> None:
    """Let OpenMP's threads wait for each other asleep after some 20 microseconds.

    They would spin for milliseconds by default. On a machine that has anything else to do, such as a browser, the
    thread that is waited for then waits for the processor that the other one spins on, and a step that takes 5 ms
    takes 80. libgomp reads its environment once, when it is loaded; what the user has set is respected.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "2000")


def _open_onednn() -> bool:
    places = [pathlib.Path(sys.prefix) / "lib" / _ONEDNN_LIBRARY]
    try:
        distribution = metadata.distribution(_ONEDNN_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        pass
    else:
        for file in distribution.files or ():
            if file.name == _ONEDNN_LIBRARY:
                # The wheel's own record knows best; the prefix is where other ways of installing put it.
                places.insert(0, pathlib.Path(str(distribution.locate_file(file))))
    for place in places:
        if place.is_file():
            try:
                # Once a library of this name is open, the linker takes that one for the module, wherever it lies.
                ctypes.CDLL(str(place), mode=ctypes.RTLD_GLOBAL)
            except OSError:
                continue
            return True
    return False


native: Any
"""The compiled module, or None."""
native, _reason = _load()


def available() -> bool:
    """Say whether the compiled kernels are there and in use."""
    return native is not None


def reason() -> str:
    """Return why the compiled kernels are not used, in one line; empty when they are."""
    return _reason

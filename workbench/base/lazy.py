"""Libraries that are imported when they are first used, so that `import workbench` stays fast."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

__all__ = [
    "Lazy",
    "after_import",
    "imported",
    "metadata",
    "scipy_blas",
    "scipy_fft",
    "scipy_linalg",
    "scipy_sparse",
    "scipy_sparse_linalg",
    "scipy_special",
]


after_import: list[Callable[[], None]] = []
"""Called when a module is first used: it may have brought libraries that want to be told of settings."""


class Lazy:
    """Stands for a module, and imports it at the first look at one of its names.

    >>> float(Lazy("math").sqrt(4))
    2.0
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._used = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # whoever looks over all there is does not mean to import it
        found = getattr(importlib.import_module(self._name), name)
        if not self._used:
            self._used = True
            for function in after_import:
                function()
        # Found from now on without this method.
        setattr(self, name, found)
        return found


def imported(name: str) -> Any:
    """Return a module by its full name, imported now if it has not been.

    >>> imported("math").sqrt(4)
    2.0
    """
    return importlib.import_module(name)


metadata = Lazy("importlib.metadata")
scipy_special = Lazy("scipy.special")
scipy_linalg = Lazy("scipy.linalg")
scipy_blas = Lazy("scipy.linalg.blas")
scipy_fft = Lazy("scipy.fft")
scipy_sparse = Lazy("scipy.sparse")
scipy_sparse_linalg = Lazy("scipy.sparse.linalg")

"""Arithmetic on codes: whose roundings are followed, as ``torch.backends.quantized`` says it.

>>> import workbench as wb
>>> wb.backends.quantized.engine, "qnnpack" in wb.backends.quantized.supported_engines
('x86', True)
"""

from __future__ import annotations

import sys
import types

from workbench.base.public import words
from workbench.ops.quantized.engines import ENGINES, set_engine
from workbench.ops.quantized.engines import engine as engine_in_force

__all__ = ["engine", "supported_engines"]  # noqa: F822 (the properties below)


class _Quantized(types.ModuleType):
    """The module, whose `engine` can be set; an unknown one is refused."""

    @property
    def engine(self) -> str:
        """The engine in force: ``qnnpack``, ``onednn``, ``x86`` or ``fbgemm``."""
        return engine_in_force()

    @engine.setter
    def engine(self, name: str) -> None:
        set_engine(name)

    @property
    def supported_engines(self) -> list[str]:
        """All engines."""
        return list(ENGINES)


sys.modules[__name__].__class__ = _Quantized

__getattr__, __dir__ = words(__name__, __all__)

"""The module ``torch``: the workbench's names, and PyTorch's where one of them means something else here."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from workbench.version import TorchVersion, __version__

__all__ = ["Vocabulary"]

_MISSING = object()


class Vocabulary(ModuleType):
    """`torch` to a program: every public name of `workbench`, and the version of PyTorch that its words are from.

    It is a module of its own, so that what a program sets (``torch.load = …``) is the program's.
    """

    def __init__(self, workbench: ModuleType) -> None:
        super().__init__("torch", workbench.__doc__)
        self.workbench = workbench
        self.__version__: TorchVersion = __version__
        self.__file__ = workbench.__file__
        self.__all__ = list(workbench.__all__)
        # Looked up once: a call of a function costs what it costs under the workbench's own name.
        vars(self).update({name: one for name, one in vars(workbench).items() if not name.startswith("__")})

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.workbench, name)
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return sorted({*dir(self.workbench), "__version__"})

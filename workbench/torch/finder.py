"""The finder that answers for ``torch``: each of PyTorch's modules is one of the workbench's under that name."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from types import ModuleType
from typing import Any

import workbench
from workbench.base.errors import UnavailableError
from workbench.base.lazy import imported
from workbench.base.module_types import Gathered
from workbench.torch import children
from workbench.torch.vocabulary import Vocabulary
from workbench.version import __version__

__all__ = ["install", "is_installed", "uninstall"]

NAME = "torch"


class _Given(Loader):
    """Loads a module by having it."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.own = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        # Python has noted the name that was asked for; the module goes on knowing its own.
        if self.own is not None:
            module.__spec__ = self.own


class _Installed(Distribution):
    """What programs read that ask for PyTorch's version as a package's."""

    def read_text(self, filename: str) -> str | None:
        return f"Name: torch\nVersion: {__version__}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        return path


class Finder(DistributionFinder):
    """Finds ``torch`` and all below it in the workbench, and leaves every other name to others."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how a module is loaded: what there is none of is nobody else's to find either."""
        if fullname.partition(".")[0] != NAME:
            return None
        parent, _, word = fullname.rpartition(".")
        module = _below(sys.modules[parent], word, fullname) if parent else Vocabulary(workbench)
        return None if module is None else ModuleSpec(fullname, _Given(module), is_package=True)

    def find_distributions(
        self,
        context: DistributionFinder.Context = DistributionFinder.Context(),  # noqa: B008  as its base has it
    ) -> Iterable[Distribution]:
        """Return the package ``torch``, which need not be installed."""
        return [_Installed()] if context.name == NAME else []


def _below(parent: Any, word: str, fullname: str) -> ModuleType | None:
    """Return the module that is `word` in `parent`: a file of ours, one of PyTorch's, or a room by another name."""
    own = parent.workbench if isinstance(parent, Vocabulary) else parent
    if isinstance(own, Gathered):
        return Gathered(fullname, *own.sources)
    path = f"{own.__name__}.{word}"
    there = hasattr(own, "__path__") and importlib.util.find_spec(path) is not None
    if not there and word in getattr(own, "PYTORCH_FILES", ()):
        # PyTorch divides its rooms into files otherwise: any of the room's names may be asked for in each.
        return Gathered(fullname, own)
    found = imported(path) if there else getattr(own, word, None)
    return found if isinstance(found, ModuleType) else None


_finder = Finder()


def is_installed() -> bool:
    """Say whether ``torch`` means the workbench in this process."""
    return _finder in sys.meta_path


def install() -> None:
    """Have ``import torch`` mean the workbench in this process, and in those that `multiprocessing` starts from it.

    Raises UnavailableError where PyTorch has been imported: two libraries under one name would mix their tensors.
    """
    if is_installed():
        return
    loaded = sys.modules.get(NAME)
    if loaded is not None:
        raise UnavailableError(
            f"PyTorch {getattr(loaded, '__version__', '')} has been imported in this process, and objects of both "
            "would meet under one name: restart, and load workbench.torch before anything that imports torch"
        )
    sys.meta_path.insert(0, _finder)
    children.tell(install)


def uninstall() -> None:
    """Leave ``torch`` to Python again: what has been imported stays what it is, and is imported anew by its name."""
    if not is_installed():
        return
    sys.meta_path.remove(_finder)
    children.tell(None)
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]

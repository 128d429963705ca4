"""What is to happen once a library has been imported, if it ever is: some want to be told of our tensors then."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, cast

__all__ = ["when_imported"]

_waiting: dict[str, Callable[[], Any]] = {}


def when_imported(name: str, call: Callable[[], Any]) -> None:
    """Call a function when the module `name` has been imported: now if it is there already.

    >>> import sys
    >>> when_imported("sys", lambda: print("is there"))
    is there
    """
    if name in sys.modules:
        call()
        return
    _waiting[name] = call
    if _FINDER not in sys.meta_path:
        # The others find modules; this one only has to be asked before them.
        sys.meta_path.insert(0, _FINDER)


class _Finder:
    """Finds what the others find, and for a module that is waited for adds the call behind its loading."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _waiting:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = cast(Any, _Loader(spec.loader))
                return spec
        return None


class _Loader:
    """A module's own loader, and what is to be called behind it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # Whoever asks the module later for its source finds its own loader.
        assert module.__spec__ is not None
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        call = _waiting.pop(module.__name__, None)
        if not _waiting:
            sys.meta_path.remove(_FINDER)
        if call is not None:
            call()


_FINDER: Any = _Finder()

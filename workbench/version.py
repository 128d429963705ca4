"""Which of PyTorch's versions the words here are those of: programs ask before they use newer ones."""

from __future__ import annotations

import re
from typing import Any

from workbench.base.public import words

__all__ = ["TorchVersion", "__version__", "cuda", "debug", "git_version", "hip", "xpu"]


class TorchVersion(str):
    """A version as text that is compared as numbers, with text and with tuples.

    >>> TorchVersion("2.13.0") > "2.9", TorchVersion("2.13.0") >= (1, 10), TorchVersion("2.13.0").split(".")[0]
    (True, True, '2')
    """

    def _numbers(self) -> tuple[int, ...]:
        return _numbers(self)

    def __lt__(self, other: Any) -> bool:
        return self._numbers() < _numbers(other)

    def __le__(self, other: Any) -> bool:
        return self._numbers() <= _numbers(other)

    def __gt__(self, other: Any) -> bool:
        return self._numbers() > _numbers(other)

    def __ge__(self, other: Any) -> bool:
        return self._numbers() >= _numbers(other)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, str | tuple | list) and self._numbers() == _numbers(other)

    def __ne__(self, other: Any) -> bool:
        return not self == other

    __hash__ = str.__hash__


def _numbers(version: Any) -> tuple[int, ...]:
    """Return the numbers of a version without zeros at their end; what follows them, such as ``+cpu``, is left out."""
    if isinstance(version, tuple | list):
        found = [int(one) for one in version]
    else:
        start = re.match(r"\d+(\.\d+)*", str(version))
        found = [int(one) for one in start[0].split(".")] if start else []
    while found and found[-1] == 0:
        found.pop()
    return tuple(found)


__version__ = TorchVersion("2.13.0+workbench")
"""PyTorch's version, to which the tests hold the workbench; its own is ``wb.__version__``."""
cuda: str | None = None
"""The version of CUDA that this was built with: none."""
hip: str | None = None
xpu: str | None = None
git_version: str | None = None
debug = False

__getattr__, __dir__ = words(__name__, __all__)

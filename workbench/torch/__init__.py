"""Programs written for PyTorch, unchanged: in this process ``import torch`` means the workbench.

``python -m workbench.torch script.py`` runs a program so, and in a notebook ``%load_ext workbench.torch`` does it for
the cells that follow; ``%unload_ext workbench.torch`` undoes it. PyTorch need not be installed; where it is, it is
never loaded. No file is changed: a finder answers for the name ``torch``.
"""

from __future__ import annotations

from typing import Any

from workbench.base.public import words
from workbench.torch.finder import install, uninstall

__all__ = ["install", "load_ipython_extension", "uninstall", "unload_ipython_extension"]


def load_ipython_extension(ipython: Any) -> None:
    """Answer ``import torch`` with the workbench (IPython calls this)."""
    install()


def unload_ipython_extension(ipython: Any) -> None:
    """Leave ``torch`` to Python again (IPython calls this)."""
    uninstall()


__getattr__, __dir__ = words(__name__, __all__)

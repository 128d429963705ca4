"""PyTorch's hub fetches code and weights from a network and runs them: the workbench does neither."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from workbench.base.absent import refusing
from workbench.base.public import words

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

_REASON = (
    "needs a network, and would run what it fetched. Get the file yourself; wb.load_weights(path) reads weights "
    "without running anything"
)

load: Callable[..., Any] = refusing("hub.load", _REASON)
list: Callable[..., Any] = refusing("hub.list", _REASON)
help: Callable[..., Any] = refusing("hub.help", _REASON)
load_state_dict_from_url: Callable[..., Any] = refusing("hub.load_state_dict_from_url", _REASON)
download_url_to_file: Callable[..., Any] = refusing("hub.download_url_to_file", _REASON)

_folder: str | None = None


def get_dir() -> str:
    """Return the folder where PyTorch keeps what it fetched, or the one that was set."""
    if _folder is not None:
        return _folder
    home = os.environ.get("TORCH_HOME", os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "torch"))
    return os.path.join(os.path.expanduser(home), "hub")


def set_dir(d: str) -> None:
    """Set that folder."""
    global _folder
    _folder = os.path.expanduser(d)


__getattr__, __dir__ = words(__name__, __all__)

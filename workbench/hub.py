"""PyTorch's hub fetches code and weights from a network and runs them: the workbench does neither."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlparse

from workbench.base.absent import refusing
from workbench.base.public import words

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
"""Where a hash stands in the name of a file of weights."""

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "HASH_REGEX",
    "load",
    "load_state_dict_from_url",
    "set_dir",
    "urlparse",
]

_REASON = (
    "needs a network, and would run what it fetched. Get the file yourself; wb.load_weights(path) reads weights "
    "without running anything"
)

load: Callable[..., Any] = refusing("hub.load", _REASON)
list: Callable[..., Any] = refusing("hub.list", _REASON)
help: Callable[..., Any] = refusing("hub.help", _REASON)
load_state_dict_from_url: Callable[..., Any] = refusing("hub.load_state_dict_from_url", _REASON)
download_url_to_file: Callable[..., Any] = refusing("hub.download_url_to_file", _REASON)

_download_url_to_file = download_url_to_file
"""Its older name."""

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

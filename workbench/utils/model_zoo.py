"""The older name of what `wb.hub` refuses: the workbench fetches nothing."""

from __future__ import annotations

from workbench.base.public import words
from workbench.hub import load_state_dict_from_url

__all__ = ["load_url"]

load_url = load_state_dict_from_url

__getattr__, __dir__ = words(__name__, __all__)

"""The live link: what Python shows, carried to pages that look, and what people do there, carried back.

Everything here works without Jupyter: nothing is then built or sent.

>>> from workbench import live
>>> isinstance(live.models(), tuple)
True
>>> live.selection.clear()
>>> live.selection.node is None
True
"""

from __future__ import annotations

from workbench.base.public import words
from workbench.live import jupyter
from workbench.live.follow import follow
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.live.registry import models, registry, withdraw
from workbench.live.renderers import renderers, show
from workbench.live.selection import selection

__all__ = ["Refused", "Snapshot", "ViewModel", "models", "renderers", "selection", "show", "withdraw"]

follow(selection, registry)
jupyter.connect()

__getattr__, __dir__ = words(__name__, __all__)

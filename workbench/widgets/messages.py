"""The messages between Python and the browser, as widgets know them; they are written in `workbench.live.messages`."""

from __future__ import annotations

from workbench.live.messages import *  # noqa: F403
from workbench.live.messages import __all__ as __all__

"""Where in the user's code something happened: a line of a file, or of a notebook's cell."""

from __future__ import annotations

import sys
from types import FrameType

__all__ = ["calling_frame", "place"]


_NOT_THEIRS = ("workbench.", "numpy.")
"""Where names of modules begin whose lines are not the user's."""


def calling_frame() -> FrameType | None:
    """Return the nearest frame on the stack that is neither in this package nor in NumPy, or None if there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_NOT_THEIRS):
        frame = frame.f_back
    return frame


def place(filename: str, line: int) -> str:
    """Return a line of code as people know it: ``model.py:12``, or ``In[3]:12`` for a line of a cell.

    >>> place("/home/me/model.py", 12)
    'model.py:12'
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        # IPython knows which cell it compiled under which made-up file name.
        known = shell.compile.format_code_name(filename)
        if known is not None:
            return f"{known[1]}:{line}"
    return f"{filename.replace(chr(92), '/').rpartition('/')[2]}:{line}"

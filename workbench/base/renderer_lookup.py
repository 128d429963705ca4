"""The one door from lower rooms to their pictures: renderers are looked up only when something is shown.

Values and errors live below the widgets that draw them. They may not import them, so they ask here, and
the renderer is imported at the moment a front end shows the object.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["cell_of", "display_again", "display_error", "in_notebook", "mimebundle", "page"]

PICTURES = "workbench.widgets.pictures"
"""The module above that knows how each type of object is drawn; its ``html`` and ``mimebundle`` take one."""


def in_notebook() -> bool:
    """Say whether this process is the kernel of a notebook.

    >>> in_notebook()
    False
    """
    # Looked up, not imported: where nobody has imported IPython there is no notebook.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def cell_of(filename: str) -> str | None:
    """Return what IPython calls the cell that a frame's file stands for, ``Cell In[4]``; None for any other file.

    >>> cell_of(__file__)
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    found = None if shell is None else shell.compile.format_code_name(filename)
    return None if found is None else " ".join(found)


def html(thing: object) -> str:
    """Return `thing` as HTML, drawn by the renderer of its type."""
    drawn: str = importlib.import_module(PICTURES).html(thing)
    return drawn


def mimebundle(thing: object) -> Any:
    """Return what a front end needs to show `thing`, by type: plain text always, HTML from its renderer.

    In a notebook a value with something to move or to choose has its live view beside it.
    """
    return importlib.import_module(PICTURES).mimebundle(thing)


def page(thing: object) -> str:
    """Return `thing` as one HTML page that shows it by itself, with its scripts, where its type has one."""
    written: str = importlib.import_module(PICTURES).page(thing)
    return written


def display_error(error: Any) -> None:
    """Show the picture of `error` above its traceback; outside a notebook do nothing."""
    if not in_notebook():
        return
    display: Any = importlib.import_module("IPython.display")
    display.display(display.HTML(html(error)))


def display_again(thing: object) -> Callable[[], None] | None:
    """Show `thing` below the running cell; return what draws it anew in that place. Outside a notebook return None."""
    if not in_notebook():
        return None
    display: Any = importlib.import_module("IPython.display")
    handle = display.display(thing, display_id=True)
    return lambda: handle.update(thing)

"""Where JupyterLab finds the front end of this package."""

from __future__ import annotations

from pathlib import Path

__all__ = ["EXTENSION", "labextension_paths", "widget_bundles"]

EXTENSION = "@workbench/lab"
"""The name under which JupyterLab lists, enables and disables the panels."""

_PACKAGE = Path(__file__).resolve().parent.parent


def labextension_paths() -> list[dict[str, str]]:
    """What `_jupyter_labextension_paths` of the package returns: built folder and served name.

    >>> labextension_paths()
    [{'src': 'lab/labextension', 'dest': '@workbench/lab'}]
    """
    return [{"src": "lab/labextension", "dest": EXTENSION}]


def widget_bundles() -> list[str]:
    """Names of the anywidget bundles that were built, sorted."""
    return sorted(path.stem for path in (_PACKAGE / "widgets" / "static").glob("*.js"))

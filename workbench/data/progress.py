"""A bar that shows how far a loop over a loader is, how fast it goes, and how long it will take."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from workbench.base import renderer_lookup
from workbench.base.lazy import Lazy
from workbench.data.progress_line import ProgressLine, line_format

__all__ = ["progress"]

bars = Lazy("tqdm.std")
"""Its bars of text, in notebooks too, where `ProgressLine` draws them: those made of widgets are not saved with a
notebook, which shows an error in the place of each when it is opened again, and in a narrow cell they overlap."""


def progress(loader: Any, description: str | None = None, **options: Any) -> Any:
    """Return `loader` with a progress bar (tqdm's): rate and time left, in a notebook or a terminal.

    A loader that goes on in the middle of a pass, after `load_state_dict`, begins in the middle of the bar. `options`
    are tqdm's, such as ``leave=False``, ``unit`` or ``disable=True``. What is returned is iterated over, and has tqdm's
    methods, such as ``set_postfix(loss=0.1)``.

    >>> import workbench as wb
    >>> loader = wb.data.DataLoader(range(6), batch_size=2)
    >>> [batch.tolist() for batch in progress(loader, "epoch 1", disable=True)]
    [[0, 1], [2, 3], [4, 5]]
    """
    settings = {
        "desc": description,
        "unit": "batch",
        "dynamic_ncols": True,
        "initial": getattr(loader, "position", 0),
        "total": _length(loader),
        **options,
    }
    if renderer_lookup.in_notebook() and settings.get("file") is None:
        # Who says how the bar is written has it as text. Not on the stream of errors, which stands on red.
        own = "bar_format" in options
        drawn = (
            {"file": sys.stdout}
            if own
            else {"file": ProgressLine(), "bar_format": line_format(settings["total"])}
        )
        settings |= {**drawn, "dynamic_ncols": own}
    return bars.tqdm(_once(loader), **settings)


def _once(loader: Any) -> Iterator[Any]:
    """Go over a loader when the first batch is asked for: tqdm calls iter() twice, and workers start at each."""
    yield from loader


def _length(loader: Any) -> int | None:
    try:
        return len(loader)
    except TypeError:  # nobody knows: tqdm then counts
        return None

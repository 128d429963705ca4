"""A progress bar of a notebook: one line of HTML, whose parts stay whole in a narrow cell."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from workbench.base import renderer_lookup

__all__ = ["ProgressLine", "line_format"]

SEPARATOR = "\x1f"
BAR = (
    "flex:1 1 40px;min-width:24px;max-width:140px;height:9px;border-radius:2px;overflow:hidden;"
    "background:var(--jp-layout-color3,rgba(127,127,127,.3))"
)
DONE = "display:block;height:100%;background:var(--jp-brand-color1,#1976d2)"
LINE = "display:flex;flex-wrap:wrap;align-items:center;gap:0 10px;font-size:var(--jp-code-font-size,13px)"


def line_format(total: int | None, *, rate: bool = True) -> str:
    """Return what tqdm is to write of a bar, so that `ProgressLine` can take it apart."""
    parts = [
        "{desc}",
        "" if total is None else "{percentage:.0f}",
        "{n_fmt} {unit}" if total is None else "{n_fmt}/{total_fmt}",
        "{elapsed}" if total is None else "{remaining} left",
        "{rate_fmt}" if rate else "",
        "{postfix}",
    ]
    return SEPARATOR.join(parts)


class ProgressLine:
    """The file that tqdm writes to: each line it writes takes the place of the last one, below the running cell.

    Text on the stream is broken anywhere in a narrow cell, and a bar of widgets is not saved with the notebook.
    """

    def __init__(self) -> None:
        self._line = ""
        self._draw: Callable[[], None] | None = None

    def write(self, text: str) -> int:
        """Show the line that `text` begins; what only moves a cursor is nothing here."""
        line = text.removeprefix("\r").rstrip(" ")
        if text.startswith("\r") and line != self._line and not (line == "" and self._draw is None):
            self._line = line
            if self._draw is None:
                self._draw = renderer_lookup.display_again(self)
            else:
                self._draw()
        return len(text)

    def flush(self) -> None:
        """Do nothing: a line is shown when it is written."""

    def _parts(self) -> tuple[str, str, list[str]]:
        """Return what it is, how much is done in percent, and the figures."""
        parts = self._line.split(SEPARATOR)
        if len(parts) < 3:
            return "", "", [one for one in parts if one]
        name, percent, *figures = parts
        return name.rstrip(": "), percent, [told for one in figures for told in one.split(", ") if told]

    def __repr__(self) -> str:
        name, percent, figures = self._parts()
        return " ".join(
            one for one in (name and f"{name}:", percent and f"{percent}%", ", ".join(figures)) if one
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        name, percent, figures = self._parts()
        bar = (
            f'<span role="progressbar" aria-label="{escape(name) or "progress"}" aria-valuenow="{percent}" '
            f'style="{BAR}"><span style="{DONE};width:{percent}%"></span></span>'
            if percent
            else ""
        )
        told = [f"<b>{escape(name)}</b>"] if name else []
        spans = [f'<span style="white-space:nowrap">{one}</span>' for one in [*told, *map(escape, figures)]]
        spans.insert(len(told), bar)
        return {
            "text/plain": repr(self),
            "text/html": f'<div class="wb-progress" style="{LINE}">{" ".join(filter(None, spans))}</div>',
        }

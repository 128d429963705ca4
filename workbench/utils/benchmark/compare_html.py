"""The table of `Compare` in a notebook: each time in a unit of its own, and how many times that is the fastest.

Colours of text, lines and stripes are JupyterLab's, so light and dark themes both fit. Where times are coloured, the
factor beside each says the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from workbench.utils.benchmark.measurement import Measurement, select_unit

__all__ = ["Layout", "duration", "table_html"]

Layout = Mapping[int, Mapping[str, Mapping[str, Measurement]]]
"""By the number of threads, the name of the row, the column: what was measured."""

_BOX = (
    "font:13px/1.5 var(--jp-ui-font-family,system-ui,sans-serif);color:var(--jp-ui-font-color1,inherit);"
    "font-variant-numeric:tabular-nums"
)
_QUIET = "color:var(--jp-ui-font-color2,#777)"
_LINE = "border-bottom:1px solid var(--jp-border-color2,rgba(127,127,127,.4))"
_CELL = "padding:2px 8px;white-space:nowrap;vertical-align:baseline;background:none"
_TINTS = {
    "best": "rgba(0,114,178,.28)",
    "good": "rgba(0,114,178,.12)",
    "bad": "rgba(213,94,0,.14)",
    "worst": "rgba(213,94,0,.34)",
}
"""Blue for fast and vermilion for slow, which people with any usual colour vision tell apart, on either theme."""


def duration(seconds: float, figures: int = 3) -> str:
    """Return a time with so many digits, in the unit in which it reads well.

    >>> duration(0.0000123456), duration(0.00099999), duration(2.4, 1)
    ('12.3 µs', '1.00 ms', '2 s')
    """
    unit, length = select_unit(seconds)
    value = seconds / length
    places = max(figures - 1 - math.floor(math.log10(value)), 0) if value > 0 else 0
    # Rounding may carry into the next unit: 999.96 µs is 1.00 ms.
    if round(value, places) >= 1000 and unit != "s":
        return duration(1000 * length, figures)
    return f"{value:.{places}f} {'µs' if unit == 'us' else unit}"


def table_html(
    title: str,
    columns: Sequence[str],
    layout: Layout,
    figures: int | None,
    warn: bool,
    grades: Mapping[int, str],
) -> str:
    """Return one table.

    `figures` None: as many digits as the spread bears. `grades`: the grade of a time that is coloured, by its id.
    """
    legend = "median time of one run; × as long as the fastest of its row" if len(columns) > 1 else ""
    heads = "".join(f'<th style="{_CELL};{_LINE};text-align:right">{escape(one)}</th>' for one in columns)
    body = ""
    for threads, rows in layout.items():
        word = f"{threads} thread{'' if threads == 1 else 's'}"
        corner = f'<th style="{_CELL};{_LINE};text-align:left;{_QUIET}">{word}</th>'
        # JupyterLab stripes the rows of tables, which would read as a tint.
        body += f'<tr style="background:none">{corner}{heads}</tr>'
        for name, row in rows.items():
            best = min(one.median for one in row.values())
            cells = "".join(
                _cell(row.get(column), best, len(row) > 1, figures, warn, grades) for column in columns
            )
            head = f'<th style="{_CELL};text-align:left;font-weight:normal">{escape(name)}</th>'
            body += f'<tr style="background:none">{head}{cells}</tr>'
    return (
        f'<div class="wb-compare" style="{_BOX};margin-bottom:12px;overflow-x:auto">'
        f'<div><span style="font-weight:600">{escape(title)}</span>'
        f'<span style="{_QUIET};margin-left:12px">{legend}</span></div>'
        f'<table style="border-collapse:collapse;margin:4px 0;font:inherit">{body}</table></div>'
    )


def _cell(
    found: Measurement | None,
    best: float,
    compared: bool,
    figures: int | None,
    warn: bool,
    grades: Mapping[int, str],
) -> str:
    if found is None:
        return f'<td style="{_CELL}"></td>'
    fastest = compared and found.median == best
    text = duration(found.median, found.significant_figures if figures is None else figures)
    ratio = found.median / best if best > 0 else math.inf
    factor = f"{ratio:.{2 if ratio < 10 else 1 if ratio < 100 else 0}f}×" if compared and not fastest else ""
    doubt = f" ± {found.iqr / found.median:.0%}" if warn and found.has_warnings and found.median else ""
    tint = f";background:{_TINTS[grades[id(found)]]}" if id(found) in grades else ""
    exact = f"{found.median:.6g} s, median of {len(found.times)} blocks of {found.number_per_run:,} runs"
    weight = "font-weight:600" if fastest else ""
    return (
        f'<td style="{_CELL};text-align:right{tint}" title="{escape(exact, quote=True)}">'
        f'<span style="{weight}">{text}</span>{doubt}'
        f'<span style="{_QUIET};display:inline-block;min-width:48px">{factor}</span></td>'
    )

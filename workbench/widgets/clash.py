"""A name or shape error as a picture: the operands aligned from the right, what clashes ringed, and the fix."""

from __future__ import annotations

import ast
import time
from html import escape
from typing import Any

from workbench.base.errors import DimensionError, Operand
from workbench.live.messages import ClashDim, ClashOperand, ClashState, Dim, Head
from workbench.live.model import Refused, Snapshot, ViewModel
from workbench.widgets.html import BOX, QUIET, dim_chip

__all__ = ["ClashModel", "clash_html", "clash_state", "clash_state_html"]

RING = "#d55e00"
"""Vermilion, which people with any usual colour vision tell from the dims around it; a mark stands beside it."""

MOST_DIMS = 16


def _operand(operand: Operand) -> ClashOperand:
    count = len(operand.names)
    origins = operand.origins or ("",) * count
    marks = operand.marks or (False,) * count
    rows = zip(operand.names, operand.sizes, origins, marks, strict=True)
    return ClashOperand(
        operand.label or "tensor",
        [ClashDim(name, int(size), origin, mark) for name, size, origin, mark in rows],
    )


def clash_state(error: DimensionError) -> ClashState:
    """Return what the shapes view draws of `error`: what would work as code, or in words below the message."""
    code = _is_code(error.fix)
    return ClashState(
        kind="clash",
        head=Head(error.op or type(error).__name__, "", time.time(), False, error.fix if code else ""),
        op=error.op,
        message=error.message if code or not error.fix else f"{error.message}\nTo mend it: {error.fix}.",
        operands=[_operand(operand) for operand in error.operands],
        fix=error.fix if code else "",
    )


def _is_code(text: str) -> bool:
    """Say whether `text` can be pasted into a cell; advice in words cannot."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return text != ""


class ClashModel(ViewModel):
    """Draws a name or shape error."""

    view = "shapes"

    def __init__(self, error: DimensionError) -> None:
        super().__init__()
        self._state = clash_state(error)

    def snapshot(self) -> Snapshot:
        """Return the error's picture; it never changes."""
        return Snapshot(self._state)

    def handle(self, event: object) -> None:
        """Refuse: an error can only be looked at."""
        raise Refused("an error's picture has nothing to choose")


def clash_html(error: Any) -> str:
    """Return `error`, a `DimensionError`, as HTML that needs no JavaScript."""
    return clash_state_html(clash_state(error))


def clash_state_html(state: ClashState) -> str:
    """Return the picture of a clash as HTML that needs no JavaScript."""
    op = f"<code>{escape(state.op)}</code>: " if state.op else ""
    table = _table(state.operands) if state.operands else ""
    fix = (
        f'<div style="{QUIET};margin-top:6px">This would work:</div>'
        f'<pre style="margin:2px 0;padding:4px 8px;background:var(--jp-layout-color2,rgba(127,127,127,.12));'
        f'border-radius:3px;white-space:pre-wrap">{escape(state.fix)}</pre>'
        if state.fix
        else ""
    )
    words = f'<div style="white-space:pre-line">{op}{escape(state.message)}</div>'
    return f'<div class="wb-clash-html" style="{BOX}">{words}{table}{fix}</div>'


def _table(operands: list[ClashOperand]) -> str:
    """One row an operand, one column a dim, counted from the right."""
    columns = min(MOST_DIMS, max(len(operand.dims) for operand in operands))
    return (
        '<table style="border-collapse:separate;border-spacing:6px 2px;margin:6px 0;font:inherit">'
        + "".join(_row(operand, columns) for operand in operands)
        + "</table>"
    )


def _row(operand: ClashOperand, columns: int) -> str:
    # The last ones, for shapes are aligned from the right.
    dims = operand.dims[-columns:] if columns else []
    left_out = len(operand.dims) - len(dims)
    more = f' <span style="{QUIET}">(… {left_out} more)</span>' if left_out else ""
    cells = "<td></td>" * (columns - len(dims)) + "".join(map(_cell, dims))
    if not dims:
        cells += f'<td style="{QUIET}">scalar</td>'
    return (
        # JupyterLab stripes the rows of tables, which would read as a meaning here.
        f'<tr style="background:none"><th style="text-align:left;font-weight:600;vertical-align:top">'
        f"<code>{escape(operand.label)}</code>{more}</th>{cells}</tr>"
    )


def _cell(dim: ClashDim) -> str:
    ring = (
        f"display:inline-block;outline:2px solid {RING};outline-offset:1px;border-radius:3px;padding-left:4px"
        if dim.clash
        else ""
    )
    mark = f'<b style="color:{RING}" title="clashes">✗</b> ' if dim.clash else ""
    origin = (
        f'<div style="{QUIET};font-size:11px;margin-top:3px">{escape(dim.origin)}</div>' if dim.origin else ""
    )
    return (
        f'<td style="text-align:left;vertical-align:top;padding:3px"><span style="{ring}">{mark}'
        f"{dim_chip(Dim(dim.name, dim.size))}</span>{origin}</td>"
    )

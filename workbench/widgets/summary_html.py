"""A model's summary as a tree that folds, in plain HTML: every text escaped, dims in their colours."""

from __future__ import annotations

from html import escape
from typing import Any

from workbench.base.dtypes import as_dtype
from workbench.base.number_format import byte_figure, si
from workbench.live.messages import Dim
from workbench.widgets.html import BOX, CUT, QUIET, dim_chip

__all__ = ["summary_html"]

MOST_LAYERS = 400
"""Most modules in the tree: with those it stays below half a megabyte."""
FEW = 40
"""A tree of this many modules is shown unfolded."""

_ROW = "display:flex;flex-wrap:wrap;gap:0 8px;align-items:start"
"""A layer: what it is and, beside it where there is room, else below, its figures."""
_FIGURES = (
    "display:grid;grid:auto/repeat(3,5.4em);gap:8px;margin-left:auto;text-align:right;white-space:nowrap"
)
_NAME = "flex:1 1 19em;min-width:0"
_LABEL = f"display:inline-block;min-width:min(15em,40%);max-width:100%;white-space:nowrap;{CUT}"
_OUTPUT = "display:inline-flex;flex-wrap:wrap"

_COLUMNS = {
    "parameters": "values that are learned, its own and those of the layers inside",
    "flop": "floating point operations of one forward pass: a product and its sum are two; the bar is its share",
    "memory": "bytes of what its operations return: about what a backward pass keeps",
}


def summary_html(summary: Any) -> str:
    """Return a summary as HTML: modules fold, dims have their colours, a bar shows each one's share of the work."""
    # Notebooks keep outputs: a page of thousands of rows would slow every load of the file.
    layers = summary.layers[:MOST_LAYERS]
    total = summary.total
    columns = "".join(
        f'<span style="font-size:11px" title="{escape(what)}">{name}</span>'
        for name, what in _COLUMNS.items()
    )
    head = (
        f'<div style="{_ROW};{QUIET}"><span style="{_NAME}">layer · output</span>'
        f'<span style="{_FIGURES}">{columns}</span></div>'
    )
    body = _tree(layers, 0, len(layers) <= FEW, total)[0]
    left = len(summary.layers) - len(layers)
    more = f'<div style="{QUIET}">… {left:,} more modules: print(…) shows them</div>' if left else ""
    totals = "".join(f"<div>{escape(line)}</div>" for line in summary.totals()[1:])
    inputs = " ".join(
        f"<code>{escape(as_dtype(dtype).short)}</code> " + _chips(dims) for dims, dtype in summary.inputs
    )
    return (
        f'<div class="wb-summary" style="{BOX};max-width:980px"><div style="margin-bottom:4px">'
        f'<b>{escape(total.kind)}</b> <span style="{QUIET}">of</span> {inputs}</div>'
        f'{head}{body}{more}<div style="margin-top:4px;{QUIET}">{totals}</div></div>'
    )


def _tree(layers: Any, at: int, unfolded: bool, total: Any) -> tuple[str, int]:
    """Return the module at a place with all below it, and the place of the next one."""
    layer = layers[at]
    after = at + 1
    inside = []
    while after < len(layers) and layers[after].depth > layer.depth:
        part, after = _tree(layers, after, unfolded, total)
        inside.append(part)
    row = _row(layer, total)
    if not inside:
        return f'<div style="padding-left:18px">{row}</div>', after
    shown = " open" if unfolded or layer.depth == 0 else ""
    return (
        f'<details{shown}><summary style="list-style-position:outside;margin-left:18px">{row}</summary>'
        f'<div style="margin-left:7px;padding-left:7px;border-left:1px solid var(--jp-border-color2,#ccc)">'
        f"{''.join(inside)}</div></details>"
    ), after


def _row(layer: Any, total: Any) -> str:
    name = layer.path.rpartition(".")[2]
    label = f"<b>{escape(name)}</b> " if name else ""
    chips = " ".join(_chips(dims) for dims, _ in layer.outputs[:4])
    shape = f'<span style="{_OUTPUT}">{chips}</span>' if chips else ""
    often = f' <span style="{QUIET}">× {layer.calls}</span>' if layer.calls > 1 else ""
    unused = "" if layer.ran else f' <span style="{QUIET}">not called</span>'
    share = layer.flops / total.flops if total.flops else 0.0
    # The model itself has all of it, of which a bar says nothing.
    bar = (
        f"background:linear-gradient(to left,rgba(127,127,127,.28) {100 * share:.1f}%,transparent 0)"
        if layer.path
        else ""
    )
    frozen = layer.parameters - layer.trainable
    title = f"{layer.parameters:,} parameters" + (f", {frozen:,} of them frozen" if frozen else "")
    return (
        f'<span style="{_ROW}"><span style="{_NAME}">'
        f'<span style="{_LABEL}" title="{escape(" ".join(filter(None, (name, layer.kind))))}">{label}'
        f'<span style="{QUIET}">{escape(layer.kind)}</span></span> {shape}{often}{unused}</span>'
        f'<span style="{_FIGURES}">'
        f'<span title="{escape(title)}">{si(layer.parameters) if layer.parameters else ""}</span>'
        f'<span style="{bar}" title="{layer.flops:,.0f} flop, {100 * share:.1f} %">'
        f"{si(layer.flops) if layer.flops else ''}</span>"
        f'<span title="{layer.memory:,} bytes">{byte_figure(layer.memory) if layer.memory else ""}'
        "</span></span></span>"
    )


def _chips(dims: Any) -> str:
    return (
        "".join(dim_chip(Dim(name, size)) for name, size in zip(dims.labels, dims.sizes, strict=True))
        or "scalar"
    )

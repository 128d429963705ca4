"""What stands in a cell for a value: HTML by the type of the object, without JavaScript, and a live view of some.

Lower rooms ask `workbench.base.renderer_lookup` for the picture of an object, and know of none.
"""

from __future__ import annotations

import functools
from html import escape
from typing import Any

from workbench.attribution import AttributionResult, Board, Study
from workbench.base import renderer_lookup
from workbench.base.errors import DimensionError
from workbench.embedding import Embedding
from workbench.graph import Graph, GraphDiff
from workbench.graph.passes import Step
from workbench.live.renderers import renderers
from workbench.nn.summary import Summary
from workbench.quantization import MixedPrecision, Report, Sensitivity
from workbench.tensor import Tensor
from workbench.tensorboard import Log
from workbench.widgets.cell_views import cell_view
from workbench.widgets.clash import clash_html
from workbench.widgets.graph_html import graph_html
from workbench.widgets.html import tensor_html
from workbench.widgets.quantization_html import layers_html, report_html
from workbench.widgets.scatter import ScatterModel
from workbench.widgets.stills import still
from workbench.widgets.summary_html import summary_html

__all__ = ["html", "mimebundle", "page"]


@functools.singledispatch
def html(thing: object) -> str:
    """Return `thing` as HTML, drawn by what is registered for its type or the nearest base of it.

    Raises:
        TypeError: nothing draws it.
    """
    raise TypeError(f"a {type(thing).__name__} has no picture; register a function for it with pictures.html")


@html.register
def _attribution(result: AttributionResult) -> str:
    try:
        return still(renderers.model_of(result).snapshot())
    except DimensionError:  # its samples are no pictures
        return f"<pre>{escape(repr(result))}</pre>"


@html.register
def _asked(thing: Board | Study) -> str:
    return still(renderers.model_of(thing).snapshot())


@html.register
def _difference(diff: GraphDiff | Step) -> str:
    return still(renderers.model_of(diff).snapshot())


@html.register
def _log(log: Log) -> str:
    return still(renderers.model_of(log).snapshot())


html.register(Tensor, tensor_html)
html.register(DimensionError, clash_html)
html.register(Graph, graph_html)
html.register(Summary, summary_html)
html.register(Sensitivity, layers_html)
html.register(MixedPrecision, layers_html)
html.register(Report, report_html)


def mimebundle(thing: object) -> Any:
    """Return what a front end needs to show `thing`: plain text, HTML, and in a notebook the live view of some."""
    written = {"text/plain": repr(thing), "text/html": html(thing)}
    widget = cell_view(thing) if renderer_lookup.in_notebook() else None
    if widget is None:
        return written
    data, metadata = widget._repr_mimebundle_()
    return {**data, **written}, metadata


@functools.singledispatch
def page(thing: object) -> str:
    """Return `thing` as one HTML page that stands alone, drawn by what is registered for its type.

    Raises:
        TypeError: no page is made of it.
    """
    raise TypeError(f"a {type(thing).__name__} is not published as a page")


@page.register
def _projector(embedding: Embedding) -> str:
    model = renderers.model_of(embedding)
    assert isinstance(model, ScatterModel)  # what is registered for it
    return model.page()

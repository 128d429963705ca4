"""What stands in a cell for a value without a widget: HTML by the type of the object, without JavaScript.

Lower rooms ask `workbench.base.renderer_lookup` for the picture of an object, and know of none.
"""

from __future__ import annotations

import functools

from workbench.base.errors import DimensionError
from workbench.graph import Graph
from workbench.nn.summary import Summary
from workbench.tensor import Tensor
from workbench.widgets.clash import clash_html
from workbench.widgets.graph_html import graph_html
from workbench.widgets.html import tensor_html
from workbench.widgets.summary_html import summary_html

__all__ = ["html"]


@functools.singledispatch
def html(thing: object) -> str:
    """Return `thing` as HTML, drawn by what is registered for its type or the nearest base of it.

    Raises:
        TypeError: nothing draws it.
    """
    raise TypeError(f"a {type(thing).__name__} has no picture; register a function for it with pictures.html")


html.register(Tensor, tensor_html)
html.register(DimensionError, clash_html)
html.register(Graph, graph_html)
html.register(Summary, summary_html)

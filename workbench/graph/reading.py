"""Reading graphs from text. Nothing that is read is executed: literals are read, what is called is looked up."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any

from workbench.graph.blocks import GraphError
from workbench.graph.ir import Graph
from workbench.graph.python_reading import read_python
from workbench.graph.reader import Reader
from workbench.graph.text_reading import read_text

__all__ = ["parse"]

MOST_CHARACTERS = 1 << 24
"""A longer text is refused before anything is made of it."""


def parse(
    source: str,
    tensors: Mapping[str, Any] | None = None,
    modules: Mapping[str, Any] | None = None,
    functions: Mapping[str, Any] | None = None,
) -> Graph:
    r"""Read what `text` or `python_text` wrote, and check it. `tensors` gives parameters and constants by name.

    `modules` gives the modules that the graph calls whole, by path, `functions` the program's own functions, by name: a
    text alone can call none of them. Raises `GraphError` with the line that is not understood, the tensor, module or
    function that is missing, or what is not legal.

    >>> graph = parse("double(%x : f32[N:2]):\n  %y : f32[N:2] = mul(%x, 2)\n  return %y")
    >>> graph.nodes
    [<node y: mul>]
    """
    if len(source) > MOST_CHARACTERS:
        raise GraphError(
            f"a graph's text has at most {MOST_CHARACTERS:,} characters, this one {len(source):,}"
        )
    reader = Reader(tensors or {}, modules or {}, functions or {})
    try:
        # What Python would warn of in the text, such as a wrong escape, is nobody's mistake here.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            # The form is seen at its first line that is neither empty nor an import.
            if re.match(r"(?:(?:from|import) .*\n|\s*\n)*def ", source):
                read_python(reader, source)
            else:
                read_text(reader, source)
        return reader.finish()
    except (RecursionError, MemoryError):
        raise GraphError(f"line {reader.line} is nested too deeply") from None

"""Modules and functions that run a graph, written as a portable archive."""

from __future__ import annotations

import io
import json
import operator
import os
from collections.abc import Mapping
from typing import Any

from workbench.base.errors import WeightsError
from workbench.graph import Graph, Value
from workbench.graph.types import type_of
from workbench.interop.archive import save_graph, write_graph

__all__ = ["EXTRA", "OWN", "save"]

OWN = "workbench.jit"
"""Key of the archive's metadata: what a module is beside its graph, as JSON."""

EXTRA = "extra/"
"""In front of the names of extra files among the metadata."""


def save(m: Any, f: Any, _extra_files: Mapping[str, str | bytes] | None = None) -> None:
    """Write a module or function of `trace` at a path, or into a file that is open for writing.

    What is written is the graph, the whole state and text that `_extra_files` gives by name: an archive (``.wb``) as
    `wb.save` writes it for a graph. PyTorch does not read it.

    Raises TypeError for what is no such module or function; `WeightsError` for one of several methods, and for extra
    files that are no text. Nothing is written then.
    """
    graphs = getattr(m, "_graphs", None)
    if not isinstance(graphs, dict):
        raise TypeError(
            f"jit.save writes what jit.trace gives, and got {type(m).__name__}; wb.save writes a module's state_dict()"
        )
    if list(graphs) != ["forward"]:
        raise WeightsError(
            f"an archive holds one graph, and this has {', '.join(graphs)}: trace forward alone"
        )
    metadata = {EXTRA + name: _text(name, content) for name, content in (_extra_files or {}).items()}
    graph = m.graph.copy()
    if hasattr(m, "named_parameters"):
        own = _with_state(graph, m)
        own["arguments"] = m._arguments["forward"]
        metadata[OWN] = json.dumps(own)
    else:
        metadata[OWN] = json.dumps({"arguments": m._arguments["forward"]})
    if isinstance(f, str | os.PathLike):
        save_graph(graph, f, metadata)
        return
    # Whole before the first byte goes out.
    whole = io.BytesIO()
    write_graph(graph, whole, metadata)
    f.write(whole.getbuffer())


def _with_state(graph: Graph, module: Any) -> dict[str, Any]:
    """Give a graph the tensors that the module has now, also those that it does not read; say what else there is."""
    buffers = [name for name, _ in module.named_buffers()]
    state = dict([*module.named_parameters(), *module.named_buffers()])
    graph.parameters = {
        value: state[value.name] if value.name in state else operator.attrgetter(value.name)(module)
        for value in graph.parameters
    }
    known = {value.name for value in graph.parameters}
    graph.parameters |= {Value(name, type_of(one)): one for name, one in state.items() if name not in known}
    return {"module": module.original_name, "training": module.training, "buffers": buffers}


def _text(name: str, content: str | bytes) -> str:
    try:
        return content.decode() if isinstance(content, bytes) else content
    except UnicodeDecodeError:
        raise WeightsError(f"the extra file {name!r} is no text: put it beside the archive") from None

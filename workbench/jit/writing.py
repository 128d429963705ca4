"""Modules and functions that run a graph, written as a portable archive."""

from __future__ import annotations

import io
import json
import operator
import os
from collections.abc import Mapping
from typing import Any

from workbench.base.errors import WeightsError
from workbench.graph import Graph, Value, text
from workbench.graph.types import type_of
from workbench.interop.archive import save_graph, write_graph
from workbench.jit.archived import boundary_told, value_told

__all__ = ["ATTRIBUTE", "EXTRA", "OWN", "save"]

OWN = "workbench.jit"
"""Key of the archive's metadata: what a module is beside its graph, as JSON."""

ATTRIBUTE = "attribute/"
"""In front of the names of tensors that stand in attributes, in lists and dicts among them."""

EXTRA = "extra/"
"""In front of the names of extra files among the metadata."""


def save(m: Any, f: Any, _extra_files: Mapping[str, str | bytes] | None = None) -> None:
    """Write a module or function of `trace` or `script` at a path, or into a file that is open for writing.

    What is written is the graph, the whole state and text that `_extra_files` gives by name: an archive (``.wb``) as
    `wb.save` writes it for a graph. PyTorch does not read it.

    Raises TypeError for what is no such module or function; `WeightsError` for a module that is called whole, for
    attributes that no file holds, and for extra files that are no text. Nothing is written then.
    """
    graphs = getattr(m, "_graphs", None)
    if not isinstance(graphs, dict):
        raise TypeError(
            f"jit.save writes what jit.trace and jit.script give, and got {type(m).__name__}; wb.save writes a "
            "module's state_dict()"
        )
    main, *others = graphs
    if any(graphs[name].constants for name in others):
        raise WeightsError(
            f"an archive holds the tensors of one graph, and {others[0]} was traced with others: trace {main} alone"
        )
    metadata = {EXTRA + name: _text(name, content) for name, content in (_extra_files or {}).items()}
    graph = graphs[main].copy()
    own = _with_state(graph, m) if hasattr(m, "named_parameters") else {}
    own |= _method(m, main)
    if others:
        own["methods"] = {
            name: {**_method(m, name), "graph": text(graphs[name]).splitlines()} for name in others
        }
    metadata[OWN] = json.dumps(own)
    if isinstance(f, str | os.PathLike):
        save_graph(graph, f, metadata)
        return
    # Whole before the first byte goes out.
    whole = io.BytesIO()
    write_graph(graph, whole, metadata)
    f.write(whole.getbuffer())


def _method(m: Any, name: str) -> dict[str, Any]:
    """Say what a method takes and gives."""
    if m._graphs[name].modules:
        whole = next(iter(m._graphs[name].modules))
        raise WeightsError(
            f"{name} calls the module {whole!r} whole, whose code no archive holds: script it in words of nn.functional"
        )
    told: dict[str, Any] = {"name": name, "arguments": m._arguments[name]}
    boundary = m._boundaries.get(name)
    if boundary is not None:
        told["boundary"] = boundary_told(boundary)
    return told


def _with_state(graph: Graph, module: Any) -> dict[str, Any]:
    """Give a graph the tensors that the module has now, also those that it does not read; say what else there is."""
    buffers = [name for name, _ in module.named_buffers()]
    state = dict([*module.named_parameters(), *module.named_buffers()])
    read = {value.name: value for value in graph.parameters}
    # In the order of the module, whichever the graph reads first: optimizers count parameters by it.
    graph.parameters = {read.get(name, Value(name, type_of(one))): one for name, one in state.items()}
    graph.parameters |= {
        value: operator.attrgetter(name)(module) for name, value in read.items() if name not in state
    }
    held: dict[str, Any] = {}

    def hold(tensor: Any) -> str:
        name = f"{ATTRIBUTE}{len(held)}"
        held[name] = tensor
        return name

    # Those that are buffers, or the mode, are told of already.
    paths = [
        path for path in module._attributes if path not in buffers and path.rpartition(".")[2] != "training"
    ]
    attributes = {path: value_told(operator.attrgetter(path)(module), hold) for path in paths}
    graph.parameters |= {Value(name, type_of(one)): one for name, one in held.items()}
    return {
        "module": module.original_name,
        "training": module.training,
        "buffers": buffers,
        "attributes": attributes,
        "parts": {path: one._get_name() for path, one in module.named_modules() if path},
    }


def _text(name: str, content: str | bytes) -> str:
    try:
        return content.decode() if isinstance(content, bytes) else content
    except UnicodeDecodeError:
        raise WeightsError(f"the extra file {name!r} is no text: put it beside the archive") from None

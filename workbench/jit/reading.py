"""Modules and functions that run a graph, read from an archive."""

from __future__ import annotations

import io
import os
from typing import Any

from workbench.base.errors import WeightsError, short
from workbench.base.files import open_file
from workbench.graph import Graph
from workbench.interop.archive import read_archive
from workbench.interop.safetensors import parse_json
from workbench.jit.script_modules import Part, ScriptFunction, ScriptModule
from workbench.jit.writing import EXTRA, OWN
from workbench.nn import Parameter

__all__ = ["load"]


def load(
    f: Any, map_location: Any = None, _extra_files: dict[str, Any] | None = None
) -> ScriptModule | ScriptFunction:
    """Return what `workbench.jit.save` wrote: a module with its parameters, buffers and parts, or a function.

    Nothing that stands in the file is run. `_extra_files` gets, for each of its keys, what was written under it.

    Raises `WeightsError` for what is damaged or no such archive, a TorchScript archive of PyTorch's among it.

    >>> import io, workbench as wb
    >>> file = io.BytesIO()
    >>> wb.jit.save(wb.jit.trace(wb.nn.Linear(2, 3), wb.ones(1, 2)), file)
    >>> _ = file.seek(0)
    >>> load(file).weight.shape
    (3, 2)
    """
    if isinstance(f, str | os.PathLike):
        stream, size = open_file(f)
        with stream:
            try:
                graph, metadata = read_archive(stream, size)
            except WeightsError as error:
                raise WeightsError(f"{os.fspath(f)}: {error}") from None
    else:
        content = f.read()
        graph, metadata = read_archive(io.BytesIO(content), len(content))
    for name in _extra_files or {}:
        if EXTRA + name not in metadata:
            raise WeightsError(f"the archive has no extra file {name!r}")
        _extra_files[name] = metadata[EXTRA + name].encode()  # type: ignore[index]
    made = _made(graph, parse_json(metadata[OWN], OWN) if OWN in metadata else {})
    return made.to(map_location) if map_location is not None and isinstance(made, ScriptModule) else made


def _made(graph: Graph, told: dict[str, Any]) -> ScriptModule | ScriptFunction:
    arguments = told.get("arguments", [value.name for value in graph.inputs])
    expected = len(graph.takes) or len(graph.inputs)
    if (
        not isinstance(arguments, list)
        or len(arguments) != expected
        or not all(isinstance(one, str) for one in arguments)
    ):
        raise WeightsError(f"{OWN}: the graph takes {expected} arguments, and {short(arguments)} are named")
    if "module" not in told:
        return ScriptFunction(graph, arguments)
    buffers = told.get("buffers")
    if not isinstance(buffers, list) or not isinstance(told["module"], str):
        raise WeightsError(f"{OWN} does not say what the module is")
    module = ScriptModule({"forward": graph}, {"forward": arguments}, told["module"])
    for value, tensor in list(graph.parameters.items()):
        *path, name = value.name.split(".")
        owner: Any = module
        for part in path:
            if part not in owner._modules:
                owner.add_module(part, Part("Module"))
            owner = owner._modules[part]
        if value.name in buffers:
            owner.register_buffer(name, tensor)
        else:
            owner.register_parameter(name, Parameter(tensor.detach(), requires_grad=tensor.requires_grad))
    return module.train(bool(told.get("training")))

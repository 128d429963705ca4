"""Modules and functions that run a graph, read from an archive."""

from __future__ import annotations

import io
import os
from typing import Any

from workbench.base.errors import WeightsError, short
from workbench.base.files import open_file
from workbench.graph import Graph, GraphError, parse
from workbench.graph.types import ANY
from workbench.interop.archive import read_archive
from workbench.interop.safetensors import parse_json
from workbench.jit.archived import boundary_from, value_from
from workbench.jit.boundary import Boundary
from workbench.jit.script_modules import Part, ScriptFunction, ScriptModule
from workbench.jit.writing import ATTRIBUTE, EXTRA, OWN
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
    methods = _methods(graph, told)
    graphs = {name: one[0] for name, one in methods.items()}
    arguments = {name: one[1] for name, one in methods.items()}
    boundaries = {name: one[2] for name, one in methods.items() if one[2] is not None}
    if "module" not in told:
        if any(one.stateful for one in boundaries.values()):
            raise WeightsError(f"{OWN}: a function has no attributes, and this one takes them")
        return ScriptFunction(graph, arguments["forward"], boundaries.get("forward"))
    buffers, names, attributes = told.get("buffers"), told.get("parts", {}), told.get("attributes", {})
    if not isinstance(buffers, list) or not isinstance(told["module"], str):
        raise WeightsError(f"{OWN} does not say what the module is")
    if not isinstance(names, dict) or not isinstance(attributes, dict):
        raise WeightsError(f"{OWN} does not say what the parts of the module are")
    module = ScriptModule(graphs, arguments, told["module"], boundaries)
    try:
        _fill(module, graph, buffers, names, attributes)
    except (KeyError, TypeError) as error:
        # Names that no module has, or has already.
        raise WeightsError(f"{OWN} tells of a part that cannot be: {error}") from None
    # What stood in attributes stands there: the graph does not read it.
    graph.parameters = {
        one: there for one, there in graph.parameters.items() if not one.name.startswith(ATTRIBUTE)
    }
    return module.train(bool(told.get("training")))


def _fill(
    module: ScriptModule, graph: Graph, buffers: list[Any], names: dict[str, Any], attributes: dict[str, Any]
) -> None:
    """Give a module its parts, its state and its attributes."""
    tensors = {value.name: tensor for value, tensor in graph.parameters.items()}
    for path in names:
        # All of them first, in their order: the state comes after.
        _owner(module, f"{path}.", names)
    for path, tensor in tensors.items():
        if path.startswith(ATTRIBUTE):
            continue
        owner, name = _owner(module, path, names)
        if path in buffers:
            owner.register_buffer(name, tensor)
        else:
            owner.register_parameter(name, Parameter(tensor.detach(), requires_grad=tensor.requires_grad))
    for path, value in attributes.items():
        owner, name = _owner(module, path, names)
        if not name.isidentifier() or name[0] == "_" or hasattr(Part, name):
            raise WeightsError(f"{OWN} gives the module {short(path)}, which is no attribute of its own")
        setattr(owner, name, value_from(value, tensors))
        module._attributes[path] = ANY


def _owner(module: Any, path: str, names: dict[str, Any]) -> tuple[Any, str]:
    """Return the part of a module that has what stands at a path, made where it is not there yet, and the name."""
    *parts, name = path.split(".")
    owner, so_far = module, []
    for part in parts:
        so_far.append(part)
        if part not in owner._modules:
            owner.add_module(part, Part(str(names.get(".".join(so_far), "Module"))))
        owner = owner._modules[part]
    return owner, name


def _methods(graph: Graph, told: dict[str, Any]) -> dict[str, tuple[Graph, list[str], Boundary | None]]:
    """Return the graphs of a module's methods, what their arguments are called, and what they take."""
    main = told.get("name", "forward") if "module" in told else "forward"
    others = told.get("methods", {})
    if not isinstance(main, str) or not isinstance(others, dict):
        raise WeightsError(f"{OWN} does not say what the methods are")
    found = {main: (graph, *_taken(graph, told))}
    tensors = {value.name: tensor for value, tensor in graph.held().items()}
    for name, one in others.items():
        lines = one.get("graph") if isinstance(one, dict) else None
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            raise WeightsError(f"{OWN} has not the lines of the graph of {short(name)}")
        try:
            made = parse("\n".join(lines), tensors)
        except GraphError as error:
            raise WeightsError(f"{OWN}: {error}") from None
        found[name] = (made, *_taken(made, one))
    return found


def _taken(graph: Graph, told: dict[str, Any]) -> tuple[list[str], Boundary | None]:
    arguments = told.get("arguments", [value.name for value in graph.inputs])
    if not isinstance(arguments, list) or not all(isinstance(one, str) for one in arguments):
        raise WeightsError(f"{OWN}: {short(arguments)} are no names of arguments")
    boundary = boundary_from(told["boundary"], len(arguments)) if "boundary" in told else None
    expected = (len(graph.takes) or len(graph.inputs)) - (boundary is not None and boundary.stateful)
    if len(arguments) != expected:
        raise WeightsError(f"{OWN}: the graph takes {expected} arguments, and {short(arguments)} are named")
    return arguments, boundary

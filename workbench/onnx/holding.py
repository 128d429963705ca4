"""Where an opened module has the tensors of its file: parameters and buffers under their names."""

from __future__ import annotations

import keyword
import re
from typing import Any

from workbench.graph import Graph, Value
from workbench.graph.blocks import NAME
from workbench.graph.types import type_of
from workbench.nn import Module, Parameter
from workbench.onnx.values import is_floating
from workbench.tensor import Tensor

__all__ = ["DEEPEST_NAME", "Holder", "hold", "identifier", "word"]

DEEPEST_NAME = 16
"""A name with more dots than this is one word: each dot is a module in a module."""


class Holder(Module):
    """A part of a model of which only the tensors are known: its name is all that the file says of it."""


def word(name: str, instead: str) -> str:
    """Return a name, or a part of one, as a value of a graph can have it.

    >>> word("weight:0", "_"), word("", "_")
    ('weight_0', '_')
    """
    if re.fullmatch(NAME, name):
        return name
    return re.sub(r"[\s,(){}\[\]:=%'\"]", "_", name) or instead


def identifier(name: str, instead: str = "value") -> str:
    """Return a name as Python can have it, so that the graph of a file prints as Python, too.

    >>> identifier("conv2d_185.tmp_0"), identifier("12"), identifier("lambda")
    ('conv2d_185_tmp_0', '_12', 'lambda_')
    """
    made = re.sub(r"\W", "_", name) or instead
    return f"{made}_" if keyword.iskeyword(made) else f"_{made}" if made[0].isdigit() else made


def hold(module: Module, graph: Graph, tensor: Tensor, name: str, learned: bool) -> Value:
    """Put a tensor into `module` under its name, or one like it, and return what the graph calls it.

    It is a parameter where it is `learned` and has numbers with a point, else a buffer.
    """
    path = _parts(name)
    while True:
        called = graph.fresh(".".join(path))
        owner, last = _owner(module, called.split("."))
        if owner is not None:
            break
        # Something else stands there: the next name is free.
        path = [*path[:-1], f"{path[-1]}_"]
    if learned and is_floating(tensor):
        kept: Any = Parameter(tensor)
        owner.register_parameter(last, kept)
    else:
        kept = tensor
        owner.register_buffer(last, kept)
    value = Value(called, type_of(kept))
    graph.parameters[value] = kept
    return value


def _parts(name: str) -> list[str]:
    found = [word(one, "_") for one in name.split(".")]
    return found if len(found) <= DEEPEST_NAME else ["_".join(found)]


def _owner(module: Module, path: list[str]) -> tuple[Module | None, str]:
    """Return the part that a tensor of that path belongs to, made where it is not there; None where it cannot be."""
    *way, last = path
    for one in way:
        found = getattr(module, one, None)
        if found is None and not hasattr(module, one):
            found = Holder()
            module.add_module(one, found)
        if not isinstance(found, Holder):
            return None, last
        module = found
    return (None if hasattr(module, last) else module), last

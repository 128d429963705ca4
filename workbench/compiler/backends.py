"""Graphs as programs of another backend, such as XLA: who has a `Backend.compile` is given the graph."""

from __future__ import annotations

from typing import Any

from workbench.base.errors import DeviceError, UnavailableError
from workbench.core.backend import Backend, find
from workbench.core.value import new
from workbench.graph.ir import Graph
from workbench.graph.types import TensorType

__all__ = ["BackendPlan", "backend_called"]

_OURS = "inductor"


def backend_called(name: Any) -> Backend | None:
    """Return the backend that compiles under this name; None for our own, ``"inductor"``, as PyTorch calls its own.

    Raises `UnavailableError` where there is none, or where it computes op by op.
    """
    if name == _OURS:
        return None
    if not isinstance(name, str):
        raise UnavailableError(
            "compile: a backend that is a function would be given a graph of PyTorch's: give wb.Backend(…, "
            "compile=function) to wb.register_backend, and its name here; it is given a graph of ours"
        )
    try:
        _, found = find(name)
    except DeviceError as error:
        raise UnavailableError(f"compile: there is no backend {name!r}: {error}") from None
    if found is None or found.compile is None:
        raise UnavailableError(
            f"compile: the backend {name!r} computes op by op and makes no programs of graphs; {_OURS!r}, our own, does"
        )
    return found


class BackendPlan:
    """A graph as a program of a backend, which is given and gives tensors of the CPU."""

    def __init__(self, graph: Graph, backend: Backend) -> None:
        assert backend.compile is not None
        self.backend = backend.name
        self.program = backend.compile(graph)
        kinds = [value.type for value in graph.inputs]
        self._names = [kind.dims.names if isinstance(kind, TensorType) else None for kind in kinds]

    def run(self, arrays: list[Any]) -> Any:
        """Return what the graph gives for these arrays."""
        return self.program(*[new(one, names) for one, names in zip(arrays, self._names, strict=True)])

"""The guards of ONNX: nothing is being exported, and exporting is refused when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.base.absent import refusing
from workbench.base.public import words

__all__ = ["export", "is_in_onnx_export", "register_custom_op_symbolic"]

_REASON = (
    "the workbench writes no ONNX files yet; wb.graph.trace makes a graph of a module, which prints and runs"
)


def is_in_onnx_export() -> bool:
    """Say whether this runs in order to be exported: no.

    >>> is_in_onnx_export()
    False
    """
    return False


export: Callable[..., Any] = refusing("onnx.export", _REASON)


def register_custom_op_symbolic(*args: Any, **kwargs: Any) -> None:
    """Say how an op is exported: taken, and asked by nobody."""


__getattr__, __dir__ = words(__name__, __all__, elsewhere={"dynamo_export": _REASON, "utils": _REASON})

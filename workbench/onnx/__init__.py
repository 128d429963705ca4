"""ONNX: `load` opens a file as a module on the graph, `save` writes one; `export` is PyTorch's word for that."""

from __future__ import annotations

from typing import Any

from workbench.base.public import words
from workbench.graph.vocabulary import ROOMS_ABOVE
from workbench.onnx import families as _families  # noqa: F401
from workbench.onnx.errors import OnnxError, UnknownOperatorError
from workbench.onnx.export import OnnxProgram, TrainingMode, export, save
from workbench.onnx.module import OnnxModule, load
from workbench.onnx.table import Operator, function, operators

__all__ = [
    "OnnxError", "OnnxModule", "OnnxProgram", "Operator", "TrainingMode", "UnknownOperatorError", "export",
    "is_in_onnx_export", "load", "operators", "register_custom_op_symbolic", "save",
]  # fmt: skip

ROOMS_ABOVE["onnx"] = function

_REASON = "the workbench writes files with wb.onnx.save and wb.onnx.export"


def is_in_onnx_export() -> bool:
    """Say whether this runs in order to be exported: no.

    >>> is_in_onnx_export()
    False
    """
    return False


def register_custom_op_symbolic(*args: Any, **kwargs: Any) -> None:
    """Say how an op is exported: taken, and asked by nobody."""


__getattr__, __dir__ = words(__name__, __all__, elsewhere={"dynamo_export": _REASON, "utils": _REASON})

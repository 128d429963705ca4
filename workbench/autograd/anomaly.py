"""Anomaly detection: a gradient that is not a number is an error that names the op and the line that called it."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.errors import AutogradError
from workbench.core.tape import Node

__all__ = ["check_results"]


def check_results(node: Node, results: tuple[Any, ...]) -> None:
    """Raise `AutogradError` if a gradient that the rule of `node` gave has NaN in it.

    Payloads without numbers are passed over.
    """
    for i, gradient in enumerate(results):
        array = None if gradient is None else gradient._array
        if isinstance(array, np.ndarray) and array.dtype.kind in "fcV" and np.isnan(array).any():
            where = f" The forward call was made at {node.origin}." if node.origin else ""
            raise AutogradError(f"Function '{node.name}' returned nan values in its {i}th output.{where}")

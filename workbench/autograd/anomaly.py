"""Anomaly detection: a gradient that is not a number is an error that names the op and the line that called it."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.errors import AutogradError
from workbench.core import tape
from workbench.core.tape import Node

__all__ = ["check_results", "detect_anomaly", "is_anomaly_enabled", "set_detect_anomaly"]


def check_results(node: Node, results: tuple[Any, ...]) -> None:
    """Raise `AutogradError` if a gradient that the rule of `node` gave has NaN in it.

    Payloads without numbers are passed over.
    """
    if not _checking:
        return
    for i, gradient in enumerate(results):
        array = None if gradient is None else gradient.payload
        if isinstance(array, np.ndarray) and array.dtype.kind in "fcV" and np.isnan(array).any():
            where = (
                f" The forward call was made at {node.origin}."
                if node.origin
                else " The forward call was made before anomaly detection was enabled, so that its place is not known."
            )
            raise AutogradError(f"Function '{node.name}' returned nan values in its {i}th output.{where}")


_checking: bool = True


def is_anomaly_enabled() -> bool:
    """Say whether calls note where they were made, and gradients are looked through."""
    return tape.places > 0


class set_detect_anomaly:
    """Switch anomaly detection on or off, from here on; as a block, only inside it.

    While it is on every recorded call notes the line that made it, and backward looks for NaN in every gradient
    (unless `check_nan` is False), which makes both slower. It is on or off for all threads.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = tape.places, _checking
        _set(bool(mode), check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        places, check_nan = self._before
        _set(places > 0, check_nan)


class detect_anomaly(set_detect_anomaly):
    """Find where a gradient becomes NaN: inside this block backward stops there, and names the line of the call.

    >>> import workbench as wb
    >>> from workbench.autograd.anomaly import detect_anomaly
    >>> x = wb.tensor(1.0, requires_grad=True)
    >>> with detect_anomaly():
    ...     (x.exp() * float("nan")).backward()
    Traceback (most recent call last):
    workbench.base.errors.AutogradError: Function 'mul' returned nan values in its 0th output. The forward call ...
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(True, check_nan)


def _set(mode: bool, check_nan: bool) -> None:
    global _checking
    _checking = check_nan
    # Switching on what is on already counts nothing twice.
    change = int(mode) - int(tape.places > 0)
    tape.places += change
    tape.watching += change

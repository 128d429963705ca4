"""Recurrent layers in float32 over a whole sequence: one packed product and one pass over the gates a step."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.kernels._arrays import FLOAT32
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []


def _takes(*counts: int) -> Any:
    """Return a predicate for calls with as many arrays (a projection, which is one more, runs as plain array code)."""

    def accepts(*arrays: Any, **params: Any) -> bool:
        return len(arrays) in counts and all(
            type(one) is np.ndarray and one.dtype == FLOAT32 and one.size for one in arrays
        )

    return accepts


if native is not None:
    for _name, _counts in (
        ("rnn", (3,)),
        ("rnn_gradient", (4,)),
        ("lstm", (4,)),
        ("lstm_gradient", (7,)),
        ("gru", (3, 4)),
        ("gru_gradient", (7,)),
    ):
        register(Kernel(_name, getattr(native, _name), _takes(*_counts)))

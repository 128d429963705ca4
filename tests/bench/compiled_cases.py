"""Compiled functions, against PyTorch running them as they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import workbench as wb
from tests.bench.measure import Case, Work

__all__ = ["compiled_cases"]


def _twenty(x: Any, y: Any) -> Any:
    """Sums, products and bounds, twenty in all."""
    for _ in range(5):
        x = (x * 0.9 + y).relu() - 0.1
    return x


def _functions(x: Any, y: Any) -> Any:
    """Twenty ops, eight of them functions."""
    for _ in range(4):
        x = x.tanh() * 0.9 - (x + y).sigmoid()
    return x


def _chained(function: Callable[[Any, Any], Any]) -> Callable[[], tuple[Work, Work]]:
    def make() -> tuple[Work, Work]:
        generator = np.random.default_rng(0)
        arrays = [generator.standard_normal(1_000_000).astype(np.float32) for _ in range(2)]
        ours, theirs = [wb.tensor(one) for one in arrays], [torch.from_numpy(one) for one in arrays]
        compiled = wb.compile(function)

        def our_call() -> None:
            with wb.no_grad():
                compiled(*ours)

        def their_call() -> None:
            with torch.no_grad():
                function(*theirs)

        return our_call, their_call

    return make


def compiled_cases() -> Iterator[Case]:
    """Every row."""
    yield Case("20 chained elementwise ops on 1 M floats, compiled", "torch, eager", 0.35, _chained(_twenty))
    yield Case("the same with functions among them", "torch, eager", 0.35, _chained(_functions))

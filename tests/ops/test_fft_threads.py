"""Transforms that SciPy computes: on the caller's thread, as its pool of threads does not always survive a fork."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.base.lazy import scipy_fft


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_scipy_starts_no_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    transform = getattr(scipy_fft, name)

    def watched(*arguments: Any, workers: Any = None, **keywords: Any) -> Any:
        asked.append(workers)
        return transform(*arguments, **keywords)

    monkeypatch.setattr(scipy_fft, name, watched, raising=False)
    # Primes that no compiled transform takes.
    x = np.random.default_rng(0).standard_normal((17, 8209))
    with np.errstate(all="ignore"):
        getattr(wb.fft, name)(wb.from_numpy(x))
    assert asked == [1]

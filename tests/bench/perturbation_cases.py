"""Attributions by perturbed inputs against Captum's, each with as many perturbations at once as suit it best."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import captum.attr
import numpy as np
import torch

import workbench as wb
from tests.bench.measure import Case, Work
from tests.bench.memory_cases import MemoryCase, apart
from tests.bench.perturbation_memory import OCCLUSION
from tests.bench.perturbation_networks import WINDOWS, lite, photo, small

__all__ = ["perturbation_cases"]

TOGETHER = 200
"""Perturbations at once that suit Captum best for the small network; it takes one at a time unless told."""


def _small(name: str, **settings: Any) -> tuple[Work, Work]:
    image = np.random.default_rng(0).random((1, 1, 28, 28), np.float32)
    ours, theirs = getattr(wb.attribution, name)(small(wb)), getattr(captum.attr, name)(small(torch))
    x, y = wb.from_numpy(image), torch.from_numpy(image)
    return (
        lambda: ours.attribute(x, target=3, **settings),
        lambda: theirs.attribute(y, target=3, perturbations_per_eval=TOGETHER, **settings),
    )


def _photo() -> tuple[Work, Work]:
    ours = wb.attribution.Occlusion(wb.compile(lite(wb)))
    theirs = captum.attr.Occlusion(lite(torch))
    x, y = wb.from_numpy(photo()), torch.from_numpy(photo())
    return (
        lambda: ours.attribute(x, target=3, **WINDOWS),
        # More than these at once take Captum as long, and more memory.
        lambda: theirs.attribute(y, target=3, perturbations_per_eval=4, **WINDOWS),
    )


def perturbation_cases() -> Iterator[Case]:
    """Every row, in the order of the table."""
    made: dict[str, Any] = {
        "Occlusion, 169 windows,": functools.partial(
            _small, "Occlusion", sliding_window_shapes=(1, 4, 4), strides=(1, 2, 2)
        ),
        "KernelShap(200)": functools.partial(_small, "KernelShap", n_samples=200),
        "FeatureAblation": functools.partial(_small, "FeatureAblation"),
    }
    for name, make in made.items():
        yield Case(f"{name} of a small network, one picture", "Captum", 0.7, make, rounds=11)
    yield Case(OCCLUSION, "Captum", 0.7, _photo, rounds=5)
    yield MemoryCase(
        f"peak memory, {OCCLUSION}", "Captum", 0.7, apart, rounds=3, unit="B",
        module="tests.bench.perturbation_memory",
    )  # fmt: skip

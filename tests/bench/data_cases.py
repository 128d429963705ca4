"""Loading batches against PyTorch: 28 x 28 images in batches of 64, made here and by two workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.utils.data

import workbench as wb
from tests.bench.measure import Case, Work

COUNT, BATCH = 8192, 64


def images() -> np.ndarray[Any, Any]:
    """Random images of one channel."""
    return np.random.default_rng(0).standard_normal((COUNT, 1, 28, 28), dtype=np.float32)


class Samples:
    """Samples one by one, as people write them; of both libraries, which ask for no more than this."""

    def __init__(self) -> None:
        self.images, self.labels = images(), np.arange(COUNT) % 10

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        return self.images[index], int(self.labels[index])


def _pass(loader: Any) -> Work:
    def work() -> None:
        count = 0
        for x, _ in loader:
            count += x.shape[0]
        assert count == COUNT

    return work


def _loaders(kind: str, workers: int) -> tuple[Work, Work]:
    ours: Any = Samples()
    theirs: Any = ours
    if kind == "tensors":
        names = ("N", "C", "H", "W")
        ours = wb.data.TensorDataset(wb.tensor(images(), names=names), wb.arange(COUNT, names=("N",)))
        theirs = torch.utils.data.TensorDataset(torch.from_numpy(images()), torch.arange(COUNT))
    options: dict[str, Any] = {
        "batch_size": BATCH,
        "shuffle": True,
        "num_workers": workers,
        "persistent_workers": workers > 0,
    }
    return (
        _pass(wb.data.DataLoader(ours, **options)),
        _pass(torch.utils.data.DataLoader(theirs, **options)),
    )


def data_cases() -> Iterator[Case]:
    """One pass over 8,192 images; the workers are there already."""
    for workers in (0, 2):
        where = f"by {workers} workers" if workers else "in the program's process"
        for kind in ("tensors", "single samples"):
            yield Case(
                f"loading {COUNT} images {where}, {kind}",
                "torch",
                0.5 if workers else 1.0,
                lambda kind=kind, workers=workers: _loaders(kind, workers),
                rounds=5,
            )

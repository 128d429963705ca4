"""Data sets for the tests of loaders, at the top of a module so that spawned workers find them."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import random
import signal
import sys
import time
from typing import Any

import numpy as np

import workbench as wb
from workbench import data


class Drawing(data.Dataset):
    """Samples that are random in every way a sample can be."""

    def __init__(self, count: int = 23) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return index, wb.rand(2, names=("C",)), np.random.rand(), random.random(), np.random.randn()


class Count(data.IterableDataset):
    """Numbers, shared out among workers, with a draw beside each."""

    def __init__(self, count: int = 20) -> None:
        self.count = count

    def __iter__(self) -> Any:
        worker = data.get_worker_info()
        numbers = range(self.count) if worker is None else range(worker.id, self.count, worker.num_workers)
        return ((number, random.random()) for number in numbers)


class Slow(data.Dataset):
    """Numbers that take their time."""

    def __len__(self) -> int:
        return 20

    def __getitem__(self, index: int) -> int:
        time.sleep(0.01)
        return index


class Odd(data.Dataset):
    """Batches of many kinds, of sizes that change."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Any:
        return index


def odd_batch(indices: list[int]) -> dict[str, Any]:
    size = [3, 0, 50_000, 7][indices[0] % 4]
    return {
        "named": wb.full((size, 2), float(indices[0]), names=("T", "C")),
        "plain": np.arange(size, dtype=np.int32)[::2],
        "half": wb.ones(2, dtype="bfloat16"),
        "text": "x" * size,
        "objects": np.array([None, "a"], dtype=object),
        "when": np.array(["2020-01-01"], dtype="datetime64[D]"),
        "record": np.zeros(2, dtype=[("a", "i4"), ("b", "f8")]),
        "scalar": wb.tensor(1.5),
        "parameter": wb.nn.Parameter(wb.ones(2)),
        "indices": indices,
    }


class Failing(data.Dataset):
    """Ends its process, or fails, at sample 5."""

    def __init__(self, way: str, here: int | None = None) -> None:
        self.way = way

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> int:
        if index == 5:
            ways[self.way]()
        return index


class UnpicklableError(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def _raise(error: BaseException) -> None:
    raise error


ways: dict[str, Any] = {
    "error": lambda: _raise(KeyError("no such thing")),
    "unpicklable": lambda: _raise(UnpicklableError(1, 2)),
    "stop": lambda: _raise(StopIteration()),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "segfault": lambda: (faulthandler.disable(), ctypes.string_at(0)),
    "exit": lambda: sys.exit(3),
    "_exit": lambda: os._exit(0),
    "hang": lambda: time.sleep(600),
}


class Products(data.Dataset):
    """Samples that use the compiled kernels and BLAS."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        x = wb.ones(200, 200)
        image = wb.ones(1, 8, 32, 32)
        conv = wb.nn.functional.conv2d(image, wb.ones(8, 8, 3, 3))
        inverse = np.linalg.inv(np.eye(300) * 2)
        return (x @ x).sum() + conv.sum(), wb.get_num_threads(), float(inverse[0, 0])


def refuse_to_start(worker: int) -> None:
    raise OSError(f"worker {worker} finds no disk")


def identity(samples: Any) -> Any:
    return samples


def asking(batch: list[Any]) -> wb.Tensor:
    return wb.ones(2, names=("N",)).requires_grad_()


def open_pipes(batch: list[Any]) -> list[str]:
    """Return the pipes that this process has open."""
    folder = "/proc/self/fd"
    found = []
    for one in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):  # the folder itself was open, and is no more
            found.append(os.readlink(f"{folder}/{one}"))
    return found

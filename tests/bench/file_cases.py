"""Rows of files: how large they are, and how long reading them takes."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import workbench as wb
from tests.bench.measure import Case, Timing, Work

__all__ = ["FileCase", "event_cases", "file_cases"]


@dataclass(frozen=True)
class FileCase(Case):
    """A row of bytes on disk: each work writes its file once and returns how many it has."""

    def run(self) -> Timing:
        """Write both."""
        ours, theirs = self.make()
        return Timing(float(ours()), float(theirs()))


@dataclass(frozen=True)
class ReadCase(Case):
    """A row of a long file that is read once by either: their turn alone takes most of a minute."""

    def run(self) -> Timing:
        """Read with both, after a short file."""
        seconds = []
        for work in self.make():
            start = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
        return Timing(*seconds)


SCALARS = 1_000_000


def _event_file() -> tuple[Work, Work]:
    """A million numbers of four tags, read by the workbench and by TensorBoard."""
    folder = tempfile.mkdtemp()
    with wb.tensorboard.SummaryWriter(folder) as writer:
        for i in range(SCALARS):
            writer.add_scalar(f"loss/{'abcd'[i % 4]}", 1 / (i + 1), i // 4, 1.7e9 + i)

    def ours() -> None:
        log = wb.tensorboard.open(folder)
        assert sum(map(len, log.scalars().values())) == SCALARS

    def theirs() -> None:
        found = EventAccumulator(folder, size_guidance={"scalars": 0})
        assert sum(len(found.Scalars(tag)) for tag in found.Reload().Tags()["scalars"]) == SCALARS

    return ours, theirs


def _size_of(model: Any, x: Any) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.wb"
        wb.save(wb.graph.trace(model, x), path)
        return os.stat(path).st_size


def _resnet() -> tuple[Work, Work]:
    x, model = wb.randn(2, 3, 64, 64), wb.models.resnet18().eval()
    mapping = wb.quantization.get_default_qconfig_mapping()
    prepared = wb.quantization.prepare_fx(model, mapping, (x,))
    prepared(x)
    converted = wb.quantization.convert_fx(prepared)
    return lambda: _size_of(converted, x), lambda: _size_of(model, x)


def event_cases() -> Iterator[Case]:
    """Yield the rows of logs."""
    yield ReadCase("event file of 1 M scalars, read", "TensorBoard's reader", 0.3, _event_file, rounds=1)


def file_cases() -> Iterator[Case]:
    """Yield the rows of models."""
    yield FileCase("int8 file, ResNet-18", "its float32 file", 0.27, _resnet, rounds=1, unit="B")

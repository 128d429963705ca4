"""Rows of the sizes of files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import workbench as wb
from tests.bench.measure import Case, Timing, Work

__all__ = ["FileCase", "file_cases"]


@dataclass(frozen=True)
class FileCase(Case):
    """A row of bytes on disk: each work writes its file once and returns how many it has."""

    def run(self) -> Timing:
        """Write both."""
        ours, theirs = self.make()
        return Timing(float(ours()), float(theirs()))


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


def file_cases() -> Iterator[Case]:
    """Yield the rows."""
    yield FileCase("int8 file, ResNet-18", "its float32 file", 0.27, _resnet, rounds=1, unit="B")

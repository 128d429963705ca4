"""A program that quantizes in every way of PyTorch's runs unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("quantization_program.txt")


def test_each_way_of_quantizing(run: Any) -> None:
    done = run(PROGRAM.read_text(encoding="utf-8"))
    assert done.returncode == 0, done.stderr[-2000:]
    said = dict(line.split() for line in done.stdout.splitlines())
    assert said == dict.fromkeys(
        ("static", "aware", "dynamic", "smaller", "rows", "attention", "graph", "fused", "mixed"), "ok"
    )

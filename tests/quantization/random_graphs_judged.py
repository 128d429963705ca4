"""Judges the random programs of many seeds, and prints what fails."""

from __future__ import annotations

import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

from tests.quantization.random_graph_checks import CHECKS, judge, quantized
from tests.quantization.random_graphs import draw_program
from tests.quantization.random_graphs_apart import run_apart, write

__all__ = ["main"]

TOGETHER = 50
"""So many programs are run by one process without kernels."""


def main() -> None:
    """Judge the programs from a seed to another."""
    warnings.simplefilter("ignore")
    first, last = int(sys.argv[1]), int(sys.argv[2])
    names = sys.argv[3:] or [*CHECKS, "apart"]
    start, failed = time.perf_counter(), 0
    for begin in range(first, last, TOGETHER):
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(begin, min(begin + TOGETHER, last)):
                try:
                    made = quantized(draw_program(seed))
                    found = judge(made, names)
                    if "apart" in names and not found:
                        write(made, Path(folder))
                except Exception:
                    made, found = None, [traceback.format_exc()]
                failed += bool(found)
                if found:
                    print(f"===== {seed}\n{made.program.text if made else ''}", *found, sep="\n", flush=True)
            apart = run_apart(Path(folder)) if "apart" in names else []
            failed += len(apart)
            for line in apart:
                print("===== without kernels", line, sep="\n", flush=True)
        print(f"{min(begin + TOGETHER, last) - first} programs, {failed} failed", file=sys.stderr, flush=True)
    print(f"{last - first} programs, {failed} failed; {time.perf_counter() - start:.0f} s")

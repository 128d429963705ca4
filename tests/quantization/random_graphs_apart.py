"""Programs in codes, written to files and run by another process without compiled kernels: NumPy is the oracle."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import workbench as wb
from tests.quantization.random_graph_checks import Quantized, alike, leaves, returns_sizes

__all__ = ["run_apart", "write"]


def write(made: Quantized, folder: Path) -> None:
    """Write a quantized program, what it is given and what it answered."""
    if made.integer is None or not made.codes or returns_sizes(made.program):
        return
    name = str(made.program.seed)
    wb.save(wb.graph.trace(made.integer, *made.program.inputs), folder / f"{name}.wb")
    given = {f"given{place}": one.numpy() for place, one in enumerate(made.program.inputs)}
    codes = {f"codes{place}": one for place, one in enumerate(made.codes)}
    np.savez(folder / f"{name}.npz", engine=made.engine, **given, **codes)


def run_apart(folder: Path) -> list[str]:
    """Return what differs where the programs of a folder are run without kernels."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.quantization.random_graphs_apart", str(folder)],
        env={**os.environ, "WORKBENCH_KERNELS": "off"}, cwd=Path(__file__).parents[2], capture_output=True, text=True,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    ran = sum(line.startswith("ran ") for line in lines)
    wanted = len([*folder.glob("*.wb")])
    short = [f"{ran} of {wanted} programs ran apart:\n{done.stderr}"] if ran != wanted else []
    return short + [line for line in lines if not line.startswith("ran ")]


def main() -> None:
    """Run the programs of a folder, and say which differ."""
    for file in sorted(Path(sys.argv[1]).glob("*.wb")):
        kept = np.load(file.with_suffix(".npz"))
        wb.backends.quantized.engine = str(kept["engine"])
        given = [wb.from_numpy(kept[key]) for key in kept.files if key.startswith("given")]
        codes = [kept[key] for key in kept.files if key.startswith("codes")]
        try:
            with np.errstate(all="ignore"):
                alike(leaves(wb.load(file)(*given)), codes, "NumPy")
        except AssertionError as error:
            print(f"--- {file.stem}: {error}")
        print(f"ran {file.stem}", flush=True)


if __name__ == "__main__":
    main()

"""``python -m tests.bench``: measure every case with one and two threads, and write the tables into the README."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from tests.bench.cases import TABLES
from tests.bench.measure import Case, Timing
from workbench import kernels

README = Path(__file__).resolve().parents[2] / "README.md"
BEGIN, END = "<!-- bench:begin {} -->", "<!-- bench:end {} -->"


def processor() -> str:
    """Name of the processor, and the vector instructions that matter here."""
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor()
    lines = info.read_text().splitlines()
    name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    flags = next((line.split(":", 1)[1].split() for line in lines if line.startswith("flags")), [])
    sets = [
        one
        for one in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16")
        if one in flags
    ]
    return f"{name} ({', '.join(sets)})"


def amount(value: float, unit: str) -> str:
    """A time or a size with three digits and its unit."""
    if unit == "B":
        return f"{value / 2**20:.3g} MiB"
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def cell(case: Case, timing: Timing | None) -> str:
    """Ours, theirs and the ratio, bold where the aim is met."""
    if timing is None:
        return f"{case.needs} is not installed"
    met = "**" if timing.ratio <= case.target else ""
    times = (amount(one, case.unit) for one in (timing.ours, timing.theirs))
    return " · ".join((*times, f"{met}{timing.ratio:.2f}{met}"))


def table(rows: Sequence[tuple[Case, dict[int, Timing]]], threads: Sequence[int]) -> str:
    """The measured table in Markdown."""
    columns = [f"{n} thread{'s' if n > 1 else ''}: ours · theirs · ratio" for n in threads]
    lines = [f"| work | against | aim | {' | '.join(columns)} |", "|---|---|---|" + "---|" * len(threads)]
    for case, timings in rows:
        cells = [cell(case, timings.get(n)) for n in threads]
        lines.append(f"| {case.name} | {case.peer} | ≤ {case.target} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and (unless told not to) write the README's tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "--only", default="", help="measure the cases whose name contains this, and write nothing"
    )
    parser.add_argument("--table", choices=[*TABLES], action="append", help="measure and write this table")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args(arguments)
    for name in options.table or TABLES:
        chosen = [case for case in TABLES[name]() if options.only in case.name]
        if not chosen:
            continue
        text = f"{table(measured(chosen, options.threads), options.threads)}\n\n{where()}"
        print(text)
        if not options.only:
            write(name, text)


def measured(chosen: Sequence[Case], threads: Sequence[int]) -> list[tuple[Case, dict[int, Timing]]]:
    """Return the timings of cases by their number of threads, and print them as they come."""
    rows: list[tuple[Case, dict[int, Timing]]] = [(case, {}) for case in chosen]
    for count in threads:
        torch.set_num_threads(count)
        kernels.set_num_threads(count)
        for case, timings in rows:
            if not case.is_there:
                print(f"{case.name}, against {case.peer}: {case.needs} is not installed", flush=True)
                continue
            timings[count] = case.run()
            print(
                f"{count} thread(s)  {case.name}, against {case.peer}: {timings[count].ratio:.2f}", flush=True
            )
    return rows


def where() -> str:
    """Say what it was measured on."""
    return (
        f"Measured on {processor()}, Linux, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"PyTorch {torch.__version__}; medians of interleaved runs; bold: the aim is met."
    )


def write(name: str, text: str) -> None:
    """Put a table into its place in the README."""
    begin, end = BEGIN.format(name), END.format(name)
    before, rest = README.read_text(encoding="utf-8").split(begin)
    after = rest.split(end)[1]
    README.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Instruction counts under valgrind's callgrind: what a statement costs, without the noise of time."""

from __future__ import annotations

import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from workbench.utils.benchmark.measurement import TaskSpec

__all__ = ["CallgrindStats", "FunctionCount", "FunctionCounts", "collect"]

LIMIT = 600
"""Seconds that valgrind may take."""


class FunctionCount(NamedTuple):
    """Instructions executed in one function."""

    count: int  # type: ignore[assignment]
    function: str


@dataclass(frozen=True)
class FunctionCounts:
    """Instructions by function, the most first; counts can be subtracted, filtered and renamed.

    >>> counts = FunctionCounts((FunctionCount(5, "f"), FunctionCount(2, "g")))
    >>> counts.sum(), counts.filter(lambda name: name == "g").sum(), (counts - counts).sum()
    (7, 2, 0)
    """

    data: tuple[FunctionCount, ...]
    inclusive: bool = False

    def __iter__(self) -> Iterator[FunctionCount]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, item: Any) -> Any:
        found = self.data[item]
        return replace(self, data=found) if isinstance(item, slice) else found

    def _combined(self, other: FunctionCounts, sign: int) -> FunctionCounts:
        if self.inclusive != other.inclusive:
            raise ValueError("inclusive and exclusive counts do not combine")
        total: dict[str, int] = {}
        for factor, counts in ((1, self), (sign, other)):
            for count, name in counts:
                total[name] = total.get(name, 0) + factor * count
        return _ordered(total, self.inclusive)

    def __add__(self, other: FunctionCounts) -> FunctionCounts:
        return self._combined(other, 1)

    def __sub__(self, other: FunctionCounts) -> FunctionCounts:
        return self._combined(other, -1)

    def __mul__(self, factor: int) -> FunctionCounts:
        return _ordered({name: count * factor for count, name in self}, self.inclusive)

    def transform(self, rename: Callable[[str], str]) -> FunctionCounts:
        """Rename functions; those that come to have one name are added up."""
        total: dict[str, int] = {}
        for count, name in self:
            total[rename(name)] = total.get(rename(name), 0) + count
        return _ordered(total, self.inclusive)

    def filter(self, keep: Callable[[str], bool]) -> FunctionCounts:
        """Keep the functions of which ``keep(name)`` holds."""
        return replace(self, data=tuple(one for one in self if keep(one.function)))

    def sum(self) -> int:
        """Instructions altogether."""
        return sum(one.count for one in self)

    def denoise(self) -> FunctionCounts:
        """Leave out look-ups in dictionaries, whose cost depends on hashes that change from run to run."""
        return self.filter(
            lambda name: not re.search(r"dictobject\.c|lookdict|_Py_dict_lookup|unicodekeys_lookup", name)
        )

    def __repr__(self) -> str:
        shown = self.data if len(self) <= 18 else (*self.data[:9], FunctionCount(0, "..."), *self.data[-9:])
        width = max((len(str(one.count)) for one in shown), default=1)
        lines = [
            f"  {'...' if one.function == '...' else one.count:>{width}}  {one.function}" for one in shown
        ]
        return "\n".join([f"{type(self).__name__} of {len(self)} functions", *lines, f"Total: {self.sum()}"])


def _ordered(total: dict[str, int], inclusive: bool) -> FunctionCounts:
    found = [FunctionCount(count, name) for name, count in total.items() if count]
    return FunctionCounts(tuple(sorted(found, key=lambda one: (-one.count, one.function))), inclusive)


@dataclass(frozen=True)
class CallgrindStats:
    """What callgrind counted for `number_per_run` runs of a statement, and for as many of an empty one."""

    task_spec: TaskSpec
    number_per_run: int
    stmt_exclusive_stats: FunctionCounts
    baseline_exclusive_stats: FunctionCounts | None

    def counts(self, *, denoise: bool = False) -> int:
        """Instructions of all runs, less those of the empty loop where it was measured."""
        return self.stats().denoise().sum() if denoise else self.stats().sum()

    def stats(self, inclusive: bool = False) -> FunctionCounts:
        """Instructions by function, less those of the empty loop. Only exclusive counts are collected."""
        if inclusive:
            raise ValueError("only exclusive counts were collected")
        base = self.baseline_exclusive_stats
        return self.stmt_exclusive_stats if base is None else self.stmt_exclusive_stats - base

    def delta(self, other: CallgrindStats, inclusive: bool = False) -> FunctionCounts:
        """Say by function what another statement cost less, or more."""
        return self.stats(inclusive) - other.stats(inclusive)

    def as_standardized(self) -> CallgrindStats:
        """Leave out of the names of functions where their files lie, so that two machines can be compared."""

        def bare(name: str) -> str:
            return re.sub(r"^(?:[^:\s]*/)?([^/:\s]+):", r"\1:", re.sub(r"\s*\[.*\]$", "", name))

        base = self.baseline_exclusive_stats
        return replace(
            self,
            stmt_exclusive_stats=self.stmt_exclusive_stats.transform(bare),
            baseline_exclusive_stats=None if base is None else base.transform(bare),
        )

    def __repr__(self) -> str:
        noisy, quiet = self.counts(), self.counts(denoise=True)
        return (
            f"<{type(self).__module__}.{type(self).__name__} of {self.task_spec.title}>\n"
            f"Instructions: {noisy} ({quiet} without dictionary look-ups) in {self.number_per_run} runs"
        )


# Counting is switched on around the runs alone: what Python does to begin would drown them.
_SCRIPT = """
import ctypes, pickle, sys
with open(sys.argv[1], "rb") as handle:
    task = pickle.load(handle)  # written a moment ago by the process that started this one
names = task["names"]
exec(compile(task["setup"], "<setup>", "exec"), names)
source = "def __measured__(__count__):\\n    for _ in range(__count__):\\n" + task["body"]
exec(compile(source, "<stmt>", "exec"), names)
names["__measured__"](2)
import subprocess, os
def control(word):
    subprocess.run([task["control"], word, str(os.getpid())], check=True, capture_output=True)
control("--instr=on")
names["__measured__"](task["number"])
control("--instr=off")
"""


def collect(spec: TaskSpec, names: dict[str, Any], number: int, baseline: bool) -> CallgrindStats:
    """Run a statement and, if wanted, an empty one under callgrind and return the counts."""
    tools = [shutil.which(tool) for tool in ("valgrind", "callgrind_control", "callgrind_annotate")]
    if not all(tools):
        raise RuntimeError(
            "collect_callgrind needs valgrind with its callgrind tools on the path: install it "
            "(e.g. apt install valgrind), or time with blocked_autorange()"
        )
    if number < 1:
        raise ValueError(f"number must be at least 1, got {number}")
    # The interpreter's own names, such as __builtins__, do not pickle; the other process has its own.
    portable = {name: value for name, value in names.items() if not name.startswith("__")}
    statement = _count(spec.stmt, spec.setup, portable, number, tools)
    # What the loop itself costs.
    empty = _count("pass", spec.setup, portable, number, tools) if baseline else None
    return CallgrindStats(spec, number, statement, empty)


def _count(
    stmt: str, setup: str, names: dict[str, Any], number: int, tools: Sequence[str | None]
) -> FunctionCounts:
    # In a loop in a function.
    body = "\n".join("        " + line for line in stmt.splitlines())
    with tempfile.TemporaryDirectory(prefix="workbench-callgrind-") as folder:
        task, script, out = (Path(folder, name) for name in ("task.pickle", "run.py", "callgrind.out"))
        task.write_bytes(
            pickle.dumps(
                {"names": names, "setup": setup, "body": body, "number": number, "control": tools[1]}
            )
        )
        script.write_text(_SCRIPT)
        command = [
            str(tools[0]), "--tool=callgrind", f"--callgrind-out-file={out}", "--instr-atstart=no",
            "--dump-line=no", sys.executable, str(script), str(task),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
        if done.returncode != 0:
            raise RuntimeError(
                "valgrind could not run the statement: " + "\n".join(done.stderr.splitlines()[-4:])
            )
        # All functions: by itself it leaves out the least of them.
        listed = subprocess.run(
            [str(tools[2]), "--threshold=100", "--auto=no", str(out)],
            capture_output=True, text=True, check=True, timeout=LIMIT,
        ).stdout  # fmt: skip
    return _read(listed)


def _read(listed: str) -> FunctionCounts:
    """Read what callgrind_annotate prints: a count, perhaps a share, and a function, on a line each."""
    total: dict[str, int] = {}
    for line in listed.splitlines():
        # Newer versions of valgrind give a share in parentheses.
        found = re.match(r"\s*([\d,]+)\s+(?:\(\s*[\d.]+%\)\s+)?(\S.*)$", line)
        if found and "PROGRAM TOTALS" not in found[2]:
            name = found[2].strip()
            total[name] = total.get(name, 0) + int(found[1].replace(",", ""))
    return _ordered(total, False)

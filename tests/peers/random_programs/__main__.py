"""``python -m tests.peers.random_programs --count 20000``: say how many programs differ, and show the shortest."""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

from tests.peers.random_programs.grow import grow
from tests.random_programs import recorded
from tests.random_programs.compare import differs, stopped


def main() -> None:
    """Run programs, or record some."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=10, help="so many programs that differ")
    parser.add_argument(
        "--record", type=int, default=0, help="write so many programs to the file of the plain suite"
    )
    given = parser.parse_args()
    if given.record:
        record(given.record, given.seed)
        return
    start, wrong, refused, steps_run, broken, declared = time.perf_counter(), [], 0, 0, 0, 0
    for n in range(given.count):
        steps, theirs = grow(random.Random(given.seed * 1_000_003 + n).randrange)
        refused += theirs.outcomes.count("refused")
        declared += bool(stopped(steps, theirs))
        steps_run += len(steps)
        found = differs(steps, theirs)
        broken += theirs.broken
        if found:
            wrong.append(found)
    for found in sorted(wrong, key=len)[: given.show]:
        print(found, end="\n\n")
    print(
        f"{given.count} programs, {steps_run} steps of which PyTorch refused {refused}, {len(wrong)} programs differ;"
    )
    print(
        f"{declared} met a declared refusal, {broken} a defect of PyTorch; {time.perf_counter() - start:.0f} s"
    )


def record(count: int, seed: int, file: Path = recorded.FILE) -> None:
    """Write programs that are compared to their end."""
    programs: list[recorded.Recorded] = []
    n = 0
    while len(programs) < count:
        steps, theirs = grow(random.Random(seed * 1_000_003 + n).randrange)
        n += 1
        left = theirs.end()
        if theirs.broken or stopped(steps, theirs) or len(steps) < 4 or theirs.ended:
            continue
        programs.append(recorded.Recorded(steps, theirs.outcomes, left, theirs.layouts))
    recorded.write(programs, file)
    print(f"{len(programs)} of {n} programs, {file.stat().st_size:,} bytes in {file}")


if __name__ == "__main__":
    main()

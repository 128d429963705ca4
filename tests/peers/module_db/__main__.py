"""``python -m tests.peers.module_db [Name …]``: judge modules and say what fails; all of them also write the page.

``--verbose`` shows every failure.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter

import torch

import workbench as wb
from tests.peers.module_db.coverage import write
from tests.peers.module_db.judge import ENTRIES, judge_entry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    passed = total = 0
    results = {}
    for name in options.names or ENTRIES:
        if not hasattr(wb.nn, name):
            print(f"none {name}")
            total += 1
            continue
        outcomes = list(judge_entry(ENTRIES[name]))
        good = sum(not one.message for one in outcomes)
        results[name] = (len(outcomes), good, sum(one.second and not one.message for one in outcomes))
        passed, total = passed + (good == len(outcomes)), total + 1
        if good == len(outcomes):
            if options.names:
                print(f"ok   {name} ({good})")
            continue
        print(f"FAIL {name}: {good} of {len(outcomes)}")
        messages = Counter(one.message for one in outcomes if one.message)
        first = {one.message: one.index for one in reversed(outcomes)}
        for message, count in messages.most_common(None if options.verbose else 3):
            print(f"     {count}x (first sample {first[message]}) {message}", flush=True)
    print(f"{passed} of {total} modules pass")
    if len(results) == len(ENTRIES):
        write(results, torch.__version__.split("+")[0])


if __name__ == "__main__":
    main()

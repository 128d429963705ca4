"""``python -m tests.peers.op_db [entry …]``: judge entries (all by default) and say what fails.

A name stands for all of its variants: ``div`` for ``div.floor_rounding`` too. ``--verbose`` shows every failure.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter

import torch
from torch.testing._internal.common_methods_invocations import op_db

from tests.peers.op_db.judge import judge_entry, name_of
from tests.peers.op_db.names import PLAIN


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("entries", nargs="*")
    parser.add_argument("--limit", type=int, default=None, help="samples an entry")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dtype = getattr(torch, options.dtype)
    plain = set(PLAIN)
    passed = total = 0
    for entry in op_db:
        name = name_of(entry)
        if name not in plain or dtype not in entry.dtypes:
            continue
        if options.entries and name not in options.entries and entry.name not in options.entries:
            continue
        outcomes = list(judge_entry(entry, options.limit, dtype))
        good = sum(not one.message for one in outcomes)
        passed, total = passed + good, total + len(outcomes)
        if good == len(outcomes):
            if options.entries:
                print(
                    f"ok   {name} ({good}, of which {sum(one.second for one in outcomes)} by second opinion)"
                )
            continue
        print(f"FAIL {name}: {good} of {len(outcomes)}")
        messages = Counter(one.message for one in outcomes if one.message)
        first = {one.message: one.index for one in reversed(outcomes)}
        for message, count in messages.most_common(None if options.verbose else 3):
            print(f"     {count}x (first sample {first[message]}) {message}", flush=True)
    print(f"{passed} of {total} samples pass")


if __name__ == "__main__":
    main()

"""``python -m tests.peers.optim_db [name …]``: judge optimizers and schedules, and say what fails.

Without names all are judged, and the coverage page is written. ``--verbose`` shows every failure.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict

import torch

from tests.optim.recipe import SCHEDULES
from tests.peers.optim_db.coverage import PAGE, page
from tests.peers.optim_db.judge import KNOWN, Outcome, entries, judge_entry, judge_schedule


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found: dict[str, list[Outcome]] = defaultdict(list)
    for name, entry in entries().items():
        if not options.names or name in options.names:
            found[name] = list(judge_entry(name, entry))
    for label, (kind, _) in SCHEDULES.items():
        if not options.names or kind in options.names:
            found[kind].append(judge_schedule(label))
    results = {}
    for name, outcomes in found.items():
        failed = [one for one in outcomes if one.message]
        results[name] = (len(outcomes), len(outcomes) - len(failed))
        print(f"{'FAIL' if failed else 'ok  '} {name}: {results[name][1]} of {len(outcomes)}")
        for one in failed if options.verbose else failed[:4]:
            print(f"     {one.case}: {one.message}", flush=True)
    print(
        f"{sum(good for _, good in results.values())} of {sum(all_ for all_, _ in results.values())} comparisons pass"
    )
    if not options.names:
        PAGE.write_text(page(results, KNOWN, torch.__version__.split("+")[0]), encoding="utf-8")


if __name__ == "__main__":
    main()

"""``python -m tests.bench.perturbation_memory NAME ours|theirs THREADS``: by how many bytes occlusion raises the peak.

Each with its network and parameters: ours compiled, theirs Captum's with four perturbations at once.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from tests.bench.peaks import rise
from tests.bench.perturbation_networks import WINDOWS, lite, photo

__all__ = ["OCCLUSION"]

OCCLUSION = "Occlusion of EfficientNet-Lite0, 49 windows, compiled"


def _ours(threads: int) -> int:
    wb = importlib.import_module("workbench")
    wb.set_num_threads(threads)
    wb.nn.functional.conv2d(wb.ones(1, 3, 8, 8), wb.ones(4, 3, 3, 3))
    x, method = wb.from_numpy(photo()), wb.attribution.Occlusion

    def work() -> Any:
        return method(wb.compile(lite(wb))).attribute(x, target=3, **WINDOWS)

    return rise(work)


def _theirs(threads: int) -> int:
    torch = importlib.import_module("torch")
    torch.set_num_threads(threads)
    torch.conv2d(torch.ones(1, 3, 8, 8), torch.ones(4, 3, 3, 3))
    x, method = torch.from_numpy(photo()), importlib.import_module("captum.attr").Occlusion

    def work() -> Any:
        return method(lite(torch)).attribute(x, target=3, perturbations_per_eval=4, **WINDOWS)

    return rise(work)


if __name__ == "__main__":
    print({"ours": _ours, "theirs": _theirs}[sys.argv[2]](int(sys.argv[3])))

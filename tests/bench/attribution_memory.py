"""``python -m tests.bench.attribution_memory NAME ours|theirs THREADS``: by how much attributions raise memory."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from tests.bench.attribution_networks import residual
from tests.bench.peaks import rise

STEPS = 50


def _image() -> Any:
    return np.random.default_rng(0).random((1, 3, 224, 224), np.float32)


def _ours(threads: int) -> int:
    wb = importlib.import_module("workbench")
    wb.set_num_threads(threads)
    kind, x = wb.attribution.IntegratedGradients, wb.from_numpy(_image())
    model = residual(wb)
    kind(model).attribute(wb.zeros(1, 3, 32, 32), target=3, n_steps=2)
    # What is compiled, and the weights that it holds, are counted.
    return rise(lambda: kind(wb.compile(model)).attribute(x, target=3, n_steps=STEPS))


def _theirs(threads: int) -> int:
    torch, captum = importlib.import_module("torch"), importlib.import_module("captum.attr")
    torch.set_num_threads(threads)
    method, x = captum.IntegratedGradients(residual(torch)), torch.from_numpy(_image())
    method.attribute(torch.zeros(1, 3, 32, 32), target=3, n_steps=2)
    return rise(lambda: method.attribute(x, target=3, n_steps=STEPS, internal_batch_size=4))


if __name__ == "__main__":
    print({"ours": _ours, "theirs": _theirs}[sys.argv[2]](int(sys.argv[3])))

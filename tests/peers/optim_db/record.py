"""``python -m tests.peers.optim_db.record``: write tests/optim/recorded.npz, what `make test` checks without torch.

Of every configuration of every optimizer torch's final weights: after the given gradients in float32, and of the small
net in float64; of every schedule the rates and momenta of 50 steps.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import torch

from tests.optim.recipe import SCHEDULES, rates_of
from tests.optim.recorded import FILE
from tests.peers.optim_db.judge import (
    configurations,
    entries,
    two_groups_of_theirs,
    weights_given,
    weights_of_net,
)


def written(value: Any) -> Any:
    """A setting in words of JSON."""
    if isinstance(value, torch.Tensor):
        return {"tensor": value.item()}
    return list(value) if isinstance(value, tuple) else value


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    cases: list[dict[str, Any]] = []
    narrow: list[Any] = []
    wide: list[Any] = []
    for name, entry in entries().items():
        for label, settings in configurations(entry):
            plain = {key: written(value) for key, value in settings.items()}
            cases.append({"optimizer": name, "label": label, "settings": plain})
            wide += [one.ravel() for one in weights_of_net(name, settings, "float64")]
            if not entry.step_requires_closure:
                narrow += [one.ravel() for one in weights_given(name, settings, "float32")[0]]
    modules = (torch.optim.lr_scheduler, torch.optim.swa_utils)
    rates = [
        np.asarray(rates_of(modules, two_groups_of_theirs(), kind, settings))
        for kind, settings in SCHEDULES.values()
    ]
    manifest = {"cases": cases, "schedules": list(SCHEDULES), "torch": torch.__version__.split("+")[0]}
    np.savez_compressed(
        FILE,
        manifest=np.frombuffer(json.dumps(manifest).encode(), np.uint8),
        given=np.concatenate(narrow),
        net=np.concatenate(wide),
        rates=np.stack(rates),
    )
    print(f"{len(cases)} configurations and {len(rates)} schedules in {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()

"""``python -m tests.peers.module_db.record``: write tests/nn/recorded.npz, what `make test` checks without torch.

Of every module a few small samples: how it is made, its state, inputs, outputs, gradients and buffers afterwards. The
same torch writes the same bytes.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import torch

from tests.nn.recorded import FILE
from tests.peers.module_db.judge import ENTRIES, Run, by_torch, judge_entry, module_of, samples_of
from tests.peers.op_db.judge import _tensors, tolerance
from tests.peers.op_db.record import NotRecordable, Store

SAMPLES = 5
"""Most samples of a module."""
VALUES = 6000
"""Most values of a sample's tensors together."""


def recorded(name: str, store: Store) -> list[Any]:
    """Return the record of some samples of a module, spread over all that there are."""
    entry = ENTRIES[name]
    rough = {one.index for one in judge_entry(entry) if one.second or one.message}
    samples = samples_of(entry)
    found: list[Any] = []
    usable = [i for i in range(len(samples)) if i not in rough]
    for i in sorted(usable, key=lambda i: (i * 7919) % len(samples)):
        training, sample = samples[i]
        module = module_of(entry, sample, training)
        state = {key: value.detach().clone() for key, value in module.state_dict().items()}
        try:
            written = _written(training, sample, state, by_torch(module, sample), store)
        except NotRecordable:
            continue
        found.append(written)
        if len(found) == SAMPLES:
            break
    return found


def _written(training: bool, sample: Any, state: dict[str, Any], run: Run, store: Store) -> dict[str, Any]:
    constructor, forward = sample.constructor_input, sample.forward_input
    made = [list(constructor.args), dict(constructor.kwargs)]
    given = [list(forward.args), dict(forward.kwargs)]
    gradients = {key: one for key, one in run.gradients.items() if one is not None}
    tensors = [
        *_tensors([*made, *given], torch.Tensor),
        *state.values(), *run.outputs, *gradients.values(), *run.buffers.values(),
    ]  # fmt: skip
    leaves = _tensors(given, torch.Tensor)
    if sum(one.numel() for one in tensors) > VALUES or len({id(one) for one in leaves}) < len(leaves):
        raise NotRecordable
    Store().written([*made, *given])
    return {
        "training": training,
        "made": store.written(made),
        "given": store.written(given),
        "state": {key: store.add(one) for key, one in state.items()},
        "outputs": [store.add(one) for one in run.outputs],
        "gradients": {key: store.add(one.detach()) for key, one in gradients.items()},
        "buffers": {key: store.add(one) for key, one in run.buffers.items()},
    }


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    store, entries = Store(), {}
    for name, entry in ENTRIES.items():
        samples = recorded(name, store)
        if samples:
            relative, absolute = tolerance(entry)
            entries[name] = {"tolerance": [max(relative, 2e-5), max(absolute, 2e-5)], "samples": samples}
    manifest = {
        "torch": torch.__version__.split("+")[0],
        "entries": entries,
        "not recorded": sorted(set(ENTRIES) - set(entries)),
    }
    text = json.dumps(manifest, separators=(",", ":")).encode()
    arrays = {name: np.concatenate(store.arrays[name]) for name in sorted(store.arrays)}
    np.savez_compressed(FILE, manifest=np.frombuffer(text, np.uint8), **arrays)
    count = sum(len(one["samples"]) for one in entries.values())
    print(f"{FILE}: {FILE.stat().st_size} bytes, {len(entries)} modules, {count} samples")
    print(f"not recorded: {manifest['not recorded']}")


if __name__ == "__main__":
    main()

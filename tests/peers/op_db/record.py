"""``python -m tests.peers.op_db.record``: write tests/ops/recorded.npz, what `make test` checks without torch.

Of every entry a few small samples: arguments, outputs, and gradients for ones. The arrays of one type lie behind one
another in one array of the file; the manifest, JSON in bytes, says where, and holds everything that is no array. The
same torch writes the same bytes.
"""

from __future__ import annotations

import itertools
import json
import math
import warnings
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

from tests.ops.recorded import FILE
from tests.peers.op_db.judge import (
    _array,
    _by_torch,
    _tensors,
    _their_gradients,
    differentiable,
    judge_entry,
    name_of,
    samples_of,
    tolerance,
)
from tests.peers.op_db.known import KNOWN
from tests.peers.op_db.names import PLAIN

SAMPLES = 4
"""Most samples of an entry."""
VALUES = 1200
"""Most values of a recorded tensor."""

TYPES = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.complex128,
    torch.complex64,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
]


class NotRecordable(Exception):
    """An argument that JSON has no words for."""


class Store:
    """The arrays so far, by type, each laid flat behind the one before."""

    def __init__(self) -> None:
        self.arrays: dict[str, list[Any]] = {}
        self.sizes: dict[str, int] = {}

    def add(self, value: Any) -> dict[str, Any]:
        """Keep a tensor's numbers, and return where they are."""
        array = np.ascontiguousarray(_array(value))
        name = str(array.dtype)
        start = self.sizes.get(name, 0)
        self.arrays.setdefault(name, []).append(array.ravel())
        self.sizes[name] = start + array.size
        place = {"tensor": name, "start": start, "shape": list(value.shape)}
        return {**place, "grad": True} if value.requires_grad else place

    def written(self, value: Any) -> Any:
        """Return an argument in words of JSON."""
        if isinstance(value, torch.Tensor):
            if value.numel() > VALUES or value.dtype is torch.bfloat16:
                raise NotRecordable
            return self.add(value)
        if isinstance(value, torch.dtype):
            return {"dtype": str(value).removeprefix("torch.")}
        if isinstance(value, slice):
            return {"slice": [value.start, value.stop, value.step]}
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": str(value)}
        if value is Ellipsis:
            return {"ellipsis": True}
        if isinstance(value, tuple):
            return {"tuple": [self.written(one) for one in value]}
        if isinstance(value, list):
            return [self.written(one) for one in value]
        if isinstance(value, dict):
            return {"dict": {key: self.written(one) for key, one in value.items()}}
        if value is None or isinstance(value, bool | int | float | str):
            return value
        raise NotRecordable


def settled(sample: Any, raw: Any) -> bool:
    """Say whether results are compared as they come: no signs or phases are taken off first."""
    want = sample.output_process_fn_grad(raw)
    pairs = list(itertools.zip_longest(_tensors(raw, torch.Tensor), _tensors(want, torch.Tensor)))
    return all(a is not None and b is not None and a.shape == b.shape and torch.equal(a, b) for a, b in pairs)


def recorded(entry: Any, store: Store) -> list[Any]:
    """Return the record of some samples of an entry."""
    known = KNOWN[name_of(entry)].samples if name_of(entry) in KNOWN else frozenset()
    rough = {one.index for one in judge_entry(entry, 40) if one.second or one.message}
    found: list[Any] = []
    usable = [i for i, _ in enumerate(samples_of(entry)[:40]) if i not in known | rough]
    samples = samples_of(entry)
    for i in [*usable[:1], *usable[-1:0:-1][:: max(1, len(usable) // SAMPLES)]]:
        sample = samples[i]
        given = (sample.input, tuple(sample.args), dict(sample.kwargs))
        probe = Store()
        try:
            probe.written([sample.input, *sample.args, dict(sample.kwargs)])
        except NotRecordable:
            continue
        if any(one.storage_offset() or one._base is not None for one in _tensors(given, torch.Tensor)):
            continue
        arguments = store.written([*given[:1], *given[1]]), store.written(given[2])
        raw, want, leaves = _by_torch(entry, sample, given)
        outputs = _tensors(raw, torch.Tensor)
        if any(one.numel() > VALUES for one in outputs) or not settled(sample, raw):
            continue
        gradients = _their_gradients(want, leaves) if differentiable(entry) else {}
        found.append(
            {
                "args": arguments[0],
                "kwargs": arguments[1],
                "outputs": [store.add(one.detach()) for one in outputs],
                "gradients": {str(k): store.add(one.detach()) for k, one in gradients.items()},
                "starts": [one.requires_grad for one in outputs],
            }
        )
        if len(found) == SAMPLES:
            break
    return found


def promotions() -> dict[str, Any]:
    """Return the table of types: of two tensors, and of a tensor with a number or with a tensor without dims."""
    name = lambda dtype: str(dtype).removeprefix("torch.")
    numbers = {"bool": True, "int": 3, "float": 1.5, "complex": 1j}
    return {
        "pairs": {f"{name(a)} {name(b)}": name(torch.promote_types(a, b)) for a in TYPES for b in TYPES},
        "numbers": {
            f"{name(a)} {kind}": name(torch.result_type(torch.ones(2, dtype=a), number))
            for a in TYPES
            for kind, number in numbers.items()
        },
        "without dims": {
            f"{name(a)} {name(b)}": name(torch.result_type(torch.ones(2, dtype=a), torch.ones((), dtype=b)))
            for a in TYPES
            for b in TYPES
        },
    }


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    store, entries, plain = Store(), {}, set(PLAIN)
    for entry in op_db:
        if name_of(entry) in plain:
            samples = recorded(entry, store)
            if samples:
                rtol, atol = tolerance(entry)
                entries[name_of(entry)] = {
                    "name": entry.name,
                    "variant": entry.variant_test_name,
                    "tolerance": [max(rtol, 1e-5), atol],
                    "samples": samples,
                }
    manifest = {
        "torch": torch.__version__.split("+")[0],
        "entries": entries,
        "promotion": promotions(),
        "not recorded": sorted(plain - set(entries)),
    }
    text = json.dumps(manifest, separators=(",", ":")).encode()
    arrays = {name: np.concatenate(store.arrays[name]) for name in sorted(store.arrays)}
    np.savez_compressed(FILE, manifest=np.frombuffer(text, np.uint8), **arrays)
    print(
        f"{FILE}: {FILE.stat().st_size} bytes, {len(entries)} entries, "
        f"{sum(len(one['samples']) for one in entries.values())} samples; "
        f"not recorded: {manifest['not recorded']}"
    )


if __name__ == "__main__":
    main()

"""What PyTorch's database of modules says of ours, checked without PyTorch: a few recorded samples of every module."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.nn.recorded import FILE, MODULES

ENTRIES = MODULES.manifest["entries"]


def tensors(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return [one for part in value for one in tensors(part)]
    return [value] if isinstance(value, wb.Tensor) else []


def close(mine: Any, place: Any, tolerance: Any, what: str) -> None:
    expected, array = MODULES.array_at(place), mine.detach().numpy()
    assert array.shape == expected.shape, what
    assert array.dtype == expected.dtype, what
    rtol, atol = tolerance
    np.testing.assert_allclose(array, expected, rtol=rtol, atol=atol, err_msg=what)


def test_the_file_is_small() -> None:
    assert FILE.stat().st_size < 5_000_000
    assert len(ENTRIES) >= 100


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ENTRIES)
def test_module(name: str) -> None:
    entry = ENTRIES[name]
    for sample in entry["samples"]:
        args, kwargs = MODULES.read(sample["made"], [], requires_grad=False)
        module = getattr(wb.nn, name)(*args, **kwargs).float().train(sample["training"])
        state = {key: wb.tensor(MODULES.array_at(place)) for key, place in sample["state"].items()}
        module.load_state_dict(state)
        leaves: list[Any] = []
        args, kwargs = MODULES.read(sample["given"], leaves)
        outputs = tensors(module(*args, **kwargs))
        assert len(outputs) == len(sample["outputs"])
        for k, (mine, place) in enumerate(zip(outputs, sample["outputs"], strict=True)):
            close(mine, place, entry["tolerance"], f"output {k}")
        check_gradients(module, leaves, outputs, sample["gradients"], entry["tolerance"])
        buffers = dict(module.named_buffers())
        for key, place in sample["buffers"].items():
            close(buffers[key], place, entry["tolerance"], f"buffer {key}")


def check_gradients(module: Any, leaves: list[Any], outputs: list[Any], places: Any, tolerance: Any) -> None:
    ends = [one for one in outputs if one.requires_grad]
    if not ends:
        assert not places
        return
    parameters = dict(module.named_parameters())
    wanted = {key: leaves[int(key[6:])] if key.startswith("input ") else parameters[key] for key in places}
    seeds = [
        wb.tensor(np.linspace(0.5, 1.5, one.numel(), dtype=np.float32).reshape(one.shape)) for one in ends
    ]
    found = wb.autograd.grad(ends, list(wanted.values()), seeds, allow_unused=True)
    for (key, place), gradient in zip(places.items(), found, strict=True):
        mine = wb.zeros_like(wanted[key].detach()) if gradient is None else gradient
        close(mine, place, tolerance, f"gradient of {key}")

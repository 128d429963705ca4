"""Functions that give new values give them in new memory, also where nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb

F = wb.nn.functional

NEW: dict[str, Callable[[Any], Any]] = {
    "pixel_shuffle by 1": lambda x: wb.pixel_shuffle(x, 1),
    "pixel_shuffle by 2": lambda x: wb.pixel_shuffle(x, 2),
    "pixel_unshuffle by 1": lambda x: wb.pixel_unshuffle(x, 1),
    "pixel_unshuffle by 2": lambda x: wb.pixel_unshuffle(x, 2),
    "channel_shuffle of 1": lambda x: wb.channel_shuffle(x, 1),
    "channel_shuffle of 2": lambda x: wb.channel_shuffle(x, 2),
    "channel_shuffle of all": lambda x: wb.channel_shuffle(x, x.shape[1]),
    "pad with a constant": lambda x: F.pad(x, (0, 0)),
    "pad by repeating": lambda x: F.pad(x, (0, 0, 0, 0), mode="replicate"),
    "pad around": lambda x: F.pad(x, (0, 0, 0, 0), mode="circular"),
    "pad by reflection": lambda x: F.pad(x, (0, 0, 0, 0), mode="reflect"),
    "roll": lambda x: wb.roll(x, 0, 0),
    "rot90": lambda x: wb.rot90(x, 4, (2, 3)),
    "repeat": lambda x: x.repeat(1, 1, 1, 1),
    "tile": lambda x: wb.tile(x, (1,)),
    "cat": lambda x: wb.cat([x]),
    "interpolate": lambda x: F.interpolate(x, scale_factor=1),
    "max_pool2d": lambda x: F.max_pool2d(x, 1),
}
KINDS = {
    "numbers": lambda x: x,
    "codes of 8 bits": lambda x: wb.quantize_per_tensor(x, 1.0, 0, wb.quint8),
    "codes of 4 bits": lambda x: wb.quantize_per_tensor(x, 1.0, 0, wb.quint4x2),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NEW)
def test_writing_into_a_result_changes_nothing_else(name: str, kind: str) -> None:
    tried = 0
    for shape in ((2, 4, 4, 2), (1, 4, 2, 2), (1, 4, 1, 1), (1, 1, 2, 2)):
        x = KINDS[kind](wb.ones(*shape))
        try:
            y = NEW[name](x)
        except (wb.DimensionError, wb.DTypeError):
            continue
        tried += 1
        y[...] = KINDS[kind](wb.full(tuple(y.shape), 3.0))
        numbers = x.dequantize() if x.is_quantized else x
        assert bool((numbers == 1.0).all()), shape
    assert tried or kind != "numbers"


def test_a_matrix_by_itself_is_a_matrix_of_its_own() -> None:
    x = wb.eye(2)
    for n in (0, 1, 2):
        wb.linalg.matrix_power(x, n).fill_(7.0)
    assert x.tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("name", ["pixel_shuffle by 1", "channel_shuffle of all", "pad around"])
def test_gradients_pass(name: str) -> None:
    x = wb.rand(1, 4, 2, 2, requires_grad=True)
    (NEW[name](x) * 2.0).sum().backward()
    assert x.grad.tolist() == wb.full((1, 4, 2, 2), 2.0).tolist()

"""Random scripts, written with open numbers, give as files what they give, or are refused."""

from __future__ import annotations

import copy
import io
from random import Random
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.jit import random_scripts
from tests.jit.programs import compiled

CASES: list[tuple[Any, ...]] = [
    (2, 0.5, True, "abc", [1, -2, 3], {"a": 1, "b": 2}, None, [1.0, -2.0]),
    (-3, -1.5, False, "abc", [1, -2, 3], {"a": 1, "b": 2}, None, [0.5, 3.0]),
    (7, 2.0, True, "abc", [1, -2, 3], {"a": 1, "b": 2}, None, [-1.0, 0.0]),
]


def _given(case: tuple[Any, ...], opened: bool) -> list[Any]:
    """Return what a program is called with: its numbers as they are, or as tensors, which stay open in a file."""
    i, u, p, *middle, numbers = copy.deepcopy(case)
    first = [wb.tensor(i), wb.tensor(u, dtype=wb.float64), wb.tensor(p)] if opened else [i, u, p]
    return [*first, *middle, wb.tensor(numbers)]


def _outcome(seed: int) -> str:
    """Write a program, and hold its file against it; say how far it came."""
    script = wb.jit.script(compiled(random_scripts.program(Random(seed)), "program", f"<random file {seed}>"))
    file = io.BytesIO()
    try:
        wb.onnx.save(script, file, *_given(CASES[0], True))
    except wb.onnx.OnnxError:
        return "refused"
    opened = wb.onnx.load(file.getvalue())
    names, found = script._arguments["forward"], "raises"
    for case in CASES:
        try:
            wanted = script(*_given(case, False))
        except (ArithmeticError, AssertionError, LookupError, RuntimeError, TypeError, ValueError):
            # A file raises nothing.
            continue
        known = dict(zip(names, _given(case, True), strict=True))
        given = opened(**{one.name: known[one.name] for one in opened.signature.inputs})
        for want, one in zip(wanted, given, strict=True):
            value = want.detach().numpy() if isinstance(want, wb.Tensor) else np.asarray(want)
            np.testing.assert_allclose(one.detach().numpy(), value, rtol=1e-4, atol=1e-5, err_msg=str(seed))
        found = "same"
    return found


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("part", range(4))
def test_a_random_script_gives_as_a_file_what_it_gives(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Text and lists of numbers have no form as results.
    monkeypatch.setattr(random_scripts, "_RESULT", ("int", "float", "bool", "Tensor"))
    found = [_outcome(seed) for seed in range(part * 75, part * 75 + 75)]
    # Most look into text, dicts or lists with numbers that only a run knows.
    assert found.count("same") >= 5, found

"""Observers answer what PyTorch's do, to the last bit, as recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest

import workbench as wb
from tests.quantization.recorded import FILE, SCHEMES, answer, cases
from workbench import quantization as q

RECORDED: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


def test_every_case_is_recorded() -> None:
    assert sorted(RECORDED) == sorted("|".join(case) for case in cases())


@pytest.mark.parametrize("observer", SCHEMES)
def test_scale_and_zero_point_are_those_of_pytorch(observer: str) -> None:
    for case in cases():
        if case[0] == observer:
            assert answer(wb, q, case, wb.from_numpy) == RECORDED["|".join(case)], case

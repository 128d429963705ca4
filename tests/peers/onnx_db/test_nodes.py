"""The official tests of the operators, which the package onnx ships: each passes, or is declared with its reason."""

from __future__ import annotations

import re

import numpy as np
import pytest

import workbench as wb
from tests.peers.onnx_db.cases import cases, judge
from tests.peers.onnx_db.declared import DECLARED, DRAWN, reason

pytest.importorskip("onnx")

PARTS = 16
FAILURES = (AssertionError, ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)
REFUSED = (AssertionError, wb.onnx.OnnxError)


@pytest.mark.parametrize("part", range(PARTS))
def test_every_case_passes_or_is_declared(part):
    wrong = {}
    for name in sorted(cases())[part::PARTS]:
        why = reason(name)
        try:
            with np.errstate(all="ignore"):
                judge(cases()[name], drawn=DRAWN.fullmatch(name) is not None)
        except FAILURES as error:
            if why is None or not isinstance(error, REFUSED):
                wrong[name] = f"{type(error).__name__}: {error}"[:300]
        else:
            if why is not None:
                wrong[name] = f"passes, and is declared: {why}"
    assert not wrong, "\n".join(f"{name}: {what}" for name, what in wrong.items())


def test_most_cases_pass():
    names = list(cases())
    declared = [name for name in names if reason(name) is not None]
    assert len(names) > 1600
    assert len(declared) <= 0.05 * len(names)


@pytest.mark.parametrize("pattern", DECLARED)
def test_what_is_declared_is_there(pattern):
    assert any(re.fullmatch(pattern, name) and reason(name) for name in cases())

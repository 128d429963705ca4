"""Reference forms, the numeric suite of graphs and dynamic layers in training, beside PyTorch itself."""

from __future__ import annotations

import importlib
import warnings

import pytest

import workbench as wb
from tests.quantization.graph_programs import PROGRAMS
from tests.quantization.test_graph_programs import RECORDED, alike

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_answer_as_pytorchs_and_as_recorded(name: str) -> None:
    with warnings.catch_warnings(action="ignore"):
        importlib.import_module("torch.ao.quantization.quantize_fx")
        wanted = PROGRAMS[name](torch)
    alike(PROGRAMS[name](wb), wanted, name)
    alike(wanted, RECORDED[name], name)

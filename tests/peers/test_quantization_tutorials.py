"""What the plain suite holds programs on quantization to is what PyTorch computes today."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.torch_programs.test_quantization_programs import RECORDED, run
from workbench.quantization import sqnr

pytest.importorskip("torch", reason="PyTorch is not installed")


def test_the_records_are_pytorchs(tmp_path: Path) -> None:
    found = run(tmp_path / "results.json")
    assert {name: list(one) for name, one in found.items()} == {
        name: list(one) for name, one in RECORDED.items()
    }
    for name, rows in RECORDED.items():
        for key, row in rows.items():
            assert sqnr(np.array(row), np.array(found[name][key])) > 40, (name, key)

"""The file in ``assets/voice``: that of the package, byte for byte, and what the notebook on graphs says of it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import workbench as wb

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "voice"


def test_the_file_is_that_of_the_package() -> None:
    found = re.search(r'DIGEST = "(\w+)"', (FOLDER / "pack.py").read_text(encoding="utf-8"))
    assert found is not None
    assert hashlib.sha256((FOLDER / "silero_vad.onnx").read_bytes()).hexdigest() == found[1]
    assert "MIT License" in (FOLDER / "LICENSE.txt").read_text(encoding="utf-8")


def test_it_has_a_network_for_each_rate() -> None:
    voice = wb.onnx.load(FOLDER / "silero_vad.onnx")
    [branch] = [node for node in voice.graph.nodes if node.blocks]
    assert [len(block.nodes) > 20 for block in branch.blocks] == [True, True]
    state = wb.zeros(2, 1, 128)
    for samples, rate in ((512, 16000), (256, 8000)):
        likely, after = voice(wb.zeros(1, samples), state, wb.tensor(rate))
        assert likely.shape == (1, 1) and 0 <= float(likely) < 0.5, "nobody speaks in silence"
        assert after.shape == (2, 1, 128)

"""Random programs in codes, written to files: onnxruntime answers as the integer program does, to a few codes."""

from __future__ import annotations

import pytest

from tests.quantization.random_graph_checks import judge, quantized
from tests.quantization.random_graphs import draw_program

pytest.importorskip("onnxruntime")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(12))
def test_programs_in_codes_answer_alike_in_onnxruntime(seed: int) -> None:
    program = draw_program(seed)
    found = judge(quantized(program), ("near", "onnxruntime"))
    assert not found, "\n".join([program.text, *found])

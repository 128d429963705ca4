"""Random programs quantized as graphs: each form of them answers as the others, and near the program itself.

``python -m tests.quantization.random_graphs FROM TO`` judges more of them, and prints what fails.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.quantization.random_graph_checks import judge, leaves, quantized
from tests.quantization.random_graphs import draw_program
from tests.quantization.random_graphs_apart import run_apart, write
from workbench import quantization as q

SEEDS = 24
"""So many programs are judged here."""


def fails(seed: int, *names: str) -> str:
    """Return what fails of the program of a seed, with its text; nothing where all is well."""
    program = draw_program(seed)
    found = judge(quantized(program), ("near", *names))
    return "\n".join([program.text, *found]) if found else ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_program_in_codes_answers_alike_in_all_its_forms(seed: int) -> None:
    # Each of the dearer ones for a third of the programs.
    dear = ("training", "report", "read back")[seed % 3]
    problem = fails(seed, "layouts", "compiled", "saved", dear)
    assert not problem, problem


@pytest.mark.filterwarnings("ignore")
def test_programs_in_codes_answer_alike_without_kernels(tmp_path: Path) -> None:
    for seed in range(0, SEEDS, 2):
        made = quantized(draw_program(seed))
        assert not judge(made, ("near",)), made.program.text
        write(made, tmp_path)
    assert len([*tmp_path.glob("*.wb")]) > SEEDS / 4
    assert run_apart(tmp_path) == []


@pytest.mark.filterwarnings("ignore")
def test_the_judge_sees_what_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    made = quantized(draw_program(0))
    convert = q.convert_fx

    def cut(prepared: Any) -> Any:
        module = convert(prepared)
        whole = type(module).forward
        module.forward = lambda *given: [wb.from_numpy(one * 0.5) for one in leaves(whole(module, *given))]
        return module

    monkeypatch.setattr(q, "convert_fx", cut)
    assert "codes beside" in "".join(judge(made, ("near",)))

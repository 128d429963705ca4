"""Random programs give as scripts what they give as Python: values, exceptions, and what became of their arguments."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.jit.programs import compiled, same
from tests.jit.random_scripts import program

_INPUTS: list[tuple[Any, ...]] = [
    (2, 0.5, True, "abc", [1, -2, 3], {"a": 1, "b": 2}, None, [1.0, -2.0]),
    (-3, -1.5, False, "", [], {}, 4, [0.5, 3.0]),
    (7, 2.0, True, "aXb", [5, 5, 0, 2], {"x": -1}, -2, [-1.0, 0.0]),
]


@settings(max_examples=500, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
# A program a seed: drawn choice by choice, hypothesis takes five times as long as what is tested.
@given(st.randoms(use_true_random=True), st.sampled_from(_INPUTS))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_random_program_is_what_it_is_in_python(random: Random, inputs: tuple[Any, ...]) -> None:
    *plain, numbers = inputs
    text = program(random)
    same(compiled(text, "program", f"<random script {hash(text)}>"), *plain, wb.tensor(numbers))

"""Random networks made of codes in every way, and random programs on codes: what has to hold of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.quantization import random_checks, random_codes, random_ways
from tests.quantization.random_modules import network_failure

JUDGES: dict[str, tuple[Callable[[Any], None], int]] = {
    "static": (random_checks.static, 16), "aware": (random_ways.aware, 6), "dynamic": (random_ways.dynamic, 8),
    "weights": (random_ways.weights, 8), "equalized": (random_ways.equalized, 8),
}  # fmt: skip


@pytest.mark.parametrize(
    ("way", "seed"), [(way, seed) for way, (_, count) in JUDGES.items() for seed in range(count)]
)
def test_a_network_in_codes(way: str, seed: int) -> None:
    found = network_failure(JUDGES[way][0], seed)
    assert found is None, found


def test_programs_on_codes_give_what_numbers_give() -> None:
    found = [one for one in map(random_codes.code_failure, range(400)) if one is not None]
    assert not found, found[0]

"""Every configuration of every optimizer, and every schedule, comes to what PyTorch came to."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from tests.optim.recipe import (
    OURS,
    SCHEDULES,
    net_for,
    rates_of,
    run_given,
    run_net,
    shapes_for,
    tolerance,
    two_groups,
)
from tests.optim.recorded import arrays, manifest, settings_of, taken
from workbench import optim

CASES = manifest()["cases"]
NAMES = [f"{case['optimizer']}: {case['label']}" for case in CASES]
OPEN = [i for i, case in enumerate(CASES) if case["optimizer"] != "LBFGS"]
"""Those that do not need a closure."""


@functools.cache
def expected(name: str) -> Any:
    chosen = range(len(CASES)) if name == "net" else OPEN
    shapes = net_for if name == "net" else shapes_for
    found = taken(name, [shapes(CASES[i]["optimizer"]) for i in chosen])
    return dict(zip(chosen, found, strict=True))


def check(case: int, name: str, dtype: str, got: list[Any]) -> None:
    relative, absolute = tolerance(CASES[case]["optimizer"], dtype)
    for mine, other in zip(got, expected(name)[case], strict=True):
        np.testing.assert_allclose(mine, other, rtol=relative, atol=absolute)


def make(case: int) -> Any:
    return lambda parameters: getattr(optim, CASES[case]["optimizer"])(parameters, **settings_of(CASES[case]))


@pytest.mark.parametrize("case", OPEN, ids=[NAMES[i] for i in OPEN])
def test_given_gradients(case: int) -> None:
    check(case, "given", "float32", run_given(make(case), CASES[case]["optimizer"], "float32")[0])


@pytest.mark.parametrize("case", range(len(CASES)), ids=NAMES)
def test_a_net(case: int) -> None:
    check(case, "net", "float64", run_net(make(case), CASES[case]["optimizer"], "float64"))


@pytest.mark.parametrize("place", range(len(SCHEDULES)), ids=list(SCHEDULES))
def test_schedule(place: int) -> None:
    assert manifest()["schedules"] == list(SCHEDULES)
    kind, settings = list(SCHEDULES.values())[place]
    np.testing.assert_allclose(
        rates_of(OURS, two_groups(), kind, settings), arrays()["rates"][place], rtol=0, atol=1e-12
    )

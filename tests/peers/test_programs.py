"""Ordinary programs give the same numbers with ``import torch`` and with ``import workbench as torch``."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.programs import networks, training, weights
from tests.programs.kit import PROGRAMS, Kit, arrays_in

torch = pytest.importorskip("torch")
assert networks and training and weights  # they enter their programs into the list


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_import_alone_makes_no_difference(name: str) -> None:
    ours, theirs = (arrays_in(PROGRAMS[name](Kit(library))) for library in (wb, torch))
    assert len(ours) == len(theirs)
    for own, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(own, other, rtol=2e-4, atol=2e-5)

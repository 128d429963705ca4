"""Steps of optimizers with NaN, infinities, denormals and the largest numbers, compiled and in NumPy, as in PyTorch."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

import workbench as wb
from tests.kernels.recorded import FILE
from tests.kernels.special_steps import BY_STEP, OTHERS, STEP_DTYPES, stepped
from workbench.optim import elementwise

TOLERANCE = {"float32": 1e-5, "float64": 1e-10}
LEAST = {True: 3e-45, False: 1e-36}
"""What lies nearer to 0: NumPy's code divides before it multiplies, which keeps what PyTorch loses of denormals."""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("dtype", STEP_DTYPES)
@pytest.mark.parametrize("name", BY_STEP)
def test_steps_are_those_of_pytorch(name: str, dtype: str, compiled: bool) -> None:
    relative = TOLERANCE[dtype]
    with np.load(FILE) as recorded:
        for others in OTHERS:
            step = elementwise.optimizer_step if compiled else None
            with mock.patch.object(elementwise, "optimizer_step", step):
                found = stepped(wb, name, dtype, others)
            for i, (have, want) in enumerate(zip(found, recorded[f"{name}/{dtype}/{others}"], strict=True)):
                np.testing.assert_allclose(
                    have,
                    want,
                    rtol=relative,
                    atol=relative / 10 if others == "ordinary" else LEAST[compiled],
                    err_msg=f"state {i - 1}" if i else "parameters",
                )

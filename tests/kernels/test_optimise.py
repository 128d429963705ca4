from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from workbench import kernels

Floats = npt.NDArray[np.float32]
Make = Callable[..., Floats]


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("shape", [(3, 5, 3, 3), (100, 301), (1,), (0, 3)])
def test_adam(decoupled: bool, weight_decay: float, shape: tuple[int, ...], floats: Make) -> None:
    parameter, mean, square = floats(*shape), np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    p, m, s = (array.astype(np.float64) for array in (parameter, mean, square))
    settings = {"lr": 1e-2, "beta1": 0.9, "beta2": 0.99, "eps": 1e-6, "weight_decay": weight_decay}
    kernel = kernels.lookup("adam_step")
    for step in range(1, 5):
        gradient = floats(*shape)
        assert kernel.accepts(parameter, gradient, mean, square)
        kernel.run(parameter, gradient, mean, square, **settings, step=step, decoupled=decoupled)
        g = gradient.astype(np.float64)
        if decoupled:
            p *= 1 - 1e-2 * weight_decay
        else:
            g = g + weight_decay * p
        m = 0.9 * m + 0.1 * g
        s = 0.99 * s + 0.01 * g * g
        p -= 1e-2 * (m / (1 - 0.9**step)) / (np.sqrt(s / (1 - 0.99**step)) + 1e-6)
    np.testing.assert_allclose(parameter, p, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(mean, m, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(square, s, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_sgd(nesterov: bool, momentum: float, floats: Make) -> None:
    parameter = floats(100, 301)
    velocity = np.full((100, 301), 7, np.float32) if momentum else None
    p, v = parameter.astype(np.float64), np.zeros((100, 301))
    for step in range(3):
        gradient = floats(100, 301)
        kernels.lookup("sgd_step").run(
            parameter, gradient, velocity, lr=0.1, momentum=momentum, dampening=0.2, weight_decay=0.01,
            nesterov=nesterov, first=step == 0,
        )  # fmt: skip
        g = gradient + 0.01 * p
        v = g if step == 0 else momentum * v + 0.8 * g
        p -= 0.1 * (g if not momentum else g + momentum * v if nesterov else v)
    np.testing.assert_allclose(parameter, p, rtol=1e-5, atol=1e-6)


def test_refusals_leave_everything_as_it_was(floats: Make) -> None:
    settings = {"lr": 1.0, "beta1": 0.9, "beta2": 0.9, "eps": 1e-8, "weight_decay": 0.0, "decoupled": False}
    run = kernels.lookup("adam_step").run
    parameter, state = floats(4, 6), np.zeros((4, 6), np.float32)
    before = parameter.copy()
    for gradient, message in [
        (floats(4, 5), r"adam: parameter \[4, 6\] and \[4, 5\] differ in shape"),
        (floats(6, 4).T, "gradient and state must lie in memory as the parameter does"),
    ]:
        with pytest.raises(ValueError, match=message):
            run(parameter, gradient, state, state.copy(), **settings, step=1)
    with pytest.raises(ValueError, match="step is 0; the first one is 1"):
        run(parameter, floats(4, 6), state, state.copy(), **settings, step=0)
    with pytest.raises(ValueError, match="the parameter must be dense"):
        run(parameter[:, ::2], floats(4, 3), state[:, ::2], state[:, ::2].copy(), **settings, step=1)
    np.testing.assert_array_equal(parameter, before)
    assert not state.any()


def test_accepts_only_arrays_that_lie_alike(floats: Make) -> None:
    accepts = kernels.lookup("adam_step").accepts
    p = floats(4, 6)
    assert accepts(p, p.copy(), p.copy(), p.copy())
    assert not accepts(p, floats(6, 4).T, p.copy(), p.copy())
    assert not accepts(p[:, ::2], p[:, ::2], p[:, ::2], p[:, ::2])
    assert not accepts(p, p.astype(np.float64), p, p)
    frozen = p.copy()
    frozen.flags.writeable = False
    assert not accepts(frozen, p, p, p)

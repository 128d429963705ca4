"""Fake quantization against PyTorch: values and gradients, learned scales, and ranges that are observed meanwhile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch")

_RANDOM = np.random.default_rng(5)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, 3e38, -3e38], np.float32)
TIES = np.arange(-50, 51, dtype=np.float32) * np.float32(0.5)
VALUES = {
    "random": (_RANDOM.standard_normal(3000) * 20).astype(np.float32),
    "ties": TIES,
    "special": np.tile(SPECIAL, 12),
    "constant": np.full(70, 5.0, np.float32),
    "empty": np.zeros((0, 3), np.float32),
    "number": np.array(1.75, np.float32),
}
GRIDS = [(1.0, 1, 0, 255), (0.1, 3, 0, 15), (0.37, 0, -8, 7), (1e-30, 0, -128, 127)]


def both(x: Any, act: Any, *others: Any) -> tuple[list[Any], list[Any]]:
    """Return the value and the gradients of a function in both libraries."""
    results = []
    for lib in (wb, torch):
        make = wb.from_numpy if lib is wb else torch.tensor
        given = [make(np.array(one)).requires_grad_() for one in (x, *others)]
        y = act(lib, *given)
        weight = np.random.default_rng(1).standard_normal(np.shape(x)).astype(np.float32)
        (y * make(np.asarray(weight, x.dtype))).sum().backward()
        results.append([y.detach().numpy(), *[one.grad.numpy() for one in given]])
    return results[0], results[1]


def exact(pair: tuple[list[Any], list[Any]]) -> None:
    for found, expected in zip(*pair, strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize(("scale", "zero", "low", "high"), GRIDS)
def test_per_tensor(values: str, scale: float, zero: int, low: int, high: int) -> None:
    x = VALUES[values]
    exact(both(x, lambda lib, a: lib.fake_quantize_per_tensor_affine(a, scale, zero, low, high)))
    exact(
        both(
            x,
            lambda lib, a: lib.fake_quantize_per_tensor_affine(
                a, lib.tensor([scale]), lib.tensor([zero], dtype=lib.int32), low, high
            ),
        )
    )


@pytest.mark.parametrize("zeros", [[0, 3, 7], [0.0, 2.5, 7.25]])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_per_channel(axis: int, zeros: list[Any]) -> None:
    for x in (
        (_RANDOM.standard_normal((3, 3, 3)) * 4).astype(np.float32),
        np.resize(TIES, (3, 3, 3)),
        # What is beyond 64 bits PyTorch makes the least code here, on either side; ours is the nearest.
        np.resize(SPECIAL[~(np.abs(SPECIAL) > 1e18)], (3, 3, 3)),
    ):
        exact(
            both(
                x,
                lambda lib, a: lib.fake_quantize_per_channel_affine(
                    a,
                    lib.tensor([0.1, 0.5, 1.0]),
                    lib.tensor(zeros, dtype=lib.float32 if isinstance(zeros[0], float) else lib.int32),
                    axis,
                    0,
                    15,
                ),
            )
        )


def close(pair: tuple[list[Any], list[Any]]) -> None:
    """Values and their gradients exactly; sums over all values but for the order in which they are added."""
    exact(([*pair[0][:2]], [*pair[1][:2]]))
    for found, expected in zip(pair[0][2:], pair[1][2:], strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-4)


@pytest.mark.parametrize("zero", [0.0, 3.4, 3.5, 300.0, -7.0])
@pytest.mark.parametrize("factor", [1.0, 0.25])
@pytest.mark.parametrize("values", ["random", "ties", "constant"])
def test_learned_per_tensor(values: str, factor: float, zero: float) -> None:
    close(
        both(
            VALUES[values],
            lambda lib, x, s, z: lib._fake_quantize_learnable_per_tensor_affine(x, s, z, 0, 255, factor),
            np.array([0.37], np.float32),
            np.array([zero], np.float32),
        )
    )


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_learned_per_channel(axis: int) -> None:
    x = (_RANDOM.standard_normal((3, 4, 5)) * 4).astype(np.float32)
    size = x.shape[axis]
    close(
        both(
            x,
            lambda lib, a, s, z: lib._fake_quantize_learnable_per_channel_affine(a, s, z, axis, -8, 7, 0.5),
            np.linspace(0.1, 0.9, size, dtype=np.float32),
            np.linspace(-3.3, 9, size, dtype=np.float32),
        )
    )


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("axis", [-1, 0])  # PyTorch observes no other
@pytest.mark.parametrize("switches", [(1, 1), (0, 1), (1, 0), (0, 0)])
@pytest.mark.parametrize("limits", [(0, 255), (-128, 127), (0, 15)])
def test_observed_while_it_rounds(
    limits: tuple[int, int], switches: tuple[int, int], axis: int, symmetric: bool
) -> None:
    batches = [(_RANDOM.standard_normal((3, 4)) * size).astype(np.float32) for size in (1, 3, 1e-4)]
    batches += [np.abs(batches[0]), -np.abs(batches[0]), np.zeros((3, 4), np.float32)]
    channels = 1 if axis < 0 else 3
    kept = []
    for lib in (wb, torch):
        state = [lib.full((channels,), lib.inf), lib.full((channels,), -lib.inf)]
        state += [lib.ones(channels), lib.zeros(channels, dtype=lib.int32)]
        on = [lib.tensor([one]) for one in switches]
        seen = []
        for batch in batches:
            x = lib.tensor(batch.tolist())
            y = lib.fused_moving_avg_obs_fake_quant(x, *on, *state, 0.1, *limits, axis, axis >= 0, symmetric)
            seen.append([y.numpy(), *[one.numpy().copy() for one in state]])
        kept.append(seen)
    for ours, theirs in zip(*kept, strict=True):
        for found, expected in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_refusals_of_both() -> None:
    x = np.ones((2, 3), np.float32)
    for act in (
        lambda lib, a: lib.fake_quantize_per_tensor_affine(a, 1.0, 300, 0, 255),
        lambda lib, a: lib.fake_quantize_per_tensor_affine(a, 1.0, 0, 255, 0),
        lambda lib, a: lib.fake_quantize_per_channel_affine(
            a, lib.ones(3), lib.zeros(3, dtype=lib.int32), 0, 0, 9
        ),
        lambda lib, a: lib._fake_quantize_learnable_per_channel_affine(
            a, lib.ones(3), lib.zeros(3), 0, 0, 9, 1.0
        ),
    ):
        with pytest.raises(RuntimeError):
            act(torch, torch.tensor(x))
        with pytest.raises((wb.QuantizationError, wb.DimensionError)):
            act(wb, wb.from_numpy(x))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("calls", [2, 3])
def test_a_layer_that_is_called_again_moves_its_range_by_each_call(calls: int) -> None:
    """By layers nobody knows how often one will be called: each call moves the average, and the first one sets it."""
    random = np.random.default_rng(calls)
    weight, bias = (random.standard_normal(size).astype(np.float32) for size in ((4, 4), (4,)))
    batches = [random.standard_normal((8, 4)).astype(np.float32) for _ in range(4)]
    found: list[Any] = []
    for t in (torch, wb):
        nn, a = t.nn, t.ao.quantization

        class Again(nn.Module):  # type: ignore[misc,name-defined]
            def __init__(self, a: Any = a, nn: Any = nn) -> None:
                super().__init__()
                self.quant, self.fc, self.dequant = a.QuantStub(), nn.Linear(4, 4), a.DeQuantStub()

            def forward(self, x: Any) -> Any:
                x = self.quant(x)
                for _ in range(calls):
                    x = self.fc(x)
                return self.dequant(x)

        model = Again()
        with t.no_grad():
            model.fc.weight.copy_(t.tensor(2 * weight))
            model.fc.bias.copy_(t.tensor(bias))
        eight = a.FakeQuantize.with_args(
            observer=a.MovingAverageMinMaxObserver, quant_min=0, quant_max=255, averaging_constant=0.1
        )
        model.qconfig = a.QConfig(eight, a.default_weight_fake_quant)
        prepared = a.prepare_qat(model.train())
        trained = [prepared(t.tensor(x)).detach().numpy() for x in batches]
        scale, zero = (float(one) for one in prepared.fc.activation_post_process.calculate_qparams())
        integer = a.convert(prepared.eval())
        found.append((trained, scale, zero, integer(t.tensor(batches[0])).detach().numpy()))
    theirs, ours = found
    assert ours[1] == pytest.approx(theirs[1], rel=1e-6) and ours[2] == theirs[2]
    for one, other in zip((*ours[0], ours[3]), (*theirs[0], theirs[3]), strict=True):
        # At most a code apart, where a result meets a half.
        np.testing.assert_allclose(one, other, atol=1.01 * theirs[1])
        assert (np.abs(one - other) > theirs[1] / 2).mean() < 0.05

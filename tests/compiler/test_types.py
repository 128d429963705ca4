"""Steps in every type that a program knows, and in several at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.compiler.test_chain_steps import held, steps_of
from workbench import kernels, nn
from workbench.kernels.loader import native

pytestmark = pytest.mark.skipif(not kernels.available(), reason=f"compiled kernels: {kernels.reason()}")

TYPES = ("bool", "bfloat16", "int32", "int64", "float32", "float64")


def values(name: str, *shape: int) -> Any:
    numbers = np.random.default_rng(0).standard_normal(shape) * 4
    return wb.tensor(numbers).to(getattr(wb, name)).numpy()


@pytest.mark.parametrize("name", TYPES)
def test_values_are_moved_whatever_their_type(name: str) -> None:
    def function(x: Any) -> Any:
        turned = x.clone().permute(2, 0, 1).reshape(5, -1)
        return turned.T.flatten().unsqueeze(0), (x == 1).T.reshape(-1)

    report = held(function, values(name, 3, 4, 5))
    assert not report.programs[0].eager


@pytest.mark.parametrize("name", TYPES)
def test_values_are_moved_between_chains(name: str) -> None:
    def function(x: Any) -> Any:
        y = wb.where(x > 0, x, x == 0)
        return y.transpose(1, 2).reshape(2, 60).to(wb.float32) * 0.5

    report = held(function, values(name, 2, 12, 5))
    assert not report.programs[0].eager and steps_of(report)["chain"] == 2


@pytest.mark.parametrize("name", ["bfloat16", "float64"])
def test_chains_read_values_in_blocks_of_channels_beside_other_types(name: str) -> None:
    first, second = nn.Conv2d(4, 16, 3, padding=1), nn.Conv2d(16, 5, 3)
    scale = wb.tensor(values(name, 16, 1, 1))

    def function(x: Any, mask: Any) -> Any:
        y = first(x)
        z = wb.where(mask, y * scale.to(wb.float32), y)
        return second(z), (z > 0.5), z.to(wb.bfloat16)

    mask = np.random.default_rng(0).random((2, 16, 9, 11)) > 0.5
    x = values("float32", 2, 4, 9, 11)
    compiled = wb.compile(function, fullgraph=True)
    with wb.no_grad():
        for found, expected in zip(
            compiled(wb.tensor(x), wb.tensor(mask)), function(wb.tensor(x), wb.tensor(mask)), strict=True
        ):
            assert found.dtype == expected.dtype
            wanted = expected.to(wb.float32).numpy()
            close = np.isclose(found.to(wb.float32).numpy(), wanted, rtol=2**-7, atol=1e-4)
            assert close.mean() > 0.999  # a value may fall on the other side of a half by rounding
    assert not wb.compiler.explain(compiled).programs[0].eager


def test_whole_numbers_become_a_mask_in_one_pass() -> None:
    report = held(lambda mask: (1.0 - mask.to(wb.float32)) * -1e4, np.arange(12).reshape(3, 4) % 2)
    assert steps_of(report) == {"chain": 1} and not report.programs[0].eager


def test_values_without_dims_go_through_a_chain() -> None:
    report = held(lambda x, y: x * 2 + y, np.array(3), np.arange(5))
    assert steps_of(report) == {"chain": 2}


@pytest.mark.parametrize("name", ["bfloat16", "float64"])
def test_parameters_that_are_not_finite_are_seen_in_every_type(name: str) -> None:
    weight = wb.tensor([1.0, float("nan")]).to(getattr(wb, name))
    compiled = wb.compile(lambda x: x * weight)
    compiled(wb.ones(2, dtype=weight.dtype))
    (reason,) = wb.compiler.explain(compiled).calls
    assert "not finite" in reason


def test_inputs_that_are_not_finite_are_seen_in_every_type() -> None:
    layer = nn.Sequential(nn.Conv2d(2, 3, 1), nn.ReLU()).eval()
    for name in ("bfloat16", "float64"):
        compiled = wb.compile(lambda x: layer(x.to(wb.float32)))
        x = wb.ones(1, 2, 2, 2, dtype=getattr(wb, name))
        with wb.no_grad():
            compiled(x)
            x[0, 0, 0, 0] = float("inf")
            compiled(x)
        assert list(wb.compiler.explain(compiled).calls.values()) == [1, 1]


def test_a_program_refuses_another_type_than_it_was_made_for() -> None:
    program = native.compiled.Program(native.compiled.Store())
    program.finish([program.permute(program.input([2, 3], "int64"), [1, 0])])
    (found,) = program.run([np.arange(6).reshape(2, 3)])
    np.testing.assert_array_equal(found, np.arange(6).reshape(2, 3).T)
    with pytest.raises(
        TypeError, match="input 0 of a program is not of the type that it was made for, int64"
    ):
        program.run([np.zeros((2, 3))])
    with pytest.raises(ValueError, match=r"a program for an input of .*2, 3.* was given .*3, 2"):
        program.run([np.zeros((3, 2), np.int64)])
    with pytest.raises(ValueError, match="a chain knows no type float16"):
        program.input([2], "float16")

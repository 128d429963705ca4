"""The compiled step of an optimizer against the same formulas in NumPy."""

from __future__ import annotations

import itertools
from typing import Any
from unittest import mock

import numpy as np
import pytest

import workbench as wb
from workbench import kernels, optim
from workbench.optim import elementwise

CASES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {"weight_decay": 0.1}),
    ("Adam", {"amsgrad": True, "maximize": True}),
    ("AdamW", {"betas": (0.5, 0.9)}),
    ("NAdam", {"weight_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {"weight_decay": 0.1, "betas": (0.9, 0.9)}),
    ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adamax", {"weight_decay": 0.1, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", {"centered": True}),
    ("RMSprop", {"centered": True, "momentum": 0.9, "maximize": True}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.5, "weight_decay": 0.1}),
    ("Adadelta", {"weight_decay": 0.1, "maximize": True}),
]
SHAPES = [(3, 5, 3, 3), (), (100, 301), (1,), (0, 3)]


def laid(array: Any) -> Any:
    """Channels last, where there are four dims."""
    return (
        np.ascontiguousarray(array.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2) if array.ndim == 4 else array
    )


def run(kind: str, settings: dict[str, Any], dtype: str, compiled: bool, steps: int = 8) -> list[Any]:
    random = np.random.default_rng(3)

    def drawn(shape: tuple[int, ...]) -> Any:
        both = random.standard_normal((2, *shape))
        return np.asarray(both[0] + 1j * both[1] if dtype.startswith("c") else both[0]).astype(dtype)

    parameters = [wb.from_numpy(laid(drawn(shape))).requires_grad_() for shape in SHAPES]
    step = elementwise.optimizer_step if compiled else None
    with mock.patch.object(elementwise, "optimizer_step", step):
        optimizer = getattr(optim, kind)(parameters, lr=0.05, **settings)
        for _ in range(steps):
            for parameter in parameters:  # gradients lie row by row
                parameter.grad = wb.from_numpy(drawn(tuple(parameter.shape)))
            optimizer.step()
    state = [value.numpy() for entry in optimizer.state.values() for value in entry.values()]
    return [*(one.detach().numpy() for one in parameters), *state]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_the_compiled_step_is_the_formula(case: int, dtype: str) -> None:
    kind, settings = CASES[case]
    single = dtype in ("float32", "complex64")
    for got, want in zip(run(kind, settings, dtype, True), run(kind, settings, dtype, False), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=2e-4 if single else 1e-10, atol=2e-5 if single else 1e-12)


def test_all_parameters_of_a_group_take_one_call() -> None:
    parameters = [wb.ones(3, requires_grad=True) for _ in range(4)]
    for parameter in parameters[:3]:
        parameter.grad = wb.ones(3)
    optimizer = optim.Adam(parameters)
    optimizer.step()
    calls = []

    def counted(*args: Any) -> Any:
        calls.append(native(*args))
        return calls[-1]

    native = elementwise.optimizer_step
    with mock.patch.object(elementwise, "optimizer_step", counted):
        optimizer.step()
    assert calls == [[]]
    assert [len(optimizer.state[one]) for one in parameters if one in optimizer.state] == [3, 3, 3]


def test_threads_share_out_parameters_and_give_the_same_numbers() -> None:
    threads = kernels.get_num_threads()
    found = []
    try:
        for count in (1, 2, 3):
            kernels.set_num_threads(count)
            found.append(run("Adam", {}, "float32", True, 2))
    finally:
        kernels.set_num_threads(threads)
    for one, other in itertools.pairwise(found):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def test_what_has_gaps_or_half_precision_is_left_to_numpy() -> None:
    memory = np.ones((4, 6), np.float32)
    gaps = wb.from_numpy(memory[:, ::2]).requires_grad_()
    half = wb.ones(5, dtype="bfloat16", requires_grad=True)
    plain = wb.ones(2, requires_grad=True)
    everything = [gaps, half, plain]
    optimizer = optim.Adam(everything, lr=0.5)
    for _ in range(2):
        for parameter in everything:
            parameter.grad = wb.ones_like(parameter.detach())
        optimizer.step()
    assert memory[0].tolist() == pytest.approx([0, 1, 0, 1, 0, 1], abs=1e-6)
    assert half.detach().float().tolist() == pytest.approx([0] * 5, abs=1e-2)
    assert plain.detach().tolist() == pytest.approx([0, 0], abs=1e-6)
    assert [optimizer.state[one]["step"].item() for one in everything] == [2, 2, 2]
    assert optimizer.state[half]["exp_avg"].dtype is wb.bfloat16


def test_parameters_that_share_memory_move_one_after_the_other() -> None:
    memory = np.zeros(40_000, np.float32)
    one, other = (wb.from_numpy(memory).requires_grad_() for _ in range(2))
    one.grad = other.grad = wb.ones(40_000)
    optim.SGD([one, other], lr=1.0).step()
    assert (memory == -2).all()


def test_the_tape_is_told() -> None:
    p = wb.ones(2, requires_grad=True)
    view = p[:1]
    p.grad = wb.ones(2)
    before = p._version
    optim.Adam([p]).step()
    assert p._version == before + 1
    assert view.item() < 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((), TypeError, "takes a rule, a dict, a list"),
        (("adam", {}, [], (None,) * 5, (0.0,) * 11), TypeError, "takes a rule"),
        (("newton", {}, [], (None,) * 5, (0.0,) * 11, False), ValueError, "no compiled step called 'newton'"),
        (
            ("adam", {}, [], (None,) * 4, (0.0,) * 11, False),
            TypeError,
            "three arrays, the step and the product",
        ),
        (("adam", {}, [], (None,) * 5, (0.0,) * 3, False), TypeError, "seven numbers and four flags"),
        (("adam", {}, [], (None,) * 5, ("a",) * 11, False), TypeError, "must be real number"),
        (("adam", {}, [3], (None,) * 5, (0.0,) * 11, False), AttributeError, "_grad"),
    ],
)
def test_malformed_calls_are_refused(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        elementwise.optimizer_step(*arguments)


def test_what_a_parameter_lacks_is_left() -> None:
    p = wb.ones(2, requires_grad=True)
    p.grad = wb.ones(2)
    settings, keys = (0.5, *(0.0,) * 6, *(False,) * 4), ("a", None, None, None, None)
    step = elementwise.optimizer_step
    for state in (
        {},
        {p: 3},
        {p: {}},
        {p: {"a": wb.ones(3)}},
        {p: {"a": wb.ones(2, dtype="float64")}},
        {p: {"a": 1}},
    ):
        assert step("sgd", state, [p], keys, settings, False) == [p]
    assert p.detach().tolist() == [1, 1]
    assert step("sgd", {p: {"a": wb.ones(2)}}, [p], keys, settings, False) == []

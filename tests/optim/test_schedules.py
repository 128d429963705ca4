"""Schedules: their states, their warnings, and what they refuse; that their rates are PyTorch's is recorded."""

from __future__ import annotations

import json
import math
import warnings
from typing import Any

import pytest

import workbench as wb
from tests.optim.recipe import OURS, SCHEDULES, make_schedule, two_groups
from workbench import optim
from workbench.optim import lr_scheduler, swa_utils


def one() -> optim.SGD:
    return optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0, momentum=0.5)


@pytest.mark.parametrize("label", SCHEDULES)
def test_a_schedule_goes_on_from_its_state(label: str) -> None:
    kind, settings = SCHEDULES[label]

    def advance(optimizer: Any, schedule: Any, count: int) -> list[Any]:
        seen = []
        for _ in range(count):
            optimizer.step()
            schedule.step(3.0) if kind == "ReduceLROnPlateau" else schedule.step()
            seen.append([(group["lr"], group["momentum"]) for group in optimizer.param_groups])
        return seen

    first = two_groups()
    schedule = make_schedule(OURS, first, kind, settings)
    advance(first, schedule, 8)
    state = json.loads(json.dumps(schedule.state_dict()))
    second = two_groups()
    other = make_schedule(OURS, second, kind, settings)
    second.load_state_dict(first.state_dict())
    other.load_state_dict(state)
    assert other.get_last_lr() == schedule.get_last_lr()
    assert advance(second, other, 9) == advance(first, schedule, 9)


SPOILT: dict[str, Any] = {
    "unexpected": lambda state: {**state, "step_sise": 3},
    "the optimizer": lambda state: {**state, "optimizer": None},
    "missing": lambda state: {
        key: value for key, value in state.items() if key in ("_last_lr", "_schedulers")
    },
    "text": lambda state: {
        **state,
        **{key: "x" for key in ("last_epoch", "base_lrs") if key in state},
        "_last_lr": "x",
    },
    "a part": lambda state: {**state, "_last_lr": ["x"]},
}


@pytest.mark.parametrize("label", SCHEDULES)
@pytest.mark.parametrize("spoilt", SPOILT)
def test_a_state_of_garbage_is_refused_and_changes_nothing(label: str, spoilt: str) -> None:
    kind, settings = SCHEDULES[label]
    schedule = make_schedule(OURS, two_groups(), kind, settings)
    before = json.dumps(schedule.state_dict())
    state = SPOILT[spoilt](json.loads(before))
    if spoilt == "missing" and kind == "ChainedScheduler":  # which has nothing else
        state.pop("_schedulers")
    with pytest.raises(ValueError, match=r"this is no state of a|made of 0 schedules"):
        schedule.load_state_dict(state)
    assert json.dumps(schedule.state_dict()) == before


def test_the_state_of_another_kind_of_schedule_says_all_that_is_wrong() -> None:
    stairs, cosine = lr_scheduler.StepLR(one(), 2), lr_scheduler.CosineAnnealingLR(one(), 5)
    with pytest.raises(ValueError) as raised:
        cosine.load_state_dict(stairs.state_dict())
    assert str(raised.value) == (
        "this is no state of a CosineAnnealingLR (nothing was changed):\n"
        "\tmissing: T_max, eta_min\n\tunexpected: gamma, step_size"
    )
    whole = lr_scheduler.SequentialLR(ONE, [other(), lr_scheduler.StepLR(ONE, 1)][1:], [])
    state = {**whole.state_dict(), "last_epoch": 7, "_schedulers": [cosine.state_dict()]}
    with pytest.raises(ValueError, match="no state of a StepLR"):
        whole.load_state_dict(state)
    assert whole.last_epoch == 0


def test_a_schedule_of_ones_own_keeps_what_it_likes() -> None:
    class Halves(lr_scheduler.LRScheduler):
        def get_lr(self) -> list[Any]:
            return [rate * 0.5**self.last_epoch for rate in self.base_lrs]

    first, second = Halves(one()), Halves(one())
    first.note = "mine"  # type: ignore[attr-defined]
    second.load_state_dict(first.state_dict())
    assert second.note == "mine"  # type: ignore[attr-defined]


def test_a_step_whose_rule_fails_is_not_counted() -> None:
    optimizer = one()
    schedule = lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 if step < 2 else 1 / 0)
    optimizer.step()
    schedule.step()
    before = dict(schedule.state_dict())
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            schedule.step()
        assert schedule.state_dict() == before


def test_stepping_before_the_optimizer_is_warned_about_once() -> None:
    optimizer = one()
    schedule = lr_scheduler.StepLR(optimizer, 2)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        schedule.step()
    schedule.step()
    optimizer = one()
    schedule = lr_scheduler.StepLR(optimizer, 2)
    optimizer.step = lambda: None  # type: ignore[method-assign]
    with pytest.warns(UserWarning, match="has been overridden after"):
        schedule.step()


def test_asking_for_the_next_rates_is_warned_about() -> None:
    schedule = lr_scheduler.ExponentialLR(one(), 0.5)
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        schedule.get_lr()


def test_going_to_a_step_uses_the_closed_form() -> None:
    optimizer = one()
    for make, expected in [
        (lambda: lr_scheduler.StepLR(optimizer, 2, 0.5), 0.25),
        (lambda: lr_scheduler.MultiStepLR(optimizer, [1, 4], 0.5), 0.25),
        (lambda: lr_scheduler.ConstantLR(optimizer, 0.5, 3), 1.0),
        (lambda: lr_scheduler.LinearLR(optimizer, 0.5, 1.0, 10), 0.75),
        (lambda: lr_scheduler.ExponentialLR(optimizer, 0.5), 0.03125),
        (lambda: lr_scheduler.PolynomialLR(optimizer, 10), 0.5),
        (lambda: lr_scheduler.CosineAnnealingLR(optimizer, 10), 0.5),
    ]:
        optimizer.param_groups[0]["lr"] = optimizer.param_groups[0]["initial_lr"] = 1.0
        schedule = make()
        optimizer.step()
        with pytest.warns(UserWarning, match="epoch parameter"):
            schedule.step(5)
        assert schedule.get_last_lr() == pytest.approx([expected])


def test_restarts_may_be_stepped_in_parts() -> None:
    optimizer = one()
    schedule = lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 2, 2)
    schedule.step(1.0)
    assert schedule.get_last_lr() == pytest.approx([0.5])
    schedule.step(4.0)
    assert (schedule.T_i, schedule.T_cur) == (4, 2)
    schedule.step(6.0)
    assert schedule.get_last_lr() == [1.0]
    with pytest.raises(ValueError, match="non-negative epoch"):
        schedule.step(-1)


def test_a_rate_that_is_a_tensor_stays_one() -> None:
    rate = wb.tensor(1.0)
    optimizer = optim.SGD([wb.ones(1, requires_grad=True)], lr=rate)
    schedule = lr_scheduler.StepLR(optimizer, 1, 0.5)
    optimizer.step()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == 0.5
    assert schedule.base_lrs[0].item() == 1.0


def test_adam_cycles_its_first_beta() -> None:
    optimizer = optim.Adam([wb.ones(1, requires_grad=True)])
    lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=5)
    assert optimizer.param_groups[0]["betas"] == (0.95, 0.999)


def test_going_on_after_a_given_step() -> None:
    optimizer = one()
    optimizer.param_groups[0]["initial_lr"] = 1.0
    schedule = lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step), last_epoch=2)
    assert schedule.get_last_lr() == [0.25]


class Callable:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, step: int) -> float:
        return float(self.factor**step)


def test_functions_that_are_objects_are_kept() -> None:
    first = lr_scheduler.LambdaLR(one(), Callable(0.5))
    assert first.state_dict()["lr_lambdas"] == [{"factor": 0.5}]
    other = lr_scheduler.LambdaLR(one(), Callable(0.1))
    other.load_state_dict(first.state_dict())
    assert other.lr_lambdas[0](1) == 0.5


def test_more_groups_than_at_the_start_are_lowered_too() -> None:
    optimizer = one()
    schedule = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
    optimizer.add_param_group({"params": wb.ones(1, requires_grad=True), "lr": 4.0})
    schedule.step(1.0)
    schedule.step(1.0)
    assert schedule.get_last_lr() == [0.5, 2.0]


ONE = one()
S = lr_scheduler.StepLR(ONE, 1)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: lr_scheduler.StepLR(3, 1), TypeError, "int is not an Optimizer"),
        (lambda: lr_scheduler.StepLR(ONE, 0), ValueError, "step_size must be 1 or more, got 0"),
        (lambda: lr_scheduler.StepLR(one(), 1, last_epoch=3), KeyError, "'initial_lr' is not specified"),
        (lambda: lr_scheduler.LRScheduler(one()), TypeError, "has no rule: define get_lr"),
        (lambda: lr_scheduler.CosineAnnealingLR(ONE, 0), ValueError, "T_max must be 1 or more, got 0"),
        (lambda: lr_scheduler.CosineAnnealingWarmRestarts(ONE, 0), ValueError, "positive integer T_0"),
        (lambda: lr_scheduler.CosineAnnealingWarmRestarts(ONE, 1, 0), ValueError, "integer T_mult >= 1"),
        (lambda: lr_scheduler.LambdaLR(ONE, [abs, abs]), ValueError, "Expected 1 lr_lambdas, but got 2"),
        (lambda: lr_scheduler.MultiplicativeLR(ONE, 3), TypeError, "should be a function, but got int"),
        (lambda: lr_scheduler.ConstantLR(ONE, 1.5), ValueError, "between 0 and 1, got 1.5"),
        (lambda: lr_scheduler.LinearLR(ONE, 0.0), ValueError, "greater than 0"),
        (lambda: lr_scheduler.LinearLR(ONE, 0.5, 2.0), ValueError, "Ending multiplicative factor"),
        (lambda: lr_scheduler.CyclicLR(ONE, 0.1, 1.0, mode="waves"), ValueError, "mode is invalid"),
        (
            lambda: lr_scheduler.CyclicLR(ONE, [0.1] * 2, 1.0),
            ValueError,
            "base_lr has 2 values, param_groups has 1",
        ),
        (lambda: lr_scheduler.CyclicLR(rprop(), 0.1, 1.0), ValueError, "must support momentum"),
        (lambda: lr_scheduler.OneCycleLR(ONE, 1.0), ValueError, "either total_steps OR"),
        (lambda: lr_scheduler.OneCycleLR(ONE, 1.0, 0), ValueError, "positive integer total_steps, but got 0"),
        (
            lambda: lr_scheduler.OneCycleLR(ONE, 1.0, 5, pct_start=2.0),
            ValueError,
            "between 0 and 1 pct_start",
        ),
        (lambda: lr_scheduler.OneCycleLR(ONE, 1.0, 5, anneal_strategy="x"), ValueError, "'cos' or 'linear'"),
        (lambda: lr_scheduler.ReduceLROnPlateau(ONE, factor=1.0), ValueError, "Factor should be < 1.0"),
        (lambda: lr_scheduler.ReduceLROnPlateau(ONE, "least"), ValueError, "mode least is unknown"),
        (lambda: lr_scheduler.ReduceLROnPlateau(ONE, min_lr=[0, 0]), ValueError, "expected 1 min_lrs, got 2"),
        (lambda: lr_scheduler.ChainedScheduler([]), ValueError, "at least one scheduler"),
        (lambda: lr_scheduler.ChainedScheduler([S, other()]), ValueError, "belong to the same optimizer"),
        (
            lambda: lr_scheduler.ChainedScheduler([plateau()]),
            ValueError,
            "does not support `ReduceLROnPlateau`",
        ),
        (
            lambda: lr_scheduler.SequentialLR(ONE, [S, S], []),
            ValueError,
            "one more than the number of milestone",
        ),
        (lambda: lr_scheduler.SequentialLR(ONE, [3], []), TypeError, "should have `optimizer`"),
        (lambda: swa_utils.SWALR(ONE, 0.1, anneal_epochs=-1), ValueError, "equal or greater than 0, got -1"),
        (lambda: swa_utils.SWALR(ONE, 0.1, anneal_strategy="x"), ValueError, "'cos' or 'linear'"),
        (
            lambda: S.load_state_dict({"base_lrs": [1, 2]}),
            ValueError,
            "of 2 parameter groups, this one is of 1",
        ),
        (lambda: S.load_state_dict(3), TypeError, "the state of a schedule"),
        (lambda: lr_scheduler.StepLR(ONE, "2"), TypeError, "step_size is a number, got '2'"),
        (lambda: lr_scheduler.StepLR(ONE, math.nan), ValueError, "step_size is a number, got nan"),
        (lambda: lr_scheduler.StepLR(ONE, 2, math.nan), ValueError, "gamma is a number, got nan"),
        (lambda: lr_scheduler.ExponentialLR(ONE, "x"), TypeError, "gamma is a number, got 'x'"),
        (lambda: lr_scheduler.PolynomialLR(ONE, 5, None), TypeError, "power is a number, got None"),
        (lambda: lr_scheduler.MultiStepLR(ONE, 3), TypeError, "such as [30, 80], got 3"),
        (lambda: lr_scheduler.MultiStepLR(ONE, ["a"]), TypeError, "a milestone is a number, got 'a'"),
        (lambda: lr_scheduler.CosineAnnealingLR(ONE, "5"), TypeError, "T_max is a number, got '5'"),
        (lambda: lr_scheduler.CyclicLR(ONE, 0.1, 0.2, 0), ValueError, "step_size_up must be above 0, got 0"),
        (lambda: lr_scheduler.CyclicLR(ONE, 0.1, 0.2, 1, -1), ValueError, "step_size_down must be above 0"),
        (
            lambda: lr_scheduler.OneCycleLR(ONE, 0.1, 5, div_factor=0),
            ValueError,
            "div_factor must be above 0",
        ),
        (lambda: lr_scheduler.ReduceLROnPlateau(ONE, factor=-1), ValueError, "factor must be 0 or more"),
        (
            lambda: plateau().step({"loss": 1.0}),
            TypeError,
            "one number, such as the validation loss, got dict",
        ),
        (
            lambda: lr_scheduler.LambdaLR(ONE, lambda _: None),
            TypeError,
            "gives for step 0 is a number, got None",
        ),
        (lambda: lr_scheduler.LambdaLR(ONE, lambda _: math.nan), ValueError, "is a number, got nan"),
        (lambda: Own(ONE), TypeError, "a learning rate of Own is a number, got 'x'"),
        (lambda: lr_scheduler.StepLR(optim.SGD, 1), TypeError, "the class SGD itself is not an Optimizer"),
    ],
)
def test_bad_settings_are_refused_in_words(make: Any, error: type[Exception], message: str) -> None:
    with warnings.catch_warnings(), pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)


class Own(lr_scheduler.LRScheduler):
    def get_lr(self) -> list[Any]:
        return ["x"]


def test_a_constant_of_nothing_gives_the_whole_rate_back() -> None:
    optimizer = one()
    schedule = lr_scheduler.ConstantLR(optimizer, factor=0.0, total_iters=2)
    seen = schedule.get_last_lr()
    for _ in range(3):
        optimizer.step()
        schedule.step()
        seen = seen + schedule.get_last_lr()
    assert seen == [0.0, 0.0, 1.0, 1.0]


def test_a_schedule_prints_where_it_is_and_its_settings() -> None:
    optimizer = one()
    schedule = lr_scheduler.StepLR(optimizer, 2, 0.5)
    optimizer.step()
    schedule.step()
    assert repr(schedule) == "StepLR(step=1, lr=[1.0], step_size=2, gamma=0.5)"
    both = lr_scheduler.ChainedScheduler([schedule])
    assert repr(both) == f"ChainedScheduler(lr=[1.0], of:\n  {schedule}\n)"


def rprop() -> optim.Rprop:
    return optim.Rprop([wb.ones(1, requires_grad=True)])


def other() -> lr_scheduler.LRScheduler:
    return lr_scheduler.StepLR(one(), 1)


def plateau() -> lr_scheduler.LRScheduler:
    return lr_scheduler.ReduceLROnPlateau(ONE)


def test_one_cycle_is_not_stepped_past_its_end() -> None:
    optimizer = one()
    schedule = lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=3)
    optimizer.step()
    for _ in range(3):
        schedule.step()
    with pytest.raises(ValueError, match="Tried to step 4 times"):
        schedule.step()


def test_a_plateau_leaves_rates_that_would_hardly_change() -> None:
    optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1e-8)
    schedule = wb.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
    for _ in range(3):
        schedule.step(1.0)
    assert schedule.get_last_lr() == [1e-8]


def test_a_step_that_was_replaced_before_the_schedule_is_no_reason_to_warn() -> None:
    optimizer = wb.optim.SGD([wb.ones(1, requires_grad=True)], lr=1.0)
    step = optimizer.step
    optimizer.step = lambda *arguments: step(*arguments)
    schedule = wb.optim.lr_scheduler.StepLR(optimizer, 1)
    optimizer.step()
    schedule.step()
    assert schedule.get_last_lr() == [0.1]

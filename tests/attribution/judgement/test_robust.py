"""Attacks: what stays in bounds, what leaves nothing behind, and what is refused.

Captum's own cases of them are in `../captum_cases`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.attribution.robust import FGSM, PGD, AttackComparator, LossWarning, MinParamPerturbation
from workbench.base.errors import AutogradError, DimensionError, DTypeError

NUMBERS = st.floats(-4, 4, allow_nan=False, width=32)


def basic(x: Any) -> Any:
    return 1 - (1 - x).relu()


def near(found: Any, expected: Any) -> None:
    parts = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for one, wanted in parts:
        np.testing.assert_allclose(one.numpy(), np.asarray(wanted, np.float32), atol=1e-5)


PAIR = (wb.tensor([[4.0, -1.0], [3.0, 10.0]]), wb.tensor([[2.0, -5.0], [-2.0, 1.0]]))
LINE = wb.tensor([[9.0, 10.0, -6.0, -1.0]])
SEARCH = MinParamPerturbation(basic, lambda x, by: x - by, "by", 0, 9, 1)
FIVE = wb.tensor([[2.0, -9.0, 9.0, 1.0, -3.0]])


@given(
    st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=1, max_size=3),
    st.sampled_from(["L2", "Linf"]),
    st.floats(0, 1),
    st.integers(0, 3),
)
@settings(deadline=None)
def test_no_walk_leaves_its_ball_or_its_bounds(
    values: list[list[float]], norm: str, radius: float, steps: int
) -> None:
    inputs = wb.tensor(values).clamp(-2, 2).rename("N", "F")
    loss = lambda outputs, target: (outputs - target) ** 2
    attack = PGD(lambda x: x.sin().sum(1), loss, -2.0, 2.0)
    found = attack.perturb(inputs, radius, 0.4, steps, 3.0, random_start=True, norm=norm)
    change = (found - inputs).rename(None)
    far = change.norm(dim=1) if norm == "L2" else change.abs().amax(1)
    assert (far <= radius + 1e-5).all()
    assert found.abs().max() <= 2
    assert found.names == ("N", "F")
    assert found.data_ptr() != inputs.data_ptr()


def test_a_step_raises_the_loss_and_leaves_nothing_behind() -> None:
    wb.manual_seed(2)
    model = wb.nn.Sequential(wb.nn.Linear(6, 8), wb.nn.Tanh(), wb.nn.Linear(8, 3)).eval()
    images, labels = wb.rand(N=4, F=6), wb.tensor([0, 1, 2, 0])
    loss = wb.nn.CrossEntropyLoss(reduction="none")
    for attack in (FGSM(model, loss), FGSM(wb.nn.Sequential(model, wb.nn.Softmax(1)).eval())):
        before = loss(model(images), labels)
        assert (loss(model(attack(images, 0.01, labels)), labels) > before).all()
        assert (loss(model(attack(images, 0.01, labels, targeted=True)), labels) < before).all()
    assert all(one.grad is None for one in model.parameters())
    small = FGSM(model, loss).perturb(images, 0.1, labels, memory="200 kB")
    np.testing.assert_allclose(small, FGSM(model, loss).perturb(images, 0.1, labels), atol=1e-6)


def test_outputs_that_are_no_probabilities_are_warned_of() -> None:
    with pytest.warns(
        LossWarning, match="1 of 1 are not positive: a step then lowers the loss that is meant"
    ):
        FGSM(basic).perturb(FIVE, 0.1, 1)


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        (lambda: FGSM(3), TypeError, "forward_func is called, a int cannot be"),  # type: ignore[arg-type]
        (lambda: FGSM(basic, 3), TypeError, "loss_func is called"),  # type: ignore[arg-type]
        (lambda: FGSM(basic, lower_bound=1, upper_bound=1), ValueError, "lower_bound=1 is not below"),
        (lambda: FGSM(basic).perturb(LINE, -0.1, 0), ValueError, "targeted=True goes the other way"),
        (lambda: FGSM(basic).perturb(LINE, "1", 0), TypeError, "epsilon is a number"),
        (lambda: FGSM(basic).perturb(LINE * float("nan"), 1, 0), ValueError, "4 NaN"),
        (lambda: FGSM(basic).perturb(LINE.long(), 1, 0), DTypeError, "floating point"),
        (lambda: FGSM(basic).perturb(LINE, 1, 0, mask=wb.ones(1, 3)), DimensionError, "must match"),
        (lambda: FGSM(basic).perturb(LINE, 1, 0, mask=wb.ones(2, 4)), DimensionError, "mask of shape"),
        (lambda: FGSM(basic).perturb(LINE, 1, 0, mask=1), TypeError, "a mask is a tensor"),
        (lambda: FGSM(basic).perturb(PAIR, 1, 0, mask=wb.ones(1)), DimensionError, "1 masks for 2 inputs"),
        (lambda: FGSM(lambda x: x.detach()).perturb(LINE, 1, 0), AutogradError, "leaves the tape"),
        (lambda: PGD(basic).perturb(LINE, 1, 1, 1, 0, norm="L1"), ValueError, 'norm is "Linf" or "L2"'),
        (lambda: PGD(basic).perturb(LINE, -1, 1, 1, 0), ValueError, "radius is a finite number"),
        (lambda: PGD(basic).perturb(LINE, 1, 1, -1, 0), ValueError, "step_num is 0 or more, got -1"),
        (lambda: MinParamPerturbation(basic, 1, "a", 0, 9, 1), TypeError, "attack is called"),  # type: ignore[arg-type]
        (lambda: MinParamPerturbation(basic, basic, "a", 0, 1, 1), ValueError, "no step of 1"),
        (lambda: MinParamPerturbation(basic, basic, "a", 0, 9, 1, "fast"), ValueError, "mode is"),
        (
            lambda: MinParamPerturbation(basic, basic, "a", 0, 9, 1, num_attempts=0),
            ValueError,
            "num_attempts",
        ),
        (
            lambda: MinParamPerturbation(basic, basic, "a", 0, 9, 1, preproc_fn=1),
            TypeError,
            "preproc_fn is called",
        ),  # type: ignore[arg-type]
        (
            lambda: MinParamPerturbation(basic, basic, "a", "0", 9, 1),
            TypeError,
            "arg_min is a number, got str",
        ),  # type: ignore[arg-type]
        (lambda: SEARCH.evaluate(LINE), TypeError, "give target=, the class of each sample"),
        (
            lambda: SEARCH.evaluate(LINE, target=wb.tensor([0, 1])),
            DimensionError,
            r"shape \[2\] for 1 samples",
        ),
        (lambda: AttackComparator(basic, 1), TypeError, "metric is called"),  # type: ignore[arg-type]
        (lambda: AttackComparator(basic, basic).add_attack(1), TypeError, "an attack is called"),  # type: ignore[arg-type]
        (lambda: AttackComparator(basic, basic).add_attack(basic, "Original"), RuntimeError, "already"),
    ],
)
def test_refusals(asked: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        asked()


def test_only_a_step_has_another_way() -> None:
    with pytest.raises(ValueError, match=r"radius is a finite number of 0 or more, got -1$"):
        PGD(basic).perturb(LINE, -1, 1, 1, 0)


def subtract(inputs: Any, ind: int, add_arg: float) -> Any:
    changed = inputs.clone()
    changed[0, ind] -= add_arg
    return changed


@pytest.mark.parametrize(("mode", "together"), [("linear", 1), ("linear", 7), ("binary", 10)])
def test_the_least_setting(mode: str, together: int) -> None:
    search = MinParamPerturbation(
        lambda x: basic(x) + wb.tensor([[1e-6, 0, 0, 0, 0]]), subtract, "add_arg", 0.0, 1000.0, 1.0, mode
    )
    found = search.evaluate(FIVE, target=0, attack_kwargs={"ind": 0}, perturbations_per_eval=together)
    near(found[0], [[0.0, -9.0, 9.0, 1.0, -3.0]])
    assert found[1] == 2.0
    assert search.evaluate(FIVE + 5000, target=0, attack_kwargs={"ind": 1}) == (None, None)


def test_attacks_side_by_side() -> None:
    def metric(outputs: Any, target: int) -> Any:
        return (outputs.argmax(1) == target).float(), outputs[:, target]

    comparator = AttackComparator(lambda x: basic(x) + wb.tensor([[1e-6, 0, 0, 0, 0]]), metric)
    comparator.add_attack(
        lambda x, column: subtract(x, column, x[0, column].item()), "first", attack_kwargs={"column": 0}
    )
    comparator.add_attack(FGSM(basic), attack_kwargs={"epsilon": 0.5}, additional_attack_arg_names=["target"])
    found = comparator.evaluate(FIVE, target=0)
    assert [one.item() for one in found["Original"]] == pytest.approx([1, 1], abs=1e-5)
    assert [one.item() for one in found["first"]["mean"]] == pytest.approx([0, 0], abs=1e-5)
    assert [one.item() for one in found["FGSM"]["mean"]] == pytest.approx([1, 1], abs=1e-5)
    with pytest.warns(LossWarning):
        comparator.evaluate(wb.tensor([[1.0, 2.0, -3.0, 4.0, -5.0]]), target=4)
    means = {
        name: [round(one.item(), 4) for one in kinds["mean"]] for name, kinds in comparator.summary().items()
    }
    assert means == {"Original": [0.5, -2.0], "first": [0.0, -2.5], "FGSM": [0.5, -1.75]}
    comparator.reset()
    assert comparator.summary() == {}
    with pytest.raises(RuntimeError, match="there is an attack 'FGSM' already"):
        comparator.add_attack(FGSM(basic))
    with pytest.raises(ValueError, match="perturbations_per_eval is 1 or more"):
        comparator.evaluate(FIVE, perturbations_per_eval=0)
    comparator.attacks.clear()
    comparator.add_attack(basic, "one", additional_attack_arg_names=["target"])
    comparator.metric = lambda outputs: outputs.sum(1)
    with pytest.warns(UserWarning, match="no 'target', which the attack 'one' takes"):
        comparator.evaluate(FIVE)

"""The cases of Captum's tests of `AttackComparator` and `MinParamPerturbation`: arguments and values, written out.

The networks are the recorded ones beside. A text is words, of which the networks see each first letter's number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.attribution.captum_cases.cases import recorded_network
from workbench.attribution.robust import FGSM, AttackComparator, MinParamPerturbation

MODEL, RAMP = recorded_network("BasicModel_MultiLayer"), recorded_network("BasicModel")
TEXT = ["abc", "zyd", "ghi"]
TEXTS = [TEXT, ["abc", "uyd", "ghi"]]
LESS = wb.ones(2, 3) * -97


def letters(words: list[str]) -> Any:
    return wb.tensor([[float(ord(word[0])) for word in words]])


def letters_of_each(texts: list[list[str]]) -> Any:
    return wb.cat([letters(words) for words in texts])


def with_letter(words: list[str], ind: int, char_val: int) -> list[str]:
    return [chr(122 - char_val) + word if place == ind else word for place, word in enumerate(words)]


def with_letter_each(texts: list[list[str]], ind: int, char_val: int) -> list[list[str]]:
    return [with_letter(words, ind, char_val) for words in texts]


def above(outputs: Any, target: int, threshold: float) -> bool:
    return bool((outputs[:, target] > threshold).all())


def search(
    attack: Any, preproc_fn: Any, correct_fn: Any = above, model: Any = MODEL, attempts: int = 1
) -> Any:
    return MinParamPerturbation(
        model, attack, "char_val", 0, 26, 1, "linear", attempts, preproc_fn, True, correct_fn
    )


def test_a_text_that_stays_right() -> None:
    found = search(with_letter, letters, None).evaluate(TEXT, target=1, attack_kwargs={"ind": 1})
    assert found == (None, None)


@pytest.mark.parametrize("together", [1, 5])
def test_the_least_letter_of_a_text(together: int) -> None:
    found = search(with_letter, letters, attempts=5).evaluate(
        TEXT, None, 1, together, {"ind": 1}, {"threshold": 1200}
    )
    assert found == (["abc", "ezyd", "ghi"], 21)


@pytest.mark.parametrize("together", [1, 15])
def test_the_least_letter_of_two_texts(together: int) -> None:
    expected = [["abc", "uzyd", "ghi"], ["abc", "uuyd", "ghi"]]
    asked: Any = {"target": 1, "attack_kwargs": {"ind": 1}, "correct_fn_kwargs": {"threshold": 100}}
    asked["perturbations_per_eval"] = together
    of_texts = search(with_letter_each, letters_of_each)
    assert of_texts.evaluate(TEXTS, additional_forward_args=(LESS,), **asked) == (expected, 5)
    of_pairs = search(
        lambda pair, ind, char_val: (with_letter_each(pair[0], ind, char_val), pair[1]),
        lambda pair: (letters_of_each(pair[0]), pair[1]),
        model=lambda pair: MODEL(*pair),
    )
    (texts, _), least = of_pairs.evaluate((TEXTS, LESS), **asked)
    assert (texts, least) == (expected, 5)


def right_and_output(outputs: Any, target: int) -> Any:
    return (outputs.argmax(1) == target).float(), outputs[:, target]


def without_column(x: Any, column: int) -> Any:
    kept = wb.ones_like(x)
    kept[:, column] = 0.0
    return kept * x


class EachColumn:
    """Another column is taken away each time."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, x: Any) -> Any:
        self.count += 1
        return without_column(x, (self.count - 1) % x.shape[1])


def compare(found: Any, expected: dict[str, Any]) -> None:
    """Compare what was found for each attack, or an attack's mean, least and greatest, with pairs of numbers."""
    for name, wanted in expected.items():
        if isinstance(wanted, dict):
            compare(found[name], wanted)
        else:
            for mine, number in zip(found[name], wanted, strict=True):
                np.testing.assert_allclose(mine.numpy().squeeze(), number, atol=1e-3)


@pytest.mark.filterwarnings("ignore::workbench.attribution.robust.LossWarning")
def test_attacks_of_numbers() -> None:
    comparator = AttackComparator(
        lambda x: RAMP(x) + wb.tensor([[1e-6, 0.0, 0.0, 0.0, 0.0]]), right_and_output
    )
    for name, column in (("first", 0), ("last", -1)):
        comparator.add_attack(without_column, name, attack_kwargs={"column": column})
    comparator.add_attack(FGSM(RAMP), attack_kwargs={"epsilon": 0.5}, additional_attack_arg_names=["target"])
    compare(
        comparator.evaluate(wb.tensor([[2.0, -9.0, 9.0, 1.0, -3.0]]), target=0),
        {"Original": (1, 1), "first": {"mean": (0, 0)}, "last": {"mean": (1, 1)}, "FGSM": {"mean": (1, 1)}},
    )
    compare(
        comparator.evaluate(wb.tensor([[1.0, 2.0, -3.0, 4.0, -5.0]]), target=4),
        {
            "Original": (0, -5),
            "first": {"mean": (0, -5)},
            "last": {"mean": (0, 0)},
            "FGSM": {"mean": (0, -4.5)},
        },
    )
    means = {"Original": (0.5, -2), "first": (0, -2.5), "last": (0.5, 0.5), "FGSM": (0.5, -1.75)}
    compare(comparator.summary(), {name: {"mean": pair} for name, pair in means.items()})


def texts_compared(preproc_fn: Any, attack: Any) -> AttackComparator:
    comparator = AttackComparator(MODEL, right_and_output, preproc_fn)
    comparator.add_attack(EachColumn(), "columns", num_attempts=5, apply_before_preproc=False)
    comparator.add_attack(attack, "letters", apply_before_preproc=True)
    return comparator


def test_attacks_of_a_text() -> None:
    comparator = texts_compared(letters, lambda words: ["a" + word for word in words])
    of_columns = {"mean": (0, 847.2), "max": (0, 892), "min": (0, 792)}
    compare(
        comparator.evaluate(TEXT, target=0, perturbations_per_eval=3),
        {"Original": (0, 1280), "columns": of_columns, "letters": {"mean": (0, 1156)}},
    )
    of_attempts = {f"columns {name.title()} Attempt": {"mean": pair} for name, pair in of_columns.items()}
    compare(
        comparator.summary(),
        {"Original": {"mean": (0, 1280)}, **of_attempts, "letters": {"mean": (0, 1156)}},
    )


def test_attacks_of_two_texts() -> None:
    comparator = texts_compared(
        letters_of_each, lambda texts: [["a" + word for word in words] for words in texts]
    )
    of_columns = dict.fromkeys(("mean", "max", "min"), ([0, 0], [-1, -1]))
    found = comparator.evaluate(
        [TEXT, ["mnop", "qrs", "Tuv"]], additional_forward_args=LESS, target=0, perturbations_per_eval=2
    )
    expected = {"Original": ([0, 0], [116, 52]), "columns": of_columns, "letters": {"mean": ([0, 0], [2, 2])}}
    compare(found, expected)
    of_attempts = {f"columns {name.title()} Attempt": {"mean": (0, -1)} for name in of_columns}
    compare(comparator.summary(), {"Original": {"mean": (0, 84)}, **of_attempts, "letters": {"mean": (0, 2)}})

"""What people call is declared at its definition, once."""

from __future__ import annotations

import inspect

import pytest

import workbench as wb
from workbench import ops
from workbench.ops.offer import offered, offers


def test_two_things_of_one_name_are_refused() -> None:
    def relu(input: object) -> object:
        return input

    before = list(offers())
    words = r"Tensor\.relu is offered in workbench\.ops\.nn\.activation\.\w+ and in .*test_offer: rename one"
    with pytest.raises(ValueError, match=words):
        offered("Tensor")(relu)
    assert list(offers()) == before


def test_a_place_that_there_is_not_is_refused() -> None:
    words = "'nn' is no place to offer something; there are workbench, Tensor, nn.functional, linalg, fft, special"
    with pytest.raises(ValueError, match=words):
        offered("nn")(test_a_place_that_there_is_not_is_refused)  # type: ignore[arg-type]


def test_an_alias_is_the_same_function_at_the_same_places() -> None:
    assert wb.subtract is not wb.add
    assert ops.METHODS["subtract"] is ops.METHODS["sub"]
    assert "subtract_" in ops.METHODS
    assert "out" in inspect.signature(wb.subtract).parameters


def test_in_place_variants_stand_beside_what_they_are_variants_of() -> None:
    assert wb.relu_ is wb.nn.functional.relu_ is ops.METHODS["relu_"]
    assert "expit_" not in ops.SPECIAL  # as in PyTorch: none in special, linalg and fft
    assert "add_" not in ops.FUNCTIONS  # a method only, and so declared


def test_what_is_declared_is_what_is_there() -> None:
    places = {
        "workbench": ops.FUNCTIONS,
        "Tensor": ops.METHODS,
        "nn.functional": ops.NN,
        "linalg": ops.LINALG,
        "fft": ops.FFT,
        "special": ops.SPECIAL,
    }
    for place, found in places.items():
        declared = [one for one in offers() if one.place == place]
        variants = {f"{one.name}_" for one in declared if one.in_place or one.inplace_view}
        assert {one.name for one in declared} | variants == set(found)


def test_records_and_what_people_call_stand_in_one_file_or_in_two_that_say_which() -> None:
    """``<subject>_ops.py`` has the records of ``<subject>.py``, where one file would be too long for both."""
    assert [one.name for one in offers() if one.file.endswith("_ops")] == []

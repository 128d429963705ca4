"""What the package says of names that it has not."""

from __future__ import annotations

import pytest

import workbench as wb


@pytest.mark.parametrize(("name", "words"), [("library", r"wb\.autograd\.Function")])
def test_words_of_pytorch_that_are_others_here(name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}': .*{words}"):
        getattr(wb, name)


def test_a_name_that_is_nothing_is_told_with_the_nearest() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'zeroes': did you mean 'zeros'\?$") as caught:
        wb.zeroes  # noqa: B018
    # Python would guess once more below the words, if it knew the object.
    assert (caught.value.name, caught.value.obj) == ("zeroes", None)
    with pytest.raises(AttributeError, match=r"no attribute 'qqqq'$"):
        wb.qqqq  # noqa: B018

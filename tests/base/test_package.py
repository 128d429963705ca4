"""What the package says of names that it has not."""

from __future__ import annotations

import pytest

import workbench as wb


@pytest.mark.parametrize(("name", "words"), [("cuda", r"x\.to\('cuda'\)")])
def test_words_of_pytorch_that_are_others_here(name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}': .*{words}"):
        getattr(wb, name)


def test_a_name_that_is_nothing_is_told_for_suggestions() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'zeroes'$") as caught:
        wb.zeroes  # noqa: B018
    assert (caught.value.name, caught.value.obj) == ("zeroes", wb)

"""Where a lower room calls a higher one."""

from __future__ import annotations

import pytest

from workbench.base.seams import Seam


def test_what_is_given_is_called_with_all_that_came() -> None:
    seam = Seam("adding", "workbench.above")
    seam.give(lambda *arguments, **keywords: (arguments, keywords))
    assert seam(1, two=2) == ((1,), {"two": 2})


def test_a_call_before_anything_was_given_says_who_gives_it() -> None:
    with pytest.raises(
        RuntimeError, match=r"adding is given by workbench\.above, which has not been imported"
    ):
        Seam("adding", "workbench.above")(1)


def test_nothing_is_given_twice() -> None:
    seam = Seam("adding", "workbench.above")
    seam.give(max)
    with pytest.raises(ValueError, match=r"adding has been given already, by workbench\.above"):
        seam.give(min)
    assert seam(1, 2) == 2

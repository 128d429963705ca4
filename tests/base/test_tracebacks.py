"""Tracebacks as a notebook shows them: the user's lines, cells by number, words that are not broken."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

import workbench as wb
from workbench.base.errors import Shown
from workbench.base.tracebacks import WIDTH, short_traceback


def refuse(words: str) -> None:
    raise wb.DTypeError(words)


def shown(words: str) -> str:
    with pytest.raises(wb.DTypeError) as caught:
        refuse(words)
    return "".join(short_traceback(caught.value))


def test_an_error_goes_by_its_own_name() -> None:
    assert "\nDTypeError: takes floats, got int64" in shown("takes floats, got int64")


def test_long_lines_break_between_words() -> None:
    text = shown("takes floats " * 40)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert text.replace("\n", " ").count("takes floats ") >= 39
    assert "x" * 300 in shown("x" * 300), "a word stays whole"


def test_indented_lines_stay_indented() -> None:
    lines = shown("two operands:\n  " + "input " * 40).splitlines()
    assert all(line.startswith("  input") for line in lines[-3:])


def test_causes_are_shown_without_the_frames_of_this_package() -> None:
    def load() -> None:
        try:
            wb.zeros(N=2) + wb.zeros(M=3)
        except wb.DimensionError as error:
            raise Shown("the pieces do not fit") from error

    with pytest.raises(Shown) as caught:
        load()
    text = "".join(short_traceback(caught.value))
    assert "wb.zeros(N=2) + wb.zeros(M=3)" in text
    assert "The above exception was the direct cause" in text
    assert "dispatch.py" not in text


def test_cells_go_by_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    here = __file__
    compile = SimpleNamespace(format_code_name=lambda name: ("Cell", "In[7]") if name == here else None)
    shell = SimpleNamespace(compile=compile)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    text = shown("takes floats")
    assert "  Cell In[7], line " in text
    assert "in refuse" in text
    assert here not in text

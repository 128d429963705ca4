"""Names of indices and of what is written go with those of the value; subscripts that are names are held to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb

X = wb.arange(9.0).reshape(3, 3).rename("N", "C")
PLACES = wb.zeros(3, 3, dtype=wb.int64)
ROW = wb.tensor([0, 2, 1])


def test_entries_along_the_dim_may_be_called_otherwise() -> None:
    found = X.gather("C", PLACES.rename("N", "K"))
    assert found.names == ("N", "K")
    assert X.gather(1, PLACES).names == ("N", "C")
    assert wb.take_along_dim(X, PLACES.rename("N", "K"), "C").names == ("N", "K")
    assert X.scatter_add(1, PLACES.rename("N", "K"), X.rename(C="K")).names == ("N", "C")
    assert X.index_add("N", ROW.rename("row"), X.rename(N="row")).names == ("N", "C")
    assert X.put(PLACES, X).names == X.masked_scatter(X > 2, wb.ones(values=9)).names == ("N", "C")


TURNED = X.rename("C", "N")
REFUSED: dict[str, Callable[[], Any]] = {
    "gather": lambda: X.gather(1, PLACES.rename("C", "N")),
    "gather: another place": lambda: X.gather(1, PLACES.rename(None, "N")),
    "take_along_dim": lambda: wb.take_along_dim(X, PLACES.rename("C", "N"), 1),
    "scatter: index": lambda: X.scatter(1, PLACES.rename("C", "N"), X),
    "scatter: source": lambda: X.scatter(1, PLACES, TURNED),
    "scatter_add: index": lambda: X.scatter_add(1, PLACES.rename("C", "N"), X),
    "scatter_add: source": lambda: X.scatter_add(1, PLACES, TURNED),
    "scatter_add: source and index": lambda: X.scatter_add(1, PLACES.rename("N", "K"), X.rename(C="L")),
    "scatter_add_": lambda: X.clone().scatter_add_(1, PLACES, TURNED),
    "scatter_reduce: index": lambda: X.scatter_reduce(1, PLACES.rename("C", "N"), X, "sum"),
    "scatter_reduce: source": lambda: X.scatter_reduce(1, PLACES, TURNED, "amax"),
    "index_add": lambda: X.index_add(0, ROW, TURNED),
    "index_add: source and index": lambda: X.index_add(0, ROW.rename("row"), X.rename(N="line")),
    "index_copy": lambda: X.index_copy(0, ROW, TURNED),
    "index_reduce": lambda: X.index_reduce(0, ROW, TURNED, "prod"),
    "put": lambda: X.put(PLACES.rename("N", "C"), TURNED),
    "put_": lambda: X.clone().put_(PLACES.rename("N", "C"), TURNED),
    "masked_scatter": lambda: X.masked_scatter(X > 2, TURNED),
}


@pytest.mark.parametrize("case", REFUSED)
def test_names_that_do_not_go_together_are_refused(case: str) -> None:
    with pytest.raises(wb.DimensionError, match=r"do not match|different position") as caught:
        REFUSED[case]()
    assert caught.value.operands


def test_a_name_is_not_made_twice() -> None:
    with pytest.raises(wb.DimensionError, match="unflatten: 'N' would stand twice among the dims") as caught:
        wb.zeros(N=2, features=6).unflatten("features", {"N": 2, "C": 3})
    assert "names that no other dim has" in caught.value.fix
    with pytest.raises(wb.DimensionError, match="'C' would stand twice"):
        wb.zeros(N=2, features=6).unflatten("features", (("C", 2), ("C", 3)))
    assert wb.zeros(N=2, features=6).unflatten("features", {"features": 2, "C": 3}).names == (
        "N",
        "features",
        "C",
    )
    x = wb.arange(3, names=("x",))
    with pytest.raises(wb.DimensionError, match="meshgrid: 'x' would stand twice") as caught:
        wb.meshgrid(x, x)
    assert "rename(x='x_1')" in caught.value.fix
    assert wb.meshgrid(x, x.rename("y"))[0].names == ("x", "y")
    assert wb.cartesian_prod(x, x).shape == (9, 2)
    with pytest.raises(wb.DimensionError, match="duplicate names: 'a' stands twice"):
        wb.cdist(wb.zeros(2, 2, 2, names=(None, "a", "e")), wb.zeros(2, 2, 2, names=("a", None, None)))


def test_words_of_one_letter_are_names() -> None:
    x, w = wb.ones(N=2, T=3), wb.ones(3, 4)
    assert wb.einsum("N T, T D -> N D", x, w).names == ("N", None)
    assert wb.einsum("N T,T out->N out", x, w.rename("T", "out")).names == ("N", "out")
    with pytest.raises(
        wb.DimensionError, match="called 'C' in the equation is called 'T' in operand 0"
    ) as caught:
        wb.einsum("N C, C D -> N D", x, w)
    assert "'ij,jk->ik'" in caught.value.fix
    with pytest.raises(wb.DimensionError, match="called 'N' in the equation is called 'T' in operand 0"):
        wb.einsum("T N, N out -> T out", x.rename(None, "T"), w)


def test_letters_close_together_say_nothing_of_names_but_where_they_are_names() -> None:
    x, w = wb.ones(N=2, T=3), wb.ones(time=3, out=4)
    assert wb.einsum("ij,jk->ik", x, w).names == ("N", "out")
    assert wb.einsum("NT,TD->ND", x, w.rename(None)).names == ("N", None)
    with pytest.raises(wb.DimensionError, match="called 'T' in the equation is called 'time' in operand 1"):
        wb.einsum("NT,TD->ND", x, w)
    with pytest.raises(
        wb.DimensionError, match="'T' stands for the dim 'N' of operand 0, which has another dim"
    ):
        wb.einsum("TN,Nk->Tk", x, wb.ones(3, 4))
    # Numbers are no names, whatever letters stand for them within.
    assert wb.einsum(wb.ones(B=2, A=3), [0, 1], [0, 1]).names == ("B", "A")

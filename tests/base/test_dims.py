"""The name algebra: the published rules, and the strictness beyond them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.dims import Dims, broadcast, check_names, dim_index, near_miss, unify_names, unnamed
from workbench.base.errors import DimensionError, DimensionIndexError


def dims(*names: str | None) -> Dims:
    return Dims(names, (2,) * len(names))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (("N", "C"), ("N", "C"), ("N", "C")),
        (("N", "C"), ("C",), ("N", "C")),
        (("N", "C"), (None, None), ("N", "C")),
        ((None, "C"), ("N", None), ("N", "C")),
        ((), ("N",), ("N",)),
        ((None,), (None,), (None,)),
    ],
)
def test_names_unify_from_the_right(
    a: tuple[str | None, ...], b: tuple[str | None, ...], expected: tuple[str | None, ...]
) -> None:
    assert unify_names("add", dims(*a), dims(*b)) == expected
    assert unify_names("add", dims(*b), dims(*a)) == expected


@pytest.mark.parametrize(
    ("a", "b", "message", "fix"),
    [
        (
            ("N", "C"),
            ("N",),
            "dim 'C' and dim 'N' are at the same position from the right but do not match",
            "align_as",
        ),
        (("N", None), ("N",), "Misaligned dims when attempting to broadcast", ""),
        (
            ("N", "channel"),
            ("N", "chanel"),
            "Is 'chanel' a misspelling of 'channel'?",
            "other.rename(chanel='channel')",
        ),
        (("N", "C"), ("C", "N"), "the same in another order", "other.align_as(input)"),
        (("N", "C"), ("N", "T"), "do not match", "other.rename(T='C')"),
        ((None, "C"), (None, "T"), "do not match", "other.rename(T='C')"),
        (("N", None, "in_features"), (None, None, "E"), "do not match", "other.rename(E='in_features')"),
    ],
)
def test_clashing_names_say_what_would_work(
    a: tuple[str | None, ...], b: tuple[str | None, ...], message: str, fix: str
) -> None:
    with pytest.raises(DimensionError) as caught:
        broadcast("add", dims(*a), dims(*b))
    assert message in str(caught.value)
    assert fix in caught.value.fix
    assert [operand.label for operand in caught.value.operands] == ["input", "other"]
    assert any(mark for operand in caught.value.operands for mark in operand.marks)


def test_clashing_sizes_mark_the_dims() -> None:
    with pytest.raises(
        DimensionError, match=r"tensor a \(4\) must match the size of tensor b \(5\)"
    ) as caught:
        broadcast("mul", Dims(("N", "C"), (3, 4)), Dims(("N", "C"), (3, 5)))
    assert [operand.marks for operand in caught.value.operands] == [(False, True), (False, True)]
    assert "input[N:3, >C:4<]" in str(caught.value)


@given(st.lists(st.integers(0, 4), max_size=4), st.lists(st.integers(0, 4), max_size=4))
def test_broadcast_sizes_are_numpys(a: list[int], b: list[int]) -> None:
    try:
        expected = np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        with pytest.raises(DimensionError):
            broadcast("add", unnamed(a), unnamed(b))
    else:
        assert broadcast("add", unnamed(a), unnamed(b)).sizes == expected


NAMES = st.lists(st.sampled_from(["N", "C", "H", None]), max_size=4).filter(
    lambda names: len([n for n in names if n]) == len({n for n in names if n})
)


@given(NAMES, NAMES)
def test_unification_is_symmetric_and_refines(a: list[str | None], b: list[str | None]) -> None:
    x, y = dims(*a), dims(*b)
    try:
        together = unify_names("add", x, y)
    except DimensionError:
        with pytest.raises(DimensionError):
            unify_names("add", y, x)
        return
    assert together == unify_names("add", y, x)
    for names in (a, b):
        for own, result in zip(reversed(names), reversed(together), strict=False):
            assert own is None or own == result
    given_names = [name for name in together if name]
    assert len(given_names) == len(set(given_names))


@pytest.mark.parametrize(
    ("names", "ndim", "error", "message"),
    [
        (("N", "N"), 2, DimensionError, "duplicate names: 'N' stands twice"),
        (("1N",), 1, DimensionError, "must contain alphabetical characters"),
        (("N",), 2, DimensionError, "Number of names (1) and number of dimensions in tensor (2)"),
        ("N", 1, TypeError, "write names=('N',)"),
        ((3,), 1, TypeError, "a dimension name is a string or None"),
        (("<b>",), 1, DimensionError, "not a valid dimension name"),
    ],
)
def test_bad_names(names: object, ndim: int, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        check_names(names, ndim)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_dims_are_found_by_name_and_position() -> None:
    x = dims("N", "C", "H")
    assert [dim_index(x, one) for one in ("H", -1, 0)] == [2, 2, 0]
    with pytest.raises(
        DimensionIndexError, match=r"Name 'h' not found in Tensor\['N', 'C', 'H'\]. Did you mean 'H'?"
    ):
        dim_index(x, "h")
    with pytest.raises(IndexError, match=r"expected to be in range of \[-3, 2\], but got 3"):
        dim_index(x, 3)


def test_near_miss_stays_silent_on_short_and_distant_names() -> None:
    assert near_miss("C", ["N", "H"]) is None
    assert near_miss("features", ["channels"]) is None
    assert near_miss("chanels", ["channels", "N"]) == "channels"

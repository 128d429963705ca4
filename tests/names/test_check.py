"""Annotations of tensors: what they accept, what they refuse, and in which words."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

import workbench as wb
from workbench import DimensionError, Tensor


@wb.names.check
def attend(
    query: Tensor["... T C"], key: Tensor["... S C"], mask: Tensor["T S", wb.bool] | None = None
) -> Tensor["... T S"]:
    scores = query @ key.transpose("S", "C")
    return scores if mask is None else scores.masked_fill(mask, 0.0)


def test_what_fits_passes_unchanged() -> None:
    query, key = wb.ones(N=2, T=3, C=4), wb.ones(N=2, S=5, C=4)
    assert attend(query, key).names == ("N", "T", "S")
    assert attend(query, key, mask=wb.zeros(T=3, S=5, dtype=wb.bool)).shape == (2, 3, 5)
    assert attend(wb.ones(3, 4), wb.ones(S=5, C=4)).names == (None, "S")
    assert attend.__name__ == "attend"


@pytest.mark.parametrize(
    ("call", "error", "words", "fix"),
    [
        (
            lambda: attend(wb.ones(C=4, T=3), wb.ones(S=5, C=4)),
            DimensionError,
            "attend: argument 'query' must be a Tensor[\"... T C\"]: dim 0 is called 'C', expected 'T'. "
            "The names are the same in another order.",
            "query.align_to(..., 'T', 'C')",
        ),
        (
            lambda: attend(wb.ones(time=3, C=4).rename(time="t"), wb.ones(S=5, C=4)),
            DimensionError,
            "dim 0 is called 't', expected 'T'. Is 't' a misspelling of 'T'?",
            "query.rename(t='T')",
        ),
        (
            lambda: attend(wb.ones(T=3, C=4), wb.ones(S=5, C=6)),
            DimensionError,
            "dim 'C' has size 6 in argument 'key' and 4 in argument 'query'; one name has one size in a call.",
            "",
        ),
        (
            lambda: attend(wb.ones(T=3, C=4), wb.ones(4)),
            DimensionError,
            "argument 'key' must be a Tensor[\"... S C\"] with at least 2 dims, and has 1.",
            "",
        ),
        (
            lambda: attend([1.0], wb.ones(4)),  # type: ignore[arg-type]
            TypeError,
            "attend: argument 'query' must be a Tensor[\"... T C\"], not list: [1.0]",
            "",
        ),
        (
            lambda: attend(wb.ones(T=3, C=4), wb.ones(S=5, C=4), wb.zeros(T=3, S=5)),
            wb.DTypeError,
            "argument 'mask' must be a Tensor[\"T S\", bool], and its values are float32. Cast it first: "
            "mask.to(wb.bool)",
            "",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_words(
    call: Any, error: type[Exception], words: str, fix: str
) -> None:
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)
    if fix:
        assert caught.value.fix == fix  # type: ignore[attr-defined]


def test_operands_are_marked() -> None:
    with pytest.raises(DimensionError) as caught:
        attend(wb.ones(T=3, C=4), wb.ones(S=5, C=6))
    assert [str(one) for one in caught.value.operands] == ["query[T:3, >C:4<]", "key[S:5, >C:6<]"]


@pytest.mark.parametrize(
    ("words", "good", "bad", "message"),
    [
        ("N C", wb.zeros(N=2, C=3), wb.zeros(N=2, K=3), "dim 1 is called 'K', expected 'C'"),
        ("N C", wb.zeros(2, 3), wb.zeros(2, 3, 4), "with 2 dims, and has 3"),
        ("N 3", wb.zeros(N=2, C=3), wb.zeros(N=2, C=4), "dim 1 has size 4, expected 3"),
        ("N C=3", wb.zeros(N=2, C=3), wb.zeros(N=2, C=4), "dim 'C' has size 4, expected 3"),
        ("N C=3", wb.zeros(2, 3), wb.zeros(N=2, K=3), "expected 'C'"),
        ("_ C", wb.zeros(N=2, C=3), wb.zeros(C=2, N=3), "dim 1 is called 'N', expected 'C'"),
        ("N ... C", wb.zeros(N=2, H=1, W=1, C=3), wb.zeros(N=2, H=1), "dim 1 is called 'H', expected 'C'"),
        ("N ...", wb.zeros(N=2), wb.zeros(C=2), "dim 0 is called 'C', expected 'N'"),
        ("...", wb.zeros(()), None, ""),
        ("", wb.zeros(()), wb.zeros(1), "with 0 dims, and has 1"),
        ("... C", wb.zeros(N=2, C=3), wb.zeros(C=2, N=3), "The names are the same in another order"),
        (
            "batch channels",
            wb.zeros(2, 3),
            wb.zeros(batch=2, chanels=3),
            "Is 'chanels' a misspelling of 'channels'?",
        ),
        ("_ C", wb.zeros(2, 3), wb.zeros(2, 3, names=("C", None)), "dim 0 is called 'C'"),
    ],
)
def test_words(words: str, good: Tensor, bad: Tensor | None, message: str) -> None:
    assert wb.names.check(good, words) is good
    if bad is not None:
        with pytest.raises(DimensionError) as caught:
            wb.names.check(bad, words)
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Tensor["N C-1"], DimensionError, "'C-1' is no word for a dim"),
        (lambda: Tensor["N N"], DimensionError, "duplicate names: 'N' stands twice"),
        (lambda: Tensor["... N ..."], DimensionError, "'...' stands more than once"),
        (lambda: Tensor["N", "C"], wb.DTypeError, "'C' is not a data type"),
        (lambda: Tensor[3], TypeError, 'as Tensor["N C"], not 3'),
        (lambda: wb.names.check(wb.ones(2)), TypeError, 'as check(x, "N C")'),
        (lambda: wb.names.check(3), TypeError, "check goes around a function or a method"),
    ],
)
def test_annotations_that_mean_nothing(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)


def test_strict_refuses_dims_without_names() -> None:
    @wb.names.check(strict=True)
    def rows(x: Tensor["N _"]) -> Tensor["N"]:
        return x.sum(1)

    assert rows(wb.ones(N=2, C=3)).tolist() == [3.0, 3.0]
    with pytest.raises(DimensionError) as caught:
        rows(wb.ones(2, 3))
    assert "dim 0 has no name, expected 'N'" in str(caught.value)
    assert caught.value.fix == "x.refine_names('N', None)"


def test_results_are_checked() -> None:
    @wb.names.check
    def mean(x: Tensor["N C"]) -> Tensor["N"]:
        return x.mean("N")

    with pytest.raises(DimensionError, match="the result must be a Tensor"):
        mean(wb.ones(N=2, C=3))


def test_annotations_inside_of_others() -> None:
    @wb.names.check
    def join(
        parts: list[Tensor["N"]],
        pair: tuple[Tensor["N"], Tensor["C"]],
        table: dict[str, Tensor["C"]] | None = None,
        *more: Tensor["N"],
        **named: Tensor["C"],
    ) -> tuple[Tensor["N"], ...]:
        return tuple(parts)

    n, c = wb.ones(N=2), wb.ones(C=3)
    join([n, n], (n, c), {"a": c}, n, n, extra=c)
    for call, place in (
        (lambda: join([n, c], (n, c)), "argument 'parts[1]'"),
        (lambda: join([n], (n, n)), "argument 'pair[1]'"),
        (lambda: join([n], (n, c), {"a": n}), "argument \"table['a']\""),
        (lambda: join([n], (n, c), None, n, c), "argument 'more[1]'"),
        (lambda: join([n], (n, c), extra=n), "argument 'extra'"),
        (
            lambda: join([n], (wb.ones(3), c)),
            "dim 'N' has size 3 in argument 'pair[0]' and 2 in argument 'parts[0]'",
        ),
    ):
        with pytest.raises(DimensionError) as caught:
            call()
        assert place in str(caught.value)


def test_methods_and_modules() -> None:
    class Net(wb.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = wb.nn.Linear(3, 4)

        @wb.names.check
        def forward(self, x: Tensor["N features"]) -> Tensor["N _"]:
            return self.layer(x)

        @staticmethod
        @wb.names.check
        def first(x: Tensor["N ..."]) -> Tensor:
            return x[0]

        @wb.names.check
        @classmethod
        def second(cls, x: Tensor["N ..."]) -> Tensor:
            return x[1]

    net = Net()
    x = wb.ones(N=2, features=3)
    assert net(x).shape == (2, 4)
    assert Net.first(x).shape == Net.second(x).shape == (3,)
    with pytest.raises(DimensionError, match="Is 'featurs' a misspelling of 'features'"):
        net(wb.ones(N=2, featurs=3))
    with pytest.raises(DimensionError, match="second: argument 'x'"):
        Net.second(wb.ones(M=2))
    assert net(x).sum().backward() is None
    graph = wb.graph.trace(net, wb.ones(N=2, features=3))
    assert graph(wb.ones(N=5, features=3)).shape == (5, 4)


def test_type_checkers_words_mean_the_same() -> None:
    @wb.names.check
    def double(x: Annotated[Tensor, "N C"]) -> Annotated[Tensor, "N C"]:
        return x * 2

    assert double(wb.ones(N=1, C=1)).names == ("N", "C")
    with pytest.raises(DimensionError, match="argument 'x'"):
        double(wb.ones(C=1, N=1))


@wb.names.check
def early(x: Words) -> Words:
    return x


Words = Tensor["N"]


def test_annotations_may_be_defined_later() -> None:
    assert early(wb.ones(N=1)).names == ("N",)
    with pytest.raises(DimensionError, match="argument 'x'"):
        early(wb.ones(M=1))


def test_annotations_that_cannot_be_read_are_told() -> None:
    @wb.names.check
    def lost(x: MissingTensor["N"]) -> None:  # type: ignore[name-defined]
        pass

    with pytest.raises(TypeError, match="of 'x' cannot be read: name 'MissingTensor' is not defined"):
        lost(wb.ones(N=1))


def test_a_function_without_annotations_is_left_alone() -> None:
    @wb.names.check
    def anything(x, y=None):  # type: ignore[no-untyped-def]
        return x

    assert anything(3) == 3


def test_unify() -> None:
    assert wb.names.unify() == ()
    assert wb.names.unify(wb.ones(N=2, C=3), wb.ones(C=3), (None, None)) == ("N", "C")
    with pytest.raises(DimensionError, match="Is 'chanels' a misspelling of 'channels'"):
        wb.names.unify(("N", "channels"), wb.ones(N=2, chanels=3))


def test_align_brings_all_to_one_order() -> None:
    a, b = wb.names.align(wb.ones(N=2, C=3), wb.ones(H=4, N=2))
    assert (a.names, a.shape, b.shape) == (("N", "C", "H"), (2, 3, 1), (2, 1, 4))
    assert b.names == a.names
    (c,) = wb.names.align(wb.ones(N=2), order=("B", "N"))
    assert c.shape == (1, 2)
    with pytest.raises(DimensionError, match="has no name to be aligned by"):
        wb.names.align(wb.ones(2))
    with pytest.raises(DimensionError, match="is 'chanels' a misspelling of 'channels'"):
        wb.names.align(wb.ones(channels=2), wb.ones(chanels=2))
    assert wb.names.align(wb.ones(head1=2), wb.ones(head2=2))[0].names == ("head1", "head2")
    assert wb.names.align(wb.ones(row=2), wb.ones(rows=2), order=("row", "rows"))[1].shape == (1, 2)
    with pytest.raises(DimensionError, match="Cannot find dim 'C'"):
        wb.names.align(wb.ones(C=2), order=("N",))

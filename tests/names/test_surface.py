"""Names given, changed, refined and used to put dims in order; results written into tensors that have names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench import DimensionError, DimensionIndexError, Tensor


def refused(call: Callable[[], Any], error: type[Exception] = DimensionError) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


# ------------------------------------------------------------------------------------------------ what a name is


@pytest.mark.parametrize("name", ["1N", "a b", "N-C", "", "N.C", "é"])
def test_a_name_is_an_identifier(name: str) -> None:
    for call in (
        lambda: wb.zeros(1, names=(name,)),
        lambda: wb.zeros(1).rename(name),
        lambda: wb.zeros(A=1).rename(A=name),
    ):
        assert "must contain alphabetical characters, digits and/or underscore" in refused(call)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: wb.zeros(2, 3, names=("N",)),
            DimensionError,
            "Number of names (1) and number of dimensions",
        ),
        (
            lambda: wb.zeros(2, 3, names=("N", "N")),
            DimensionError,
            "Cannot construct a tensor with duplicate names",
        ),
        (lambda: wb.zeros(2, 3, names="NC"), TypeError, "names must be a tuple of names, not the string"),
        (lambda: wb.zeros(2, names=(0,)), TypeError, "a dimension name is a string or None"),
        (lambda: wb.zeros(N=2, C=3).rename("N", "N"), DimensionError, "duplicate names"),
        (lambda: wb.zeros(N=2, C=3).rename(N="C"), DimensionError, "duplicate names"),
    ],
)
def test_bad_names_are_refused(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    assert message in refused(call, error)


def test_none_is_a_wildcard_and_may_repeat() -> None:
    x = wb.zeros(2, 3, 4, names=(None, "C", None))
    assert x.names == (None, "C", None)
    assert x.has_names()
    assert not wb.zeros(2, 3).has_names()
    assert not wb.zeros(2, 3, names=(None, None)).has_names()
    assert wb.zeros(2, 3).names == (None, None)


def test_there_are_at_most_64_dims() -> None:
    assert wb.ones(*[1] * 64).ndim == 64
    for call in (
        lambda: wb.ones(*[1] * 65),
        lambda: wb.ones(*[1] * 64)[None],
        lambda: wb.ones(*[1] * 64).unsqueeze(0),
    ):
        assert "only support up to 64 dims" in refused(call)


def test_names_are_assigned_in_place() -> None:
    x = wb.zeros(2, 3)
    x.names = ("N", "C")
    assert x.names == ("N", "C")
    x.names = None
    assert not x.has_names()
    assert "Number of names" in refused(lambda: setattr(x, "names", ("N",)))


# ------------------------------------------------------------------------------------------------------- rename


def test_rename() -> None:
    x = wb.zeros(N=2, C=3, H=4)
    assert x.rename("a", "b", "c").names == ("a", "b", "c")
    assert x.rename("a", ...).names == x.rename("a", "...").names == ("a", "C", "H")
    assert x.rename(..., "c").names == ("N", "C", "c")
    assert x.rename(N="C", C="N").names == ("C", "N", "H")
    assert x.rename(C=None).names == ("N", None, "H")
    assert x.rename(None).names == (None, None, None)
    assert wb.zeros(()).rename().names == ()
    assert x.rename(None).payload is x.payload
    assert x.rename_("a", ...) is x
    assert x.names == ("a", "C", "H")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x.rename("a", N="b"), "either positional args or keyword args, but not both"),
        (lambda x: x.rename(Q="b"), "rename: Tried to rename dim 'Q' to dim 'b'"),
        (lambda x: x.rename(chanel="b"), "does not exist. Did you mean 'channel'?"),
        (lambda x: x.rename(), "give the new names"),
        (lambda x: x.rename("a", ..., "b", ...), "More than one Ellipsis"),
        (lambda x: x.rename("a", "b", "c", ...), "3 names for 2 dims"),
    ],
)
def test_rename_refuses(call: Callable[[Tensor], Any], message: str) -> None:
    x = wb.zeros(N=2, channel=3)
    assert message in refused(lambda: call(x))
    assert x.names == ("N", "channel")


# ------------------------------------------------------------------------------------------------- refine_names


def test_refine_names() -> None:
    x = wb.zeros(2, 3, 4)
    y = x.refine_names("N", "C", "H")
    assert (y.names, x.names) == (("N", "C", "H"), (None, None, None))
    assert y.refine_names("N", "C", "H").names == ("N", "C", "H")
    assert x.refine_names(..., "C", "H").names == (None, "C", "H")
    assert x.refine_names("N", ..., "H").names == ("N", None, "H")
    assert y.refine_names("...").names == ("N", "C", "H")
    y.fill_(2)
    assert x.sum().item() == 48


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("M", "channel"), "because 'N' is different from 'M' at index 0"),
        (
            ("N", "chanel"),
            "because 'channel' is different from 'chanel' (is 'chanel' a misspelling?) at index 1",
        ),
        ((None, "channel"), "because 'N' is more specific than None at index 0"),
        (("N",), "different number of dims"),
        (("...", "N", "..."), "More than one Ellipsis"),
    ],
)
def test_refine_names_refuses(names: tuple[Any, ...], message: str) -> None:
    assert message in refused(lambda: wb.zeros(N=2, channel=3).refine_names(*names))


# ----------------------------------------------------------------------------------------------------- alignment


def test_align_to() -> None:
    x = wb.arange(24).reshape(2, 3, 4).rename("N", "C", "H")
    y = x.align_to("H", "N", "T", "C")
    assert (y.names, y.shape) == (("H", "N", "T", "C"), (4, 2, 1, 3))
    assert y[3, 1, 0, 2].item() == x[1, 2, 3].item()
    assert x.align_to("C", ...).names == ("C", "N", "H")
    assert x.align_to(..., "N").names == x.align_to("...", "N").names == ("C", "H", "N")
    assert x.align_to("C", ..., "N").names == ("C", "H", "N")
    assert x.align_to(...).names == x.names
    assert x.rename("N", None, "H").align_to("H", ...).names == ("H", "N", None)
    assert x.align_to("B", ...).shape == (1, 2, 3, 4)
    y.zero_()  # a view: memory is shared
    assert x.sum().item() == 0
    assert wb.zeros(()).align_to("N").names == ("N",)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ("N",),
            "align_to: Cannot find dim 'channel' from Tensor['N', 'channel'] in desired alignment ['N'].",
        ),
        (("N", "chanel"), "Is 'chanel' a misspelling?"),
        (("chanel", ...), "Is 'chanel' a misspelling of 'channel'?"),
        ((..., "N", ...), "align_to: More than one Ellipsis"),
        ((..., None), "the desired order of dimensions cannot contain a None name"),
        (("N", "N", "channel"), "duplicate names"),
        (("N", "channel", "1"), "not a valid dimension name"),
    ],
)
def test_align_to_refuses(names: tuple[Any, ...], message: str) -> None:
    assert message in refused(lambda: wb.zeros(N=2, channel=3).align_to(*names))


def test_align_to_wants_names_on_all_dims() -> None:
    x = wb.zeros(2, 3, names=("N", None))
    assert (
        "align_to: All input dims must be named. Found unnamed dim at index 1 of Tensor['N', None]."
        in refused(lambda: x.align_to("N", "C"))
    )


def test_align_as() -> None:
    x = wb.zeros(C=3, N=2)
    assert x.align_as(wb.zeros(N=1, H=1, C=1)).shape == (2, 1, 3)
    assert "Cannot find dim 'C'" in refused(lambda: x.align_as(wb.zeros(N=1)))


def test_align_tensors() -> None:
    x, y, z = wb.align_tensors(wb.zeros(N=2, C=3, H=4), wb.zeros(N=2, H=4), wb.zeros(C=3))
    assert (x.shape, y.shape, z.shape) == ((2, 3, 4), (2, 1, 4), (1, 3, 1))
    assert x.names == y.names == z.names == ("N", "C", "H")
    assert wb.align_tensors() == ()
    assert wb.align_tensors(x)[0].names == x.names
    a, b = wb.align_tensors(wb.zeros(2, 3, names=("N", None)), wb.zeros(3))
    assert (a.names, b.names, b.shape) == (("N", None), ("N", None), (1, 3))


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (("N", "C", "H"), ("H", "N"), "is not a subsequence of Tensor['N', 'C', 'H']"),
        (("N", "C"), ("K",), "Could not align Tensor['K']"),
        (
            (None, "C", "H"),
            (None, "H"),
            "would change the absolute position from the right of an unnamed dimension",
        ),
    ],
)
def test_align_tensors_refuses(first: tuple[Any, ...], second: tuple[Any, ...], message: str) -> None:
    x, y = (wb.zeros(*(2,) * len(names), names=names) for names in (first, second))
    assert message in refused(lambda: wb.align_tensors(x, y))


# --------------------------------------------------------------------------------------------- flatten, unflatten


def test_flatten_and_unflatten() -> None:
    x = wb.arange(120).reshape(2, 3, 4, 5).rename("N", "C", "H", "W")
    y = x.flatten(["C", "H", "W"], "features")
    assert (y.names, y.shape) == (("N", "features"), (2, 60))
    assert x.flatten("C", "W", "features").names == x.flatten(1, 3, "features").names == ("N", "features")
    assert x.transpose("N", "C").flatten(["N", "H"], "rows").shape == (3, 8, 5)
    back = y.unflatten("features", (("C", 3), ("H", 4), ("W", 5)))
    assert wb.equal(back, x)
    assert wb.equal(y.unflatten("features", OrderedDict(C=3, H=4, W=5)), x)
    assert y.unflatten(1, (("C", 3), ("rest", 20))).names == ("N", "C", "rest")
    assert wb.zeros(6).unflatten(0, (2, 3)).names == (None, None)
    assert wb.zeros(N=6).unflatten("N", [("A", -1), ("B", 3)]).shape == (2, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x.flatten(["N", "H"], "f"), "must be consecutive in Tensor['N', 'C', 'H']"),
        (lambda x: x.flatten([], "f"), "dims cannot be empty"),
        (lambda x: x.flatten(["N", "C"], "H"), "the name 'H' for the flattened dim is taken already"),
        (lambda x: x.flatten(["N", "K"], "f"), "Name 'K' not found"),
        (lambda x: x.unflatten("C", (("A", 2), ("B", 2))), "don't multiply up to"),
        (lambda x: x.unflatten("C", ()), "non-empty"),
        (lambda x: x.unflatten("K", (("A", 3),)), "Name 'K' not found"),
    ],
)
def test_flatten_and_unflatten_refuse(call: Callable[[Tensor], Any], message: str) -> None:
    assert message in refused(lambda: call(wb.zeros(N=2, C=3, H=4)))


# ------------------------------------------------------------------------------------------------- dims by name


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum("Q"),
        lambda x: x.mean(["N", "Q"]),
        lambda x: x.softmax("Q"),
        lambda x: x.transpose("N", "Q"),
        lambda x: x.select("Q", 0),
        lambda x: wb.cat([x, x], "Q"),
        lambda x: x.size("Q"),
    ],
)
def test_a_dim_that_is_not_there(call: Callable[[Tensor], Any]) -> None:
    assert "Name 'Q' not found in Tensor['N', 'C']." in refused(
        lambda: call(wb.ones(N=2, C=3)), DimensionIndexError
    )


def test_none_in_a_list_of_dims() -> None:
    message = refused(lambda: wb.ones(N=2, C=3).sum(["N", None]))
    assert "Please look up dimensions by name, got: name = None." in message


def test_a_dim_named_twice() -> None:
    assert "names a dimension twice" in refused(lambda: wb.ones(N=2, C=3).sum(["N", 0]))


# ------------------------------------------------------------------------------------------- out=, and in place


def test_out_without_names_takes_those_of_the_result() -> None:
    x = wb.ones(N=2, C=3)
    out = wb.empty(2, 3)
    assert wb.add(x, x, out=out) is out
    assert out.names == ("N", "C")
    wb.exp(wb.ones(2, 3), out=out.rename_(None))
    assert out.names == (None, None)
    total = wb.empty(2)
    wb.sum(x, "C", out=total)
    assert total.names == ("N",)
    values, indices = wb.empty(2), wb.empty(2, dtype=wb.int64)
    wb.sort(wb.ones(N=2), out=(values, indices))
    assert values.names == indices.names == ("N",)


@pytest.mark.parametrize("names", [("N", "K"), (None, "C"), ("C", "N")])
def test_out_with_other_names_is_refused_before_anything_is_written(names: tuple[str | None, ...]) -> None:
    x = wb.ones(N=3, C=3)
    out = wb.zeros(3, 3, names=names)
    message = refused(lambda: wb.add(x, x, out=out))
    assert (
        f"specified out tensor with names {list(names)} are not the same as the computed output names"
        in message
    )
    assert "Please rename the out tensor's dims with `Tensor.rename`." in message
    assert out.sum().item() == 0
    named = wb.zeros(N=3, C=3)
    assert "Name mismatch" in refused(lambda: wb.exp(wb.ones(3, 3), out=named))


def test_in_place_results_put_their_names_on_the_tensor() -> None:
    x = wb.ones(2, 3)
    x += wb.ones(N=2, C=3)
    assert x.names == ("N", "C")
    y = wb.ones(2, 3, names=("N", None))
    y.mul_(wb.ones(C=3))
    assert y.names == ("N", "C")
    y.sub_(wb.ones(3))
    assert y.names == ("N", "C")
    z = wb.zeros(2, 3)
    z.copy_(wb.ones(N=2, C=3))
    assert z.names == ("N", "C")
    z.copy_(wb.ones(C=3))
    assert z.names == ("N", "C")
    z.zero_().fill_(2).exp_().clamp_(0, 1)
    assert z.names == ("N", "C")


def test_in_place_ops_refuse_other_names_and_change_nothing() -> None:
    x = wb.ones(N=3, C=3)
    for call in (
        lambda: x.add_(wb.ones(N=3, K=3)),
        lambda: x.mul_(wb.ones(C=3, N=3)),
        lambda: x.copy_(wb.zeros(N=3, K=3)),
        lambda: x.masked_fill_(wb.ones(K=3) > 0, 0.0),
        lambda: x.__iadd__(wb.ones(K=3)),
    ):
        assert "do not match" in refused(call)
        assert x.sum().item() == 9
        assert x.names == ("N", "C")

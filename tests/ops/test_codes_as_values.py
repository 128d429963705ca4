"""Codes where any tensor may stand: views of codes of few bits, shared places, questions, refusals that say the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.ops.quantized.scalars import QUANTIZED_ADD_SCALAR

X = wb.tensor([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]])


def codes(dtype: Any = wb.quint8) -> Any:
    return wb.quantize_per_tensor(X, 1.0, 0, dtype)


def by_rows() -> Any:
    return wb.quantize_per_channel(X, [0.5, 1.0], [0, 0], 0, wb.quint8)


LOOKS: dict[str, Callable[[Any], Any]] = {
    "a row": lambda x: x[1], "turned": lambda x: x.t(), "backwards": lambda x: x[:, ::2], "flat": lambda x: x.view(-1),
    "a part of a part": lambda x: x.t()[1:][:, 1], "with another dim": lambda x: x.unsqueeze(0),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [wb.quint8, wb.quint4x2, wb.quint2x4], ids=str)
@pytest.mark.parametrize("look", LOOKS)
def test_views_see_what_is_written_and_write_what_is_seen(look: str, dtype: Any) -> None:
    q, x = codes(dtype), X.clone()
    seen, numbers = LOOKS[look](q), LOOKS[look](x)
    q[0, 1], x[0, 1] = 2.0, 2.0
    assert seen.dequantize().tolist() == numbers.tolist()
    seen.fill_(1.0)
    numbers.fill_(1.0)
    assert q.dequantize().tolist() == x.tolist()
    # A copy is its own, and the bytes of a part are those of its codes.
    kept = seen.clone()
    q.zero_()
    assert kept.dequantize().tolist() == numbers.tolist() and not seen.dequantize().any()
    assert kept.payload.copy().codes.tolist() == kept.payload.codes.tolist()


def test_a_part_of_codes_of_few_bits_has_bytes_of_its_own() -> None:
    q = codes(wb.quint4x2)
    assert q[1].int_repr().tolist() == [0x20, 0] and q.t()[2].int_repr().tolist() == [3]


@pytest.mark.parametrize("dtype", [wb.quint8, wb.quint4x2], ids=str)
def test_places_that_codes_share_are_written_once(dtype: Any) -> None:
    q = codes(dtype)
    wide = q[0].expand(4, 3)
    words = "more than one element of the written-to tensor refers to a single memory location. Please clone"
    for act in (
        lambda: wide.copy_(wb.arange(12.0).reshape(4, 3)), lambda: wide.clamp_(0, 1), lambda: wide.relu_(),
        lambda: wide.__setitem__(0, wb.zeros(3)),
    ):  # fmt: skip
        with pytest.raises(wb.DimensionError, match=words):
            act()
    assert q.dequantize().tolist() == X.tolist()
    # All of them are one number.
    wide.fill_(2.0)
    assert q[0].dequantize().tolist() == [2.0, 2.0, 2.0]


def test_a_view_of_codes_never_copies() -> None:
    for x in (codes(), X):
        with pytest.raises(wb.DimensionError, match=r"view size is not compatible.*\n.*\n.*reshape\(6\)"):
            x.t().view(-1)
        with pytest.raises(wb.DimensionError, match="view size is not compatible"):
            x.expand(2, 2, 3).view(-1)
        assert x.t().reshape(-1).shape == (6,)


def test_numbers_put_among_channels_are_rounded_to_the_codes_of_each() -> None:
    q, mask = by_rows(), X == 0
    assert q.clamp(0.6, 2.2).dequantize().tolist() == [[1.0, 0.5, 2.0], [1.0, 2.0, 1.0]]
    assert q.masked_fill(mask, 0.6).dequantize().tolist() == [[1.0, 0.5, 3.0], [1.0, 2.0, 1.0]]
    q.masked_fill_(mask, 2.3)
    assert q.dequantize().tolist() == [[1.0, 2.5, 3.0], [2.0, 2.0, 2.0]]
    groups = wb.quantize_per_group(X, [[0.5, 1.0], [1.0, 0.5]], [[0, 0], [0, 0]], 2, wb.quint8)
    assert groups.clamp(max=1.4).dequantize().tolist() == [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]


def test_numbers_are_put_at_places_of_codes() -> None:
    for q in (codes(), by_rows()):
        q.index_put_((X == 0,), wb.tensor(2.0))
        assert q.dequantize().tolist() == [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]]
    with pytest.raises(
        wb.DTypeError, match=r"dtypes match, got workbench\.quint8 .* Cast the values: values\.float\(\)"
    ):
        codes().index_put_((X == 0,), wb.tensor(2))


def test_what_codes_stand_for_is_asked() -> None:
    q = codes()
    wanted = [[0, 0], [0, 2], [1, 1]]
    assert q.nonzero().tolist() == wb.argwhere(q).tolist() == wanted
    assert [one.tolist() for one in q.nonzero(as_tuple=True)] == [
        list(one) for one in zip(*wanted, strict=True)
    ]
    assert [one.tolist() for one in wb.where(q)] == [[0, 0, 1], [0, 2, 1]]
    assert bool(q[0, 0]) and not q[0, 1]
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with 6 values is ambiguous"):
        bool(q)
    # One code has no dims.
    taken = q.take(wb.tensor(2))
    assert (taken.shape, taken.item(), taken.is_quantized) == ((), 3.0, True)


def test_codes_that_are_there_more_than_once_are_kept_in_files(tmp_path: Path) -> None:
    for q in (
        codes()[0].expand(4, 3),
        codes(wb.qint32).unfold(1, 2, 1),
        by_rows().unsqueeze(0).expand(2, 2, 3),
    ):
        wb.save({"q": q}, tmp_path / "q.pt")
        found = wb.load(tmp_path / "q.pt")["q"]
        assert found.equal(q) and found.qscheme() is q.qscheme()


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda q: wb.allclose(q, q), r"isclose is not supported for quantized inputs: call \.dequantize\(\) on what"),
        (lambda q: wb.isclose(q, X), r"isclose is not supported for quantized inputs.*equal\(\) compares codes with"),
        (lambda q: q.resize_(3), r"resize_\(\): the memory of codes is not laid out anew: reshape\(\) or clone\(\)"),
        (lambda q: q.set_(), r"set_\(\): the memory of codes is not laid out anew: .* or call \.dequantize\(\) first"),
        (lambda q: q.to_sparse(), r"codes are not kept by their places: call \.dequantize\(\)\.to_sparse\(\)"),
        (lambda q: q.matrix_power(0), r"has numbers, and not codes, workbench\.quint8: call \.dequantize\(\) first"),
        (lambda q: q.addcmul(X > 0, q), r"quint8 and bool have no type in common: call \.dequantize\(\) on what is in"),
        (lambda q: wb.result_type(q, 1), r"quint8 are codes, which have no type in common .* \.dequantize\(\) first"),
        (lambda q: wb.promote_types(wb.float32, wb.quint8), "float32 and quint8 have no type in common"),
        (lambda q: q.eq_(q), "eq_: Quantized copy only works with kFloat .*, got bool: try the same without the _, or"),
        (lambda q: q.pinverse(), r"of float, double, cfloat or cdouble types: try A\.dequantize\(\)"),
    ],
)  # fmt: skip
def test_what_is_refused_says_the_way(act: Callable[[Any], Any], message: str) -> None:
    q = codes()[:, :2]
    with pytest.raises((wb.DTypeError, wb.DimensionError), match=message):
        act(q)
    assert q.dequantize().tolist() == X[:, :2].tolist()


def test_a_number_added_says_that_its_result_has_a_scale_of_its_own() -> None:
    q = codes()
    moved = QUANTIZED_ADD_SCALAR(q, value=-2.0, relu=False)
    assert (moved.q_scale(), moved.q_zero_point()) == (1.0, 2)
    assert QUANTIZED_ADD_SCALAR.quantized.travels == "own"  # type: ignore[union-attr]
    assert np.array_equal(moved.int_repr().numpy(), q.int_repr().numpy())

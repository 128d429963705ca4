"""Shapes beyond what the table's own samples show: memory, names, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
import workbench.nn.functional as F


@pytest.mark.parametrize(
    "name", ["flip", "roll", "repeat", "rot90", "tile", "diag", "permute_copy", "view_copy"]
)
def test_copies_leave_their_input_alone(name: str) -> None:
    arguments = {
        "flip": (0,), "roll": (0, 0), "repeat": (1, 1), "rot90": (0,), "tile": (1, 1), "diag": (),
        "permute_copy": ((0, 1),), "view_copy": ((4,),),
    }  # fmt: skip
    x = wb.ones(2, 2)
    function = getattr(wb, name, None) or getattr(wb.Tensor, name)
    function(x, *arguments[name]).fill_(0.0)
    assert x.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_activations_of_convolutions_can_be_viewed() -> None:
    x = F.relu(F.conv2d(wb.randn(2, 3, 8, 8), wb.randn(4, 3, 3, 3)))
    flat = F.max_pool2d(x, 2).view(2, -1)
    np.testing.assert_array_equal(flat.numpy(), F.max_pool2d(x, 2).flatten(1).numpy())
    assert x[0].view(-1).shape == (144,)


def test_view_reads_bits_anew() -> None:
    x = wb.tensor([[1.0, 2.0]], names=("N", "C"))
    assert x.view(wb.int32).tolist() == [[0x3F800000, 0x40000000]]
    assert x.view(wb.uint8).shape == (1, 8)
    assert x.view(dtype=wb.complex64).tolist() == [[1 + 2j]]
    assert x.view(wb.int32).names == ("N", "C")
    with pytest.raises(wb.DTypeError, match="divisible by 2"):
        wb.zeros(3).view(wb.float64)
    with pytest.raises(wb.DTypeError, match="cannot be 0"):
        wb.tensor(1.0).view(wb.float64)
    with pytest.raises(wb.DTypeError, match=r"stride\(-1\) must be 1"):
        wb.zeros(2, 2).t().view(wb.float64)


def test_names_survive() -> None:
    x = wb.zeros(N=2, C=3, T=4)
    assert x.permute("T", "N", "C").names == ("T", "N", "C")
    assert x.movedim("T", 0).names == ("T", "N", "C")
    assert x.swapdims("N", "T").names == ("T", "C", "N")
    assert x.mT.names == ("N", "T", "C")
    assert x.unsqueeze(1, "H").names == ("N", "H", "C", "T")
    assert x.diagonal(0, "C", "T").names == ("N", None)
    assert x.diagonal(0, "C", "T", outdim="D").names == ("N", "D")
    assert x.repeat(2, 1, 1, 1).names == (None, "N", "C", "T")
    assert x.tile(2).names == ("N", "C", "T")
    assert x.roll(1).names == ("N", "C", "T")
    assert x.roll((1, 1), ("N", "T")).names == ("N", "C", "T")
    assert x.rot90(1, ("C", "T")).names == ("N", "T", "C")
    assert x.flip("N", "T").names == ("N", "C", "T")
    assert x.tril().names == ("N", "C", "T")
    assert x.unfold("T", 2, 1).names == ("N", "C", "T", None)
    assert [one.names for one in x.split(2, "T")] == [("N", "C", "T")] * 2
    assert [one.names for one in x.unbind("C")] == [("N", "T")] * 3
    assert x.narrow("T", 1, 2).names == ("N", "C", "T")
    assert F.pad(x, (1, 1), mode="replicate").names == ("N", "C", "T")
    assert wb.cat([x, x.rename(None)], "C").names == ("N", "C", "T")
    assert wb.stack([x, x], 1, "S").names == ("N", "S", "C", "T")
    assert wb.broadcast_to(x, (5, 2, 3, 4)).names == (None, "N", "C", "T")
    assert wb.diag_embed(x).names == ("N", "C", None, None)
    assert [one.names for one in wb.meshgrid(wb.arange(2).rename("A"), wb.arange(3).rename("B"))] == [
        ("A", "B")
    ] * 2
    with pytest.raises(wb.DimensionError, match="taken already"):
        x.unsqueeze(0, "C")


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda x: x.permute(0, 1), wb.DimensionError, "must name each"),
    (lambda x: x.unsqueeze(5), wb.DimensionIndexError, r"range of \[-4, 3\]"),
    (lambda x: x.reshape(5, -1), wb.DimensionError, "invalid for input of size 24"),
    (lambda x: x[:0].reshape(-1, 0), wb.DimensionError, "ambiguous"),
    (lambda x: x.movedim((0, 0), (1, 2)), wb.DimensionError, "repeated dim in `source`"),
    (lambda x: x.movedim((0, 1), 1), wb.DimensionError, "same number of"),
    (lambda x: x.roll((1, 2), 0), wb.DimensionError, "must align"),
    (lambda x: x.rot90(1, (0, 0)), wb.DimensionError, "to be different"),
    (lambda x: x[0, 0].mT, wb.DimensionError, "batches of matrices"),
    (lambda x: x.H, wb.DimensionError, "only supported on matrices"),
    (lambda x: x.repeat(2, 2), wb.DimensionError, "can not be smaller"),
    (lambda x: x.expand(-1, 2, 3, 4), wb.DimensionError, "leading, non-existing"),
    (lambda x: x.split(-1), wb.DimensionError, "non-negative"),
    (lambda x: x.split([1, 2]), wb.DimensionError, "sum exactly to 2"),
    (lambda x: x.chunk(0), wb.DimensionError, "greater than 0"),
    (lambda x: x.tensor_split(0), wb.DimensionError, "larger than 0"),
    (lambda x: x.hsplit(2), wb.DimensionError, "not divisible"),
    (lambda x: x.narrow(0, 1, 2), wb.DimensionError, "exceeds dimension size"),
    (lambda x: x.narrow(0, 9, 0), wb.DimensionIndexError, "start out of range"),
    (lambda x: x.select(0, 2), wb.DimensionIndexError, "out of range for tensor of size"),
    (lambda x: wb.select_scatter(x, wb.ones(3), 0, 0), wb.DimensionError, "src to have a size"),
    (lambda x: x.diagonal(0, 1, 1), wb.DimensionError, "cannot be identical"),
    (lambda x: wb.diag(x), wb.DimensionError, "1D or 2D"),
    (lambda x: wb.trace(x), wb.DimensionError, "expected a matrix"),
    (lambda x: wb.tril(x[0, 0]), wb.DimensionError, "at least 2"),
    (lambda x: x.unfold(0, 3, 1), wb.DimensionError, "is 2 but size is 3"),
    (lambda x: wb.cat([]), wb.DimensionError, "non-empty"),
    (lambda x: wb.cat([x[0, 0, 0]]), wb.DimensionError, "zero-dimensional"),
    (lambda x: wb.cat(x), TypeError, "must be tuple of Tensors"),
    (lambda x: wb.stack([x, x[0]]), wb.DimensionError, "equal size"),
    (lambda x: wb.meshgrid(x), wb.DimensionError, "0D or 1D"),
    (lambda x: wb.cartesian_prod(x), wb.DimensionError, "1D vector"),
    (lambda x: wb.block_diag(x), wb.DimensionError, "2 or fewer"),
    (lambda x: wb.broadcast_shapes((2,), (3,)), wb.DimensionError, "cannot be broadcast"),
    (lambda x: F.pad(x, (4, 0), mode="reflect"), wb.DimensionError, "less than the corresponding"),
    (lambda x: F.pad(x, (5, 0), mode="circular"), wb.DimensionError, "more than once"),
    (lambda x: F.pad(x, (1, 1), mode="mirror"), ValueError, "Unrecognised padding mode mirror"),
    (lambda x: F.pad(x, (1, 1, 1)), wb.DimensionError, "even"),
    (lambda x: F.pad(x, (1, 1), mode="reflect", value=1.0), ValueError, "take in value"),
    (lambda x: F.pad(x, (-3, -3)), wb.DimensionError, "negative output"),
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED, ids=[words for *_, words in REFUSED])
def test_refusals(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(wb.zeros(2, 3, 4))


def test_keywords_are_those_of_torch() -> None:
    x = wb.zeros(2, 3)
    assert wb.reshape(input=x, shape=(3, 2)).shape == (3, 2)
    assert wb.permute(input=x, dims=(1, 0)).shape == (3, 2)
    assert wb.flip(input=x, dims=(0,)).shape == (2, 3)
    assert wb.tile(x, dims=(2,)).shape == (2, 6)
    assert wb.split(tensor=x, split_size_or_sections=1, dim=0)[0].shape == (1, 3)
    assert wb.cat(tensors=(x, x), dim=1).shape == (2, 6)
    assert wb.broadcast_to(x, size=(4, 2, 3)).shape == (4, 2, 3)
    assert wb.tensor_split(x, indices_or_sections=2, dim=1)[0].shape == (2, 2)


@pytest.mark.parametrize("dtype", [wb.bool, wb.int8, wb.float16, wb.bfloat16, wb.complex64])
def test_any_type_moves(dtype: Any) -> None:
    x = wb.tensor([[1, 0, 2], [0, 3, 4]]).to(dtype)
    results = [
        x.t(), x.flip(0), x.roll(1), x.tril(), x.diagonal(), wb.diag_embed(x), x.unfold(1, 2, 1), x.repeat(2, 2),
        x.as_strided((2, 2), (1, 2)), wb.cat([x, x]), wb.pad(x, (1, 1)), x[[0, 1], [1, 2]], x.rot90(),
        wb.diagonal_scatter(x, x[0, :2]), x.gather(1, wb.tensor([[0]])), x.masked_select(wb.tensor(True)),
        x.take(wb.tensor([0])),
    ]  # fmt: skip
    assert all(one.dtype is dtype for one in results)

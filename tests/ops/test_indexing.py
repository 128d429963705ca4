"""Indexing beyond what the table's own samples show: against PyTorch, names, views, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.graph import trace
from workbench.ops.index.indexing import setitem


def test_names_of_kept_dims_and_of_indices() -> None:
    x = wb.zeros(N=4, C=3, T=5)
    assert x[0].names == ("C", "T")
    assert x[:, None, 1].names == ("N", None, "T")
    assert x[..., [0, 2]].names == ("N", "C", "T")
    assert x[:, [[0, 1]]].names == ("N", None, None, "T")
    assert x[:, wb.tensor([[0, 1]], names=("B", "K"))].names == ("N", "B", "K", "T")
    rows, columns = wb.tensor([0, 1], names=("B",)), wb.tensor([2, 0])
    assert x[rows, columns].names == ("B", "T")
    assert x[rows, :, columns].names == ("B", "C")
    assert x[x[:, 0, 0] == 0].names == ("N", "C", "T")
    assert x[wb.zeros(N=4, C=3) == 0].names == (None, "T")
    with pytest.raises(wb.DimensionError, match="two dims called 'C'"):
        x[wb.tensor([0], names=("C",))]


def test_basic_indexing_shares_memory_and_picking_does_not() -> None:
    x = wb.zeros(4, 3)
    x[1, 2].fill_(5.0)
    x[1:, 0].fill_(7.0)
    assert x[1].tolist() == [7.0, 0.0, 5.0]
    x[[0, 1]].fill_(9.0)
    assert x[0].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_arrays_of_numpy_are_numbers_of_entries_in_every_width(dtype: str) -> None:
    x, index = wb.tensor([[1, 2], [3, 4], [5, 6]]), np.array([2, 0], dtype)
    assert x[index].tolist() == [[5, 6], [1, 2]]
    assert x[index, index[1:]].tolist() == [5, 1]
    assert x[index[0]].tolist() == x[np.array(2, dtype)].tolist() == [5, 6]
    x[index] = 0
    assert x.tolist() == [[0, 0], [3, 4], [0, 0]]
    with pytest.raises(IndexError, match="out of bounds"):
        x[np.array([np.iinfo(dtype).max], dtype)]


@pytest.mark.parametrize("dtype", [wb.int8, wb.int16])
def test_tensors_of_narrow_integers_are_no_indices(dtype: wb.dtype) -> None:
    with pytest.raises(wb.DTypeError, match=r"of 32 bits or more, got int(8|16). Cast them: index.long\(\)"):
        wb.zeros(3)[wb.tensor([2, 0], dtype=dtype)]


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (4, r"index 4 is out of bounds for dimension 0 \('N'\) with size 4"),
        ((slice(None), [0, 3]), "index 3 is out of bounds for dimension 1"),
        ((0, 0, 0), "too many indices for tensor of dimension 2: got 3"),
        ((..., ...), "single ellipsis"),
        ((np.ones(3, bool),), r"shape of the mask \[3\] at index 0 does not match"),
        (([0, 1], [0, 1, 2]), "could not be broadcast together"),
    ],
)
def test_refusals(key: Any, words: str) -> None:
    with pytest.raises(wb.DimensionIndexError, match=words):
        wb.zeros(N=4, C=3)[key]


def test_indices_are_whole_numbers() -> None:
    with pytest.raises(wb.DTypeError, match="must be integer or bool"):
        wb.zeros(3)[wb.tensor([0.0])]


def test_indices_are_inputs_of_a_graph() -> None:
    graph = trace(lambda x, i: x[i, 0], wb.zeros(4, 3), wb.tensor([0, 2]))
    x = wb.randn(4, 3)
    assert graph(x, wb.tensor([3, 1])).tolist() == [x[3, 0].item(), x[1, 0].item()]


def test_writing_casts_and_drops_leading_ones() -> None:
    x = setitem(wb.zeros(2, 3), 0, wb.tensor([[[1, 2, 3]]]))
    assert x.dtype is wb.float32
    assert x.tolist() == [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]
    assert setitem(wb.zeros(2, 3, names=("N", "C")), 0, 1.0).names == ("N", "C")
    with pytest.raises(wb.DimensionError, match="must match the size"):
        setitem(wb.zeros(2, 3), 0, wb.ones(2))
    with pytest.raises(wb.DimensionError, match="do not match"):
        setitem(wb.zeros(N=2, C=3), 0, wb.ones(T=3))


def test_index_put_adds_every_value() -> None:
    index = (wb.tensor([0, 0, 1]), None)
    assert wb.zeros(2, 2).index_put(index, wb.ones(3, 2), accumulate=True).tolist() == [
        [2.0, 2.0],
        [1.0, 1.0],
    ]
    with pytest.raises(wb.DTypeError, match="source and destination dtypes match"):
        wb.zeros(2, 2).index_put(index, wb.ones(3, 2, dtype=wb.float64))


@pytest.mark.parametrize("dtype", [wb.int64, wb.bool, wb.float16, wb.complex64])
def test_adding_at_indices_keeps_the_type(dtype: Any) -> None:
    x = wb.zeros(3, 2).to(dtype).index_add(0, wb.tensor([1, 1]), wb.ones(2, 2).to(dtype))
    assert x.dtype is dtype
    assert complex(x[1, 0].item()) == (True if dtype is wb.bool else 2)


def test_entries_of_a_dim_by_name() -> None:
    x, index = wb.zeros(N=4, C=3), wb.tensor([2, 0])
    assert x.index_select("C", index).names == ("N", "C")
    assert x.index_fill("C", index, 1.0).sum("C").tolist() == [2.0] * 4
    assert x.index_copy("N", index, wb.ones(2, 3)).names == ("N", "C")
    assert x.gather("C", wb.tensor([[0, 1]])).names == ("N", "C")
    assert x.scatter("C", wb.tensor([[1]]), 2.0).names == ("N", "C")
    assert x.take(wb.tensor([[0]], names=("A", "B"))).names == ("A", "B")
    with pytest.raises(wb.DimensionIndexError, match="counts from 0"):
        x.index_select("C", wb.tensor([-1]))


def test_scatter_combines() -> None:
    index = wb.tensor([0, 0, 2])
    source = wb.tensor([2.0, 3.0, 4.0], requires_grad=True)
    product = wb.full((3,), 5.0).scatter(0, index, source, reduce="multiply")
    assert product.tolist() == [30.0, 5.0, 20.0]
    product.sum().backward()
    assert source.grad.tolist() == [15.0, 10.0, 5.0]
    assert wb.zeros(3).scatter(0, index, 1.5, reduce="add").tolist() == [3.0, 0.0, 1.5]
    with pytest.raises(wb.DimensionError, match="either add or multiply"):
        wb.zeros(3).scatter(0, index, 1.0, reduce="mean")
    with pytest.raises(TypeError, match="src, a tensor, or value"):
        wb.zeros(3).scatter(0, index)


def test_masks() -> None:
    x = wb.tensor([[1.0, 2.0], [3.0, 4.0]], names=("N", "C"), requires_grad=True)
    mask = wb.tensor([True, False])
    chosen = x.masked_select(mask)
    assert (chosen.names, chosen.tolist()) == ((None,), [1.0, 3.0])
    chosen.sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0], [1.0, 0.0]]
    assert x.masked_scatter(mask, wb.tensor([7.0, 8.0, 9.0])).names == ("N", "C")
    with pytest.raises(wb.DimensionError, match="source has 1 values and the mask asks for 2"):
        x.masked_scatter(mask, wb.tensor([7.0]))
    with pytest.raises(wb.DTypeError, match="BoolTensor"):
        x.masked_select(wb.tensor([1, 0]))


NARROW = [
    ("gather", "int32/int64", wb.uint8, lambda x, i: x.gather(0, i)),
    ("scatter", "int32/int64", wb.uint8, lambda x, i: x.scatter(0, i, 1.0)),
    ("scatter", "int32/int64", wb.bool, lambda x, i: x.scatter(0, i, x, reduce="multiply")),
    ("scatter_add", "int32/int64", wb.int8, lambda x, i: x.scatter_add(0, i, x)),
    ("scatter_reduce", "int32/int64", wb.int16, lambda x, i: x.scatter_reduce(0, i, x, "sum")),
    ("take_along_dim", "int64", wb.int32, lambda x, i: wb.take_along_dim(x, i, 0)),
    ("take_along_dim", "int32/int64", wb.uint8, wb.take_along_dim),
    ("take", "int64", wb.int32, lambda x, i: x.take(i)),
    ("put", "int64", wb.int32, lambda x, i: x.put(i, x)),
    ("index_select", "int32/int64", wb.uint8, lambda x, i: x.index_select(0, i)),
    ("index_copy", "int64", wb.int32, lambda x, i: x.index_copy(0, i, x)),
    ("index_fill", "int64", wb.int32, lambda x, i: x.index_fill(0, i, 1.0)),
    ("index_add", "int32/int64", wb.int16, lambda x, i: x.index_add(0, i, x)),
    ("index_reduce", "int32/int64", wb.uint8, lambda x, i: x.index_reduce(0, i, x, "prod")),
    ("one_hot", "int64", wb.int32, lambda x, i: wb.one_hot(i)),
    ("repeat_interleave", "int32/int64", wb.uint8, lambda x, i: x.repeat_interleave(i)),
    ("tensor_split", "int64", wb.int32, lambda x, i: x.tensor_split(i)),
]


@pytest.mark.parametrize(
    ("op", "types", "dtype", "call"), NARROW, ids=[f"{one[0]}-{one[2].name}" for one in NARROW]
)
def test_indices_of_other_types_are_refused(op: str, types: str, dtype: wb.dtype, call: Any) -> None:
    index = wb.tensor([1, 0, 1]).to(dtype)
    words = rf"{op}\(\): Expected dtype {types} for \w+, got {dtype.name}. Cast it: \w+.long\(\)"
    with pytest.raises(wb.DTypeError, match=words):
        call(wb.ones(3), index)
    call(wb.ones(3), index.long())


CODES = [
    ("getitem", lambda x, i: x[i]),
    ("ctc_loss", lambda x, i: wb.nn.functional.ctc_loss(wb.rand(3, 1, 2).log(), i.reshape(1, 3), (3,), (1,))),
    ("unravel_index", lambda x, i: wb.unravel_index(i, (3,))),
    ("pack_padded_sequence", lambda x, i: wb.nn.utils.rnn.pack_padded_sequence(wb.ones(1, 3), i)),
    *((one[0], one[3]) for one in NARROW),
]


@pytest.mark.parametrize(("op", "call"), CODES, ids=[f"{one[0]}-{i}" for i, one in enumerate(CODES)])
def test_codes_are_no_indices(op: str, call: Any) -> None:
    codes = wb.quantize_per_tensor(wb.tensor([1.0, 0.0, 1.0]), 1.0, 0, wb.quint8)
    words = r"quint8\. Cast (it|them): (\w+)\.int_repr\(\)\.long\(\) for the codes, or \2\.dequantize\(\)\.long\(\) "
    with pytest.raises(wb.DTypeError, match=words):
        call(wb.ones(3), codes)

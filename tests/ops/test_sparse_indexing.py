"""What is taken out of sparse tensors and what changes them in place: as of dense ones, and sparse again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb

PLACES = [[0, 1, 1, 2, 1], [2, 0, 2, 1, 0]]
VALUES = [3.0, 4.0, 5.0, 6.0, -1.0]


def coo() -> wb.Tensor:
    """A matrix one place of which stands there twice."""
    return wb.sparse_coo_tensor(PLACES, VALUES, (4, 3))


def blocks() -> wb.Tensor:
    """The same rows, with columns that are dense."""
    return wb.sparse_coo_tensor([[0, 2, 2]], [[1.0, 2, 3], [4, 5, 6], [7, 8, 9]], (4, 3))


KINDS: dict[str, Callable[[], wb.Tensor]] = {
    "coo": coo,
    "csr": lambda: coo().to_sparse_csr(),
    "blocks": blocks,
}
TAKEN: dict[str, Callable[[Any], Any]] = {
    "row": lambda s: s[1],
    "last": lambda s: s[-1],
    "empty row": lambda s: s[3],
    "column": lambda s: s[:, 0],
    "after": lambda s: s[..., 2],
    "slice": lambda s: s[1:3],
    "steps": lambda s: s[::2, 1:],
    "none": lambda s: s[3:1],
    "select": lambda s: s.select(1, 1),
    "narrow": lambda s: s.narrow(0, 1, 2),
    "rows": lambda s: s.index_select(0, wb.tensor([2, 1, 1, 3])),
    "columns": lambda s: s.index_select(1, wb.tensor([2, 0])),
    "vector": lambda s: s[wb.tensor([-1, 1])],
    "mask": lambda s: s[wb.tensor([True, False, True, False])],
    "nothing": lambda s: s.index_select(0, wb.tensor([], dtype=int)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TAKEN)
def test_a_part_is_that_of_all_values_and_sparse(name: str, kind: str) -> None:
    sparse = KINDS[kind]()
    part = TAKEN[name](sparse)
    expected = TAKEN[name](sparse.to_dense())
    # Of blocks a row has no sparse dim left.
    assert part.layout is not wb.strided or (kind == "blocks" and expected.ndim == 1)
    assert part.shape == expected.shape
    assert part.to_dense().tolist() == expected.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_is_one_with_all_that_stands_at_its_place(kind: str) -> None:
    sparse = KINDS[kind]()
    dense = sparse.to_dense().tolist()
    assert [[sparse[i, j].item() for j in range(3)] for i in range(4)] == dense
    assert [row.to_dense().tolist() for row in sparse] == dense
    assert sparse[None].shape == (1, 4, 3) and sparse[None].to_dense()[0].tolist() == dense


def test_names_go_with_what_is_taken() -> None:
    sparse = wb.ones(N=2, C=3).to_sparse()
    assert sparse[0].names == ("C",) and sparse[:, 1:].names == ("N", "C")
    assert sparse.index_select("C", wb.tensor([1])).names == ("N", "C")


@pytest.mark.parametrize("name", ["row", "steps", "rows", "columns", "vector"])
def test_gradients_go_to_the_values_that_were_taken(name: str) -> None:
    found = []
    for dense in (False, True):
        values = wb.tensor(VALUES, dtype=float, requires_grad=True)
        sparse = wb.sparse_coo_tensor(PLACES, values, (4, 3))
        part = TAKEN[name](sparse.to_dense()) if dense else TAKEN[name](sparse).to_dense()
        (part**2).sum().backward()
        assert values.grad is not None
        found.append(values.grad.tolist())
    assert found[0] == found[1]


CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "add_": lambda x, other: x.add_(other, alpha=2),
    "sub_": lambda x, other: x.sub_(other),
    "mul_": lambda x, other: x.mul_(3),
    "mul_ by both": lambda x, other: x.mul_(other),
    "div_": lambda x, other: x.div_(2),
    "neg_": lambda x, other: x.neg_(),
    "abs_": lambda x, other: x.abs_(),
    "zero_": lambda x, other: x.zero_(),
    "copy_": lambda x, other: x.copy_(other),
    "+=": lambda x, other: x.__iadd__(other),
    "*=": lambda x, other: x.__imul__(0.5),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CHANGES)
def test_changes_in_place_are_those_of_all_values(name: str, kind: str) -> None:
    x, other = KINDS[kind](), KINDS[kind]() * 2
    dense = CHANGES[name](x.to_dense(), other.to_dense())
    before, layout = x, x.layout
    copy = x.to_dense()
    assert CHANGES[name](x, other) is before
    assert x.layout is layout and x._version == 1
    assert x.to_dense().tolist() == dense.tolist()
    assert copy.tolist() == KINDS[kind]().to_dense().tolist()
    assert name != "zero_" or x._nnz() == 0


@pytest.mark.parametrize("name", ["add_", "mul_", "mul_ by both", "copy_", "zero_"])
def test_a_change_in_place_has_a_gradient(name: str) -> None:
    found = []
    for dense in (False, True):
        values = wb.tensor(VALUES, dtype=float, requires_grad=True)
        sparse = wb.sparse_coo_tensor(PLACES, values, (4, 3)).coalesce()
        x, other = (sparse.to_dense(), sparse.to_dense()) if dense else (sparse, sparse)
        changed = CHANGES[name](x * 1, other)
        ((changed if dense else changed.to_dense()) ** 2).sum().backward()
        assert values.grad is not None
        found.append(values.grad.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s.add_(wb.ones(4, 3)), "stays sparse in place. Use the op without its underscore"),
        (lambda s: s.add_(1), "a number cannot be added to a sparse tensor"),
        (lambda s: s.fill_(2), "whose values are all 2 is none"),
        (lambda s: s.copy_(wb.ones(4, 3)), "stays sparse in place"),
        (lambda s: s.exp_(), "it makes 0 to 1"),
        (lambda s: s.__setitem__(0, 1.0), "Cannot assign to a sparse tensor"),
        (lambda s: s[wb.tensor([0]), wb.tensor([1])], "one vector of numbers at a time"),
        (lambda s: s[wb.tensor([[0]])], "one vector of numbers at a time"),
        (lambda s: s.index_select(0, wb.tensor([4])), "index 4 is out of bounds for dimension 0 with size 4"),
        (lambda s: s[4], "index 4 is out of bounds for dimension 0 with size 4"),
    ],
)
def test_what_is_refused_changes_nothing(change: Callable[[Any], Any], words: str) -> None:
    sparse = coo()
    with pytest.raises((TypeError, IndexError), match=words):
        change(sparse)
    assert sparse.to_dense().tolist() == coo().to_dense().tolist() and sparse._version == 0


@pytest.mark.parametrize("name", ["row", "steps", "rows"])
def test_a_trace_takes_parts_of_other_places_too(name: str) -> None:
    graph = wb.graph.trace(TAKEN[name], coo())
    other = wb.sparse_coo_tensor([[3, 1], [0, 2]], [2.0, 7.0], (4, 3))
    assert wb.graph.run(graph, other).to_dense().tolist() == TAKEN[name](other.to_dense()).tolist()
    graph, twice = wb.graph.trace(lambda s: s.mul_(2), coo()), (other.to_dense() * 2).tolist()
    # The function changes what it is given, and so does its graph.
    assert wb.graph.run(graph, other).to_dense().tolist() == twice == other.to_dense().tolist()

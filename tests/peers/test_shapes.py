"""Shapes beyond what the table's own samples show: memory, names, refusals: against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch")


VIEWS: dict[str, Any] = {
    "view": lambda x: x.view(3, 2, 4),
    "reshape": lambda x: x.reshape(2, 12),
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(0, 2),
    "movedim": lambda x: x.movedim(0, -1),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "mT": lambda x: x.mT,
    "squeeze": lambda x: x.unsqueeze(1).squeeze(1),
    "flatten": lambda x: x.flatten(1),
    "unflatten": lambda x: x.unflatten(2, (2, 2)),
    "diagonal": lambda x: x.diagonal(1, 1, 2),
    "unfold": lambda x: x.unfold(2, 2, 2),
    "as_strided": lambda x: x.as_strided((2, 2), (1, 4), 3),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "select": lambda x: x.select(0, 1),
    "slice": lambda x: wb.slice(x, 2, 0, 4, 2),
    "split": lambda x: x.split(2, 1)[1],
    "unbind": lambda x: x.unbind(1)[0],
    "view(dtype)": lambda x: x.view(wb.float32),
}


THEIRS: dict[str, Any] = {
    "slice": lambda x: x[:, :, 0:4:2],
    # PyTorch does not let one of several views be changed in place.
    "split": lambda x: x[:, 2:],
    "unbind": lambda x: x[:, 0],
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_write_through_with_gradients(name: str) -> None:
    def run(library: Any, x: Any) -> Any:
        y = x * 1.0
        part = VIEWS[name](y) if library is wb else THEIRS.get(name, VIEWS[name])(y)
        part.mul_(3.0)
        return y

    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    mine, theirs = (
        wb.from_numpy(array.copy()).requires_grad_(),
        torch.from_numpy(array.copy()).requires_grad_(),
    )
    if name == "view(dtype)":
        shared = wb.from_numpy(array.copy())
        VIEWS[name](shared).mul_(3.0)
        np.testing.assert_array_equal(shared.numpy(), array * 3)
        return
    got, want = run(wb, mine), run(torch, theirs)
    np.testing.assert_array_equal(got.detach().numpy(), want.detach().numpy())
    got.sum().backward()
    want.sum().backward()
    np.testing.assert_array_equal(mine.grad.numpy(), theirs.grad.numpy())


@pytest.mark.parametrize(
    ("make", "sizes"),
    [
        (lambda x: x.t(), (12,)),
        (lambda x: x.t(), (4, 3)),
        (lambda x: x.t(), (2, 2, 3)),
        (lambda x: x[:, :2], (6,)),
        (lambda x: x[:, :2], (3, 1, 2)),
        (lambda x: x[::2], (2, 2, 2)),
        (lambda x: x[::2], (8,)),
        (lambda x: x[0].expand(3, 4), (12,)),
        (lambda x: x[:, :1].expand(3, 4), (12,)),
        (lambda x: x[:1, :1].expand(3, 4), (12,)),
        (lambda x: x.unsqueeze(0).transpose(0, 1), (12,)),
        (lambda x: x.reshape(3, 2, 2).transpose(1, 2), (3, 4)),
        (lambda x: x.reshape(3, 2, 2).transpose(0, 1), (2, 3, 2, 1)),
        (lambda x: x[:0].t(), (0, 5)),
    ],
)
def test_view_refuses_where_torch_does(make: Any, sizes: Any) -> None:
    mine, theirs = wb.zeros(3, 4), torch.zeros(3, 4)
    try:
        make(theirs).view(sizes)
    except RuntimeError:
        with pytest.raises(wb.DimensionError, match=r"Use .reshape\(...\) instead"):
            make(mine).view(sizes)
    else:
        assert make(mine).view(sizes).shape == tuple(sizes)
    assert make(mine).reshape(sizes).shape == tuple(sizes)


def test_as_strided_counts_from_the_start_of_the_memory() -> None:
    theirs = torch.arange(20.0)
    mine = wb.from_numpy(theirs.numpy().copy())
    for make in (lambda x: x, lambda x: x[4:], lambda x: x.view(4, 5).t(), lambda x: x[1::3]):
        for offset in (None, 0, 7):
            want = make(theirs).as_strided((2, 3), (2, 3), storage_offset=offset)
            got = make(mine).as_strided((2, 3), (2, 3), storage_offset=offset)
            np.testing.assert_array_equal(got.numpy(), want.numpy())
    with pytest.raises(wb.DimensionError, match="out of bounds for storage"):
        mine.as_strided((2, 3), (2, 30))
    with pytest.raises(wb.DimensionError, match="Negative strides"):
        mine.as_strided((2,), (-1,))


def test_where_values_lie() -> None:
    for make in (lambda x: x, lambda x: x[1:, 2:], lambda x: x.t(), lambda x: x[:1].expand(3, 5)):
        theirs, mine = make(torch.zeros(4, 5)), make(wb.zeros(4, 5))
        assert mine.stride() == theirs.stride()
        assert mine.storage_offset() == theirs.storage_offset()
        assert mine.is_contiguous() == theirs.is_contiguous()
    assert wb.zeros(N=4, C=5).stride("N") == 5


def test_as_strided_gradients_of_scattered_memory() -> None:
    def run(x: Any) -> Any:
        return (x.t() * 1.0).t()[1:].as_strided((3, 2), (1, 2), 4)

    array = np.arange(20, dtype=np.float64).reshape(4, 5)
    mine, theirs = (
        wb.from_numpy(array.copy()).requires_grad_(),
        torch.from_numpy(array.copy()).requires_grad_(),
    )
    seed = np.random.default_rng(0).normal(size=(3, 2))
    expanded = theirs[0, :1].expand(4).as_strided((2, 2), (0, 0))
    expanded.backward(torch.ones(2, 2, dtype=torch.float64))
    wb.as_strided(mine[0, :1].expand(4), (2, 2), (0, 0)).backward(wb.ones(2, 2, dtype=wb.float64))
    np.testing.assert_allclose(mine.grad.numpy(), theirs.grad.numpy())
    assert run(mine).shape == seed.shape


def test_triangles() -> None:
    for row, col, offset in [(3, 4, 0), (4, 2, -1), (2, 5, 2), (0, 3, 0)]:
        for name in ("tril_indices", "triu_indices"):
            want = getattr(torch, name)(row, col, offset)
            assert getattr(wb, name)(row, col, offset).tolist() == want.tolist()
    assert wb.tril_indices(2, 2, dtype=wb.int32).dtype is wb.int32

"""Views share memory, and changes in place are recorded on what they view."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb


def leaf() -> wb.Tensor:
    return wb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


def test_a_view_shares_memory_and_version() -> None:
    base = wb.zeros(2, 3)
    row = base[0]
    row.add_(1.0)
    assert base.tolist() == [[1, 1, 1], [0, 0, 0]]
    assert base._version == row._version == 1


def test_a_change_through_a_view_is_recorded_on_the_base() -> None:
    x = leaf()
    base = x * 1.0
    base[0].mul_(10.0)
    (base * base).sum().backward()
    assert x.grad.tolist() == [[200.0, 400.0], [6.0, 8.0]]


def test_a_change_through_a_view_of_a_view() -> None:
    x = leaf()
    base = x * 1.0
    base.t()[1].mul_(3.0)  # the second column
    base.sum().backward()
    assert x.grad.tolist() == [[1.0, 3.0], [1.0, 3.0]]


def test_an_older_view_notices_a_change_of_the_base() -> None:
    x = leaf()
    base = x * 1.0
    row = base[1]
    base.mul_(5.0)
    row.sum().backward()
    assert row.tolist() == [15.0, 20.0]
    assert x.grad.tolist() == [[0.0, 0.0], [5.0, 5.0]]


def test_a_sibling_view_notices_a_change_of_another() -> None:
    x = leaf()
    base = x * 1.0
    first, second = base[0], base.reshape(4)
    first.mul_(2.0)
    second.sum().backward()
    assert x.grad.tolist() == [[2.0, 2.0], [1.0, 1.0]]


def test_a_buffer_becomes_part_of_the_graph() -> None:
    buffer = wb.zeros(2, 2)
    w = wb.tensor([2.0, 3.0], requires_grad=True)
    buffer[1].add_(w)
    assert buffer.requires_grad
    (buffer * buffer).sum().backward()
    assert w.grad.tolist() == [4.0, 6.0]


def test_copy_records_its_source() -> None:
    w = wb.tensor([2.0, 3.0], requires_grad=True)
    buffer = wb.zeros(2)
    buffer.copy_(w * 2)
    (buffer * buffer).sum().backward()
    assert w.grad.tolist() == [16.0, 24.0]


def test_overwriting_a_saved_tensor_is_an_error_that_names_the_op() -> None:
    x = leaf()
    y = x * 1.0
    z = y * y
    y.add_(1.0)
    with pytest.raises(wb.AutogradError, match=r"input 0 of 'mul'.*is at version 1; expected version 0"):
        z.sum().backward()


def test_overwriting_through_a_view_or_detach_is_noticed_too() -> None:
    for change in (lambda y: y[0].fill_(0.0), lambda y: y.detach().zero_()):
        x = leaf()
        y = x * 1.0
        z = y * y
        change(y)
        with pytest.raises(wb.AutogradError, match="modified by an inplace operation"):
            z.sum().backward()


def test_a_leaf_and_its_views_are_protected_while_recording() -> None:
    x = leaf()
    with pytest.raises(
        wb.AutogradError, match="a leaf Variable that requires grad is being used in an in-place"
    ):
        x.add_(1.0)
    with pytest.raises(wb.AutogradError, match="a view of a leaf Variable"):
        x[0].add_(1.0)
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with wb.no_grad():
        x.add_(1.0)
    assert x.is_leaf
    assert x.tolist() == [[2.0, 3.0], [4.0, 5.0]]


def test_refusals_change_nothing() -> None:
    x = wb.zeros(2, dtype=wb.int64)
    with pytest.raises(
        wb.DTypeError, match="result type float32 can't be cast to the desired output type int64"
    ):
        x.add_(0.5)
    with pytest.raises(wb.DimensionError, match="doesn't match the broadcast shape"):
        x.add_(wb.zeros(3, 2, dtype=wb.int64))
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        wb.zeros(1).expand(3).add_(1.0)
    assert x.tolist() == [0, 0]
    assert x._version == 0


def test_names_travel_into_the_target() -> None:
    x = wb.zeros(2, 2)
    x.add_(wb.ones(2, 2, names=("N", "C")))
    assert x.names == ("N", "C")


def test_numpy_sees_what_is_written() -> None:
    array = np.zeros(3, np.float32)
    wb.from_numpy(array)[1:].add_(2.0)
    assert array.tolist() == [0, 2, 2]


def test_calls_recorded_before_a_change_see_the_former_place() -> None:
    w = wb.tensor([2.0, 3.0], requires_grad=True)
    buffer = wb.zeros(2)
    before = buffer + w
    buffer.add_(w * 7)
    before.sum().backward()
    assert w.grad.tolist() == [1.0, 1.0]


def test_changes_through_real_and_imaginary_parts() -> None:
    w = wb.tensor([2.0, 3.0], requires_grad=True)
    z = wb.zeros(2, dtype=wb.complex64)
    z.real.add_(w)
    z.imag.add_(w * 2)
    (z.abs() ** 2).sum().backward()
    assert wb.testing.assert_close(w.grad, [20.0, 30.0]) is None


def test_each_operand_is_brought_to_its_place() -> None:
    """The first operand asks for a gradient; the second, stale, is looked at all the same."""
    x = wb.tensor([1.0, 1.0], requires_grad=True)
    z = wb.ones(1, requires_grad=True)
    p = x * 1
    v = p[:1]
    p.mul_(2)
    (z * v).sum().backward()
    assert x.grad.tolist() == [2.0, 0.0]


def test_a_leaf_that_is_copied_into_a_buffer_gets_its_gradient() -> None:
    w = wb.tensor([2.0, 3.0], requires_grad=True)
    buffer = wb.zeros(2)
    buffer.copy_(w)
    (buffer * buffer).sum().backward()
    assert w.grad.tolist() == [4.0, 6.0]
    x = wb.tensor([2.0, 3.0], requires_grad=True)
    base = x * 1
    base[:1].copy_(wb.zeros(1))
    base.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0]


def test_data_counts_its_own_changes_and_detach_does_not() -> None:
    x = wb.ones(2)
    data, detached = x.data, x.detach()
    data.mul_(2)
    assert (x._version, data._version, detached._version) == (0, 1, 0)
    x.mul_(2)
    assert (x._version, data._version, detached._version) == (1, 1, 1)
    detached.mul_(2)
    assert x._version == 2
    assert x.tolist() == [8.0, 8.0]


def test_a_view_made_where_nothing_is_recorded() -> None:
    x = wb.tensor([1.0, 2.0], requires_grad=True)
    base = x * 1
    with wb.no_grad():
        view = base[:1]
    assert view.requires_grad and view.is_leaf
    with pytest.raises(wb.AutogradError, match="A view was created in no_grad mode and is being modified"):
        view.mul_(2)
    base.mul_(2)
    with pytest.raises(wb.AutogradError, match="its base or another view of its base has been modified"):
        view * 2
    assert base.tolist() == [2.0, 4.0]


def test_a_change_of_one_of_several_entries_that_share_a_place() -> None:
    x = wb.tensor([3.0], requires_grad=True)
    base = x * 1
    base.expand(2).unfold(0, 1, 2).mul_(5.0)
    base.expand(2).sum().backward()
    assert x.grad.tolist() == [10.0]


def test_a_view_finds_its_place_also_where_nothing_is_recorded() -> None:
    x = wb.tensor([1.0, 2.0], requires_grad=True)
    base = x * 1
    view = base[1:]
    base.mul_(3.0)
    with wb.no_grad():
        assert view.requires_grad and not view.is_leaf
    view.sum().backward()
    assert x.grad.tolist() == [0.0, 3.0]


def test_calls_made_before_a_leaf_asked_for_a_gradient_give_it_none() -> None:
    w, x = wb.ones(2, requires_grad=True), wb.tensor([2.0, 3.0])
    y = w * x
    x.requires_grad_()
    (y.sum() + (x * 5).sum()).backward()
    assert w.grad.tolist() == [2.0, 3.0]
    assert x.grad.tolist() == [5.0, 5.0]


def test_a_detached_value_whose_own_dims_were_changed_shows_no_other() -> None:
    owner = wb.ones(3)
    value = owner.detach()
    value.unsqueeze_(0)
    value.t_()
    value.detach_()
    value.data = wb.zeros(3, 1)
    assert value.tolist() == [[0.0], [0.0], [0.0]]
    assert owner.tolist() == [1.0, 1.0, 1.0]
    part = owner.detach()[:2]
    part.unsqueeze_(0)
    with pytest.raises(wb.AutogradError, match="detach views in-place"):
        part.detach_()
    with pytest.raises(wb.AutogradError, match="a view of another"):
        part.data = wb.zeros(1, 2)


@pytest.mark.parametrize(
    "turn", [lambda x: x.squeeze_(), lambda x: x.unsqueeze_(0), lambda x: x.unsqueeze_(0).t_()]
)
def test_views_of_a_leaf_whose_dims_were_changed_before_it_asked_keep_their_place(turn: Any) -> None:
    x = wb.ones(2)
    turn(x)
    x.requires_grad_()
    view = x.flatten()[1:]
    with wb.no_grad():
        x.mul_(2.0)
    assert view.requires_grad
    assert not view.is_leaf
    (view * view).sum().backward()
    assert x.grad.flatten().tolist() == [0.0, 4.0]

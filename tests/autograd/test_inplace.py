"""Changes in place where gradients are recorded: right as PyTorch's are, or refused, never silently wrong."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
import workbench.nn.functional as F
from workbench.base.errors import AutogradError, DimensionError, DTypeError


def leaf(*values: float) -> wb.Tensor:
    return wb.tensor(list(values), requires_grad=True)


def gradient(of: wb.Tensor) -> list[float]:
    assert of.grad is not None
    return [round(one, 4) for one in of.grad.tolist()]


@pytest.mark.parametrize("name", ["exp", "sigmoid", "tanh", "sqrt", "relu", "tan", "rsqrt", "reciprocal"])
@pytest.mark.parametrize(
    "change", ["mul_", "detach", "view", "no_grad", "setitem"], ids=lambda change: f"by {change}"
)
def test_a_saved_result_is_not_overwritten_unseen(name: str, change: str) -> None:
    x = leaf(1.0, 2.0, 3.0)
    y = getattr(x, name)()
    if change == "mul_":
        y.mul_(2)
    elif change == "detach":
        y.detach()[0] = 3.0
    elif change == "view":
        y[1:].add_(1)
    elif change == "no_grad":
        with wb.no_grad():
            y.add_(1)
    else:
        y[0] = 3.0
    with pytest.raises(AutogradError, match=f"output 0 of '{name}'.*modified|modified.*output 0 of '{name}'"):
        y.sum().backward()
    assert x.grad is None


def test_results_that_no_gradient_reads_can_be_changed() -> None:
    x = leaf(1.0, 2.0, 4.0)
    y = F.layer_norm(x, (3,)).neg_().add_(1)
    z = (x**2).add_(1) + (x / 2).mul_(4) + x.sort()[0].mul_(2)
    (y + z).sum().backward()
    assert np.isfinite(x.grad.numpy()).all()


def test_an_op_in_place_keeps_the_numbers_that_its_gradient_reads() -> None:
    x, w = leaf(1.0, 2.0, 3.0), leaf(4.0, 5.0, 6.0)
    y = x * 1
    y.mul_(w).sin_().pow_(2)
    y.sum().backward()
    a, b = x.detach().numpy(), w.detach().numpy()
    slope = np.sin(2 * a * b)
    np.testing.assert_allclose(x.grad.numpy(), slope * b, rtol=1e-4)
    np.testing.assert_allclose(w.grad.numpy(), slope * a, rtol=1e-4)


def test_constants_times_weights_in_place() -> None:
    x, w = wb.tensor([1.0, 2.0, 3.0, 4.0]), leaf(2.0, 2.0)
    other = x[0:2]
    x[1:3].mul_(w)
    assert x.tolist() == [1.0, 4.0, 6.0, 4.0]
    (other * other).sum().backward()
    assert gradient(w) == [16.0, 0.0]


def test_numbers_are_not_kept_where_nobody_reads_them() -> None:
    y = leaf(1.0, 2.0) * 1
    old = y.grad_fn
    y.add_(1)
    assert y.grad_fn is not None and y.grad_fn.inputs is not None
    assert y.grad_fn.inputs[0].payload is y.payload
    assert old is not y.grad_fn


def test_a_view_that_is_written_to_knows_that_its_base_was_moved() -> None:
    x, w = wb.tensor([1.0, 2.0, 3.0, 4.0]), leaf(2.0, 2.0, 2.0, 2.0)
    view = x[1:3]
    x.mul_(w)
    view[0] = 5.0
    x.sum().backward()
    assert x.tolist() == [2.0, 5.0, 6.0, 8.0]
    assert gradient(w) == [1.0, 0.0, 3.0, 4.0]


def test_gradients_of_two_leaves_are_two() -> None:
    x, y = leaf(1.0, 2.0), leaf(1.0, 2.0)
    z = x + y
    z.retain_grad()
    seen = []
    z.register_hook(seen.append)
    z.sum().backward()
    x.grad.mul_(10)
    assert gradient(x) == [10.0, 10.0]
    assert gradient(y) == gradient(z) == seen[0].tolist() == [1.0, 1.0]


def test_the_seed_stays_what_it_is() -> None:
    x, seed = leaf(1.0, 2.0), wb.tensor([1.0, 1.0])
    (x + 0).backward(seed)
    x.grad.mul_(10)
    assert seed.tolist() == [1.0, 1.0]


def test_gradients_gather_in_the_memory_that_is_there() -> None:
    x = leaf(1.0, 2.0)
    flat = wb.zeros(4)
    x.grad = flat[1:3]
    first = x.grad
    (x * x).sum().backward()
    assert x.grad is first
    assert flat.tolist() == [0.0, 2.0, 4.0, 0.0]


def test_gathering_while_recording_changes_nothing_in_place() -> None:
    x = leaf(1.0, 2.0)
    (x * x).sum().backward(create_graph=True)
    first = x.grad
    (x * x).sum().backward(create_graph=True)
    assert first.tolist() == [2.0, 4.0]
    assert gradient(x) == [4.0, 8.0]


def test_a_kept_gradient_is_that_of_the_changed_value_after_all_hooks() -> None:
    x = leaf(3.0, 1.0)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    (y * y).sum().backward()
    assert gradient(y) == [36.0, 12.0]
    x = leaf(3.0, 1.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda gradient: gradient * 2)
    y.sum().backward()
    assert gradient(y) == [2.0, 2.0]
    assert gradient(x) == [4.0, 4.0]


def test_hooks_and_gradients_asked_for() -> None:
    x = leaf(1.0, 2.0)
    x.register_hook(lambda gradient: gradient * 2)
    y = x * 3
    y.register_hook(lambda gradient: gradient * 5)
    to_x, to_y = wb.autograd.grad(y.sum(), [x, y])
    assert to_x.tolist() == [30.0, 30.0]
    assert to_y.tolist() == [1.0, 1.0]


def test_dims_of_a_view_changed_in_place() -> None:
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = x * 1
    view = y[0:2]
    view.unsqueeze_(0)
    view.mul_(3)
    (y * y).sum().backward()
    assert view.shape == (1, 2)
    assert gradient(x) == [18.0, 36.0, 6.0, 8.0]


def test_an_older_view_of_a_turned_base_goes_on_to_show_what_it_showed() -> None:
    x = wb.ones(2, 2, requires_grad=True)
    y = x * 1
    row = y[0]
    y.t_()
    row.mul_(3)
    assert y.tolist() == [[3.0, 1.0], [3.0, 1.0]]
    (y * wb.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert x.grad.tolist() == [[3.0, 9.0], [2.0, 4.0]]


def test_stretched_memory_takes_one_number_and_no_more() -> None:
    x = wb.zeros(3)
    many = x.expand(2, 3)
    many[0] = 1.0
    assert x.tolist() == [1.0, 1.0, 1.0]
    many.fill_(2.0)
    assert x.tolist() == [2.0, 2.0, 2.0]
    many[...] = 3.0
    assert x.tolist() == [3.0, 3.0, 3.0]
    for change in (lambda: many.add_(1), lambda: many.copy_(wb.ones(2, 3)), lambda: many.mul_(2.0)):
        with pytest.raises(DimensionError, match="single memory location"):
            change()
    with pytest.raises(DimensionError, match="single memory location"):
        many[:, :] = wb.ones(2, 3)
    assert x.tolist() == [3.0, 3.0, 3.0]


def test_memory_that_is_read_only_stays_so() -> None:
    array = np.ones(3, np.float32)
    array.flags.writeable = False
    x = wb.zeros(3)
    x.payload = array
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 2.0
    assert array.tolist() == [1.0, 1.0, 1.0]


def test_writing_what_does_not_fit_says_so_and_writes_nothing() -> None:
    x = wb.tensor([1.0, 2.0, 3.0])
    with pytest.raises(DimensionError, match=r"value of shape \[3\].*part of shape \[2\]"):
        x[0:2] = wb.tensor([1.0, 2.0, 3.0])
    with pytest.raises(DimensionError, match="shape mismatch"):
        x[wb.tensor([0, 1])] = wb.zeros(3)
    with pytest.raises(DTypeError, match="imaginary part"):
        x[0] = 1 + 2j
    assert x.tolist() == [1.0, 2.0, 3.0]
    assert x._version == 0


def test_inference_tensors_and_views() -> None:
    plain = wb.ones(3)
    with wb.inference_mode():
        made, view = wb.ones(3) * 2, plain[0:2]
    assert made.is_inference() and made[0:1].is_inference() and made.detach().is_inference()
    assert not view.is_inference() and not (made + 1).is_inference()
    with pytest.raises(AutogradError, match="inference tensor"):
        made[0] = 1.0
    with pytest.raises(AutogradError, match="inference tensor"):
        made.fill_(1.0)
    view.add_(1)
    assert plain.tolist() == [2.0, 2.0, 1.0]


def test_detach_in_place() -> None:
    y = leaf(1.0, 2.0) * 2
    assert y.detach_() is y
    assert y.is_leaf and not y.requires_grad
    z = leaf(1.0, 2.0) * 2
    with pytest.raises(AutogradError, match="detach views"):
        z[0:1].detach_()


def test_a_view_that_was_written_through_views_what_the_write_made() -> None:
    x = wb.ones(3, requires_grad=True) * 1.0
    y = x[0:2]
    y.mul_(2.0)
    y.sum()  # to use it is to see where it stands
    assert repr(y.grad_fn) == "<index backward>"
    assert repr(y.grad_fn.next_functions[0][0]) == "<where backward>"


OWNERS = {
    "row-major": lambda x: x * 1,
    "column-major": lambda x: x.T * 1,
    "permuted": lambda x: x.reshape(3, 2, 2).permute(2, 0, 1) * 1,
    "a sum of a transposed": lambda x: wb.stack([x.reshape(12)] * 2, 0).mT.sum(1, keepdim=True),
    "channels last": lambda x: (x.reshape(1, 3, 2, 2) * 1).contiguous(memory_format=wb.channels_last),
    "one column": lambda x: (x.reshape(1, 12) * 1).T.sum(1, keepdim=True),
}


@pytest.mark.parametrize("layout", OWNERS)
@pytest.mark.parametrize("between", ["nothing", "a transpose"])
def test_what_is_written_by_strides_is_where_it_lies_in_memory(layout: str, between: str) -> None:
    x = wb.arange(1.0, 13.0).reshape(4, 3).requires_grad_()
    owner = OWNERS[layout](x)
    factor = float(owner.detach().max()) / 12
    (owner.mT if between == "a transpose" else owner).as_strided((2, 2), (1, 2), 0).mul_(0)
    left = set(owner.flatten().tolist())
    assert len(left) == 12 - 4 + 1
    owner.sum().backward()
    assert x.grad.flatten().tolist() == [factor if factor * n in left else 0.0 for n in range(1, 13)]

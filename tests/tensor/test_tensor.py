"""The tensor: what it says of itself, names on it, values in and out, changes in place."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb


def test_factories_take_sizes_by_position_or_by_name() -> None:
    assert wb.zeros(2, 3).shape == wb.zeros((2, 3)).shape == (2, 3)
    x = wb.randn(N=2, C=3)
    assert (x.shape, x.names, x.dtype) == ((2, 3), ("N", "C"), wb.float32)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: wb.zeros(-1), wb.DimensionError, "negative dimension -1"),
        (lambda: wb.zeros(2**40, 2**40), wb.DimensionError, "product overflows"),
        (lambda: wb.zeros(2.5), TypeError, "a size is a whole number, got 2.5"),
        (lambda: wb.zeros(2, N=3), TypeError, "not both"),
        (lambda: wb.tensor([[1], [1, 2]]), wb.DimensionError, "rectangular"),
        (lambda: wb.tensor("text"), wb.DTypeError, "not numbers"),
        (lambda: wb.randint(3, 3, (2,)), ValueError, "from=3 >= to=3"),
        (lambda: wb.ones(2, dtype="int64", requires_grad=True), wb.DTypeError, "floating point and complex"),
        (lambda: wb.ones(2).item(), RuntimeError, "2 elements cannot be converted to Scalar"),
        (lambda: bool(wb.ones(2)), RuntimeError, "ambiguous"),
        (lambda: wb.ones(2, requires_grad=True).numpy(), wb.AutogradError, "detach"),
        (lambda: wb.ones(2) + "a", TypeError, "unsupported operand"),
        (lambda: wb.ones(2, dtype="int64").mean(), wb.DTypeError, "x.float().mean()"),
        (lambda: wb.ones(0).amax(), wb.DimensionIndexError, "no largest or smallest"),
        (lambda: wb.ones(3, 4)[wb.tensor([1.5])], wb.DTypeError, "integer or bool"),
    ],
)
def test_bad_input_is_refused_in_words(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        make()  # type: ignore[operator]
    assert message in str(caught.value)


def test_repr_is_as_people_know_it() -> None:
    x = wb.tensor([[1.0, -2.5]], names=("N", "C"), requires_grad=True)
    assert repr(x) == "tensor([[ 1.0000, -2.5000]], names=('N', 'C'), requires_grad=True)"
    assert repr(x * 2) == "tensor([[ 2., -5.]], names=('N', 'C'), grad_fn=<mul backward>)"
    assert repr(wb.tensor([1, 2], dtype="uint8")) == "tensor([1, 2], dtype=workbench.uint8)"
    assert repr(wb.tensor([float("nan"), 1e-8])) == "tensor([       nan, 1.0000e-08])"
    assert len(repr(wb.zeros(1000, 1000))) < 1000


def test_names_are_kept_renamed_refined_and_aligned() -> None:
    x = wb.zeros(N=2, C=3, H=4)
    assert x.rename(N="batch").names == ("batch", "C", "H")
    assert x.rename("A", ...).names == ("A", "C", "H")
    assert x.rename(None).names == (None, None, None)
    assert x.align_to("H", ..., "N").shape == (4, 3, 2)
    assert x.align_to("N", "T", "C", "H").shape == (2, 1, 3, 4)
    assert wb.zeros(2, 3).refine_names("N", ...).names == ("N", None)
    assert wb.zeros(C=3, N=2).align_as(wb.zeros(N=2, H=1, C=3)).names == ("N", "H", "C")
    with pytest.raises(wb.DimensionError, match=r"Tried to rename dim 'n' to dim 'B' .* Did you mean 'N'?"):
        x.rename(n="B")
    with pytest.raises(wb.DimensionError, match="'N' is different from 'M' at index 0"):
        x.refine_names("M", "C", "H")
    with pytest.raises(wb.DimensionError, match="Cannot find dim 'H'"):
        x.align_to("N", "C")


def test_renaming_shares_memory_and_changes_nothing_else() -> None:
    x = wb.zeros(N=2)
    y = x.rename("M")
    y.fill_(3)
    assert x.tolist() == [3.0, 3.0]
    assert x.names == ("N",)


def test_an_error_names_the_callers_variables_and_lines() -> None:
    images = wb.zeros(N=2, C=3)
    labels = wb.zeros(M=2, K=4)
    with pytest.raises(wb.DimensionError) as caught:
        images + labels
    assert [operand.label for operand in caught.value.operands] == ["images", "labels"]
    assert caught.value.operands[0].origins[0].startswith("test_tensor.py:")
    assert caught.value.fix == "labels.rename(K='C')  # if they mean the same"


def test_a_notebook_is_shown_its_own_frames_only() -> None:
    with pytest.raises(wb.DimensionError) as caught:
        wb.zeros(N=2) + wb.zeros(M=2)
    text = "".join(caught.value._render_traceback_())
    assert "wb.zeros(N=2) + wb.zeros(M=2)" in text
    assert "dispatch.py" not in text
    assert text.rstrip().endswith("try: other.rename(M='N')  # if they mean the same")


def test_a_gradient_that_fails_shows_the_callers_frames_only() -> None:
    x = wb.zeros(2, requires_grad=True)
    with pytest.raises(wb.AutogradError) as caught, wb.autograd.detect_anomaly():
        (x.sqrt() * 0).sum().backward()
    text = "".join(caught.value._render_traceback_())
    assert "(x.sqrt() * 0).sum().backward()" in text
    assert "engine.py" not in text
    assert "'sqrt' returned nan" in text


def test_numpy_shares_memory_both_ways() -> None:
    array = np.zeros(3, np.float32)
    x = wb.from_numpy(array)
    array[0] = 5
    assert x[0].item() == 5
    assert np.asarray(x) is not None
    assert x.numpy() is array


def test_changes_in_place() -> None:
    x = wb.ones(2, 3)
    x += 1
    x.mul_(2).sub_(1)
    x[0, 1] = 9
    assert x.tolist() == [[3, 9, 3], [3, 3, 3]]
    with pytest.raises(wb.DimensionError, match="doesn't match the broadcast shape"):
        wb.ones(3).add_(wb.ones(2, 3))
    with pytest.raises(wb.DTypeError, match="can't be cast"):
        wb.ones(3, dtype="int64").add_(0.5)
    with pytest.raises(wb.AutogradError, match="leaf Variable that requires grad"):
        wb.ones(2, requires_grad=True).add_(1)


def test_indexing_keeps_names() -> None:
    x = wb.randn(N=4, C=3, T=5)
    assert x[0].names == ("C", "T")
    assert x[:, 1:].names == ("N", "C", "T")
    assert x[..., None].names == ("N", "C", "T", None)
    assert x[wb.tensor([0, 2])].names == ("N", "C", "T")
    assert x[:, [0, 1], [0, 1]].names == ("N", None)
    with pytest.raises(IndexError, match=r"index 7 is out of bounds for dimension 0 \('N'\) with size 4"):
        x[7]


def test_seeds_repeat_streams() -> None:
    wb.manual_seed(3)
    first = wb.randn(4).tolist()
    wb.manual_seed(3)
    assert wb.randn(4).tolist() == first
    assert wb.rand(4, generator=wb.Generator(1)).tolist() == wb.rand(4, generator=wb.Generator(1)).tolist()


def test_the_class_makes_a_tensor_of_the_default_type() -> None:
    x = wb.Tensor([[1, 2]], names=("N", "C"))
    assert (x.dtype, x.shape, x.names, x.is_leaf) == (wb.float32, (1, 2), ("N", "C"), True)
    assert wb.Tensor().shape == (0,)
    with pytest.raises(wb.DTypeError, match="made of numbers, got str"):
        wb.Tensor("a")


def half(value: float) -> wb.Tensor:
    return wb.tensor(value, dtype=wb.float16)


def double(value: float) -> wb.Tensor:
    return wb.tensor(value, dtype=wb.float64)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([double(1.0)], wb.float64),
        ([2.5, double(1.0)], wb.float64),
        ([[double(1.0)], [2.5]], wb.float64),
        ([np.float64(1.0), 3], wb.float64),
        ([np.array([1.0, 2.0]), np.array([3.0, 4.0])], wb.float64),
        ([1j, double(1.0)], wb.complex128),
        ([half(1.0), 1], wb.float16),
        ([half(1.0), 1.5], wb.float32),
        ([wb.tensor(1.0, dtype=wb.bfloat16), 1], wb.bfloat16),
        ([np.uint16(1), 1.5], wb.float32),
        ([wb.tensor(1, dtype=wb.int32), 2.5], wb.float32),
        ([True, 2.5], wb.float32),
        ([], wb.float32),
    ],
)
def test_values_in_a_list_bring_their_types(values: list[object], dtype: wb.DType) -> None:
    # As torch.tensor has it for each of these.
    assert wb.tensor(values).dtype is dtype

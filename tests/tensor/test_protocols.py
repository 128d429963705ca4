"""What Python itself asks of a tensor: numbers, sequences, sizes and memory, types."""

from __future__ import annotations

import ml_dtypes
import pytest

import workbench as wb
from tests.tensor.parts import DTYPES


def test_numbers_of_every_type_are_pythons() -> None:
    for dtype in DTYPES:
        one = wb.ones((), dtype=dtype).item()
        kind = (
            complex
            if dtype.startswith("complex")
            else bool
            if dtype == "bool"
            else int
            if "int" in dtype
            else float
        )
        assert type(one) is kind
        assert type(wb.ones(1, dtype=dtype).tolist()[0]) is kind
    assert complex(wb.tensor(1 + 2j)) == 1 + 2j
    assert f"{wb.tensor(2.5):.2f} {wb.tensor(3):04d}" == "2.50 0003"
    assert f"{wb.tensor(2.5, requires_grad=True)} {wb.tensor(True)}" == "2.5 True"
    assert f"{wb.tensor([1])}" == "tensor([1])"
    assert [1, 2][wb.tensor(True)] == 2
    with pytest.raises(TypeError, match="format"):
        format(wb.ones(2), ".2f")


def test_a_tensor_is_a_sequence_of_its_first_dim() -> None:
    x = wb.tensor([[1.0, 2.0], [3.0, 4.0]], names=("N", "C"))
    assert [row.names for row in x] == [("C",), ("C",)]
    assert [row.tolist() for row in reversed(x)] == [[3, 4], [1, 2]]
    assert 3.0 in x
    assert 7 not in x
    assert wb.tensor(2.0) in x
    with pytest.raises(RuntimeError, match="only supports Tensor or scalar"):
        assert "a" in x
    for what in (len, iter):
        with pytest.raises(TypeError, match="0-d"):
            what(wb.tensor(1.0))


def test_sizes_and_memory() -> None:
    x = wb.zeros(2, 3, dtype="float64")
    assert (x.element_size(), x.itemsize, x.ndimension(), x.nelement(), wb.numel(x)) == (8, 8, 2, 6, 6)
    assert x[1].data_ptr() == x.data_ptr() + 24
    assert wb.zeros(0).data_ptr() == 0
    assert x.shares_storage(x.T)
    assert not x.is_set_to(x.T)
    assert x.is_set_to(x.view(2, 3))
    assert x.numpy(force=True) is x.numpy()
    assert wb.ones(2, requires_grad=True).numpy(force=True).tolist() == [1, 1]
    q = wb.quantize_per_tensor(wb.ones(2), 0.5, 0, wb.qint8)
    assert q.is_set_to(q)
    assert q.data_ptr()


def test_assigning_data_keeps_the_place_and_checks_what_comes() -> None:
    x = wb.ones(N=2, C=2).requires_grad_()
    version = x._version
    new = wb.zeros(2, 2)
    x.data = new
    assert (x.tolist(), x.names, x.requires_grad, x._version) == ([[0, 0], [0, 0]], ("N", "C"), True, version)
    assert x.is_set_to(new)
    for wrong in (wb.zeros(2), wb.zeros(2, 2, dtype="float64")):
        with pytest.raises(wb.DTypeError, match="incompatible tensor type"):
            x.data = wrong
    with pytest.raises(TypeError, match="has to be a tensor"):
        x.data = 3
    with pytest.raises(wb.AutogradError, match="view"):
        wb.ones(2, 2)[0].data = wb.ones(2)
    assert x.is_set_to(new)


def test_new_tensors_are_like_the_one_they_are_made_from() -> None:
    x = wb.tensor([1, 2], dtype="int16")
    for made in (
        x.new_zeros(2, 3),
        x.new_ones((2, 3)),
        x.new_empty(2, 3),
        x.new_full((2, 3), 7),
        x.new_zeros(N=2, C=3),
    ):
        assert (made.shape, made.dtype) == ((2, 3), wb.int16)
    assert x.new_zeros(N=1).names == ("N",)
    assert x.new_tensor([1.7]).tolist() == [1]
    assert x.new_ones(2, dtype="float64", requires_grad=True).requires_grad


def test_types_say_how_far_they_reach() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for dtype in ("float16", "bfloat16", "float32", "float64", "complex64", "complex128"):
        ours, theirs = wb.finfo(dtype), torch.finfo(getattr(torch, dtype))
        for word in ("resolution", "min", "max", "eps", "tiny", "smallest_normal", "bits", "dtype"):
            assert getattr(ours, word) == getattr(theirs, word), (dtype, word)
        assert repr(ours) == repr(theirs)
    for dtype in ("uint8", "int8", "int16", "int32", "int64"):
        mine, its = wb.iinfo(dtype), torch.iinfo(getattr(torch, dtype))
        assert (mine.min, mine.max, mine.bits, mine.dtype) == (its.min, its.max, its.bits, its.dtype)
    with pytest.raises(TypeError, match="floating point input type"):
        wb.finfo("int8")
    with pytest.raises(TypeError, match="integer input type"):
        wb.iinfo("bool")
    for a, b in [
        (wb.ones(2), 1j),
        (wb.tensor([1]), 1.5),
        (wb.tensor(1.0), wb.tensor([1])),
        (1, True),
        (2.0, 1),
    ]:
        theirs = [torch.from_dlpack(one) if wb.is_tensor(one) else one for one in (a, b)]
        assert f"torch.{wb.result_type(a, b).name}" == str(torch.result_type(*theirs))


def test_bfloat16_is_the_type_of_its_library() -> None:
    assert wb.ones(2, dtype="bfloat16").numpy().dtype == ml_dtypes.bfloat16

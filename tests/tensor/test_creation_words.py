"""Words that every factory takes, and PyTorch's older constructors."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb

FACTORIES: dict[str, Callable[..., Any]] = {
    "zeros": lambda **words: wb.zeros(2, **words),
    "ones": lambda **words: wb.ones((2,), **words),
    "empty": lambda **words: wb.empty(2, **words),
    "full": lambda **words: wb.full((2,), 1.0, **words),
    "arange": lambda **words: wb.arange(2.0, **words),
    "linspace": lambda **words: wb.linspace(0, 1, 2, **words),
    "logspace": lambda **words: wb.logspace(0, 1, 2, **words),
    "eye": lambda **words: wb.eye(2, **words),
    "rand": lambda **words: wb.rand(2, **words),
    "randn": lambda **words: wb.randn(2, **words),
    "randint": lambda **words: wb.randint(0, 3, (2,), dtype=wb.float32, **words),
    "randperm": lambda **words: wb.randperm(2, dtype=wb.float32, **words),
    "normal": lambda **words: wb.normal(0.0, 1.0, (2,), **words),
}
ALIKE: dict[str, Callable[..., Any]] = {
    "zeros_like": wb.zeros_like,
    "ones_like": wb.ones_like,
    "empty_like": wb.empty_like,
    "full_like": lambda x, **words: wb.full_like(x, 2, **words),
    "rand_like": wb.rand_like,
    "randn_like": wb.randn_like,
    "randint_like": lambda x, **words: wb.randint_like(x, 0, 3, **words),
    "new_zeros": lambda x, **words: x.new_zeros(2, **words),
    "new_ones": lambda x, **words: x.new_ones(size=(2,), **words),
    "new_empty": lambda x, **words: x.new_empty((2,), **words),
    "new_full": lambda x, **words: x.new_full((2,), 3.0, **words),
    "new_tensor": lambda x, **words: x.new_tensor([1, 2], **words),
    "hann_window": lambda x, **words: wb.hann_window(2, **words),
    "fftfreq": lambda x, **words: wb.fft.fftfreq(2, **words),
}
EVERY = {
    **FACTORIES,
    **{name: lambda make=make, **words: make(wb.ones(2), **words) for name, make in ALIKE.items()},
}


@pytest.mark.parametrize("name", EVERY)
def test_they_all_take_the_words(name: str) -> None:
    made = EVERY[name](device="cpu", requires_grad=True, layout=wb.strided, pin_memory=False)
    assert made.requires_grad and made.device == "cpu" and made.shape[0] == 2
    with pytest.raises(
        TypeError, match=r"argument 'layout' must be a layout such as workbench\.strided, not str"
    ):
        EVERY[name](layout="dense")
    with pytest.raises(RuntimeError, match="pin_memory=True requires an accelerator"):
        EVERY[name](pin_memory=True)


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_write_where_they_are_told(name: str) -> None:
    out = wb.empty(0)
    assert FACTORIES[name](out=out) is out and out.shape[0] == 2
    with pytest.raises(TypeError, match="argument 'out' must be Tensor, not list"):
        FACTORIES[name](out=[1])


def test_what_is_written_has_the_type_of_out() -> None:
    assert wb.zeros(2, out=wb.empty(0, dtype=wb.int64)).dtype is wb.int64
    with pytest.raises(
        wb.DTypeError, match=r"dtype float64 does not match dtype of out parameter \(float32\)"
    ):
        wb.zeros(2, out=wb.empty(0), dtype=wb.float64)


def test_sizes() -> None:
    assert wb.zeros(wb.tensor(2), 3).shape == wb.zeros([wb.tensor(2), 3]).shape == (2, 3)
    assert wb.zeros(size=(2, 3)).shape == wb.randn(size=[2, 3]).shape == (2, 3)
    assert wb.randint(high=3, size=(2,)).shape == (2,)
    with pytest.raises(TypeError, match=r"sizes in one tensor are zeros\(\*sizes.tolist\(\)\)"):
        wb.zeros(wb.tensor([2, 3]))
    with pytest.raises(TypeError, match="size is a whole number"):
        wb.zeros(wb.tensor(2.0), 3)
    with pytest.raises(TypeError, match="argument 'size' must be tuple of ints, not str"):
        wb.zeros(size="ab")
    assert wb.ones(out=4, size=3).names == ("out", "size")  # whole numbers are sizes, under any name


# -------------------------------------------------------------------------------------- memory formats


def test_memory_formats() -> None:
    x = wb.arange(24.0).reshape(1, 2, 3, 4)
    last = x.contiguous(memory_format=wb.channels_last)
    assert last.stride() == (24, 1, 8, 2) and last.tolist() == x.tolist()
    assert not last.is_contiguous() and last.is_contiguous(memory_format=wb.channels_last)
    assert last.contiguous(memory_format=wb.channels_last) is last
    assert last.contiguous().is_contiguous() and last.contiguous(memory_format=wb.preserve_format) is last
    for made in (
        x.clone(memory_format=wb.channels_last), x.to(memory_format=wb.channels_last),
        x.to(wb.float64, memory_format=wb.channels_last), x.float(memory_format=wb.channels_last),
        x.cpu(memory_format=wb.channels_last), wb.zeros_like(x, memory_format=wb.channels_last),
        wb.empty(1, 2, 3, 4, memory_format=wb.channels_last), wb.randn_like(x, memory_format=wb.channels_last),
    ):  # fmt: skip
        assert made.stride() == (24, 1, 8, 2)
    volume = wb.zeros(1, 2, 3, 4, 5).contiguous(memory_format=wb.channels_last_3d)
    assert volume.is_contiguous(memory_format=wb.channels_last_3d)
    assert not wb.ones(2).is_contiguous(memory_format=wb.channels_last)


def test_a_format_has_its_number_of_dims() -> None:
    for call in (
        lambda: wb.ones(2).contiguous(memory_format=wb.channels_last),
        lambda: wb.ones(2).to(memory_format=wb.channels_last),
        lambda: wb.empty(2, memory_format=wb.channels_last),
    ):
        with pytest.raises(
            RuntimeError, match="required rank 4 tensor to use channels_last format, got 1 dims"
        ):
            call()
    with pytest.raises(TypeError, match="must be a memory format such as"):
        wb.ones(2).contiguous(memory_format=3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'memory_format'"):
        wb.zeros(2, memory_format=wb.channels_last)


def test_gradients_go_through_another_order() -> None:
    x = wb.ones(1, 2, 3, 4, requires_grad=True)
    (x.contiguous(memory_format=wb.channels_last) * 2).sum().backward()
    assert x.grad is not None and x.grad.sum().item() == 48


def test_a_module_takes_a_format() -> None:
    layer = wb.nn.Conv2d(2, 3, 2).to(memory_format=wb.channels_last)
    assert layer.weight.is_contiguous(memory_format=wb.channels_last)
    x = wb.randn(1, 2, 4, 4)
    assert np.allclose(
        layer(x).detach().numpy(), layer.to(memory_format=wb.contiguous_format)(x).detach().numpy()
    )


def test_words_of_memory_are_single_objects() -> None:
    for one in (wb.channels_last, wb.strided):
        assert pickle.loads(pickle.dumps(one)) is one and copy.deepcopy(one) is one
    assert repr(wb.channels_last) == "workbench.channels_last"
    assert isinstance(wb.channels_last, wb.memory_format) and isinstance(wb.ones(1).layout, wb.layout)


# ------------------------------------------------------------------------------------------ older types


def test_older_types() -> None:
    assert wb.FloatTensor(2, 3).shape == wb.FloatTensor(wb.ones(2, 3).size()).shape == (2, 3)
    assert wb.FloatTensor((2, 3)).tolist() == [2.0, 3.0]
    assert wb.LongTensor([1.7, 2]).tolist() == [1, 2] and wb.BoolTensor([0, 2]).tolist() == [False, True]
    assert wb.HalfTensor(2).dtype is wb.float16 and wb.FloatTensor().shape == (0,)
    assert isinstance(wb.ones(2), wb.FloatTensor) and not isinstance(wb.ones(2), wb.LongTensor)
    assert not isinstance(3.0, wb.FloatTensor)
    x = wb.ones(2)
    wb.FloatTensor(x)[0] = 5.0
    assert x[0] == 5.0
    assert wb.ones(2).type(wb.LongTensor).dtype is wb.int64
    assert wb.ones(2).type("torch.LongTensor").dtype is wb.int64 and wb.ones(2).type() == "torch.FloatTensor"
    assert wb.FloatTensor.dtype is wb.float32 and repr(wb.FloatTensor) == "<class 'workbench.FloatTensor'>"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: wb.LongTensor(wb.ones(2)), "expected a tensor of type int64, got one of float32"),
        (lambda: wb.FloatTensor(2.5), "data must be a sequence"),
        (lambda: wb.FloatTensor("ab"), "made of numbers, got str"),
        (lambda: wb.FloatTensor(2, device="cuda"), "expects device type: cpu but device type: cuda"),
        (lambda: wb.Tensor(2, device="cuda"), "expects device type: cpu but device type: cuda"),
        (lambda: wb.ones(2).type("foo"), "is not a data type"),
        (lambda: wb.ones(2).type("torch.FooTensor"), "invalid type: 'torch.FooTensor'"),
        (lambda: wb.ones(2).type("torch.cuda.FloatTensor"), r"bring them there with x.to\('cuda'\)"),
        (lambda: wb.set_default_tensor_type("torch.LongTensor"), "only floating-point types"),
    ],
)
def test_what_older_types_refuse(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError, RuntimeError), match=words):
        call()


def test_new_of_a_type() -> None:
    x = wb.ones(2, dtype=wb.int64)
    assert x.new(2, 3).shape == (2, 3) and x.new([1.5]).tolist() == [1] and x.new().shape == (0,)
    assert x.new(2, 3).dtype is wb.int64 and wb.Tensor(x).dtype is wb.int64
    with pytest.raises(RuntimeError, match="legacy constructor expects device type"):
        x.new(2, device="cuda")


def test_the_default_type_by_an_older_name() -> None:
    with pytest.warns(UserWarning, match="use set_default_dtype"):
        wb.set_default_tensor_type("torch.DoubleTensor")
    try:
        assert wb.zeros(1).dtype is wb.float64
    finally:
        wb.set_default_dtype(wb.float32)


def test_sizes_are_a_tuple_that_counts() -> None:
    size = wb.ones(2, 3).size()
    assert isinstance(size, wb.Size) and isinstance(wb.ones(2, 3).shape, wb.Size) and size == (2, 3)
    assert size.numel() == 6 and (size + (4,)).numel() == 24 and ((4,) + size).numel() == 24  # noqa: RUF005
    assert isinstance(size * 2, wb.Size) and isinstance(2 * size, wb.Size) and wb.Size().numel() == 1
    assert pickle.loads(pickle.dumps(size)) == size and hash(size) == hash((2, 3))
    assert wb.ones(2, 3).size(dim=-1) == 3
    with pytest.raises(IndexError):
        wb.ones(2, 3).size(2)


# ----------------------------------------------------------------------------------------------- to


def test_to_takes_its_words_in_every_order() -> None:
    x = wb.ones(2)
    assert x.to("cpu", wb.float64, True, True).dtype is wb.float64
    assert (
        x.to(wb.float32, True, True) is not x
        and x.to(wb.float32, True) is x
        and x.to(None) is x
        and x.to() is x
    )
    assert x.to(wb.zeros(1, dtype=wb.int64), non_blocking=True, copy=True).dtype is wb.int64
    assert x.to(other=wb.zeros(1, dtype=wb.int64)).dtype is wb.int64
    assert x.to(dtype=wb.int64, device="cpu", non_blocking=True).dtype is wb.int64
    assert x.to(wb.device("cpu"), dtype=wb.int64).dtype is wb.int64
    with pytest.raises(RuntimeError, match="Invalid device, must be cuda device: got 'cpu'"):
        x.cuda("cpu")
    with pytest.raises(wb.DeviceError):
        x.to("nowhere")


# ---------------------------------------------------------------------------------- further factories


def test_memory_with_strides_by_hand() -> None:
    x = wb.empty_strided((2, 3), (1, 2))
    assert x.shape == (2, 3) and x.stride() == (1, 2) and x.dtype is wb.float32
    y = wb.ones(1, dtype=wb.int64).new_empty_strided((2, 2), (1, 2))
    assert y.dtype is wb.int64 and y.stride() == (1, 2) and wb.empty_strided((0, 2), (2, 1)).shape == (0, 2)
    for stride in ((1,), (1, -2)):
        with pytest.raises(wb.DimensionError, match="one step that is not negative for each dim"):
            wb.empty_strided((2, 3), stride)


def test_a_number_as_a_tensor() -> None:
    assert wb.scalar_tensor(3).dtype is wb.float32 and wb.scalar_tensor(3, dtype=wb.int64).item() == 3


def test_a_range_has_its_end() -> None:
    with pytest.warns(UserWarning, match="use arange"):
        assert wb.range(1, 2, 0.5).tolist() == [1.0, 1.5, 2.0]
    with (
        pytest.warns(UserWarning, match="use arange"),
        pytest.raises(ValueError, match="inconsistent with step sign"),
    ):
        wb.range(2, 1)


def test_the_switch_for_training_by_position() -> None:
    x = wb.ones(2, 3, 4)
    assert wb.dropout(x, 0.5, False).tolist() == x.tolist() == wb.alpha_dropout(x, 0.5, False).tolist()
    assert (
        wb.dropout_(x.clone(), 1.0, True).sum() == 0 and wb.feature_alpha_dropout(x, 0.5, False).sum() == 24
    )
    y = wb.randn(4, 3)
    norm = wb.nn.functional.batch_norm(y, None, None, training=True)
    assert wb.batch_norm(y, None, None, None, None, True, 0.1, 1e-5, True).tolist() == norm.tolist()
    z = wb.randn(2, 3, 5)
    norm = wb.nn.functional.instance_norm(z)
    assert wb.instance_norm(z, None, None, None, None, True, 0.1, 1e-5, True).tolist() == norm.tolist()


def test_words_that_python_keeps_for_itself() -> None:
    assert 1.0 <= wb.zeros(3).uniform_(**{"from": 1.0, "to": 2.0}).min().item() < 2.0
    with pytest.raises(RuntimeError, match="pin_memory=True requires an accelerator"):
        wb.tensor([1.0], pin_memory=True)

"""Values in and out of tensors: NumPy's protocols, DLPack, buffers; and what lies is refused without a trace."""

from __future__ import annotations

import array
import ctypes
import gc
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import workbench as wb
from workbench.base import dlpack

DTYPES = [
    "float16", "float32", "float64", "bfloat16", "complex64", "complex128",
    "int8", "int16", "int32", "int64", "uint8", "bool",
]  # fmt: skip


def values(dtype: str) -> np.ndarray:
    return (np.arange(12).reshape(3, 4) % 2).astype(wb.zeros(0, dtype=dtype).numpy().dtype)


# --------------------------------------------------------------------------------------------- NumPy


def test_array_protocol_copies_as_asked() -> None:
    x = wb.tensor([1.5, 2.5])
    assert np.asarray(x) is x.numpy()
    assert np.array(x, copy=False) is not None
    assert not np.shares_memory(np.array(x), x.numpy())
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="without a copy"):
        np.array(x, dtype=np.int64, copy=False)
    with pytest.raises(wb.AutogradError, match="detach"):
        np.asarray(wb.ones(2, requires_grad=True))


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_both_ways_shares_memory(dtype: str) -> None:
    source = values(dtype)
    x = wb.from_numpy(source.T)
    assert np.shares_memory(x.numpy(), source)
    assert x.dtype.name == dtype
    assert x.stride() == (1, 4)
    assert x.tolist() == source.T.astype(complex if dtype.startswith("complex") else float).tolist()


def test_arrays_on_the_left_give_tensors() -> None:
    x = wb.tensor([1.0, 2.0], names=("C",), requires_grad=True)
    a = np.array([3.0, 5.0], np.float32)
    for result, expected in [
        (a + x, [4, 7]), (a - x, [2, 3]), (a * x, [3, 10]), (a / x, [3, 2.5]), (a**x, [3, 25]),
        (a % x, [0, 1]), (a // x, [3, 2]), (np.float32(4) - x, [3, 2]), (np.maximum(a, x), [3, 5]),
        (np.add(a, x), [4, 7]), (np.negative(x), [-1, -2]),
    ]:  # fmt: skip
        assert isinstance(result, wb.Tensor)
        assert (result.names, result.dtype) == (("C",), wb.float32)
        assert result.tolist() == expected
    (a * x).sum().backward()
    assert x.grad.tolist() == [3.0, 5.0]
    assert (np.ones((2, 2), np.float32) @ x.rename(None)).tolist() == [3.0, 3.0]
    assert (a < x).tolist() == [False, False]
    assert (a != x).dtype is wb.bool
    assert (np.array([1, 2]) & wb.tensor([3, 3])).tolist() == [1, 2]
    assert np.exp(x).requires_grad
    assert (2 // wb.tensor([1, 2])).tolist() == [2, 1]


def test_arrays_keep_their_memory_and_other_functions_give_tensors() -> None:
    x, a = wb.tensor([1.0, 2.0]), np.zeros(2)
    held = a
    a += x
    assert a is held
    assert a.tolist() == [1.0, 2.0]
    assert np.cbrt(x).tolist() == pytest.approx([1.0, 2.0 ** (1 / 3)])
    assert np.add.reduce(x).item() == 3.0
    quotient, rest = np.divmod(wb.tensor([5, 7]), np.array([2, 4]))
    assert (quotient.tolist(), rest.tolist()) == ([2, 1], [1, 3])
    with pytest.raises(TypeError, match="out= takes arrays"):
        np.add(a, a, out=x)
    with pytest.raises(wb.AutogradError, match="detach"):
        np.cbrt(wb.ones(2, requires_grad=True))
    with pytest.raises(wb.DTypeError, match=r"dtype\('O'\) is not a data type"):
        np.array([1, None]) + x
    with pytest.raises(TypeError):
        np.add(x, "a")


def test_other_functions_of_numpy_see_arrays() -> None:
    x = wb.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert np.sum(x) == 10
    assert np.mean(x, axis=0).tolist() == [2.0, 3.0]
    assert np.concatenate([x, x]).shape == (4, 2)
    assert type(np.reshape(x, (4,))) is np.ndarray
    assert np.allclose(x, x.numpy())
    with pytest.raises(wb.AutogradError, match="detach"):
        np.sum(wb.ones(2, requires_grad=True))


def test_memory_that_tensors_cannot_count_is_refused() -> None:
    odd = np.zeros(4, np.dtype([("a", "<f4"), ("b", "u1")]))["a"]
    with pytest.raises(ValueError, match="Copy the numpy array"):
        wb.from_numpy(odd)
    with pytest.raises(wb.DTypeError, match="not a data type"):
        wb.from_numpy(np.zeros(2, ">f4"))
    with pytest.raises(TypeError, match="filled"):
        wb.from_numpy(np.ma.masked_array([1.0, 2.0], [True, False]))
    with pytest.raises(TypeError, match="filled"):
        wb.tensor(np.ma.masked_array([1.0, 2.0], [True, False]))
    assert type(wb.from_numpy(np.eye(2).view(np.recarray)).numpy()) is np.ndarray
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        wb.from_numpy(frozen).add_(1)


class Foreign:
    """An array of nobody's library: its `__array__` gives what it was told to, and `shape` may say something else."""

    def __init__(self, given: Any, shape: Any = None) -> None:
        self.given = given
        if shape is not None:
            self.shape = shape

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


@pytest.mark.parametrize("read", [wb.tensor, wb.as_tensor, wb.asarray])
def test_an_array_protocol_that_lies_is_refused(read: Callable[[Any], wb.Tensor]) -> None:
    assert read(Foreign(np.ones((2, 3)), (2, 3))).shape == (2, 3)
    with pytest.raises(wb.DimensionError, match=r"says that it has shape \[3\].* gave \[2, 3\]"):
        read(Foreign(np.ones((2, 3)), (3,)))
    with pytest.raises(ZeroDivisionError):
        read(Foreign(ZeroDivisionError("no")))
    with pytest.raises(wb.DTypeError, match="not numbers"):
        read(Foreign(np.array([object(), None])))
    with pytest.raises(ValueError, match="__array__"):
        read(Foreign([1.0, 2.0]))


# --------------------------------------------------------------------------------------------- DLPack


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_with_torch_shares_memory_both_ways(dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = wb.from_numpy(values(dtype)).T
    there = torch.from_dlpack(x)
    assert (tuple(there.shape), there.stride(), str(there.dtype)) == ((4, 3), (1, 4), f"torch.{dtype}")
    assert there.data_ptr() == x.data_ptr()
    back = wb.from_dlpack(there)
    assert (back.data_ptr(), back.stride(), back.dtype) == (x.data_ptr(), (1, 4), x.dtype)
    assert back.tolist() == x.tolist()
    there[0, 0] = 1
    assert complex(x[0, 0]) == 1
    assert wb.as_tensor(there).data_ptr() == x.data_ptr()
    assert wb.asarray(there, copy=True).data_ptr() != x.data_ptr()
    copied = wb.tensor(there)
    assert (copied.dtype, copied.tolist()) == (x.dtype, x.tolist())
    assert copied.data_ptr() != x.data_ptr()


@pytest.mark.parametrize("library", ["jax.numpy", "cupy"])
def test_dlpack_with_other_libraries(library: str) -> None:
    found = pytest.importorskip(library, reason=f"{library} is not installed")
    back = wb.from_dlpack(found.arange(3))
    assert back.cpu().tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", [one for one in DTYPES if one != "bfloat16"])
def test_dlpack_with_numpy(dtype: str) -> None:
    source = values(dtype)
    there = np.from_dlpack(wb.from_numpy(source))
    assert np.shares_memory(there, source)
    assert there.dtype == source.dtype


def test_dlpack_keeps_memory_alive_and_lets_it_go() -> None:
    source = np.ones(1000)
    before = sys.getrefcount(source)
    x = wb.from_dlpack(source.__dlpack__())
    y = x[3:]
    del x
    gc.collect()
    assert y.sum().item() == 997
    assert sys.getrefcount(source) == before + 1
    del y
    gc.collect()
    assert sys.getrefcount(source) == before


def test_dlpack_of_read_only_and_reversed_memory() -> None:
    frozen = np.ones(3)
    frozen.flags.writeable = False
    x = wb.from_numpy(frozen)
    with pytest.raises(BufferError, match="readonly"):
        x.__dlpack__()
    again = wb.from_dlpack(x.__dlpack__(max_version=(1, 0)))
    assert not again.numpy().flags.writeable
    backward = wb.from_dlpack(np.arange(4)[::-1].__dlpack__())
    assert (backward.tolist(), backward.stride()) == ([3, 2, 1, 0], (-1,))
    assert wb.from_dlpack(np.broadcast_to(np.float32(2), (3, 4)).__dlpack__(max_version=(1, 0))).stride() == (
        0,
        0,
    )
    assert wb.from_dlpack(np.zeros((0, 3)).__dlpack__()).shape == (0, 3)
    assert wb.from_dlpack(np.array(5.0).__dlpack__()).item() == 5


def test_dlpack_says_what_it_cannot_do() -> None:
    with pytest.raises(BufferError, match="require gradient"):
        wb.ones(2, requires_grad=True).__dlpack__()
    with pytest.raises(BufferError, match="require gradient"):
        wb.from_dlpack(wb.ones(2, requires_grad=True))
    with pytest.raises(BufferError, match="stream"):
        wb.ones(2).__dlpack__(stream=1)
    with pytest.raises(BufferError, match="quantized"):
        wb.quantize_per_tensor(wb.ones(2), 0.5, 0, wb.qint8).__dlpack__()
    with pytest.raises(TypeError, match="has no __dlpack__"):
        wb.from_dlpack([1, 2])
    with pytest.raises(wb.NoNumbersError):
        wb.graph.trace(lambda x: wb.from_numpy(np.from_dlpack(x)), wb.ones(2))
    assert wb.ones(2).__dlpack_device__() == (1, 0)
    assert wb.from_dlpack(np.ones(2), copy=True, device="cpu").tolist() == [1, 1]


def structure(capsule: Any) -> Any:
    return dlpack._managed(capsule)[1]


def spoiled(change: Callable[[Any], None], version: tuple[int, int] | None = None) -> Any:
    """A capsule around three float64 values, with a change in its structure."""
    capsule = np.arange(3.0).__dlpack__(max_version=version)
    change(structure(capsule))
    return capsule


def set_tensor(**fields: Any) -> Callable[[Any], None]:
    def change(managed: Any) -> None:
        for name, value in fields.items():
            setattr(managed.tensor, name, value)

    return change


def set_sizes(*sizes: int, strides: tuple[int, ...] | None = None) -> Callable[[Any], None]:
    held = (ctypes.c_int64 * len(sizes))(*sizes)
    steps = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
    KEPT.append((held, steps))

    def change(managed: Any) -> None:
        managed.tensor.ndim = len(sizes)
        managed.tensor.shape = ctypes.cast(held, ctypes.POINTER(ctypes.c_int64))
        managed.tensor.strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64)) if steps else None

    return change


KEPT: list[Any] = []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_sizes(-3), "negative sizes"),
        (set_sizes(-(2**63)), "negative sizes"),
        (set_sizes(2**62, 2**62), "overflows"),
        (set_sizes(2**50), "fit into no memory"),
        (set_sizes(0, 2**62, 2**62), "overflows"),
        (set_sizes(3, strides=(2**60,)), "fit into no memory"),
        (set_sizes(3, strides=(-(2**47),)), "fit into no memory"),
        (set_tensor(ndim=-1), "-1 dims"),
        (set_tensor(ndim=65), "65 dims"),
        (set_tensor(ndim=2**31 - 1), "dims"),
        (set_tensor(shape=None), "gives no sizes"),
        (set_tensor(data=None), "gives no memory"),
        (set_tensor(byte_offset=2**64 - 8), "fit into no memory"),
        (set_tensor(dtype=dlpack._Type(2, 64, 2)), "2 lanes"),
        (set_tensor(dtype=dlpack._Type(9, 8, 1)), "code 9"),
        (set_tensor(dtype=dlpack._Type(0, 4, 1)), "4 bits"),
        (set_tensor(device=dlpack._Device(2, 0)), "'cuda'"),
        (set_tensor(device=dlpack._Device(77, 0)), "number 77"),
    ],
)
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_that_describes_no_memory_is_refused_whole(
    change: Callable[[Any], None], message: str, version: tuple[int, int] | None
) -> None:
    capsule = spoiled(change, version)
    name = dlpack._name(capsule)
    with pytest.raises(BufferError, match=message):
        wb.from_dlpack(capsule)
    assert dlpack._name(capsule) == name, "it is still its owner's"


def test_a_capsule_is_used_once() -> None:
    for version in (None, (1, 0)):
        capsule = np.arange(3.0).__dlpack__(max_version=version)
        first = wb.from_dlpack(capsule)
        with pytest.raises(BufferError, match="was used already"):
            wb.from_dlpack(capsule)
        assert first.tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="from_dlpack"):
        wb.tensor(np.arange(3.0).__dlpack__())


def test_capsules_of_other_names_and_versions_are_refused() -> None:
    import datetime

    other = datetime.datetime_CAPI  # type: ignore[attr-defined]
    with pytest.raises(BufferError, match=r"got 'datetime\.datetime_CAPI'"):
        wb.from_dlpack(other)
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    memory = (ctypes.c_uint8 * 256)()
    with pytest.raises(BufferError, match="got None"):
        wb.from_dlpack(make(ctypes.addressof(memory), None, None))
    newer = np.arange(3.0).__dlpack__(max_version=(1, 0))
    structure(newer).major = 2
    with pytest.raises(BufferError, match=r"version 2\."):
        wb.from_dlpack(newer)
    structure_of = dlpack._Versioned.from_address(dlpack._pointer(newer, b"dltensor_versioned"))
    structure_of.major = 1  # its owner frees it


class Speaker:
    """Speaks DLPack, badly."""

    def __init__(self, device: Any = (1, 0), capsule: Any = None) -> None:
        self.device, self.capsule = device, capsule

    def __dlpack_device__(self) -> Any:
        return self.device

    def __dlpack__(self) -> Any:
        if isinstance(self.capsule, Exception):
            raise self.capsule
        return self.capsule


@pytest.mark.parametrize("read", [wb.from_dlpack, wb.as_tensor, wb.asarray, wb.tensor])
def test_objects_that_speak_it_badly_are_refused(read: Callable[[Any], wb.Tensor]) -> None:
    assert read(Speaker(capsule=np.arange(2).__dlpack__())).tolist() == [
        0,
        1,
    ]  # the first version of the protocol
    with pytest.raises(BufferError, match="two whole numbers"):
        read(Speaker(device="cpu"))
    with pytest.raises(BufferError, match="must return a capsule, got NoneType"):
        read(Speaker())
    with pytest.raises(ZeroDivisionError):
        read(Speaker(capsule=ZeroDivisionError()))
    if read is not wb.tensor:
        with pytest.raises(wb.DeviceError):
            read(Speaker(device=(2, 0)))
        with pytest.raises(wb.DeviceError, match="number 99"):
            read(Speaker(device=(99, 0)))


# --------------------------------------------------------------------------------------------- buffers


def test_buffers_share_memory() -> None:
    memory = bytearray(8)
    x = wb.frombuffer(memory, dtype="int16", count=2, offset=2)
    x.fill_(-1)
    assert memory == b"\0\0\xff\xff\xff\xff\0\0"
    assert wb.frombuffer(b"\x80\x3f", dtype="bfloat16").tolist() == [1.0]
    assert wb.asarray(array.array("i", [1, 2])).tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        wb.frombuffer(b"abcd", dtype="uint8").zero_()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"buffer": b""}, r"both buffer length \(0\) and count \(-1\) must not be 0"),
        ({"buffer": b"abcd", "count": 0}, "must not be 0"),
        ({"buffer": b"abc"}, "must be a multiple of element size"),
        ({"buffer": b"abcd", "offset": 9}, "no greater than buffer length"),
        ({"buffer": b"abcd", "offset": -1}, "non-negative"),
        ({"buffer": b"abcd", "count": 9}, "must not be greater than actual"),
        ({"buffer": b"abcd", "count": 2**62}, "must not be greater than actual"),
        ({"buffer": b"abcde", "offset": 1}, "cannot begin at byte 1"),
        ({"buffer": 3}, "does not implement Python buffer protocol"),
        ({"buffer": memoryview(b"abcdef")[::2]}, "has gaps"),
    ],
)
def test_buffers_that_do_not_fit_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wb.frombuffer(**arguments, dtype="int16")


def test_asarray_shares_where_it_can() -> None:
    a = np.ones(2, np.float32)
    x = wb.tensor([1.0], requires_grad=True)
    assert wb.asarray(a).numpy() is a
    assert wb.asarray(a, copy=True).numpy() is not a
    assert wb.asarray(x, requires_grad=True) is x
    assert not wb.asarray(x).requires_grad
    assert wb.asarray(0.1, dtype="float64").item() == 0.1
    assert wb.asarray([1, 2], dtype="float16").dtype is wb.float16
    with pytest.raises(ValueError, match="can't alias tensor with dtype 'float32' into dtype 'int64'"):
        wb.asarray(a, dtype="int64", copy=False)
    with pytest.raises(ValueError, match="cannot be shared"):
        wb.asarray([1, 2], copy=False)


# --------------------------------------------------------------------------------- Python's own protocols


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

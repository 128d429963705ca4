"""Values in and out of tensors by DLPack; and what lies is refused without a trace."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.tensor.parts import DTYPES, values
from workbench.base import dlpack


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

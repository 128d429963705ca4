"""What is made from numbers is used as long as the count of changes, or the numbers, say that they are the same."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import nn
from workbench.core.lending import Stamp
from workbench.nn.modules import prepared
from workbench.nn.utils import parametrizations
from workbench.widgets.values import values_of

needs_kernel = pytest.mark.skipif(nn.Conv2d.op.kernel is None, reason="nothing is packed without kernels")

Write = Callable[[], Any]


def _by_numpy(weight: Any) -> Write:
    array = weight.detach().numpy()
    return lambda: array.__setitem__(0, 5.0)


def _by_array(weight: Any) -> Write:
    array = np.asarray(weight.detach()[0])
    return lambda: array.__setitem__(0, 5.0)


def _by_function_of_numpy(weight: Any) -> Write:
    array: Any = np.ravel(weight.detach())
    return lambda: array.__setitem__(0, 5.0)


def _by_dlpack(weight: Any) -> Write:
    array: Any = wb.from_dlpack(weight.detach().__dlpack__())
    return lambda: array.fill_(5.0)


def _by_address(weight: Any) -> Write:
    where = weight.data_ptr()
    array = np.frombuffer((np.ctypeslib.ctypes.c_float * 4).from_address(where), np.float32)
    return lambda: array.__setitem__(0, 5.0)


def _by_data(weight: Any) -> Write:
    data = weight.data
    return lambda: data.mul_(3.0)


def _by_view_of_data(weight: Any) -> Write:
    part = weight.data[0]
    return lambda: part.mul_(3.0)


def _by_array_of_data(weight: Any) -> Write:
    array = weight.data.numpy()
    gc.collect()
    return lambda: array.__setitem__(0, 5.0)


def _by_copy(weight: Any) -> Write:
    other = copy.copy(weight)
    return lambda: other.detach().mul_(3.0)


def _by_another_parameter(weight: Any) -> Write:
    other = nn.Parameter(weight.detach())
    return lambda: other.detach().mul_(3.0)


def _by_what_took_its_data(weight: Any) -> Write:
    other = wb.zeros(tuple(weight.shape))
    other.data = weight.detach()
    return lambda: other.mul_(3.0)


def _by_buffers_of_a_pickle(weight: Any) -> Write:
    buffers: list[pickle.PickleBuffer] = []
    pickle.dumps(weight.detach(), protocol=5, buffer_callback=buffers.append)
    array = np.frombuffer(buffers[0], np.float32)
    return lambda: array.__setitem__(0, 5.0)


DOORS = {
    one.__name__[4:]: one
    for one in (
        _by_numpy, _by_array, _by_function_of_numpy, _by_dlpack, _by_address, _by_data, _by_view_of_data,
        _by_array_of_data, _by_copy, _by_another_parameter, _by_what_took_its_data, _by_buffers_of_a_pickle,
    )
}  # fmt: skip


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many values were compared, in one list for each comparison."""
    seen: list[int] = []
    same_bits = prepared._same_bits

    def noted(a: Any, b: Any) -> bool:
        seen.append(a.size)
        return same_bits(a, b)

    monkeypatch.setattr(prepared, "_same_bits", noted)
    return seen


def _layer() -> Any:
    return nn.Conv2d(2, 3, 3).eval()


X = wb.randn(1, 2, 5, 5, generator=wb.Generator().manual_seed(1))


def _right(layer: Any) -> None:
    """What the layer gives is what its weights of now give."""
    with wb.no_grad():
        got = layer(X)
    weight, bias = (wb.tensor(one.detach().tolist()) for one in (layer.weight, layer.bias))
    np.testing.assert_allclose(
        got.tolist(), nn.functional.conv2d(X, weight, bias).tolist(), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("packed", ["before", "after"])
def test_what_is_written_by_another_way_is_seen(door: str, packed: str) -> None:
    layer = _layer()
    if packed == "before":
        _right(layer)
    stamp = Stamp(layer.weight)
    write = DOORS[door](layer.weight)
    assert not stamp.holds(layer.weight)
    _right(layer)
    old = layer.weight.tolist()
    write()
    assert layer.weight.tolist() != old, "the test writes nothing"
    _right(layer)
    write()
    _right(layer)


@pytest.mark.parametrize(
    "change",
    [
        lambda w: w.detach().mul_(2.0),
        lambda w: w.detach()[0, 1].fill_(7.0),
        lambda w: w.detach().view(-1)[3:5].zero_(),
        lambda w: w.detach().__setitem__(0, 1.0),
        lambda w: nn.init.ones_(w),
    ],
    ids=["in place", "a view", "a view of a view", "by index", "init"],
)
def test_what_is_counted_is_seen(change: Any) -> None:
    layer = _layer()
    _right(layer)
    change(layer.weight)
    _right(layer)
    layer.bias.detach().add_(1.0)
    _right(layer)


def test_a_step_of_an_optimizer_a_loaded_state_and_other_memory_are_seen() -> None:
    layer = _layer()
    _right(layer)
    optimizer = wb.optim.SGD(layer.parameters(), lr=0.5)
    layer(X).sum().backward()
    optimizer.step()
    _right(layer)
    layer.load_state_dict(_layer().state_dict())
    _right(layer)
    layer.load_state_dict(_layer().state_dict(), assign=True)
    _right(layer)
    layer.weight.data = wb.randn(3, 2, 3, 3)
    _right(layer)
    layer.weight = nn.Parameter(wb.randn(3, 2, 3, 3))
    _right(layer)
    layer.bias.data.add_(1.0)
    _right(layer)


def test_an_owner_that_came_and_went_unseen_is_seen() -> None:
    layer = _layer()
    _right(layer)
    layer.weight.data.mul_(2.0)
    _right(layer)
    layer.weight.data.mul_(2.0)
    _right(layer)


@needs_kernel
def test_weights_that_nobody_else_has_are_not_compared(compared: list[int]) -> None:
    layer = _layer()
    for _ in range(3):
        _right(layer)
    assert not compared
    wb.nn.init.zeros_(layer.weight)  # counted, so that the first comparison ends it
    _right(layer)
    assert len(compared) == 1
    layer._prepared, compared[:] = None, []
    for _ in range(3):
        _right(layer)
    assert not compared


@needs_kernel
def test_weights_in_other_hands_are_compared(compared: list[int]) -> None:
    layer = _layer()
    _right(layer)
    array = layer.weight.detach().numpy()
    _right(layer)
    _right(layer)
    assert compared == [54, 54]
    del array  # nobody knows who has it: it stays so
    _right(layer)
    assert len(compared) == 3


@needs_kernel
def test_memory_is_alone_again_when_its_other_owner_is_gone(compared: list[int]) -> None:
    layer = _layer()
    nn.init.normal_(layer.weight.data)  # as programs are written
    _right(layer)
    _right(layer)
    assert not compared
    data = layer.weight.data
    _right(layer)
    _right(layer)
    assert len(compared) == 2
    data.mul_(2.0)
    del data
    _right(layer)
    compared.clear()
    _right(layer)
    assert not compared


@needs_kernel
def test_to_look_at_weights_lends_nothing(compared: list[int], tmp_path: Any) -> None:
    layer = _layer()
    _right(layer)
    weight = layer.weight
    repr(weight), weight.tolist(), weight.detach().max().item(), weight.is_set_to(weight.detach())
    weight.detach().__dlpack__(copy=True)
    wb.interop.safetensors.save_file(layer.state_dict(), tmp_path / "weights.safetensors")
    assert values_of(weight) is not None
    copy.deepcopy(layer)
    wb.optim.SGD(layer.parameters(), lr=0.1).zero_grad()
    _right(layer)
    assert not compared


@needs_kernel
def test_a_weight_that_is_computed_is_compared_and_not_packed_again(
    compared: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = parametrizations.weight_norm(_layer())
    with wb.no_grad():
        first = layer(X)
        packed = layer._prepared
        assert layer(X).tolist() == first.tolist()
    assert layer._prepared is packed
    assert compared


def test_a_stamp_holds_nothing() -> None:
    weight = wb.ones(3)
    stamp, memory = Stamp(weight), weight.payload
    weight.payload = np.zeros(3, np.float32)
    assert not stamp.holds(weight)
    weight.payload = memory
    assert stamp.holds(weight)
    del weight, memory
    gc.collect()
    assert stamp._owner() is None
    assert stamp._memory() is None


def test_what_comes_from_elsewhere_is_in_other_hands() -> None:
    array = np.zeros(4, np.float32)
    for value in (wb.from_numpy(array), wb.as_tensor(array), wb.frombuffer(bytearray(8), dtype="float32")):
        assert not Stamp(value).holds(value)
        assert not Stamp(nn.Parameter(value)).holds(nn.Parameter(value))
        own = value.clone()
        assert Stamp(own).holds(own)
    data = pickle.dumps(wb.ones(3), protocol=5)
    assert pickle.loads(data).tolist() == [1.0, 1.0, 1.0]


def test_owners_of_one_memory_learn_what_the_others_do() -> None:
    first = wb.zeros(3)
    second, third = first.data, nn.Parameter(first)
    own = wb.zeros(3)
    kept = own.data
    own.data = second  # into the circle of others; what shared its memory is told
    for value in (first, second, third, own, kept):
        assert not Stamp(value).holds(value)
    array = third.detach().numpy()
    del second, own, kept
    gc.collect()
    assert not Stamp(first).holds(first)
    del array
    for _ in range(100):
        first.data.add_(1.0)
    assert first.tolist() == [100.0] * 3

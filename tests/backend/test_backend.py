"""A backend from outside: found by its entry point, with gradients, names and graphs for nothing."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core import backend as registry

HERE = Path(__file__).parent / "toy_backend"


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example package as an installer would leave it: importable, with its entry point."""
    facts = tmp_path / "toy_backend-0.1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-backend\nVersion: 0.1\n")
    (facts / "entry_points.txt").write_text("[workbench.backends]\ntoy = toy_backend:BACKEND\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(HERE))
    for state in ("_by_name", "_by_array", "_unavailable"):
        monkeypatch.setattr(registry, state, {})
    monkeypatch.setattr(registry, "_asked", [])
    monkeypatch.setattr(registry, "_warned", set())
    yield
    sys.modules.pop("toy_backend", None)


MAKERS: dict[str, tuple[Any, ...]] = {
    "arange": (3,),
    "as_tensor": ([1.0],),
    "asarray": ([1.0],),
    "bartlett_window": (4,),
    "blackman_window": (4,),
    "empty": (2,),
    "empty_like": (wb.zeros(2),),
    "empty_strided": ((2,), (1,)),
    "eye": (2,),
    "fftfreq": (4,),
    "full": ((2,), 0.5),
    "full_like": (wb.zeros(2), 0.5),
    "hamming_window": (4,),
    "hann_window": (4,),
    "kaiser_window": (4,),
    "linspace": (0, 1, 3),
    "logspace": (0, 1, 3),
    "normal": (0.0, 1.0, (2,)),
    "ones": (2,),
    "ones_like": (wb.zeros(2),),
    "rand": (2,),
    "rand_like": (wb.zeros(2),),
    "randint": (0, 3, (2,)),
    "randint_like": (wb.zeros(2), 0, 3),
    "randn": (2,),
    "randn_like": (wb.zeros(2),),
    "randperm": (2,),
    "rfftfreq": (4,),
    "scalar_tensor": (3.0,),
    "tensor": ([1.0],),
    "tril_indices": (2, 2),
    "triu_indices": (2, 2),
    "zeros": (2,),
    "zeros_like": (wb.zeros(2),),
}
"""Arguments of everything that makes a tensor on a device."""


def _takes_a_device(function: Any) -> bool:
    return inspect.isfunction(function) and "device" in inspect.signature(function).parameters


def test_every_function_that_takes_a_device_is_known_here() -> None:
    found = {name for room in (wb, wb.fft) for name in dir(room) if _takes_a_device(getattr(room, name))}
    # What DLPack gives lies where it lies: tests/tensor. The default device is made nowhere.
    # What is sparse has tests of its own, and `range` is an older `arange`, which warns.
    elsewhere = {"from_dlpack", "get_device_module", "set_default_device"}
    elsewhere |= {"range", "sparse_coo_tensor", "sparse_csr_tensor"}
    assert found - elsewhere == set(MAKERS)


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("name", MAKERS)
def test_a_device_that_is_asked_for_is_where_the_tensor_is(name: str) -> None:
    make = getattr(wb if hasattr(wb, name) else wb.fft, name)
    assert make(*MAKERS[name], device="toy").device == "toy"
    assert make(*MAKERS[name]).device == "cpu"


@pytest.mark.usefixtures("toy")
def test_it_is_found_when_it_is_named_and_computes() -> None:
    x = wb.tensor([1.0, 2.0], names=("C",)).to("toy")
    assert (x.device, x.device.type, x.names, x.dtype) == ("toy", "toy", ("C",), wb.float32)
    y = (x * x + 1.0).exp()
    assert y.device == "toy"
    assert y.names == ("C",)
    np.testing.assert_allclose(y.cpu().numpy(), np.exp([2.0, 5.0]), rtol=1e-6)
    assert wb.backends()["toy"] == "available"


@pytest.mark.usefixtures("toy")
def test_gradients_reach_leaves_on_both_sides() -> None:
    here = wb.tensor([1.0, 2.0], names=("C",), requires_grad=True)
    there = wb.tensor([3.0, 4.0], names=("C",)).to("toy").requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (here.to("toy") * there).exp().sum().backward()
    assert (here.grad.device, here.grad.names) == ("cpu", ("C",))
    assert (there.grad.device, there.grad.names) == ("toy", ("C",))
    e = np.exp([3.0, 8.0])
    np.testing.assert_allclose(here.grad.numpy(), e * [3.0, 4.0], rtol=1e-6)
    np.testing.assert_allclose(there.grad.cpu().numpy(), e * [1.0, 2.0], rtol=1e-6)


@pytest.mark.usefixtures("toy")
def test_a_graph_runs_on_it() -> None:
    graph = wb.graph.trace(lambda x: (x * 2.0).exp(), wb.ones(2))
    assert graph(wb.zeros(2).to("toy")).device == "toy"


@pytest.mark.usefixtures("toy")
def test_a_missing_kernel_is_computed_on_the_cpu_with_one_warning() -> None:
    x = wb.tensor([1.0, 2.0]).to("toy")
    with pytest.warns(UserWarning, match="has no kernel for op 'cumsum': it is computed on the CPU") as seen:
        y = x.cumsum(0).cumsum(0)
    assert len(seen) == 1
    assert y.device == "toy"
    assert y.cpu().tolist() == [1.0, 4.0]


@pytest.mark.usefixtures("toy")
def test_where_the_cpu_may_not_stand_in_it_says_so() -> None:
    _, found = registry.find("toy")
    strict = replace(found, fallback=False)
    registry._by_name["toy"] = registry._by_array[found.array] = strict
    x = wb.tensor([1.0, 2.0]).to("toy")
    with pytest.raises(wb.DeviceError, match=r"no kernel for op 'cumsum'.*kernels\[\"cumsum\"\]"):
        x.cumsum(0)
    assert (x + x).device == "toy"


@pytest.mark.usefixtures("toy")
def test_what_does_not_go_together_is_refused() -> None:
    x = wb.tensor([1.0, 2.0]).to("toy")
    with pytest.raises(wb.DeviceError, match=r"same device, but found at least two devices, toy and cpu"):
        x + wb.ones(2)
    assert (x * wb.tensor(2.0)).cpu().tolist() == [2.0, 4.0]  # a CPU tensor without dims goes with all
    with pytest.raises(wb.DeviceError, match="can't convert toy device type tensor to numpy"):
        x.numpy()
    assert x.tolist() == [1.0, 2.0]


@pytest.mark.usefixtures("toy")
def test_changes_in_place() -> None:
    x = wb.tensor([1.0, 2.0]).to("toy")
    x.add_(1.0)
    assert x.tolist() == [2.0, 3.0]
    with pytest.warns(UserWarning, match="no kernel for op 'index'"):
        first = x[0]
    with pytest.raises(wb.NoNumbersError, match="shares no memory"):
        first.add_(1.0)


def test_unknown_and_unusable_devices() -> None:
    with pytest.raises(wb.DeviceError, match=r"there is no device 'gpu' here.*There are: cpu"):
        wb.ones(2).to("gpu")
    with pytest.raises(RuntimeError, match="Invalid device string: 'GPU 1'"):
        wb.Device("GPU 1")
    with pytest.raises(
        wb.DeviceError, match="must have shape, dtype, ndim and nbytes; dict has no shape, dtype"
    ):
        wb.register_backend(wb.Backend("odd", dict, dict, dict))


@pytest.mark.usefixtures("toy")
def test_modules_move_there_and_load_and_start_there() -> None:
    layer = wb.nn.Linear(2, 3)
    weight = layer.weight
    weight.grad = wb.zeros(3, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer.to("toy")
        assert layer.weight is weight and weight.dim_labels == ("out_features", "in_features")
        assert (weight.device, weight.grad.device) == ("toy", "toy")
        layer.load_state_dict({"weight": np.ones((3, 2)), "bias": wb.ones(3, dtype="float64")})
        assert weight.device == "toy" and weight.detach().cpu().tolist() == [[1, 1]] * 3
        assert layer.bias is not None and layer.bias.dtype is wb.float32
        wb.nn.init.zeros_(weight)
        assert weight.device == "toy" and weight.detach().cpu().tolist() == [[0, 0]] * 3
        state = layer.state_dict()
        layer.cpu().load_state_dict(state)
        assert weight.device == "cpu" and weight.tolist() == [[0, 0]] * 3
        assert layer.to_empty(device="toy").weight.device == "toy"

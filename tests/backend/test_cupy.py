"""The device ``cuda`` by way of CuPy: on a GPU where there is one, and its logic on a stand-in everywhere."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.backend import fake_cupy
from workbench.base.lazy import Lazy
from workbench.core import backend as registry
from workbench.core.op import Op, ops
from workbench.core.value import Value, new
from workbench.interop import cupy as adapter


def no_gpu() -> str:
    """Why there is no GPU here; empty where there is one."""
    try:
        import cupy
    except ImportError as error:
        return f"CuPy is not installed: {error}"
    return "" if cupy.cuda.is_available() else "there is no GPU that CuPy can use"


def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: ModuleType | None) -> None:
    """Offer the adapter by its entry point, with this module as CuPy (None for the real one)."""
    facts = tmp_path / "offered-0.1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: offered\nVersion: 0.1\n")
    (facts / "entry_points.txt").write_text("[workbench.backends]\ncuda = workbench.interop.cupy:backend\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    if module is not None:
        monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setattr(adapter, "_cupy", Lazy("cupy"))
    for state in ("_by_name", "_by_array", "_unavailable"):
        monkeypatch.setattr(registry, state, {})
    monkeypatch.setattr(registry, "_asked", [])
    monkeypatch.setattr(registry, "_warned", set())


@pytest.fixture(params=["stand-in", "GPU"])
def cuda(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "GPU" and no_gpu():
        pytest.skip(no_gpu())
    install(monkeypatch, tmp_path, fake_cupy.make() if request.param == "stand-in" else None)
    return "cuda"


def there(value: Any) -> Any:
    return new(registry.move(value.payload, "cuda"), value._names) if isinstance(value, Value) else value


def calls(op: Op, dtype: Any) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    for sample in op.samples():
        inputs = [
            new(one.astype(dtype) if one.dtype == np.float64 else one) if isinstance(one, np.ndarray) else one
            for one in sample.inputs
        ]
        yield inputs, dict(sample.params)


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("name", sorted(adapter.GENERIC | adapter.KERNELS.keys()))
def test_an_op_computes_there_what_it_computes_here(name: str) -> None:
    op = getattr(ops, name)
    ran = 0
    for dtype in (np.float32, np.float64, np.float16):
        for inputs, params in calls(op, dtype):
            try:
                wanted = op(*inputs, **params)
            except (wb.DTypeError, ValueError):
                continue  # not every type, or its width, is every op's
            with warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)  # nothing may be left to the CPU
                found = op(*map(there, inputs), **params)
            several = [one if isinstance(one, tuple) else (one,) for one in (found, wanted)]
            for got, want in zip(*several, strict=True):
                assert (got.device, got.dtype, got.shape) == ("cuda:0", want.dtype, want.shape)
                np.testing.assert_allclose(
                    got.cpu().numpy().astype(complex), want.numpy().astype(complex),
                    rtol=2e-3 if dtype == np.float16 else 1e-4, atol=1e-4,
                )  # fmt: skip
            ran += 1
    assert ran


def test_every_view_is_a_view_there_or_refuses_to_be_written_to(cuda: str) -> None:
    assert {op.name for op in ops if op.view} - adapter.GENERIC - adapter.KERNELS.keys() <= {"as_strided"}
    x = wb.zeros(3, 4).to(cuda)
    for view in (x[1], x.T[0], x.diagonal(), x.unsqueeze(0)[0, 2], x.reshape(12)[3:5], x.unfold(1, 2, 2)[0]):
        before = x.cpu().numpy().sum()
        view.add_(1.0)
        assert x.cpu().numpy().sum() > before
    copied = x.T.reshape(12)
    copied.add_(1.0)
    assert copied.cpu().numpy().sum() == x.cpu().numpy().sum() + 12
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        strided = x.as_strided((2,), (1,))
    with pytest.raises(wb.NoNumbersError, match="shares no memory"):
        strided.add_(1.0)
    z = wb.complex(wb.ones(2), wb.ones(2)).to(cuda)
    mirrored = z.conj()
    with pytest.raises(wb.NoNumbersError, match="shares no memory"):
        mirrored.add_(1j)
    assert (mirrored.cpu().tolist(), z.cpu().tolist()) == ([1 - 1j, 1 - 1j], [1 + 1j, 1 + 1j])


def test_gradients_and_names_go_along(cuda: str) -> None:
    wb.manual_seed(0)
    x, w, b = wb.randn(N=5, C=3), wb.randn(4, 3), wb.randn(4)

    def loss(x: Any, w: Any, b: Any) -> Any:
        hidden = wb.nn.functional.linear(x.rename(None), w, b).relu()
        return (hidden.softmax(-1).log() * hidden).sum() + (x.exp().mean("C") ** 2).sum()

    here = [one.clone().requires_grad_() for one in (x, w, b)]
    away = [one.to(cuda).requires_grad_() for one in (x, w, b)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        value = loss(*away)
        value.backward()
    assert value.device == "cuda:0"
    expected = loss(*here)
    expected.backward()
    assert value.item() == pytest.approx(expected.item(), rel=1e-5)
    assert away[0].grad.names == ("N", "C")
    for one, other in zip(away, here, strict=True):
        assert one.grad.device == "cuda:0"
        np.testing.assert_allclose(one.grad.cpu().numpy(), other.grad.numpy(), rtol=1e-4, atol=1e-6)


def test_what_it_has_no_kernel_for_is_computed_on_the_cpu(cuda: str) -> None:
    x = wb.tensor([0.5, 1.5], names=("C",)).to(cuda)
    with pytest.warns(UserWarning, match="no kernel for op 'lgamma': it is computed on the CPU"):
        y = x.lgamma()
    assert (y.device, y.names) == ("cuda:0", ("C",))


def test_sixteen_bits_stay_sixteen_bits(cuda: str) -> None:
    x = wb.tensor([1.0, 2.0], dtype="float16").to(cuda)
    assert (x * x).dtype is wb.float16
    assert x.exp().dtype is wb.float16
    with pytest.raises(wb.DTypeError, match="CuPy has no bfloat16"):
        wb.ones(2, dtype="bfloat16").to(cuda)


def test_devices_and_memory(cuda: str) -> None:
    x = wb.ones(2).to("cuda:0")
    assert (x.device, x.device.index) == ("cuda:0", 0)
    assert x.to(cuda) is x
    with pytest.raises(wb.DeviceError, match="there is no device 'cuda:99'"):
        wb.ones(2).to("cuda:99")
    with pytest.raises(wb.DeviceError, match="same device"):
        x + wb.ones(2)
    assert (x * wb.tensor(2.0)).tolist() == [2.0, 2.0]
    with pytest.raises(wb.DeviceError, match="can't convert cuda:0"):
        np.asarray(x)
    assert x.numpy(force=True).tolist() == [1.0, 1.0]
    assert x.data_ptr()
    assert x.__dlpack_device__() == (2, 0)
    shared = wb.from_dlpack(x.payload)
    shared.fill_(5.0)
    assert x.tolist() == [5.0, 5.0]
    assert shared.device == "cuda:0"


def test_it_prints_the_part_that_is_shown(cuda: str) -> None:
    assert repr(wb.ones(2).to(cuda)) == "tensor([1., 1.], device='cuda:0')"
    x = wb.ones(1000, 50).to(cuda)
    text = repr(x)
    assert "device='cuda:0'" in text
    assert " ..." in text
    assert "cuda:0" in x._repr_mimebundle_()["text/html"]
    many = wb.zeros(2**21).to(cuda)
    assert "the values stay on cuda:0" in many._repr_mimebundle_()["text/html"]


def test_without_cupy_or_a_gpu_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tmp_path, fake_cupy.make(gpus=0))
    with pytest.raises(wb.DeviceError, match=r"no device 'cuda' here \(CuPy is installed and finds no GPU"):
        wb.ones(2).to("cuda")
    for state in ("_by_name", "_unavailable"):
        monkeypatch.setattr(registry, state, {})
    monkeypatch.setattr(registry, "_asked", [])
    monkeypatch.setattr(adapter, "_cupy", Lazy("a_module_that_is_not_there"))
    with pytest.raises(
        wb.DeviceError, match=r"\(cannot be imported: No module named 'a_module_that_is_not_there'"
    ):
        wb.ones(2).to("cuda")

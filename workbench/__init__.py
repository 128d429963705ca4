"""Workbench: named tensors, gradients, quantization and live views, in one notebook.

>>> import workbench as wb
>>> images = wb.zeros(N=2, C=1, H=28, W=28)
>>> images.mean(["C", "H", "W"]).names
('N',)
"""

from __future__ import annotations

import importlib as _importlib
import sys as _sys
from functools import partial as _partial
from math import e, inf, nan, pi
from typing import Any as _Any

from workbench import (
    _start,  # noqa: F401
    autograd,
    fft,
    kernels,
    linalg,
    names,
    nn,
    optim,
    return_types,
    sparse,
    special,
)
from workbench.autograd import (
    autocast,
    clear_autocast_cache,
    enable_grad,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    grad_enabled,
    inference_mode,
    is_autocast_cache_enabled,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_autocast_cache_enabled,
    set_grad_enabled,
)  # fmt: skip
from workbench.base import renderer_lookup as _rich
from workbench.base.absent import absent as _absent
from workbench.base.devices import Device
from workbench.base.devices import Device as device
from workbench.base.dtypes import (
    DType,
    bfloat16,
    can_cast,
    complex64,
    complex128,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    qint8,
    qint32,
    quint2x4,
    quint4x2,
    quint8,
    set_default_dtype,
    uint8,
)
from workbench.base.dtypes import DType as dtype
from workbench.base.dtypes import bool_ as bool
from workbench.base.errors import (
    AutogradError,
    DeviceError,
    DimensionError,
    DimensionIndexError,
    DTypeError,
    NoNumbersError,
    QuantizationError,
    WeightsError,
)
from workbench.base.imported import when_imported as _when_imported
from workbench.base.memory_formats import Layout as layout
from workbench.base.memory_formats import MemoryFormat as memory_format
from workbench.base.memory_formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    preserve_format,
    sparse_coo,
    sparse_csr,
    strided,
)
from workbench.base.module_types import Gathered as _Gathered
from workbench.base.quantized_array import QScheme as _QScheme
from workbench.base.random import (
    Generator,
    default_generator,
    fork_rng,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)  # fmt: skip
from workbench.base.symbolic_size import SymbolicSize as SymInt
from workbench.core.backend import Backend, register_backend
from workbench.core.size import Size
from workbench.func import vmap
from workbench.kernels import get_num_threads, set_num_threads
from workbench.lab.extension import labextension_paths as _jupyter_labextension_paths  # noqa: F401
from workbench.nn.summary import summary
from workbench.ops import FUNCTIONS as _FUNCTIONS
from workbench.tensor import Tensor
from workbench.tensor.absent import ELSEWHERE as _OF_TENSORS
from workbench.tensor.absent import RAGGED as _RAGGED
from workbench.tensor.external_memory import as_tensor, asarray, from_dlpack, frombuffer
from workbench.tensor.factories import (
    empty,
    empty_like,
    empty_strided,
    eye,
    from_numpy,
    full,
    full_like,
    ones,
    ones_like,
    scalar_tensor,
    tensor,
    zeros,
    zeros_like,
)  # fmt: skip
from workbench.tensor.legacy_types import LEGACY_TYPES as _LEGACY_TYPES
from workbench.tensor.legacy_types import set_default_tensor_type
from workbench.tensor.printing import set_printoptions
from workbench.tensor.random import (
    bernoulli,
    binomial,
    multinomial,
    normal,
    poisson,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
)  # fmt: skip
from workbench.tensor.ranges import arange, linspace, logspace, range
from workbench.tensor.sparse import sparse_coo_tensor, sparse_csr_tensor
from workbench.tensor.type_queries import finfo, iinfo, is_tensor, numel, result_type

__all__ = [
    "AutogradError", "Backend", "DType", "DTypeError", "Device", "DeviceError", "DimensionError",
    "DimensionIndexError", "Generator", "NoNumbersError", "QuantizationError", "Tensor", "WeightsError", "arange",
    "as_tensor", "autocast", "autograd", "backends", "bernoulli", "bfloat16", "binomial", "bool", "can_cast",
    "complex128", "complex64", "data", "default_generator", "device", "e", "empty", "empty_like", "enable_grad", "eye",
    "fft", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "fork_rng", "from_numpy",
    "full", "full_like", "func", "get_default_dtype",
    "get_num_threads", "get_rng_state", "grad_enabled", "inf", "inference_mode", "initial_seed", "int16", "int32",
    "int64", "int8", "is_autocast_enabled", "is_grad_enabled", "is_inference_mode_enabled", "kernels", "linalg",
    "linspace", "logspace", "manual_seed", "models", "multinomial", "names", "nan", "newaxis", "nn", "no_grad",
    "normal", "ones", "ones_like", "optim", "pi", "poisson", "promote_types", "qint32", "qint8", "quint2x4",
    "quint4x2", "quint8", "rand",
    "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "register_backend", "return_types",
    "seed", "set_default_dtype", "set_grad_enabled", "set_num_threads", "set_rng_state", "sparse",
    "sparse_coo", "sparse_coo_tensor", "sparse_csr", "sparse_csr_tensor", "special", "summary",
    "tensor", "uint8", "vmap", "zeros", "zeros_like",
]  # fmt: skip

float, double, half = float32, float64, float16
long, int, short = int64, int32, int16
cfloat, cdouble = complex64, complex128
"""PyTorch's short names of types."""
__all__ += ["cdouble", "cfloat", "double", "float", "half", "int", "long", "short"]

newaxis = None
"""In an index: a new dim of size 1."""
__all__ += ["asarray", "finfo", "from_dlpack", "frombuffer", "iinfo", "is_tensor", "numel", "result_type"]
__all__ += ["set_printoptions"]
__all__ += ["empty_strided", "range", "scalar_tensor"]
__all__ += [
    "Size", "SymInt", "clear_autocast_cache", "dtype", "get_autocast_cpu_dtype", "get_autocast_dtype",
    "get_autocast_gpu_dtype", "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "set_autocast_cache_enabled",
]  # fmt: skip
__all__ += [
    "channels_last", "channels_last_3d", "contiguous_format", "layout", "memory_format", "preserve_format",
    "strided",
]  # fmt: skip
__all__ += sorted(_FUNCTIONS)

globals().update(_FUNCTIONS)
globals().update(_LEGACY_TYPES)
__all__ += [*_LEGACY_TYPES, "set_default_tensor_type"]
globals().update({scheme.value: scheme for scheme in _QScheme})
__all__ += [scheme.value for scheme in _QScheme]

_LATER = (
    "accelerator",
    "amp",
    "ao",
    "attribution",
    "backends",
    "compiler",
    "cpu",
    "cuda",
    "data",
    "distributed",
    "distributions",
    "embedding",
    "tensorboard",
    "func",
    "fx",
    "graph",
    "hub",
    "interop",
    "jit",
    "live",
    "models",
    "mps",
    "multiprocessing",
    "onnx",
    "overrides",
    "profiler",
    "quantization",
    "random",
    "testing",
    "torch",
    "train",
    "types",
    "utils",
    "version",
    "widgets",
    "xpu",
)
"""Rooms that are imported when they are first named, so that a plain script starts fast."""


_LATER_FROM = {
    "_assert": "workbench.jit",
    "GradScaler": "workbench.amp",
    "OutOfMemoryError": "workbench.cuda",
    "SymBool": "workbench.types",
    "SymFloat": "workbench.types",
    "compile": "workbench.compiler",
    "get_device_module": "workbench.accelerator",
    "typename": "workbench.overrides",
    "load": "workbench.interop.serialization",
    "load_weights": "workbench.interop.weights",
    "save": "workbench.interop.serialization",
    "save_weights": "workbench.interop.weights",
    "serialization": "workbench.interop",
    **dict.fromkeys(
        (
            "are_deterministic_algorithms_enabled", "get_default_device", "get_deterministic_debug_mode",
            "get_float32_matmul_precision", "get_num_interop_threads", "is_deterministic_algorithms_warn_only_enabled",
            "is_warn_always_enabled", "set_default_device", "set_deterministic_debug_mode",
            "set_float32_matmul_precision", "set_num_interop_threads", "set_warn_always",
            "use_deterministic_algorithms",
        ),
        "workbench.backends.settings",
    ),
}  # fmt: skip
"""What is offered here out of such rooms, and the module that it is in."""


PYTORCH_FILES = ("_tensor", "functional", "torch_version")
"""Files of PyTorch's whose names are offered here: ``python -m workbench.torch`` finds them."""

_ELSEWHERE = {
    "_VF": "its functions are in wb itself: wb.lstm, wb.gru, wb.rnn_tanh, and their cells for single steps",
    "_C": "it is PyTorch's compiled part: whatever a program looks for there has a name of its own",
    "_dynamo": "wb.compile has no settings, and wb.compiler.explain says what became of a function: leave them out",
    "_inductor": "wb.compile has no settings, and wb.compiler.explain says what became of a function: leave them out",
    "library": "an op is declared as a record: wb.autograd.Function gives a function a gradient of its own",
    "jagged": _RAGGED,
    "nested": _RAGGED,
    "ops": "functions are called by their names in wb: there is no second table of them",
    "nested_tensor": _RAGGED,
    **{
        name: _OF_TENSORS[name]
        for name in ("eig", "lstsq", "nonzero_static", "smm", "solve", "sspaddmm", "symeig")
    },
}
"""Words of PyTorch's for what is called otherwise here, and what it is called."""


def __getattr__(name: str) -> _Any:
    if name in _LATER:
        return _importlib.import_module(f"workbench.{name}")
    if name in _LATER_FROM:
        return getattr(_importlib.import_module(_LATER_FROM[name]), name)
    if name == "__version__":
        return _importlib.import_module("importlib.metadata").version("tensor-workbench")
    if name in PYTORCH_FILES:
        return _Gathered(f"{__name__}.{name}", _sys.modules[__name__])
    raise _absent(name, __name__, [*__all__, *_LATER, *_LATER_FROM], _ELSEWHERE)


def __dir__() -> list[str]:
    """Return what completion shows. Everything in ``__all__`` is there, whether it is shown or not.

    Left out are `name_` and `name_copy` beside a `name`, the settings that PyTorch's programs make, and functions
    of layers, which people look for in `nn.functional`.
    """
    shown = {name for name in {*__all__, *_LATER, *_LATER_FROM} if not name.startswith("_")}
    settings = {name for name, module in _LATER_FROM.items() if module.endswith(".settings")}
    layers = {name for name in nn.functional.__all__ if not hasattr(Tensor, name)} - {"embedding"}
    twins = {f"{name}{ending}" for name in shown for ending in ("_", "_copy")}
    return sorted(shown - settings - layers - twins)


_TOLD = {"einops._backends": "workbench.interop.einops", "einx": "workbench.interop.einx"}
"""Libraries that are told of our tensors when somebody imports them, and the module that does it."""


def _tell(module: str) -> None:
    _importlib.import_module(module).register()


for _library, _module in _TOLD.items():
    _when_imported(_library, _partial(_tell, _module))
del _library, _module

if _rich.in_notebook():
    # The panels of JupyterLab follow a kernel that has the workbench in it: no widget needs to be shown first. This
    # brings all of them, and lets the panel of shapes follow the cells.
    _importlib.import_module("workbench.widgets.last_cell")

"""Workbench: named tensors, gradients, quantization and live views, in one notebook."""

# Written by `python -m workbench.lab.stubs`; change the functions, then run `make format`.

from builtins import bool as _bool
from builtins import dict as _dict
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from builtins import tuple as _tuple
from collections.abc import Sequence as _Sequence
from typing import Any as _Any
from typing import Literal as _Literal
from typing import overload as _overload
from workbench.base.codes import QScheme as _QScheme
from workbench.base.memory_formats import Layout as _Layout
from workbench.base.memory_formats import MemoryFormat as _MemoryFormat
from workbench.base.quantized_array import QScheme as _QScheme
from workbench.base.random import Generator as _Generator
from workbench.core.typing import DTypeLike as _DTypeLike
from workbench.core.typing import DeviceLike as _DeviceLike
from workbench.core.typing import Dim as _Dim
from workbench.core.typing import DimsLike as _DimsLike
from workbench.core.typing import Operand as _Operand
from workbench.core.typing import Scalar as _Scalar
from workbench.core.typing import Shape as _Shape
from workbench.core.typing import Size as _Size
from workbench.ops.elementwise.powers import MantissaExponent as _MantissaExponent
from workbench.ops.linalg.lu import LUFactors as _LUFactors
from workbench.ops.linalg.lu import LUFactorsWithInfo as _LUFactorsWithInfo
from workbench.ops.linalg.lu import PLU as _PLU
from workbench.ops.linalg.matrix_functions import SlogdetResult as _SlogdetResult
from workbench.ops.linalg.qr import QRResult as _QRResult
from workbench.ops.linalg.qr import Reflectors as _Reflectors
from workbench.ops.linalg.solve import TriangularSolution as _TriangularSolution
from workbench.ops.linalg.svd import OldSVDResult as _OldSVDResult
from workbench.ops.reduce.extremes import MinMax as _MinMax
from workbench.ops.reduce.extremes import ValuesIndices as _ValuesIndices
from workbench.ops.reduce.histogram import Histogram as _Histogram
from workbench.tensor.legacy_types import LegacyType as _LegacyType
from workbench.tensor.tensor import Tensor as _Tensor
import numpy as _np
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from workbench import autograd as autograd
from workbench import fft as fft
from workbench import kernels as kernels
from workbench import linalg as linalg
from workbench import names as names
from workbench import nn as nn
from workbench import optim as optim
from workbench import return_types as return_types
from workbench import sparse as sparse
from workbench import special as special
from workbench.autograd import autocast as autocast
from workbench.autograd import clear_autocast_cache as clear_autocast_cache
from workbench.autograd import enable_grad as enable_grad
from workbench.autograd import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from workbench.autograd import get_autocast_dtype as get_autocast_dtype
from workbench.autograd import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from workbench.autograd import grad_enabled as grad_enabled
from workbench.autograd import inference_mode as inference_mode
from workbench.autograd import is_autocast_cache_enabled as is_autocast_cache_enabled
from workbench.autograd import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from workbench.autograd import is_autocast_enabled as is_autocast_enabled
from workbench.autograd import is_grad_enabled as is_grad_enabled
from workbench.autograd import is_inference_mode_enabled as is_inference_mode_enabled
from workbench.autograd import no_grad as no_grad
from workbench.autograd import set_autocast_cache_enabled as set_autocast_cache_enabled
from workbench.autograd import set_grad_enabled as set_grad_enabled
from workbench.base.devices import Device as Device
from workbench.base.devices import Device as device
from workbench.base.dtypes import DType as DType
from workbench.base.dtypes import bfloat16 as bfloat16
from workbench.base.dtypes import can_cast as can_cast
from workbench.base.dtypes import complex64 as complex64
from workbench.base.dtypes import complex128 as complex128
from workbench.base.dtypes import float8_e4m3fn as float8_e4m3fn
from workbench.base.dtypes import float8_e5m2 as float8_e5m2
from workbench.base.dtypes import float16 as float16
from workbench.base.dtypes import float32 as float32
from workbench.base.dtypes import float64 as float64
from workbench.base.dtypes import get_default_dtype as get_default_dtype
from workbench.base.dtypes import int8 as int8
from workbench.base.dtypes import int16 as int16
from workbench.base.dtypes import int32 as int32
from workbench.base.dtypes import int64 as int64
from workbench.base.dtypes import promote_types as promote_types
from workbench.base.dtypes import qint8 as qint8
from workbench.base.dtypes import qint32 as qint32
from workbench.base.dtypes import quint2x4 as quint2x4
from workbench.base.dtypes import quint4x2 as quint4x2
from workbench.base.dtypes import quint8 as quint8
from workbench.base.dtypes import set_default_dtype as set_default_dtype
from workbench.base.dtypes import uint8 as uint8
from workbench.base.dtypes import DType as dtype
from workbench.base.dtypes import bool_ as bool
from workbench.base.errors import AutogradError as AutogradError
from workbench.base.errors import DeviceError as DeviceError
from workbench.base.errors import DimensionError as DimensionError
from workbench.base.errors import DimensionIndexError as DimensionIndexError
from workbench.base.errors import DTypeError as DTypeError
from workbench.base.errors import NoNumbersError as NoNumbersError
from workbench.base.errors import QuantizationError as QuantizationError
from workbench.base.errors import WeightsError as WeightsError
from workbench.base.memory_formats import Layout as layout
from workbench.base.memory_formats import MemoryFormat as memory_format
from workbench.base.memory_formats import channels_last as channels_last
from workbench.base.memory_formats import channels_last_3d as channels_last_3d
from workbench.base.memory_formats import contiguous_format as contiguous_format
from workbench.base.memory_formats import preserve_format as preserve_format
from workbench.base.memory_formats import sparse_coo as sparse_coo
from workbench.base.memory_formats import sparse_csr as sparse_csr
from workbench.base.memory_formats import strided as strided
from workbench.base.random import Generator as Generator
from workbench.base.random import default_generator as default_generator
from workbench.base.random import fork_rng as fork_rng
from workbench.base.random import get_rng_state as get_rng_state
from workbench.base.random import initial_seed as initial_seed
from workbench.base.random import manual_seed as manual_seed
from workbench.base.random import seed as seed
from workbench.base.random import set_rng_state as set_rng_state
from workbench.base.symbolic_size import SymbolicSize as SymInt
from workbench.core.backend import Backend as Backend
from workbench.core.backend import register_backend as register_backend
from workbench.core.size import Size as Size
from workbench.func import vmap as vmap
from workbench.kernels import get_num_threads as get_num_threads
from workbench.kernels import set_num_threads as set_num_threads
from workbench.nn.summary import summary as summary
from workbench.tensor import Tensor as Tensor
from workbench.tensor.external_memory import as_tensor as as_tensor
from workbench.tensor.external_memory import asarray as asarray
from workbench.tensor.external_memory import from_dlpack as from_dlpack
from workbench.tensor.external_memory import frombuffer as frombuffer
from workbench.tensor.legacy_types import set_default_tensor_type as set_default_tensor_type
from workbench.tensor.printing import set_printoptions as set_printoptions
from workbench.tensor.ranges import arange as arange
from workbench.tensor.ranges import linspace as linspace
from workbench.tensor.ranges import logspace as logspace
from workbench.tensor.ranges import range as range
from workbench.tensor.sparse import sparse_coo_tensor as sparse_coo_tensor
from workbench.tensor.sparse import sparse_csr_tensor as sparse_csr_tensor
from workbench.tensor.type_queries import finfo as finfo
from workbench.tensor.type_queries import iinfo as iinfo
from workbench.tensor.type_queries import is_tensor as is_tensor
from workbench.tensor.type_queries import numel as numel
from workbench.tensor.type_queries import result_type as result_type
from workbench import accelerator as accelerator
from workbench import amp as amp
from workbench import ao as ao
from workbench import attribution as attribution
from workbench import backends as backends
from workbench import compiler as compiler
from workbench import cpu as cpu
from workbench import cuda as cuda
from workbench import data as data
from workbench import distributed as distributed
from workbench import distributions as distributions
from workbench import embedding as embedding
from workbench import tensorboard as tensorboard
from workbench import func as func
from workbench import fx as fx
from workbench import graph as graph
from workbench import hub as hub
from workbench import interop as interop
from workbench import jit as jit
from workbench import live as live
from workbench import models as models
from workbench import mps as mps
from workbench import multiprocessing as multiprocessing
from workbench import onnx as onnx
from workbench import overrides as overrides
from workbench import profiler as profiler
from workbench import quantization as quantization
from workbench import random as random
from workbench import testing as testing
from workbench import torch as torch
from workbench import train as train
from workbench import types as types
from workbench import utils as utils
from workbench import version as version
from workbench import widgets as widgets
from workbench import xpu as xpu
from workbench.jit import _assert as _assert
from workbench.amp import GradScaler as GradScaler
from workbench.cuda import OutOfMemoryError as OutOfMemoryError
from workbench.types import SymBool as SymBool
from workbench.types import SymFloat as SymFloat
from workbench.compiler import compile as compile
from workbench.accelerator import get_device_module as get_device_module
from workbench.overrides import typename as typename
from workbench.interop.serialization import load as load
from workbench.interop.weights import load_weights as load_weights
from workbench.interop.serialization import save as save
from workbench.interop.weights import save_weights as save_weights
from workbench.interop import serialization as serialization
from workbench.backends.settings import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from workbench.backends.settings import get_default_device as get_default_device
from workbench.backends.settings import get_deterministic_debug_mode as get_deterministic_debug_mode
from workbench.backends.settings import get_float32_matmul_precision as get_float32_matmul_precision
from workbench.backends.settings import get_num_interop_threads as get_num_interop_threads
from workbench.backends.settings import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from workbench.backends.settings import is_warn_always_enabled as is_warn_always_enabled
from workbench.backends.settings import set_default_device as set_default_device
from workbench.backends.settings import set_deterministic_debug_mode as set_deterministic_debug_mode
from workbench.backends.settings import set_float32_matmul_precision as set_float32_matmul_precision
from workbench.backends.settings import set_num_interop_threads as set_num_interop_threads
from workbench.backends.settings import set_warn_always as set_warn_always
from workbench.backends.settings import use_deterministic_algorithms as use_deterministic_algorithms

__version__: _str
per_tensor_affine: _QScheme
per_tensor_symmetric: _QScheme
per_channel_affine: _QScheme
per_channel_symmetric: _QScheme
per_channel_affine_float_qparams: _QScheme
per_group_affine: _QScheme
FloatTensor: _LegacyType
DoubleTensor: _LegacyType
HalfTensor: _LegacyType
BFloat16Tensor: _LegacyType
ComplexFloatTensor: _LegacyType
ComplexDoubleTensor: _LegacyType
LongTensor: _LegacyType
IntTensor: _LegacyType
ShortTensor: _LegacyType
CharTensor: _LegacyType
ByteTensor: _LegacyType
BoolTensor: _LegacyType
Float8_e4m3fnTensor: _LegacyType
Float8_e5m2Tensor: _LegacyType

def _empty_affine_quantized(size: _Sequence[_int], *, scale: _float = 1.0, zero_point: _int = 0, dtype: _DTypeLike = ...) -> _Tensor:
    """Return a quantized tensor whose codes are not set yet: zeros here."""

def _empty_per_channel_affine_quantized(size: _Sequence[_int], *, scales: _Tensor, zero_points: _Tensor, axis: _int, dtype: _DTypeLike = ...) -> _Tensor:
    """Return a tensor quantized per channel whose codes are not set yet: zeros here."""

def _fake_quantize_learnable_per_channel_affine(input: _Tensor, scale: _Tensor, zero_point: _Tensor, axis: _Dim, quant_min: _int, quant_max: _int, grad_factor: _float = 1.0) -> _Tensor:
    """As `_fake_quantize_learnable_per_tensor_affine`, with a scale and a zero point for each entry of `axis`."""

def _fake_quantize_learnable_per_tensor_affine(input: _Tensor, scale: _Tensor, zero_point: _Tensor, quant_min: _int, quant_max: _int, grad_factor: _float = 1.0) -> _Tensor:
    """Fake quantization whose scale and zero point, of one value each, get gradients, times `grad_factor`."""

def _make_per_channel_quantized_tensor(input: _Tensor, scale: _Tensor, zero_point: _Tensor, axis: _Dim) -> _Tensor:
    """Return the quantized tensor whose codes are whole numbers, with a scale for each entry of `axis`."""

def _make_per_tensor_quantized_tensor(input: _Tensor, scale: _float, zero_point: _int) -> _Tensor:
    """Return the quantized tensor whose codes are whole numbers of type uint8, int8 or int32; names are kept."""

def abs(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Absolute value."""

def abs_(input: _Tensor) -> _Tensor:
    """In-place version of `abs`: the result goes into this tensor's memory."""

def absolute(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Absolute value."""

def acos(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Angle in radians whose cosine is given."""

def acos_(input: _Tensor) -> _Tensor:
    """In-place version of `acos`: the result goes into this tensor's memory."""

def acosh(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Inverse of the hyperbolic cosine."""

def acosh_(input: _Tensor) -> _Tensor:
    """In-place version of `acosh`: the result goes into this tensor's memory."""

def adaptive_avg_pool1d(input: _Tensor, output_size: _Size) -> _Tensor:
    """Pool [N, C, L] or [C, L] to the mean of each of `output_size` windows."""

@_overload
def adaptive_max_pool1d(input: _Tensor, output_size: _Size, return_indices: _Literal[False] = False) -> _Tensor:
    """Pool [N, C, L] or [C, L] to the largest value of each of `output_size` windows."""
@_overload
def adaptive_max_pool1d(input: _Tensor, output_size: _Size, *, return_indices: _Literal[True]) -> _tuple[_Tensor, _Tensor]: ...
@_overload
def adaptive_max_pool1d(input: _Tensor, output_size: _Size, return_indices: _bool = False) -> _Tensor | _tuple[_Tensor, _Tensor]: ...

def add(input: _Operand, other: _Operand, *, alpha: _Scalar = 1, out: _Tensor | None = None) -> _Tensor:
    """Add: y = a + alpha·b. Names unify from the right, sizes broadcast."""

def addbmm(input: _Tensor, batch1: _Tensor, batch2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1, out: _Tensor | None = None) -> _Tensor:
    """Add the sum of the matrix products of two batches: y = β·input + α·Σ_b a[b] @ c[b]."""

def addcdiv(input: _Tensor, tensor1: _Tensor, tensor2: _Tensor, *, value: _Scalar = 1, out: _Tensor | None = None) -> _Tensor:
    """Add a quotient: y = x + value·a/b. Names of all three unify from the right, sizes broadcast."""

def addcmul(input: _Tensor, tensor1: _Tensor, tensor2: _Tensor, *, value: _Scalar = 1, out: _Tensor | None = None) -> _Tensor:
    """Add a product: y = x + value·a·b. Names of all three unify from the right, sizes broadcast."""

def addmm(input: _Tensor, mat1: _Tensor, mat2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1, out: _Tensor | None = None) -> _Tensor:
    """Add a matrix product: y = β·input + α·(a @ b). Names of `input` unify with those of the product."""

def addmv(input: _Tensor, mat: _Tensor, vec: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1, out: _Tensor | None = None) -> _Tensor:
    """Add the product of a matrix and a vector: y = β·input + α·(A @ x)."""

def addmv_(input: _Tensor, mat: _Tensor, vec: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1) -> _Tensor:
    """In-place version of `addmv`: the result goes into this tensor's memory."""

def addr(input: _Tensor, vec1: _Tensor, vec2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1, out: _Tensor | None = None) -> _Tensor:
    """Add an outer product: y = β·input + α·(a ⊗ b)."""

def adjoint(input: _Tensor) -> _Tensor:
    """The last two dims exchanged, and complex values conjugated: Aᴴ."""

def affine_grid_generator(theta: _Tensor, size: _Sequence[_int], align_corners: _bool) -> _Tensor:
    """Call `affine_grid`."""

def alias_copy(input: _Tensor) -> _Tensor:
    """The same values in memory of their own."""

def align_tensors(*tensors: _Tensor | _Sequence[_Tensor]) -> _tuple[_Tensor, ...]:
    """Give all tensors the dims of the longest, of size 1 where they lack one: views."""

def all(input: _Tensor, dim: _DimsLike | None = None, keepdim: _bool = False, *, out: _Tensor | None = None) -> _Tensor:
    """True where all values over the dims are non-zero."""

def allclose(input: _Tensor, other: _Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
    """Say whether all values of two are nearly equal, see `isclose`."""

def alpha_dropout(input: _Tensor, p: _float, train: _bool) -> _Tensor:
    """Set values to selu's floor with probability `p`, keeping mean 0 and variance 1, if `train`."""

def alpha_dropout_(input: _Tensor, p: _float, train: _bool) -> _Tensor:
    """In-place version of `alpha_dropout`: the result goes into this tensor's memory."""

def amax(input: _Tensor, dim: _DimsLike | None = None, keepdim: _bool = False, *, out: _Tensor | None = None) -> _Tensor:
    """Largest value over dims; the gradient is shared evenly between ties."""

def amin(input: _Tensor, dim: _DimsLike | None = None, keepdim: _bool = False, *, out: _Tensor | None = None) -> _Tensor:
    """Smallest value over dims; the gradient is shared evenly between ties."""

def aminmax(input: _Tensor, *, dim: _Dim | None = None, keepdim: _bool = False, out: _Sequence[_Tensor] | None = None) -> _MinMax:
    """Smallest and largest value, of all or along one dim, as a named tuple ``(min, max)``."""

def angle(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Angle to the positive real axis in radians: y = atan2(Im x, Re x); π for negative numbers. Names pass through."""

def any(input: _Tensor, dim: _DimsLike | None = None, keepdim: _bool = False, *, out: _Tensor | None = None) -> _Tensor:
    """True where any value over the dims is non-zero."""

def arccos(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Angle in radians whose cosine is given."""

def arccos_(input: _Tensor) -> _Tensor:
    """In-place version of `arccos`: the result goes into this tensor's memory."""

def arccosh(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Inverse of the hyperbolic cosine."""

def arccosh_(input: _Tensor) -> _Tensor:
    """In-place version of `arccosh`: the result goes into this tensor's memory."""

def arcsin(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Angle in radians whose sine is given."""

def arcsin_(input: _Tensor) -> _Tensor:
    """In-place version of `arcsin`: the result goes into this tensor's memory."""

def arcsinh(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Inverse of the hyperbolic sine."""

def arcsinh_(input: _Tensor) -> _Tensor:
    """In-place version of `arcsinh`: the result goes into this tensor's memory."""

def arctan(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Angle in radians whose tangent is given."""

def arctan2(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Angle in radians of the point (other, input), in its own quadrant."""

def arctan_(input: _Tensor) -> _Tensor:
    """In-place version of `arctan`: the result goes into this tensor's memory."""

def arctanh(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Inverse of the hyperbolic tangent."""

def arctanh_(input: _Tensor) -> _Tensor:
    """In-place version of `arctanh`: the result goes into this tensor's memory."""

def argmax(input: _Tensor, dim: _Dim | None = None, keepdim: _bool = False, *, out: _Tensor | None = None) -> _Tensor:
    """Index (int64) of the largest value along a dim, or of all values laid out in a row; the first of several."""

def argmin(input: _Tensor, dim: _Dim | None = None, keepdim: _bool = False, *, out: _Tensor | None = None) -> _Tensor:
    """Index (int64) of the smallest value along a dim, or of all values laid out in a row; the first of several."""

def argsort(input: _Tensor, dim: _Dim = -1, descending: _bool = False, stable: _bool = False, *, out: _Tensor | None = None) -> _Tensor:
    """Indices (int64) that sort the values along a dim; equal values keep their order."""

def argwhere(input: _Tensor) -> _Tensor:
    """Indices (int64) of the values that are not zero, one a row."""

def as_strided(input: _Tensor, size: _Size, stride: _Size, storage_offset: _int | None = None) -> _Tensor:
    """The memory of a tensor seen with sizes and strides (in values) given by hand: a view without names."""

def as_strided_copy(input: _Tensor, size: _Size, stride: _Size, storage_offset: _int | None = None) -> _Tensor:
    """As `as_strided`, with memory of its own instead of a view."""

def as_strided_scatter(input: _Tensor, src: _Tensor, size: _Size, stride: _Size, storage_offset: _int | None = None) -> _Tensor:
    """A copy of `input` in which what `as_strided` shows is replaced by `src`."""

def asin(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Angle in radians whose sine is given."""

def asin_(input: _Tensor) -> _Tensor:
    """In-place version of `asin`: the result goes into this tensor's memory."""

def asinh(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Inverse of the hyperbolic sine."""

def asinh_(input: _Tensor) -> _Tensor:
    """In-place version of `asinh`: the result goes into this tensor's memory."""

def atan(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Angle in radians whose tangent is given."""

def atan2(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Angle in radians of the point (other, input), in its own quadrant."""

def atan_(input: _Tensor) -> _Tensor:
    """In-place version of `atan`: the result goes into this tensor's memory."""

def atanh(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Inverse of the hyperbolic tangent."""

def atanh_(input: _Tensor) -> _Tensor:
    """In-place version of `atanh`: the result goes into this tensor's memory."""

@_overload
def atleast_1d(tensor: _Tensor, /) -> _Tensor:
    """Give tensors without dims one of size 1; several tensors (or a list of them) give a tuple."""
@_overload
def atleast_1d(tensors: _Sequence[_Tensor], /) -> _tuple[_Tensor, ...]: ...
@_overload
def atleast_1d(first: _Tensor, second: _Tensor, /, *more: _Tensor) -> _tuple[_Tensor, ...]: ...

@_overload
def atleast_2d(tensor: _Tensor, /) -> _Tensor:
    """Put new dims of size 1 at the front until there are two; several tensors give a tuple."""
@_overload
def atleast_2d(tensors: _Sequence[_Tensor], /) -> _tuple[_Tensor, ...]: ...
@_overload
def atleast_2d(first: _Tensor, second: _Tensor, /, *more: _Tensor) -> _tuple[_Tensor, ...]: ...

@_overload
def atleast_3d(tensor: _Tensor, /) -> _Tensor:
    """Give tensors three dims: [N] becomes [1, N, 1], [N, M] becomes [N, M, 1]; several tensors give a tuple."""
@_overload
def atleast_3d(tensors: _Sequence[_Tensor], /) -> _tuple[_Tensor, ...]: ...
@_overload
def atleast_3d(first: _Tensor, second: _Tensor, /, *more: _Tensor) -> _tuple[_Tensor, ...]: ...

def avg_pool1d(input: _Tensor, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0, ceil_mode: _bool = False, count_include_pad: _bool = True) -> _Tensor:
    """Mean of each window of [N, C, L] or [C, L]; the padding counts as zeros, or not at all."""

def avg_pool2d(input: _Tensor, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None) -> _Tensor:
    """Mean of each window of [N, C, H, W] or [C, H, W]; the padding counts as zeros, or not at all."""

def avg_pool3d(input: _Tensor, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None) -> _Tensor:
    """Mean of each window of [N, C, D, H, W] or [C, D, H, W], see `avg_pool2d`."""

def baddbmm(input: _Tensor, batch1: _Tensor, batch2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1, out: _Tensor | None = None) -> _Tensor:
    """Add matrix products of two batches: y[b] = β·input[b] + α·(a[b] @ c[b])."""

def bartlett_window(window_length: _int, periodic: _bool = True, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False) -> _Tensor:
    """Return a triangle: w_n = 1 - |2n / (N - 1) - 1|, where N is one more than the length if `periodic`."""

def batch_norm(input: _Tensor, weight: _Tensor | None, bias: _Tensor | None, running_mean: _Tensor | None, running_var: _Tensor | None, training: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool) -> _Tensor:
    """Normalise each channel over the batch, as `nn.functional.batch_norm` does. `cudnn_enabled` says nothing here."""

def bernoulli(input: _Tensor, p: _float | None = None, *, generator: _Generator | None = None) -> _Tensor:
    """Return 1 with the probability that stands in `input` (or with `p`), else 0. Dims, names and type stay."""

def bilinear(input1: _Tensor, input2: _Tensor, weight: _Tensor, bias: _Tensor | None = None) -> _Tensor:
    """Products of two vectors under a stack of matrices: y[…, o] = Σ_ij x₁[…, i]·w[o, i, j]·x₂[…, j] + b[o]."""

def binary_cross_entropy_with_logits(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', pos_weight: _Tensor | None = None) -> _Tensor:
    """Cross entropy of scores of yes, whose probability is σ(x): -(p·t·ln σ(x) + (1 - t)·ln(1 - σ(x)))·weight."""

def bincount(input: _Tensor, weights: _Tensor | None = None, minlength: _int = 0) -> _Tensor:
    """Count how often each of 0, 1, 2, … occurs in a vector, or add up the weights of its occurrences."""

def binomial(count: _Tensor, prob: _Tensor, generator: _Generator | None = None) -> _Tensor:
    """Return how many of `count` trials succeed, each with probability `prob`. Names unify, sizes broadcast."""

def bitwise_and(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Bits set in both."""

def bitwise_left_shift(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Bits moved up."""

def bitwise_not(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """All bits flipped; for bool, not."""

def bitwise_or(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Bits set in either."""

def bitwise_right_shift(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Bits moved down; the sign stays."""

def bitwise_xor(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Bits set in one and not in the other."""

def blackman_window(window_length: _int, periodic: _bool = True, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False) -> _Tensor:
    """Return w_n = 0.42 - 0.5 cos(2πn / (N - 1)) + 0.08 cos(4πn / (N - 1)), N one more than the length if `periodic`."""

def block_diag(*tensors: _Tensor) -> _Tensor:
    """The matrix with the given matrices along its diagonal and zeros elsewhere; vectors count as rows."""

def bmm(input: _Tensor, mat2: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Matrix products of two batches of one size: y[b, n, p] = Σ_m a[b, n, m]·c[b, m, p]."""

def broadcast_shapes(*shapes: _Size) -> _tuple[_int, ...]:
    """Return the sizes that shapes (or numbers, for one dim) broadcast to together."""

def broadcast_tensors(*tensors: _Tensor | _Sequence[_Tensor]) -> _tuple[_Tensor, ...]:
    """Stretch tensors to the sizes that they have together: views; each keeps its own names."""

def broadcast_to(input: _Tensor, size: _Size) -> _Tensor:
    """Stretch to the sizes `size`: `expand` by another name."""

def bucketize(input: _Operand, boundaries: _Tensor, *, out_int32: _bool = False, right: _bool = False, out: _Tensor | None = None) -> _Tensor:
    """Index of the bucket of each value between sorted boundaries: b[y - 1] < x ≤ b[y]."""

def cartesian_prod(*tensors: _Tensor) -> _Tensor:
    """All combinations of one value of each vector, as rows, the last one varying fastest."""

def cat(tensors: _Sequence[_Tensor], dim: _Dim = 0, *, out: _Tensor | None = None) -> _Tensor:
    """Put tensors one after another along a dim; names unify, other sizes are equal."""

def cdist(x1: _Tensor, x2: _Tensor, p: _float = 2.0, compute_mode: _str | None = 'use_mm_for_euclid_dist_if_necessary') -> _Tensor:
    """Distance of each row to each: y[…, i, j] = (Σ_k |x₁[…, i, k] - x₂[…, j, k]|^p)^(1/p)."""

def ceil(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Smallest integer not below."""

def ceil_(input: _Tensor) -> _Tensor:
    """In-place version of `ceil`: the result goes into this tensor's memory."""

def celu(input: _Tensor, alpha: _float = 1.0, inplace: _bool = False) -> _Tensor:
    """Exponential linear unit with one slope at 0: y = x above 0, alpha·(e^(x/alpha) - 1) below. Names pass through."""

def chain_matmul(*matrices: _Tensor | _Sequence[_Tensor], out: _Tensor | None = None) -> _Tensor:
    """Product of matrices, in the order that needs the fewest multiplications; see `linalg.multi_dot`."""

def channel_shuffle(input: _Tensor, groups: _int) -> _Tensor:
    """Interleave `groups` groups of the channels of [N, C, …]."""

def cholesky(input: _Tensor, upper: _bool = False, *, out: _Tensor | None = None) -> _Tensor:
    """Triangular square root of Hermitian positive-definite matrices; see `linalg.cholesky`."""

def cholesky_inverse(L: _Tensor, upper: _bool = False, *, out: _Tensor | None = None) -> _Tensor:
    """Inverse of A given its Cholesky factor: A = L Lᴴ, or with `upper` A = Uᴴ U."""

def cholesky_solve(input: _Tensor, L: _Tensor, upper: _bool = False, *, out: _Tensor | None = None) -> _Tensor:
    """Solution X of A X = B given the Cholesky factor of A: A = L Lᴴ, or with `upper` A = Uᴴ U."""

def chunk(input: _Tensor, chunks: _int, dim: _Dim = 0) -> _tuple[_Tensor, ...]:
    """Cut a dim into at most `chunks` parts of equal size, the last one smaller: a tuple of views."""

def clamp(input: _Tensor, min: _Operand | None = None, max: _Operand | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Keep values within [min, max]: y = min(max(x, low), high). Bounds are numbers or tensors that broadcast."""

def clamp_(input: _Tensor, min: _Operand | None = None, max: _Operand | None = None) -> _Tensor:
    """In-place version of `clamp`: the result goes into this tensor's memory."""

def clamp_max(input: _Tensor, max: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Keep values up to a bound: y = min(x, high). Names of a tensor of bounds unify, sizes broadcast."""

def clamp_max_(input: _Tensor, max: _Operand) -> _Tensor:
    """In-place version of `clamp_max`: the result goes into this tensor's memory."""

def clamp_min(input: _Tensor, min: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Keep values from a bound up: y = max(x, low). Names of a tensor of bounds unify, sizes broadcast."""

def clamp_min_(input: _Tensor, min: _Operand) -> _Tensor:
    """In-place version of `clamp_min`: the result goes into this tensor's memory."""

def clip(input: _Tensor, min: _Operand | None = None, max: _Operand | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Keep values within [min, max]: y = min(max(x, low), high). Bounds are numbers or tensors that broadcast."""

def clip_(input: _Tensor, min: _Operand | None = None, max: _Operand | None = None) -> _Tensor:
    """In-place version of `clip`: the result goes into this tensor's memory."""

def clone(input: _Tensor, *, memory_format: _MemoryFormat | None = None) -> _Tensor:
    """Copy: y = x, in memory of its own. Names and sizes pass through, and gradients go back to the original."""

def column_stack(tensors: _Sequence[_Tensor], *, out: _Tensor | None = None) -> _Tensor:
    """Put tensors side by side: along the second dim; vectors and numbers become columns."""

def combinations(input: _Tensor, r: _int = 2, with_replacement: _bool = False) -> _Tensor:
    """All combinations of `r` values of a vector, as rows, in the order of `itertools`."""

def complex(real: _Tensor, imag: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Complex numbers from real and imaginary parts of one type: y = a + i·b. Names unify, sizes broadcast."""

def concat(tensors: _Sequence[_Tensor], dim: _Dim = 0, *, out: _Tensor | None = None) -> _Tensor:
    """Put tensors one after another: `cat` by another name."""

def concatenate(tensors: _Sequence[_Tensor], dim: _Dim = 0, *, out: _Tensor | None = None) -> _Tensor:
    """Put tensors one after another: `cat` by another name."""

def conj(input: _Tensor) -> _Tensor:
    """Complex conjugate as a view: y = Re x - i·Im x; a real tensor is returned as it is. Names pass through."""

def conj_physical(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Complex conjugate with values of its own: y = Re x - i·Im x; a real tensor is returned as it is."""

def conj_physical_(input: _Tensor) -> _Tensor:
    """In-place version of `conj_physical`: the result goes into this tensor's memory."""

def constant_pad_nd(input: _Tensor, pad: _Sequence[_int], value: _float = 0) -> _Tensor:
    """Pad with a constant: `pad` with its default mode, by another name."""

def contract(a: _Tensor, b: _Tensor, *names: _str) -> _Tensor:
    """Sum of products over the dims called `names`, which both tensors must have, whatever their positions."""

def conv1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Size = 1, padding: _Size | _str = 0, dilation: _Size = 1, groups: _int = 1) -> _Tensor:
    """One-dimensional cross-correlation."""

def conv2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Size = 1, padding: _Size | _str = 0, dilation: _Size = 1, groups: _int = 1) -> _Tensor:
    """Two-dimensional cross-correlation."""

def conv3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Size = 1, padding: _Size | _str = 0, dilation: _Size = 1, groups: _int = 1) -> _Tensor:
    """Three-dimensional cross-correlation: `conv2d` with a depth."""

def conv_transpose1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Size = 1, padding: _Size = 0, output_padding: _Size = 0, groups: _int = 1, dilation: _Size = 1) -> _Tensor:
    """One-dimensional transposed convolution."""

def conv_transpose2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Size = 1, padding: _Size = 0, output_padding: _Size = 0, groups: _int = 1, dilation: _Size = 1) -> _Tensor:
    """Two-dimensional transposed convolution, see `conv_transpose1d`."""

def conv_transpose3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: _Size = 1, padding: _Size = 0, output_padding: _Size = 0, groups: _int = 1, dilation: _Size = 1) -> _Tensor:
    """Three-dimensional transposed convolution, see `conv_transpose1d`."""

def copysign(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """The size of the first with the sign of the second."""

def corrcoef(input: _Tensor) -> _Tensor:
    """Correlation of the variables in rows over the observations in columns: y_ij = c_ij / √(c_ii·c_jj)."""

def cos(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Cosine of an angle in radians."""

def cos_(input: _Tensor) -> _Tensor:
    """In-place version of `cos`: the result goes into this tensor's memory."""

def cosh(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Hyperbolic cosine."""

def cosh_(input: _Tensor) -> _Tensor:
    """In-place version of `cosh`: the result goes into this tensor's memory."""

def cosine_embedding_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: _float = 0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> _Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1. Shapes: [N, D] and [N], or [D] and []."""

def cosine_similarity(x1: _Tensor, x2: _Tensor, dim: _Dim = 1, eps: _float = 1e-08) -> _Tensor:
    """Cosine of the angle between vectors along `dim`: x₁·x₂ / (max(‖x₁‖, ε)·max(‖x₂‖, ε)). Sizes broadcast."""

def count_nonzero(input: _Tensor, dim: _DimsLike | None = None) -> _Tensor:
    """Count (int64) the values over the dims that are not zero."""

def cov(input: _Tensor, *, correction: _int = 1, fweights: _Tensor | None = None, aweights: _Tensor | None = None) -> _Tensor:
    """Covariance of the variables in rows over the observations in columns: y_ij = Σ_k (x_ik - x̄_i)·(x_jk - x̄_j)* / n."""

def cross(input: _Tensor, other: _Tensor, dim: _Dim | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Cross product along a dim, or without one along the first that has size 3; see `linalg.cross`."""

def cross_entropy(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100, reduce: _bool | None = None, reduction: _str = 'mean', label_smoothing: _float = 0.0) -> _Tensor:
    """Cross entropy between scores `input` and classes or probabilities `target`: -ln softmax(x)[target]."""

def ctc_loss(log_probs: _Tensor, targets: _Tensor, input_lengths: _Tensor | _Sequence[_int], target_lengths: _Tensor | _Sequence[_int], blank: _int = 0, reduction: _str = 'mean', zero_infinity: _bool = False) -> _Tensor:
    """Negative log-likelihood of sequences of classes over all their timings. Graves et al. 2006."""

def cummax(input: _Tensor, dim: _Dim, *, out: _Sequence[_Tensor] | None = None) -> _ValuesIndices:
    """Running maximum along a dim and where it stands last, as a named tuple ``(values, indices)``."""

def cummin(input: _Tensor, dim: _Dim, *, out: _Sequence[_Tensor] | None = None) -> _ValuesIndices:
    """Running minimum along a dim and where it stands last, as a named tuple ``(values, indices)``."""

def cumprod(input: _Tensor, dim: _Dim, *, dtype: _DTypeLike | None = None, out: _Tensor | None = None) -> _Tensor:
    """Running product along a dim: y_i = Π_{j ≤ i} x_j. Integers are multiplied as int64."""

def cumsum(input: _Tensor, dim: _Dim, *, dtype: _DTypeLike | None = None, out: _Tensor | None = None) -> _Tensor:
    """Running sum along a dim: y_i = Σ_{j ≤ i} x_j. Integers are summed as int64."""

def cumulative_trapezoid(y: _Tensor, x: _Tensor | None = None, *, dx: _Scalar | None = None, dim: _Dim = -1) -> _Tensor:
    """Area under the values along a dim up to each place but the first, by trapezoids; see `trapezoid`."""

def deg2rad(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Angles in degrees as radians: y = x·π/180. Names and sizes pass through."""

def deg2rad_(input: _Tensor) -> _Tensor:
    """In-place version of `deg2rad`: the result goes into this tensor's memory."""

@_overload
def dequantize(input: _Tensor) -> _Tensor:
    """Return the float32 numbers that codes stand for: (q - zero_point)·scale; other values pass through."""
@_overload
def dequantize(input: _Sequence[_Tensor]) -> _tuple[_Tensor, ...]: ...

def det(A: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Determinants of square matrices."""

def detach(input: _Tensor) -> _Tensor:
    """The same values off the tape: memory is shared."""

def diag(input: _Tensor, diagonal: _int = 0, *, out: _Tensor | None = None) -> _Tensor:
    """Of a vector the matrix with it on a diagonal, of a matrix that diagonal."""

def diag_embed(input: _Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> _Tensor:
    """The last dim on the diagonals of square matrices of zeros, whose dims stand at `dim1` and `dim2`."""

def diagflat(input: _Tensor, offset: _int = 0) -> _Tensor:
    """The matrix with all values of a tensor, taken as flat, on a diagonal."""

def diagonal(input: _Tensor, offset: _int = 0, dim1: _Dim = 0, dim2: _Dim = 1, *, outdim: _str | None = None) -> _Tensor:
    """The diagonal of two dims as the last dim, `offset` above (or, negative, below) the main one: a view."""

def diagonal_copy(input: _Tensor, offset: _int = 0, dim1: _Dim = 0, dim2: _Dim = 1, *, outdim: _str | None = None) -> _Tensor:
    """As `diagonal`, with memory of its own instead of a view."""

def diagonal_scatter(input: _Tensor, src: _Tensor, offset: _int = 0, dim1: _Dim = 0, dim2: _Dim = 1) -> _Tensor:
    """A copy of `input` in which the diagonal of two dims is replaced by `src`."""

def diff(input: _Tensor, n: _int = 1, dim: _Dim = -1, prepend: _Tensor | None = None, append: _Tensor | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Differences of neighbours along a dim, `n` times over: y_i = x_{i+1} - x_i. Of bools: whether they differ."""

def digamma(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Slope of the logarithm of the gamma function."""

def dist(input: _Tensor, other: _Tensor, p: _float = 2) -> _Tensor:
    """Distance of two tensors: the p-norm of their difference, over all dims."""

def div(input: _Operand, other: _Operand, *, rounding_mode: _str | None = None, out: _Tensor | None = None) -> _Tensor:
    """Divide: y = a/b, rounded down with "floor" and towards 0 with "trunc". Names unify, sizes broadcast."""

def divide(input: _Operand, other: _Operand, *, rounding_mode: _str | None = None, out: _Tensor | None = None) -> _Tensor:
    """Divide: y = a/b, rounded down with "floor" and towards 0 with "trunc". Names unify, sizes broadcast."""

def dot(input: _Tensor, tensor: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Dot product of two vectors, without conjugation: y = Σ_i a[i]·b[i]."""

def dropout(input: _Tensor, p: _float, train: _bool) -> _Tensor:
    """Set each value to 0 with probability `p` and scale the rest by 1 / (1 - p), if `train`."""

def dropout_(input: _Tensor, p: _float, train: _bool) -> _Tensor:
    """In-place version of `dropout`: the result goes into this tensor's memory."""

def dsplit(input: _Tensor, indices_or_sections: _Size | _Tensor) -> _tuple[_Tensor, ...]:
    """Cut the third dim at indices or into equal parts."""

def dstack(tensors: _Sequence[_Tensor], *, out: _Tensor | None = None) -> _Tensor:
    """Put tensors behind each other: along the third dim."""

def einsum(*args: _str | _Tensor | _Sequence[_Tensor] | _Sequence[_int]) -> _Tensor:
    """Sum of products of tensors, by an equation that names their dims: ``einsum("ij,jk->ik", a, b)``."""

def empty(*size: _Size, names: _Sequence[_str | None] | None = None, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, memory_format: _MemoryFormat | None = None, out: _Tensor | None = None, **dims: _int) -> _Tensor:
    """Return memory as it is: ``empty(2, 3)`` or by name ``empty(N=2, C=3)``."""

def empty_like(input: _Tensor, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, memory_format: _MemoryFormat | None = None) -> _Tensor:
    """Return memory as it is, with the dims, names, type and device of `input`."""

def empty_strided(size: _Sequence[_int], stride: _Sequence[_int], *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False) -> _Tensor:
    """Return memory as it is, whose entries lie so many values apart along each dim."""

def eq(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Equal."""

def equal(input: _Tensor, other: _Tensor) -> _bool:
    """Say whether two tensors have the same names, sizes and values; codes also the same scale and zero point."""

def erf(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Error function."""

def erf_(input: _Tensor) -> _Tensor:
    """In-place version of `erf`: the result goes into this tensor's memory."""

def erfc(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Complement of the error function, exact where that is near 1."""

def erfc_(input: _Tensor) -> _Tensor:
    """In-place version of `erfc`: the result goes into this tensor's memory."""

def erfinv(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Inverse of the error function."""

def exp(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Exponential."""

def exp2(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Power of 2."""

def exp2_(input: _Tensor) -> _Tensor:
    """In-place version of `exp2`: the result goes into this tensor's memory."""

def exp_(input: _Tensor) -> _Tensor:
    """In-place version of `exp`: the result goes into this tensor's memory."""

def expand(input: _Tensor, *sizes: _Size, size: _Size | None = None) -> _Tensor:
    """Stretch dims of size 1 without copying, and add dims at the left; -1 keeps a size."""

def expand_copy(input: _Tensor, *sizes: _Size, size: _Size | None = None) -> _Tensor:
    """As `expand`, with memory of its own instead of a view."""

def expm1(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Exponential minus 1, exact near 0."""

def expm1_(input: _Tensor) -> _Tensor:
    """In-place version of `expm1`: the result goes into this tensor's memory."""

def eye(n: _int, m: _int | None = None, *, names: _Sequence[_str | None] | None = None, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, out: _Tensor | None = None) -> _Tensor:
    """Return a matrix with ones on its diagonal."""

def fake_float8(input: _Tensor, dtype: _DTypeLike = ..., scale: _float = 1.0) -> _Tensor:
    """Round to the numbers of a float of 8 bits, times `scale`: y = float8(clamp(x/s, -largest, largest))·s."""

def fake_quantize_per_channel_affine(input: _Tensor, scale: _Tensor | _float, zero_point: _Tensor | _int, axis: _Dim, quant_min: _int, quant_max: _int) -> _Tensor:
    """As `fake_quantize_per_tensor_affine`, with a scale and a zero point for each entry of `axis`."""

def fake_quantize_per_tensor_affine(input: _Tensor, scale: _Tensor | _float, zero_point: _Tensor | _int, quant_min: _int, quant_max: _int) -> _Tensor:
    """Round to the numbers that codes can stand for: y = (clamp(rne(x·(1/s)) + z, qmin, qmax) - z)·s."""

def feature_alpha_dropout(input: _Tensor, p: _float, train: _bool) -> _Tensor:
    """`alpha_dropout` of whole channels of [N, C, …], if `train`."""

def feature_alpha_dropout_(input: _Tensor, p: _float, train: _bool) -> _Tensor:
    """In-place version of `feature_alpha_dropout`: the result goes into this tensor's memory."""

def fill(input: _Tensor, value: _Operand) -> _Tensor:
    """As many values as there were, all of them one number: y = value. Names and sizes pass through."""

def fix(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Integer part: rounded towards 0."""

def fix_(input: _Tensor) -> _Tensor:
    """In-place version of `fix`: the result goes into this tensor's memory."""

def flatten(input: _Tensor, start_dim: _DimsLike = 0, end_dim: _Dim = -1, out_dim: _str | None = None) -> _Tensor:
    """Lay several neighbouring dims out as one: ``flatten(1)``, or by name ``flatten(['C', 'H', 'W'], 'features')``."""

def flip(input: _Tensor, *order: _DimsLike, dims: _DimsLike | None = None) -> _Tensor:
    """Reverse the order of entries along the given dims: a copy."""

def fliplr(input: _Tensor) -> _Tensor:
    """Reverse the second dim: left and right change places."""

def flipud(input: _Tensor) -> _Tensor:
    """Reverse the first dim: up and down change places."""

def float_power(input: _Operand, exponent: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Raise to a power in double precision: y = a^b as float64, or complex128 where one is complex. Names unify."""

def floor(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Largest integer not above."""

def floor_(input: _Tensor) -> _Tensor:
    """In-place version of `floor`: the result goes into this tensor's memory."""

def floor_divide(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Divide and round down."""

def fmax(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """The larger of two; where one is NaN, the other."""

def fmin(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """The smaller of two; where one is NaN, the other."""

def fmod(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Remainder of the division that rounds towards 0: it has the sign of the dividend."""

def frac(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Fractional part, with the sign of the value: y = x - sgn(x)·⌊|x|⌋. Names and sizes pass through."""

def frac_(input: _Tensor) -> _Tensor:
    """In-place version of `frac`: the result goes into this tensor's memory."""

def frexp(input: _Tensor, *, out: _Sequence[_Tensor] | None = None) -> _MantissaExponent:
    """Split into mantissa and exponent: x = mantissa · 2^exponent with 0.5 ≤ |mantissa| < 1."""

def from_numpy(array: _np.ndarray[_Any, _Any], *, names: _Sequence[_str | None] | None = None) -> _Tensor:
    """Return a tensor that shares the memory of `array`."""

def full(size: _Size | _dict[_str, _int] | None = None, fill_value: _Scalar | _Tensor | None = None, *, names: _Sequence[_str | None] | None = None, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, out: _Tensor | None = None, **dims: _int) -> _Tensor:
    """Return a tensor filled with one value: ``full((2, 3), 0.5)``, or by name ``full(fill_value=0.5, N=2, C=3)``."""

def full_like(input: _Tensor, fill_value: _Scalar | _Tensor, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, memory_format: _MemoryFormat | None = None) -> _Tensor:
    """Return one value everywhere, with the dims, names, type and device of `input`."""

def fused_moving_avg_obs_fake_quant(input: _Tensor, observer_on: _Tensor, fake_quant_on: _Tensor, running_min: _Tensor, running_max: _Tensor, scale: _Tensor, zero_point: _Tensor, averaging_const: _float, quant_min: _int, quant_max: _int, ch_axis: _int, per_row_fake_quant: _bool = False, symmetric_quant: _bool = False) -> _Tensor:
    """Observe a moving average of the range and round to its codes, each where it is switched on."""

def gather(input: _Tensor, dim: _Dim, index: _Tensor, *, sparse_grad: _bool = False, out: _Tensor | None = None) -> _Tensor:
    """Pick one value along `dim` for each index: for dim 0, y[i][j] = x[index[i][j]][j]."""

def gcd(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Greatest common divisor."""

def gcd_(input: _Operand, other: _Operand) -> _Tensor:
    """In-place version of `gcd`: the result goes into this tensor's memory."""

def ge(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Greater or equal."""

def geqrf(input: _Tensor, *, out: _Sequence[_Tensor] | None = None) -> _Reflectors:
    """R with the reflectors of Q below it, and their factors, as `linalg.householder_product` takes them."""

def ger(input: _Tensor, vec2: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """All products of the values of two vectors: y[i, j] = a[i]·b[j]."""

def get_device(input: _Tensor) -> _int:
    """Return the number of the device that the values are on, -1 for the CPU."""

def gradient(input: _Tensor, *, spacing: _Scalar | _Tensor | _Sequence[_Scalar | _Tensor] | None = 1, dim: _int | _str | _Sequence[_int | _str] | None = None, edge_order: _int = 1) -> _tuple[_Tensor, ...]:
    """Estimate the slope along each dim by differences: y_i = (x_{i+1} - x_{i-1}) / 2h inside."""

def greater(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Greater."""

def greater_equal(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Greater or equal."""

def grid_sampler(input: _Tensor, grid: _Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> _Tensor:
    """Call `grid_sample` with its modes as numbers."""

def grid_sampler_2d(input: _Tensor, grid: _Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> _Tensor:
    """Call `grid_sample` on [N, C, H, W] with its modes as numbers, see `grid_sampler`."""

def grid_sampler_3d(input: _Tensor, grid: _Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> _Tensor:
    """Call `grid_sample` on [N, C, D, H, W] with its modes as numbers, see `grid_sampler`."""

def group_norm(input: _Tensor, num_groups: _int, weight: _Tensor | None = None, bias: _Tensor | None = None, eps: _float = 1e-05) -> _Tensor:
    """Scale each group of channels of [N, C, …] by its mean and variance: (x - E[x]) / √(Var[x] + ε)·weight + bias."""

@_overload
def gru(input: _Tensor, hx: _Tensor, params: _Sequence[_Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> _tuple[_Tensor, _Tensor]:
    """Return what layers of gated recurrent units give of their weights: output and last state."""
@_overload
def gru(data: _Tensor, batch_sizes: _Tensor, hx: _Tensor, params: _Sequence[_Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool) -> _tuple[_Tensor, _Tensor]: ...

def gru_cell(input: _Tensor, hx: _Tensor, w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor | None = None, b_hh: _Tensor | None = None) -> _Tensor:
    """Return the next state [N, hidden] of a step of gated recurrent units; see `nn.GRUCell`."""

def gt(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Greater."""

def hamming_window(window_length: _int, periodic: _bool = True, alpha: _float = 0.54, beta: _float = 0.46, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False) -> _Tensor:
    """Return w_n = α - β cos(2πn / (N - 1)), where N is one more than the length if `periodic`."""

def hann_window(window_length: _int, periodic: _bool = True, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False) -> _Tensor:
    """Return w_n = sin²(πn / (N - 1)), where N is one more than the length if `periodic`."""

def hardshrink(input: _Tensor, lambd: _float = 0.5) -> _Tensor:
    """Drop values near 0: y = x where |x| > λ, 0 elsewhere. Names and sizes pass through."""

def heaviside(input: _Tensor, values: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Step from 0 to 1: y = 0 below 0, `values` at 0, 1 above. Names unify from the right, sizes broadcast."""

def hinge_embedding_loss(input: _Tensor, target: _Tensor, margin: _float = 1.0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> _Tensor:
    """Distance x where the target is 1, max(0, margin - x) where it is -1: distances of like and of unlike pairs."""

def histc(input: _Tensor, bins: _int = 100, min: _float = 0, max: _float = 0, *, out: _Tensor | None = None) -> _Tensor:
    """Count the values in `bins` bins of equal width between `min` and `max`, or if these are equal, over all values."""

def histogram(input: _Tensor, bins: _int | _Tensor, *, range: _Sequence[_float] | None = None, weight: _Tensor | None = None, density: _bool = False) -> _Histogram:
    """Count the values in bins, as a named tuple ``(hist, bin_edges)``."""

def hsplit(input: _Tensor, indices_or_sections: _Size | _Tensor) -> _tuple[_Tensor, ...]:
    """Cut the second dim (of one dim: that) at indices or into equal parts."""

def hstack(tensors: _Sequence[_Tensor], *, out: _Tensor | None = None) -> _Tensor:
    """Put tensors side by side: along the second dim, or the first of vectors."""

def hypot(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Length of the hypotenuse."""

def i0(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Modified Bessel function of the first kind, of order 0."""

def i0_(input: _Tensor) -> _Tensor:
    """In-place version of `i0`: the result goes into this tensor's memory."""

def igamma(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Regularized lower incomplete gamma function."""

def igammac(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Regularized upper incomplete gamma function."""

def imag(input: _Tensor) -> _Tensor:
    """Imaginary part of a complex tensor, as a view: y = Im x. Raises `DTypeError` for a real tensor."""

def index_add(input: _Tensor, dim: _Dim, index: _Tensor, source: _Tensor, *, alpha: _Scalar = 1, out: _Tensor | None = None) -> _Tensor:
    """A copy of `input` to which entries of `source`, times alpha, are added at entries of a dim."""

def index_copy(input: _Tensor, dim: _Dim, index: _Tensor, source: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """A copy of `input` in which entries of a dim are those of `source`."""

def index_fill(input: _Tensor, dim: _Dim, index: _Tensor, value: _Operand) -> _Tensor:
    """A copy of `input` in which entries of a dim are one number (or that of a tensor without dims)."""

def index_put(input: _Tensor, indices: _Sequence[_Tensor | None], values: _Tensor, accumulate: _bool = False) -> _Tensor:
    """A copy of `input` with `values` written (or, with `accumulate`, added) at tensors of indices, one a dim."""

def index_put_(input: _Tensor, indices: _Sequence[_Tensor | None], values: _Tensor, accumulate: _bool = False) -> _Tensor:
    """In-place version of `index_put`: the result goes into this tensor's memory."""

def index_reduce(input: _Tensor, dim: _Dim, index: _Tensor, source: _Tensor, reduce: _str, *, include_self: _bool = True, out: _Tensor | None = None) -> _Tensor:
    """A copy of `input` into which the entries of `source` along `dim` are put at the entries that `index` names."""

def index_select(input: _Tensor, dim: _Dim, index: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Pick entries along one dim by a vector of indices; the dim keeps its name, or takes the index's."""

def inner(input: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Dot products along the last dims of two tensors: y[i…, j…] = Σ_k a[i…, k]·b[j…, k]."""

def instance_norm(input: _Tensor, weight: _Tensor | None, bias: _Tensor | None, running_mean: _Tensor | None, running_var: _Tensor | None, use_input_stats: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool) -> _Tensor:
    """Normalise each channel of each sample, as `nn.functional.instance_norm` does."""

def int_repr(input: _Tensor) -> _Tensor:
    """Return a copy of the codes of a quantized tensor as plain integers."""

def inverse(A: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Inverses of square matrices: Y = A⁻¹. Raises `LinAlgError` for a singular one."""

def is_complex(input: _Tensor) -> _bool:
    """Say whether the values are complex."""

def is_conj(input: _Tensor) -> _bool:
    """Say whether the tensor shows the conjugate of what lies in memory, as `conj` and ``mH`` do."""

def is_floating_point(input: _Tensor) -> _bool:
    """Say whether the values are real floating point numbers."""

def is_inference(input: _Tensor) -> _bool:
    """Say whether a tensor was made in `inference_mode`, and can never be part of a gradient."""

def is_neg(input: _Tensor) -> _bool:
    """Say whether a negative is pending: never, they are computed when they are asked for."""

def is_nonzero(input: _Tensor) -> _bool:
    """Say whether the one value of a tensor is not 0. Raises where it has more or none."""

def is_same_size(input: _Tensor, other: _Tensor) -> _bool:
    """Say whether two tensors have the same sizes, whatever their types; their names must go together."""

def is_signed(input: _Tensor) -> _bool:
    """Say whether the type of the values has negative numbers."""

def isclose(input: _Tensor, other: _Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _Tensor:
    """True where two are nearly equal: |a - b| ≤ atol + rtol·|b|. Names unify from the right, sizes broadcast."""

def isfinite(input: _Tensor) -> _Tensor:
    """True where finite."""

def isin(elements: _Operand, test_elements: _Operand, *, assume_unique: _bool = False, invert: _bool = False, out: _Tensor | None = None) -> _Tensor:
    """Whether each element is one of the test elements; with `invert`, whether it is none."""

def isinf(input: _Tensor) -> _Tensor:
    """True where infinite."""

def isnan(input: _Tensor) -> _Tensor:
    """True where not a number."""

def isneginf(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """True where -infinity."""

def isposinf(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """True where +infinity."""

def isreal(input: _Tensor) -> _Tensor:
    """True where the imaginary part is 0: everywhere in a real tensor. Names and sizes pass through."""

def istft(input: _Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: _Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> _Tensor:
    """Inverse of `stft`: the signal whose spectra come nearest to those given, [T] or [N, T]."""

def kaiser_window(window_length: _int, periodic: _bool = True, beta: _float = 12.0, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False) -> _Tensor:
    """Return w_n = I₀(β √(1 - (2n / (N - 1) - 1)²)) / I₀(β), where N is one more than the length if `periodic`."""

def kl_div(input: _Tensor, target: _Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', log_target: _bool = False) -> _Tensor:
    """Kullback-Leibler divergence of log-probabilities `input` from `target`: target·(ln target - x)."""

def kron(input: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Kronecker product: every value of `input` times the whole of `other`."""

def kthvalue(input: _Tensor, k: _int, dim: _Dim = -1, keepdim: _bool = False, *, out: _Sequence[_Tensor] | None = None) -> _ValuesIndices:
    """The `k`-th smallest value along a dim (from 1) and where it stands, as a named tuple ``(values, indices)``."""

def layer_norm(input: _Tensor, normalized_shape: _Shape, weight: _Tensor | None = None, bias: _Tensor | None = None, eps: _float = 1e-05) -> _Tensor:
    """Scale each sample by the mean and variance of its last dims: (x - E[x]) / √(Var[x] + ε)·weight + bias."""

def lcm(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Least common multiple."""

def lcm_(input: _Operand, other: _Operand) -> _Tensor:
    """In-place version of `lcm`: the result goes into this tensor's memory."""

def ldexp(input: _Tensor, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Multiply by a power of 2: y = a·2^b. Names unify from the right, sizes broadcast."""

def ldexp_(input: _Tensor, other: _Operand) -> _Tensor:
    """In-place version of `ldexp`: the result goes into this tensor's memory."""

def le(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Less or equal."""

def lerp(input: _Tensor, end: _Tensor | _float, weight: _Tensor | _float, *, out: _Tensor | None = None) -> _Tensor:
    """Go from one to the other: y = a + w·(b - a). Names of all three unify from the right, sizes broadcast."""

def less(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Less."""

def less_equal(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Less or equal."""

def lgamma(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Logarithm of the absolute value of the gamma function."""

def linear(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None) -> _Tensor:
    """Affine map of the last dim: y[…, o] = Σ_i x[…, i]·w[o, i] + b[o]."""

def log(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Natural logarithm."""

def log10(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Logarithm to base 10."""

def log10_(input: _Tensor) -> _Tensor:
    """In-place version of `log10`: the result goes into this tensor's memory."""

def log1p(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Natural logarithm of 1 + x, exact near 0."""

def log1p_(input: _Tensor) -> _Tensor:
    """In-place version of `log1p`: the result goes into this tensor's memory."""

def log2(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Logarithm to base 2."""

def log2_(input: _Tensor) -> _Tensor:
    """In-place version of `log2`: the result goes into this tensor's memory."""

def log_(input: _Tensor) -> _Tensor:
    """In-place version of `log`: the result goes into this tensor's memory."""

def log_softmax(input: _Tensor, dim: _Dim, dtype: _DTypeLike | None = None) -> _Tensor:
    """Logarithm of softmax along `dim`, without overflow: y_i = x_i - ln Σ_j e^{x_j}. Computed in `dtype`, if given."""

def logaddexp(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Logarithm of the sum of exponentials."""

def logaddexp2(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Logarithm to base 2 of the sum of powers of 2."""

def logcumsumexp(input: _Tensor, dim: _Dim, *, out: _Tensor | None = None) -> _Tensor:
    """Logarithm of the running sum of exponentials along a dim, without overflow: y_i = ln Σ_{j ≤ i} e^{x_j}."""

def logdet(input: _Tensor) -> _Tensor:
    """Logarithms of determinants: -∞ where one is zero, NaN where one is negative."""

def logical_and(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Both non-zero."""

def logical_not(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """True where zero."""

def logical_or(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Either non-zero."""

def logical_xor(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """One non-zero and the other not."""

def logit(input: _Tensor, eps: _float | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Inverse of the logistic function: y = ln(x/(1 - x)), with x kept within [eps, 1 - eps] where `eps` is given."""

def logit_(input: _Tensor, eps: _float | None = None) -> _Tensor:
    """In-place version of `logit`: the result goes into this tensor's memory."""

def logsumexp(input: _Tensor, dim: _DimsLike | None, keepdim: _bool = False, *, out: _Tensor | None = None) -> _Tensor:
    """Logarithm of the sum of exponentials over dims, without overflow: y = ln Σ e^x."""

@_overload
def lstm(input: _Tensor, hx: _Sequence[_Tensor], params: _Sequence[_Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> _tuple[_Tensor, _Tensor, _Tensor]:
    """Return what layers of long short-term memory give of their weights: output, last h and last c."""
@_overload
def lstm(data: _Tensor, batch_sizes: _Tensor, hx: _Sequence[_Tensor], params: _Sequence[_Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool) -> _tuple[_Tensor, _Tensor, _Tensor]: ...

def lstm_cell(input: _Tensor, hx: _Sequence[_Tensor], w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor | None = None, b_hh: _Tensor | None = None) -> _tuple[_Tensor, _Tensor]:
    """Return the next h and c [N, hidden] of a step of long short-term memory; see `nn.LSTMCell`."""

def lt(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Less."""

def lu(input: _Tensor, pivot: _bool = True, get_infos: _bool = False) -> _LUFactors | _LUFactorsWithInfo:
    """Triangular factors in one matrix, and the row exchanges; see `linalg.lu_factor`."""

def lu_solve(input: _Tensor, LU_data: _Tensor, LU_pivots: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Solution X of A X = `input` given what `linalg.lu_factor` made of A; see `linalg.lu_solve`."""

def lu_unpack(LU_data: _Tensor, LU_pivots: _Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True, *, out: _Sequence[_Tensor] | None = None) -> _PLU:
    """The factors of A = P L U from what `linalg.lu_factor` returned; what is not unpacked is empty."""

def margin_ranking_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: _float = 0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> _Tensor:
    """max(0, -t·(x₁ - x₂) + margin): x₁ is to be above x₂ where the target t is 1, below it where that is -1."""

def masked_fill(input: _Tensor, mask: _Tensor, value: _Operand) -> _Tensor:
    """Put one number where `mask` is True: y = mask ? value : x. Names unify, sizes broadcast, the type stays."""

def masked_scatter(input: _Tensor, mask: _Tensor, source: _Tensor) -> _Tensor:
    """A copy of `input` in which the values where a mask is true are those of `source`, one after another."""

def masked_select(input: _Tensor, mask: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """The values where a mask is true, in row-major order, as one dim; mask and input broadcast."""

def matmul(input: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Matrix product over the last two dims, batches at the left: y[…, m, n] = Σ_k a[…, m, k]·b[…, k, n]."""

def matrix_exp(A: _Tensor) -> _Tensor:
    """Exponentials of square matrices: Y = Σ_k Aᵏ / k!; of 16-bit floats computed in float32 and rounded once."""

def matrix_power(A: _Tensor, n: _int, *, out: _Tensor | None = None) -> _Tensor:
    """Powers of square matrices: A multiplied n times, its inverse for negative n, the identity for 0."""

@_overload
def max(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Largest of all values; with `dim`, largest along it as a named tuple ``(values, indices)``."""
@_overload
def max(input: _Tensor, dim: _Dim, keepdim: _bool = False, *, out: _Sequence[_Tensor] | None = None) -> _ValuesIndices: ...
@_overload
def max(input: _Tensor, dim: _Tensor, *, out: _Tensor | None = None) -> _Tensor: ...
@_overload
def max(input: _Tensor, *, other: _Tensor, out: _Tensor | None = None) -> _Tensor: ...

@_overload
def max_pool1d(input: _Tensor, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0, dilation: _Size = 1, ceil_mode: _bool = False, return_indices: _Literal[False] = False) -> _Tensor:
    """Largest value of each window of [N, C, L] or [C, L]; `stride` defaults to the kernel size."""
@_overload
def max_pool1d(input: _Tensor, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0, dilation: _Size = 1, ceil_mode: _bool = False, *, return_indices: _Literal[True]) -> _tuple[_Tensor, _Tensor]: ...
@_overload
def max_pool1d(input: _Tensor, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0, dilation: _Size = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> _Tensor | _tuple[_Tensor, _Tensor]: ...

@_overload
def max_pool2d(input: _Tensor, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0, dilation: _Size = 1, ceil_mode: _bool = False, return_indices: _Literal[False] = False) -> _Tensor:
    """Largest value of each window of [N, C, H, W] or [C, H, W]; `stride` defaults to the kernel size."""
@_overload
def max_pool2d(input: _Tensor, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0, dilation: _Size = 1, ceil_mode: _bool = False, *, return_indices: _Literal[True]) -> _tuple[_Tensor, _Tensor]: ...
@_overload
def max_pool2d(input: _Tensor, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0, dilation: _Size = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> _Tensor | _tuple[_Tensor, _Tensor]: ...

@_overload
def max_pool3d(input: _Tensor, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0, dilation: _Size = 1, ceil_mode: _bool = False, return_indices: _Literal[False] = False) -> _Tensor:
    """Largest value of each window of [N, C, D, H, W] or [C, D, H, W]; `stride` defaults to the kernel size."""
@_overload
def max_pool3d(input: _Tensor, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0, dilation: _Size = 1, ceil_mode: _bool = False, *, return_indices: _Literal[True]) -> _tuple[_Tensor, _Tensor]: ...
@_overload
def max_pool3d(input: _Tensor, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0, dilation: _Size = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> _Tensor | _tuple[_Tensor, _Tensor]: ...

def maximum(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """The larger of two; NaN where one is."""

def mean(input: _Tensor, dim: _DimsLike | None = None, keepdim: _bool = False, *, dtype: _DTypeLike | None = None, out: _Tensor | None = None) -> _Tensor:
    """Arithmetic mean over one dim, several or all: y = Σ x / n. Integers need a floating `dtype`."""

@_overload
def median(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Middle value, the lower of two; with `dim`, along it as a named tuple ``(values, indices)``."""
@_overload
def median(input: _Tensor, dim: _Dim, keepdim: _bool = False, *, out: _Sequence[_Tensor] | None = None) -> _ValuesIndices: ...

def meshgrid(*tensors: _Tensor | _Sequence[_Tensor], indexing: _str = 'ij') -> _tuple[_Tensor, ...]:
    """Stretch vectors to the grid of all of their values: as many tensors, each varying along its own dim."""

@_overload
def min(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Smallest of all values; with `dim`, smallest along it as a named tuple ``(values, indices)``."""
@_overload
def min(input: _Tensor, dim: _Dim, keepdim: _bool = False, *, out: _Sequence[_Tensor] | None = None) -> _ValuesIndices: ...
@_overload
def min(input: _Tensor, dim: _Tensor, *, out: _Tensor | None = None) -> _Tensor: ...
@_overload
def min(input: _Tensor, *, other: _Tensor, out: _Tensor | None = None) -> _Tensor: ...

def minimum(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """The smaller of two; NaN where one is."""

def mm(input: _Tensor, mat2: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Matrix product of two matrices: y[n, p] = Σ_m a[n, m]·b[m, p]."""

def mode(input: _Tensor, dim: _Dim = -1, keepdim: _bool = False, *, out: _Sequence[_Tensor] | None = None) -> _ValuesIndices:
    """Most frequent value along a dim and where it stands last, as a named tuple ``(values, indices)``."""

def moveaxis(input: _Tensor, source: _DimsLike, destination: _DimsLike) -> _Tensor:
    """Move dims to other positions: `movedim` by another name."""

def movedim(input: _Tensor, source: _DimsLike, destination: _DimsLike) -> _Tensor:
    """Move the dims `source`, one or several, to the positions `destination`; the others keep their order. A view."""

def mse_loss(input: _Tensor, target: _Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', weight: _Tensor | None = None) -> _Tensor:
    """Squared difference: (x - target)²."""

def msort(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Values along the first dim in order."""

def mul(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Multiply."""

def multinomial(input: _Tensor, num_samples: _int, replacement: _bool = False, *, generator: _Generator | None = None) -> _Tensor:
    """Return indices drawn with the weights in each row of `input`: dims [..., C] give [..., num_samples], int64."""

def multiply(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Multiply."""

def mv(input: _Tensor, vec: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Product of a matrix and a vector: y[n] = Σ_m a[n, m]·x[m]."""

def mvlgamma(input: _Tensor, p: _int, *, out: _Tensor | None = None) -> _Tensor:
    """Logarithm of the multivariate gamma function: y = p(p-1)/4·ln π + Σ_i ln Γ(x - (i-1)/2), i from 1 to p."""

def nan_to_num(input: _Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Put numbers in the place of NaN (0 by default) and of infinities (by default the largest of the type)."""

def nan_to_num_(input: _Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> _Tensor:
    """In-place version of `nan_to_num`: the result goes into this tensor's memory."""

def nanmean(input: _Tensor, dim: _DimsLike | None = None, keepdim: _bool = False, *, dtype: _DTypeLike | None = None, out: _Tensor | None = None) -> _Tensor:
    """Mean over dims of the values that are numbers; NaN where there is none."""

@_overload
def nanmedian(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Middle of the values that are numbers, see `median`; NaN where there is none."""
@_overload
def nanmedian(input: _Tensor, dim: _Dim, keepdim: _bool = False, *, out: _Sequence[_Tensor] | None = None) -> _ValuesIndices: ...

def nanquantile(input: _Tensor, q: _Tensor | _float | _Sequence[_float], dim: _Dim | None = None, keepdim: _bool = False, *, interpolation: _str = 'linear', out: _Tensor | None = None) -> _Tensor:
    """The q-th quantile of the values that are numbers, see `quantile`; NaN where there is none."""

def nansum(input: _Tensor, dim: _DimsLike | None = None, keepdim: _bool = False, *, dtype: _DTypeLike | None = None, out: _Tensor | None = None) -> _Tensor:
    """Sum over dims of the values that are numbers: NaN counts as 0."""

def narrow(input: _Tensor, dim: _Dim, start: _int | _Tensor, length: _int) -> _Tensor:
    """The `length` entries of a dim from `start` on; both are checked. A view."""

def narrow_copy(input: _Tensor, dim: _Dim, start: _int | _Tensor, length: _int) -> _Tensor:
    """As `narrow`, with memory of its own instead of a view."""

def native_batch_norm(input: _Tensor, weight: _Tensor | None, bias: _Tensor | None, running_mean: _Tensor | None, running_var: _Tensor | None, training: _bool, momentum: _float, eps: _float) -> _tuple[_Tensor, _Tensor, _Tensor]:
    """`batch_norm`, with the mean and reciprocal deviation 1/√(Var + ε) of the batch it used: [0] if not `training`."""

def native_group_norm(input: _Tensor, weight: _Tensor, bias: _Tensor, N: _int, C: _int, HxW: _int, group: _int, eps: _float) -> _tuple[_Tensor, _Tensor, _Tensor]:
    """`group_norm`, with the mean and reciprocal deviation [N, group] it used."""

def native_layer_norm(input: _Tensor, normalized_shape: _Shape, weight: _Tensor | None, bias: _Tensor | None, eps: _float) -> _tuple[_Tensor, _Tensor, _Tensor]:
    """`layer_norm`, with the mean and the reciprocal deviation 1/√(Var + ε) it used; no gradient flows through those."""

def ne(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Not equal."""

def neg(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Negate."""

def neg_(input: _Tensor) -> _Tensor:
    """In-place version of `neg`: the result goes into this tensor's memory."""

def negative(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Negate."""

def negative_(input: _Tensor) -> _Tensor:
    """In-place version of `negative`: the result goes into this tensor's memory."""

def nextafter(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """The next floating point number from the first towards the second."""

def nll_loss(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100, reduce: _bool | None = None, reduction: _str = 'mean') -> _Tensor:
    """Negative log-likelihood of the classes `target` under log-probabilities `input`."""

@_overload
def nonzero(input: _Tensor, *, as_tuple: _Literal[False] = False) -> _Tensor:
    """Indices (int64) of the values that are not zero, one a row; with `as_tuple` one vector a dim."""
@_overload
def nonzero(input: _Tensor, *, as_tuple: _Literal[True]) -> _tuple[_Tensor, ...]: ...

def norm(input: _Tensor, p: _float | _str | None = 'fro', dim: _DimsLike | None = None, keepdim: _bool = False, dtype: _DTypeLike | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Norm of all values or over dims: (Σ |x|^p)^{1/p}; ``"fro"`` is p = 2, ``"nuc"`` the sum of singular values."""

def normal(mean: _Tensor | _float = 0.0, std: _Tensor | _float = 1.0, size: _Size | None = None, *, names: _Sequence[_str | None] | None = None, dtype: _DTypeLike | None = None, generator: _Generator | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, out: _Tensor | None = None, **dims: _int) -> _Tensor:
    """Return values drawn from normal distributions: mean and spread by tensor or number, or of one `size`."""

def not_equal(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Not equal."""

def one_hot(input: _Tensor, num_classes: _int = -1) -> _Tensor:
    """A vector for each index: 1 (int64) at the index, 0 elsewhere, along a new last dim."""

def ones(*size: _Size, names: _Sequence[_str | None] | None = None, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, out: _Tensor | None = None, **dims: _int) -> _Tensor:
    """Return ones: ``ones(2, 3)`` or by name ``ones(N=2, C=3)``."""

def ones_like(input: _Tensor, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, memory_format: _MemoryFormat | None = None) -> _Tensor:
    """Return ones with the dims, names, type and device of `input`."""

def orgqr(A: _Tensor, tau: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """The first columns of a product of reflectors: H₁ H₂ … H_k with H_i = I - τ_i v_i v_iᴴ."""

def ormqr(input: _Tensor, tau: _Tensor, other: _Tensor, left: _bool = True, transpose: _bool = False, *, out: _Tensor | None = None) -> _Tensor:
    """Product of the whole Q that reflectors make with another matrix: Q C, or C Q; with `transpose` Qᴴ for Q."""

def outer(input: _Tensor, vec2: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """All products of the values of two vectors: y[i, j] = a[i]·b[j]."""

def pad(input: _Tensor, pad: _Sequence[_int], mode: _str = 'constant', value: _float | None = None) -> _Tensor:
    """Pad: `pad` lists (before, after) from the last dim backwards; negative widths cut. Names pass through."""

def pairwise_distance(x1: _Tensor, x2: _Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False) -> _Tensor:
    """Distance of rows pair by pair: the p-norm of x₁ - x₂ + ε over the last dim. [N, D], [N, D] -> [N]."""

def pdist(input: _Tensor, p: _float = 2) -> _Tensor:
    """Distance of each row of `input` [N, M] to each later row, in one row of N·(N - 1)/2 values."""

def permute(input: _Tensor, *order: _DimsLike, dims: _DimsLike | None = None) -> _Tensor:
    """The dims in another order, by position or by name: a view."""

def permute_copy(input: _Tensor, *order: _DimsLike, dims: _DimsLike | None = None) -> _Tensor:
    """As `permute`, with memory of its own instead of a view."""

def pinverse(input: _Tensor, rcond: _float = 1e-15) -> _Tensor:
    """Pseudoinverse of matrices; see `linalg.pinv`."""

def pixel_shuffle(input: _Tensor, upscale_factor: _int) -> _Tensor:
    """Rearrange [*, C·r², H, W] to [*, C, H·r, W·r]."""

def pixel_unshuffle(input: _Tensor, downscale_factor: _int) -> _Tensor:
    """Rearrange [*, C, H·r, W·r] to [*, C·r², H, W]: the inverse of `pixel_shuffle`."""

def poisson(input: _Tensor, generator: _Generator | None = None) -> _Tensor:
    """Return counts drawn from Poisson distributions of the rates in `input`. Dims, names and type stay."""

def poisson_nll_loss(input: _Tensor, target: _Tensor, log_input: _bool = True, full: _bool = False, size_average: _bool | None = None, eps: _float = 1e-08, reduce: _bool | None = None, reduction: _str = 'mean') -> _Tensor:
    """Negative log-likelihood of counts `target` under Poisson distributions."""

def polar(abs: _Tensor, angle: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Complex numbers from absolute values and angles in radians: y = r·cos φ + i·r·sin φ. Names unify."""

def polygamma(n: _int, input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Derivative of order `n` of the digamma function: y = ψ⁽ⁿ⁾(x). Names and sizes pass through."""

def positive(input: _Tensor) -> _Tensor:
    """Return the tensor itself: y = +x. Raises `DTypeError` for bool."""

def pow(input: _Operand, exponent: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Raise to a power: y = a^b. Names unify from the right, sizes broadcast."""

def prelu(input: _Tensor, weight: _Tensor) -> _Tensor:
    """Rectified linear unit with learned slopes below 0: y = x above 0, w·x below."""

def prod(input: _Tensor, dim: _DimsLike | None = None, keepdim: _bool = False, *, dtype: _DTypeLike | None = None, out: _Tensor | None = None) -> _Tensor:
    """Product over one dim, several or all: y = Π x. Integers are multiplied as int64."""

def put(input: _Tensor, index: _Tensor, source: _Tensor, accumulate: _bool = False) -> _Tensor:
    """A copy of `input`, taken as flat, with `source` written (or, with `accumulate`, added) at positions."""

def q_per_channel_axis(input: _Tensor) -> _int:
    """Return the position of the dim each entry of which has a scale of its own."""

def q_per_channel_scales(input: _Tensor) -> _Tensor:
    """Return the scales of a tensor that is quantized per channel: float64, one a channel."""

def q_per_channel_zero_points(input: _Tensor) -> _Tensor:
    """Return the zero points of a tensor that is quantized per channel: int64, one a channel."""

def q_scale(input: _Tensor) -> _float:
    """Return the scale of a tensor that is quantized per tensor."""

def q_zero_point(input: _Tensor) -> _int:
    """Return the zero point of a tensor that is quantized per tensor."""

def qr(input: _Tensor, some: _bool = True, *, out: _Sequence[_Tensor] | None = None) -> _QRResult:
    """Orthonormal and upper triangular factor, reduced or (without `some`) complete; see `linalg.qr`."""

def qscheme(input: _Tensor) -> _QScheme:
    """Return how a tensor is quantized."""

def quantile(input: _Tensor, q: _Tensor | _float | _Sequence[_float], dim: _Dim | None = None, keepdim: _bool = False, *, interpolation: _str = 'linear', out: _Tensor | None = None) -> _Tensor:
    """The q-th quantile along a dim, or of all values: the value at rank q·(n - 1) of the sorted ones."""

def quantize_per_channel(input: _Tensor, scales: _Tensor, zero_points: _Tensor, axis: _Dim, dtype: _DTypeLike, *, quant_min: _int | None = None, quant_max: _int | None = None) -> _Tensor:
    """Quantize float32 values with a scale and a zero point for each entry of `axis`, a position or a name."""

def quantize_per_group(input: _Tensor, scales: _Tensor, zero_points: _Tensor, group_size: _int, dtype: _DTypeLike) -> _Tensor:
    """Quantize float32 values with a scale and a zero point for each `group_size` neighbours along the last dim."""

@_overload
def quantize_per_tensor(input: _Tensor, scale: _Tensor | _float, zero_point: _Tensor | _int, dtype: _DTypeLike, *, quant_min: _int | None = None, quant_max: _int | None = None) -> _Tensor:
    """Quantize float32 values: q = clamp(rne(x·(1/scale) + zero_point))."""
@_overload
def quantize_per_tensor(input: _Sequence[_Tensor], scale: _Tensor, zero_point: _Tensor, dtype: _DTypeLike, *, quant_min: _int | None = None, quant_max: _int | None = None) -> _tuple[_Tensor, ...]: ...

def quantize_per_tensor_dynamic(input: _Tensor, dtype: _DTypeLike, reduce_range: _bool) -> _Tensor:
    """Quantize float32 values over the range that they have, zero included; with `reduce_range` to 7 of 8 bits."""

def rad2deg(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Angles in radians as degrees: y = x·180/π. Names and sizes pass through."""

def rad2deg_(input: _Tensor) -> _Tensor:
    """In-place version of `rad2deg`: the result goes into this tensor's memory."""

def rand(*size: _Size, names: _Sequence[_str | None] | None = None, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, generator: _Generator | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, out: _Tensor | None = None, **dims: _int) -> _Tensor:
    """Return values drawn evenly from [0, 1): ``rand(2, 3)`` or ``rand(N=2, C=3)``."""

def rand_like(input: _Tensor, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, generator: _Generator | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, memory_format: _MemoryFormat | None = None) -> _Tensor:
    """Return values drawn evenly from [0, 1), with the dims, names and type of `input`."""

def randint(low: _int = 0, high: _int | _Sequence[_int] | None = None, size: _Sequence[_int] = (), *, names: _Sequence[_str | None] | None = None, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, generator: _Generator | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, out: _Tensor | None = None, **dims: _int) -> _Tensor:
    """Return whole numbers drawn evenly from [low, high), or from [0, low) if only one bound is given."""

def randint_like(input: _Tensor, low: _int, high: _int | None = None, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, generator: _Generator | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, memory_format: _MemoryFormat | None = None) -> _Tensor:
    """Return whole numbers drawn evenly from [low, high), with the dims and names of `input`."""

def randn(*size: _Size, names: _Sequence[_str | None] | None = None, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, generator: _Generator | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, out: _Tensor | None = None, **dims: _int) -> _Tensor:
    """Return values drawn from the standard normal: ``randn(2, 3)`` or ``randn(N=2, C=3)``."""

def randn_like(input: _Tensor, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, generator: _Generator | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, memory_format: _MemoryFormat | None = None) -> _Tensor:
    """Return values drawn from the standard normal, with the dims, names and type of `input`."""

def randperm(n: _int, *, dtype: _DTypeLike | None = None, generator: _Generator | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, out: _Tensor | None = None) -> _Tensor:
    """Return 0 … n-1 in random order. Raises ValueError for a negative `n`."""

def ravel(input: _Tensor) -> _Tensor:
    """All values in row-major order as one dim; shares memory where they lie so already."""

def real(input: _Tensor) -> _Tensor:
    """Real part of a complex tensor, as a view: y = Re x; a real tensor is returned as it is."""

def reciprocal(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Reciprocal."""

def reciprocal_(input: _Tensor) -> _Tensor:
    """In-place version of `reciprocal`: the result goes into this tensor's memory."""

def relu(input: _Tensor, inplace: _bool = False) -> _Tensor:
    """Rectified linear unit: y = max(x, 0). Names and sizes pass through; the gradient at 0 is 0."""

def relu_(input: _Tensor, inplace: _bool = False) -> _Tensor:
    """In-place version of `relu`: the result goes into this tensor's memory."""

def remainder(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Remainder of the division that rounds down: it has the sign of the divisor."""

def renorm(input: _Tensor, p: _float, dim: _int | _str, maxnorm: _float, *, out: _Tensor | None = None) -> _Tensor:
    """Scale down the parts along `dim` whose p-norm is larger than `maxnorm`, to that norm."""

def repeat_interleave(input: _Tensor, repeats: _Tensor | _int | None = None, dim: _Dim | None = None, *, output_size: _int | None = None) -> _Tensor:
    """Each entry along `dim` (without it, of all values in a row) repeated as often as `repeats` says, for all or each."""

def reshape(input: _Tensor, *sizes: _Size, shape: _Size | None = None) -> _Tensor:
    """The same values in row-major order under other sizes, one of which may be -1."""

def resolve_conj(input: _Tensor) -> _Tensor:
    """Return a copy of a conjugate (`is_conj`), which changes with nothing else; any other tensor as it is."""

def resolve_neg(input: _Tensor) -> _Tensor:
    """Return the tensor itself: negatives are computed when they are asked for, none is pending."""

def rms_norm(input: _Tensor, normalized_shape: _Shape, weight: _Tensor | None = None, eps: _float | None = None) -> _Tensor:
    """Scale each sample by the root mean square of its last dims: x / √(E[x²] + ε)·weight."""

@_overload
def rnn_relu(input: _Tensor, hx: _Tensor, params: _Sequence[_Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> _tuple[_Tensor, _Tensor]:
    """Return what layers of Elman's kind, with max(0, …), give of their weights: output and last state."""
@_overload
def rnn_relu(data: _Tensor, batch_sizes: _Tensor, hx: _Tensor, params: _Sequence[_Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool) -> _tuple[_Tensor, _Tensor]: ...

def rnn_relu_cell(input: _Tensor, hx: _Tensor, w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor | None = None, b_hh: _Tensor | None = None) -> _Tensor:
    """Return the next state [N, hidden] of a step of Elman's kind, with max(0, …); see `nn.RNNCell`."""

@_overload
def rnn_tanh(input: _Tensor, hx: _Tensor, params: _Sequence[_Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> _tuple[_Tensor, _Tensor]:
    """Return what layers of Elman's kind, with tanh, give of their weights: output and last state."""
@_overload
def rnn_tanh(data: _Tensor, batch_sizes: _Tensor, hx: _Tensor, params: _Sequence[_Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool) -> _tuple[_Tensor, _Tensor]: ...

def rnn_tanh_cell(input: _Tensor, hx: _Tensor, w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor | None = None, b_hh: _Tensor | None = None) -> _Tensor:
    """Return the next state [N, hidden] of a step of Elman's kind, with tanh; see `nn.RNNCell`."""

def roll(input: _Tensor, shifts: _Size, dims: _DimsLike | None = None) -> _Tensor:
    """Move entries along dims by `shifts`; what leaves at one end enters at the other."""

def rot90(input: _Tensor, k: _int = 1, dims: _Sequence[_int | _str] = (0, 1)) -> _Tensor:
    """Rotate by k quarter turns in the plane of two dims, from the first towards the second: a copy."""

def round(input: _Tensor, *, decimals: _int = 0, out: _Tensor | None = None) -> _Tensor:
    """Round to `decimals` digits after the point (before it where negative), halves to even: y = rne(x·10^d)/10^d."""

def round_(input: _Tensor, *, decimals: _int = 0) -> _Tensor:
    """In-place version of `round`: the result goes into this tensor's memory."""

def row_stack(tensors: _Sequence[_Tensor], *, out: _Tensor | None = None) -> _Tensor:
    """Put tensors below each other: `vstack` by another name."""

def rsqrt(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Reciprocal of the square root."""

def rsqrt_(input: _Tensor) -> _Tensor:
    """In-place version of `rsqrt`: the result goes into this tensor's memory."""

def rsub(input: _Tensor, other: _Operand, *, alpha: _Scalar = 1) -> _Tensor:
    """Subtract from the other: y = b - alpha·a. Names unify from the right, sizes broadcast."""

def scalar_tensor(s: _Scalar, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False) -> _Tensor:
    """Return a number as a tensor without dims, of the default type unless `dtype` says otherwise."""

def scatter(input: _Tensor, dim: _Dim, index: _Tensor, src: _Operand | None = None, *, value: _Scalar | None = None, reduce: _str | None = None, out: _Tensor | None = None) -> _Tensor:
    """A copy of `input` in which the value at each index along `dim` is replaced by one of `src`, or by a number."""

def scatter_add(input: _Tensor, dim: _Dim, index: _Tensor, src: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """A copy of `input` to which each value of `src` is added at its index along `dim`."""

def scatter_reduce(input: _Tensor, dim: _Dim, index: _Tensor, src: _Tensor, reduce: _str, *, include_self: _bool = True, out: _Tensor | None = None) -> _Tensor:
    """A copy of `input` into which each value of `src` is put at its index along `dim`."""

def searchsorted(sorted_sequence: _Tensor, input: _Operand, *, out_int32: _bool = False, right: _bool = False, side: _str | None = None, sorter: _Tensor | None = None, out: _Tensor | None = None) -> _Tensor:
    """Where the values of `input` would be put into the sorted sequence: the first place, or with `right` the last."""

def select(input: _Tensor, dim: _Dim, index: _int) -> _Tensor:
    """One entry of a dim, which goes with its name: a view."""

def select_copy(input: _Tensor, dim: _Dim, index: _int) -> _Tensor:
    """As `select`, with memory of its own instead of a view."""

def select_scatter(input: _Tensor, src: _Tensor, dim: _Dim, index: _int) -> _Tensor:
    """A copy of `input` in which one entry of a dim is replaced by `src`."""

def selu(input: _Tensor, inplace: _bool = False) -> _Tensor:
    """Exponential linear unit that normalizes itself: y = 1.0507·(x above 0, 1.6733·(e^x - 1) below)."""

def sgn(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Sign; of a complex number, its direction: y = x/|x|, 0 at 0. Names pass through."""

def sigmoid(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Logistic function."""

def sigmoid_(input: _Tensor) -> _Tensor:
    """In-place version of `sigmoid`: the result goes into this tensor's memory."""

def sign(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Sign: -1, 0 or 1."""

def signbit(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """True where the sign is set: below 0, and at -0."""

def sin(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Sine of an angle in radians."""

def sin_(input: _Tensor) -> _Tensor:
    """In-place version of `sin`: the result goes into this tensor's memory."""

def sinc(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Normalized sine over its argument, 1 at 0."""

def sinc_(input: _Tensor) -> _Tensor:
    """In-place version of `sinc`: the result goes into this tensor's memory."""

def sinh(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Hyperbolic sine."""

def sinh_(input: _Tensor) -> _Tensor:
    """In-place version of `sinh`: the result goes into this tensor's memory."""

def slice(input: _Tensor, dim: _Dim = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> _Tensor:
    """The entries of a dim from `start` up to `end`, every `step`-th, as Python slices them: a view."""

def slice_copy(input: _Tensor, dim: _Dim = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> _Tensor:
    """As `slice`, with memory of its own instead of a view."""

def slice_scatter(input: _Tensor, src: _Tensor, dim: _Dim = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> _Tensor:
    """A copy of `input` in which what `slice` shows is replaced by `src`."""

def slogdet(A: _Tensor, *, out: _Sequence[_Tensor] | None = None) -> _SlogdetResult:
    """Signs (or phases) of determinants, and the logarithms of their moduli: 0 and -∞ for singular matrices."""

def softmax(input: _Tensor, dim: _Dim, dtype: _DTypeLike | None = None) -> _Tensor:
    """Exponentials scaled to sum to 1 along `dim`: y_i = e^{x_i} / Σ_j e^{x_j}. Computed in `dtype`, if given."""

def sort(input: _Tensor, dim: _Dim = -1, descending: _bool = False, stable: _bool = False, *, out: _Sequence[_Tensor] | None = None) -> _ValuesIndices:
    """Values along a dim in order and where they stood, as a named tuple ``(values, indices)``."""

def split(tensor: _Tensor, split_size_or_sections: _Size, dim: _Dim = 0) -> _tuple[_Tensor, ...]:
    """Cut a dim into parts of a size (the last may be smaller), or of the sizes listed: a tuple of views."""

def split_copy(tensor: _Tensor, split_size_or_sections: _Size, dim: _Dim = 0) -> _tuple[_Tensor, ...]:
    """As `split`, with memory of its own instead of a view."""

def split_with_sizes(input: _Tensor, split_sizes: _Sequence[_int], dim: _Dim = 0) -> _tuple[_Tensor, ...]:
    """Cut a dim into parts of the given sizes, which together are all of it: a tuple of views."""

def split_with_sizes_copy(input: _Tensor, split_sizes: _Sequence[_int], dim: _Dim = 0) -> _tuple[_Tensor, ...]:
    """As `split_with_sizes`, with memory of its own instead of a view."""

def spmm(mat1: _Tensor, mat2: _Tensor) -> _Tensor:
    """Product of two matrices, sparse or dense: y[i, j] = Σ_k a[i, k]·b[k, j]."""

def sqrt(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Square root."""

def sqrt_(input: _Tensor) -> _Tensor:
    """In-place version of `sqrt`: the result goes into this tensor's memory."""

def square(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Square: y = x². Names and sizes pass through."""

def square_(input: _Tensor) -> _Tensor:
    """In-place version of `square`: the result goes into this tensor's memory."""

def squeeze(input: _Tensor, dim: _DimsLike | None = None) -> _Tensor:
    """Take dims of size 1 away, with their names: all of them, or those given (of which others stay). A view."""

def squeeze_copy(input: _Tensor, dim: _DimsLike | None = None) -> _Tensor:
    """As `squeeze`, with memory of its own instead of a view."""

def stack(tensors: _Sequence[_Tensor], dim: _int = 0, name: _str | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Put tensors of equal sizes one after another along a new dim, under `name` if given."""

def std(input: _Tensor, dim: _DimsLike | _bool | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, out: _Tensor | None = None) -> _Tensor:
    """Standard deviation over dims: y = √(Σ |x - x̄|² / (n - correction))."""

def std_mean(input: _Tensor, dim: _DimsLike | _bool | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None) -> _tuple[_Tensor, _Tensor]:
    """Standard deviation and mean over dims, see `std`."""

def stft(input: _Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: _Tensor | None = None, center: _bool = True, pad_mode: _str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> _Tensor:
    """Short-time Fourier transform of [T] or [N, T]: the spectrum of every stretch of `n_fft` values."""

def sub(input: _Operand, other: _Operand, *, alpha: _Scalar = 1, out: _Tensor | None = None) -> _Tensor:
    """Subtract: y = a - alpha·b. Names unify from the right, sizes broadcast."""

def subtract(input: _Operand, other: _Operand, *, alpha: _Scalar = 1, out: _Tensor | None = None) -> _Tensor:
    """Subtract: y = a - alpha·b. Names unify from the right, sizes broadcast."""

def sum(input: _Tensor, dim: _DimsLike | None = None, keepdim: _bool = False, *, dtype: _DTypeLike | None = None, out: _Tensor | None = None) -> _Tensor:
    """Sum over one dim, several or all: y = Σ x. Integers are summed as int64."""

def svd(input: _Tensor, some: _bool = True, compute_uv: _bool = True, *, out: _Sequence[_Tensor] | None = None) -> _OldSVDResult:
    """Singular value decomposition A = U diag(S) Vᴴ with V itself; see `linalg.svd`."""

def swapaxes(input: _Tensor, axis0: _Dim, axis1: _Dim) -> _Tensor:
    """Exchange two dims: `transpose` by another name."""

def swapdims(input: _Tensor, dim0: _Dim, dim1: _Dim) -> _Tensor:
    """Exchange two dims: `transpose` by another name."""

def t(input: _Tensor) -> _Tensor:
    """Transpose a tensor of at most two dims: a view."""

def t_copy(input: _Tensor) -> _Tensor:
    """As `t`, with memory of its own instead of a view."""

def take(input: _Tensor, index: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Values of the tensor taken as flat, in the shape (and with the names) of `index`."""

def take_along_dim(input: _Tensor, indices: _Tensor, dim: _Dim | None = None, *, out: _Tensor | None = None) -> _Tensor:
    """Pick values along `dim` by indices that broadcast with `input`; without `dim` both are taken as flat."""

def tan(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Tangent of an angle in radians."""

def tan_(input: _Tensor) -> _Tensor:
    """In-place version of `tan`: the result goes into this tensor's memory."""

def tanh(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Hyperbolic tangent."""

def tanh_(input: _Tensor) -> _Tensor:
    """In-place version of `tanh`: the result goes into this tensor's memory."""

def tensor(data: _Any, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, names: _Sequence[_str | None] | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> _Tensor:
    """Return a tensor with a copy of `data`: numbers, nested lists, an array or a tensor."""

def tensor_split(input: _Tensor, indices_or_sections: _Size | _Tensor, dim: _Dim = 0) -> _tuple[_Tensor, ...]:
    """Cut a dim before each of the given indices, or into as many parts, the first ones longer by one."""

def tensordot(a: _Tensor, b: _Tensor, dims: _int | _Sequence[_Sequence[_Dim]] | _Tensor = 2, *, out: _Tensor | None = None) -> _Tensor:
    """Sum of products over several dims: the last `dims` of `a` with the first of `b`, or a list for each."""

def threshold(input: _Tensor, threshold: _float, value: _float, inplace: _bool = False) -> _Tensor:
    """Replace what is not above a threshold: y = x where x > threshold, value elsewhere. Names pass through."""

def tile(input: _Tensor, *sizes: _Size, dims: _Size | None = None) -> _Tensor:
    """The tensor several times along each dim: `dims` counts from the right, what is missing is 1. A copy."""

def topk(input: _Tensor, k: _int, dim: _Dim = -1, largest: _bool = True, sorted: _bool = True, *, out: _Sequence[_Tensor] | None = None) -> _ValuesIndices:
    """The `k` largest (or smallest) values along a dim and where they stood, as a named tuple ``(values, indices)``."""

def trace(input: _Tensor) -> _Tensor:
    """The sum of the main diagonal of a matrix."""

def transpose(input: _Tensor, dim0: _Dim, dim1: _Dim) -> _Tensor:
    """Exchange two dims: a view."""

def transpose_copy(input: _Tensor, dim0: _Dim, dim1: _Dim) -> _Tensor:
    """As `transpose`, with memory of its own instead of a view."""

def trapezoid(y: _Tensor, x: _Tensor | None = None, *, dx: _Scalar | None = None, dim: _Dim = -1) -> _Tensor:
    """Area under the values along a dim by trapezoids: Σ (y_i + y_{i+1})·(x_{i+1} - x_i)/2."""

def trapz(y: _Tensor, x: _Tensor | None = None, *, dx: _Scalar | None = None, dim: _Dim = -1) -> _Tensor:
    """Area under the values along a dim by trapezoids: Σ (y_i + y_{i+1})·(x_{i+1} - x_i)/2."""

def triangular_solve(input: _Tensor, A: _Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False, *, out: _Sequence[_Tensor] | None = None) -> _TriangularSolution:
    """Solutions of A X = B with A triangular (or its transpose), and A again; see `linalg.solve_triangular`."""

def tril(input: _Tensor, diagonal: _int = 0, *, out: _Tensor | None = None) -> _Tensor:
    """The lower triangle of the last two dims, up to a diagonal above the main one; zeros elsewhere."""

def tril_indices(row: _int, col: _int, offset: _int = 0, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False) -> _Tensor:
    """Rows and columns of the lower triangle of a matrix, [2, count], row by row."""

def triplet_margin_loss(anchor: _Tensor, positive: _Tensor, negative: _Tensor, margin: _float = 1.0, p: _float = 2, eps: _float = 1e-06, swap: _bool = False, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> _Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), with the p-norm of differences as distance d."""

def triu(input: _Tensor, diagonal: _int = 0, *, out: _Tensor | None = None) -> _Tensor:
    """The upper triangle of the last two dims, from a diagonal above the main one on; zeros elsewhere."""

def triu_indices(row: _int, col: _int, offset: _int = 0, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False) -> _Tensor:
    """Rows and columns of the upper triangle of a matrix, [2, count], row by row."""

def true_divide(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Divide: y = a/b; integers give floats. Names unify from the right, sizes broadcast."""

def trunc(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Integer part: rounded towards 0."""

def trunc_(input: _Tensor) -> _Tensor:
    """In-place version of `trunc`: the result goes into this tensor's memory."""

def unbind(input: _Tensor, dim: _Dim = 0) -> _tuple[_Tensor, ...]:
    """Every entry of a dim by itself: a tuple of views."""

def unbind_copy(input: _Tensor, dim: _Dim = 0) -> _tuple[_Tensor, ...]:
    """As `unbind`, with memory of its own instead of a view."""

def unflatten(input: _Tensor, dim: _Dim, sizes: _Sequence[_int] | _Sequence[_tuple[_str, _int]]) -> _Tensor:
    """Split one dim into several: `sizes` is a list of sizes, or of pairs of name and size, or a dict of these."""

def unfold_copy(input: _Tensor, dimension: _Dim, size: _int, step: _int) -> _Tensor:
    """As `unfold`, with memory of its own instead of a view."""

@_overload
def unique(input: _Tensor, sorted: _bool = True, return_inverse: _Literal[False] = False, return_counts: _Literal[False] = False, dim: _Dim | None = None) -> _Tensor:
    """The distinct values in order, or with `dim` the distinct entries along it."""
@_overload
def unique(input: _Tensor, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _Dim | None = None) -> _Tensor | _tuple[_Tensor, ...]: ...

@_overload
def unique_consecutive(input: _Tensor, return_inverse: _Literal[False] = False, return_counts: _Literal[False] = False, dim: _Dim | None = None) -> _Tensor:
    """The values without those equal to the one before them, or with `dim` the entries along it; see `unique`."""
@_overload
def unique_consecutive(input: _Tensor, return_inverse: _bool = False, return_counts: _bool = False, dim: _Dim | None = None) -> _Tensor | _tuple[_Tensor, ...]: ...

def unravel_index(indices: _Tensor, shape: _Size) -> _tuple[_Tensor, ...]:
    """Places in a tensor of sizes `shape` from places in its values in a row: one tensor of indices a dim."""

def unsafe_chunk(input: _Tensor, chunks: _int, dim: _Dim = 0) -> _tuple[_Tensor, ...]:
    """Cut a dim into at most `chunks` parts of equal size, the last one smaller: a tuple of views."""

def unsafe_split(tensor: _Tensor, split_size_or_sections: _Size, dim: _Dim = 0) -> _tuple[_Tensor, ...]:
    """Cut a dim into parts of a size (the last may be smaller), or of the sizes listed: a tuple of views."""

def unsafe_split_with_sizes(input: _Tensor, split_sizes: _Sequence[_int], dim: _Dim = 0) -> _tuple[_Tensor, ...]:
    """Cut a dim into parts of the given sizes, which together are all of it: a tuple of views."""

def unsqueeze(input: _Tensor, dim: _int, name: _str | None = None) -> _Tensor:
    """Put a new dim of size 1 at position `dim`, under `name` if given: a view."""

def unsqueeze_copy(input: _Tensor, dim: _int, name: _str | None = None) -> _Tensor:
    """As `unsqueeze`, with memory of its own instead of a view."""

def var(input: _Tensor, dim: _DimsLike | _bool | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, out: _Tensor | None = None) -> _Tensor:
    """Variance over dims: y = Σ |x - x̄|² / (n - correction)."""

def var_mean(input: _Tensor, dim: _DimsLike | _bool | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None) -> _tuple[_Tensor, _Tensor]:
    """Variance and mean over dims, see `var`."""

def vdot(input: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """Dot product of two vectors, the first conjugated: y = Σ_i conj(a[i])·b[i]."""

def view_as_complex(input: _Tensor) -> _Tensor:
    """View pairs [..., 2] as complex numbers [...], in the same memory where pairs are adjacent."""

def view_as_real(input: _Tensor) -> _Tensor:
    """View complex numbers [...] as pairs [..., 2] of real and imaginary part, in the same memory."""

def view_copy(input: _Tensor, *shape: _Size, size: _Size | None = None, dtype: _DTypeLike | None = None) -> _Tensor:
    """As `view`, with memory of its own instead of a view."""

def vsplit(input: _Tensor, indices_or_sections: _Size | _Tensor) -> _tuple[_Tensor, ...]:
    """Cut the first of at least two dims at indices or into equal parts."""

def vstack(tensors: _Sequence[_Tensor], *, out: _Tensor | None = None) -> _Tensor:
    """Put tensors below each other: along the first dim; vectors become rows."""

@_overload
def where(condition: _Tensor, *, out: _Sequence[_Tensor] | None = None) -> _tuple[_Tensor, ...]:
    """Choose from two operands by a condition: y = condition ? a : b. Names of all three unify, sizes broadcast."""
@_overload
def where(condition: _Tensor, input: _Tensor | _Scalar, other: _Tensor | _Scalar, *, out: _Tensor | None = None) -> _Tensor: ...

def xlogy(input: _Operand, other: _Operand, *, out: _Tensor | None = None) -> _Tensor:
    """Multiply by a logarithm; 0 where the first is 0, whatever the logarithm."""

def xlogy_(input: _Operand, other: _Operand) -> _Tensor:
    """In-place version of `xlogy`: the result goes into this tensor's memory."""

def zeros(*size: _Size, names: _Sequence[_str | None] | None = None, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, out: _Tensor | None = None, **dims: _int) -> _Tensor:
    """Return zeros: ``zeros(2, 3)`` or by name ``zeros(N=2, C=3)``."""

def zeros_like(input: _Tensor, *, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None, requires_grad: _bool = False, layout: _Layout | None = None, pin_memory: _bool = False, memory_format: _MemoryFormat | None = None) -> _Tensor:
    """Return zeros with the dims, names, type and device of `input`."""

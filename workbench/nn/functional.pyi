"""Layers as functions: PyTorch's `torch.nn.functional`."""

# Written by `python -m workbench.lab.stubs`; change the functions, then run `make format`.

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from builtins import tuple as _tuple
from collections.abc import Callable as _Callable
from collections.abc import Sequence as _Sequence
from typing import Any as _Any
from typing import Literal as _Literal
from typing import overload as _overload
from workbench.base.random import Generator as _Generator
from workbench.core.typing import DTypeLike as _DTypeLike
from workbench.core.typing import Dim as _Dim
from workbench.core.typing import DimsLike as _DimsLike
from workbench.core.typing import Shape as _Shape
from workbench.core.typing import Size as _Size
from workbench.ops.nn.loss.linear_cross_entropy import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from workbench.ops.nn.loss.linear_cross_entropy import LinearCrossEntropyOptions as _LinearCrossEntropyOptions
from workbench.tensor.tensor import Tensor as _Tensor

def adaptive_avg_pool1d(input: _Tensor, output_size: _Size) -> _Tensor:
    """Pool [N, C, L] or [C, L] to the mean of each of `output_size` windows."""

def adaptive_avg_pool2d(input: _Tensor, output_size: _int | _Sequence[_int | None]) -> _Tensor:
    """Pool [N, C, H, W] or [C, H, W] to the mean of each of `output_size` windows; None keeps a size."""

def adaptive_avg_pool3d(input: _Tensor, output_size: _int | _Sequence[_int | None]) -> _Tensor:
    """Pool [N, C, D, H, W] or [C, D, H, W] to the mean of each of `output_size` windows; None keeps a size."""

@_overload
def adaptive_max_pool1d(input: _Tensor, output_size: _Size, return_indices: _Literal[False] = False) -> _Tensor:
    """Pool [N, C, L] or [C, L] to the largest value of each of `output_size` windows."""
@_overload
def adaptive_max_pool1d(input: _Tensor, output_size: _Size, *, return_indices: _Literal[True]) -> _tuple[_Tensor, _Tensor]: ...
@_overload
def adaptive_max_pool1d(input: _Tensor, output_size: _Size, return_indices: _bool = False) -> _Tensor | _tuple[_Tensor, _Tensor]: ...

@_overload
def adaptive_max_pool2d(input: _Tensor, output_size: _int | _Sequence[_int | None], return_indices: _Literal[False] = False) -> _Tensor:
    """Pool [N, C, H, W] or [C, H, W] to the largest value of each of `output_size` windows; None keeps a size."""
@_overload
def adaptive_max_pool2d(input: _Tensor, output_size: _int | _Sequence[_int | None], *, return_indices: _Literal[True]) -> _tuple[_Tensor, _Tensor]: ...
@_overload
def adaptive_max_pool2d(input: _Tensor, output_size: _int | _Sequence[_int | None], return_indices: _bool = False) -> _Tensor | _tuple[_Tensor, _Tensor]: ...

@_overload
def adaptive_max_pool3d(input: _Tensor, output_size: _int | _Sequence[_int | None], return_indices: _Literal[False] = False) -> _Tensor:
    """Pool [N, C, D, H, W] or [C, D, H, W] to the largest value of each of `output_size` windows."""
@_overload
def adaptive_max_pool3d(input: _Tensor, output_size: _int | _Sequence[_int | None], *, return_indices: _Literal[True]) -> _tuple[_Tensor, _Tensor]: ...
@_overload
def adaptive_max_pool3d(input: _Tensor, output_size: _int | _Sequence[_int | None], return_indices: _bool = False) -> _Tensor | _tuple[_Tensor, _Tensor]: ...

def affine_grid(theta: _Tensor, size: _Sequence[_int], align_corners: _bool | None = None) -> _Tensor:
    """Return the grid for `grid_sample` that an affine map makes of the pixels of an output of `size`."""

def alpha_dropout(input: _Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False, *, generator: _Generator | None = None) -> _Tensor:
    """Set values to selu's floor with probability `p`, keeping mean 0 and variance 1. Klambauer et al. 2017."""

def avg_pool1d(input: _Tensor, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0, ceil_mode: _bool = False, count_include_pad: _bool = True) -> _Tensor:
    """Mean of each window of [N, C, L] or [C, L]; the padding counts as zeros, or not at all."""

def avg_pool2d(input: _Tensor, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None) -> _Tensor:
    """Mean of each window of [N, C, H, W] or [C, H, W]; the padding counts as zeros, or not at all."""

def avg_pool3d(input: _Tensor, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None) -> _Tensor:
    """Mean of each window of [N, C, D, H, W] or [C, D, H, W], see `avg_pool2d`."""

def batch_norm(input: _Tensor, running_mean: _Tensor | None, running_var: _Tensor | None, weight: _Tensor | None = None, bias: _Tensor | None = None, training: _bool = False, momentum: _float = 0.1, eps: _float = 1e-05) -> _Tensor:
    """Scale each channel of [N, C, …] by the batch's statistics if `training`, else by the running ones."""

def bilinear(input1: _Tensor, input2: _Tensor, weight: _Tensor, bias: _Tensor | None = None) -> _Tensor:
    """Products of two vectors under a stack of matrices: y[…, o] = Σ_ij x₁[…, i]·w[o, i, j]·x₂[…, j] + b[o]."""

def binary_cross_entropy(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> _Tensor:
    """Cross entropy of probabilities of yes: -(t·ln x + (1 - t)·ln(1 - x))·weight. No logarithm is below -100."""

def binary_cross_entropy_with_logits(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', pos_weight: _Tensor | None = None) -> _Tensor:
    """Cross entropy of scores of yes, whose probability is σ(x): -(p·t·ln σ(x) + (1 - t)·ln(1 - σ(x)))·weight."""

def celu(input: _Tensor, alpha: _float = 1.0, inplace: _bool = False) -> _Tensor:
    """Exponential linear unit with one slope at 0: y = x above 0, alpha·(e^(x/alpha) - 1) below. Names pass through."""

def celu_(input: _Tensor, alpha: _float = 1.0, inplace: _bool = False) -> _Tensor:
    """In-place version of `celu`: the result goes into this tensor's memory."""

def channel_shuffle(input: _Tensor, groups: _int) -> _Tensor:
    """Interleave `groups` groups of the channels of [N, C, …]."""

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

def cosine_embedding_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: _float = 0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> _Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1. Shapes: [N, D] and [N], or [D] and []."""

def cosine_similarity(x1: _Tensor, x2: _Tensor, dim: _Dim = 1, eps: _float = 1e-08) -> _Tensor:
    """Cosine of the angle between vectors along `dim`: x₁·x₂ / (max(‖x₁‖, ε)·max(‖x₂‖, ε)). Sizes broadcast."""

def cross_entropy(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100, reduce: _bool | None = None, reduction: _str = 'mean', label_smoothing: _float = 0.0) -> _Tensor:
    """Cross entropy between scores `input` and classes or probabilities `target`: -ln softmax(x)[target]."""

def ctc_loss(log_probs: _Tensor, targets: _Tensor, input_lengths: _Tensor | _Sequence[_int], target_lengths: _Tensor | _Sequence[_int], blank: _int = 0, reduction: _str = 'mean', zero_infinity: _bool = False) -> _Tensor:
    """Negative log-likelihood of sequences of classes over all their timings. Graves et al. 2006."""

def dropout(input: _Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False, *, generator: _Generator | None = None) -> _Tensor:
    """Set each value to 0 with probability `p` and scale the rest by 1 / (1 - p), if `training`."""

def dropout1d(input: _Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False, *, generator: _Generator | None = None) -> _Tensor:
    """Set whole channels of [N, C, L] or [C, L] to 0 with probability `p`, and scale the rest, if `training`."""

def dropout2d(input: _Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False, *, generator: _Generator | None = None) -> _Tensor:
    """Set whole channels of [N, C, H, W] to 0 with probability `p`, and scale the rest, if `training`."""

def dropout3d(input: _Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False, *, generator: _Generator | None = None) -> _Tensor:
    """Set whole channels of [N, C, D, H, W] or [C, D, H, W] to 0 with probability `p`, and scale the rest."""

def elu(input: _Tensor, alpha: _float = 1.0, inplace: _bool = False) -> _Tensor:
    """Exponential linear unit: y = x above 0, alpha·(e^x - 1) below. Names and sizes pass through."""

def elu_(input: _Tensor, alpha: _float = 1.0, inplace: _bool = False) -> _Tensor:
    """In-place version of `elu`: the result goes into this tensor's memory."""

def embedding(input: _Tensor, weight: _Tensor, padding_idx: _int | None = None, max_norm: _float | None = None, norm_type: _float = 2.0, scale_grad_by_freq: _bool = False, sparse: _bool = False) -> _Tensor:
    """Pick rows of `weight` [count, D] by whole numbers `input` […]: y = weight[input], […, D]."""

def embedding_bag(input: _Tensor, weight: _Tensor, offsets: _Tensor | None = None, max_norm: _float | None = None, norm_type: _float = 2, scale_grad_by_freq: _bool = False, mode: _str = 'mean', sparse: _bool = False, per_sample_weights: _Tensor | None = None, include_last_offset: _bool = False, padding_idx: _int | None = None) -> _Tensor:
    """Rows of `weight` [count, D] picked by whole numbers and brought together by bags: their sum, mean or max."""

def feature_alpha_dropout(input: _Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False, *, generator: _Generator | None = None) -> _Tensor:
    """`alpha_dropout` of whole channels of [N, C, …]."""

def flatten(input: _Tensor, start_dim: _int | _str = 1, end_dim: _int | _str = -1, out_dim: _str | None = None) -> _Tensor:
    """Lay the dims from `start_dim` to `end_dim` out as one, called ``features`` where all of them have names."""

def fold(input: _Tensor, output_size: _Size, kernel_size: _Size, dilation: _Size = 1, padding: _Size = 0, stride: _Size = 1) -> _Tensor:
    """Add columns [N, C·kH·kW, positions] up to an image [N, C, H, W] of `output_size`."""

@_overload
def fractional_max_pool2d(input: _Tensor, kernel_size: _Size, output_size: _Size | None = None, output_ratio: _float | _Sequence[_float] | None = None, return_indices: _Literal[False] = False, _random_samples: _Tensor | None = None) -> _Tensor:
    """Pool [N, C, H, W] or [C, H, W] to the largest values of overlapping windows that chance places. Graham 2014."""
@_overload
def fractional_max_pool2d(input: _Tensor, kernel_size: _Size, output_size: _Size | None = None, output_ratio: _float | _Sequence[_float] | None = None, *, return_indices: _Literal[True], _random_samples: _Tensor | None = None) -> _tuple[_Tensor, _Tensor]: ...
@_overload
def fractional_max_pool2d(input: _Tensor, kernel_size: _Size, output_size: _Size | None = None, output_ratio: _float | _Sequence[_float] | None = None, return_indices: _bool = False, _random_samples: _Tensor | None = None) -> _Tensor | _tuple[_Tensor, _Tensor]: ...

@_overload
def fractional_max_pool3d(input: _Tensor, kernel_size: _Size, output_size: _Size | None = None, output_ratio: _float | _Sequence[_float] | None = None, return_indices: _Literal[False] = False, _random_samples: _Tensor | None = None) -> _Tensor:
    """Pool [N, C, D, H, W] or [C, D, H, W] as `fractional_max_pool2d` does; `_random_samples` are [N, C, 3]."""
@_overload
def fractional_max_pool3d(input: _Tensor, kernel_size: _Size, output_size: _Size | None = None, output_ratio: _float | _Sequence[_float] | None = None, *, return_indices: _Literal[True], _random_samples: _Tensor | None = None) -> _tuple[_Tensor, _Tensor]: ...
@_overload
def fractional_max_pool3d(input: _Tensor, kernel_size: _Size, output_size: _Size | None = None, output_ratio: _float | _Sequence[_float] | None = None, return_indices: _bool = False, _random_samples: _Tensor | None = None) -> _Tensor | _tuple[_Tensor, _Tensor]: ...

def gaussian_nll_loss(input: _Tensor, target: _Tensor, var: _Tensor | _float, full: _bool = False, eps: _float = 1e-06, reduction: _str = 'mean') -> _Tensor:
    """Negative log-likelihood of `target` under normal distributions of mean `input` and variance `var`."""

def gelu(input: _Tensor, approximate: _str = 'none') -> _Tensor:
    """Gaussian error linear unit: y = x·Φ(x), or with "tanh" x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³)))."""

def glu(input: _Tensor, dim: _Dim = -1) -> _Tensor:
    """Gated linear unit: y = a·sigmoid(b), where a and b are the halves along `dim`, which keeps its name."""

def grid_sample(input: _Tensor, grid: _Tensor, mode: _str = 'bilinear', padding_mode: _str = 'zeros', align_corners: _bool | None = None) -> _Tensor:
    """Look at [N, C, H, W] where `grid`, [N, H', W', 2], says: (x, y) from -1 to 1 spans the image."""

def group_norm(input: _Tensor, num_groups: _int, weight: _Tensor | None = None, bias: _Tensor | None = None, eps: _float = 1e-05) -> _Tensor:
    """Scale each group of channels of [N, C, …] by its mean and variance: (x - E[x]) / √(Var[x] + ε)·weight + bias."""

def gumbel_softmax(logits: _Tensor, tau: _float = 1, hard: _bool = False, eps: _float = 1e-10, dim: _Dim = -1, *, generator: _Generator | None = None) -> _Tensor:
    """A draw from the classes along `dim`, made differentiable: softmax((logits + Gumbel noise) / τ)."""

def hardshrink(input: _Tensor, lambd: _float = 0.5) -> _Tensor:
    """Drop values near 0: y = x where |x| > λ, 0 elsewhere. Names and sizes pass through."""

def hardsigmoid(input: _Tensor, inplace: _bool = False) -> _Tensor:
    """Piecewise linear stand-in of the logistic function: y = min(max(x + 3, 0), 6)/6. Names pass through."""

def hardswish(input: _Tensor, inplace: _bool = False) -> _Tensor:
    """Piecewise quadratic stand-in of silu: y = x·min(max(x + 3, 0), 6)/6. Names and sizes pass through."""

def hardtanh(input: _Tensor, min_val: _float = -1.0, max_val: _float = 1.0, inplace: _bool = False) -> _Tensor:
    """Keep values within bounds: y = min(max(x, min_val), max_val). At a bound the gradient is 0. Names pass through."""

def hardtanh_(input: _Tensor, min_val: _float = -1.0, max_val: _float = 1.0, inplace: _bool = False) -> _Tensor:
    """In-place version of `hardtanh`: the result goes into this tensor's memory."""

def hinge_embedding_loss(input: _Tensor, target: _Tensor, margin: _float = 1.0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> _Tensor:
    """Distance x where the target is 1, max(0, margin - x) where it is -1: distances of like and of unlike pairs."""

def huber_loss(input: _Tensor, target: _Tensor, reduction: _str = 'mean', delta: _float = 1.0, weight: _Tensor | None = None) -> _Tensor:
    """½·d² where |d| < δ, δ·(|d| - ½·δ) elsewhere, with d = x - target."""

def instance_norm(input: _Tensor, running_mean: _Tensor | None = None, running_var: _Tensor | None = None, weight: _Tensor | None = None, bias: _Tensor | None = None, use_input_stats: _bool = True, momentum: _float = 0.1, eps: _float = 1e-05) -> _Tensor:
    """Scale each channel of each sample of [N, C, …] by its own statistics, or by the running ones."""

def interpolate(input: _Tensor, size: _Size | None = None, scale_factor: _float | _Sequence[_float] | None = None, mode: _str = 'nearest', align_corners: _bool | None = None, recompute_scale_factor: _bool | None = None, antialias: _bool = False) -> _Tensor:
    """Resample [N, C, L], [N, C, H, W] or [N, C, D, H, W] to `size`, or by `scale_factor`; names pass through."""

def kl_div(input: _Tensor, target: _Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', log_target: _bool = False) -> _Tensor:
    """Kullback-Leibler divergence of log-probabilities `input` from `target`: target·(ln target - x)."""

def l1_loss(input: _Tensor, target: _Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', weight: _Tensor | None = None) -> _Tensor:
    """Absolute difference: |x - target|."""

def layer_norm(input: _Tensor, normalized_shape: _Shape, weight: _Tensor | None = None, bias: _Tensor | None = None, eps: _float = 1e-05) -> _Tensor:
    """Scale each sample by the mean and variance of its last dims: (x - E[x]) / √(Var[x] + ε)·weight + bias."""

def leaky_relu(input: _Tensor, negative_slope: _float = 0.01, inplace: _bool = False) -> _Tensor:
    """Rectified linear unit with a slope below 0: y = x above 0, slope·x below. Names and sizes pass through."""

def leaky_relu_(input: _Tensor, negative_slope: _float = 0.01, inplace: _bool = False) -> _Tensor:
    """In-place version of `leaky_relu`: the result goes into this tensor's memory."""

def linear(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None) -> _Tensor:
    """Affine map of the last dim: y[…, o] = Σ_i x[…, i]·w[o, i] + b[o]."""

def linear_cross_entropy(input: _Tensor, linear_weight: _Tensor, target: _Tensor, *, linear_bias: _Tensor | None = None, weight: _Tensor | None = None, reduction: _str = 'mean', ignore_index: _int | None = None, label_smoothing: _float = 0.0, options: _LinearCrossEntropyOptions | None = None) -> _Tensor:
    """`cross_entropy` of the scores that a linear map gives: cross_entropy(input·linear_weightᵀ + linear_bias, target)."""

def local_response_norm(input: _Tensor, size: _int, alpha: _float = 0.0001, beta: _float = 0.75, k: _float = 1.0) -> _Tensor:
    """Divide each value by its neighbours in `size` channels: x / (k + α·E[x²])^β. Krizhevsky et al. 2012."""

def log_softmax(input: _Tensor, dim: _Dim | None = None, _stacklevel: _int = 3, dtype: _DTypeLike | None = None) -> _Tensor:
    """Logarithm of softmax along `dim`, without overflow: y_i = x_i - ln Σ_j e^{x_j}."""

def logsigmoid(input: _Tensor) -> _Tensor:
    """Logarithm of the logistic function: y = -ln(1 + e^-x). Names and sizes pass through."""

def lp_pool1d(input: _Tensor, norm_type: _float, kernel_size: _Size, stride: _Size | None = None, ceil_mode: _bool = False) -> _Tensor:
    """Power-average of each window of [N, C, L] or [C, L]: y = (Σ x^p)^(1/p)."""

def lp_pool2d(input: _Tensor, norm_type: _float, kernel_size: _Size, stride: _Size | None = None, ceil_mode: _bool = False) -> _Tensor:
    """Power-average of each window of [N, C, H, W] or [C, H, W]: y = (Σ x^p)^(1/p)."""

def lp_pool3d(input: _Tensor, norm_type: _float, kernel_size: _Size, stride: _Size | None = None, ceil_mode: _bool = False) -> _Tensor:
    """Power-average of each window of [N, C, D, H, W] or [C, D, H, W]: y = (Σ x^p)^(1/p)."""

def margin_ranking_loss(input1: _Tensor, input2: _Tensor, target: _Tensor, margin: _float = 0, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> _Tensor:
    """max(0, -t·(x₁ - x₂) + margin): x₁ is to be above x₂ where the target t is 1, below it where that is -1."""

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

def max_unpool1d(input: _Tensor, indices: _Tensor, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0, output_size: _Size | None = None) -> _Tensor:
    """Put the values that `max_pool1d` found back where they lay, among zeros."""

def max_unpool2d(input: _Tensor, indices: _Tensor, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0, output_size: _Size | None = None) -> _Tensor:
    """Put the values that `max_pool2d` found back where they lay, among zeros; see `max_unpool1d`."""

def max_unpool3d(input: _Tensor, indices: _Tensor, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0, output_size: _Size | None = None) -> _Tensor:
    """Put the values that `max_pool3d` found back where they lay, among zeros; see `max_unpool1d`."""

def mish(input: _Tensor, inplace: _bool = False) -> _Tensor:
    """Self-regularized unit: y = x·tanh(ln(1 + e^x)). Names and sizes pass through."""

def mse_loss(input: _Tensor, target: _Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', weight: _Tensor | None = None) -> _Tensor:
    """Squared difference: (x - target)²."""

def multi_head_attention_forward(query: _Tensor, key: _Tensor, value: _Tensor, embed_dim_to_check: _int, num_heads: _int, in_proj_weight: _Tensor | None, in_proj_bias: _Tensor | None, bias_k: _Tensor | None, bias_v: _Tensor | None, add_zero_attn: _bool, dropout_p: _float, out_proj_weight: _Tensor, out_proj_bias: _Tensor | None, training: _bool = True, key_padding_mask: _Tensor | None = None, need_weights: _bool = True, attn_mask: _Tensor | None = None, use_separate_proj_weight: _bool = False, q_proj_weight: _Tensor | None = None, k_proj_weight: _Tensor | None = None, v_proj_weight: _Tensor | None = None, static_k: _Tensor | None = None, static_v: _Tensor | None = None, average_attn_weights: _bool = True, is_causal: _bool = False, *, generator: _Generator | None = None) -> _tuple[_Tensor, _Tensor | None]:
    """Attention in several heads: inputs projected, attended to by head, put together and projected."""

def multi_margin_loss(input: _Tensor, target: _Tensor, p: _int = 1, margin: _float = 1.0, weight: _Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> _Tensor:
    """Σ over the classes i that are not t of w[t]·max(0, margin - x[t] + x[i])^p / C, for the class t of each row."""

def multilabel_margin_loss(input: _Tensor, target: _Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> _Tensor:
    """Σ over wanted classes j and others i of max(0, 1 - (x[j] - x[i])) / C."""

def multilabel_soft_margin_loss(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> _Tensor:
    """`binary_cross_entropy_with_logits` of every class [N, C], its mean over the classes."""

def nll_loss(input: _Tensor, target: _Tensor, weight: _Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100, reduce: _bool | None = None, reduction: _str = 'mean') -> _Tensor:
    """Negative log-likelihood of the classes `target` under log-probabilities `input`."""

def normalize(input: _Tensor, p: _float = 2.0, dim: _DimsLike = 1, eps: _float = 1e-12, *, out: _Tensor | None = None) -> _Tensor:
    """Values divided by their p-norm over `dim`: y = x / max(‖x‖_p, ε). Shapes and names pass through."""

def one_hot(input: _Tensor, num_classes: _int = -1) -> _Tensor:
    """A vector for each index: 1 (int64) at the index, 0 elsewhere, along a new last dim."""

def pad(input: _Tensor, pad: _Sequence[_int], mode: _str = 'constant', value: _float | None = None) -> _Tensor:
    """Pad: `pad` lists (before, after) from the last dim backwards; negative widths cut. Names pass through."""

def pairwise_distance(x1: _Tensor, x2: _Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False) -> _Tensor:
    """Distance of rows pair by pair: the p-norm of x₁ - x₂ + ε over the last dim. [N, D], [N, D] -> [N]."""

def pdist(input: _Tensor, p: _float = 2) -> _Tensor:
    """Distance of each row of `input` [N, M] to each later row, in one row of N·(N - 1)/2 values."""

def pixel_shuffle(input: _Tensor, upscale_factor: _int) -> _Tensor:
    """Rearrange [*, C·r², H, W] to [*, C, H·r, W·r]."""

def pixel_unshuffle(input: _Tensor, downscale_factor: _int) -> _Tensor:
    """Rearrange [*, C, H·r, W·r] to [*, C·r², H, W]: the inverse of `pixel_shuffle`."""

def poisson_nll_loss(input: _Tensor, target: _Tensor, log_input: _bool = True, full: _bool = False, size_average: _bool | None = None, eps: _float = 1e-08, reduce: _bool | None = None, reduction: _str = 'mean') -> _Tensor:
    """Negative log-likelihood of counts `target` under Poisson distributions."""

def prelu(input: _Tensor, weight: _Tensor) -> _Tensor:
    """Rectified linear unit with learned slopes below 0: y = x above 0, w·x below."""

def relu(input: _Tensor, inplace: _bool = False) -> _Tensor:
    """Rectified linear unit: y = max(x, 0). Names and sizes pass through; the gradient at 0 is 0."""

def relu6(input: _Tensor, inplace: _bool = False) -> _Tensor:
    """Rectified linear unit up to 6: y = min(max(x, 0), 6). Names and sizes pass through."""

def relu_(input: _Tensor, inplace: _bool = False) -> _Tensor:
    """In-place version of `relu`: the result goes into this tensor's memory."""

def rms_norm(input: _Tensor, normalized_shape: _Shape, weight: _Tensor | None = None, eps: _float | None = None) -> _Tensor:
    """Scale each sample by the root mean square of its last dims: x / √(E[x²] + ε)·weight."""

def rrelu(input: _Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, inplace: _bool = False, *, generator: _Generator | None = None) -> _Tensor:
    """Value x where x > 0, a·x elsewhere, with the slope a drawn evenly from [lower, upper] for each value."""

def scaled_dot_product_attention(query: _Tensor, key: _Tensor, value: _Tensor, attn_mask: _Tensor | None = None, dropout_p: _float = 0.0, is_causal: _bool = False, scale: _float | None = None, enable_gqa: _bool = False, *, generator: _Generator | None = None) -> _Tensor:
    """softmax(scale·q·kᵀ + mask)·v: for each query the average of the values, by how well their keys match it."""

def selu(input: _Tensor, inplace: _bool = False) -> _Tensor:
    """Exponential linear unit that normalizes itself: y = 1.0507·(x above 0, 1.6733·(e^x - 1) below)."""

def selu_(input: _Tensor, inplace: _bool = False) -> _Tensor:
    """In-place version of `selu`: the result goes into this tensor's memory."""

def sigmoid(input: _Tensor) -> _Tensor:
    """Logistic function."""

def silu(input: _Tensor, inplace: _bool = False) -> _Tensor:
    """Sigmoid linear unit, also called swish: y = x/(1 + e^-x). Names and sizes pass through."""

def smooth_l1_loss(input: _Tensor, target: _Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean', beta: _float = 1.0) -> _Tensor:
    """½·d²/β where |d| < β, |d| - ½·β elsewhere, with d = x - target; β = 0 gives `l1_loss`."""

def soft_margin_loss(input: _Tensor, target: _Tensor, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> _Tensor:
    """ln(1 + e^(-t·x)) for targets t of -1 and 1."""

def softmax(input: _Tensor, dim: _Dim | None = None, _stacklevel: _int = 3, dtype: _DTypeLike | None = None) -> _Tensor:
    """Exponentials scaled to sum to 1 along `dim`: y_i = e^{x_i} / Σ_j e^{x_j}. Computed in `dtype`, if given."""

def softmin(input: _Tensor, dim: _Dim | None = None, _stacklevel: _int = 3, dtype: _DTypeLike | None = None) -> _Tensor:
    """Softmax of the negated values: y_i = e^{-x_i} / Σ_j e^{-x_j}."""

def softplus(input: _Tensor, beta: _float = 1.0, threshold: _float = 20.0) -> _Tensor:
    """Smooth rectified linear unit: y = ln(1 + e^(beta·x))/beta, and x where beta·x is beyond the threshold."""

def softshrink(input: _Tensor, lambd: _float = 0.5) -> _Tensor:
    """Move values towards 0: y = x - λ above λ, x + λ below -λ, 0 between. Names and sizes pass through."""

def softsign(input: _Tensor) -> _Tensor:
    """Softly bounded: y = x/(1 + |x|). Names and sizes pass through."""

def tanh(input: _Tensor) -> _Tensor:
    """Hyperbolic tangent."""

def tanhshrink(input: _Tensor) -> _Tensor:
    """What tanh takes away: y = x - tanh x. Names and sizes pass through."""

def threshold(input: _Tensor, threshold: _float, value: _float, inplace: _bool = False) -> _Tensor:
    """Replace what is not above a threshold: y = x where x > threshold, value elsewhere. Names pass through."""

def threshold_(input: _Tensor, threshold: _float, value: _float, inplace: _bool = False) -> _Tensor:
    """In-place version of `threshold`: the result goes into this tensor's memory."""

def triplet_margin_loss(anchor: _Tensor, positive: _Tensor, negative: _Tensor, margin: _float = 1.0, p: _float = 2, eps: _float = 1e-06, swap: _bool = False, size_average: _bool | None = None, reduce: _bool | None = None, reduction: _str = 'mean') -> _Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), with the p-norm of differences as distance d."""

def triplet_margin_with_distance_loss(anchor: _Tensor, positive: _Tensor, negative: _Tensor, *, distance_function: _Callable[[_Any, _Any], _Any] | None = None, margin: _float = 1.0, swap: _bool = False, reduction: _str = 'mean') -> _Tensor:
    """`triplet_margin_loss` with any distance, a function of two tensors; by default `pairwise_distance`."""

def unfold(input: _Tensor, kernel_size: _Size, dilation: _Size = 1, padding: _Size = 0, stride: _Size = 1) -> _Tensor:
    """Take every window of [N, C, H, W] or [C, H, W] as a column: [N, C·kH·kW, positions]."""

def upsample(input: _Tensor, size: _Size | None = None, scale_factor: _float | _Sequence[_float] | None = None, mode: _str = 'nearest', align_corners: _bool | None = None) -> _Tensor:
    """Call `interpolate`, its newer name."""

def upsample_bilinear(input: _Tensor, size: _Size | None = None, scale_factor: _float | _Sequence[_float] | None = None) -> _Tensor:
    """Call `interpolate` with the mode bilinear and aligned corners, its newer name."""

def upsample_nearest(input: _Tensor, size: _Size | None = None, scale_factor: _float | _Sequence[_float] | None = None) -> _Tensor:
    """Call `interpolate` with the mode nearest, its newer name."""

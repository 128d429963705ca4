"""First values of parameters, in place: PyTorch's `torch.nn.init`.

All of them write numbers into the tensor's own memory, whether or not gradients are recorded, and return the tensor.
What is random is drawn from `generator`, or from the default one.
"""

from __future__ import annotations

import contextvars
import functools
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from workbench.base.errors import DimensionError
from workbench.base.public import words
from workbench.base.random import Generator, default_generator
from workbench.core.backend import device_of, move
from workbench.core.value import dims_of
from workbench.nn.spatial_names import require_size
from workbench.ops.random.noise import evenly
from workbench.tensor import Tensor

__all__ = [
    "calculate_fan", "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal",
    "kaiming_normal_", "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal",
    "orthogonal_", "skipped", "sparse", "sparse_", "trunc_normal_", "uniform", "uniform_", "xavier_normal",
    "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros_",
]  # fmt: skip

# Of one thread or task: another that makes a model meanwhile is to get its numbers.
_skipping: contextvars.ContextVar[bool] = contextvars.ContextVar("workbench_init_skipped", default=False)


@contextmanager
def skipped() -> Iterator[None]:
    """Have all functions of this module leave tensors as they are, where other values are to be loaded anyway.

    >>> import workbench as wb
    >>> with skipped():
    ...     ones_(wb.zeros(2))
    tensor([0., 0.])
    """
    token = _skipping.set(True)
    try:
        yield
    finally:
        _skipping.reset(token)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return by how much a nonlinearity shrinks what passes it, as a factor for the deviation of the weights.

    `param` is the negative slope of ``leaky_relu`` (0.01 if not given).

    >>> round(calculate_gain("relu"), 4)
    1.4142
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, int | float):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(
            f"Unsupported nonlinearity {nonlinearity}: use one of {', '.join([*_GAINS, 'leaky_relu'])}"
        )
    return _GAINS[nonlinearity]


_GAINS = {
    **dict.fromkeys(("linear", "sigmoid"), 1.0),
    **{f"conv{kind}{n}d": 1.0 for kind in ("", "_transpose") for n in (1, 2, 3)},
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    # PyTorch's factor, which was found by trying.
    "selu": 0.75,
}


def calculate_fan(tensor: Tensor) -> tuple[int, int]:
    """Return how many values reach an output of a weight [out, in, …], and how many outputs an input reaches.

    >>> import workbench as wb
    >>> calculate_fan(wb.empty(4, 3, 5, 5))
    (75, 100)
    """
    if tensor.ndim < 2:
        raise DimensionError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions",
            operands=(dims_of(tensor).operand("tensor"),),
        )
    area = math.prod(tensor.shape[2:])
    return tensor.shape[1] * area, tensor.shape[0] * area


def _fill(tensor: Tensor, values: Callable[[Any], Any]) -> Tensor:
    """Write ``values(array)`` into the tensor's own memory; the array has its size and type, and may be written to."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"what is filled is a tensor, got {type(tensor).__name__}")
    if _skipping.get():
        return tensor
    array = tensor.payload
    if type(array) is np.ndarray:
        array[...] = values(array)
    else:
        # Drawn on the CPU and brought there: a seed gives the same model on every device.
        plain = np.empty(tuple(array.shape), tensor.dtype.numpy)
        plain[...] = values(plain)
        tensor.payload = move(plain, device_of(array))
    tensor._version += 1
    return tensor


# Half a megabyte of doubles, which stays in a core's own cache.
_PIECE = 1 << 16


def _fill_drawn(tensor: Tensor, draw: Callable[[Any], Any]) -> Tensor:
    """Write ``draw(array)``, a piece at a time: draws are doubles, all at once they take twice the tensor's memory."""

    def values(own: Any) -> Any:
        # Complex numbers draw all real parts before all imaginary ones: in pieces a seed would give others.
        # What does not lie in one piece would be copied by `reshape`, and its draws lost.
        if own.size <= _PIECE or not own.flags.c_contiguous or own.dtype.kind == "c":
            return draw(own)
        row = own.reshape(-1)
        for start in range(0, own.size, _PIECE):
            piece = row[start : start + _PIECE]
            piece[...] = draw(piece)
        return own

    return _fill(tensor, values)


def _stream(generator: Generator | None) -> Any:
    return (generator or default_generator).numpy


def _check_deviation(std: float, *, above: bool = False) -> None:
    """Refuse what is no standard deviation, and 0 where it has to be `above` that."""
    if not std >= 0 or (above and std == 0):
        raise ValueError(f"std is a deviation, which is {'above 0' if above else '0 or more'}, got {std}")


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with values drawn evenly from [a, b).

    >>> import workbench as wb
    >>> weight = uniform_(wb.empty(100), -1, 1)
    >>> bool((weight >= -1).all() & (weight < 1).all())
    True
    """
    if not a <= b:
        raise ValueError(f"the bounds are a <= b, got a={a}, b={b}")
    return _fill_drawn(tensor, lambda own: evenly(_stream(generator), a, b, own.shape, own.dtype))


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with values drawn from the normal distribution N(mean, std²); complex ones have that variance in all."""
    _check_deviation(std)

    def draw(own: Any) -> Any:
        stream = _stream(generator)
        if own.dtype.kind != "c":
            return stream.normal(mean, std, own.shape)
        part = std / math.sqrt(2)
        return mean + stream.normal(0, part, own.shape) + 1j * stream.normal(0, part, own.shape)

    return _fill_drawn(tensor, draw)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with values of the normal distribution N(mean, std²) that lie in [a, b]; others are drawn again.

    The bounds are values, not multiples of `std`, and are kept as far as the type of the tensor can tell. Where [a, b]
    holds little of the distribution, values are drawn evenly from it and kept as often as the density says.
    Raises ValueError for bounds in the wrong order; warns where the mean is more than two deviations outside.

    >>> import workbench as wb
    >>> float(trunc_normal_(wb.empty(1000), std=5.0).abs().max()) <= 2
    True
    """
    if not a <= b:
        raise ValueError(f"the bounds are a <= b, got a={a}, b={b}")
    _check_deviation(std, above=True)
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )

    def draw(own: Any) -> Any:
        stream = _stream(generator)
        # In the type of the tensor: a draw just inside a bound could round to beyond it.
        low, high = (float(np.asarray(bound).astype(own.dtype)) for bound in (a, b))
        values = np.empty(own.size)
        missing = np.arange(own.size)
        # Half of this is the part of the draws that would be kept, here more than 30 %.
        rejecting = (
            math.erf((b - mean) / std / math.sqrt(2)) - math.erf((a - mean) / std / math.sqrt(2)) > 0.6
        )
        # Where the density is greatest in [a, b]: there every draw is kept, elsewhere in proportion to it.
        peak = (max(a, min(mean, b)) - mean) / std
        while missing.size:
            if rejecting:
                drawn = stream.normal(mean, std, missing.size)
                good = (drawn >= low) & (drawn <= high)
            else:
                drawn = np.clip(stream.uniform(a, b, missing.size), low, high)
                excess = 0.5 * (peak**2 - ((drawn - mean) / std) ** 2)
                # ln(1 - u), not ln u: u may be 0, and is never 1.
                good = np.log1p(-stream.random(missing.size)) <= excess
            values[missing[good]] = drawn[good]
            missing = missing[~good]
        return values.reshape(own.shape)

    return _fill(tensor, draw)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value."""
    return _fill(tensor, lambda own: val)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0."""
    return _fill(tensor, lambda own: 0)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1."""
    return _fill(tensor, lambda own: 1)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity: 1 on the diagonal, 0 elsewhere. Raises ValueError for other than two dims.

    >>> import workbench as wb
    >>> eye_(wb.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndim != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, this has {tensor.ndim}")
    return _fill(tensor, lambda own: np.eye(*own.shape))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution [out, in, …] so that it returns its input, as far as there are channels.

    With `groups` every group of outputs does so for its own inputs. Raises ValueError for a weight with other than 3, 4
    or 5 dims, and where the outputs do not divide into the groups.

    >>> import workbench as wb
    >>> x = wb.randn(1, 2, 4, 4)
    >>> bool((wb.nn.functional.conv2d(x, dirac_(wb.empty(2, 2, 3, 3)), padding=1) == x).all())
    True
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError(f"Only tensors with 3, 4, or 5 dimensions are supported, this has {tensor.ndim}")
    outputs, inputs, *window = tensor.shape
    require_size(1, groups=groups)
    if outputs % groups:
        raise ValueError(f"dim 0 must be divisible by groups, and {outputs} is not by {groups}")

    def place(own: Any) -> Any:
        own[...] = 0
        size = outputs // groups
        centre = tuple(width // 2 for width in window)
        # Outputs beyond the inputs stay 0: there is nothing that they could return.
        for channel in range(min(size, inputs)):
            own[(slice(channel, None, size), channel, *centre)] = 1
        return own

    return _fill(tensor, place)


def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with a matrix of orthonormal rows or columns, whichever are fewer, times `gain` (Saxe et al. 2013).

    Dims after the first are taken together. It is drawn evenly from all such matrices: the Q of the QR decomposition of
    a normal one, with the signs of R's diagonal. Raises ValueError for fewer than two dims.

    >>> import workbench as wb
    >>> q = orthogonal_(wb.empty(2, 5))
    >>> bool((q @ q.T - wb.eye(2)).abs().max() < 1e-6)
    True
    """
    if tensor.ndim < 2:
        raise ValueError(f"Only tensors with 2 or more dimensions are supported, this has {tensor.ndim}")

    def draw(own: Any) -> Any:
        # QR refuses what is empty.
        if not own.size:
            return own
        rows, columns = own.shape[0], own.size // own.shape[0]
        stream = _stream(generator)
        drawn = stream.normal(size=(rows, columns))
        if own.dtype.kind == "c":
            drawn = drawn + 1j * stream.normal(size=(rows, columns))
        # QR gives orthonormal columns; a wide matrix is the transpose of a tall one.
        q, r = np.linalg.qr(drawn.T if rows < columns else drawn)
        # Without the signs of R, QR does not give all rotations alike.
        diagonal = np.diagonal(r)
        q = q * (diagonal / np.abs(diagonal))
        return (gain * (q.T if rows < columns else q)).reshape(own.shape)

    return _fill(tensor, draw)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fill a matrix with N(0, std²), of which in every column a fraction `sparsity` is 0 (Martens 2010).

    Raises ValueError for other than two dims.
    """
    if tensor.ndim != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, this has {tensor.ndim}")
    if not 0 <= sparsity <= 1:
        raise ValueError(f"sparsity is the fraction of zeros, between 0 and 1, got {sparsity}")
    _check_deviation(std)

    def draw(own: Any) -> Any:
        stream = _stream(generator)
        rows, columns = own.shape
        values = stream.normal(0, std, own.shape)
        zeros = math.ceil(sparsity * rows)
        for column in range(columns):
            values[stream.random(rows).argsort()[:zeros], column] = 0
        return values

    return _fill(tensor, draw)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with U(-a, a), a = gain·√(6 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""
    bound = gain * math.sqrt(6.0 / sum(calculate_fan(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with N(0, s²), s = gain·√(2 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(calculate_fan(tensor))), generator)


def _kaiming_deviation(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    if 0 in tensor.shape:
        # Over the function that asks, to the line that called it.
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return 0.0
    fan = calculate_fan(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan) if fan else 0.0


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with U(-b, b), b = gain·√(3 / fan) (He et al. 2015); `a` is the negative slope after this layer."""
    bound = math.sqrt(3.0) * _kaiming_deviation(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with N(0, s²), s = gain / √fan (He et al. 2015); `a` is the negative slope after this layer."""
    return normal_(tensor, 0.0, _kaiming_deviation(tensor, a, mode, nonlinearity), generator)


def default_weight_and_bias(weight: Tensor, bias: Tensor | None) -> None:
    """Fill the parameters of a convolution or a linear layer as PyTorch does: both U(-b, b), b = 1 / √fan_in."""
    # PyTorch says this as `kaiming_uniform_` with a = √5, which comes to the same bound.
    fan_in = calculate_fan(weight)[0]
    bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
    uniform_(weight, -bound, bound)
    if bias is not None:
        uniform_(bias, -bound, bound)


def _older(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return `function` under the name it once had, without the ``_``, which warns."""
    name = function.__name__

    @functools.wraps(function)
    def older(*arguments: Any, **keywords: Any) -> Tensor:
        # FutureWarning, as PyTorch has it: a DeprecationWarning would show to authors of libraries only.
        warnings.warn(
            f"`nn.init.{name[:-1]}` is now deprecated in favor of `nn.init.{name}`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*arguments, **keywords)

    older.__name__ = older.__qualname__ = name[:-1]
    older.__doc__ = f"Do what `{name}` does, and warn that this is its older name."
    return older


uniform = _older(uniform_)
normal = _older(normal_)
constant = _older(constant_)
eye = _older(eye_)
dirac = _older(dirac_)
xavier_uniform = _older(xavier_uniform_)
xavier_normal = _older(xavier_normal_)
kaiming_uniform = _older(kaiming_uniform_)
kaiming_normal = _older(kaiming_normal_)
orthogonal = _older(orthogonal_)
sparse = _older(sparse_)


_calculate_fan_in_and_fan_out = calculate_fan
"""PyTorch's name for it, which programs use."""


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """Return the fan that `mode` names, as the initialisations of He et al. use it."""
    modes = ("fan_in", "fan_out")
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {list(modes)}")
    return calculate_fan(tensor)[modes.index(mode.lower())]


__getattr__, __dir__ = words(__name__, __all__)

"""Run one sample of an entry through torch and through the workbench, forward and backward, and compare."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import torch
from torch.testing._internal.common_device_type import toleranceOverride
from torch.utils._pytree import tree_flatten, tree_map

import workbench as wb
from tests.peers.op_db.names import function_for

__all__ = [
    "Outcome",
    "differentiable",
    "LAYOUTS",
    "STRIDED",
    "TIED",
    "TYPES",
    "judge_entry",
    "judge_spread",
    "name_of",
    "samples_of",
    "theirs",
    "tolerance",
    "translated",
]


class Outcome(NamedTuple):
    """What came of one sample."""

    index: int
    message: str
    """What went wrong: empty where it passed."""
    second: bool = False
    """Whether torch's numbers were too rough to compare with, and its result in double precision was asked."""


DTYPES = {
    getattr(torch, name): getattr(wb, name)
    for name in [
        "float64",
        "float32",
        "float16",
        "bfloat16",
        "complex128",
        "complex64",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "bool",
    ]
    if hasattr(wb, name)
}


def ours(value: Any) -> Any:
    """Return an argument of a sample as the workbench takes it: tensors, types and containers are translated."""
    if isinstance(value, torch.Tensor):
        mine = wb.from_numpy(_array(value))
        return mine.requires_grad_() if value.requires_grad else mine
    if isinstance(value, torch.dtype):
        return DTYPES[value]
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, torch.device):
        return str(value)
    return value


def _array(value: Any) -> Any:
    """Return a tensor's numbers as an array of the same layout over a copy of all of its memory.

    An input may be a window onto more memory than its own values: `as_strided` reaches around it.
    """
    value = value.detach()
    if value.is_conj() or value.is_neg():
        value = value.resolve_conj().resolve_neg()
    if not value.numel() or value._is_zerotensor():
        return _numbers(value.clone()).copy()
    memory = _numbers(torch.empty(0, dtype=value.dtype).set_(value.untyped_storage())).copy()
    return np.ndarray(
        tuple(value.shape),
        memory.dtype,
        memory,
        value.storage_offset() * memory.itemsize,
        tuple(stride * memory.itemsize for stride in value.stride()),
    )


def _numbers(value: Any) -> Any:
    """Return a tensor as an array that shares its memory; NumPy has no bfloat16 of its own."""
    if value.dtype is torch.bfloat16:
        return value.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return value.numpy()


def translated(value: Any) -> Any:
    """Return a nest of arguments with each as the workbench takes it."""
    # Not tree_map alone: it does not enter slices, and sizes are leaves to us.
    return tree_map(ours, value, is_leaf=lambda one: isinstance(one, torch.Size))


def theirs(value: Any) -> Any:
    """Return a result of ours as a torch tensor with values of its own."""
    if not isinstance(value, wb.Tensor):
        return value
    array = np.array(value.detach().numpy())
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _tensors(value: Any, kind: type) -> list[Any]:
    return [one for one in tree_flatten(_plain(value))[0] if isinstance(one, kind)]


def _plain(value: Any) -> Any:
    """Named tuples of both libraries become plain ones: they flatten alike."""
    if isinstance(value, (tuple, list)):
        return tuple(_plain(one) for one in value)
    return value


TOLERANCES = {
    torch.float64: (1e-7, 1e-7),
    torch.complex128: (1e-7, 1e-7),
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
}
"""Those of `torch.testing`, where they are not float32's."""


def tolerance(entry: Any, dtype: torch.dtype = torch.float32) -> tuple[float, float]:
    """Return the entry's own tolerance (relative, absolute) in a type: the widest of its overrides."""
    relative, absolute = TOLERANCES.get(dtype, (1.3e-6, 1e-5))
    for decorator in entry.decorators:
        for one in getattr(decorator, "decorators", [decorator]):
            if isinstance(one, toleranceOverride) and dtype in one.d:
                found = one.d[dtype]
                relative, absolute = max(relative, found.rtol), max(absolute, found.atol)
    return relative, absolute


def differentiable(entry: Any, dtype: torch.dtype = torch.float32) -> bool:
    """Say whether the database differentiates the entry in this type on the CPU."""
    return bool(entry.supports_autograd and dtype in entry.supported_backward_dtypes("cpu"))


def name_of(entry: Any) -> str:
    """Return the name of an entry with that of its variant."""
    return f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else str(entry.name)


def samples_of(entry: Any, dtype: torch.dtype = torch.float32) -> list[Any]:
    """Return the samples of an entry, the same ones each time."""
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    return list(entry.sample_inputs("cpu", dtype, requires_grad=differentiable(entry, dtype)))


def judge_entry(
    entry: Any, limit: int | None = None, dtype: torch.dtype = torch.float32
) -> Iterator[Outcome]:
    """Yield the outcome of every sample of an entry."""
    backward = differentiable(entry, dtype)
    for index, sample in enumerate(samples_of(entry, dtype)[:limit]):
        try:
            yield Outcome(index, *_judge(entry, sample, backward))
        except Exception as error:
            yield Outcome(index, f"{type(error).__name__}: {str(error)[:300]}")


def judge_spread(entry: Any, limit: int, dtype: torch.dtype, layout: str | None = None) -> Iterator[Outcome]:
    """Yield the outcomes of at most `limit` samples of an entry, spread over all, in a type and with a layout.

    What torch itself refuses in that layout is left out.
    """
    backward = differentiable(entry, dtype)
    samples = samples_of(entry, dtype)
    for index in sorted({round(i) for i in np.linspace(0, len(samples) - 1, min(limit, len(samples)))}):
        sample = samples[index]
        if layout is not None:
            laid = _laid_out(sample, layout)
            if laid is None or _refused(entry, laid):
                continue
            sample = laid
        try:
            yield Outcome(index, *_judge(entry, sample, backward))
        except Exception as error:
            yield Outcome(index, f"{type(error).__name__}: {str(error)[:300]}")


def _refused(entry: Any, sample: Any) -> bool:
    try:
        _, want, leaves = _by_torch(entry, sample, (sample.input, tuple(sample.args), dict(sample.kwargs)))
        _their_gradients(want, leaves)
    except RuntimeError:
        return True
    return False


def _transposed(x: Any) -> Any:
    order = tuple(reversed(range(x.ndim)))
    return x.permute(order).contiguous().permute(order)


def _stepped(x: Any) -> Any:
    memory = torch.zeros((*x.shape[:-1], 2 * x.shape[-1]), dtype=x.dtype)
    memory[..., ::2] = x
    return memory[..., ::2]


def _offset(x: Any) -> Any:
    memory = torch.zeros(x.numel() + 5, dtype=x.dtype)
    memory[3 : 3 + x.numel()] = x.reshape(-1)
    return memory[3 : 3 + x.numel()].view(x.shape)


def _expanded(x: Any) -> Any:
    return x[:1].clone().expand(x.shape)


LAYOUTS = {"transposed": _transposed, "stepped": _stepped, "offset": _offset, "expanded": _expanded}
"""Of every floating input of a sample: the order of its dims in memory reversed, every second place of its memory,
memory that begins before it, and one part of it for all (which is another sample, of those that take any values)."""

TYPES = tuple(one for one in DTYPES if one is not torch.float32)
"""The types beside float32, in which all samples are run."""

TIED = ("linalg", "kthvalue", "median", "nanmedian", "mode", "std", "native_group_norm", "baddbmm")
"""Beginnings of the names of functions that one part for all makes singular, tied, or nothing but rounding."""

STRIDED = ("as_strided", "view", "empty", "new_empty", "chunk", "split", "unfold_copy")
"""Beginnings of the names of functions that speak of memory: in another layout they are other functions."""


def _laid_out(sample: Any, layout: str) -> Any:
    """Return the sample with its floating tensors in another layout; None where no tensor can be laid out so."""
    changed = []

    def laid(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.numel() or not value.ndim:
            return value
        if value.dtype not in DIFFERENTIABLE or value._base is not None or value.storage_offset():
            return value
        if layout == "expanded" and value.ndim == 2:  # one row for all makes a matrix singular
            return value
        changed.append(value)
        result = LAYOUTS[layout](value.detach())
        return result.requires_grad_(value.requires_grad)

    first, rest, keywords = tree_map(laid, (sample.input, tuple(sample.args), dict(sample.kwargs)))
    if not changed:
        return None
    other = copy.copy(sample)
    other.input, other.args, other.kwargs = first, rest, keywords
    return other


DIFFERENTIABLE = tuple(one for one in DTYPES if one.is_floating_point or one.is_complex)


def _judge(entry: Any, sample: Any, backward: bool) -> tuple[str, bool]:
    first, rest, keywords = translated((sample.input, tuple(sample.args), dict(sample.kwargs)))
    leaves = _tensors((first, rest, keywords), wb.Tensor)
    got = function_for(entry.name, entry.variant_test_name)(first, *rest, **keywords)

    given = (sample.input, tuple(sample.args), dict(sample.kwargs))
    raw, want, their_leaves = _by_torch(entry, sample, given)
    ours_raw, theirs_raw = _tensors(got, wb.Tensor), _tensors(raw, torch.Tensor)
    if len(ours_raw) != len(theirs_raw):
        return f"{len(ours_raw)} outputs, expected {len(theirs_raw)}", False
    for mine, other in zip(ours_raw, theirs_raw, strict=True):
        if mine.shape != tuple(other.shape):
            return f"shape {mine.shape}, expected {tuple(other.shape)}", False
        if DTYPES.get(other.dtype) is not mine.dtype:
            return f"dtype {mine.dtype}, expected {other.dtype}", False
    # What is compared are the outputs after the entry's own treatment of ambiguous signs and phases.
    replaced = [
        theirs(one).requires_grad_(other.requires_grad)
        for one, other in zip(ours_raw, theirs_raw, strict=True)
    ]
    processed = sample.output_process_fn_grad(_rebuilt(raw, replaced))
    second = _SecondOpinion(entry, sample, given)
    for k, (mine, other) in enumerate(
        zip(_tensors(processed, torch.Tensor), _tensors(want, torch.Tensor), strict=True)
    ):
        message = _differ(mine, other, entry)
        if message and not _picks_as_good(entry, sample, replaced, k) and not second.of_value(k, mine, other):
            return f"values: {message}", False
    message = ""
    if backward:
        message = _judge_gradients(entry, leaves, their_leaves, ours_raw, replaced, processed, want, second)
    return message, second.asked


PICKING = {"sort": 0, "topk": 1, "kthvalue": 1, "mode": 0, "median": 0, "nanmedian": 0}
"""Functions that return values and where they stand, with the place of the dim among their arguments."""


def _picks_as_good(entry: Any, sample: Any, outputs: list[Any], k: int) -> bool:
    """Say whether output `k` says where values stand, and they do stand there: of equal ones any may be named."""
    if entry.name not in PICKING or k != 1:
        return False
    values, places = (one.detach() for one in outputs)
    at = PICKING[entry.name]
    dim = sample.kwargs.get("dim", sample.args[at] if len(sample.args) > at else -1)
    given = sample.input.detach().reshape(-1) if not sample.input.ndim else sample.input.detach()
    if places.ndim < given.ndim:
        values, places = values.unsqueeze(dim), places.unsqueeze(dim)
    return torch.equal(torch.take_along_dim(given, places, dim), values)


def _by_torch(entry: Any, sample: Any, given: Any) -> tuple[Any, Any, list[Any]]:
    """Return the result of torch, the same as it is to be compared, and the tensors that it was given."""
    first, rest, keywords = given
    leaves = _tensors(given, torch.Tensor)
    if entry.name == "zero_":
        first = first.clone()
    raw = entry(first, *rest, **keywords)
    return raw, sample.output_process_fn_grad(raw), leaves


def _their_gradients(want: Any, leaves: list[Any]) -> dict[int, Any]:
    """Return torch's gradients for ones, by the place of the tensor among those given; None where there are none."""
    wanted = [i for i, leaf in enumerate(leaves) if leaf.requires_grad]
    ends = [one for one in _tensors(want, torch.Tensor) if one.requires_grad]
    if not wanted or not ends:
        return {}
    found = torch.autograd.grad(
        ends, [leaves[i] for i in wanted], [torch.ones_like(one) for one in ends], allow_unused=True
    )
    return {
        i: torch.zeros_like(leaves[i]) if one is None else one for i, one in zip(wanted, found, strict=True)
    }


WIDER = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}


class _SecondOpinion:
    """Torch in double precision, asked where results differ by more than the tolerance.

    Where torch's own result has lost digits to rounding there is no better reference. Ours passes where it is about as
    near to the precise result as torch's is (twice as far at most), or as a few roundings of the largest value allow.
    PyTorch judges its own reference implementations in this way.
    """

    def __init__(self, entry: Any, sample: Any, given: Any) -> None:
        self.entry, self.sample, self.given = entry, sample, given
        self.asked = False
        self.precise: tuple[list[Any], dict[int, Any]] | None = None

    def _ask(self) -> tuple[list[Any], dict[int, Any]]:
        if self.precise is None:
            wide = tree_map(_widened, self.given, is_leaf=lambda one: isinstance(one, torch.Size))
            _, want, leaves = _by_torch(self.entry, self.sample, wide)
            self.precise = _tensors(want, torch.Tensor), _their_gradients(want, leaves)
        return self.precise

    def of_value(self, k: int, mine: Any, other: Any) -> bool:
        """Say whether output `k` passes."""
        return other.dtype in WIDER and self._holds(mine, other, self._ask()[0][k])

    def of_gradient(self, i: int, mine: Any, other: Any) -> bool:
        """Say whether the gradient of input `i` passes."""
        return other.dtype in WIDER and self._holds(mine, other, self._ask()[1][i])

    def _holds(self, mine: Any, other: Any, precise: Any) -> bool:
        self.asked = True
        least = 4 * torch.finfo(other.dtype).eps
        mine, other = (one.detach().to(precise.dtype) for one in (mine, other))
        precise = precise.detach()
        finite = mine.isfinite()
        if not torch.equal(finite, precise.isfinite()) and not torch.equal(finite, other.isfinite()):
            return False
        known = mine.isfinite() & other.isfinite() & precise.isfinite()
        if not known.any():
            return True
        own, peer, exact = (one[known] for one in (mine, other, precise))
        allowed = torch.maximum(2 * (peer - exact).abs().max(), least * exact.abs().max())
        return bool((own - exact).abs().max() <= allowed)


def _widened(value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or value.dtype not in WIDER:
        return value
    wide = value.detach().to(WIDER[value.dtype])
    return wide.requires_grad_(value.requires_grad)


def _rebuilt(raw: Any, replaced: list[Any]) -> Any:
    """Return `raw` with its tensors replaced in order."""
    pending = iter(replaced)
    if isinstance(raw, torch.Tensor):
        return replaced[0]
    if isinstance(raw, tuple) and hasattr(raw, "_fields"):
        return type(raw)(*[_rebuilt_one(one, pending) for one in raw])
    if isinstance(raw, tuple) and hasattr(raw, "n_fields"):  # torch.return_types
        return type(raw)([_rebuilt_one(one, pending) for one in raw])
    return tree_map(lambda one: next(pending) if isinstance(one, torch.Tensor) else one, raw)


def _rebuilt_one(one: Any, pending: Iterator[Any]) -> Any:
    return tree_map(lambda leaf: next(pending) if isinstance(leaf, torch.Tensor) else leaf, one)


def _judge_gradients(
    entry: Any,
    mine: list[Any],
    other: list[Any],
    raw: list[Any],
    replaced: list[Any],
    processed: Any,
    want: Any,
    second: _SecondOpinion,
) -> str:
    expected = _their_gradients(want, other)
    if not expected:
        return ""
    # The treatment of the outputs is torch's: its gradient at our outputs is what ours start from.
    ends = [one for one in _tensors(processed, torch.Tensor) if one.requires_grad]
    starts = [i for i, one in enumerate(replaced) if one.requires_grad]
    seeds = torch.autograd.grad(
        ends, [replaced[i] for i in starts], [torch.ones_like(one) for one in ends], allow_unused=True
    )
    pairs = [
        (raw[i], wb.from_numpy(_array(seed)))
        for i, seed in zip(starts, seeds, strict=True)
        if seed is not None
    ]
    for one, _ in pairs:
        if not one.requires_grad:
            return "an output that should carry a gradient does not"
    got = wb.autograd.grad(
        [one for one, _ in pairs], [mine[i] for i in expected], [seed for _, seed in pairs], allow_unused=True
    )
    for (i, reference), gradient in zip(expected.items(), got, strict=True):
        if gradient is None:
            gradient = wb.zeros_like(mine[i].detach())
        gradient = theirs(gradient)
        message = _differ(gradient, reference, entry)
        if message and not second.of_gradient(i, gradient, reference):
            return f"gradient of input {i}: {message}"
    return ""


def _differ(mine: Any, other: Any, entry: Any) -> str:
    relative, absolute = tolerance(entry, other.dtype)
    try:
        torch.testing.assert_close(
            mine.detach(), other.detach(), rtol=relative, atol=absolute, equal_nan=True, check_stride=False
        )
    except AssertionError as error:
        return " ".join(str(error).split())[:220]
    return ""

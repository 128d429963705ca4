"""Run one sample of an entry through torch and through the workbench, forward and backward, and compare."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_device_type import toleranceOverride
from torch.utils._pytree import tree_flatten, tree_map

import workbench as wb
from tests.peers.op_db.names import function_for

__all__ = ["Outcome", "differentiable", "judge_entry", "tolerance"]

Outcome = tuple[int, str]
"""Index of a sample, and what went wrong with it: empty where it passed."""

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
        if value.is_conj() or value.is_neg():
            value = value.resolve_conj().resolve_neg()
        mine = wb.from_numpy(value.detach().numpy().copy(order="K"))
        return mine.requires_grad_() if value.requires_grad else mine
    if isinstance(value, torch.dtype):
        return DTYPES[value]
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, torch.device):
        return str(value)
    return value


def _translated(value: Any) -> Any:
    # Not tree_map alone: it does not enter slices, and sizes are leaves to us.
    return tree_map(ours, value, is_leaf=lambda one: isinstance(one, torch.Size))


def theirs(value: Any) -> Any:
    """Return a result of ours as a torch tensor with values of its own."""
    return torch.from_numpy(np.array(value.detach().numpy())) if isinstance(value, wb.Tensor) else value


def _tensors(value: Any, kind: type) -> list[Any]:
    return [one for one in tree_flatten(_plain(value))[0] if isinstance(one, kind)]


def _plain(value: Any) -> Any:
    """Named tuples of both libraries become plain ones: they flatten alike."""
    if isinstance(value, (tuple, list)):
        return tuple(_plain(one) for one in value)
    return value


def tolerance(entry: Any) -> tuple[float, float]:
    """Return the entry's own float32 tolerance (relative, absolute): the widest of its overrides."""
    relative, absolute = 1.3e-6, 1e-5
    for decorator in entry.decorators:
        for one in getattr(decorator, "decorators", [decorator]):
            if isinstance(one, toleranceOverride) and torch.float32 in one.d:
                found = one.d[torch.float32]
                relative, absolute = max(relative, found.rtol), max(absolute, found.atol)
    return relative, absolute


def differentiable(entry: Any, dtype: torch.dtype = torch.float32) -> bool:
    """Say whether the database differentiates the entry in this type on the CPU."""
    return bool(entry.supports_autograd and dtype in entry.supported_backward_dtypes("cpu"))


def judge_entry(
    entry: Any, limit: int | None = None, dtype: torch.dtype = torch.float32
) -> Iterator[Outcome]:
    """Yield the outcome of every sample of an entry."""
    backward = differentiable(entry, dtype)
    torch.manual_seed(0)
    samples = list(entry.sample_inputs("cpu", dtype, requires_grad=backward))
    for index, sample in enumerate(samples[:limit]):
        try:
            yield index, _judge(entry, sample, backward)
        except Exception as error:
            yield index, f"{type(error).__name__}: {str(error)[:300]}"


def _judge(entry: Any, sample: Any, backward: bool) -> str:
    arguments = _translated((sample.input, tuple(sample.args), dict(sample.kwargs)))
    first, rest, keywords = arguments
    leaves = _tensors((first, rest, keywords), wb.Tensor)
    got = function_for(entry.name, entry.variant_test_name)(first, *rest, **keywords)

    first, rest, keywords = sample.input, sample.args, sample.kwargs
    their_leaves = _tensors((first, tuple(rest), dict(keywords)), torch.Tensor)
    if entry.name == "zero_":
        first = first.clone()
    raw = entry(first, *rest, **keywords)
    want = sample.output_process_fn_grad(raw)

    ours_raw, theirs_raw = _tensors(got, wb.Tensor), _tensors(raw, torch.Tensor)
    if len(ours_raw) != len(theirs_raw):
        return f"{len(ours_raw)} outputs, expected {len(theirs_raw)}"
    for mine, other in zip(ours_raw, theirs_raw, strict=True):
        if mine.shape != tuple(other.shape):
            return f"shape {mine.shape}, expected {tuple(other.shape)}"
        if DTYPES.get(other.dtype) is not mine.dtype:
            return f"dtype {mine.dtype}, expected {other.dtype}"
    # What is compared are the outputs after the entry's own treatment of ambiguous signs and phases.
    replaced = [
        theirs(one).requires_grad_(other.requires_grad)
        for one, other in zip(ours_raw, theirs_raw, strict=True)
    ]
    processed = sample.output_process_fn_grad(_rebuilt(raw, replaced))
    for mine, other in zip(_tensors(processed, torch.Tensor), _tensors(want, torch.Tensor), strict=True):
        message = _differ(mine, other, entry)
        if message:
            return f"values: {message}"
    if not backward:
        return ""
    return _judge_gradients(entry, leaves, their_leaves, ours_raw, replaced, processed, want)


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
) -> str:
    wanted = [i for i, leaf in enumerate(other) if leaf.requires_grad]
    ends = [one for one in _tensors(want, torch.Tensor) if one.requires_grad]
    if not wanted or not ends:
        return ""
    expected = torch.autograd.grad(
        ends, [other[i] for i in wanted], [torch.ones_like(one) for one in ends], allow_unused=True
    )
    # The treatment of the outputs is torch's: its gradient at our outputs is what ours start from.
    ends = [one for one in _tensors(processed, torch.Tensor) if one.requires_grad]
    starts = [i for i, one in enumerate(replaced) if one.requires_grad]
    seeds = torch.autograd.grad(
        ends, [replaced[i] for i in starts], [torch.ones_like(one) for one in ends], allow_unused=True
    )
    pairs = [
        (raw[i], wb.from_numpy(seed.resolve_conj().resolve_neg().numpy().copy()))
        for i, seed in zip(starts, seeds, strict=True)
        if seed is not None
    ]
    for one, _ in pairs:
        if not one.requires_grad:
            return "an output that should carry a gradient does not"
    got = wb.autograd.grad(
        [one for one, _ in pairs], [mine[i] for i in wanted], [seed for _, seed in pairs], allow_unused=True
    )
    for i, gradient, reference in zip(wanted, got, expected, strict=True):
        if reference is None:
            reference = torch.zeros_like(other[i])
        if gradient is None:
            gradient = wb.zeros_like(mine[i].detach())
        message = _differ(theirs(gradient), reference, entry)
        if message:
            return f"gradient of input {i}: {message}"
    return ""


def _differ(mine: Any, other: Any, entry: Any) -> str:
    relative, absolute = tolerance(entry)
    try:
        torch.testing.assert_close(
            mine.detach(), other.detach(), rtol=relative, atol=absolute, equal_nan=True, check_stride=False
        )
    except AssertionError as error:
        return " ".join(str(error).split())[:220]
    return ""

"""Run one sample of a module through torch and through the workbench, and compare all that it gives.

Compared are the keys and shapes of the state, outputs, gradients of inputs and of
parameters, and the buffers afterwards. Samples start from torch's own state, loaded by `load_state_dict`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn.parameter import UninitializedParameter
from torch.testing._internal.common_modules import module_db
from torch.utils._pytree import tree_flatten, tree_map

import workbench as wb
from tests.peers.op_db.judge import DTYPES, theirs, tolerance, translated

__all__ = ["ENTRIES", "Outcome", "judge_entry", "name_of", "samples_of"]


class Outcome(NamedTuple):
    """What came of one sample."""

    index: int
    message: str
    """What went wrong: empty where it passed."""


def name_of(entry: Any) -> str:
    """Return the name of a module as the workbench has it."""
    return str(entry.name).removeprefix("nn.")


ENTRIES = {name_of(entry): entry for entry in module_db}


def samples_of(entry: Any) -> list[tuple[bool, Any]]:
    """Return (training, sample), the same ones each time."""
    found = []
    for training in (True, False):
        torch.manual_seed(0)
        np.random.seed(0)
        inputs = entry.module_inputs_func(
            entry, device="cpu", dtype=torch.float32, requires_grad=True, training=training
        )
        found += [(training, one) for one in inputs]
    return found


def judge_entry(entry: Any) -> Iterator[Outcome]:
    """Yield the outcome of every sample of an entry."""
    for index, (training, sample) in enumerate(samples_of(entry)):
        try:
            yield Outcome(index, _judge(entry, sample, training))
        except Exception as error:
            yield Outcome(index, f"{type(error).__name__}: {str(error)[:400]}")


def _ours(value: Any) -> Any:
    """Return an argument as the workbench takes it; functions and modules by their names."""
    if isinstance(value, torch.nn.Module):
        return getattr(wb.nn, type(value).__name__)()
    if inspect.isroutine(value) and value.__name__ in dir(wb.nn.functional):
        return getattr(wb.nn.functional, value.__name__)
    return value


def _given(arguments: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    pair = translated((tuple(arguments.args), dict(arguments.kwargs)))
    return tree_map(_ours, pair, is_leaf=lambda one: isinstance(one, torch.nn.Module))  # type: ignore[no-any-return]


def _tensors(value: Any, kind: type) -> list[Any]:
    return [one for one in tree_flatten(_plain(value))[0] if isinstance(one, kind)]


def _plain(value: Any) -> Any:
    if hasattr(value, "_fields") or isinstance(value, tuple | list):
        return tuple(_plain(one) for one in value)
    return value


def _settled(module: Any, sample: Any) -> None:
    """Let a lazy module of torch's take its shapes from the input."""
    if any(isinstance(one, UninitializedParameter) for one in module.parameters()):
        with torch.no_grad():
            module(*sample.forward_input.args, **sample.forward_input.kwargs)


def _judge(entry: Any, sample: Any, training: bool) -> str:
    torch.manual_seed(0)
    constructor = sample.constructor_input
    other = entry.module_cls(*constructor.args, **constructor.kwargs).train(training).float()
    _settled(other, sample)
    arguments, keywords = _given(constructor)
    mine = getattr(wb.nn, name_of(entry))(*arguments, **keywords).train(training).float()
    state = {key: wb.tensor(value.detach().numpy().copy()) for key, value in other.state_dict().items()}
    mine.load_state_dict(state)
    message = _same_state(mine, other)
    return message or _run(entry, sample, mine, other)


def _same_state(mine: Any, other: Any) -> str:
    own, expected = mine.state_dict(), other.state_dict()
    if list(own) != list(expected):
        return f"state keys {list(own)}, expected {list(expected)}"
    for key, value in expected.items():
        if tuple(own[key].shape) != tuple(value.shape) or DTYPES[value.dtype] is not own[key].dtype:
            return f"state {key}: {own[key].dtype}{tuple(own[key].shape)}, expected {value.dtype}{tuple(value.shape)}"
    return ""


def _run(entry: Any, sample: Any, mine: Any, other: Any) -> str:
    forward = sample.forward_input
    arguments, keywords = _given(forward)
    leaves = _tensors((arguments, keywords), wb.Tensor)
    their_leaves = _tensors((tuple(forward.args), dict(forward.kwargs)), torch.Tensor)
    got, want = mine(*arguments, **keywords), other(*forward.args, **forward.kwargs)
    outputs, expected = _tensors(got, wb.Tensor), _tensors(want, torch.Tensor)
    if len(outputs) != len(expected):
        return f"{len(outputs)} outputs, expected {len(expected)}"
    for k, (one, reference) in enumerate(zip(outputs, expected, strict=True)):
        if DTYPES.get(reference.dtype) is not one.dtype:
            return f"output {k}: dtype {one.dtype}, expected {reference.dtype}"
        message = _differ(theirs(one), reference.detach(), entry)
        if message:
            return f"output {k}: {message}"
    message = _gradients(entry, mine, other, leaves, their_leaves, outputs, expected)
    if message:
        return message
    for (key, one), (_, reference) in zip(mine.named_buffers(), other.named_buffers(), strict=True):
        message = _differ(theirs(one), reference, entry)
        if message:
            return f"buffer {key} afterwards: {message}"
    return ""


def _gradients(
    entry: Any,
    mine: Any,
    other: Any,
    leaves: list[Any],
    their_leaves: list[Any],
    outputs: list[Any],
    expected: list[Any],
) -> str:
    ends = [k for k, one in enumerate(expected) if one.requires_grad]
    if not ends:
        return ""
    seeds = {k: torch.linspace(0.5, 1.5, expected[k].numel()).reshape(expected[k].shape) for k in ends}
    names = [name for name, _ in other.named_parameters()]
    wanted = [i for i, leaf in enumerate(their_leaves) if leaf.requires_grad]
    places = [f"input {i}" for i in wanted] + names
    their_places = [their_leaves[i] for i in wanted] + [one for _, one in other.named_parameters()]
    own_places = [leaves[i] for i in wanted] + [one for _, one in mine.named_parameters()]
    reference = torch.autograd.grad(
        [expected[k] for k in ends], their_places, list(seeds.values()), allow_unused=True
    )
    found = wb.autograd.grad(
        [outputs[k] for k in ends],
        own_places,
        [wb.tensor(one.numpy()) for one in seeds.values()],
        allow_unused=True,
    )
    for place, one, right in zip(places, found, reference, strict=True):
        if right is None and (one is None or not one.numpy().any()):
            continue
        if one is None and not right.abs().any():
            continue
        if one is None or right is None:
            return f"gradient of {place}: {'none' if one is None else 'one'}, where torch has the opposite"
        message = _differ(theirs(one), right, entry)
        if message:
            return f"gradient of {place}: {message}"
    return ""


LEAST = (1e-5, 1e-5)
"""Relative and absolute tolerance of float32 results that are sums of many products."""


def _differ(mine: Any, other: Any, entry: Any) -> str:
    if tuple(mine.shape) != tuple(other.shape):
        return f"shape {tuple(mine.shape)}, expected {tuple(other.shape)}"
    relative, absolute = (max(pair) for pair in zip(tolerance(entry), LEAST, strict=True))
    try:
        torch.testing.assert_close(mine, other, rtol=relative, atol=absolute, equal_nan=True)
    except AssertionError as error:
        return str(error).replace("\n", " ")[:300]
    return ""

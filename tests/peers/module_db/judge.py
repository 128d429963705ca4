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

__all__ = ["ENTRIES", "Outcome", "by_torch", "judge_entry", "module_of", "name_of", "samples_of"]


class Outcome(NamedTuple):
    """What came of one sample."""

    index: int
    message: str
    """What went wrong: empty where it passed."""
    second: bool = False
    """Whether torch's numbers were too rough to compare with, and its result in double precision was asked."""


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
            judge = _Judge(entry, sample, training)
            yield Outcome(index, judge.message(), judge.asked)
        except Exception as error:
            yield Outcome(index, f"{type(error).__name__}: {str(error)[:400]}")


def _ours(value: Any) -> Any:
    """Return an argument as the workbench takes it; functions and modules by their names."""
    if isinstance(value, torch.nn.TransformerEncoderLayer):
        attention, inner = value.self_attn, value.linear1
        return wb.nn.TransformerEncoderLayer(
            attention.embed_dim, attention.num_heads, inner.out_features, value.dropout.p,
            value.activation.__name__, value.norm1.eps, attention.batch_first, value.norm_first,
            inner.bias is not None,
        )  # fmt: skip
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


def _same_state(mine: Any, other: Any) -> str:
    own, expected = mine.state_dict(), other.state_dict()
    if list(own) != list(expected):
        return f"state keys {list(own)}, expected {list(expected)}"
    for key, value in expected.items():
        if tuple(own[key].shape) != tuple(value.shape) or DTYPES[value.dtype] is not own[key].dtype:
            return f"state {key}: {own[key].dtype}{tuple(own[key].shape)}, expected {value.dtype}{tuple(value.shape)}"
    return ""


def _seed(reference: Any) -> Any:
    return torch.linspace(0.5, 1.5, reference.numel(), dtype=reference.dtype).reshape(reference.shape)


class Run(NamedTuple):
    """What torch gives for a sample: outputs, gradients by place, and buffers afterwards."""

    outputs: list[Any]
    gradients: dict[str, Any]
    buffers: dict[str, Any]


def by_torch(module: Any, sample: Any) -> Run:
    """Run a sample in torch, forwards and backwards."""
    forward = sample.forward_input
    leaves = _tensors((tuple(forward.args), dict(forward.kwargs)), torch.Tensor)
    outputs = _tensors(module(*forward.args, **forward.kwargs), torch.Tensor)
    ends = [one for one in outputs if one.requires_grad]
    places = {f"input {i}": leaf for i, leaf in enumerate(leaves) if leaf.requires_grad}
    places |= dict(module.named_parameters())
    found: Any = [None] * len(places)
    if ends:
        found = torch.autograd.grad(
            ends, list(places.values()), [_seed(one) for one in ends], allow_unused=True
        )
    buffers = {key: one.clone() for key, one in module.named_buffers()}
    return Run([one.detach() for one in outputs], dict(zip(places, found, strict=True)), buffers)


class _Judge:
    """One sample in both libraries."""

    def __init__(self, entry: Any, sample: Any, training: bool) -> None:
        self.entry, self.sample, self.training = entry, sample, training
        self.asked = False
        self._precise: Run | None = None

    def message(self) -> str:
        """Say what differs; nothing where nothing does."""
        other = module_of(self.entry, self.sample, self.training)
        self.state = {key: value.detach().clone() for key, value in other.state_dict().items()}
        mine = self._ours(other)
        return _same_state(mine, other) or self._run(mine, other)

    def _ours(self, other: Any) -> Any:
        arguments, keywords = _given(self.sample.constructor_input)
        mine = getattr(wb.nn, name_of(self.entry))(*arguments, **keywords).float().train(self.training)
        mine.load_state_dict({key: wb.tensor(one.numpy().copy()) for key, one in self.state.items()})
        return mine

    def _run(self, mine: Any, other: Any) -> str:
        arguments, keywords = _given(self.sample.forward_input)
        leaves = _tensors((arguments, keywords), wb.Tensor)
        outputs = _tensors(mine(*arguments, **keywords), wb.Tensor)
        want = by_torch(other, self.sample)
        if len(outputs) != len(want.outputs):
            return f"{len(outputs)} outputs, expected {len(want.outputs)}"
        for k, (one, reference) in enumerate(zip(outputs, want.outputs, strict=True)):
            if DTYPES.get(reference.dtype) is not one.dtype:
                return f"output {k}: dtype {one.dtype}, expected {reference.dtype}"
            message = self._differ(theirs(one), reference, lambda run, k=k: run.outputs[k])
            if message:
                return f"output {k}: {message}"
        message = self._gradients(mine, leaves, outputs, want)
        if message:
            return message
        for key, one in mine.named_buffers():
            message = self._differ(theirs(one), want.buffers[key], lambda run, key=key: run.buffers[key])
            if message:
                return f"buffer {key} afterwards: {message}"
        return ""

    def _gradients(self, mine: Any, leaves: list[Any], outputs: list[Any], want: Run) -> str:
        ends = [one for one in outputs if one.requires_grad]
        if not want.gradients or not ends:
            return "" if all(one is None for one in want.gradients.values()) else "no gradient is recorded"
        own = {f"input {i}": leaf for i, leaf in enumerate(leaves) if leaf.requires_grad}
        own |= dict(mine.named_parameters())
        seeds = [wb.tensor(_seed(theirs(one)).numpy()) for one in ends]
        found = dict(
            zip(own, wb.autograd.grad(ends, list(own.values()), seeds, allow_unused=True), strict=True)
        )
        for place, right in want.gradients.items():
            same = self._same_inputs(place)
            parts = [theirs(found[one]) for one in same if found[one] is not None]
            if right is None or not parts:
                if any(one is not None and one.abs().any() for one in [right, *parts]):
                    return (
                        f"gradient of {place}: {'none' if not parts else 'one'}, where torch has the opposite"
                    )
                continue
            message = self._differ(sum(parts), right, lambda run, place=place: run.gradients[place])
            if message:
                return f"gradient of {place}: {message}"
        return ""

    def _same_inputs(self, place: str) -> list[str]:
        """Return the places of one input: a sample may give a tensor twice, and its gradient is then the sum."""
        if not place.startswith("input "):
            return [place]
        forward = self.sample.forward_input
        leaves = _tensors((tuple(forward.args), dict(forward.kwargs)), torch.Tensor)
        this = leaves[int(place.split()[1])]
        return [f"input {i}" for i, leaf in enumerate(leaves) if leaf is this]

    def _differ(self, mine: Any, other: Any, place: Any) -> str:
        if tuple(mine.shape) != tuple(other.shape):
            return f"shape {tuple(mine.shape)}, expected {tuple(other.shape)}"
        relative, absolute = (max(pair) for pair in zip(tolerance(self.entry), LEAST, strict=True))
        try:
            torch.testing.assert_close(mine, other, rtol=relative, atol=absolute, equal_nan=True)
        except AssertionError as error:
            if other.dtype is torch.float32 and self._near(mine, other, place(self._exact())):
                return ""
            return str(error).replace("\n", " ")[:300]
        return ""

    def _exact(self) -> Run:
        """Return what torch gives in double precision."""
        if self._precise is None:
            module = module_of(self.entry, self.sample, self.training)
            module.load_state_dict(self.state)
            wide = (
                tree_map(_widened, self.sample.forward_input.args),
                tree_map(_widened, self.sample.forward_input.kwargs),
            )
            forward = type(self.sample.forward_input)(*wide[0], **wide[1])
            sample = type(self.sample)(self.sample.constructor_input, forward, self.sample.desc)
            self._precise = by_torch(module.double(), sample)
        return self._precise

    def _near(self, mine: Any, other: Any, exact: Any) -> bool:
        """Say whether ours is about as near to the precise result as torch's own is."""
        self.asked = True
        if exact is None or not torch.equal(mine.isfinite(), exact.isfinite()):
            return False
        own, peer = (one.double()[exact.isfinite()] for one in (mine, other))
        exact = exact[exact.isfinite()]
        allowed = torch.maximum(
            2 * (peer - exact).abs().max(), 4 * torch.finfo(torch.float32).eps * exact.abs().max()
        )
        return bool((own - exact).abs().max() <= allowed)


def _widened(value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or value.dtype is not torch.float32:
        return value
    return value.detach().double().requires_grad_(value.requires_grad)


def module_of(entry: Any, sample: Any, training: bool) -> Any:
    """Return torch's module for a sample, the same weights each time; a lazy one knows its shapes."""
    torch.manual_seed(0)
    constructor = sample.constructor_input
    module = entry.module_cls(*constructor.args, **constructor.kwargs).to(torch.float32).train(training)
    _settled(module, sample)
    return module


LEAST = (1e-5, 1e-5)
"""Relative and absolute tolerance of float32 results that are sums of many products."""

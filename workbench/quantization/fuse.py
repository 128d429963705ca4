"""Fusion: batch normalisation folded into the layer before it, and a rectifier joined to it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from workbench.base.errors import QuantizationError
from workbench.core import dispatch
from workbench.nn import (
    BatchNorm1d,
    BatchNorm2d,
    Conv2d,
    Identity,
    Linear,
    MaxPool2d,
    Module,
    ReLU,
)
from workbench.nn.utils import fuse_conv_bn_weights
from workbench.quantization.intrinsic import ConvReLU2d, ConvReLUMaxPool2d, LinearReLU

__all__ = ["find_patterns", "fold_batch_norm", "fuse_modules"]

_PATTERNS: dict[tuple[type, ...], Any] = {
    (Conv2d, BatchNorm2d, ReLU, MaxPool2d): lambda conv, norm, relu, pool: ConvReLUMaxPool2d(
        fold_batch_norm(conv, norm), relu, pool
    ),
    (Conv2d, ReLU, MaxPool2d): ConvReLUMaxPool2d,
    (Conv2d, BatchNorm2d, ReLU): lambda conv, norm, relu: ConvReLU2d(fold_batch_norm(conv, norm), relu),
    (Conv2d, BatchNorm2d): lambda conv, norm: fold_batch_norm(conv, norm),
    (Conv2d, ReLU): ConvReLU2d,
    (Linear, BatchNorm1d): lambda linear, norm: fold_batch_norm(linear, norm),
    (Linear, ReLU): LinearReLU,
}
"""The patterns that can be fused, longest first."""


def fold_batch_norm(layer: Any, norm: Any) -> Any:
    """Return a copy of a convolution or linear layer that does what it and the normalisation behind it do.

    W' = W·γ / √(σ² + ε), b' = (b - μ)·γ / √(σ² + ε) + β, with the running statistics μ and σ².
    """
    if norm.running_mean is None or norm.running_var is None:
        raise QuantizationError("a batch normalisation without running statistics cannot be folded")
    folded = copy.deepcopy(layer)
    folded.weight, folded.bias = fuse_conv_bn_weights(
        layer.weight, layer.bias, norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias
    )
    return folded


def fuse_modules(
    model: Module, modules_to_fuse: Sequence[str] | Sequence[Sequence[str]], inplace: bool = False
) -> Module:
    """Fuse modules named by path: ``fuse_modules(model, [["conv1", "bn1", "relu1"], ["fc1", "relu3"]])``.

    The first of each group becomes the fused module and the others `Identity`. Known groups: convolution with batch
    normalisation, rectifier or both, and then a pooling of each 2 by 2; linear with either. Raises
    `QuantizationError` while training, for unknown groups, and for paths that do not exist; then nothing has changed.

    >>> import workbench as wb
    >>> model = fuse_modules(wb.models.DigitsNet().eval(), [["conv1", "bn1", "relu1"]])
    >>> type(model.conv1).__name__, type(model.bn1).__name__
    ('ConvReLU2d', 'Identity')
    """
    if model.training:
        raise QuantizationError(
            "Fusion only for eval! The running statistics are folded in: call model.eval() first"
        )
    given: Any = modules_to_fuse
    groups = [given] if given and isinstance(given[0], str) else [list(group) for group in given]
    made = [(group, _fused(model, group)) for group in groups]
    if not inplace:
        model = copy.deepcopy(model)
    for group, fused in made:
        # Modules are made for training.
        fused.eval()
        model.set_submodule(group[0], fused)
        for name in group[1:]:
            model.set_submodule(name, Identity().eval())
    return model


def _fused(model: Module, group: Sequence[str]) -> Any:
    try:
        modules = [model.get_submodule(name) for name in group]
    except AttributeError as error:
        raise QuantizationError(f"cannot fuse {', '.join(group)}: {error}") from None
    kinds = tuple(type(module) for module in modules)
    make = _PATTERNS.get(kinds)
    if make is None:
        known = "; ".join(", ".join(kind.__name__ for kind in pattern) for pattern in _PATTERNS)
        named = ", ".join(kind.__name__ for kind in kinds)
        raise QuantizationError(f"did not find fuser method for: ({named}). What can be fused: {known}")
    # Copies, so that the model is whole where a later group cannot be fused.
    return make(*(copy.deepcopy(module) for module in modules))


def find_patterns(model: Module, *inputs: Any) -> list[list[str]]:
    """Return the groups that can be fused in `model`, found by calling it once with `inputs`.

    A module belongs to a group where its input is what the module before it returned, no other module took that, and
    each was called once.
    """
    made: dict[int, tuple[str, Any]] = {}
    taken: dict[int, list[str]] = {}
    leaves = {name: module for name, module in model.named_modules() if name and not list(module.children())}
    paths = {id(module): name for name, module in leaves.items()}
    # Kept alive, for what is gone gives its id to another value.
    held: list[Any] = []
    calls: dict[str, int] = {}

    def watch(module: Any, arguments: tuple[Any, ...], output: Any) -> None:
        name = paths[id(module)]
        calls[name] = calls.get(name, 0) + 1
        for argument in arguments:
            taken.setdefault(id(argument), []).append(name)
        # What a module returns as it was given (in place, or an Identity) was made by the one before.
        if id(output) not in [id(argument) for argument in arguments]:
            made[id(output)] = (name, output)
        held.extend((*arguments, output))

    stops = [module.register_forward_hook(watch) for module in leaves.values()]
    try:
        with dispatch.no_grad():
            model(*inputs)
    finally:
        for stop in stops:
            stop()
    # Only what a single layer takes: any other would miss the value between the two.
    follows = {made[key][0]: names[0] for key, names in taken.items() if key in made and len(names) == 1}
    # A module that is called twice has two followers, and can be joined with neither.
    once = {name: module for name, module in leaves.items() if calls.get(name) == 1}
    return _groups(once, {name: after for name, after in follows.items() if after in once})


def _groups(leaves: dict[str, Module], follows: dict[str, str]) -> list[list[str]]:
    groups = []
    for name in leaves:
        chain = [name]
        while len(chain) < 4 and chain[-1] in follows:
            chain.append(follows[chain[-1]])
        # The longest that has a fused form: a convolution and its BatchNorm2d go together whatever follows
        # them.
        while len(chain) > 1 and not _fits([leaves[one] for one in chain]):
            chain = chain[:-1]
        if len(chain) > 1:
            groups.append(chain)
    return groups


def _fits(modules: list[Module]) -> bool:
    """Say whether there is a fused form of these modules, in this order."""
    make = _PATTERNS.get(tuple(type(module) for module in modules))
    if make is None:
        return False
    try:
        # The types may fit and the settings not, which only making it tells.
        make(*modules)
    except QuantizationError:
        return False
    return True

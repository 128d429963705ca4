"""Fusion: batch normalisation folded into the layer before it, and a rectifier joined to it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from workbench.base.errors import QuantizationError
from workbench.core import dispatch
from workbench.nn import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Identity,
    Linear,
    MaxPool2d,
    Module,
    ReLU,
)
from workbench.nn.utils import fuse_conv_bn_weights
from workbench.quantization import intrinsic
from workbench.quantization.given import require_layers
from workbench.quantization.intrinsic.modules import is_fused

__all__ = ["Pattern", "find_patterns", "fold_batch_norm", "fuse_modules", "fuse_modules_qat", "patterns"]

Pattern = tuple[type, ...]

_METHODS = "additional_fuser_method_mapping"


def fold_batch_norm(layer: Any, norm: Any) -> Any:
    """Return a copy of a convolution or linear layer that does what it and the normalisation behind it do.

    W' = W·γ / √(σ² + ε), b' = (b - μ)·γ / √(σ² + ε) + β, with the running statistics μ and σ².
    """
    if norm.running_mean is None or norm.running_var is None:
        raise QuantizationError("a batch normalisation without running statistics cannot be folded")
    folded = copy.deepcopy(layer)
    folded.weight, folded.bias = fuse_conv_bn_weights(
        layer.weight, layer.bias, norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias,
        transpose=getattr(layer, "transposed", False),
    )  # fmt: skip
    return folded


def _in_use() -> dict[Pattern, Any]:
    """Return what is fused in a model in use, longest first: normalisation is folded into weights."""
    found: dict[Pattern, Any] = {
        (Conv2d, BatchNorm2d, ReLU, MaxPool2d): lambda conv, norm, relu, pool: intrinsic.ConvReLUMaxPool2d(
            fold_batch_norm(conv, norm), relu, pool
        ),
        (Conv2d, ReLU, MaxPool2d): intrinsic.ConvReLUMaxPool2d,
    }
    for conv, norm, rectified in (
        (Conv1d, BatchNorm1d, intrinsic.ConvReLU1d),
        (Conv2d, BatchNorm2d, intrinsic.ConvReLU2d),
        (Conv3d, BatchNorm3d, intrinsic.ConvReLU3d),
        (Linear, BatchNorm1d, intrinsic.LinearReLU),
    ):
        found[conv, norm, ReLU] = lambda layer, after, relu, kind=rectified: kind(
            fold_batch_norm(layer, after), relu
        )
        found[conv, norm] = fold_batch_norm
        found[conv, ReLU] = rectified
    spread: tuple[tuple[type, type], ...] = (
        (ConvTranspose1d, BatchNorm1d), (ConvTranspose2d, BatchNorm2d), (ConvTranspose3d, BatchNorm3d),
    )  # fmt: skip
    for layer, after in spread:
        found[layer, after] = fold_batch_norm
    return found | {(BatchNorm2d, ReLU): intrinsic.BNReLU2d, (BatchNorm3d, ReLU): intrinsic.BNReLU3d}


_PATTERNS = _in_use()
"""The patterns that can be fused, longest first."""

_TRAINED: dict[Pattern, Any] = {
    (Conv1d, BatchNorm1d, ReLU): intrinsic.ConvBnReLU1d,
    (Conv2d, BatchNorm2d, ReLU): intrinsic.ConvBnReLU2d,
    (Conv3d, BatchNorm3d, ReLU): intrinsic.ConvBnReLU3d,
    (Conv1d, BatchNorm1d): intrinsic.ConvBn1d,
    (Conv2d, BatchNorm2d): intrinsic.ConvBn2d,
    (Conv3d, BatchNorm3d): intrinsic.ConvBn3d,
    (Conv1d, ReLU): intrinsic.ConvReLU1d,
    (Conv2d, ReLU): intrinsic.ConvReLU2d,
    (Conv3d, ReLU): intrinsic.ConvReLU3d,
    (Linear, BatchNorm1d): intrinsic.LinearBn1d,
    (Linear, ReLU): intrinsic.LinearReLU,
}
"""The same while training, where normalisations stay modules."""


def patterns(training: bool) -> dict[Pattern, Any]:
    """Return what is fused, by the types of the modules in their order, in training or in use."""
    return _TRAINED if training else _PATTERNS


def fuse_modules(
    model: Module,
    modules_to_fuse: Sequence[str] | Sequence[Sequence[str]],
    inplace: bool = False,
    *,
    fuse_custom_config_dict: Mapping[str, Any] | None = None,
) -> Module:
    """Fuse modules named by path: ``fuse_modules(model, [["conv1", "bn1", "relu1"], ["fc1", "relu3"]])``.

    The first of each group becomes the fused module and the others `Identity`. Known groups: convolution with batch
    normalisation, rectifier or both, and then a pooling of each 2 by 2; linear with either. More can be given, as
    ``fuse_custom_config_dict={"additional_fuser_method_mapping": {types: function}}``, which is called as
    ``function(is_qat, *modules)``. Raises
    `QuantizationError` while training, for unknown groups, and for paths that do not exist; then nothing has changed.

    >>> import workbench as wb
    >>> model = fuse_modules(wb.models.DigitsNet().eval(), [["conv1", "bn1", "relu1"]])
    >>> type(model.conv1).__name__, type(model.bn1).__name__
    ('ConvReLU2d', 'Identity')
    """
    require_layers(model, "fuse_modules", "prepare_fx fuses what a graph computes")
    if model.training:
        raise QuantizationError(
            "Fusion only for eval! The running statistics are folded in: call model.eval() first, or use "
            "fuse_modules_qat for training"
        )
    return _fuse(model, modules_to_fuse, _PATTERNS | _more(fuse_custom_config_dict, False), inplace)


def fuse_modules_qat(
    model: Module,
    modules_to_fuse: Sequence[str] | Sequence[Sequence[str]],
    inplace: bool = False,
    *,
    fuse_custom_config_dict: Mapping[str, Any] | None = None,
) -> Module:
    """Fuse modules of a model in training, named by path: normalisations stay beside their layers, for `prepare_qat`.

    Raises `QuantizationError` for a model in use, for unknown groups, and for paths that do not exist.

    >>> import workbench as wb
    >>> model = fuse_modules_qat(wb.models.DigitsNet(), [["conv1", "bn1", "relu1"]])
    >>> type(model.conv1).__name__
    'ConvBnReLU2d'
    """
    require_layers(model, "fuse_modules_qat", "prepare_qat_fx fuses what a graph computes")
    if not model.training:
        raise QuantizationError(
            "fuse_modules_qat is for models in training: call model.train() first, or use fuse_modules"
        )
    return _fuse(model, modules_to_fuse, _TRAINED | _more(fuse_custom_config_dict, True), inplace)


def _more(given: Mapping[str, Any] | None, training: bool) -> dict[Pattern, Any]:
    """Return what is joined besides, by functions that are told whether the model is in training."""
    unknown = [key for key in given or {} if key != _METHODS]
    if unknown:
        raise QuantizationError(
            f"fuse_custom_config_dict has {unknown[0]!r}, and takes {_METHODS!r}: a dict from types to functions"
        )
    found = (given or {}).get(_METHODS, {})
    return {kinds: partial(method, training) for kinds, method in found.items()}


def _fuse(model: Module, modules_to_fuse: Any, patterns: dict[Pattern, Any], inplace: bool) -> Module:
    given: Any = modules_to_fuse
    groups = [given] if given and isinstance(given[0], str) else [list(group) for group in given]
    made = [(group, _fused(model, group, patterns)) for group in groups]
    if not inplace:
        model = copy.deepcopy(model)
    for group, fused in made:
        # Modules are made for training.
        fused.train(model.training)
        model.set_submodule(group[0], fused)
        for name in group[1:]:
            model.set_submodule(name, Identity().train(model.training))
    return model


def _fused(model: Module, group: Sequence[str], patterns: dict[Pattern, Any]) -> Any:
    try:
        modules = [model.get_submodule(name) for name in group]
    except AttributeError as error:
        raise QuantizationError(f"cannot fuse {', '.join(group)}: {error}") from None
    kinds = tuple(type(module) for module in modules)
    make = patterns.get(kinds)
    if make is None:
        known = "; ".join(", ".join(kind.__name__ for kind in pattern) for pattern in patterns)
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
    # What was joined is one layer, and what it is made of is called by it alone.
    joined = tuple(f"{name}." if name else "" for name, module in model.named_modules() if is_fused(module))
    leaves = {
        name: module
        for name, module in model.named_modules()
        if name and not name.startswith(joined) and (is_fused(module) or not list(module.children()))
    }
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
    groups: list[list[str]] = []
    taken: set[str] = set()
    for name in leaves:
        # What an earlier one has taken begins no group of its own.
        if name in taken:
            continue
        chain = [name]
        while len(chain) < 4 and chain[-1] in follows:
            chain.append(follows[chain[-1]])
        # The longest that has a fused form: a convolution and its BatchNorm2d go together whatever follows
        # them.
        while len(chain) > 1 and not fits([leaves[one] for one in chain], training=False):
            chain = chain[:-1]
        if len(chain) > 1:
            groups.append(chain)
            taken.update(chain)
    return groups


def fits(modules: Sequence[Module], training: bool) -> bool:
    """Say whether there is a fused form of these modules, in this order."""
    make = patterns(training).get(tuple(type(module) for module in modules))
    if make is None:
        return False
    try:
        # The types may fit and the settings not, which only making it tells.
        make(*modules)
    except QuantizationError:
        return False
    return True

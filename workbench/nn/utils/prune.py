"""Pruning: weights held at zero by a mask, which a method chooses. PyTorch's `torch.nn.utils.prune`.

What is learned is then ``weight_orig``, the mask is the buffer ``weight_mask``, and before each call of the module
``weight`` is their product. `remove` makes that permanent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from workbench.base.public import words
from workbench.nn.module import Module
from workbench.nn.utils.pruning_methods import (
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
    pruning_of,
)
from workbench.nn.utils.weight_hooks import take_out
from workbench.ops import FUNCTIONS
from workbench.tensor import Tensor

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip

Layer = TypeVar("Layer", bound=Module)


def identity(module: Layer, name: str) -> Layer:
    """Give a parameter a mask of ones, which prunes nothing."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Layer, name: str, amount: float) -> Layer:
    """Prune values of a parameter that chance chooses: a count, or a fraction of those not pruned yet."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Layer, name: str, amount: float, importance_scores: Tensor | None = None
) -> Layer:
    """Prune the values of a parameter that are smallest in size, or those of the smallest scores.

    `amount` is a count, or a fraction of those not pruned yet. Returns the module.

    >>> import workbench as wb
    >>> layer = wb.nn.Linear(3, 1)
    >>> result = layer.load_state_dict({"weight": wb.tensor([[0.5, 2.0, -3.0]]), "bias": wb.zeros(1)})
    >>> l1_unstructured(layer, "weight", amount=1).weight.detach()
    tensor([[ 0.,  2., -3.]], dim_labels=('out_features', 'in_features'))
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Layer, name: str, amount: float, dim: int | str) -> Layer:
    """Prune positions of a dim of a parameter that chance chooses, with all that is in them."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Layer,
    name: str,
    amount: float,
    n: Any,
    dim: int | str,
    importance_scores: Tensor | None = None,
) -> Layer:
    """Prune the positions of a dim of a parameter whose values have the smallest norm of order `n`.

    The dim is given by position or by name; `amount` is a count, or a fraction of those not pruned yet. Returns the
    module.
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Layer, name: str, mask: Tensor) -> Layer:
    """Prune a parameter by a mask: ones stay, zeros are pruned.

    >>> import workbench as wb
    >>> layer = custom_from_mask(wb.nn.Linear(2, 1), "bias", wb.tensor([0]))
    >>> abs(layer.bias.item()), is_pruned(layer)
    (0.0, True)
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Any,
    pruning_method: Callable[..., BasePruningMethod],
    importance_scores: Any = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters together, as if they were one vector: `kwargs` are those of the method.

    `parameters` are pairs of a module and a name, and the keys of `importance_scores`, where they are given. Raises
    TypeError for what are none, or for a method that prunes whole positions.

    >>> import workbench as wb
    >>> a, b = wb.nn.Linear(4, 4), wb.nn.Linear(4, 4)
    >>> global_unstructured([(a, "weight"), (b, "weight")], L1Unstructured, amount=0.25)
    >>> int((a.weight == 0).sum() + (b.weight == 0).sum())
    8
    """
    pairs = list(parameters) if isinstance(parameters, Iterable) else None
    if pairs is None or not all(isinstance(one, tuple) and len(one) == 2 for one in pairs):
        raise TypeError("global_unstructured(): parameters is a list of pairs (module, name)")
    if importance_scores is not None and not isinstance(importance_scores, Mapping):
        raise TypeError("global_unstructured(): importance_scores is a dict by pairs (module, name)")
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of '
            f"type {method.PRUNING_TYPE}"
        )
    scores, masks = [], []
    for module, name in pairs:
        # By attribute: a pruned weight is a plain one, and what counts is what is left of it.
        value = getattr(module, name)
        given = None if importance_scores is None else importance_scores.get((module, name))
        scores.append((value if given is None else given).detach().rename(None))
        mask = module.__dict__.get(f"{name}_mask")
        masks.append(value.detach().rename(None).new_ones(value.shape) if mask is None else mask.rename(None))
    cat = FUNCTIONS["cat"]
    flat = cat([one.reshape(-1) for one in scores])
    before = cat([one.reshape(-1) for one in masks])
    container = PruningContainer()
    container.add_pruning_method(method)
    after = container.compute_mask(flat, before)
    start = 0
    for (module, name), one in zip(pairs, scores, strict=True):
        end = start + one.numel()
        custom_from_mask(module, name, after[start:end].reshape(one.shape))
        start = end


def remove(module: Layer, name: str) -> Layer:
    """Make pruning permanent: the parameter is again one, with zeros where it was pruned.

    Raises ValueError where it is not pruned.
    """
    hook = pruning_of(module, name)
    if hook is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    number, method = hook
    method.remove(module)
    take_out(module, number)
    return module


def is_pruned(module: Module) -> bool:
    """Say whether a module, or one below it, is pruned."""
    return any(
        isinstance(hook.call, BasePruningMethod)
        for one in module.modules()
        if one._hooks is not None
        for hook in one._hooks.forward_pre.values()
    )


__getattr__, __dir__ = words(__name__, __all__)

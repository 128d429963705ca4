"""Fusion of single modules, and what is asked about it: PyTorch's names for what `fuse` does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.base.errors import QuantizationError
from workbench.nn import Identity, Module
from workbench.quantization.fuse import Pattern, patterns

__all__ = [
    "fuse_conv_bn", "fuse_conv_bn_relu", "fuse_convtranspose_bn", "fuse_known_modules", "fuse_linear_bn",
    "get_fuser_method",
]  # fmt: skip


def _join(is_qat: bool, *modules: Module) -> Any:
    if len({one.training for one in modules}) > 1:
        raise QuantizationError("modules that are joined must all be in training, or all in use")
    if modules[0].training is not bool(is_qat):
        wanted, call = ("training", "train()") if is_qat else ("in use", "eval()")
        raise QuantizationError(f"is_qat={is_qat} is for modules {wanted}: call model.{call} first")
    kinds = tuple(type(one) for one in modules)
    made = patterns(is_qat).get(kinds)
    if made is None:
        names = ", ".join(kind.__name__ for kind in kinds)
        raise QuantizationError(f"there is no way to join {names}" + (" in training" if is_qat else ""))
    return made(*modules).train(is_qat)


def fuse_conv_bn(is_qat: bool, conv: Module, bn: Module) -> Any:
    """Return a convolution and its batch normalisation as one: folded in use, side by side in training.

    Raises `QuantizationError` where the modules' modes and `is_qat` do not agree.

    >>> from workbench import nn
    >>> type(fuse_conv_bn(False, nn.Conv2d(1, 2, 3).eval(), nn.BatchNorm2d(2).eval())).__name__
    'Conv2d'
    """
    return _join(is_qat, conv, bn)


def fuse_conv_bn_relu(is_qat: bool, conv: Module, bn: Module, relu: Module) -> Any:
    """Return a convolution, its batch normalisation and a rectifier as one."""
    return _join(is_qat, conv, bn, relu)


def fuse_linear_bn(is_qat: bool, linear: Module, bn: Module) -> Any:
    """Return a linear layer and its batch normalisation as one."""
    return _join(is_qat, linear, bn)


def fuse_convtranspose_bn(is_qat: bool, convt: Module, bn: Module) -> Any:
    """Return a transposed convolution and its batch normalisation as one, in use."""
    return _join(is_qat, convt, bn)


def get_fuser_method(
    op_list: tuple[type, ...], additional_fuser_method_mapping: dict[Pattern, Any] | None = None
) -> Callable[..., Any]:
    """Return the function that joins modules of these types: ``function(is_qat, *modules)``.

    Raises `QuantizationError` for types that nothing joins.
    """
    more = (additional_fuser_method_mapping or {}).get(tuple(op_list))
    if more is not None:
        return more  # type: ignore[no-any-return]
    if not any(tuple(op_list) in patterns(training) for training in (False, True)):
        names = ", ".join(kind.__name__ for kind in op_list)
        raise QuantizationError(f"there is no way to join {names}")
    return _join


def fuse_known_modules(
    mod_list: list[Module], is_qat: bool, additional_fuser_method_mapping: Any = None
) -> list[Any]:
    """Return the modules joined into the first, with `Identity` in the place of the others."""
    from_types = get_fuser_method(tuple(type(one) for one in mod_list), additional_fuser_method_mapping)
    rest = [_nothing(one) for one in mod_list[1:]]
    return [from_types(is_qat, *mod_list), *rest]


def _nothing(module: Module) -> Any:
    return Identity().train(module.training)

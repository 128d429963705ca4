"""Training with fake quantization: weights and activations are rounded as the integer model will round them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from workbench.base.errors import QuantizationError
from workbench.nn import Module
from workbench.quantization.attaching import attach_observers, round_output
from workbench.quantization.convert import convert, swap_all
from workbench.quantization.given import checked_mapping, require_layers, require_model
from workbench.quantization.mappings import (
    BESIDE,
    DEFAULT_MODULE_TO_ACT_POST_PROCESS,
    MADE_OF_PARTS,
    ROUNDED,
    get_default_qat_module_mappings,
)
from workbench.quantization.observed_beside import keep_beside
from workbench.quantization.prepare import check, has_stub, observed, ready, write_with_parts
from workbench.quantization.qconfig import QConfig, get_default_qat_qconfig
from workbench.quantization.qconfig_mapping import QConfigMapping

__all__ = ["prepare_qat", "quantize_qat"]


def prepare_qat(
    model: Module,
    mapping: dict[type, Any] | None = None,
    inplace: bool = False,
    *,
    qconfig: QConfig | QConfigMapping | None = None,
) -> Any:
    """Return `model`, which is training, with fake quantization of weights and outputs.

    Layers become those of `qat` by `mapping`; those that `fuse_modules_qat` joined with a batch normalisation round the
    weight that it will be folded into, and LSTM and attention are written with parts, as by `prepare`. What gives
    values of a fixed range, such as a sigmoid, rounds them to the scale that codes have there, and a ReLU6 to the range
    of its own values, as PyTorch's does. A module's ``qconfig``
    counts for it and all below; without any, `get_default_qat_qconfig` does; `qconfig` is that of `prepare`. Train on,
    then ``convert(model.eval())``.

    Raises `QuantizationError` for a model in use, one that is prepared already or runs a graph, and for a mapping that
    is none; then nothing has changed.

    >>> import workbench as wb
    >>> model = prepare_qat(wb.nn.Sequential(wb.nn.Linear(4, 3), wb.nn.ReLU()))
    >>> type(model.module[0]).__module__
    'workbench.quantization.qat.layers'
    """
    require_layers(model, "prepare_qat", "take prepare_qat_fx, which works on graphs")
    swaps = checked_mapping(mapping, get_default_qat_module_mappings(), "prepare_qat")
    if not model.training:
        raise QuantizationError("prepare_qat only works on models in training mode: call model.train() first")
    check(model)
    stubbed = has_stub(model)
    made = ready(model, qconfig, get_default_qat_qconfig, inplace)
    write_with_parts(made, MADE_OF_PARTS)
    swap_all(made, swaps)
    made = observed(made, stubbed)
    for module in made.modules():
        kind = type(module)
        if getattr(module, "qconfig", None) is None:
            continue
        if kind in DEFAULT_MODULE_TO_ACT_POST_PROCESS:
            round_output(module, DEFAULT_MODULE_TO_ACT_POST_PROCESS[kind]())
        elif kind in ROUNDED:
            attach_observers(module, weight=False)
        elif kind in BESIDE:
            keep_beside(module, BESIDE[kind])
    return made


def quantize_qat(model: Module, run_fn: Callable[..., Any], run_args: Any = (), inplace: bool = False) -> Any:
    """Prepare `model` for training with fake quantization, train it by ``run_fn(model, *run_args)``, and convert it."""
    require_model(model)
    made = model if inplace else copy.deepcopy(model)
    made.train()
    prepared = prepare_qat(made, inplace=True)
    run_fn(prepared, *run_args)
    return convert(prepared.eval(), inplace=True)

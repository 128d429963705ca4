"""Quantization of weights ahead, and of activations in each call."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any

from workbench import nn
from workbench.base.dtypes import as_dtype, float16, qint8, quint8
from workbench.base.errors import QuantizationError, short
from workbench.nn import Module
from workbench.quantization import qconfig as configs
from workbench.quantization.convert import swap_all, swap_module
from workbench.quantization.given import checked_mapping, require_layers
from workbench.quantization.layer_observers import check_tables, propagate_qconfig_
from workbench.quantization.mappings import TABLES, get_default_dynamic_quant_module_mappings

__all__ = ["quantize_dynamic"]

_BY_TYPE = {
    qint8: configs.default_dynamic_qconfig,
    float16: configs.float16_dynamic_qconfig,
    quint8: configs.float_qparams_weight_only_qconfig,
}


def quantize_dynamic(
    model: Module,
    qconfig_spec: Any = None,
    dtype: Any = qint8,
    mapping: dict[type, Any] | None = None,
    inplace: bool = False,
) -> Any:
    """Return `model` with weights in codes; activations are quantized in each call, by the range that they have there.

    Nothing is calibrated: it suits linear and recurrent layers, whose weights are what takes time to read. `dtype` is
    qint8 for these, float16 for weights in half precision, quint8 for embeddings. `qconfig_spec` is a set of types or
    names of modules, or a dict from these to qconfigs.

    Raises `QuantizationError`, and changes nothing, for a name that no module has, types without a dynamic form, what
    is neither, and a model that runs a graph.

    >>> import workbench as wb
    >>> model = quantize_dynamic(wb.nn.Sequential(wb.nn.Linear(4, 4), wb.nn.ReLU()), {wb.nn.Linear})
    >>> type(model[0]).__name__, model[0].weight.dtype
    ('Linear', workbench.qint8)
    """
    require_layers(
        model, "quantize_dynamic", "take prepare_fx with QConfigMapping().set_global(default_dynamic_qconfig)"
    )
    kind = as_dtype(dtype)
    table = checked_mapping(mapping, get_default_dynamic_quant_module_mappings(), "quantize_dynamic")
    _check_spec(qconfig_spec)
    if kind not in _BY_TYPE and not isinstance(qconfig_spec, Mapping):
        raise QuantizationError(
            f"Don't know how to quantize with default settings for {kind.name}: it is qint8, float16 or quint8. "
            "Provide full qconfigs for others"
        )
    if qconfig_spec is None:
        rows = kind is quint8
        types = [
            one for one in (nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell) if one in table
        ]
        spec: dict[Any, Any] = dict.fromkeys(TABLES if rows else types, _BY_TYPE[kind])
    elif isinstance(qconfig_spec, Mapping):
        spec = dict(qconfig_spec)
    else:
        spec = dict.fromkeys(qconfig_spec, _BY_TYPE[kind])
    for one in spec:
        if isinstance(one, type) and one not in table:
            known = ", ".join(sorted({each.__name__ for each in table}))
            raise QuantizationError(f"{one.__name__} has no dynamic form; these have: {known}")
    made = copy.deepcopy(model)
    propagate_qconfig_(made, spec)
    check_tables(made)
    made.eval()
    whole = swap_module(made, table)
    if whole is made:
        swap_all(made, table)
    for module in whole.modules():
        module.__dict__.pop("qconfig", None)
    if not inplace or whole is not made:
        return whole
    # All went well, so that the model itself can change.
    for name, child in made._modules.items():
        if child is not None:
            model.set_submodule(name, child)
    return model.eval()


def _check_spec(spec: Any) -> None:
    """Raise `QuantizationError` where what says which layers are quantized is no set or dict of types and names."""
    if spec is None:
        return
    form = "a set of types and names of modules, such as {nn.Linear}, or a dict from these to qconfigs"
    if isinstance(spec, str) or not isinstance(spec, Collection):
        raise QuantizationError(f"qconfig_spec is {form}, and {short(repr(spec))[1:-1]} was given")
    for one in spec:
        if not isinstance(one, type | str):
            raise QuantizationError(
                f"qconfig_spec has {short(repr(one))[1:-1]} among its keys, and is {form}"
            )

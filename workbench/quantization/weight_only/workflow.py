"""From a model to the same with weights of few bits."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from workbench import nn
from workbench.base.dims import near_miss
from workbench.base.errors import QuantizationError
from workbench.core import dispatch
from workbench.core.value import Value
from workbench.nn import Linear, Module
from workbench.quantization.given import names_of_parameters, require_layers
from workbench.quantization.mappings import TABLES
from workbench.quantization.quantizable.separate_attention import separate
from workbench.quantization.quantized.layers import require_finite
from workbench.quantization.swapping import put_all
from workbench.quantization.weight_only.grid import Setting
from workbench.quantization.weight_only.linear import WeightOnlyLinear
from workbench.quantization.weight_only.methods import METHODS

__all__ = ["quantize_weights"]

Array = np.ndarray[Any, Any]


def quantize_weights(
    model: Module,
    data: Iterable[Any] | Callable[[Any], Any] | None = None,
    *,
    bits: int = 4,
    group_size: int = 128,
    symmetric: bool = False,
    method: str = "nearest",
    layers: Collection[str] | None = None,
) -> Any:
    """Return a copy of `model` whose linear layers have weights of `bits` bits in groups; activations stay as they are.

    `method` is ``"nearest"``, ``"gptq"``, ``"awq"`` or ``"awq+gptq"``, which loses least and takes longest; all but the
    first look at what the layers are given when the model is called with `data`: batches (inputs, or pairs of inputs
    and labels), or a function that is called with the model and runs it, which is called once for each stage of layers.
    Layers that come later see what those before them do with their codes. `layers` are the dotted names to quantize,
    all linear layers if not given; attention has ``linear_Q``, ``linear_K``, ``linear_V`` and ``out_proj``, into which
    `nn.MultiheadAttention` is taken apart.

    A head whose weight is an embedding's too stays in floating point with it, and a warning says so, unless `layers`
    names it: then it has codes of its own, and the table keeps its numbers. So do two linear layers with one weight
    where the method looks at data; the nearest codes are theirs together.

    Raises `QuantizationError` for other bits, sizes, methods and names, where nothing is left to quantize, where data
    are wanted and not given, and where a layer was never called or was given NaN or infinite values.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(64, 32), wb.nn.ReLU(), wb.nn.Linear(32, 4))
    >>> small = quantize_weights(model, [wb.rand(16, 64)], method="gptq", group_size=32)
    >>> small[0]
    WeightOnlyLinear(in_features=64, out_features=32, bias=True, bits=4, group_size=32)
    """
    require_layers(model, "quantize_weights", "give the model that the graph was made of")
    setting = Setting(bits, group_size, symmetric)
    if method not in METHODS:
        raise QuantizationError(f"method={method!r}: the methods are {', '.join(METHODS)}")
    made = copy.deepcopy(model).eval()
    _separate(made, layers)
    names = _chosen(made, layers)
    if layers is None:
        names = _without_shared(made, names, method, bits)
    if method == "nearest":
        _replace(made, dict.fromkeys(names), setting, method)
        return made
    if data is None:
        raise QuantizationError(f"the method {method} looks at what layers are given: pass data")
    batches = data if callable(data) else _runs(data)
    waiting = names
    while waiting:
        grams = _stage(made, waiting, batches)
        _replace(made, grams, setting, method)
        waiting = [name for name in waiting if name not in grams]
    return made


def _separate(model: Module, layers: Collection[str] | None) -> None:
    """Have attention project by linear layers, in place, where these are to be quantized."""
    for path, module in [*model.named_modules()]:
        inside = f"{path}." if path else ""
        wanted = layers is None or any(name.startswith(inside) for name in layers)
        if type(module) is nn.MultiheadAttention and wanted:
            separate(module, alone=True)


def _chosen(model: Module, layers: Collection[str] | None) -> list[str]:
    linear = {
        name: module
        for name, module in model.named_modules(remove_duplicate=False)
        if type(module) is Linear and name
    }
    if layers is None:
        if not linear:
            raise QuantizationError("the model has no linear layer inside: there is no weight to quantize")
        layers = linear
    for name in layers:
        if name not in linear:
            near = near_miss(name, list(linear))
            raise QuantizationError(
                f"the model has no linear layer {name!r}" + (f": did you mean {near!r}?" if near else "")
            )
    # A layer that stands under several names is one.
    chosen: dict[int, str] = {}
    for name, module in linear.items():
        if name in layers:
            chosen.setdefault(id(module), name)
    return list(chosen.values())


def _without_shared(model: Module, names: list[str], method: str, bits: int) -> list[str]:
    """Return the layers whose weight is theirs alone, or has the same codes in all that share it; warn of others."""
    standing = names_of_parameters(model)
    kept, left = [], dict[int, list[str]]()
    for name in names:
        weight: Any = model.get_parameter(f"{name}.weight")
        others = [one.rpartition(".")[0] for one in standing[id(weight)] if one != f"{name}.weight"]
        together = method == "nearest" and all(type(model.get_submodule(one)) is Linear for one in others)
        if together or not others:
            kept.append(name)
        else:
            left.setdefault(id(weight), []).append(name)
    told = [_left_shared(model, standing[weight], heads, bits) for weight, heads in left.items()]
    if not kept:
        raise QuantizationError(
            f"no linear layer has a weight of its own, and nothing becomes codes: {told[0]}"
        )
    for words in told:
        warnings.warn(words, stacklevel=3)
    return kept


def _left_shared(model: Module, standing: list[str], heads: list[str], bits: int) -> str:
    """Say which parameters are one and stay in floating point, and what makes codes of them."""
    words = (
        f"{' is '.join(standing)}: one weight of several modules stays in floating point. Name "
        f"{' and '.join(map(repr, heads))} in layers=, beside the other layers, for codes of its own"
    )
    owners = [own.rpartition(".")[0] for own in standing]
    config = "float_qparams_weight_only_qconfig" + ("_4bit" if bits == 4 else "")
    tables = [name for name in owners if type(model.get_submodule(name)) in TABLES]
    if not tables:
        return words
    spec = ", ".join(f"{name!r}: wb.quantization.{config}" for name in tables)
    return f"{words}; then wb.quantization.quantize_dynamic(quantized, {{{spec}}}) makes codes of the table"


def _runs(data: Iterable[Any]) -> Callable[[Any], Any]:
    batches = [batch if isinstance(batch, Value) else batch[0] for batch in data]
    if not batches:
        raise QuantizationError("there is nothing to look at: the data gave no batch")

    def run(model: Any) -> None:
        for batch in batches:
            model(batch)

    return run


def _stage(model: Module, waiting: list[str], run: Callable[[Any], Any]) -> dict[str, Array]:
    """Return the Gram matrices of the first of the waiting layers, and of those that are given the same values.

    Which come first is not known before the model has run: all are watched, and what is given to later ones is left
    aside as soon as it is another value.
    """
    first: list[str] = []
    reached: set[str] = set()
    grams: dict[str, Array] = {}
    given: list[Any] = []

    def watch(name: str) -> Callable[[Any, tuple[Any, ...]], None]:
        def hook(module: Any, arguments: tuple[Any, ...]) -> None:
            value = arguments[0]
            reached.add(name)
            if not first:
                given.append(value)
            if name in first or value is given[0]:
                if name not in first:
                    first.append(name)
                _add(grams, name, value)

        return hook

    with _watched({name: watch(name) for name in waiting}, model), dispatch.no_grad():
        run(model)
    missed = [name for name in waiting if name not in reached]
    if missed:
        raise QuantizationError(
            f"{', '.join(missed[:4])}{' …' if len(missed) > 4 else ''} was never called: leave it out by layers=…, "
            "or pass data that reach it"
        )
    return grams


@contextmanager
def _watched(hooks: dict[str, Any], model: Module) -> Iterator[None]:
    stops = [model.get_submodule(name).register_forward_pre_hook(hook) for name, hook in hooks.items()]
    try:
        yield
    finally:
        for stop in stops:
            stop()


def _add(grams: dict[str, Array], name: str, value: Any) -> None:
    rows = np.asarray(value.detach().payload, np.float32).reshape(-1, value.shape[-1])
    if not np.isfinite(rows).all():
        raise QuantizationError(
            f"{name} was given NaN or infinite values: no weight can be fitted to them. Leave such samples out."
        )
    product = rows.T @ rows
    grams[name] = grams[name] + product if name in grams else product.astype(np.float64)


def _replace(model: Module, grams: dict[str, Any], setting: Setting, method: str) -> None:
    made: dict[str, Any] = {}
    known: dict[int, Any] = {}
    for name, gram in grams.items():
        layer: Any = model.get_submodule(name)
        require_finite(layer.weight, f"{name}.weight")
        found = METHODS[method](np.asarray(layer.weight.detach().payload), gram, setting)
        made[name] = WeightOnlyLinear.from_float(layer, found.codes, found.input_scale, setting)
        if method == "nearest":
            # Layers that share a weight go on sharing its codes.
            made[name].weight = known.setdefault(id(layer.weight), made[name].weight)
    put_all(model, made)

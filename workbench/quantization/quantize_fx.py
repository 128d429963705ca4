"""Quantization of graphs in PyTorch's words: `prepare_fx`, calibrate or train, `convert_fx`.

Functions are quantized as well as layers, and there are no stubs: a model is traced, and the table of ops says of each
call how scale and zero point pass through it. It takes modules, `fx.GraphModule`, and whatever has a graph of the
house: a scripted module, a file of ONNX that was opened, a module from PyTorch.
"""

from __future__ import annotations

import copy
from typing import Any

from workbench.base.errors import QuantizationError
from workbench.base.public import words
from workbench.core import dispatch
from workbench.core.value import Value
from workbench.fx import GraphModule, Node
from workbench.quantization.backend_config import BackendConfig, get_native_backend_config
from workbench.quantization.calibration import Calibration
from workbench.quantization.convert import swap_module
from workbench.quantization.custom_config import (
    ConvertCustomConfig,
    FuseCustomConfig,
    PrepareCustomConfig,
    config_of,
)
from workbench.quantization.given import require_model
from workbench.quantization.graph_mode.converting import check_calibrated, to_codes, watch_weights, watchers
from workbench.quantization.graph_mode.fusion import fuse_graph, require_use
from workbench.quantization.graph_mode.layers import as_layers
from workbench.quantization.graph_mode.observing import (
    carries_weight,
    insert_observers,
    is_prepared,
    keep_plan,
    kept_plan,
    leave_floats,
    plan,
)
from workbench.quantization.graph_mode.referring import to_reference
from workbench.quantization.graph_mode.special_parts import (
    check_parts,
    convert_parts,
    observe_parts,
    prepare_alone,
    state_borders,
)
from workbench.quantization.graph_mode.statements import Statement, statements
from workbench.quantization.graph_mode.tracing import THROUGH, traced
from workbench.quantization.graph_mode.writes import FirstRun, without_writes
from workbench.quantization.learnable_fake_quantize import check_learned
from workbench.quantization.mappings import get_default_qat_module_mappings
from workbench.quantization.prepare import check
from workbench.quantization.qconfig import QConfig
from workbench.quantization.qconfig_mapping import QConfigMapping
from workbench.tensor import Tensor

__all__ = [
    "ConvertCustomConfig", "FuseCustomConfig", "PrepareCustomConfig", "convert_fx", "convert_to_reference_fx",
    "fuse_fx", "prepare_fx",
    "prepare_qat_fx",
]  # fmt: skip


def _examples(example_inputs: Any) -> tuple[Any, ...]:
    found = (example_inputs,) if isinstance(example_inputs, Value) else tuple(example_inputs or ())
    if not found:
        raise QuantizationError(
            "prepare_fx runs the model once to see what it calls: give example_inputs, a tuple of its arguments"
        )
    return found


def _as_layers(module: GraphModule, inputs: tuple[Any, ...]) -> None:
    run = FirstRun(module)
    training = module.training
    module.eval()
    with dispatch.no_grad():
        # Copies: what a model writes into what it is given is no example's.
        run.run(*(one.clone() if isinstance(one, Tensor) else one for one in inputs))
    module.train(training)
    without_writes(module, run.writes)
    as_layers(module, run.dims)


def as_mapping(given: Any) -> QConfigMapping:
    """Return what was given as a mapping: one, a dict, or one qconfig for all."""
    if isinstance(given, QConfigMapping):
        return given
    if isinstance(given, QConfig):
        return QConfigMapping().set_global(given)
    if isinstance(given, dict):
        return QConfigMapping.from_dict(given)
    raise QuantizationError(
        f"a QConfigMapping says what is quantized, and {type(given).__name__} was given: get_default_qconfig_mapping() "
        "is one"
    )


def _configure(module: GraphModule, mapping: QConfigMapping, model: Any) -> None:
    """Note with each node the qconfig that counts for it; `model` is what was traced."""
    kinds = {path: type(one) for path, one in model.named_modules()}
    counts: dict[tuple[str, Any], int] = {}
    for node in module.graph.nodes:
        inside = ".".join(node.meta.get("scope") or ())
        kind: Any = node.target
        path = inside
        if node.op == "call_module":
            path = inside if "function" in node.meta else str(node.target)
            kind = type(module.get_submodule(str(node.target)))
            function = node.meta.get("function")
            if function in mapping.object_type_qconfigs:
                kind = function
        place = (path if node.op != "call_module" else path.rpartition(".")[0], kind)
        counts[place] = counts.get(place, -1) + 1
        whole = [one for one in _around(path, kinds) if one in THROUGH and one is not kind]
        node.meta["qconfig"] = mapping.for_module(path, kind, counts[place], place[0], whole)
        node.meta["place"] = (path, place[0], kind, counts[place])


def _check_names(mapping: QConfigMapping, model: Any, module: GraphModule) -> None:
    """Raise `QuantizationError` for a name that no module has, before it was traced or behind."""
    mapping.check_names(name for one in (model, module) for name, _ in one.named_modules())


def _around(path: str, kinds: dict[str, type]) -> list[type]:
    """Return the types of a module and of those around it, from within."""
    parts = path.split(".")
    paths = [".".join(parts[:length]) for length in range(len(parts), -1, -1)]
    return [kinds[one] for one in paths if one in kinds]


def float_graph(model: Any, *inputs: Any) -> GraphModule:
    """Return the graph of a model in use as it is before it is observed: layers, normalisations folded, joined.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(4, 3), wb.nn.ReLU()).eval()
    >>> [type(one).__name__ for one in float_graph(model, wb.ones(1, 4)).children()]
    ['LinearReLU']
    """
    require_use(model)
    module = traced(model, PrepareCustomConfig(), inputs)
    _as_layers(module, inputs)
    fuse_graph(module, training=False)
    module.delete_all_unused_submodules()
    module.recompile()
    return module


def _stated(
    module: GraphModule, inputs: tuple[Any, ...], backend: BackendConfig | None
) -> tuple[dict[Node, Statement], dict[Node, Any]]:
    """Return what each node does to codes, and the qconfig of those that the backend takes."""
    said = statements(module, inputs)
    known = get_native_backend_config() if backend is None else backend
    return said, {node: node.meta.get("qconfig") if known.takes(module, node) else None for node in said}


def configured_graph(
    model: Any, mapping: QConfigMapping, inputs: tuple[Any, ...]
) -> tuple[GraphModule, dict[Node, Statement], dict[Node, Any]]:
    """Return the joined graph of a model in use, not observed, with what its nodes do to codes and their qconfigs."""
    require_use(model)
    module = traced(model, PrepareCustomConfig(), inputs)
    _check_names(mapping, model, module)
    _as_layers(module, inputs)
    _configure(module, mapping, model)
    fuse_graph(module, training=False)
    return module, *_stated(module, inputs, None)


def _prepared(
    model: Any, mapping: Any, example_inputs: Any, custom: Any, backend: BackendConfig | None, training: bool
) -> GraphModule:
    check(model)
    configs, inputs = as_mapping(mapping), _examples(example_inputs)
    special = config_of(PrepareCustomConfig, custom)
    check_parts([name for name, _ in model.named_modules()], special)
    module = traced(model, special, inputs)
    _check_names(configs, model, module)
    _as_layers(module, inputs)
    _configure(module, configs, model)
    observe_parts(module, special)
    prepare_alone(module, special, configs, backend, prepare_qat_fx if training else prepare_fx)
    fuse_graph(module, training)
    if training:
        table = get_default_qat_module_mappings()
        for node in module.graph.nodes:
            config = node.meta.get("qconfig")
            if node.op == "call_module" and config is not None and not carries_weight(config):
                layer: Any = module.get_submodule(str(node.target))
                layer.qconfig = config
                module.set_submodule(str(node.target), swap_module(layer, table))
        module.recompile()
    said, chosen = _stated(module, inputs, backend)
    state_borders(said, special)
    made = plan(said, chosen)
    if special.float_results:
        leave_floats(module, made)
    if not any(
        own.way in ("layer", "computed") for node, own in said.items() if node in made.coded
    ) and not any(config is not None for config in chosen.values()):
        raise QuantizationError(
            "nothing to quantize: no part of the model has a qconfig; give get_default_qconfig_mapping()"
        )
    insert_observers(module, made)
    watch_weights(module, made)
    keep_plan(module, made)
    module.train(training)
    if watchers(module):
        Calibration(module)
    return module


def prepare_fx(
    model: Any,
    qconfig_mapping: Any,
    example_inputs: Any,
    prepare_custom_config: PrepareCustomConfig | dict[str, Any] | None = None,
    _equalization_config: Any = None,
    backend_config: BackendConfig | None = None,
) -> GraphModule:
    """Return a graph of `model`, which is in use, with layers joined and observers where values will be codes.

    `qconfig_mapping` (or a dict, or one qconfig for all) says what is quantized; `example_inputs` is a tuple of what
    the model takes. Calibrate it by calling it with data, then `convert_fx` it. `model` stays. The
    observers are at hand as ``calibration`` of the result. `prepare_custom_config` says what is special about parts.

    Layers of transformers are run through to their linear ones, which a mapping names by their paths; those of
    `nn.MultiheadAttention` are its ``linear_Q``, ``linear_K``, ``linear_V`` and ``out_proj``, between which scores and
    their softmax are computed in floating point. What a mapping leaves in floating point by the type of a transformer,
    or of attention, it leaves with all in it.

    Raises `QuantizationError` for a model in training, one that is prepared already, and names that no module has.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(4, 3), wb.nn.ReLU()).eval()
    >>> prepared = prepare_fx(model, wb.quantization.get_default_qconfig_mapping(), (wb.ones(1, 4),))
    >>> _ = prepared(wb.rand(8, 4))
    >>> convert_fx(prepared)(wb.rand(2, 4)).shape
    (2, 3)
    """
    require_use(model)
    return _prepared(
        model, qconfig_mapping, example_inputs, prepare_custom_config, backend_config, training=False
    )


def prepare_qat_fx(
    model: Any,
    qconfig_mapping: Any,
    example_inputs: Any,
    prepare_custom_config: PrepareCustomConfig | dict[str, Any] | None = None,
    backend_config: BackendConfig | None = None,
) -> GraphModule:
    """Return a graph of `model`, which is training, with fake quantization of weights and values.

    Train it on, then ``convert_fx(prepared.eval())``. Raises `QuantizationError` for a model in use.
    """
    require_model(model)
    if not model.training:
        raise QuantizationError(
            "prepare_qat_fx only works for models in train mode: call model.train() first"
        )
    return _prepared(
        model, qconfig_mapping, example_inputs, prepare_custom_config, backend_config, training=True
    )


def fuse_fx(
    model: Any,
    fuse_custom_config: FuseCustomConfig | dict[str, Any] | None = None,
    backend_config: Any = None,
) -> GraphModule:
    """Return a graph of `model`, which is in use, with normalisations folded and rectifiers joined.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Conv2d(1, 2, 3), wb.nn.BatchNorm2d(2), wb.nn.ReLU()).eval()
    >>> [type(one).__name__ for one in fuse_fx(model).children()]
    ['ConvReLU2d']
    """
    require_use(model)
    module = traced(model, config_of(FuseCustomConfig, fuse_custom_config))
    fuse_graph(module, training=False)
    module.delete_all_unused_submodules()
    module.recompile()
    return module


def _ready(graph_module: Any, convert_custom_config: Any) -> ConvertCustomConfig:
    """Return what is special about single parts; raise `QuantizationError` for what cannot be converted."""
    if not is_prepared(graph_module):
        raise QuantizationError(
            "convert_fx takes what prepare_fx or prepare_qat_fx returned: prepare the model first"
        )
    special = config_of(ConvertCustomConfig, convert_custom_config)
    absent = [name for name in special.preserved_attributes if not hasattr(graph_module, name)]
    if absent:
        raise QuantizationError(
            f"the prepared model has no attribute {absent[0]!r}: name it in PrepareCustomConfig, too"
        )
    check_calibrated(graph_module)
    check_learned(graph_module)
    return special


def convert_fx(
    graph_module: Any,
    convert_custom_config: ConvertCustomConfig | dict[str, Any] | None = None,
    _remove_qconfig: bool = True,
    qconfig_mapping: Any = None,
    backend_config: BackendConfig | None = None,
) -> GraphModule:
    """Return the integer form of a prepared and calibrated, or trained, graph; `graph_module` stays.

    Raises `QuantizationError`, and names the values, where observers have seen nothing, and for what was not prepared.
    """
    special = _ready(graph_module, convert_custom_config)
    module: GraphModule = copy.deepcopy(graph_module).eval()
    convert_parts(module, special, convert_fx)
    to_codes(module, kept_plan(module))
    calibration = getattr(graph_module, "calibration", None)
    if calibration is not None:
        calibration.finish()
    return module


def convert_to_reference_fx(
    graph_module: Any,
    convert_custom_config: ConvertCustomConfig | dict[str, Any] | None = None,
    _remove_qconfig: bool = True,
    qconfig_mapping: Any = None,
    backend_config: BackendConfig | None = None,
) -> GraphModule:
    """Return a prepared and calibrated, or trained, graph in floating point that rounds where there would be codes.

    Each value that becomes codes goes through ``quantize_per_tensor`` and ``dequantize``, with scale and zero point as
    attributes of the graph, and layers with a weight become those of `quantized.reference`: what another backend reads
    to make its own. It gives what `convert_fx` gives, but for sums whose rounding falls on the other side of a half.

    Raises `QuantizationError` as `convert_fx` does, and for modules of one's own that take codes.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(4, 3), wb.nn.ReLU()).eval()
    >>> prepared = prepare_fx(model, wb.quantization.get_default_qconfig_mapping(), (wb.ones(1, 4),))
    >>> _ = prepared(wb.rand(8, 4))
    >>> reference = convert_to_reference_fx(prepared)
    >>> type(reference.get_submodule("0")[0]).__module__
    'workbench.quantization.quantized.reference.layers'
    """
    special = _ready(graph_module, convert_custom_config)
    module: GraphModule = copy.deepcopy(graph_module).eval()
    convert_parts(module, special, convert_to_reference_fx)
    to_reference(module, kept_plan(module))
    return module


__getattr__, __dir__ = words(__name__, __all__)

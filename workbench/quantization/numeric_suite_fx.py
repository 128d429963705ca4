"""Two graphs of one model side by side, in floating point and in codes: weights, results, one as the other's shadow.

PyTorch's numeric suite for graphs, ``torch.ao.ns._numeric_suite_fx``. Nodes belong together by the path of a module,
or by their name where they call a function; what only moves values is not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.base.errors import QuantizationError
from workbench.base.public import words
from workbench.fx import GraphModule, Node
from workbench.nn import Module
from workbench.quantization.comparing.loggers import (
    OutputComparisonLogger,
    OutputLogger,
    compute_cosine_similarity,
    compute_normalized_l2_error,
    compute_sqnr,
    numbers_of,
)
from workbench.quantization.comparing.pairing import (
    NSTracer,
    Place,
    entry,
    graph_of,
    kind_of,
    module_of,
    pairs,
    twin,
    without_observers,
)
from workbench.quantization.intrinsic.modules import is_fused, weighted_layer
from workbench.tensor import Tensor

__all__ = [
    "NSTracer", "OutputComparisonLogger", "OutputLogger", "add_loggers", "add_shadow_loggers",
    "compute_cosine_similarity", "compute_normalized_l2_error", "compute_sqnr", "extend_logger_results_with_comparison",
    "extract_logger_info", "extract_shadow_logger_info", "extract_weights", "loggers_set_enabled",
    "loggers_set_save_activations",
]  # fmt: skip

Results = dict[str, dict[str, dict[str, list[dict[str, Any]]]]]
"""Layer → ``weight``, ``node_output`` or ``node_input`` → name of the model → what was kept, one dict a value."""


def _weights(layer: Any) -> list[Any]:
    """Return the weights of a layer, whole or in codes: those of recurrent ones in their order."""
    inner = weighted_layer(layer) if is_fused(layer) else layer
    several = [getattr(inner, name) for name in _weight_names(inner)]
    return [one.detach() for one in several if isinstance(one, Tensor)]


def _weight_names(layer: Any) -> list[str]:
    held = [name for name, _ in (*layer.named_parameters(recurse=False), *layer.named_buffers(recurse=False))]
    known = [name for name in held if name == "weight" or name.startswith(("weight_ih", "weight_hh"))]
    return [name for name in known if not name.endswith(("_scale", "_zero_point", "_axis"))]


def extract_weights(
    model_name_a: str,
    model_a: Module,
    model_name_b: str,
    model_b: Module,
    base_name_to_sets_of_related_ops: Mapping[str, Any] | None = None,
    unmatchable_types_map: Mapping[str, Any] | None = None,
    op_to_type_to_weight_extraction_fn: Mapping[str, Any] | None = None,
) -> Results:
    """Return the weights of the layers that two graphs have in common, by the name of the second's node.

    What is related is told by paths and names here, so that `base_name_to_sets_of_related_ops`, `unmatchable_types_map`
    and `op_to_type_to_weight_extraction_fn` are not asked.

    Raises `QuantizationError` where the two have nothing in common.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(4, 3)).eval()
    >>> prepared = wb.quantization.prepare_fx(model, wb.quantization.get_default_qconfig_mapping(), (wb.ones(1, 4),))
    >>> _ = prepared(wb.rand(8, 4))
    >>> found = extract_weights("float", prepared, "codes", wb.quantization.convert_fx(prepared))
    >>> [one["values"][0].dtype for one in (found["_0"]["weight"][name][0] for name in ("float", "codes"))]
    [workbench.float32, workbench.qint8]
    """
    a, b = graph_of(model_a), graph_of(model_b)
    found: Results = {}
    for own, other in pairs(a, b):
        sides = [(model_name_a, a, own), (model_name_b, b, other)]
        values = [
            _weights(module_of(graph, place.start)) if module_of(graph, place.start) else []
            for _, graph, place in sides
        ]
        if not all(values):
            continue
        found[other.start.name] = {
            "weight": {
                name: [{"type": "weight", "values": some, **entry(graph, place)}]
                for (name, graph, place), some in zip(sides, values, strict=True)
            }
        }
    return found


def _log(
    graph: GraphModule, value: Node, place: Place, kind: str, name: str, logger_cls: Any, settings: dict[str, Any],
    behind: Node | None = None,
) -> Node:  # fmt: skip
    """Have a value pass through a logger, in place; return the node of the logger."""
    path = _free(graph, f"{place.start.name}_ns_logger_{settings.pop('side')}_0")
    made_by = kind_of(graph, value) if value.op != "placeholder" else ""
    logger = logger_cls(
        place.start.name, value.name, name, settings["ref_name"], made_by,
        settings["kind"], kind, 0, settings["position"], settings["fqn"],
    )  # fmt: skip
    graph.add_submodule(path, logger)
    users = [*value.users]
    with graph.graph.inserting_after(value if behind is None else behind):
        made = graph.graph.call_module(path, (value,))
    for user in users:
        if behind is None:
            user.replace_input_with(value, made)
    return made


def _free(graph: GraphModule, path: str) -> str:
    count, found = 0, path
    while hasattr(graph, found):
        count, found = count + 1, f"{path}_{count}"
    return found


def add_loggers(
    name_a: str,
    model_a: Module,
    name_b: str,
    model_b: Module,
    logger_cls: Callable[..., Any],
    should_log_inputs: bool = False,
    base_name_to_sets_of_related_ops: Mapping[str, Any] | None = None,
    unmatchable_types_map: Mapping[str, Any] | None = None,
) -> tuple[GraphModule, GraphModule]:
    """Return both graphs with loggers behind what they have in common, with `should_log_inputs` in front of it, too.

    They share their tensors with the models, and have no observers. Call both with the same data, then
    `extract_logger_info`. Raises `QuantizationError` where the two have nothing in common.
    """
    twins = without_observers(twin(model_a)), without_observers(twin(model_b))
    for own, other in pairs(*twins):
        for side, name, graph, place in (("a", name_a, twins[0], own), ("b", name_b, twins[1], other)):
            about = {
                "ref_name": other.start.name,
                "kind": place.kind(graph),
                "fqn": entry(graph, place)["fqn"],
            }
            if should_log_inputs:
                for position, value in enumerate(_inputs(place.start)):
                    settings = {**about, "side": side, "position": position}
                    made = _log(graph, value, place, "node_input", name, logger_cls, settings, behind=value)
                    place.start.replace_input_with(value, made)
            settings = {**about, "side": side, "position": 0}
            _log(graph, place.end, place, "node_output", name, logger_cls, settings)
    for graph in twins:
        graph.delete_all_unused_submodules()
        graph.recompile()
    return twins


def _inputs(node: Node) -> list[Node]:
    return [one for one in node.args if isinstance(one, Node)]


def _loggers(model: Module, logger_cls: Any) -> Iterator[OutputLogger]:
    for module in model.modules():
        if isinstance(module, OutputLogger) and (
            not isinstance(logger_cls, type) or isinstance(module, logger_cls)
        ):
            yield module


def _collected(models: list[Module], logger_cls: Any, name: str) -> Results:
    found: Results = {}
    named: dict[str, str] = {}
    for model in models:
        for one in _loggers(model, logger_cls):
            found.setdefault(one.ref_name, {}).setdefault(one.results_type, {}).setdefault(
                one.model_name, []
            ).append(one.found())
            if one.model_name == name:
                named[one.ref_name] = one.ref_node_name
    known = {one.model_name for model in models for one in _loggers(model, logger_cls)}
    if name not in known:
        raise QuantizationError(
            f"no model is called {name!r}: there is {' and '.join(sorted(map(repr, known))) or 'none'}"
        )
    return {named.get(word, word): one for word, one in found.items()}


def extract_logger_info(
    model_a: Module, model_b: Module, logger_cls: Callable[..., Any], model_name_to_use_for_layer_names: str
) -> Results:
    """Return what the loggers of two graphs have kept, by the names of the nodes of one of them.

    Raises `QuantizationError` for a name that none of them has.
    """
    return _collected([model_a, model_b], logger_cls, model_name_to_use_for_layer_names)


def add_shadow_loggers(
    name_a: str,
    model_a: Module,
    name_b: str,
    model_b: Module,
    logger_cls: Callable[..., Any],
    should_log_inputs: bool = False,
    base_name_to_sets_of_related_ops: Mapping[str, Any] | None = None,
    node_type_to_io_type_map: Mapping[str, Any] | None = None,
    unmatchable_types_map: Mapping[str, Any] | None = None,
) -> GraphModule:
    """Return the second graph, in which each part of the first is called with what its own takes, and both are kept.

    `model_a` is in floating point: it is given the numbers that codes stand for. So each layer shows what it loses by
    itself, and not what those before it have lost.

    Raises `QuantizationError` where the two have nothing in common, and where the first takes codes.
    """
    a, made = without_observers(twin(model_a)), without_observers(twin(model_b))
    for own, other in pairs(a, made):
        module = module_of(a, own.start)
        if module is not None and type(module).__module__.startswith("workbench.quantization.quantized"):
            raise QuantizationError(
                f"{own.start.target} of {name_a} takes codes: the first model is the one in floating point"
            )
        _shade(a, made, own, other, (name_a, name_b), logger_cls, should_log_inputs)
    made.graph.lint()
    made.recompile()
    return made


def _shade(
    a: GraphModule, made: GraphModule, own: Place, other: Place, names: tuple[str, str], logger_cls: Any,
    should_log_inputs: bool,
) -> None:  # fmt: skip
    start = other.start
    about = {"ref_name": start.name, "position": 0}
    with made.graph.inserting_before(start):
        # What is no value, as a size or a setting, is that of the graph it stands in.
        numbers = {one: made.graph.call_function(numbers_of, (one,)) for one in start.all_input_nodes}
    chain = [own.start] if own.end is own.start else [own.start, own.end]
    shadow: Node | None = None
    for count, node in enumerate(chain):
        path = _free(made, f"{start.name}_shadow_copy_{count}")
        module = module_of(a, node)
        if module is not None:
            made.add_submodule(path, module)
        with made.graph.inserting_before(start):
            if shadow is None:
                shadow = made.graph.node_copy(start, lambda one: numbers[one])
                if module is not None:
                    shadow.target, shadow.op = path, "call_module"
                else:
                    shadow.target, shadow.op = node.target, node.op
                shadow.meta.clear()
            elif module is not None:
                shadow = made.graph.call_module(path, (shadow,))
            else:
                shadow = made.graph.create_node(node.op, node.target, (shadow,))
    assert shadow is not None
    entry_a, entry_b = entry(a, own), entry(made, other)
    for value, place, own_entry, name, side in (
        (shadow, own, entry_a, names[0], "a"), (other.end, other, entry_b, names[1], "b")
    ):  # fmt: skip
        settings = {
            **about, "kind": own_entry["ref_node_target_type"], "fqn": own_entry["fqn"], "side": side
        }  # fmt: skip
        _log(
            made,
            value,
            place,
            "node_output",
            name,
            logger_cls,
            settings,
            behind=value if side == "a" else None,
        )
    if should_log_inputs:
        for position, one in enumerate(_inputs(start)):
            settings = {
                "ref_name": start.name, "kind": entry_b["ref_node_target_type"], "fqn": entry_b["fqn"], "side": "b",
                "position": position,
            }  # fmt: skip
            _log(made, one, other, "node_input", names[1], logger_cls, settings, behind=one)


def extract_shadow_logger_info(
    model_a_shadows_b: Module, logger_cls: Callable[..., Any], model_name_to_use_for_layer_names: str
) -> Results:
    """Return what the loggers of a graph with shadows have kept, by the names of its nodes."""
    return _collected([model_a_shadows_b], logger_cls, model_name_to_use_for_layer_names)


def extend_logger_results_with_comparison(
    results: Results,
    model_name_1: str,
    model_name_2: str,
    comparison_fn: Callable[[Any, Any], Any],
    comparison_name: str,
) -> None:
    """Write into `results`, for the second model, what a function says of each of its values beside the first's.

    Raises `QuantizationError` for a model that a layer has nothing of.
    """
    for layer, kinds in results.items():
        for by_model in kinds.values():
            for name in (model_name_1, model_name_2):
                if name not in by_model:
                    raise QuantizationError(
                        f"there is nothing of {name!r} for {layer}: it has {', '.join(by_model)}"
                    )
            for one in by_model[model_name_2]:
                place = one["index_within_arg"], one["index_of_arg"]
                others = by_model[model_name_1]
                (wanted,) = (
                    other for other in others if (other["index_within_arg"], other["index_of_arg"]) == place
                )
                values = zip(wanted["values"], one["values"], strict=True)
                one[comparison_name] = [comparison_fn(*pair) for pair in values]


def loggers_set_enabled(model: Module, enabled: bool) -> None:
    """Have loggers keep what passes, or not."""
    for one in _loggers(model, OutputLogger):
        one.enabled = enabled


def loggers_set_save_activations(model: Module, save_activations: bool) -> None:
    """Have loggers keep values, beside what they say of them."""
    for one in _loggers(model, OutputLogger):
        one.save_activations = save_activations


__getattr__, __dir__ = words(__name__, __all__)

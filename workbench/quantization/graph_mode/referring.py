"""An observed graph in floating point that rounds where codes would be: quantize, dequantize, and reference layers."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.dtypes import float16, float32, quint8
from workbench.base.errors import QuantizationError
from workbench.base.quantized_array import code_range
from workbench.core.op import ops
from workbench.core.value import new
from workbench.fx import GraphModule, Node
from workbench.nn import Module, ReLU
from workbench.ops import FUNCTIONS
from workbench.quantization.graph_mode.converting import show_weight, watchers
from workbench.quantization.graph_mode.observing import OBSERVER, Plan, forget_plan, results_in_codes
from workbench.quantization.graph_mode.statements import Statement
from workbench.quantization.intrinsic.modules import is_fused
from workbench.quantization.mappings import rectified, reference_of
from workbench.quantization.observed import float_layer, observer_of, range_of, weight_watcher
from workbench.quantization.quantized.reference.weights import weight_qparams

__all__ = ["to_reference"]

_QUANTIZE: Any = FUNCTIONS["quantize_per_tensor"]


def to_reference(module: GraphModule, made: Plan) -> None:
    """Have a graph round to codes and back, and its layers the weights, in place."""
    watching = watchers(module)
    for node in made.coded:
        if made.said[node].way == "custom":
            raise QuantizationError(
                f"{node.target} is a module of one's own that takes codes: it has no reference form in floating point"
            )
    for path in {str(node.target): None for node in made.coded if made.said[node].way == "layer"}:
        layer = module.get_submodule(path)
        show_weight(layer)
        module.set_submodule(path, _reference(layer, observer_of(layer, "weight_post_process")))
    grids: dict[Node, Grid] = {}
    for node in [*module.graph.nodes]:
        if node in watching:
            (value,) = node.args
            back = _rounding(module, value, node, _word(node, made), _grid(range_of(watching[node])))
            node.replace_all_uses_with(back)
            module.graph.erase_node(node)
        elif node in made.coded and _is_rounded(made.said[node]):
            grid = _grid_of(module, node, made, grids)
            # What is watched is rounded where it is watched.
            if grid is not None and not any(user in watching for user in node.users):
                grids[node] = grid
                users = [*node.users]
                back = _rounding(module, node, node.next, "", grid)
                for user in users:
                    user.replace_input_with(node, back)
    _refer_rest(module, made)
    _keep_codes(module)
    module.__dict__.pop("calibration", None)
    forget_plan(module)
    module.delete_all_unused_submodules()
    module.graph.lint()
    module.recompile()


def _is_rounded(said: Statement) -> bool:
    """Say whether a node takes codes as it is, and gives one value: of several each is rounded where it is taken."""
    return said.way == "native" and said.single and not said.border


@dataclass(frozen=True)
class Grid:
    """The numbers that codes stand for."""

    scale: float
    zero_point: int
    dtype: Any = quint8
    limits: tuple[int, int] = (0, 255)


def _grid(observer: Any) -> Grid:
    scale, zero = observer.qparams()
    return Grid(
        float(np.reshape(scale, ())),
        int(np.reshape(zero, ())),
        observer.dtype,
        (observer.quant_min, observer.quant_max),
    )


def _grid_of(module: GraphModule, node: Node, made: Plan, known: dict[Node, Grid]) -> Grid | None:
    """Return the grid of what an op gives that takes codes as it is: that of its observer, or a fixed one."""
    said = made.said[node]
    if said.travels == "fixed":
        found = (getattr(ops, name).quantized.fixed for name in said.ops)
        return Grid(*next(one for one in found if one is not None)(quint8))
    if OBSERVER in node.meta:
        return _grid(range_of(module.get_submodule(node.meta[OBSERVER])))
    # Behind a fixed grid values only move, or are computed and rounded to it.
    for one in node.all_input_nodes:
        while one not in known and one.all_input_nodes and one.target in ("dequantize", _QUANTIZE):
            one = one.all_input_nodes[0]
        if one in known:
            return known[one]
    return None


def _word(node: Node, made: Plan) -> str:
    """Return under which word an observed value has its scale: the layer's that makes it, or that takes it."""
    (value,) = node.args
    if value.op == "call_module":
        return str(value.target).replace(".", "_")
    takers = [user for user in node.users if user.op == "call_module" and user in made.coded]
    return f"{str(takers[0].target).replace('.', '_')}_input" if takers else ""


def _numbered(module: GraphModule, word: str) -> str:
    count = 0
    while hasattr(module, f"{word}_{count}"):
        count += 1
    return f"{word}_{count}"


def _rounding(module: GraphModule, value: Node, before: Node, word: str, grid: Grid) -> Node:
    """Put quantizing and dequantizing of a value in front of a node; return what dequantizes."""
    names = _numbered(module, f"{word}_scale"), _numbered(module, f"{word}_zero_point")
    module.register_buffer(names[0], new(np.array(grid.scale, np.float32)))
    module.register_buffer(names[1], new(np.array(grid.zero_point, np.int64)))
    own = grid.limits == code_range(grid.dtype)
    limits = {} if own else dict(zip(("quant_min", "quant_max"), grid.limits, strict=True))
    with module.graph.inserting_before(before):
        parts = [module.graph.get_attr(name) for name in names]
        codes = module.graph.call_function(_QUANTIZE, (value, *parts, grid.dtype), limits)
        return module.graph.call_method("dequantize", (codes,))


def _reference(layer: Any, observer: Any) -> Module:
    """Return the form in floating point of a layer that rounds its weight; with its rectifier where it has one."""
    plain = copy.deepcopy(float_layer(layer))
    plain = plain.to_float() if hasattr(plain, "to_float") else plain
    made: Module = reference_of(type(plain)).from_float(plain, weight_qparams(observer))
    joined = rectified(type(layer))
    if joined is not None:
        count = layer._count if is_fused(layer) else 0
        others = [copy.deepcopy(layer[place]) for place in range(1, count)] or [ReLU()]
        made = joined(made, *others)
    return made.eval()


def _refer_rest(module: GraphModule, made: Plan) -> None:
    """Have layers that are dynamic round what they take by its own range, and tables their rows."""
    for node, config in made.configs.items():
        if config is None or node.op != "call_module" or node in made.coded or config.weight is None:
            continue
        layer: Any = module.get_submodule(str(node.target))
        kind = reference_of(type(float_layer(layer)))
        activation = config.activation()
        table = str(getattr(config.weight(), "qscheme", "")).endswith("float_qparams")
        if kind is None or not (table or getattr(activation, "is_dynamic", False)):
            continue
        if getattr(activation, "granularity", "tensor") != "tensor":
            raise QuantizationError(
                f"{node.target} quantizes each token by a range of its own, and no function does that in a reference "
                "form: give it default_dynamic_qconfig"
            )
        layer.qconfig = config
        module.set_submodule(str(node.target), _dynamic_reference(layer, kind))
        if table or getattr(activation, "dtype", None) in (float16, float32):
            continue
        value = node.args[0]
        with module.graph.inserting_before(node):
            codes = module.graph.call_function(
                FUNCTIONS["quantize_per_tensor_dynamic"], (value, quint8, True)
            )
            node.replace_input_with(value, module.graph.call_method("dequantize", (codes,)))


def _dynamic_reference(layer: Any, kind: Any) -> Module:
    plain = float_layer(layer)
    if not hasattr(plain, "weight_ih") and not hasattr(plain, "weight_ih_l0"):
        observer = weight_watcher(layer)
        observer(plain.weight.detach())
        return _reference(layer, observer)
    found = {}
    for name, parameter in plain.named_parameters():
        if name.startswith("weight"):
            observer = weight_watcher(layer)
            observer(parameter.detach())
            found[name] = weight_qparams(observer)
    made: Module = kind.from_float(plain, found)
    return made.eval()


def _keep_codes(module: GraphModule) -> None:
    """Have results that are to be codes leave as such."""
    (last,) = (node for node in module.graph.nodes if node.op == "output")
    for one in results_in_codes(last):
        if one.op == "call_method" and one.target == "dequantize":
            last.replace_input_with(one, one.args[0])

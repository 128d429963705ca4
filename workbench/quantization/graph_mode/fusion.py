"""Layers of a graph are joined with the normalisation and the rectifier behind them."""

from __future__ import annotations

import copy
from typing import Any

from workbench.base.errors import QuantizationError
from workbench.core.op import ops
from workbench.fx import GraphModule, Node
from workbench.nn import Module, ReLU, functional
from workbench.quantization.fuse import fits, patterns
from workbench.quantization.given import require_model

__all__ = ["fuse_graph", "require_use"]


def _kind(module: GraphModule, node: Node) -> type | None:
    if node.op == "call_module":
        return type(module.get_submodule(str(node.target)))
    rectifies = (
        node.target in (functional.relu, ops.relu, "relu") or getattr(node.target, "__name__", "") == "relu"
    )
    return ReLU if rectifies and len(node.all_input_nodes) == 1 else None


def fuse_graph(module: GraphModule, training: bool) -> None:
    """Join what can be joined, in place: in training normalisations stay inside, else they are folded."""
    uses: dict[str, int] = {}
    for node in module.graph.nodes:
        if node.op == "call_module":
            uses[str(node.target)] = uses.get(str(node.target), 0) + 1
    for node in [*module.graph.nodes]:
        if node.op != "call_module" or node not in module.graph.nodes:
            continue
        chain = [node]
        while len(chain) < 3 and len(chain[-1].users) == 1:
            (after,) = chain[-1].users
            if _kind(module, after) is None or after.all_input_nodes != [chain[-1]]:
                break
            chain.append(after)
        while len(chain) > 1:
            parts = [_part(module, one, training) for one in chain]
            # A layer that is called twice would be changed for the other call, too. A rectifier has nothing to change:
            # a model may call one behind all its layers.
            once = all(
                uses.get(str(node.target), 1) == 1
                for node, part in zip(chain, parts, strict=True)
                if node.op == "call_module" and type(part) is not ReLU
            )
            if once and fits(parts, training):
                _join(module, chain, parts, training)
                break
            chain.pop()
    module.recompile()


def _part(module: GraphModule, node: Node, training: bool) -> Module:
    if node.op == "call_module":
        return module.get_submodule(str(node.target))
    return ReLU().train(training)


def _join(module: GraphModule, chain: list[Node], parts: list[Module], training: bool) -> None:
    make: Any = patterns(training)[tuple(type(part) for part in parts)]
    # Copies: what is left behind under the old names is unused, and goes.
    fused = make(*(copy.deepcopy(part) for part in parts))
    fused.train(training)
    module.set_submodule(str(chain[0].target), fused)
    chain[-1].replace_all_uses_with(chain[0])
    for node in reversed(chain[1:]):
        module.graph.erase_node(node)


def require_use(module: Any) -> None:
    """Raise `QuantizationError` for a model in training, whose normalisations still move, and for what is none."""
    require_model(module)
    if module.training:
        raise QuantizationError(
            "Fusion only for eval! Call model.eval() first, or prepare_qat_fx for training"
        )

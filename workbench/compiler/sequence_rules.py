"""How ops of sequences and of classes become steps of training: attention, norms of rows, what is dropped, losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.compiler.chains import type_name
from workbench.compiler.groups import Group
from workbench.compiler.lowering import Lowering, NotLowered, Rule
from workbench.core.op import Op, ops
from workbench.graph.blocks import Node, Value
from workbench.ops.random.counter_based import least

__all__ = ["SEQUENCE_RULES", "attention_kept", "layer_norm_kept"]


def _floats(low: Lowering, *values: Any) -> list[int]:
    """Return where values of float32 are."""
    if any(type_name(one) != "float32" for one in values if isinstance(one, Value)):
        raise NotLowered("what is trained has steps in float32 only")
    return [low.slot(one) for one in values]


def _optional(low: Lowering, node: Node, place: int) -> int:
    """Return where an operand is that may be missing: then -1."""
    given = node.inputs[place] if len(node.inputs) > place else None
    return -1 if given is None else _floats(low, given)[0]


def _seed(low: Lowering, node: Node, share: float) -> int:
    """Return where the seed is by which a share is dropped; -1 where nothing is."""
    if not least(share):
        return -1
    if not isinstance(node.params["seed"], Value):
        raise NotLowered("it draws by a seed that is always the same")
    return low.slot(node.params["seed"])


def attention_kept(low: Lowering, node: Node) -> list[int]:
    """Add attention that drops weights, or of which more than the result is read."""
    params = low.params(node)
    slots = _floats(low, *node.inputs[:3])
    mask, seed = _optional(low, node, 3), _seed(low, node, params["dropout"])
    return list(
        low.program.attention_kept(*slots, mask, seed, params["scale"], params["causal"], params["dropout"])
    )


def _attention_gradient(low: Lowering, group: Group) -> list[int]:
    node = group.nodes[0]
    params = low.params(node)
    slots = _floats(low, *node.inputs[:6])
    mask, seed = _optional(low, node, 6), _seed(low, node, params["dropout"])
    return list(
        low.program.attention_gradient(
            *slots, mask, seed, params["scale"], params["causal"], params["dropout"]
        )
    )


def layer_norm_kept(low: Lowering, node: Node) -> list[int]:
    """Add a norm of rows whose factors a run is given, and whose statistics its gradient reads."""
    params = low.params(node)
    factors = [_optional(low, node, place) for place in (1, 2)]
    return list(
        low.program.layer_norm_kept(*_floats(low, node.inputs[0]), *factors, params["count"], params["eps"])
    )


def _layer_norm_gradient(low: Lowering, group: Group) -> list[int]:
    node = group.nodes[0]
    slots = _floats(low, *node.inputs[:4])
    return list(low.program.layer_norm_gradient(*slots, _optional(low, node, 4), low.params(node)["count"]))


def _log_softmax(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    dim = low.params(node)["dim"] % len(low.shape(node.inputs[0]))
    return int(low.program.log_softmax(low.slot(node.inputs[0]), dim))


def _softmax_gradient(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    dim = low.params(node)["dim"] % len(low.shape(node.inputs[0]))
    slots = [low.slot(one) for one in node.inputs]
    return int(low.program.softmax_gradient(*slots, dim, node.op is ops.log_softmax_gradient))


def _dropout(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    params = low.params(node)
    numbers = (params[one] for one in ("scale", "high", "low"))
    seed = _seed(low, node, 1.0)
    return int(
        low.program.dropout(low.slot(node.inputs[0]), seed, params["p"], tuple(params["drawn"]), *numbers)
    )


def _require_batch(sizes: Sequence[int]) -> None:
    if len(sizes) < 2 or 0 in sizes:
        raise NotLowered("losses of classes have steps for batches [N, C, …] that are not empty")


def _cross_entropy(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    params = low.params(node)
    _require_batch(low.shape(node.inputs[-2]))
    step = low.program.cross_entropy if node.op is ops.cross_entropy else low.program.cross_entropy_gradient
    slots = [low.slot(one) for one in node.inputs]
    return int(step(*slots, params["reduction"], params["ignore_index"], params.get("smoothing", 0.0)))


def _nll_loss(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    params = low.params(node)
    _require_batch(params.get("sizes") or low.shape(node.inputs[0]))
    slots = [*(low.slot(one) for one in node.inputs[:2]), _optional(low, node, 2)]
    rest = params["reduction"], params["ignore_index"]
    if node.op is ops.nll_loss:
        return int(low.program.nll_loss(*slots, *rest))
    return int(low.program.nll_loss_gradient(*slots, list(params["sizes"]), *rest))


def _expand(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    return int(low.program.stretched(low.slot(node.inputs[0]), list(low.shape(node.outputs[0]))))


def _sum_to(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    have, wanted = low.shape(node.inputs[0]), tuple(low.params(node)["sizes"])
    missing = len(have) - len(wanted)
    dims = [i for i, size in enumerate(have) if i < missing or (size != 1 and wanted[i - missing] == 1)]
    x = low.slot(node.inputs[0])
    return int(low.program.reshape(low.program.reduce(x, "sum", dims, True) if dims else x, list(wanted)))


def _embedding(low: Lowering, group: Group) -> int:
    indices, table = group.nodes[0].inputs
    if type_name(indices) != "int64" or not low.shape(indices):
        raise NotLowered("rows are picked by places of int64, in one dim or more")
    return int(low.program.embedding(low.slot(indices), low.slot(table)))


def _embedding_gradient(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    indices, gradient = node.inputs
    if type_name(indices) != "int64" or not low.shape(indices):
        raise NotLowered("rows are picked by places of int64, in one dim or more")
    return int(
        low.program.embedding_gradient(low.slot(indices), low.slot(gradient), low.params(node)["count"])
    )


def _part(key: tuple[Any, ...], sizes: tuple[int, ...]) -> tuple[list[int], list[int], list[int]]:
    """Return where the part that a key shows begins, its sizes, and these without the dims of integers."""
    if any(one is Ellipsis for one in key):
        place, missing = key.index(Ellipsis), len(sizes) - sum(one is not None for one in key) + 1
        key = (*key[:place], *(slice(None),) * missing, *key[place + 1 :])
    start: list[int] = []
    shape: list[int] = []
    shown: list[int] = []
    entries = iter((*key, *(slice(None),) * (len(sizes) - sum(one is not None for one in key))))
    for one in entries:
        if one is None:
            shown.append(1)
            continue
        size = sizes[len(start)]
        first, end, step = one.indices(size) if isinstance(one, slice) else (one % size, one % size + 1, 1)
        if step != 1:
            raise NotLowered("it takes more than one step from value to value")
        start.append(first)
        shape.append(max(end - first, 0))
        shown += [shape[-1]] if isinstance(one, slice) else []
    if 0 in shape:
        raise NotLowered("it takes nothing")
    return start, shape, shown


def _index(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    start, shape, shown = _part(low.params(node)["key"], low.shape(node.inputs[0]))
    low.views(node.inputs[0], node.outputs[0])
    found = low.program.part(low.slot(node.inputs[0]), start, shape)
    return int(found if shape == shown else low.program.reshape(found, shown))


def _place(low: Lowering, group: Group) -> int:
    node = group.nodes[0]
    params = low.params(node)
    start, shape, shown = _part(params["key"], tuple(params["sizes"]))
    x = low.slot(node.inputs[0])
    if tuple(shown) != low.shape(node.inputs[0]):
        raise NotLowered("it stretches what it places")
    return int(
        low.program.placed(
            x if shape == shown else low.program.reshape(x, shape), start, list(params["sizes"])
        )
    )


SEQUENCE_RULES: dict[Op, Rule] = {
    ops.attention_gradient: _attention_gradient, ops.layer_norm_gradient: _layer_norm_gradient,
    ops.log_softmax: _log_softmax, ops.log_softmax_gradient: _softmax_gradient, ops.softmax_gradient: _softmax_gradient,
    ops.dropout: _dropout, ops.cross_entropy: _cross_entropy, ops.cross_entropy_gradient: _cross_entropy,
    ops.nll_loss: _nll_loss, ops.nll_loss_gradient: _nll_loss, ops.index: _index, ops.place: _place,
    ops.sum_to: _sum_to, ops.expand: _expand,
    ops.embedding: _embedding, ops.embedding_gradient: _embedding_gradient,
}  # fmt: skip
"""What has a step in training, beside what planes need."""

"""Leave out calls that change nothing, and make one call of two that undo or repeat one another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.op import Op, ops
from workbench.graph.blocks import NamedFunction, Node, Value
from workbench.graph.effects import writes_anywhere
from workbench.graph.ir import Graph
from workbench.graph.passes.dead_code import dead_code
from workbench.graph.rewriter import Rewriter
from workbench.graph.types import TensorType

__all__ = ["peephole"]


def peephole(graph: Graph) -> Graph:
    """Return a graph without calls that give what they are given, and with one call for two where one will do.

    Left out are ``x * 1``, ``x / 1``, ``x - 0``, ``x ** 1``, ``x + 0`` of whole numbers (of a float, -0.0 + 0 is 0.0),
    and what gives a tensor the sizes, names or type that it has. ``neg(neg(x))`` and two permutations that undo one
    another are x, ``relu(relu(x))`` is ``relu(x)``, and of two reshapes the last is left. An item of a tuple or list
    that is written in the graph is that item. All numbers stay the same, to the bit. A graph that writes into memory
    stays as it is: there it matters which memory a value has.

    >>> import workbench as wb
    >>> print(peephole(wb.graph.trace(lambda x: (-(-x) * 1).t().t().relu().relu(), wb.ones(2, 3))))
    graph(%x : f32[·:2, ·:3]):
      %relu : f32[·:2, ·:3] = relu(%x)  # ...
      return %relu
    """
    if any(map(writes_anywhere, (graph, *graph.functions.values()))):
        return dead_code(graph)
    return dead_code(_Peephole(graph).rewritten())


Operands = tuple[Any, ...]


class _Peephole(Rewriter):
    def call(self, node: Node, inputs: tuple[Any, ...], params: dict[str, Any]) -> Sequence[Any]:
        if isinstance(node.callee, NamedFunction) and node.callee.name == "operator.getitem" and not params:
            return _item(*inputs) or self.again(node, inputs, params)
        if not isinstance(node.callee, Op) or len(node.outputs) != 1:
            return self.again(node, inputs, params)
        # It is made first, and left for dead where another value is the same in all things: names, type, sizes.
        made = self.again(node, inputs, params)
        rule = _RULES.get(node.callee.name)
        other = rule(inputs, params) if rule is not None else None
        if isinstance(other, Value) and self._alike(other, made[0]):
            return (other,)
        return self._together(node, inputs, params, made)

    def _together(self, node: Node, inputs: Operands, params: dict[str, Any], made: Operands) -> Operands:
        """Return one call for two, where the second makes the first superfluous."""
        before = _made_by(inputs[0], node.callee) if node.callee in _LAST_COUNTS else None
        if before is None:
            return made
        if node.callee is ops.permute:
            params = {"dim": tuple(before.params["dim"][one] for one in params["dim"])}
        try:
            (one,) = self.insert(node.callee, before.inputs[:1], params, like=node, names=[node.name])
        except (TypeError, ValueError, LookupError, RuntimeError):
            # What has names may refuse what the one in between allowed.
            return made
        if not self._alike(one, made[0]):
            return made
        gone = _in_order((before.inputs[0],), params) if node.callee is ops.permute else before.inputs[0]
        return (gone,) if isinstance(gone, Value) and self._alike(gone, one) else (one,)

    def _alike(self, one: Value, other: Value) -> bool:
        if not (isinstance(one.type, TensorType) and isinstance(other.type, TensorType)):
            return False
        sizes = (tuple(map(self.sizes.settle, kind.sizes)) for kind in (one.type, other.type))
        return one.type.accepts(other.type) and next(sizes) == next(sizes)


def _item(container: Any, key: Any) -> tuple[Any] | None:
    if isinstance(container, tuple | list) and type(key) is int and -len(container) <= key < len(container):
        return (container[key],)
    return (container[key],) if isinstance(container, dict) and key in container else None


def _made_by(operand: Any, op: Op) -> Node | None:
    """Return the call of `op` that made an operand; None where something else did."""
    node = operand.node if isinstance(operand, Value) else None
    return node if node is not None and node.op is op else None


def _itself(inputs: Operands, params: dict[str, Any]) -> Any:
    return inputs[0]


def _twice(op: Op, undone: bool = False) -> Callable[[Operands, dict[str, Any]], Any]:
    """Return the rule for an op that changes nothing the second time, or undoes what it did the first."""

    def rule(inputs: Operands, params: dict[str, Any]) -> Any:
        before = _made_by(inputs[0], op)
        if before is None or before.params != params:
            return None
        return before.inputs[0] if undone else inputs[0]

    return rule


def _neutral(number: int, either: bool, whole: bool = False) -> Callable[[Operands, dict[str, Any]], Any]:
    def rule(inputs: Operands, params: dict[str, Any]) -> Any:
        if params or len(inputs) != 2:
            return None
        for value, other in (inputs, inputs[::-1]) if either else (inputs,):
            plain = type(other) in (int, float) and other == number
            if plain and isinstance(value, Value) and not (whole and not _is_whole(value)):
                return value
        return None

    return rule


def _is_whole(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype.kind in "iu"


def _in_order(inputs: Operands, params: dict[str, Any]) -> Any:
    return inputs[0] if params["dim"] == tuple(range(len(params["dim"]))) else None


_LAST_COUNTS = (ops.reshape, ops.permute)
_RULES: dict[str, Callable[[Operands, dict[str, Any]], Any]] = {
    "mul": _neutral(1, either=True),
    "div": _neutral(1, either=False),
    "sub": _neutral(0, either=False),
    "pow": _neutral(1, either=False),
    "add": _neutral(0, either=True, whole=True),
    "permute": _in_order,
    "neg": _twice(ops.neg, undone=True),
    # What they give is of the operand's type only where they do nothing.
    **dict.fromkeys(("reshape", "flatten", "unflatten", "squeeze", "expand", "rename", "to"), _itself),
    **{op.name: _twice(op) for op in (ops.relu, ops.abs, ops.detach, ops.floor, ops.ceil, ops.trunc)},
}

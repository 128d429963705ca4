"""What is written out in small ops, and the one op that it is: the rules of `normal_forms`, found from the end on.

A rule is given the last node of what it looks for and returns the op that gives the same, with what that is given; or
None. It may look at anything behind that node, and changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from workbench.base.size_expressions import Size
from workbench.base.size_guards import SizeScope
from workbench.core.op import Op, ops
from workbench.graph.blocks import Node, Value
from workbench.graph.types import TensorType

__all__ = ["RULES", "Found", "Held", "Stretched", "Transposed", "Turned"]

CLOSE = 1e-6
"""How far a constant may be from what it stands for, relative to that: files have them in single precision."""


class Found(NamedTuple):
    """A call that gives what a node gives."""

    op: Op
    inputs: tuple[Any, ...]
    params: dict[str, Any]


class Held:
    """What is known of operands: the numbers of constants, and sizes, as far as the guards of a function say them."""

    def __init__(self, constants: dict[Value, Any], scope: SizeScope) -> None:
        self._constants = constants
        self._scope = scope

    def sizes(self, value: Value) -> tuple[Size, ...]:
        """Return the sizes of a tensor in every run."""
        return tuple(map(self._scope.settle, value.tensor.sizes))

    def array(self, operand: Any) -> np.ndarray[Any, Any] | None:
        """Return the numbers of a constant; None of anything else."""
        tensor = self._constants.get(operand) if isinstance(operand, Value) else None
        # Of one that is trained the numbers change.
        if tensor is None or tensor.requires_grad or not isinstance(tensor.payload, np.ndarray):
            return None
        return tensor.payload

    def number(self, operand: Any) -> float | None:
        """Return an operand that is one number, as a literal or a constant; None where it is not."""
        if type(operand) in (int, float):
            return float(operand)
        array = self.array(operand)
        return (
            float(array.item())
            if array is not None and array.size == 1 and array.dtype.kind in "iuf"
            else None
        )

    def is_number(self, operand: Any, wanted: float) -> bool:
        """Say whether an operand is that number, up to single precision."""
        found = self.number(operand)
        return found is not None and math.isclose(found, wanted, rel_tol=CLOSE)

    def finite(self, operand: Any, depth: int = 16) -> bool:
        """Say whether it is known that an operand has neither infinities nor NaN."""
        if not isinstance(operand, Value):
            return type(operand) in (int, bool) or (type(operand) is float and math.isfinite(operand))
        array = self.array(operand)
        if array is not None:
            return bool(np.isfinite(array).all())
        if isinstance(operand.type, TensorType) and operand.type.dtype.kind in "biu":
            return True
        node = operand.node
        # Sums and products of finite numbers are, unless they grow without end: of a mask they do not.
        known = node is not None and node.op is not None and depth > 0 and node.op in _STAY_FINITE
        operands = () if node is None else node.inputs[1:] if node.op is ops.where else node.inputs
        return known and all(self.finite(one, depth - 1) for one in operands)


_STAY_FINITE = (
    ops.where, ops.add, ops.sub, ops.mul, ops.to, ops.reshape, ops.expand, ops.unsqueeze, ops.squeeze, ops.permute,
    ops.flatten, ops.unflatten, ops.detach, ops.index,
)  # fmt: skip


def _made(operand: Any, *wanted: Op) -> Node | None:
    """Return the node that makes an operand, where it calls one of some ops."""
    node = operand.node if isinstance(operand, Value) else None
    return node if node is not None and node.op in wanted and operand is node.outputs[0] else None


def _beside(node: Node, held: Held, number: float) -> Any:
    """Return the other operand of a node of two, where one is a number; None where none is."""
    for one, other in (node.inputs, node.inputs[::-1]) if len(node.inputs) == 2 and not node.params else ():
        if held.is_number(other, number) and isinstance(one, Value):
            return one
    return None


def _factors(operand: Any, held: Held, depth: int = 4) -> tuple[float, list[Any]]:
    """Return a product as one number and what is multiplied with it, in order."""
    number = held.number(operand)
    if number is not None:
        return number, []
    node = _made(operand, ops.mul, ops.div) if depth else None
    if node is None or node.params or len(node.inputs) != 2:
        return 1.0, [operand]
    first, found = _factors(node.inputs[0], held, depth - 1)
    if node.op is ops.div:
        number = held.number(node.inputs[1])
        return (first / number, found) if number else (1.0, [operand])
    second, more = _factors(node.inputs[1], held, depth - 1)
    return first * second, [*found, *more]


def _close(number: float, wanted: float) -> bool:
    return math.isclose(number, wanted, rel_tol=4 * CLOSE)


# ------------------------------------------------------------------------------------------ activations


def _product(node: Node, held: Held) -> Found | None:
    """Find ``x·Φ(x)``, ``x·σ(x)`` and the like: a product of a value, what is computed of it, and a number."""
    number, factors = _factors(node.outputs[0], held)
    for x, gate in (factors, factors[::-1]) if len(factors) == 2 else ():
        for op, rule in _GATES:
            if rule(x, gate, number, held):
                return Found(op, (x,), {})
    return None


def _is_gelu(x: Value, gate: Value, number: float, held: Held) -> bool:
    """Say whether a product is ``x·½(1 + erf(x/√2))``."""
    sum = _made(gate, ops.add)
    erf = _made(_beside(sum, held, 1.0), ops.erf) if sum is not None else None
    if erf is None or not _close(number, 0.5):
        return False
    inner, found = _factors(erf.inputs[0], held)
    return _close(inner, math.sqrt(0.5)) and found == [x]


def _is_gelu_tanh(x: Value, gate: Value, number: float, held: Held) -> bool:
    """Say whether a product is ``x·½(1 + tanh(√(2/π)(x + 0.044715 x³)))``."""
    sum = _made(gate, ops.add)
    tanh = _made(_beside(sum, held, 1.0), ops.tanh) if sum is not None else None
    if tanh is None or not _close(number, 0.5):
        return False
    inner, found = _factors(tanh.inputs[0], held)
    polynomial = _made(found[0], ops.add) if len(found) == 1 else None
    if polynomial is None or not _close(inner, math.sqrt(2 / math.pi)):
        return False
    for one, other in (polynomial.inputs, polynomial.inputs[::-1]):
        if one is x and isinstance(other, Value):
            small, cube = _factors(other, held)
            power = _made(cube[0], ops.pow) if len(cube) == 1 else None
            cubed = power is not None and power.inputs[0] is x and held.is_number(power.inputs[1], 3.0)
            return _close(small, 0.044715) and (cubed or cube == [x, x, x])
    return False


def _is_silu(x: Value, gate: Value, number: float, held: Held) -> bool:
    sigmoid = _made(gate, ops.sigmoid)
    return sigmoid is not None and sigmoid.inputs[0] is x and number == 1.0


def _is_hardswish(x: Value, gate: Value, number: float, held: Held) -> bool:
    """Say whether a product is ``x·clip(x + 3, 0, 6)/6``, ``x·clip(x/6 + ½, 0, 1)``, or has a ``hardsigmoid``."""
    whole = _made(gate, ops.hardsigmoid)
    if whole is not None:
        return whole.inputs[0] is x and number == 1.0
    clip = _made(gate, ops.hardtanh, ops.clamp)
    sum = _made(clip.inputs[0], ops.add) if clip is not None and len(clip.inputs) == 1 else None
    if clip is None or sum is None:
        return False
    bounds = clip.params.get("low"), clip.params.get("high")
    if bounds == (0, 6):
        return _beside(sum, held, 3.0) is x and _close(number, 1 / 6)
    inner, found = _factors(_beside(sum, held, 0.5), held)
    return bounds == (0, 1) and found == [x] and _close(inner, 1 / 6) and number == 1.0


_GATES: tuple[tuple[Op, Callable[[Value, Value, float, Held], bool]], ...] = (
    (ops.gelu, _is_gelu), (ops.gelu_tanh, _is_gelu_tanh), (ops.silu, _is_silu), (ops.hardswish, _is_hardswish),
)  # fmt: skip


# ----------------------------------------------------------------------------------------- layer norm


def _layer_norm(node: Node, held: Held) -> Found | None:
    """Find ``(x - E[x])/√(E[(x - E[x])²] + ε)``, with a weight and a bias where there are some."""
    for rest, bias in _either(node) if node.op is ops.add else [(node.outputs[0], None)]:
        for root, weight in (*(_either(rest.node) if _made(rest, ops.mul) else ()), (rest, None)):
            found = _standardised(root, held)
            if found is None or (bias is not None and weight is None):
                continue
            x, eps, count = found
            more = [one for one in (weight, bias) if one is not None]
            if all(held.sizes(one) == held.sizes(x)[-count:] for one in more):
                return Found(ops.layer_norm, (x, *more), {"count": count, "eps": eps})
    return None


def _either(node: Any) -> Iterator[tuple[Value, Value]]:
    """Yield the two operands of a node, either of them first."""
    if len(node.inputs) == 2 and not node.params and all(isinstance(one, Value) for one in node.inputs):
        yield node.inputs
        yield node.inputs[::-1]


def _standardised(value: Value, held: Held) -> tuple[Value, float, int] | None:
    """Return x, ε and how many dims, of ``(x - E[x])/√(Var + ε)``."""
    node = _made(value, ops.div, ops.mul)
    if node is None or node.params or len(node.inputs) != 2:
        return None
    for centred, root in (node.inputs, node.inputs[::-1]) if node.op is ops.mul else (node.inputs,):
        sum = _made(_under_root(root, division=node.op is ops.div), ops.add)
        difference = _made(centred, ops.sub)
        for variance, eps in _with_number(sum, held) if sum is not None and difference is not None else ():
            x, mean = difference.inputs  # type: ignore[union-attr]
            count = _mean_of(mean, x)
            square = _made(variance, ops.mean)
            if not count or square is None or _mean_of(variance, square.inputs[0]) != count:
                continue
            if _is_square(square.inputs[0], centred, held):
                return x, eps, count
    return None


def _under_root(operand: Any, division: bool) -> Any:
    """Return v of ``√v``, which something is divided by, or of ``1/√v``, with which it is multiplied."""
    if division:
        node = _made(operand, ops.sqrt)
        return node.inputs[0] if node is not None else None
    node = _made(operand, ops.rsqrt, ops.reciprocal)
    if node is None or node.op is ops.rsqrt:
        return None if node is None else node.inputs[0]
    return _under_root(node.inputs[0], division=True)


def _with_number(node: Node, held: Held) -> Iterator[tuple[Any, float]]:
    for one, other in (node.inputs, node.inputs[::-1]):
        number = held.number(other)
        if number is not None and number >= 0:
            yield one, number


def _mean_of(operand: Any, x: Any) -> int:
    """Return over how many last dims an operand is the mean of x, which keeps its dims; 0 where it is not."""
    node = _made(operand, ops.mean)
    if (
        node is None
        or node.inputs != (x,)
        or not node.params.get("keepdim")
        or not isinstance(x.type, TensorType)
    ):
        return 0
    rank, dims = len(x.type.dims.sizes), tuple(sorted(node.params["dim"]))
    return len(dims) if dims == tuple(range(rank - len(dims), rank)) else 0


def _is_square(operand: Any, x: Value, held: Held) -> bool:
    node = _made(operand, ops.pow, ops.mul)
    if node is None or len(node.inputs) != 2:
        return False
    return node.inputs[0] is x and (
        node.inputs[1] is x if node.op is ops.mul else held.is_number(node.inputs[1], 2.0)
    )


# ------------------------------------------------------------------------------------------ attention


def _attention(node: Node, held: Held) -> Found | None:
    """Find ``softmax(s·q·kᵀ + mask)·v``."""
    weights, value = node.inputs
    softmax, safe = _softmax(weights, held)
    if softmax is None or not isinstance(value, Value):
        return None
    scores, mask = softmax.inputs[0], None
    sum = _made(scores, ops.add)
    if sum is not None:
        for one, other in _either(sum):
            if _scaled_product(one, held) is not None:
                scores, mask = one, other
                break
    found = _scaled_product(scores, held)
    # A query that sees nothing has weights of NaN here, and of 0 in the op; unless it is known that there is none.
    if found is None or not (safe or mask is None or held.finite(mask)):
        return None
    query, key, scale = found
    params = {"scale": scale, "causal": False, "dropout": 0.0, "seed": 0}
    return Found(ops.attention, (query, key, value, *([] if mask is None else [Stretched(mask)])), params)


def _softmax(operand: Any, held: Held) -> tuple[Node | None, bool]:
    """Return the node of a softmax over the last dim, and whether 0 is put in the place of NaN."""
    chosen = _made(operand, ops.where)
    safe = False
    if chosen is not None and len(chosen.inputs) == 3:
        asked = _made(chosen.inputs[0], ops.isnan)
        safe = (
            asked is not None and asked.inputs[0] is chosen.inputs[2] and held.number(chosen.inputs[1]) == 0.0
        )
        operand = chosen.inputs[2] if safe else operand
    node = _made(operand, ops.softmax)
    last = node is not None and node.params.get("dim") == len(node.outputs[0].tensor.dims.sizes) - 1
    return (node if last else None), safe


def _scaled_product(operand: Any, held: Held) -> tuple[Value, Transposed, float] | None:
    """Return q, k and s of ``s·q·kᵀ``; the numbers may stand anywhere in it."""
    number, found = _factors(operand, held)
    product = _made(found[0], ops.matmul) if len(found) == 1 else None
    if product is None:
        return None
    (one, queries), (two, keys) = (_factors(part, held) for part in product.inputs)
    if len(queries) != 1 or len(keys) != 1 or len(product.outputs[0].tensor.dims.sizes) != 4:
        return None
    return queries[0], Transposed(keys[0]), number * one * two


class Stretched(NamedTuple):
    """An operand that is to be given with as many dims as scores have: those in front are 1."""

    value: Value


class Transposed(NamedTuple):
    """An operand that is to be given with its last two dims in the other order."""

    value: Value


# --------------------------------------------------------------------------------------------- linear


class Turned(NamedTuple):
    """A weight that is to be given as its transpose, which is a constant too."""

    value: Value


def _linear(node: Node, held: Held) -> Found | None:
    """Find ``x·W``, and ``x·W + b``, with a matrix that is known."""
    for product, bias in _either(node) if node.op is ops.add else [(node.outputs[0], None)]:
        made = _made(product, ops.matmul)
        weight = made.inputs[1] if made is not None else None
        array = held.array(weight)
        if made is None or array is None or array.ndim != 2 or not isinstance(weight, Value):
            continue
        if any(weight.tensor.dims.names):
            continue
        if isinstance(made.inputs[0], Value) and len(made.inputs[0].tensor.dims.sizes) > 1:
            vector = held.array(bias)
            # A bias of one number would be stretched by an addition.
            if bias is None or (vector is not None and vector.shape == array.shape[1:]):
                return Found(
                    ops.linear, (made.inputs[0], Turned(weight), *([] if bias is None else [bias])), {}
                )
    return None


# ---------------------------------------------------------------------------------------------- turns


def _turned(node: Node, held: Held) -> Found | None:
    """Find a permutation of the last two dims that is written with the dims before them put together."""
    turn = _made(node.inputs[0], ops.permute)
    before = _made(turn.inputs[0], ops.reshape) if turn is not None else None
    if turn is None or before is None or not isinstance(before.inputs[0], Value):
        return None
    x = before.inputs[0]
    sizes, rank = held.sizes(x), len(x.tensor.sizes)
    if rank < 3 or turn.params["dim"] != (0, 2, 1) or held.sizes(before.outputs[0])[1:] != sizes[-2:]:
        return None
    if held.sizes(node.outputs[0]) != (*sizes[:-2], sizes[-1], sizes[-2]):
        return None
    return Found(ops.permute, (x,), {"dim": (*range(rank - 2), rank - 1, rank - 2)})


Rule = Callable[[Node, Held], Found | None]

RULES: dict[Op, tuple[Rule, ...]] = {
    ops.mul: (_product, _layer_norm), ops.div: (_product, _layer_norm), ops.add: (_layer_norm, _linear),
    ops.matmul: (_attention, _linear), ops.reshape: (_turned,),
}  # fmt: skip
"""What may end in which op; the first that finds something is taken."""

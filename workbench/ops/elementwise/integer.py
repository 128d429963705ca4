"""Whole numbers: their bits, shifts of them, and common divisors and multiples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from workbench.base.dims import broadcast
from workbench.base.errors import DTypeError
from workbench.core.op import Absent, BadInput, DTypeRule, Op, Sample, Saves
from workbench.core.quantization import WHOLE
from workbench.ops.offer import offer

_WHOLE = Absent("whole numbers have no derivative")


def _check(op: str, kinds: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind not in kinds:
        raise DTypeError(
            f"{op} is defined for {'bool and ' if 'b' in kinds else ''}integer tensors, got {dtype}: "
            "cast it first, e.g. x.long()"
        )
    return dtype


def _rule(op: str, kinds: str) -> DTypeRule:
    return DTypeRule(
        "promoted; whole numbers only",
        lambda dtype: _check(op, kinds, dtype),
        lambda dtype, params: _check(op, kinds, dtype),
    )


def _checked(op: str, kinds: str, ufunc: Callable[..., Any]) -> Callable[..., Any]:
    """Return a forward that refuses floats: where all types agree, no type rule is asked."""

    def forward(*operands: Any) -> Any:
        # Again when it runs: in a graph the types were those of the trace.
        _check(op, kinds, np.result_type(*operands))
        return ufunc(*operands)

    return forward


def _whole(
    name: str,
    doc: str,
    equation: str,
    forward: Callable[[Any, Any], Any],
    kinds: str,
    properties: Iterable[str] = (),
) -> Op:
    """Declare an elementwise op on two operands of whole numbers."""

    def samples() -> list[Sample]:
        x, y = np.array([[12, 7, 0], [255, 1, 8]]), np.array([3, 2, 1])
        return [
            Sample((x, y), names=(("N", "C"), ("C",))),
            Sample((x, 2)),
            Sample((x.astype(np.uint8), y.astype(np.uint8))),
        ]

    return Op(
        name=name,
        doc=doc,
        equation=equation,
        dims=lambda x, y: broadcast(name, x, y),
        rule="names unify from the right, sizes broadcast",
        dtype=_rule(name, kinds),
        forward=_checked(name, kinds, forward),
        quantized=WHOLE,
        vjp=_WHOLE,
        saves=Saves((), output=False),
        samples=samples,
        bad=lambda: [BadInput((np.ones(3), np.ones(3)), {}, DTypeError, "integer tensors, got float64")],
        properties=frozenset(properties) | {"elementwise"},
    )


BITWISE_AND = _whole("bitwise_and", "Bits set in both.", "y = a & b", np.bitwise_and, "biu", ["commutative"])
offer(BITWISE_AND, ("[12, 10]", "[10, 3]"), "tensor([8, 2])", out=True, in_place="Tensor")
BITWISE_OR = _whole("bitwise_or", "Bits set in either.", "y = a | b", np.bitwise_or, "biu", ["commutative"])
offer(BITWISE_OR, ("[12, 10]", "[10, 3]"), "tensor([14, 11])", out=True, in_place="Tensor")
BITWISE_XOR = _whole(
    "bitwise_xor",
    "Bits set in one and not in the other.",
    "y = a ^ b",
    np.bitwise_xor,
    "biu",
    ["commutative"],
)
offer(BITWISE_XOR, ("[12, 10]", "[10, 3]"), "tensor([6, 9])", out=True, in_place="Tensor")
BITWISE_LEFT_SHIFT = _whole("bitwise_left_shift", "Bits moved up.", "y = a·2^b", np.left_shift, "iu")
offer(BITWISE_LEFT_SHIFT, ("[1, 3]", "[4, 1]"), "tensor([16,  6])", out=True, in_place="Tensor")
BITWISE_RIGHT_SHIFT = _whole(
    "bitwise_right_shift", "Bits moved down; the sign stays.", "y = ⌊a/2^b⌋", np.right_shift, "iu"
)
offer(BITWISE_RIGHT_SHIFT, ("[16, -3]", "[2, 1]"), "tensor([ 4, -2])", out=True, in_place="Tensor")
GCD = _whole("gcd", "Greatest common divisor.", "y = gcd(a, b)", np.gcd, "iu", ["commutative"])
offer(GCD, ("[12, 10]", "[18, 4]"), "tensor([6, 2])", out=True, in_place=True)
LCM = _whole("lcm", "Least common multiple.", "y = lcm(a, b)", np.lcm, "iu", ["commutative"])
offer(LCM, ("[12, 10]", "[18, 4]"), "tensor([36, 20])", out=True, in_place=True)

BITWISE_NOT = Op(
    name="bitwise_not",
    doc="All bits flipped; for bool, not.",
    equation="y = ~x",
    dims=lambda x: x,
    rule="names and sizes pass through",
    dtype=_rule("bitwise_not", "biu"),
    forward=_checked("bitwise_not", "biu", np.invert),
    vjp=_WHOLE,
    saves=Saves((), output=False),
    samples=lambda: [
        Sample((np.array([[12, 7, 0]]),), names=(("N", "C"),)),
        Sample((np.array([True, False]),)),
    ],
    bad=lambda: [BadInput((np.ones(3),), {}, DTypeError, "integer tensors, got float64")],
    properties=frozenset({"same", "elementwise"}),
    quantized=WHOLE,
)
offer(BITWISE_NOT, "[12, -1]", "tensor([-13,   0])", out="exact", in_place="Tensor")

"""What of the op database does not pass, declared with its reason.

Whatever fails and does not stand here fails the tests, and so does what stands here and passes.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ELSEWHERE", "KNOWN", "Known"]


class Known(NamedTuple):
    """Which samples of an entry fail, and why."""

    samples: frozenset[int]
    reason: str


KNOWN: dict[str, Known] = {
    "as_strided_scatter": Known(
        frozenset(range(7)),
        "torch's own gradient of the input is the complement of the right one (1 where values were overwritten, 0 "
        "elsewhere); torch.autograd.gradcheck refuses it",
    ),
    "nn.functional.multi_head_attention_forward": Known(
        frozenset({0}), "dropout with probability 0.5 by default: the values are random"
    ),
}
"""By the name of the entry, all for float32."""

_RANDOM = "dropout with probability 0.5 by default: the values are random"
_COMPLEMENT = "torch's own gradient of the input is the complement of the right one"

ELSEWHERE: dict[str, tuple[frozenset[str], str]] = {
    "as_strided_scatter": (
        frozenset(["float64", "float16", "bfloat16", "complex64", "complex128"]),
        _COMPLEMENT,
    ),
    "nn.functional.multi_head_attention_forward": (
        frozenset(["float64", "float16", "bfloat16", "transposed", "stepped", "offset", "expanded"]),
        _RANDOM,
    ),
    "logcumsumexp": (
        frozenset(["float16", "bfloat16"]),
        "torch's logarithms lose the gradients of all but the largest value",
    ),
    "nn.functional.rms_norm": (
        frozenset(["float16", "bfloat16"]),
        "of one value the gradient is a difference of equal numbers; the reciprocal between them is kept in 16 bits",
    ),
    "mode": (
        frozenset(["float16", "bfloat16"]),
        "of values that are as frequent another place is named, and its gradient goes there",
    ),
    "matrix_exp": (
        frozenset(["float16"]),
        "torch gives NaN; its exponential of the unit matrix is -20896. Here it is that of float32, rounded once",
    ),
    "nn.functional.interpolate.bilinear": (
        frozenset(["uint8"]),
        "torch weighs bytes by whole numbers of 16 bits, and is 1 off the rounded mean",
    ),
    "nn.functional.interpolate.bicubic": (
        frozenset(["uint8"]),
        "torch weighs bytes by whole numbers of 16 bits, and is 1 or 2 off the rounded mean",
    ),
}
"""What fails in other types than float32, or in another layout: by the name of the entry, where and why."""

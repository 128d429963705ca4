"""What of the op database does not pass, declared with its reason.

Whatever fails and does not stand here fails the tests, and so does what stands here and passes.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["KNOWN", "Known"]


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

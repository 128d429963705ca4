"""Borders of zeros: uneven ones stand before a convolution here, and are its own in a file."""

from __future__ import annotations

from typing import Any

from workbench.graph import Node, Value

__all__ = ["is_border", "pads"]

_STRAIGHT = frozenset(f"{lead}conv{n}d" for lead in ("", "quantized_") for n in (1, 2, 3))


def is_border(shared: Any, node: Node) -> bool:
    """Say whether a node puts zeros around places, and only convolutions read it: then these write it."""
    if node.op is None or node.op.name != "pad" or node.params["value"] != 0:
        return False
    widths, value = node.params["padding"], node.outputs[0]
    readers = shared.readers[value]
    return (
        all(type(one) is int and one >= 0 for pair in widths for one in pair)
        and not any(one for pair in widths[:2] for one in pair)
        and value not in shared.results
        and bool(readers)
        and all(
            one.op is not None and one.op.name in _STRAIGHT and one.values.count(value) == 1
            and one.inputs[0] is value
            for one in readers
        )
    )  # fmt: skip


def pads(call: Any) -> list[int]:
    """Return the attribute of a convolution: what it adds itself, and the border before it."""
    own, x = call.params["padding"], call.inputs[0]
    node = x.node if isinstance(x, Value) else None
    if node is None or not is_border(call.shared, node):
        return [*own] * 2
    widths = node.params["padding"][2:]
    return [pair[end] + width for end in (0, 1) for pair, width in zip(widths, own, strict=True)]

"""Damage to files: what the tests of the plain suite and those beside PyTorch do to good ones."""

from __future__ import annotations

import random
import resource
from typing import Any

import numpy as np

import workbench as wb

CLEAR = (wb.onnx.OnnxError, wb.DimensionError, wb.DTypeError)
"""What a damaged file may end in; a run also in what an op refuses."""


def damaged(draw: random.Random, seeds: list[bytes]) -> bytes:
    """Return a good file with some of its bytes changed, cut out, doubled, or taken from another."""
    data = bytearray(draw.choice(seeds))
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        at = draw.randrange(len(data)) if data else 0
        match draw.randrange(7):
            case 0:
                del data[at:]
            case 1:
                data[at : at + 1] = bytes([draw.randrange(256)])
            case 2:
                data[at : at + 1] = bytes([data[at] ^ (1 << draw.randrange(8))]) if data else b""
            case 3:
                data[at:at] = bytes(draw.randrange(256) for _ in range(draw.randrange(1, 12)))
            case 4:
                del data[at : at + draw.randrange(1, 16)]
            case 5:
                other = draw.choice(seeds)
                start = draw.randrange(len(other))
                data[at:at] = other[start : start + draw.randrange(1, 200)]
            case 6:
                # A number of many bytes: a length, a size or a version beyond all bounds.
                data[at : at + 1] = b"\xff" * draw.randrange(1, 9) + b"\x7f"
    return bytes(data)


def inputs_of(module: Any) -> list[Any]:
    """Return inputs as the module says that it takes them, small ones."""
    made = []
    for port in module.signature.inputs:
        sizes = [one if isinstance(one, int) and one < 64 else 2 for one in port.sizes or ()]
        made.append(wb.ones(sizes[:6]).to(port.dtype or wb.float32) if port.kind == "tensor" else None)
    return made


def is_endless(module: Any) -> bool:
    """Say whether a run could go on for ever: a loop may be told to."""
    return any(node.blocks for node, _ in module.graph.walk())


def outcomes(draw: random.Random, seeds: list[bytes], files: int, most_memory: int) -> tuple[int, int]:
    """Open and run damaged files; return how many opened and how many of those ran.

    Any error but a clear one comes out; a message of no end and memory beyond `most_memory` kilobytes fail.
    """
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    opened = ran = longest = 0
    for _ in range(files):
        data = damaged(draw, seeds)
        try:
            module = wb.onnx.load(data)
        except wb.onnx.OnnxError as error:
            longest = max(longest, len(str(error)))
            continue
        opened += 1
        if is_endless(module):
            continue
        try:
            with wb.no_grad(), np.errstate(all="ignore"):
                module(*inputs_of(module))
        except CLEAR:
            continue
        ran += 1
    assert longest < 2000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < most_memory
    return opened, ran

"""Files that are damaged or hostile: thousands of changes to good ones, and only errors that say what is wrong."""

from __future__ import annotations

import random
import resource
from typing import Any

import numpy as np
import pytest

import workbench as wb

onnx = pytest.importorskip("onnx")
from onnx import parser  # noqa: E402

from tests.onnx_files.damage import CLEAR, inputs_of, is_endless, outcomes  # noqa: E402
from tests.peers.onnx_db.models import (  # noqa: E402
    FUNCTION,
    IF,
    LOOP,
    MLP,
    QDQ,
    QLINEAR,
    RESHAPED,
    mlp_weights,
    model,
    quantized,
)

FILES = 10_000
PARTS = 10
MOST_MEMORY = 1 << 20
"""Kilobytes by which all files together may let the process grow."""


def _seeds() -> list[bytes]:
    scales = {name: np.asarray(one) for name, one in quantized().items()}
    made = [
        model(MLP, **mlp_weights()),
        model(RESHAPED),
        model(LOOP),
        model(IF, w=np.ones(2, np.float32)),
        model(QDQ, **scales),
        model(QLINEAR, **scales, b=np.zeros(4, np.int32)),
        parser.parse_model(FUNCTION),
    ]
    return [one.SerializeToString() for one in made]


@pytest.mark.parametrize("part", range(PARTS))
def test_a_damaged_file_ends_in_an_error_that_says_so(part):
    opened, ran = outcomes(random.Random(part), _seeds(), FILES // PARTS, MOST_MEMORY)
    # Some changes change nothing that matters: else nothing here would look behind the reading of bytes.
    assert 10 < ran < opened < FILES // PARTS


NUMBERS = (-1, 0, 1, 2, 3, 7, 255, 1 << 20, 1 << 40, (1 << 63) - 1, -(1 << 63))
"""What attributes and sizes are changed into."""


def _rewritten(draw: random.Random, models: list[Any], names: list[tuple[str, str]]) -> Any:
    """Return a good model in which what is said is otherwise: operators, operands, attributes, sizes, types."""
    made = type(models[0])()
    made.CopyFrom(draw.choice(models))
    graph = made.graph
    for _ in range(draw.choice((1, 1, 2))):
        node = draw.choice(graph.node)
        known = [*(one.name for one in graph.input), *(name for one in graph.node for name in one.output), ""]
        match draw.randrange(6):
            case 0:
                node.domain, node.op_type = draw.choice(names)
            case 1 if node.input:
                node.input[draw.randrange(len(node.input))] = draw.choice(known)
            case 2 if node.attribute:
                one = draw.choice(node.attribute)
                one.i = draw.choice(NUMBERS)
                for i in range(len(one.ints)):
                    one.ints[i] = draw.choice(NUMBERS)
                del one.ints[draw.choice((1, 2, 3, 9)) :]
            case 3 if graph.initializer:
                one = draw.choice(graph.initializer)
                if one.dims:
                    one.dims[draw.randrange(len(one.dims))] = draw.choice(NUMBERS)
                one.data_type = draw.choice((one.data_type, one.data_type, draw.randrange(30)))
            case 4:
                made.opset_import[0].version = draw.randrange(5, 32)
            case 5:
                node.input.append(draw.choice(known))
    return made


@pytest.mark.parametrize("part", range(4))
def test_a_model_that_says_something_else_ends_in_an_error_that_says_so(part):
    draw = random.Random(100 + part)
    models = [type(parser.parse_model(FUNCTION)).FromString(one) for one in _seeds()]
    names = [(one.domain, one.name) for one in wb.onnx.operators()]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ran = 0
    for _ in range(1000):
        data = _rewritten(draw, models, names).SerializeToString()
        try:
            module = wb.onnx.load(data)
            if not is_endless(module):
                with wb.no_grad(), np.errstate(all="ignore"):
                    module(*inputs_of(module))
        except CLEAR:
            continue
        ran += 1
    assert ran > 50
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_MEMORY

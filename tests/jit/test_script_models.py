"""Every model of the house is scripted, and gives what it gives."""

from __future__ import annotations

import io

import pytest

import workbench as wb
from tests.jit.programs import same_value
from tests.models.every import MODELS


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_scripted(name: str) -> None:
    make, example = MODELS[name]
    model, x = make().eval(), example()
    made = wb.jit.script(model)
    with wb.no_grad():
        found, expected = made(x), model(x)
    assert same_value(found, expected)
    first = found[0] if isinstance(found, tuple) else found
    other = expected[0] if isinstance(expected, tuple) else expected
    assert first.names == other.names
    assert list(made.state_dict()) == list(model.state_dict())
    wb.graph.check(made.inlined_graph)
    # An archive holds no function of Python's.
    file = io.BytesIO()
    wb.jit.save(made, file)
    file.seek(0)
    with wb.no_grad():
        assert same_value(wb.jit.load(file)(x), found)

"""Every model of the house through every form that a graph has, and back: text, Python, archive, ONNX."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.models.every import MODELS
from workbench import models
from workbench.graph import Graph, parse, python_text, run, text, trace


def _printed(write: Callable[[Graph], str]) -> Callable[[Graph], Graph]:
    def there_and_back(graph: Graph) -> Graph:
        again = parse(write(graph), {value.name: tensor for value, tensor in graph.held().items()})
        assert write(again) == write(graph)
        return again

    return there_and_back


def _archived(graph: Graph) -> Graph:
    file = io.BytesIO()
    wb.save(graph, file)
    file.seek(0)
    found: Graph = wb.load(file)
    assert text(found) == text(graph)
    return found


FORMS = {"text": _printed(text), "python": _printed(python_text), "archive": _archived}


def _flat(result: Any) -> list[Any]:
    return [each for one in result for each in _flat(one)] if isinstance(result, tuple | list) else [result]


def _same(found: Any, wanted: Any, **bounds: float) -> None:
    for one, other in zip(_flat(found), _flat(wanted), strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), **bounds)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MODELS)
def test_a_graph_is_what_it_was(name: str, form: str) -> None:
    make, example = MODELS[name]
    model, x = make().eval(), example()
    again = FORMS[form](trace(model, x))
    with wb.no_grad():
        found, wanted = run(again, x), model(x)
        _same(found, wanted, rtol=0, atol=0)
    assert [one.names for one in _flat(found)] == [one.names for one in _flat(wanted)]


@pytest.mark.parametrize("name", MODELS)
def test_a_file_is_opened_traced_and_written_again(name: str) -> None:
    make, example = MODELS[name]
    model, x = make().eval(), example().rename(None)
    content = [io.BytesIO(), io.BytesIO()]
    wb.onnx.save(model, content[0], x)
    opened = wb.onnx.load(content[0].getvalue())
    # With an example it is a program like any other: sizes that the file works out stay expressions.
    wb.onnx.save(opened, content[1], x)
    again = wb.onnx.load(content[1].getvalue())
    batch = 1 if name == "language" else 0
    for given in (x, wb.cat([x, x], batch)):
        with wb.no_grad():
            _same(again(given), model(given), rtol=1e-4, atol=1e-5)


def test_every_model_is_asked() -> None:
    classes = {type(make()) for make, _ in MODELS.values()}
    assert {
        one for one in vars(models).values() if isinstance(one, type) and issubclass(one, wb.nn.Module)
    } == classes
